// Two real daemons, Alice's and Bob's, which whoever runs the tests has started and starts anew when they end.

import { readdirSync, readFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Agent } from "../dist/index.js";

export const ALICE = "agent-alice";
export const BOB = "agent-bob";

/** Whether there are daemons; else why these tests do not run. */
export const skip =
    process.env.SIGNET_TEST_ALICE && process.env.SIGNET_TEST_BOB
        ? false
        : "SIGNET_TEST_ALICE and SIGNET_TEST_BOB name no homes: cargo test --test daemons clients:: runs these tests";

export const home = (name) => process.env[`SIGNET_TEST_${name.toUpperCase()}`];
export const alice = (options) => new Agent({ home: home("alice"), log: () => {}, ...options });
export const bob = (options) => new Agent({ home: home("bob"), log: () => {}, ...options });

/** SIGKILL; the daemon is started anew by whoever runs the tests. */
export async function killDaemon(name) {
    const socket = createConnection(join(home(name), "control.sock"));
    socket.write('{"jsonrpc":"2.0","id":1,"method":"status"}\n');
    let said = "";
    for await (const piece of socket) {
        said += piece;
        if (said.includes("\n")) break;
    }
    process.kill(JSON.parse(said).result.pid, "SIGKILL");
}

/** The whole log of one side, as text. */
export function log(name) {
    const place = join(home(name), "audit", `agent-${name}`);
    const files = readdirSync(place).filter((file) => file.endsWith(".jsonl"));
    return files.sort().map((file) => readFileSync(join(place, file), "utf8")).join("");
}

/** What `look` gives, as soon as it gives something. */
export async function eventually(what, look, seconds = 30) {
    for (const end = Date.now() + 1_000 * seconds; Date.now() < end; await sleep(50)) {
        const found = await look();
        if (found) return found;
    }
    throw new Error(`in ${seconds} s: ${what}`);
}

/** Runs `body` while the agent is at work, and Alice has heard of these capabilities. */
export async function serving(agent, capabilities, body) {
    const stop = new AbortController();
    let failed;
    const served = agent.serve(stop.signal).catch((error) => (failed = error));
    const asker = alice();
    try {
        await eventually(`${capabilities} are offered`, async () => {
            if (failed) throw failed;
            const shown = await asker.peer(BOB);
            const names = (shown.capabilities ?? []).map((one) => one.name);
            return capabilities.every((name) => names.includes(name));
        });
        return await body(asker);
    } finally {
        stop.abort();
        await served;
        await asker.close();
        await agent.close();
    }
}
