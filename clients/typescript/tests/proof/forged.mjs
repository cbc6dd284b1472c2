// More than twenty honest bundles, and more than forty that somebody forged: each with the fault that has to be found. The forger of the
// first group holds no key; that of the second has Alice's log, its checkpoint key and her own keys, and says what is not so.

import { createHash } from "node:crypto";

import { wordsOf } from "../../dist/proof/index.js";
import * as made from "./making.mjs";

const { Key, Log, Party, at, canonical, line, signed, trust, unsigned, uuid } = made;
export const alice = new Party("agent-alice-001", "alice", 10);
export const bob = new Party("agent-bob-001", "bob", 20);
const eve = new Party("agent-eve-001", "eve", 30);
const carol = new Party("agent-carol-001", "carol", 40);
const fresh = new Key(99);
const words = (key) => wordsOf(key.public);
const household = { "data-tier": 2 };

/** A message between two, of tier 2 unless said otherwise. */
function said(from, to, number, { headers, key = from.key, ...more } = {}) {
    return signed(unsigned(from, to, number, { headers: { ...household, ...headers }, ...more }), key);
}
const came = (number, more) => line("in", "accepted", said(bob, alice, number, more));
const went = (number, more) => line("out", "sent", said(alice, bob, number, more));

/** Alice's log: whose it is, Bob's certificate, four messages. */
function talked() {
    const log = new Log(alice, words(alice.root));
    log.add(0, trust("bound", bob.certificate, words(bob.root)));
    for (let number = 1; number <= 4; number += 1) log.add(number, number % 2 ? came(number) : went(number));
    return log;
}

/** A log with something more in it, and an honest message behind that. */
function withLines(write) {
    const log = talked();
    write(log);
    return log.add(50, went(50));
}

function flight(from, to, number, certificate, key = from.key) {
    const keys = key.statement("keys", {
        type: "keys", "agent-id": from.agent, serial: 1, "not-after": at(86_400),
        "sealing-key": "x25519:rAGyIJ6GNU-4UyN7XeD0-rE8f8v0M6YcAZNpYX_s8Qs",
    });
    const body = { certificate, keys, nonce: bob.key.hash, versions: ["1.0.0"], layers: [0], sessions: [] };
    const message = unsigned(from, to, number, { method: "agent.announce", headers: { "key-id": key.id }, envelope: { body } });
    delete message.params.headers.session;
    delete message.params.headers.sequence;
    return signed(message, key);
}

const box = { to: "x25519:rAGyIJ6GNU-4UyN7XeD0-rE8f8v0M6YcAZNpYX_s8Qs", box: Buffer.alloc(60, 1).toString("base64url") };
const sealed = { headers: { "data-tier": 3 }, envelope: { sealed: box } };

function mandate(from, to, more = {}, key = from.key) {
    return key.statement("handoff", {
        type: "handoff", task: uuid(99), from: from.agent, to: to.agent, capabilities: ["calendar.read"], tier: 2, depth: 1,
        "issued-at": at(1), "not-after": at(3600), ...more,
    });
}
const link = (given, party) => ({ mandate: given, certificate: party.certificate });
const parent = (given) => createHash("sha256").update(canonical(given)).digest("base64url");
const handed = (chain, more = {}) => ({
    kind: "handoff", peer: bob.agent, dir: "out", task: uuid(99), change: "offered", id: uuid(9), goal: "Find an evening", tier: 2, hops: 1,
    chain, ...more,
});

function revocation(root = bob.root) {
    const value = root.statement("revocation", {
        type: "revocation", "principal-id": "bob", "agent-id": bob.agent, serial: 1, reason: "lost", "revoked-at": at(8), "root-key": root.public,
    });
    return { kind: "trust", change: "revoked", peer: bob.agent, fingerprint: words(root), revocation: { text: canonical(value) } };
}

