// The second half of scripts/try-descriptions: runs where the linters are installed, on the directory that it is given.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Parser } from "@asyncapi/parser";
import { createConfig, lint } from "@redocly/openapi-core";

const directory = process.argv[2];
const faults = [];

async function asyncapi(file) {
    const text = readFileSync(file, "utf8");
    const { document, diagnostics } = await new Parser().parse(text);
    // That a later revision exists is no fault of the description.
    const found = diagnostics.filter(({ code }) => code !== "asyncapi-latest-version");
    for (const { path, message } of found) faults.push(`${file}: /${path.join("/")}: ${message}`);
    if (!document) faults.push(`${file}: it is no description of AsyncAPI`);
    // A linter that finds nothing has to be one that finds something.
    const broken = await new Parser().parse(text.replace('"action": "send"', '"action": "sing"'));
    if (broken.document) faults.push(`${file}: the parser takes what is wrong`);
}

async function openapi(file) {
    const config = await createConfig({ extends: ["recommended"] });
    for (const { message, location, severity } of await lint({ ref: file, config })) {
        // Warnings of style are shown; errors count.
        const said = `${file}: ${location[0]?.pointer ?? ""}: ${message}`;
        if (severity === "error") faults.push(said);
        else console.error(`note: ${said}`);
    }
}

await asyncapi(join(directory, "asyncapi.json"));
const http = join(directory, "openapi.json");
if (existsSync(http)) await openapi(http);
for (const fault of faults) console.error(`FAILED: ${fault}`);
process.exitCode = faults.length ? 1 : 0;
