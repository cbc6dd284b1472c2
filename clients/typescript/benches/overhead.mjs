// What the client costs over the bare socket: requests to an agent of the package by an agent of the package, in turn with
// the same by hand on both sides. Prints milliseconds as JSON; the two daemons are those of SIGNET_TEST_ALICE and
// SIGNET_TEST_BOB, and Bob's configuration has the capabilities fixed.orders and fixed.lamp.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createConnection } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Agent } from "../dist/index.js";

const REQUESTS = Number(process.env.SIGNET_TEST_REQUESTS ?? 500);
const { SIGNET_TEST_ALICE: ALICE, SIGNET_TEST_BOB: BOB } = process.env;

/** The socket without the package: one call after the other. */
function bare(home) {
    const socket = createConnection(join(home, "agent.sock"));
    const answered = [];
    createInterface({ input: socket }).on("line", (line) => answered.shift()(JSON.parse(line).result));
    return (method, params) =>
        new Promise((resolve) => {
            answered.push(resolve);
            socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}\n`);
        });
}

async function serveBare() {
    const call = bare(BOB);
    for (;;) {
        const { messages } = await call("receive", { wait: 30, capabilities: ["fixed.lamp"] });
        for (const { lease, body } of messages) await call("respond", { lease, body });
    }
}

async function measure() {
    const call = bare(ALICE);
    const agent = new Agent({ home: ALICE });
    const times = { agent: [], bare: [] };
    for (let number = 0; number < REQUESTS + 20; number += 1) {
        let began = performance.now();
        const answer = await agent.request("agent-bob", { number }, { capability: "fixed.orders" });
        times.agent.push(performance.now() - began);
        assert.deepEqual(answer.body, { number });
        // Telling that the answer is read goes on behind the caller's back: not into the next measurement.
        await sleep(5);
        // With a key, as the package has one: the daemon writes a line more for it.
        const key = `bare-${process.pid}-${number}`;
        const send = { peer: "agent-bob", kind: "request", body: { number }, capability: "fixed.lamp", wait: 60, key };
        began = performance.now();
        const sent = await call("send", send);
        times.bare.push(performance.now() - began);
        const { from, "message-id": id } = sent.answer;
        await call("acknowledge", { messages: [{ from, "message-id": id }] });
        await sleep(5);
    }
    const median = (all) => all.slice(20).sort((one, other) => one - other)[REQUESTS / 2];
    const [packaged, hand] = [median(times.agent), median(times.bare)];
    const rounded = (time) => Number(time.toFixed(3));
    return {
        requests: REQUESTS,
        "package-p50": rounded(packaged),
        "bare-p50": rounded(hand),
        "overhead-p50": rounded(packaged - hand),
    };
}

switch (process.argv[2]) {
    case "bare":
        await serveBare();
        break;
    case "agent":
        await new Agent({ home: BOB }).handles("fixed.orders", (request) => request.body).run();
        break;
    default: {
        const serving = ["bare", "agent"].map((kind) => spawn(process.execPath, [fileURLToPath(import.meta.url), kind], { stdio: "inherit" }));
        try {
            console.log(JSON.stringify(await measure()));
        } finally {
            serving.forEach((one) => one.kill());
        }
        process.exit();
    }
}
