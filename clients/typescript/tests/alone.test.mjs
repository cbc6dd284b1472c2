// What needs no daemon: generated types, where the socket is, errors, and a daemon that is none.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import net, { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Agent, ApiError, DaemonSilent, findSocket, NoHome, NotReachable, REASONS, Refusal, RequestRefused, SignetError } from "../dist/index.js";
import { errorOf } from "../dist/errors.js";

const root = new URL("../", import.meta.url);
const schema = new URL("../../schemas/api.schema.json", root);

test("the types are what the schema of the daemon says", { skip: !existsSync(schema) && "the repository is not here" }, () => {
    execFileSync("python3", ["../generate.py", "--check"], { cwd: root });
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

test("no answer of another form is a TypeError", async () => {
    const odd = [null, [], {}, "x", 7, { messages: null }, { messages: [null] }, { tasks: 7 }, [null]];
    odd.push({ "message-id": 7, state: "answered" }, { "message-id": "m", state: "answered", answer: 7 });
    odd.push({ "message-id": "m", state: "answered", answer: { from: "x" } });
    let result;
    await withDaemon((call) => ({ id: call.id, result }), async (agent) => {
        const name = { from: "agent-bob", "message-id": "m" };
        for (result of odd) {
            for (const call of [
                () => agent.request("agent-bob", 1, { timeout: 0.2 }),
                () => agent.reply(name, 1),
                () => agent.decline(name, "no"),
                ...["inbox", "history", "outbox", "tasks", "peers", "status"].map((method) => () => agent[method]()),
                () => agent.where("m"),
            ]) {
                const error = await call().then(() => undefined, (error) => error);
                assert(error === undefined || error instanceof SignetError, `${JSON.stringify(result)}: ${error}`);
            }
        }
    });
});

test("who named none of several capabilities is told what there is and how it is said here", async () => {
    const why = { reason: "capability-needed", by: "self", offers: ["door.open", "door.shut"] };
    const refused = (call) => ({ id: call.id, result: { "message-id": "m", state: "refused", ...why } });
    await withDaemon(refused, async (agent) => {
        await assert.rejects(agent.request("agent-bob", 1), (error) => {
            assert(error instanceof RequestRefused);
            assert.deepEqual(error.sent.offers, why.offers);
            for (const words of ["door.open, door.shut", "`capability`", '"for-people": true']) {
                assert(error.message.includes(words), error.message);
            }
            return error.reason === "capability-needed" && error.by === "self";
        });
    });
});

test("an agent that serves goes on after answers of another form", async () => {
    const odd = [null, {}, { messages: 7 }, { messages: [{ key: "k" }] }];
    const stop = new AbortController();
    let ended = false;
    const seen = new Promise((resolve) => {
        const answer = (call) => {
            if (call.method !== "receive") return { id: call.id, result: {} };
            if (odd.length === 0) resolve();
            return odd.length === 0 ? undefined : { id: call.id, result: odd.shift() };
        };
        void withDaemon(answer, async (agent) => {
            agent.handles("test.any", () => 1);
            await agent.serve(stop.signal);
        }).finally(() => (ended = true));
    });
    await seen;
    assert.equal(ended, false);
    stop.abort();
});

test("a daemon that says nothing is given up in time", async () => {
    await withDaemon(() => undefined, async (agent) => {
        for (const call of [
            () => agent.request("agent-bob", 1, { timeout: 0.5 }),
            () => agent.request("agent-bob", 1, { timeout: 0.5, onProgress: () => {} }),
            () => agent.notify("agent-bob", 1),
            () => agent.status(),
        ]) {
            const began = performance.now();
            await assert.rejects(call(), (error) => error instanceof DaemonSilent && error.message.includes("signet doctor"));
            assert(performance.now() - began < 10_000);
        }
    });
});

test("a daemon that takes no connection is given up in time", async () => {
    const place = mkdtempSync(join(tmpdir(), "signet-"));
    const path = join(place, "s");
    // A program that listens, has no room for another connection, and takes none.
    const full = `import socket, sys, time
stopped = socket.socket(socket.AF_UNIX); stopped.bind(sys.argv[1]); stopped.listen(0)
first = socket.socket(socket.AF_UNIX); first.connect(sys.argv[1])
print("full", flush=True); time.sleep(120)`;
    const stopped = spawn("python3", ["-c", full, path], { stdio: ["ignore", "pipe", "inherit"] });
    await new Promise((resolve) => stopped.stdout.once("data", resolve));
    try {
        await giveUp(path);
        // What neither is made nor fails, as some systems do where there is no room.
        await withConnections(() => new net.Socket(), () => giveUp(path));
    } finally {
        stopped.kill();
        rmSync(place, { recursive: true });
    }
});

async function giveUp(socket) {
    const said = [];
    let several = () => {};
    const agent = new Agent({ socket, patience: 0.5, log: (text) => said.push(text) > 1 && several() });
    for (const call of [
        () => agent.request("agent-bob", 1, { timeout: 0.5 }),
        () => agent.request("agent-bob", 1, { timeout: 0.5, onProgress: () => {} }),
        () => agent.status(),
        () => agent.follow().next(),
        () => agent.subscribe({ message: "m" }).next(),
    ]) {
        const began = performance.now();
        await assert.rejects(inTime(call()), NotReachable);
        assert(performance.now() - began < 10_000);
    }
    agent.handles("test.any", () => 1);
    const stop = new AbortController();
    const serving = agent.serve(stop.signal);
    await inTime(new Promise((resolve) => (several = resolve)));
    stop.abort();
    await inTime(serving);
    await agent.close();
}

test("an answer comes also where nobody takes the connection for its progress", async () => {
    const answer = ({ id, method, params }) => {
        const message = { from: "agent-bob", principal: "bob", "message-id": "b", type: "response", body: 7 };
        const sent = { "message-id": "m", state: "queued" };
        const answered = { ...sent, state: "answered", answer: message };
        return { id, result: method !== "send" ? {} : params.wait > 0 ? answered : sent };
    };
    await withDaemon(answer, async (agent) => {
        let connections = 0;
        const onlyFirst = (connect) => (path) => (++connections === 1 ? connect(path) : new net.Socket());
        await withConnections(onlyFirst(net.createConnection), async () => {
            const began = performance.now();
            assert.equal((await inTime(agent.request("agent-bob", 1, { onProgress: () => {} }))).body, 7);
            assert(performance.now() - began < 1_500, "it waits for nothing but the answer");
            assert(connections > 1);
        });
    });
});

/** Runs `body` where each connection is made by `connect`. */
async function withConnections(connect, body) {
    const { createConnection } = net;
    const set = (made) => {
        net.createConnection = made;
        syncBuiltinESMExports();
    };
    set(connect);
    try {
        return await body();
    } finally {
        set(createConnection);
    }
}

function inTime(done) {
    let timer;
    const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("it hangs")), 20_000)));
    return Promise.race([done, late]).finally(() => clearTimeout(timer));
}

