// One line of a log (docs/protocol.md, section 12): read, made anew from what it says, and compared byte for byte.

import { fromBase64, hex, utf8 } from "./bytes.js";
import type { Ed25519 } from "./ed25519.js";
import * as form from "./forms.js";
import { canonical, isObject, type Json, type JsonObject, LINE, NotStrict, parse, written } from "./json.js";
import { inLine, isApplication, isRefusal, type Message } from "./message.js";
import { REASONS } from "./reasons.js";
import { certificateOf, covers, isApproval, isControl, isPause, isRevocation, isMandate, signedBy, signedByItsRoot } from "./statements.js";
import { wordsOf } from "./words.js";

/** A line that has the form of its kind and version. What it says may still be false. */
export interface Line {
    readonly text: string;
    readonly value: JsonObject;
    readonly kind: string;
    readonly seq: number;
    readonly ts: string;
    readonly prev: string;
    /** The whole message in it. */
    readonly message: Message | null;
}

type When = "optional" | "own";
type Member = [name: string, form: form.Form, when?: When];

const count = form.integer(0, Number.MAX_SAFE_INTEGER);
const direction = form.oneOf("in", "out");
const types = form.oneOf("request", "response", "notification", "handoff");
const orNull = (inside: form.Form) => form.or(inside, form.oneOf(null));
const certificate: form.Form = (value) => certificateOf(value) !== null;
const raw: form.Form = (value) => typeof value === "string" && fromBase64(value) !== null;
const carrier: form.Form = (value) => typeof value === "string" && /^[a-z][a-z0-9-]{0,31}$/.test(value);
const known: form.Form = (value) => typeof value === "string" && REASONS.has(value);
const changes = form.oneOf("bound", "renewed", "root-succeeded", "root-replaced", "pending", "root-changed", "refused", "withdrawn", "revoked");
const states = form.oneOf("offered", "accepted", "declined", "working", "completed", "failed", "returned", "expired");

/** A chain of mandates, all of one task. */
const chain: form.Form = (value) =>
    form.list(form.object({ mandate: isMandate, certificate }), 1, 8)(value) &&
    (value as Json[]).every((link) => form.member(link, "mandate", "task") === form.member((value as Json[])[0], "mandate", "task"));

const KEY: Member = ["checkpoint-key", form.key, "optional"];
const CONTROL: Member = ["control", isControl];

/** The members of each kind behind the first five, in the order in which they stand. */
const KINDS: Record<string, Member[]> = {
    message: [
        ["dir", direction], ["verdict", form.oneOf("accepted", "rejected", "sent")], ["reason", orNull(known)],
        ["peer-reason", form.reason, "own"], ["peer", orNull(form.name)], ["principal", form.name, "own"],
        ["class", form.oneOf("application", "control"), "own"], ["type", orNull(types)], ["method", form.text, "own"],
        ["id", form.uuid, "own"], ["conversation", form.conversation, "own"], ["in-reply-to", form.uuid, "own"],
        ["tier", orNull(form.tier)], ["summary", orNull(form.text)], ["bytes", count], ["sha256", form.hashHex],
        ["message", isObject, "optional"], ["headers", isObject, "optional"], ["raw", raw, "optional"], ["copy", form.sealed, "optional"],
    ],
    genesis: [["fingerprint", form.text], ["certificate", certificate], KEY],
    trust: [
        ["change", changes], ["peer", form.name], ["fingerprint", form.text], ["certificate", certificate, "optional"],
        ["revocation", isRevocation, "optional"],
    ],
    approval: [["peer", form.name], ["id", form.uuid], ["decision", form.text], ["approval", isApproval], CONTROL],
    pause: [["paused", form.bool], ["statement", isPause], CONTROL],
    draft: [
        ["peer", form.name], ["id", form.uuid], ["class", form.text, "own"], ["method", form.text, "own"],
        ["conversation", form.conversation, "own"], ["in-reply-to", form.uuid, "own"], ["tier", form.tier, "own"],
        ["summary", form.text, "own"], ["life", form.integer(1, Number.MAX_SAFE_INTEGER)], ["approve", form.keyId, "optional"],
        ["message", isObject], ["copy", form.sealed, "optional"],
    ],
    outcome: [["peer", form.name], ["id", form.uuid], ["what", form.text], ["try", count], ["reason", form.characters(0, 200), "optional"]],
    handoff: [
        ["peer", form.name], ["dir", direction], ["task", form.uuid], ["change", states], ["id", form.uuid, "optional"],
        ["goal", form.text, "optional"], ["tier", form.tier, "optional"], ["hops", form.integer(1, 255), "optional"],
        ["chain", chain, "optional"], ["reason", form.reason, "optional"], ["note", form.text, "optional"],
    ],
    attempt: [
        ["peer", orNull(form.name)], ["reason", form.reason], ["count", count], ["type", types, "optional"],
        ["tier", form.tier, "optional"], ["capability", form.capability, "optional"], ["conversation", form.text, "own"],
        ["call", form.text, "own"],
    ],
    clock: [["peer", form.name], ["difference-ms", form.integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)]],
    alarm: [["peer", form.name], ["what", form.text], ["cleared", form.bool]],
    hole: [["peer", form.name], ["session", form.hash], ["from", form.sequence], ["to", form.sequence]],
    flood: [["count", count], ["bytes", count], ["sha256", form.hashHex]],
    gap: [["cause", form.text]],
    rebuilt: [["cause", form.text]],
    loss: [["line", form.sequence], ["sha256", form.hashHex]],
    open: [["previous", form.text], ["sha256", form.hashHex], KEY],
    close: [],
    recovery: [["file", form.text], ["bytes", count], ["sha256", form.hashHex]],
};

