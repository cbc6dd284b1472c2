// The reading half, held to the vectors of the repository: each input gets the verdict and the reason that stand beside it.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { canonical, Ed25519, hashText, isRefusal, Known, parse, proveLog, readMessage, REASONS, statements, transcriptOf } from "../dist/proof/index.js";

const vectors = new URL("../../../vectors/", import.meta.url);
const skip = !existsSync(vectors) && "the repository is not here";
const files = (folder) => readdirSync(new URL(`${folder}/`, vectors)).filter((name) => name.endsWith(".json"));
const strict = (file) => parse(readFileSync(new URL(file, vectors)), { bytes: 4 << 20, depth: 80, values: 1_000_000 });
const engines = await Promise.all(["webcrypto", "noble"].map((engine) => Ed25519.open(engine)));
const [curve] = engines;

/** What the agent of `recipient.json` knows when it has read a file of `knowledge`. */
async function knowing(name) {
    const knowledge = strict(`knowledge/${name}.json`);
    const recipient = strict("recipient.json");
    const known = new Known();
    const certificate = (value) => {
        const found = statements.certificateOf(value);
        assert.ok(found !== null);
        return found;
    };
    known.trust(certificate(recipient.certificate));
    for (const value of knowledge.certificates ?? []) known.trust(certificate(value));
    for (const value of knowledge.revocations ?? []) known.revoke(value.revocation ?? value);
    for (const agent of knowledge.withdrawn ?? []) known.withdraw(agent["agent-id"] ?? agent);
    for (const value of knowledge.refused ?? []) known.refuse(certificate(value));
    for (const { came } of knowledge.history ?? []) {
        // The third or the fourth flight ends a handshake: its certificate is the newest from then on.
        const ends = ["agent.capability", "agent.trust"].includes(came?.method);
        if (ends && known.judge(certificate(came.params.body.certificate)) === null) known.take(certificate(came.params.body.certificate));
    }
    return known;
}

/** The verdict of V01 to V07 on an input: a reason, or null. */
async function verdict(vector, engine = curve) {
    const text = vector["input-base64"] === undefined ? Buffer.from(vector.input) : Buffer.from(vector["input-base64"], "base64");
    const bytes = Buffer.concat([text, Buffer.alloc(vector.pad ?? 0, " ")]);
    if (vector.subject !== undefined && vector.subject !== "agent.agent-bob.inbox") return { reason: "wrong-subject" };
    const message = readMessage(bytes);
    if (isRefusal(message)) return { reason: message.reason };
    const { headers } = message;
    if (headers["recipient-id"] !== "agent-bob") return { reason: "wrong-recipient" };
    if (headers["agent-id"] === "agent-bob") return { reason: "reflected" };
    return { reason: await (await knowing(vector.knowledge)).verify(engine, message), hash: hashText(message) };
}

/** These ask for sessions and clocks, which a reader of evidence does not have. */
const OF_SESSIONS = [
    "v06-receipt-under-the-key-of-the-session-before.json", "v06-under-a-key-certified-since-the-handshake.json",
    "v06-under-the-key-of-the-session-before.json", "v06-yesterday-s-sealing-key.json",
];

test("each refused input of V01 to V07 is refused for its reason", { skip }, async () => {
    let [seen, passed] = [0, []];
    for (const name of files("refused")) {
        const vector = strict(`refused/${name}`);
        const { reason } = vector.expect;
        const found = await verdict(vector);
        if (name < "v08" && !OF_SESSIONS.includes(name)) {
            assert.equal(found.reason, reason, name);
            seen += 1;
        } else if (found.reason !== null && found.reason !== reason) {
            passed.push(`${name}: ${found.reason}`);
        }
    }
    assert.ok(seen > 90, `${seen}`);
    assert.deepEqual(passed, []);
});

test("each accepted input is read and signed by its sender, under both engines", { skip }, async () => {
    const names = files("accepted");
    for (const [at, name] of names.entries()) {
        const vector = strict(`accepted/${name}`);
        const found = await verdict(vector, engines[at % 2]);
        assert.equal(found.reason, null, name);
        assert.equal(found.hash, vector.expect.hash, name);
    }
    assert.ok(names.length > 50);
});

