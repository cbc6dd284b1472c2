// Writes every bundle of these tests into a folder: `node write.mjs FOLDER`.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { forged, honest } from "./forged.mjs";

const folder = process.argv[2];
for (const [at, { bytes }] of [...honest(), ...forged()].entries()) writeFileSync(join(folder, `${String(at).padStart(3, "0")}.jsonl`), bytes);
