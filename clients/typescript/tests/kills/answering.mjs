// The agent that is killed: it answers each order with its number. Every answer takes a moment, so that kills hit it.

import { setTimeout as sleep } from "node:timers/promises";

import { Agent } from "../../dist/index.js";

const agent = new Agent({ home: process.env.SIGNET_TEST_BOB });
agent.handles("test.orders", async (request) => {
    await sleep(20 * Math.random());
    return { number: request.body.number, tries: request.tries };
});
await agent.run();