function draft(more = {}) {
    const message = unsigned(alice, bob, 9, { headers: household, ...more });
    for (const name of ["timestamp", "expires-at", "key-id", "session", "sequence"]) delete message.params.headers[name];
    const waits = {
        kind: "draft", peer: bob.agent, id: uuid(9), class: "application", method: "agent.notification", tier: 2, summary: "Message 9",
        life: 3600, approve: bob.root.id, message: { text: canonical(message) },
    };
    return { message, waits };
}

function approval(message, more = {}, key = alice.control, control = alice.controlCertificate()) {
    const draft = createHash("sha256").update(canonical(message)).digest("base64url");
    const value = key.statement("approval", { type: "approval", "principal-id": "alice", draft, decision: "approved", "decided-at": at(9), ...more });
    return {
        kind: "approval", peer: bob.agent, id: uuid(9), decision: value.decision, approval: { text: canonical(value) },
        control: { text: canonical(control) },
    };
}

const text = (lines) => Buffer.from(lines.join("\n") + "\n");
const bare = (members) => Object.fromEntries(Object.entries(members).filter(([name]) => !["message", "principal", "class", "method", "id"].includes(name)));

/** Bundles that hold. */
export function honest() {
    const of = (name, log, options) => ({ name, bytes: text(log.bundle(bob, options)) });
    const all = [
        of("four messages", talked()),
        of("one message", talked(), { choose: (value) => value.kind !== "message" || value.seq === 3 }),
        of("what the peer said alone", talked(), { choose: (value) => value.kind !== "message" || value.dir === "in" }),
        of("some were newer than the checkpoint", talked(), { header: { "left-out": 7 } }),
        of("a request and its answer", withLines((log) => {
            log.add(9, went(9, { method: "agent.request", headers: { "conversation-id": "dinner-1" } }));
            log.add(10, line("in", "accepted", signed(made.answering(bob, alice, 10, 9, { headers: { "conversation-id": "dinner-1" } }), bob.key)));
        })),
        of("a request that was declined", withLines((log) => {
            log.add(9, went(9, { method: "agent.request" }));
            log.add(10, line("in", "accepted", signed(made.answering(bob, alice, 10, 9, { reason: "declined" }), bob.key)));
        })),
        of("what came sealed", withLines((log) => log.add(9, came(9, sealed)))),
        of("what came sealed, with the person's copy", withLines((log) => log.add(9, { ...came(9, sealed), copy: box }))),
        of("a message that was refused", withLines((log) => log.add(9, { ...came(9), verdict: "rejected", reason: "tier-not-granted" }))),
        of("a copy of a message", withLines((log) => log.add(9, { ...bare(came(9)), verdict: "rejected", reason: "duplicate", tier: null, summary: null }))),
        of("a peer's wrong clock", withLines((log) => {
            log.add(9, { ...came(9, { headers: { timestamp: "2025-12-31T23:00:00.000Z" } }), verdict: "rejected", reason: "certificate-expired" });
        })),
        of("its own wrong clock", withLines((log) => log.add(9, went(9, { headers: { timestamp: "2025-12-31T23:00:00.000Z" } })))),
        of("a new key, that a flight brought", withLines((log) => {
            log.add(9, line("in", "accepted", flight(bob, alice, 9, bob.certify({ serial: 2, "signing-key": fresh.public }), fresh)));
            log.add(10, came(10, { headers: { "key-id": fresh.id }, key: fresh }));
        })),
        of("a successor of the root key", withLines((log) => {
            const certificate = bob.certify({ serial: 2, "root-key": bob.next.public }, bob.next);
            log.add(9, trust("root-succeeded", certificate, words(bob.next)));
        })),
        of("a revoked certificate, after the messages", withLines((log) => log.add(9, revocation()))),
        of("a task that was handed over", withLines((log) => log.add(9, handed([link(mandate(alice, bob), alice)])))),
        of("a task that was handed on", withLines((log) => {
            const first = mandate(carol, alice);
            log.add(9, handed([link(first, carol), link(mandate(alice, bob, { depth: 0, parent: parent(first) }), alice)]));
        })),
        of("a message that its person approved", withLines((log) => {
            const { message, waits } = draft();
            log.add(9, waits).add(9, approval(message)).add(9, went(9));
        })),
        of("what hides in a text is escaped", withLines((log) => {
            const message = said(bob, alice, 9, { envelope: { summary: "\u202eevil\u{e0041}\u0007", body: { "\u2028": "</script><!--" } } });
            const escaped = (found) => [...found].map((letter) => letter.length === 2
                ? `\\u${letter.charCodeAt(0).toString(16)}\\u${letter.charCodeAt(1).toString(16)}` : `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
            const written = (value) => ({ text: canonical(value).replace(/[\u202e\u2028\u{e0041}]/gu, escaped) });
            const members = line("in", "accepted", message);
            log.add(9, { ...members, summary: written(members.summary), message: written(message) });
        })),
        of("what another carrier brought", withLines((log) => log.add(9, { ...came(9), carrier: "http" }))),
    ];
    const called = talked().bundle(bob);
    called[6] = called[6].replace('"kind":"proof"', '"kind":"certificate"');
    return [...all, { name: "a proof that calls itself a certificate, and is one", bytes: text(called) }];
}

const EDITS = {
    "a word of a message changed": ["does not lead to the checkpoint", (b) => void (b[7] = b[7].replaceAll("Message 1", "Massage 1"))],
    "the line's own summary changed": ["does not lead to the checkpoint", (b) => void (b[7] = b[7].replace("Message 1", "Massage 1"))],
    "a verdict turned round": ["does not lead to the checkpoint", (b) => void (b[9] = b[9].replace('"dir":"out","verdict":"sent"', '"dir":"in","verdict":"accepted"'))],
    "a refusal made of an acceptance": ["does not lead to the checkpoint", (b) => void (b[7] = b[7].replace('"verdict":"accepted","reason":null', '"verdict":"rejected","reason":"expired"'))],
    "a time moved": ["does not lead to the checkpoint", (b) => void (b[7] = b[7].replace("17:00:01.000Z", "17:00:00.500Z"))],
    "a white space put in": ["does not start with v, seq, ts, prev and kind", (b) => void (b[7] = b[7].replace('"seq":', '"seq": '))],
    "a line of a version that there is not": ["from a newer signet", (b) => void (b[7] = b[7].replace('"v":2', '"v":3'))],
    "a line of a kind that there is not": ["`kind` is unknown", (b) => void (b[7] = b[7].replace('"kind":"message"', '"kind":"letter"'))],
    "a line that is no JSON": ["not a line of JSON", (b) => void (b[7] = b[7].slice(1))],
    "a name that stands twice": ["not a line of JSON", (b) => void (b[7] = b[7].replace('"dir":"in"', '"dir":"in","dir":"out"'))],
    "a line with the proof of another": ["does not lead to the checkpoint", (b) => void ([b[6], b[8]] = [b[8], b[6]])],
    "a line without its proof": ["neither a proof nor a checkpoint", (b) => void b.splice(6, 1)],
    "a line put in behind the end": ["neither a proof nor a checkpoint", (b) => void b.push(b[7])],
    "a line and its proof told twice": ["not in the order of the log", (b) => void b.splice(8, 0, b[6], b[7])],
    "two lines with their proofs swapped": ["not in the order of the log", (b) => void b.splice(8, 0, ...b.splice(6, 2))],
    "a place in the month that is not the line's": ["does not lead to the checkpoint", (b) => void (b[6] = b[6].replace('"index":2', '"index":3'))],
    "a place beyond the month's end": ["does not lead to the checkpoint", (b) => void (b[6] = b[6].replace('"index":2', '"index":9007199254740991'))],
    "a path with a hash less": ["does not lead to the checkpoint", (b) => void (b[6] = b[6].replace(/"path":\["[^"]*",/, '"path":['))],
    "a path in another spelling of base64": ["the proof is malformed", (b) => void (b[6] = b[6].replace(/="/, '"'))],
    "a proof of another month": ["in another month", (b) => void (b[6] = b[6].replace("2026-02", "2026-03"))],
    "the checkpoint taken out": ["no checkpoint of its month", (b) => void b.splice(1, 1)],
    "the checkpoint over more lines": ["is not signed by the key", (b) => void (b[1] = b[1].replace("\\n6\\n", "\\n7\\n"))],
    "the checkpoint told twice": ["a second checkpoint", (b) => void b.splice(1, 0, b[1])],
    "the checkpoint of another log": ["not one of this agent and month", (b) => void (b[1] = b[1].replaceAll("signet/agent-alice-001", "signet/agent-eve-001"))],
    "the month's first line taken out": ["the month's first line", (b) => void b.splice(2, 2)],
    "the peer's certificate taken out": ["no line before certifies the key", (b) => void b.splice(4, 2)],
    "the end cut off within a line": ["ends within a line", (b) => b.join("\n").slice(0, -10)],
    "the end cut off behind a proof": ["a proof stands at the end", (b) => void b.pop()],
    "all lines taken out": ["no line in it is proven", (b) => void (b.length = 4)],
    "the name of another agent on it": ["not one of this agent", (b) => void (b[0] = b[0].replace("agent-alice-001", "agent-eve-001"))],
    "the name of another peer on it": ["not one with the peer", (b) => void (b[0] = b[0].replace("agent-bob-001", "agent-eve-001"))],
    "another span on it": ["no line in it is proven", (b) => void (b[0] = b[0].replace("2026-02-01T", "2026-02-09T"))],
    "a version that there is not on it": ["does not say of which version", (b) => void (b[0] = b[0].replace('"v":1', '"v":2'))],
    "windows line ends": ["does not lead to the checkpoint", (b) => void b.forEach((line, at) => (b[at] = `${line}\r`))],
    "bytes that are no text at its end": ["neither a proof nor a checkpoint", (b) => Buffer.concat([text(b), Buffer.of(0xff, 0xfe, 0x0a)])],
};

const sister = new Party("agent-bob-002", "bob", 20);
sister.key = new Key(120);
sister.certificate = sister.certify({});
const alone = (more) => (log) => void log.add(9, { ...came(9), ...more });
const put = (...lines) => (log) => void lines.forEach((members) => log.add(9, members));

const LIES = {
    "a tier that the message has not": ["`tier` is not what the rest", alone({ tier: 1 })],
    "a summary that the message has not": ["`summary` is not what the rest", alone({ summary: "Pays at once" })],
    "the hash of another message": ["`sha256` is not the hash", alone({ sha256: "00".repeat(32) })],
    "another person's name": ["`principal` is not what the rest", alone({ principal: "eve" })],
    "a member of the log's own": ["`note` is a member that no log writes", alone({ note: "paid" })],
    "what came is told as sent": ["`sent` is only for what went out", alone({ verdict: "sent" })],
    "an acceptance with a reason": ["`reason` is not what the rest", alone({ reason: "expired" })],
    "an acceptance without the message": ["it is not inside", put({ ...bare(came(9)), tier: null, summary: null })],
    "a message that the peer did not sign": ["signature does not hold", put(came(9, { key: eve.key }))],
    "a refusal of what the peer did not sign": ["signature does not hold", put({ ...came(9, { key: eve.key }), verdict: "rejected", reason: "tier-not-granted" })],
    "a message under a key that nobody certified": ["no line before certifies the key", put(came(9, { headers: { "key-id": eve.key.id }, key: eve.key }))],
    "a message signed for another purpose": ["signature does not hold", (log) => {
        const message = unsigned(bob, alice, 9, { headers: household });
        message.params.signature = bob.key.sign(`signet/1 keys\n${canonical(message)}`).toString("base64url");
        log.add(9, line("in", "accepted", message));
    }],
    "a message to somebody else": ["not between this agent and the line's peer", put(line("in", "accepted", said(bob, carol, 9)))],
    "a message of the peer's second agent": ["not one with the peer", put(trust("bound", sister.certificate, words(bob.root)), line("in", "accepted", said(sister, alice, 9)))],
    "a message in another person's name": ["principal-id is not its sender's", put(came(9, { headers: { "principal-id": "eve" } }))],
    "a message from before its certificate": ["was not valid at the message's timestamp", put(came(9, { headers: { timestamp: "2025-12-31T00:00:00.000Z" } }))],
    "a certificate with a layer written in": ["`certificate` is absent or malformed", put(trust("renewed", { ...bob.certify({ serial: 2 }), layers: [0, 15] }, words(bob.root)))],
    "a certificate under another root key": ["not the one known for its principal before", put(trust("renewed", bob.certify({ serial: 2, "root-key": eve.root.public }, eve.root), words(eve.root)))],
    "a successor that the root key did not name": ["not the one known for its principal before", put(trust("root-succeeded", bob.certify({ serial: 2, "root-key": eve.root.public }, eve.root), words(eve.root)))],
    "a flight under another root key, and its message": ["no line before certifies the key", (log) => {
        const certificate = bob.certify({ serial: 2, "signing-key": fresh.public, "root-key": eve.root.public }, eve.root);
        log.add(9, { ...line("in", "rejected", flight(bob, alice, 9, certificate, fresh)), reason: "root-changed" });
    }],
    "words of another root key": ["`fingerprint` is not what the rest", put(trust("renewed", bob.certify({ serial: 2 }), words(eve.root)))],
    "a revocation by another root key": ["revocation's root key is not the one", put(revocation(eve.root))],
    "a copy beside what is not sealed": ["a `copy` stands only beside", put({ ...came(9), copy: box })],
    "a sealed message whose line tells a summary": ["`summary` is not what the rest", put({ ...came(9, sealed), summary: "Blood test" })],
    "members in another order": ["spelt otherwise", (log) => {
        const { dir, verdict, ...rest } = came(9);
        const { kind, ...others } = rest;
        log.add(9, { kind, verdict, dir, ...others });
    }],
    "a mandate that gives more than its giver had": ["chain of mandates does not hold", (log) => {
        const first = mandate(carol, alice);
        const wider = mandate(alice, bob, { depth: 0, parent: parent(first), capabilities: ["calendar.read", "door.open"] });
        log.add(9, handed([link(first, carol), link(wider, alice)]));
    }],
    "a mandate of a chain that is not its own": ["chain of mandates does not hold", (log) => {
        log.add(9, handed([link(mandate(carol, alice), carol), link(mandate(alice, bob, { depth: 0, parent: parent(mandate(carol, bob)) }), alice)]));
    }],
    "a task that was given to somebody else": ["last mandate is not between", put(handed([link(mandate(alice, carol), alice)]))],
    "an approval by another key": ["`approval` is absent or malformed", (log) => {
        const { message, waits } = draft();
        log.add(9, waits).add(9, approval(message, {}, eve.control)).add(9, went(9));
    }],
    "an approval under another person's root key": ["does not stand under the root key", (log) => {
        const { message, waits } = draft();
        const control = alice.controlCertificate({ "control-key": eve.control.public, "root-key": eve.root.public }, eve.root);
        log.add(9, waits).add(9, approval(message, {}, eve.control, control)).add(9, went(9));
    }],
    "an approval of another draft": ["decides about another draft", (log) => {
        const { message, waits } = draft();
        log.add(9, waits).add(9, approval({ ...message, id: uuid(8) })).add(9, went(9));
    }],
    "a draft that its person refused, and that left": ["although its draft had ended", (log) => {
        const { message, waits } = draft();
        log.add(9, waits).add(9, approval(message, { decision: "refused" })).add(9, went(9));
    }],
    "a draft that nobody approved, and that left": ["without the approval that its draft asks for", (log) => void log.add(9, draft().waits).add(9, went(9))],
    "an approved draft, and another message under its name": ["something else than its draft", (log) => {
        const { message, waits } = draft();
        log.add(9, waits).add(9, approval(message)).add(9, went(9, { envelope: { summary: "Message 9", body: { number: 8 } } }));
    }],
};

/** Bundles that do not hold, and a piece of the fault that is found. */
export function forged() {
    const edited = Object.entries(EDITS).map(([name, [fault, edit]]) => {
        const lines = talked().bundle(bob);
        const made = edit(lines);
        return { name, fault, bytes: made === undefined ? text(lines) : Buffer.from(made) };
    });
    const lied = Object.entries(LIES).map(([name, [fault, write]]) => ({ name, fault, bytes: text(withLines(write).bundle(bob)) }));
    const keyed = { name: "the checkpoint under another key", fault: "is not signed by the key", bytes: text(talked().bundle(bob, { key: new Key(66) })) };
    const log = new Log(eve, words(eve.root));
    log.party = alice;
    log.add(0, trust("bound", bob.certificate, words(bob.root))).add(1, came(1));
    const other = { name: "another agent's log under this one's name", fault: "another agent's than the bundle says", bytes: text(log.bundle(bob)) };
    return [...edited, ...lied, keyed, other];
}

/** A bundle of so many messages, half from each side. */
export function long(count) {
    const log = new Log(alice, words(alice.root));
    log.add(0, trust("bound", bob.certificate, words(bob.root)));
    for (let number = 1; number <= count; number += 1) log.add(number, number % 2 ? came(number) : went(number));
    return text(log.bundle(bob));
}

const WORDS = {
    "an end tag and a script": "</script><script>alert(1)</script>",
    "an image": "<img src=x onerror=alert(1)>",
    "a style": "<style>*{display:none}</style><svg onload=alert(1)>",
    "a comment that does not end": "<!-- <script> --!> ]]>",
    "an address": "javascript:alert(1)",
    "marks that turn the direction": "\u202eevil\u2066\u200f\u061c",
    "what cannot be seen": "a\u200bb\u00adc\u{e0041}d\ufeffe\u2060",
    "what drives a terminal": "\u001b[2J\u0007\u009b31m",
    "a tower of marks": `Z${"\u0301".repeat(200)}`,
    "one word of 100,000 letters": "w".repeat(100_000),
    "no space in a wide script": "\u6f22".repeat(2000),
    "names of what is inherited": "__proto__ constructor toString",
};

/** Honest bundles whose words are made to break out of a page: as summary, as body, as name and as text of a refusal. */
export function hostile() {
    const written = (value) => ({ text: canonical(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u{e0000}-\u{e007f}]/gu, (found) =>
        Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")) });
    const put = (log, number, message) => {
        const members = line("in", "accepted", message);
        log.add(number, { ...members, summary: written(members.summary), message: written(message) });
    };
    return Object.entries(WORDS).map(([name, said]) => {
        const log = talked();
        const body = Object.assign(Object.create(null), { said, list: [said, { [said.slice(0, 1000)]: said }], ["__proto__"]: said });
        put(log, 9, signed(unsigned(bob, alice, 9, { headers: household, envelope: { summary: said.slice(0, 400), body } }), bob.key));
        const refusal = made.answering(bob, alice, 10, 2, { reason: "declined", headers: household });
        refusal.error.message = said.slice(0, 400);
        put(log, 10, signed(refusal, bob.key));
        put(log, 11, signed(unsigned(bob, alice, 11, { headers: household, envelope: { body: said } }), bob.key));
        return { name, bytes: text(log.bundle(bob)) };
    });
}