test("the examples of the README run as printed, and the program that asks ends, also without close", async () => {
    const blocks = [...readFileSync(new URL("README.md", root), "utf8").matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code);
    const [serving, asking] = blocks;
    const message = { from: "agent-bob-001", principal: "bob", "message-id": "b", type: "response", body: { evenings: ["Tue"] } };
    const answer = (call) => {
        if (call.method === "receive") return undefined;
        const sent = { "message-id": "a", state: "answered", answer: message };
        return { id: call.id, result: call.method === "send" ? sent : {} };
    };
    const run = (code, home) => {
        const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
            cwd: root,
            env: { ...process.env, SIGNET_HOME: home, SIGNET_AGENT_SOCKET: "" },
            stdio: ["ignore", "pipe", "inherit"],
        });
        let said = "";
        child.stdout.on("data", (data) => (said += data));
        const ended = new Promise((resolve) => child.once("exit", (code) => resolve({ code, said: said.trim() })));
        return { child, ended };
    };
    await withDaemon(answer, async (_, home) => {
        for (const code of [asking, asking.replace("await agent.close();\n", "")]) {
            const { child, ended } = run(code, home);
            const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
            const { code: status, said } = await ended;
            clearTimeout(late);
            assert.deepEqual([status, said], [0, "{ evenings: [ 'Tue' ] } agent-bob-001 bob"]);
        }
    });
    let served = () => {};
    const begun = new Promise((resolve) => (served = resolve));
    const offers = (call) => {
        if (call.method === "receive") served(call);
        return answer(call);
    };
    await withDaemon(offers, async (_, home) => {
        const { child, ended } = run(serving, home);
        assert.deepEqual((await begun).params.capabilities, ["calendar.free-busy"]);
        child.kill("SIGTERM");
        assert.equal((await ended).code, 0);
    });
});

/** Runs `body` with an agent of a home whose daemon answers each call with that; undefined is no answer. */
async function withDaemon(answer, body) {
    const place = mkdtempSync(join(tmpdir(), "signet-"));
    const sockets = new Set();
    const server = createServer((socket) => {
        sockets.add(socket.on("error", () => {}));
        let said = "";
        socket.on("data", (data) => {
            said += data;
            for (let end = said.indexOf("\n"); end >= 0; end = said.indexOf("\n")) {
                const answered = answer(JSON.parse(said.slice(0, end)));
                said = said.slice(end + 1);
                if (answered) socket.write(`${JSON.stringify({ jsonrpc: "2.0", ...answered })}\n`);
            }
        });
    });
    await new Promise((resolve) => server.listen(join(place, "agent.sock"), resolve));
    const agent = new Agent({ home: place, patience: 0.5, log: () => {} });
    try {
        return await body(agent, place);
    } finally {
        await agent.close();
        for (const socket of sockets) socket.destroy();
        server.close();
        rmSync(place, { recursive: true });
    }
}

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
