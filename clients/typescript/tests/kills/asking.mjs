// Asks so many orders, sixteen at a time, each under a key of its own; prints a line for each answer.

import assert from "node:assert/strict";

import { Agent } from "../../dist/index.js";

const agent = new Agent({ home: process.env.SIGNET_TEST_ALICE, patience: 120 });
const orders = Number(process.argv[2]);
let next = 0;

async function ask() {
    while (next < orders) {
        const number = next++;
        const asking = { capability: "test.orders", key: `order-${number}`, timeout: 300 };
        const answer = await agent.request("agent-bob", { number }, asking);
        assert.equal(answer.body.number, number);
        console.log(JSON.stringify({ number, "message-id": answer["in-reply-to"] }));
    }
}

await Promise.all(Array.from({ length: 16 }, ask));
await agent.close();
