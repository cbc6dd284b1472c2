// Households of real processes: a nats-server, the homes of a few people, and their daemons.

import { execFile, spawn } from "node:child_process";
import { cpSync, mkdirSync, openSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const PATIENCE = 60_000;

/** Waits until `look` finds something, and gives it. */
export async function eventually(what, look) {
    const begun = Date.now();
    let fault;
    while (Date.now() - begun < PATIENCE) {
        try {
            const found = await look();
            if (found !== undefined && found !== false && found !== null) return found;
        } catch (error) {
            fault = error;
        }
        await sleep(40);
    }
    throw new Error(`${what} never happens${fault === undefined ? "" : `: ${fault}`}`);
}

/** Every process of this run, each ended by its own number. */
const running = new Set();

/** Starts a program whose words go to `log`. */
function start(program, args, { env, log, cwd }) {
    const words = openSync(log, "a");
    const child = spawn(program, args, { env, cwd, stdio: ["ignore", words, words] });
    running.add(child);
    child.once("exit", () => running.delete(child));
    return child;
}

async function stop(child, signal = "SIGTERM") {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((done) => child.once("exit", done));
    child.kill(signal);
    await gone;
}

export function endAll() {
    for (const child of running) child.kill("SIGKILL");
}

/** One agent: its home, and its daemon while it runs. */
class Home {
    constructor(household, name) {
        Object.assign(this, { household, name, agent: `agent-${name}`, dir: join(household.dir, name), daemon: undefined });
    }

    get env() {
        return { PATH: `${dirname(this.household.signet)}:/usr/bin:/bin`, NATS_URL: this.household.url };
    }

    /** A command that has to end well: what it printed. */
    async cli(...args) {
        const whole = [...args, "--home", this.dir];
        return await new Promise((done, failed) => {
            const child = execFile(this.household.signet, whole, { env: this.env, maxBuffer: 1 << 26 }, (error, out, said) => {
                if (error === null) done(out);
                else failed(new Error(`signet ${args.join(" ")}: ${said}${out}`));
            });
            child.stdin.end();
        });
    }

    async make() {
        await this.cli("init", "--agent", this.agent, "--principal", this.name);
        const file = join(this.dir, "config.toml");
        let text = readFileSync(file, "utf8");
        for (const [from, to] of [
            ['# mailbox = "jetstream"', 'mailbox = "core"'], ["# tier = 2", "tier = 4"],
            ["# messages-per-minute = 120", "messages-per-minute = 1000000"],
            ["# conversation-messages-per-minute = 60", "conversation-messages-per-minute = 1000000"],
        ]) {
            if (!text.includes(from)) throw new Error(`the configuration has no ${from}`);
            text = text.replace(from, to);
        }
        writeFileSync(file, `${text}\n[[capability]]\nname = "calendar.free-busy"\n`);
        writeFileSync(this.card, await this.cli("peer", "export"));
    }

    get card() {
        return join(this.household.dir, `${this.name}.json`);
    }

    async knows(...others) {
        for (const other of others) await this.cli("peer", "add", other.card);
    }

    async run() {
        this.daemon = start(this.household.signet, ["run", "--home", this.dir], { env: this.env, log: join(this.household.dir, `${this.name}.log`) });
        await eventually(`the daemon of ${this.name} is connected`, async () => (await this.call("status")).connected);
    }

    async stop() {
        await stop(this.daemon);
        this.daemon = undefined;
    }

    /** One call on the person's socket. */
    async call(method, params = {}) {
        return await new Promise((done, failed) => {
            const socket = connect(join(this.dir, "control.sock"));
            let text = "";
            socket.setEncoding("utf8");
            socket.once("error", failed);
            socket.once("close", () => failed(new Error(`${method}: the daemon hung up`)));
            socket.on("data", (piece) => {
                text += piece;
                const end = text.indexOf("\n");
                if (end < 0) return;
                const { result, error } = JSON.parse(text.slice(0, end));
                if (error === undefined) done(result);
                else failed(new Error(`${method}: ${error.message}`));
                socket.destroy();
            });
            socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}\n`);
        });
    }

    /** Sends a message, and waits until the peer has it unless it waits for people. */
    async send(peer, more) {
        return await this.call("send", { peer: peer.agent, kind: "notification", wait: 60, ...more });
    }

    /** Asks, and has the peer's agent answer. */
    async ask(peer, more, answer) {
        const answers = (async () => {
            const [message] = (await peer.call("receive", { wait: 60 })).messages;
            await peer.call("respond", { message: { "message-id": message["message-id"], from: message.from }, ...answer });
        })();
        const asked = await this.send(peer, { kind: "request", ...more });
        await answers;
        return asked;
    }

    get logs() {
        return join(this.dir, "audit", this.agent);
    }

    /** Every line of its log. */
    log() {
        const files = readdirSync(this.logs).filter((name) => name.endsWith(".jsonl")).sort();
        const lines = files.flatMap((name) => readFileSync(join(this.logs, name), "utf8").split("\n"));
        return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
    }
}

/** A server and homes: Alice, who decides; Bob and Erin, whom she knows; Carol, a stranger. */
export class Household {
    constructor(signet, natsServer, dir) {
        Object.assign(this, { signet, natsServer, dir, url: "" });
        mkdirSync(dir, { recursive: true });
        for (const name of ["alice", "bob", "carol", "erin"]) this[name] = new Home(this, name);
    }

    /** In a calm one nobody did any harm. */
    async open({ isCalm = false } = {}) {
        this.nats = start(this.natsServer, ["-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", this.dir], {
            env: {}, cwd: this.dir, log: join(this.dir, "nats.log"),
        });
        const ports = `${basename(this.natsServer)}_${this.nats.pid}.ports`;
        this.url = await eventually("the nats-server listens", () => JSON.parse(readFileSync(join(this.dir, ports), "utf8")).nats[0]);
        const { alice, bob, carol, erin } = this;
        await Promise.all([alice, bob, carol, erin].map((home) => home.make()));
        await Promise.all([alice.knows(bob, erin), bob.knows(alice), erin.knows(alice)]);
        await Promise.all([alice, bob, carol, erin].map((home) => home.run()));
        await this.#talk();
        if (isCalm) return;
        await this.#replay();
        await this.#ring();
    }

    /** What is said before anybody looks: asked, answered, told, sealed, handed over, held back. */
    async #talk() {
        const { alice, bob, carol } = this;
        const dinner = { "conversation-id": "dinner-2026-48" };
        await alice.ask(bob, { summary: "Asks for free evenings next week", body: { week: "2026-W48" }, "data-tier": 2, ...dinner }, { body: { evenings: ["Tue", "Thu"] }, summary: "Tuesday and Thursday are free" });
        await bob.send(alice, { summary: "Dinner is at half past seven", body: { dinner: "19:30", place: "at Bob's", bring: ["bread", "salad"] }, ...dinner });
        const sealed = await bob.send(alice, { summary: "Under seal", body: { pin: "the pin is 4711" }, "data-tier": 3 });
        this.sealed = sealed["message-id"];
        await alice.call("handoff.send", { peer: bob.agent, goal: "Order the cake for Saturday", capabilities: ["calendar.free-busy"], wait: 60 });
        await bob.send(alice, { kind: "request", wait: 0, summary: "Asks who brings the chairs", body: { chairs: 6 } });
        this.leaves = (await this.#draft("The code of the gate", { gate: "a sealed word" }))["message-id"];
        this.stays = (await this.#draft("The doctor's letter", { letter: "another sealed word" }))["message-id"];
        await carol.send(alice, { wait: 0, summary: "Carol of the choir would like to meet", body: "let me in" });
        await eventually("carol waits for an introduction", async () => (await alice.call("status")).pending === 1);
        await eventually("the request is there", () => alice.log().some((line) => line.message?.params?.body?.chairs === 6 || JSON.stringify(line).includes('"chairs":6')));
    }

    async #draft(summary, body) {
        const sent = await this.alice.send(this.bob, { summary, body, "data-tier": 4, wait: 0 });
        if (sent["waits-for"] !== "approval") throw new Error(`no draft: ${JSON.stringify(sent)}`);
        return sent;
    }

    /** Somebody on the broker sends a message of Bob's once more, and another with a letter changed. */
    async #replay() {
        const told = this.bob.log().find((line) => line.verdict === "sent" && JSON.stringify(line).includes("19:30"));
        const bytes = Buffer.from(canonical(told.message));
        const changed = Buffer.from(bytes.toString().replace("19:30", "21:30"));
        await publish(this.url, `agent.${this.alice.agent}.inbox`, [bytes, changed]);
        await eventually("both are refused", () => this.alice.log().filter((line) => line.verdict === "rejected").length >= 2);
    }

    /** Erin's home is put back to an older copy: what it says then has numbers that Alice knows. */
    async #ring() {
        const { alice, erin } = this;
        await erin.send(alice, { body: "one", summary: "The first letter" });
        await erin.stop();
        const copy = `${erin.dir}.copy`;
        cpSync(erin.dir, copy, { recursive: true, filter: (path) => !path.endsWith(".sock") });
        await erin.run();
        await erin.send(alice, { body: "two", summary: "The second letter" });
        await erin.stop();
        rmSync(erin.dir, { recursive: true });
        renameSync(copy, erin.dir);
        await erin.run();
        await erin.send(alice, { body: "three", summary: "Another second letter", wait: 0 });
        await eventually("an alarm rings", async () => (await alice.call("alarms.list")).alarms.length > 0);
    }
}

/** As a message is signed: members in order of their names (docs/protocol.md). */
function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

/** Puts bytes on a subject, as anybody may who reaches the server. */
async function publish(url, subject, all) {
    const { hostname, port } = new URL(url);
    await new Promise((done, failed) => {
        const socket = connect(Number(port), hostname);
        socket.once("error", failed);
        socket.on("data", (piece) => { if (piece.includes("PONG")) { socket.end(); done(); } });
        socket.write("CONNECT {\"verbose\":false}\r\n");
        for (const bytes of all) socket.write(Buffer.concat([Buffer.from(`PUB ${subject} ${bytes.length}\r\n`), bytes, Buffer.from("\r\n")]));
        socket.write("PING\r\n");
    });
}

/** The lines of those kinds behind the first `after`, without what differs from one decision to the next. */
export function told(home, after, kinds) {
    return home.log().slice(after).filter((line) => kinds.includes(line.kind)).map(alike);
}

/** A value without times, ids, signatures, hashes, keys with their words, and numbers. */
function alike(value) {
    if (Array.isArray(value)) return value.map(alike);
    if (typeof value === "number") return 0;
    if (typeof value === "string") {
        const isWords = /^[a-z]+( [a-z]+){11}$/.test(value);
        const isTime = /^\d{4}-\d\d-\d\dT.*Z$/.test(value);
        const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
        const isLong = value.length >= 40 && !value.includes(" ");
        return isWords || isTime || isId || isLong || value.startsWith("ed25519:") ? "-" : value;
    }
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, alike(inner)]));
}