test("a statement is good or bad as its vector says", { skip }, async () => {
    const { isCertificate, isControl, isKeyStatement, isMandate, isRevocation, isPause, isApproval, signedBy, signedByItsRoot, covers } = statements;
    const under = async (vector, label, time, fits) => {
        const { statement, control } = vector;
        const own = isControl(control) && (await signedByItsRoot(curve, "certificate", control)) && fits(statement);
        const person = own && statement["principal-id"] === control["principal-id"] && covers(control, statement[time]);
        return person && signedBy(curve, label, statement, control["control-key"]);
    };
    const judges = {
        certificate: async ({ statement }) => isCertificate(statement) && signedByItsRoot(curve, "certificate", statement),
        control: async ({ statement }) => isControl(statement) && signedByItsRoot(curve, "certificate", statement),
        keys: async (vector) => isKeyStatement(vector.statement) && signedBy(curve, "keys", vector.statement, vector["signing-key"]),
        mandate: async (vector) => isMandate(vector.statement) && signedBy(curve, "handoff", vector.statement, vector["signing-key"]),
        revocation: async ({ statement }) => isRevocation(statement) && signedByItsRoot(curve, "revocation", statement),
        pause: (vector) => under(vector, "pause", "issued-at", isPause),
        approval: (vector) => under(vector, "approval", "decided-at", isApproval),
    };
    for (const name of files("statements")) {
        const vector = strict(`statements/${name}`);
        assert.equal((await judges[vector.kind](vector)) ? "good" : "bad", vector.expect, name);
    }
});

test("four flights make the hashes, the transcripts and the session of their vector", { skip }, () => {
    for (const name of files("handshakes")) {
        const vector = strict(`handshakes/${name}`);
        const flights = vector.flights.map((flight) => readMessage(Buffer.from(canonical(flight))));
        assert.deepEqual(flights.map(hashText), vector.hashes, name);
        const transcripts = transcriptOf(flights);
        assert.deepEqual(transcripts, vector.transcripts, name);
        assert.equal(transcripts[4], vector.session, name);
        const carried = flights.slice(1).map(({ envelope }) => envelope.body.transcript);
        assert.deepEqual(carried, transcripts.slice(1, 4), name);
    }
});

test("a month of a log is good, or bad for the fault that its vector names first", { skip }, async () => {
    const order = ["chain", "message", "checkpoint"];
    for (const name of files("log")) {
        const { agent, month, lines, behind = "", checkpoints, expect } = JSON.parse(readFileSync(new URL(`log/${name}`, vectors)));
        const faults = await proveLog(curve, { agent, month, lines: lines.map((line) => `${line}\n`).join("") + behind, checkpoints });
        const first = order.find((kind) => faults.some(({ of }) => of === kind));
        assert.deepEqual(first === undefined ? { verdict: "good" } : { verdict: "bad", fault: first }, expect, name);
    }
});

test("the reasons are those of the document", { skip }, () => {
    const schema = JSON.parse(readFileSync(new URL("../schemas/reason.schema.json", vectors)));
    assert.deepEqual([...REASONS], schema.enum);
});

test("signatures get the strict verdict from both engines, whatever the points are", { skip }, async () => {
    const read = (name) => JSON.parse(readFileSync(new URL(`../crates/proto/tests/vectors/ed25519/${name}.json`, vectors)));
    const lax = ["low_order_A", "low_order_R", "non_canonical_A", "non_canonical_R", "low_order_residue"];
    const cases = read("cctv").map(({ number, key, sig, msg, flags }) => {
        const strictly = !(flags ?? []).some((flag) => lax.includes(flag));
        return { name: `cctv ${number}`, key, sig, bytes: Buffer.from(msg), holds: strictly };
    });
    // Of the twelve, the fourth alone has sound points and an equation that holds without the cofactor.
    for (const [at, { message, pub_key, signature }] of read("speccheck").entries()) {
        cases.push({ name: `speccheck ${at}`, key: pub_key, sig: signature, bytes: Buffer.from(message, "hex"), holds: at === 3 });
    }
    assert.equal(cases.length, 926);
    assert.ok(cases.some(({ holds }) => holds));
    for (const { name, key, sig, bytes, holds } of cases) {
        for (const engine of engines) {
            const found = await engine.holds(Buffer.from(key, "hex"), bytes, Buffer.from(sig, "hex"));
            assert.equal(found, holds, `${engine.engine}: ${name}`);
        }
    }
});
