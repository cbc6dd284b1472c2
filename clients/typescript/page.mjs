// Makes the proof page that the program `signet` has inside: one file, with its script, its style and the hashes of both in its
// policy. The program puts data in the place of `<!-- data -->`. With --check: whether the file is what the sources give.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

import { build } from "esbuild";

const page = new URL("../../crates/signet/src/cli/audit/prove/page.html", import.meta.url);
const source = (name) => readFileSync(new URL(`src/proof/page/${name}`, import.meta.url), "utf8");

async function script() {
    const built = await build({
        entryPoints: [new URL("src/proof/page/main.ts", import.meta.url).pathname], bundle: true, minify: true, write: false,
        target: "es2022", format: "iife", charset: "ascii", legalComments: "inline", logLevel: "warning",
        tsconfig: new URL("tsconfig.page.json", import.meta.url).pathname,
    });
    const [{ text }] = built.outputFiles;
    // An end tag, or what begins a comment, would end the script too early.
    if (/<\/script|<!--/i.test(text)) throw new Error("the script holds what ends a script");
    return text;
}

/** The page without data. */
export async function pageOf() {
    const hash = (text) => createHash("sha256").update(text).digest("base64");
    const [js, css] = [await script(), source("style.css").replace(/\s*\n\s*/g, "\n").trim()];
    const parts = { script: hash(js), style: hash(css), css, js };
    return source("page.html").replace(/\{(script|style|css|js)\}/g, (_, name) => parts[name]);
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
    const made = await pageOf();
    const check = process.argv.includes("--check");
    if (!check) writeFileSync(page, made);
    else if (readFileSync(page, "utf8") !== made) {
        console.error("crates/signet/src/cli/audit/prove/page.html is not what clients/typescript gives; make it anew: make generated");
        process.exitCode = 1;
    }
}
