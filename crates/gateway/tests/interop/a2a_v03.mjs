// @a2a-js/sdk 0.3.x against a gateway: a2a_v03.mjs BASE. It is run where the package is installed.
import assert from "node:assert/strict";
import { ClientFactory } from "@a2a-js/sdk/client";

const [base] = process.argv.slice(2);
const client = await new ClientFactory().createFromUrl(base);
const says = (messageId, text) => ({
    message: { kind: "message", messageId, role: "user", parts: [{ kind: "text", text }] },
});

const task = await client.sendMessage(says("js03-1", "hello"));
assert.equal(task.kind, "task");
assert.equal(task.status.state, "completed", JSON.stringify(task));
assert.equal(task.artifacts[0].parts[0].text, "heard hello");
console.log("ok: message/send");

let last;
for await (const event of client.sendMessageStream(says("js03-2", "count"))) last = event;
assert.equal(last.kind, "status-update");
assert.ok(last.final && last.status.state === "completed", JSON.stringify(last));
console.log("ok: message/stream");

const found = await client.getTask({ id: task.id, historyLength: 1 });
assert.equal(found.id, task.id);
await assert.rejects(client.cancelTask({ id: task.id }));
await assert.rejects(client.getTask({ id: "no-such-task" }));
console.log("ok: tasks/get, tasks/cancel");
