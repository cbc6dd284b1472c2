// Builds the verifier: what `tsc` compiled of it, and the code of others that it needs, becomes one file for programs and one
// for the command, so that the package brings no other along.

import { readdir, rm } from "node:fs/promises";

import { build } from "esbuild";

const node = { bundle: true, target: "es2022", format: "esm", platform: "node", legalComments: "eof", logLevel: "warning" };
const dist = new URL("dist/proof/", import.meta.url);
for (const name of await readdir(dist)) if (name.endsWith(".js")) await rm(new URL(name, dist));
await build({ ...node, entryPoints: ["src/proof/index.ts"], outfile: "dist/proof/index.js" });
await build({ ...node, entryPoints: ["src/proof/command.ts"], outfile: "dist/proof/command.js", external: ["./index.js"] });
