// Bundles: those that hold, and each forgery with the fault that it is refused for, in every way of computing signatures.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Ed25519, headline, holds, proveBundle, sentence } from "../dist/proof/index.js";
import { forged, honest } from "./proof/forged.mjs";

const engines = await Promise.all(["webcrypto", "noble"].map((engine) => Ed25519.open(engine)));
const command = new URL("../dist/proof/command.js", import.meta.url).pathname;

test("twenty honest bundles hold", async () => {
    const bundles = honest();
    assert.ok(bundles.length >= 20, `${bundles.length}`);
    for (const { name, bytes } of bundles) {
        for (const engine of engines) {
            const proof = await proveBundle(engine, bytes);
            assert.deepEqual(proof.faults, [], name);
            assert.ok(proof.lines > 0 && sentence(proof).includes("messages are signed"), name);
        }
    }
});

test("a forged bundle proves nothing, and says where it was forged", async () => {
    const bundles = forged();
    assert.ok(bundles.length >= 40, `${bundles.length}`);
    for (const { name, fault, bytes } of bundles) {
        for (const engine of engines) {
            const proof = await proveBundle(engine, bytes);
            assert.ok(!holds(proof), name);
            assert.ok(proof.faults.some((found) => found.fault.includes(fault)), `${name}: ${JSON.stringify(proof.faults)}`);
            assert.match(headline(proof), /^NOT OK: .*it proves nothing\.$/);
        }
    }
});

test("no byte of a bundle can be changed, but for what its maker says of it", async () => {
    const [{ bytes }] = honest();
    // The first line names the span and a count, which are its maker's words; a signature's witness may stand in a note.
    const from = bytes.indexOf(0x0a) + 1;
    for (let at = from; at < bytes.length; at += 97) {
        const copy = Buffer.from(bytes);
        copy[at] ^= 1;
        assert.ok(!holds(await proveBundle(engines[0], copy)), `byte ${at} of ${bytes.length}`);
    }
});

test("garbage that calls itself a bundle is told and kills nothing", async () => {
    const deep = `${"[".repeat(5000)}`;
    for (const text of [
        '{"kind":"bundle"}\n', '{"kind":"bundle","v":1,"agent":"a","peer":5}\n{}\n[]\n\n\n', `{"kind":"bundle"}\n${deep}\n`,
        '{"kind":"bundle"}\n{"kind":"proof","month":"2026-02","index":9007199254740991,"path":[]}\n{"v":1}\n',
        '{"kind":"bundle"}\n{"kind":"checkpoint","month":"2026-99","note":""}\n{"kind":"proof"', '{"kind":"bundle","__proto__":{"v":1}}\n',
    ]) {
        assert.ok(!holds(await proveBundle(engines[0], Buffer.from(text))), text.slice(0, 80));
    }
});

test("the command prints the report and ends as signet audit verify does", () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-proof-"));
    try {
        const file = join(folder, "bundle.jsonl");
        writeFileSync(file, honest()[0].bytes);
        const said = execFileSync(process.execPath, [command, "--engine", "noble", file], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
        assert.match(said, /^OK: 4 lines about agent-bob-001 stand in the log of agent-alice-001;/);
        writeFileSync(file, forged()[0].bytes);
        const bad = spawnSync(process.execPath, [command, file], { encoding: "utf8" });
        assert.deepEqual([bad.status, bad.stdout.startsWith(`NOT OK: 1 finding`)], [1, true]);
        assert.match(bad.stderr, /signatures were computed by/);
        writeFileSync(file, "hello\n");
        assert.deepEqual([[file], []].map((names) => spawnSync(process.execPath, [command, ...names]).status), [2, 2]);
    } finally {
        rmSync(folder, { recursive: true });
    }
});