const FIRST = ["v", "seq", "ts", "prev", "kind"];
const LAST: Member[] = [["client-key", form.keyId, "own"], ["carrier", carrier, "own"]];
/** What JSON may leave as it is inside of strings, and a line does not. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u{e0000}-\u{e007f}]/gu;

const malformed = (name: string) => `the line's \`${name}\` is absent or malformed`;

/** The line of this text, or what is wrong with its form. The statements in it are under the signatures that they name. */
export async function lineOf(curve: Ed25519, text: string): Promise<Line | string> {
    let value;
    try {
        value = parse(utf8(text), LINE);
    } catch (fault) {
        if (!(fault instanceof NotStrict)) throw fault;
        return `not a line of JSON: ${fault.reason}`;
    }
    const fault = headFault(value, text);
    if (fault !== null) return fault;
    const members = value as JsonObject;
    const { v, seq, ts, prev, kind } = members as { v: number; seq: number; ts: string; prev: string; kind: string };
    for (const [name, fits, when] of membersOf(kind, v)) {
        if (name in members ? !fits(members[name] as Json) : when === undefined) return malformed(name);
    }
    let message = null;
    if (kind === "message") {
        if (members["verdict"] === "rejected" && members["reason"] === null) return malformed("reason");
        if (["message", "headers", "raw"].filter((name) => name in members).length > 1) return malformed("message");
        if ("message" in members) {
            const read = inLine(members["message"] as JsonObject);
            if (isRefusal(read)) return malformed("message");
            message = read;
        }
    }
    const forged = (await statementFault(curve, kind, members)) ?? missing(kind, members);
    return forged === null ? { text, value: members, kind, seq, ts, prev, message } : malformed(forged);
}

function headFault(value: Json, text: string): string | null {
    const version = form.member(value, "v");
    if (Number.isInteger(version) && (version as number) > 2) {
        return `the line is of version ${version}, from a newer signet: this one reads versions 1 and 2; use that release`;
    }
    const forms: form.Form[] = [form.oneOf(1, 2), form.sequence, form.time, form.hashHex, form.text];
    for (const [at, name] of FIRST.entries()) {
        const member = form.member(value, name);
        if (member === undefined || !(forms[at] as form.Form)(member)) return malformed(name);
    }
    const head = written(FIRST.map((name) => [name, (value as JsonObject)[name] as Json])).slice(0, -1);
    if (!text.startsWith(head)) return "the line does not start with v, seq, ts, prev and kind as a log writes them";
    if (Object.hasOwn(KINDS, (value as JsonObject)["kind"] as string)) return null;
    return "the line's `kind` is unknown to this version of signet";
}

