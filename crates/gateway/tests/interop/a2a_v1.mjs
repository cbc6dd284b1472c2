// @a2a-js/sdk 1.x against a gateway: a2a_v1.mjs BASE. It is run where the package is installed.
import assert from "node:assert/strict";
import { GetTaskRequest, ListTasksRequest, SendMessageRequest, TaskState } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";

const [base] = process.argv.slice(2);
const client = await new ClientFactory().createFromUrl(base);
const says = (messageId, text) =>
    SendMessageRequest.fromJSON({ message: { messageId, role: "ROLE_USER", parts: [{ text }] } });

const answered = await client.sendMessage(says("js1-1", "hello"));
const task = answered.payload?.value ?? answered.task ?? answered;
assert.equal(task.status.state, TaskState.TASK_STATE_COMPLETED, JSON.stringify(answered));
assert.match(JSON.stringify(task.artifacts), /heard hello/);
console.log("ok: SendMessage");

let last;
for await (const event of client.sendMessageStream(says("js1-2", "count"))) last = event;
assert.match(JSON.stringify(last), new RegExp(`"state":(${TaskState.TASK_STATE_COMPLETED}|"TASK_STATE_COMPLETED")`));
console.log("ok: SendStreamingMessage");

const found = await client.getTask(GetTaskRequest.fromJSON({ id: task.id }));
assert.equal(found.id, task.id);
const listed = await client.listTasks(ListTasksRequest.fromJSON({ pageSize: 1 }));
assert.ok(listed.totalSize >= 2 && listed.nextPageToken, JSON.stringify(listed));
console.log("ok: GetTask, ListTasks");
await assert.rejects(client.cancelTask({ id: task.id }));
await assert.rejects(client.getTask(GetTaskRequest.fromJSON({ id: "no-such-task" })));
console.log("ok: what is over is not canceled, what is not there not found");
