#!/usr/bin/env node
// `signet-proof BUNDLE`: whether a bundle proves what it says, in the words and with the exit codes of `signet audit verify`.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { Ed25519, type Engine, headerOf, holds, proveBundle, report } from "./index.js";

const HELP = `Prove a bundle of signet, from its file alone

Usage: signet-proof [OPTIONS] <BUNDLE>...

The first line says OK or NOT OK, what is proven, and what is not; findings and details follow. Exit code 0 where
everything holds, 1 where something was changed, is damaged or lacks evidence, 2 where there is nothing to read.

Options:
      --all            Tell every finding; without it the first 20 of each bundle, and how many more there are
      --engine <NAME>  Who computes the signatures: webcrypto (Node itself), or noble (this package) [default: webcrypto
                       where it has Ed25519, else noble]
  -h, --help           Print help

EXAMPLE:
  signet-proof from-bob.jsonl
`;

function options() {
    const known = { all: { type: "boolean" }, engine: { type: "string" }, help: { type: "boolean", short: "h" } } as const;
    return parseArgs({ options: known, allowPositionals: true });
}

async function main(): Promise<number> {
    const { values, positionals } = options();
    if (values.help === true) return say(HELP, 0);
    if (positionals.length === 0) return fail("name the file of a bundle: signet-proof BUNDLE");
    if (values.engine !== undefined && !["webcrypto", "noble"].includes(values.engine)) return fail("--engine is webcrypto or noble");
    const curve = await Ed25519.open(values.engine as Engine | undefined);
    let code = 0;
    for (const name of positionals) {
        const bytes = readFileSync(name);
        if (headerOf(bytes) === null) return fail(`${name} is no bundle: make one with signet audit export`);
        const proof = await proveBundle(curve, bytes);
        process.stdout.write(report(proof, name, values.all === true ? Infinity : 20));
        if (!holds(proof)) code = 1;
    }
    process.stderr.write(`signet-proof: signatures were computed by ${curve.engine === "noble" ? "this package" : "Node's WebCrypto"}\n`);
    return code;
}

function say(text: string, code: number): number {
    process.stdout.write(text);
    return code;
}

function fail(text: string): number {
    process.stderr.write(`signet-proof: ${text}\n`);
    return 2;
}

main().then(
    (code) => (process.exitCode = code),
    (error: Error) => (process.exitCode = fail(error.message)),
);
