// What needs no daemon: generated types, where the socket is, errors, and a daemon that is none.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Agent, ApiError, findSocket, NoHome, NotReachable, REASONS, Refusal, SignetError } from "../dist/index.js";
import { errorOf } from "../dist/errors.js";

const root = new URL("../", import.meta.url);
const schema = new URL("../../schemas/api.schema.json", root);

test("the types are what the schema of the daemon says", { skip: !existsSync(schema) && "the repository is not here" }, () => {
    execFileSync(process.execPath, ["scripts/generate.mjs", "--check"], { cwd: root });
    const reasons = JSON.parse(readFileSync(schema, "utf8")).$defs.Reason.anyOf[0].enum;
    assert.deepEqual([...REASONS], reasons);
});

test("the socket is found as the command finds its home", () => {
    const all = { SIGNET_AGENT_SOCKET: "/a/s", SIGNET_HOME: "/s", XDG_DATA_HOME: "/x", HOME: "/h" };
    const found = Object.keys(all).map((name) => {
        const place = findSocket({}, all);
        delete all[name];
        return place;
    });
    assert.deepEqual(found, ["/a/s", "/s/agent.sock", "/x/signet/agent.sock", "/h/.local/share/signet/agent.sock"]);
    assert.equal(findSocket({ socket: "/o", home: "/i" }, {}), "/o");
    assert.equal(findSocket({ home: "/i" }, { SIGNET_AGENT_SOCKET: "/a" }), "/i/agent.sock");
});

test("empty variables and a relative XDG directory count as unset", () => {
    const odd = { SIGNET_AGENT_SOCKET: "", SIGNET_HOME: "", XDG_DATA_HOME: "x", HOME: "/h" };
    assert.equal(findSocket({}, odd), "/h/.local/share/signet/agent.sock");
    assert.throws(() => findSocket({}, {}), NoHome);
});

test("a reason of the protocol keeps its name, and an odd error is one all the same", () => {
    const refusal = errorOf({ code: -32000, message: "no", data: { reason: "version-insufficient", next: "wait" } });
    assert(refusal instanceof Refusal);
    assert.deepEqual([refusal.reason, refusal.next, refusal.message], ["version-insufficient", "wait", "no\n  next: wait"]);
    for (const odd of [null, [], "?", {}, { code: "x", message: 7, data: [1] }, { code: -32000, data: "?" }]) {
        assert(errorOf(odd) instanceof ApiError);
    }
});

test("a capability has one handler, and an agent without any does not serve", async () => {
    const agent = new Agent({ socket: "/nowhere" });
    await assert.rejects(agent.serve(AbortSignal.abort()), SignetError);
    agent.handles("test.twice", () => 1);
    assert.throws(() => agent.handles("test.twice", () => 2), SignetError);
});

test("a daemon that does not run is said with what to do", async () => {
    const agent = new Agent({ home: "/nowhere" });
    await assert.rejects(agent.status(), (error) => error instanceof NotReachable && error.message.includes("signet run"));
});

test("what does not speak JSON-RPC is left", async () => {
    for (const said of ["HTTP/1.1 400 Bad Request\n", "[]\n", "\xff\xfe\n", '"line"\n', "x".repeat(65 << 20), ""]) {
        await assert.rejects(ask(said), NotReachable);
    }
});

test("late and foreign answers are passed over", async () => {
    const lines = [
        { jsonrpc: "2.0", id: 99, result: "foreign" },
        { jsonrpc: "2.0", id: "1", result: "a text" },
        { jsonrpc: "2.0", id: [1], result: "odd" },
        { jsonrpc: "2.0", method: "inbox.message", params: null },
        { jsonrpc: "2.0", id: 1, result: [] },
    ];
    assert.deepEqual(await ask(lines.map((line) => `${JSON.stringify(line)}\n`).join("")), []);
});

test("an answer in many pieces is one", async () => {
    const said = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id: 1, result: [{ peer: "agent-é" }] })}\n`);
    assert.deepEqual(await ask(said, 1), [{ peer: "agent-é" }]);
});

/** `peers()` of an agent whose daemon says this, and hangs up. */
async function ask(said, piece = 1 << 20) {
    const place = mkdtempSync(join(tmpdir(), "signet-"));
    const server = createServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", async () => {
            const bytes = Buffer.from(said);
            for (let at = 0; at < bytes.length; at += piece) {
                socket.write(bytes.subarray(at, at + piece));
                if (piece === 1) await new Promise(setImmediate);
            }
            socket.end();
        });
    });
    await new Promise((resolve) => server.listen(join(place, "s"), resolve));
    const agent = new Agent({ socket: join(place, "s"), patience: 0.2 });
    try {
        return await agent.peers();
    } finally {
        await agent.close();
        server.close();
        rmSync(place, { recursive: true });
    }
}