/** The member whose statement is not signed by the key that it names, or null. */
async function statementFault(curve: Ed25519, kind: string, members: JsonObject): Promise<string | null> {
    if (kind === "genesis" || (kind === "trust" && members["change"] !== "revoked")) {
        const found = members["certificate"];
        return isObject(found) && (await signedByItsRoot(curve, "certificate", found)) ? null : "certificate";
    }
    if (kind === "trust") {
        const found = members["revocation"];
        return isObject(found) && (await signedByItsRoot(curve, "revocation", found)) ? null : "revocation";
    }
    if (kind !== "approval" && kind !== "pause") return null;
    const [name, time] = kind === "approval" ? (["approval", "decided-at"] as const) : (["statement", "issued-at"] as const);
    const control = members["control"] as JsonObject;
    if (!(await signedByItsRoot(curve, "certificate", control))) return "control";
    const statement = members[name] as JsonObject;
    const holds = await signedBy(curve, kind, statement, control["control-key"]);
    const fits = covers(control, statement[time]) && statement["principal-id"] === control["principal-id"];
    return holds && fits ? null : name;
}

/** A member that this very line would have to have, or null. */
function missing(kind: string, members: JsonObject): string | null {
    if (kind !== "handoff" || members["change"] !== "offered") return null;
    const [first] = (members["chain"] ?? []) as Json[];
    if (form.member(first, "mandate", "task") !== members["task"]) return "chain";
    return ["tier", "hops"].find((name) => !(name in members)) ?? null;
}

/** What of version 2 the older version does not have, by kind. There, `id` is `message-id`, but in `message` lines. */
function membersOf(kind: string, version: number): Member[] {
    const members = KINDS[kind] as Member[];
    if (version === 2) return [...members, ...LAST];
    const kept = members.filter(([, , when]) => when !== "own");
    return kept.map(([name, fits, when]): Member => [name === "id" ? "message-id" : name, fits, ...((when ? [when] : []) as [When?])]);
}

/** What a line says twice and differently, or spells otherwise than a log does: the faults, of which most lines have none. */
export function faultsOf(line: Line): string[] {
    const { value, kind, text } = line;
    const said = derived(line);
    const members = membersOf(kind, value["v"] as number);
    const names = members.map(([name]) => name).filter((name) => name in said || name in value);
    const differs = names.find((name) => said[name] !== undefined && !same(value[name], said[name]));
    const allowed = (name: string) => FIRST.includes(name) || (members.some(([known]) => known === name) && isAllowed(line, name, said));
    const stranger = Object.keys(value).find((name) => !allowed(name));
    const faults: string[] = [];
    if (differs !== undefined) {
        const whole = differs === "sha256" && line.message !== null;
        faults.push(whole ? "`sha256` is not the hash of the message inside" : `\`${differs}\` is not what the rest of the line says`);
    } else if (stranger !== undefined) {
        faults.push(`\`${stranger}\` is a member that no log writes`);
    } else {
        const order = [...FIRST, ...names].filter((name) => name in value).map((name): [string, Json] => [name, value[name] as Json]);
        if (escaped(written(order)) !== text) faults.push("the line is spelt otherwise than a log writes it");
    }
    if (kind === "message") faults.push(...verdictFaults(line));
    return faults;
}

function isAllowed({ kind, value }: Line, name: string, said: Record<string, Json | undefined>): boolean {
    if (name in said) return said[name] !== undefined;
    if (kind !== "handoff") return true;
    const offer = value["change"] === "offered";
    return !(offer ? ["reason", "note"] : ["goal", "tier", "hops", "chain"]).includes(name);
}

function verdictFaults({ value, message }: Line): string[] {
    const faults: string[] = [];
    const { verdict, dir } = value;
    if (verdict === "sent" && dir === "in") faults.push("`sent` is only for what went out");
    if (verdict === "accepted" && dir === "out") faults.push("`accepted` is only for what came in");
    if (verdict !== "rejected" && message === null) faults.push("the message is accepted or sent, and yet it is not inside");
    const taken = verdict !== "rejected" && message !== null && "sealed" in message.envelope;
    if ("copy" in value && !taken) faults.push("a `copy` stands only beside a sealed message that was accepted or sent");
    return faults;
}

