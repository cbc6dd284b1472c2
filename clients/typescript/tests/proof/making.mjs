// Makes what a signet makes: keys from published seeds, statements, messages, a log with its checkpoints, a bundle. It signs
// with Node's own Ed25519 and shares no code with what it tests, but for the canonical form.

import { createHash, createPrivateKey, createPublicKey, sign as signWith } from "node:crypto";

export const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
const b64u = (bytes) => Buffer.from(bytes).toString("base64url");

/** RFC 8785 of values that JSON.parse gives. */
export function canonical(value) {
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    const names = Object.keys(value).filter((name) => value[name] !== undefined).sort();
    return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

export class Key {
    constructor(byte) {
        const seed = Buffer.alloc(32, byte);
        const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
        this.secret = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
        this.raw = createPublicKey(this.secret).export({ format: "der", type: "spki" }).subarray(12);
        this.public = b64u(this.raw);
        this.id = `ed25519:${b64u(sha256(this.raw))}`;
        this.hash = b64u(sha256(this.raw));
    }

    sign(bytes) {
        return signWith(null, Buffer.from(bytes), this.secret);
    }

    /** The statement with its signature for a purpose. */
    statement(label, value) {
        const rest = { ...value, signature: undefined };
        return { ...rest, signature: b64u(this.sign(`signet/1 ${label}\n${canonical(rest)}`)) };
    }
}

const FROM = "2026-01-01T00:00:00.000Z";
const UNTIL = "2027-01-01T00:00:00.000Z";

/** An agent, its person and their keys. */
export class Party {
    constructor(agent, principal, byte) {
        Object.assign(this, { agent, principal });
        this.root = new Key(byte);
        this.next = new Key(byte + 1);
        this.key = new Key(byte + 2);
        this.control = new Key(byte + 3);
        this.certificate = this.certify({});
    }

    certify(more, root = this.root) {
        const value = {
            type: "agent", "agent-id": this.agent, "principal-id": this.principal, "signing-key": this.key.public,
            layers: [0, 1, 2, 3], versions: ["1.0.0", "1.1.0"], serial: 1, "not-before": FROM, "not-after": UNTIL,
            "root-key": root.public, "next-root": this.next.hash, ...more,
        };
        return root.statement("certificate", value);
    }

    controlCertificate(more = {}, root = this.root) {
        const value = {
            type: "control", "principal-id": this.principal, "control-key": this.control.public,
            "audit-key": "x25519:rAGyIJ6GNU-4UyN7XeD0-rE8f8v0M6YcAZNpYX_s8Qs", serial: 1, "not-before": FROM, "not-after": UNTIL,
            "root-key": root.public, "next-root": this.next.hash, ...more,
        };
        return root.statement("certificate", value);
    }
}

export const at = (second) => new Date(Date.UTC(2026, 1, 8, 17, 0, second)).toISOString();
export const uuid = (number) => `019c3e32-0000-7000-8000-${number.toString(16).padStart(12, "0")}`;
const SESSION = "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk";

/** What of a message its sender writes and no key has signed. */
export function unsigned(from, to, number, { method = "agent.notification", headers = {}, envelope, ...more } = {}) {
    const time = at(number);
    const type = { "agent.request": "request", "agent.handoff": "handoff" }[method] ?? "notification";
    const id = type === "notification" ? undefined : uuid(number);
    const params = {
        headers: {
            "agent-id": from.agent, "principal-id": from.principal, timestamp: time, "message-type": type,
            "trust-layer-version": "1.0.0", "skill-layers-loaded": [0, 1, 2, 3], "recipient-id": to.agent, "message-id": uuid(number),
            "expires-at": at(number + 3600), "key-id": from.key.id, session: SESSION, sequence: number, ...headers,
        },
        ...(envelope ?? { summary: `Message ${number}`, body: { number } }),
    };
    return { jsonrpc: "2.0", method, id, params, ...more };
}

/** The answer to a message, or its refusal with a reason. */
export function answering(from, to, number, request, { reason, headers = {} } = {}) {
    const value = unsigned(from, to, number, { headers: { "message-type": "response", "in-reply-to": uuid(request), ...headers } });
    const { params } = value;
    const rest = { jsonrpc: "2.0", id: uuid(request) };
    if (reason === undefined) return { ...rest, result: params };
    const { summary, body, ...bare } = params;
    return { ...rest, error: { code: -32091, message: "No.", data: { ...bare, reason } } };
}

const envelopeOf = (value) => value.params ?? value.result ?? value.error.data;

export function signed(value, key) {
    const copy = structuredClone(value);
    const envelope = envelopeOf(copy);
    delete envelope.signature;
    envelope.signature = b64u(key.sign(`signet/1 message\n${canonical(copy)}`));
    return copy;
}

const APPLICATION = ["agent.request", "agent.notification", "agent.handoff", "agent.progress", undefined];

/** The members of a log's line about a message. */
export function line(dir, verdict, message, more = {}) {
    const envelope = envelopeOf(message);
    const { headers } = envelope;
    const text = canonical(message);
    const members = {
        kind: "message", dir, verdict, reason: null, "peer-reason": dir === "in" ? message.error?.data.reason : undefined,
        peer: headers[dir === "in" ? "agent-id" : "recipient-id"], principal: headers["principal-id"],
        class: APPLICATION.includes(message.method) ? "application" : "control", type: headers["message-type"], method: message.method,
        id: headers["message-id"], conversation: headers["conversation-id"], "in-reply-to": headers["in-reply-to"],
        tier: headers["data-tier"] ?? 1, summary: envelope.summary ?? null, bytes: Buffer.byteLength(text),
        sha256: sha256(text).toString("hex"), message: { text },
    };
    return { ...members, ...more };
}

export const trust = (change, certificate, fingerprint) => ({ kind: "trust", change, peer: certificate["agent-id"], fingerprint, certificate: { text: canonical(certificate) } });

/** Spells a line: members in the order in which they stand, what is inside of them canonical. */
export function spell(members) {
    const parts = Object.entries(members).filter(([, value]) => value !== undefined);
    const written = (value) => (value !== null && typeof value === "object" && "text" in value ? value.text : canonical(value));
    return `{${parts.map(([name, value]) => `${JSON.stringify(name)}:${written(value)}`).join(",")}}`;
}

const hashLeaf = (text) => sha256(Buffer.of(0), text);
const hashNode = (left, right) => sha256(Buffer.of(1), left, right);

/** MTH and PATH of RFC 6962, 2.1, by their definitions. */
export function rootOf(leaves) {
    if (leaves.length === 0) return sha256();
    if (leaves.length === 1) return hashLeaf(leaves[0]);
    const split = 2 ** (Math.ceil(Math.log2(leaves.length)) - 1);
    return hashNode(rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

export function pathOf(leaves, index) {
    if (leaves.length === 1) return [];
    const split = 2 ** (Math.ceil(Math.log2(leaves.length)) - 1);
    if (index < split) return [...pathOf(leaves.slice(0, split), index), rootOf(leaves.slice(split))];
    return [...pathOf(leaves.slice(split), index - split), rootOf(leaves.slice(0, split))];
}

export function note(origin, size, root, key) {
    const text = `${origin}\n${size}\n${Buffer.from(root).toString("base64")}\n`;
    const hash = sha256(origin, Buffer.of(0x0a, 0x01), key.raw).subarray(0, 4);
    return `${text}\n— ${origin} ${Buffer.concat([hash, key.sign(text)]).toString("base64")}\n`;
}

/** An agent's log of February 2026, and the bundle of it. */
export class Log {
    constructor(party, words) {
        Object.assign(this, { party, lines: [], month: "2026-02", key: new Key(200), times: [] });
        this.add(0, { kind: "genesis", fingerprint: words, certificate: { text: canonical(party.certificate) }, "checkpoint-key": this.key.public });
    }

    add(second, members) {
        const before = this.lines.at(-1);
        const first = { v: 2, seq: this.lines.length + 1, ts: at(second), prev: before === undefined ? "0".repeat(64) : sha256(before).toString("hex") };
        this.lines.push(spell({ ...first, ...members }));
        this.times.push(at(second));
        return this;
    }

    get head() {
        return sha256(this.lines.at(-1)).toString("hex");
    }

    get origin() {
        return `signet/${this.party.agent}/${this.month}`;
    }

    checkpoint(key = this.key) {
        return note(this.origin, this.lines.length, rootOf(this.lines), key);
    }

    /** The lines of a bundle about a peer: all lines of this log, or those that are chosen. */
    bundle(peer, { header = {}, key, choose = () => true } = {}) {
        const chosen = this.lines.map((text, index) => ({ text, index })).filter(({ text, index }) => choose(JSON.parse(text), index));
        const counted = chosen.filter(({ text }) => /"kind":"(message|handoff)"/.test(text)).length;
        const first = {
            v: 1, kind: "bundle", agent: this.party.agent, peer: peer.agent, from: "2026-02-01T00:00:00.000Z",
            to: "2026-03-01T00:00:00.000Z", lines: counted, "left-out": 0, ...header,
        };
        const lines = [canonical(first), canonical({ kind: "checkpoint", month: this.month, note: this.checkpoint(key) })];
        for (const { text, index } of chosen) {
            const path = pathOf(this.lines, index).map((hash) => hash.toString("base64"));
            lines.push(canonical({ kind: "proof", month: this.month, index, path }), text);
        }
        return lines;
    }
}