function same(one: Json | undefined, other: Json | undefined): boolean {
    return one === other || (one !== undefined && other !== undefined && canonical(one) === canonical(other));
}

/** What members of a line have to be by what else stands in it. One that has to be absent is undefined. */
function derived(line: Line): Record<string, Json | undefined> {
    const { value, kind } = line;
    const inside = (...path: string[]) => form.member(value, ...path);
    switch (kind) {
        case "genesis":
            return { fingerprint: wordsOf(inside("certificate", "root-key") as string) };
        case "trust": {
            const [name, other] = value["change"] === "revoked" ? ["revocation", "certificate"] : ["certificate", "revocation"];
            const root = inside(name as string, "root-key") as string;
            return { peer: inside(name as string, "agent-id"), fingerprint: wordsOf(root), [other as string]: undefined };
        }
        case "approval":
            return { decision: inside("approval", "decision") };
        case "pause":
            return { paused: inside("statement", "paused") };
        case "draft":
            return ofDraft(value);
        case "message":
            return ofMessage(line);
        default:
            return {};
    }
}

function ofMessage({ value, message }: Line): Record<string, Json | undefined> {
    const headers = (message?.headers ?? value["headers"]) as JsonObject | undefined;
    const reason = value["verdict"] === "rejected" ? value["reason"] : null;
    const none = { principal: undefined, class: undefined, method: undefined, id: undefined, conversation: undefined, "in-reply-to": undefined };
    if (headers === undefined) return { reason, "peer-reason": undefined, ...none, summary: null };
    const open = message !== null && !("sealed" in message.envelope) && ((headers["data-tier"] as number | undefined) ?? 1) < 3;
    const said: Record<string, Json | undefined> = {
        reason, peer: headers[value["dir"] === "in" ? "agent-id" : "recipient-id"], type: headers["message-type"],
        tier: headers["data-tier"] ?? 1, summary: open ? (message.envelope["summary"] ?? null) : null,
    };
    if (message !== null) said["sha256"] = hex(message.hash);
    if (value["v"] === 1) return said;
    const method = message === null ? methodOf(headers["message-type"], value["method"]) : message.method;
    const refused = value["dir"] === "in" && message !== null ? message.envelope["reason"] : undefined;
    return {
        ...said, "peer-reason": refused, principal: headers["principal-id"], class: isApplication(method) ? "application" : "control",
        method, id: headers["message-id"], conversation: headers["conversation-id"], "in-reply-to": headers["in-reply-to"],
    };
}

/** Headers do not name the method of a notification: there it is the log's word. */
function methodOf(type: Json | undefined, logged: Json | undefined): string | undefined {
    if (type === "request" || type === "handoff") return `agent.${type}`;
    return type === "notification" && logged !== "agent.request" && logged !== "agent.handoff" ? (logged as string | undefined) : undefined;
}

function ofDraft(value: JsonObject): Record<string, Json | undefined> {
    const message = value["message"] as JsonObject;
    const envelope = (message["params"] ?? message["result"] ?? form.member(message["error"], "data") ?? {}) as JsonObject;
    const header = (name: string) => form.member(envelope["headers"], name);
    const tier = (header("data-tier") ?? 1) as number;
    const [method, id] = [message["method"] as string | undefined, header("message-id")];
    if (value["v"] === 1) return { "message-id": id };
    return {
        peer: header("recipient-id"), id, class: isApplication(method) ? "application" : "control", method,
        conversation: header("conversation-id"), "in-reply-to": header("in-reply-to"), tier,
        summary: tier < 3 ? envelope["summary"] : undefined,
    };
}

/** A text as a line spells it: no character of it hides, or drives a terminal. */
function escaped(text: string): string {
    const unit = (code: number) => `\\u${code.toString(16).padStart(4, "0")}`;
    return text.replace(HIDDEN, (letter) => Array.from({ length: letter.length }, (_, at) => unit(letter.charCodeAt(at))).join(""));
}
