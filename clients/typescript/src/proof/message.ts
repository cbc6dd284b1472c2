// One message, from bytes to what V01 to V04 make of it (docs/protocol.md, sections 1, 2 and 8).

import { base64url, sha256 } from "./bytes.js";
import * as form from "./forms.js";
import { canonical, isObject, type Json, type JsonObject, NotStrict, parse, without } from "./json.js";
import { signedBytes, spelling } from "./statements.js";

/** Why bytes are no message that counts. */
export interface Refusal {
    readonly reason: string;
    /** The number of the check: V01 … V07. */
    readonly check: string;
}

/** A message whose JSON, shape and headers are in order. Nothing of it is proved yet. */
export interface Message {
    readonly value: JsonObject;
    /** Its canonical form. */
    readonly text: string;
    readonly headers: JsonObject;
    /** What has headers, content and signature. */
    readonly envelope: JsonObject;
    readonly method: string | undefined;
    readonly type: string;
    /** SHA-256 of the canonical form. */
    readonly hash: Uint8Array;
}

const FLIGHTS = ["agent.announce", "agent.verify", "agent.capability", "agent.trust"];
const ORDERS = ["agent.revoke", "agent.pause", "agent.resume"];
const TYPES: Record<string, string> = { "agent.request": "request", "agent.handoff": "handoff" };
const METHODS = ["agent.request", "agent.notification", "agent.handoff", "agent.progress", "agent.offer", "agent.receipt", "agent.poll"];
const KNOWN = [...METHODS, ...FLIGHTS, ...ORDERS];

/** Whether a method is one of the handshake's four. */
export const isFlight = (method: string | undefined): boolean => method !== undefined && FLIGHTS.includes(method);

/** Whether agents say it to each other; the rest is what the protocol and people's orders need. */
export const isApplication = (method: string | undefined): boolean =>
    method === undefined || METHODS.slice(0, 4).includes(method);

/** The message of these bytes, or why they are none. */
export function readMessage(bytes: Uint8Array): Message | Refusal {
    let value;
    try {
        value = parse(bytes);
    } catch (fault) {
        if (!(fault instanceof NotStrict)) throw fault;
        return { reason: fault.reason, check: fault.reason === "too-large" ? "V01" : "V02" };
    }
    return Array.isArray(value) ? { reason: "batch-unsupported", check: "V02" } : messageOf(value);
}

/** The same, of JSON that was read strictly. */
export function messageOf(value: Json): Message | Refusal {
    const envelope = shape(value);
    if (typeof envelope === "string") return { reason: envelope, check: "V03" };
    return headed(value as JsonObject, envelope);
}

function headed(value: JsonObject, envelope: JsonObject): Message | Refusal {
    const headers = envelope["headers"] as JsonObject;
    const method = value["method"] as string | undefined;
    const fault = headerFault(headers, value["id"] as string | undefined, method);
    if (fault !== null) return { reason: fault, check: "V04" };
    const text = canonical(value);
    return { value, text, headers, envelope, method, type: headers["message-type"] as string, hash: sha256(text) };
}

/** The message in a line of a log. Whoever wrote the line took its shape; its headers are read again, since the line is made of them. */
export function inLine(value: JsonObject): Message | Refusal {
    const method = value["method"];
    const envelope = value["params"] ?? value["result"] ?? form.member(value["error"], "data");
    const kept = method === undefined || KNOWN.includes(method as string);
    if (!kept || !isObject(envelope) || !isObject(envelope["headers"])) return { reason: "invalid-shape", check: "V03" };
    if (!form.signature(envelope["signature"] ?? null)) return { reason: "invalid-shape", check: "V03" };
    return headed(value, envelope);
}

export function isRefusal(read: Message | Refusal): read is Refusal {
    return "reason" in read;
}

/** The bytes that a message's sender signed. */
export function bytesUnderSignature(message: Message): Uint8Array {
    const place = message.method === undefined ? ("result" in message.value ? "result" : "error") : "params";
    const envelope = without(message.envelope, "signature");
    const value: JsonObject = Object.assign(Object.create(null), message.value);
    value[place] = place === "error" ? Object.assign(Object.create(null), value[place], { data: envelope }) : envelope;
    return signedBytes("message", value);
}

/** A message's hash as receipts and flights spell it. */
export const hashText = (message: Message): string => base64url(message.hash);

/** The hash of bytes that never became a message. */
export const hashOfBytes = (bytes: Uint8Array): string => base64url(sha256(bytes));

const content = { summary: form.characters(0, 500), body: form.anything, sealed: form.sealed };
const members = { headers: isObject as form.Form, signature: form.signature };
const failure = form.object({ ...members, reason: form.reason }, content);
const success = form.object(members, content);

/** The envelope of a document that has the shape of a message, or the reason of V03. */
function shape(value: Json): JsonObject | string {
    const top = isObject(value) ? value : Object.create(null);
    const kind = ["params", "result", "error"].filter((name) => name in top)[0] ?? "";
    const outer = { jsonrpc: form.oneOf("2.0"), [kind]: kind === "error" ? isError : success };
    const fits = {
        params: () => form.object({ ...outer, method: form.text }, { id: form.uuid })(top),
        result: () => form.object({ ...outer, id: form.uuid })(top),
        error: () => form.object({ ...outer, id: form.uuid })(top),
        "": () => false,
    }[kind as "params"]();
    if (!fits) return "invalid-shape";
    const envelope = (kind === "error" ? form.member(top["error"], "data") : top[kind]) as JsonObject;
    const sealed = "sealed" in envelope;
    if (sealed && ("summary" in envelope || "body" in envelope)) return "invalid-shape";
    if (kind !== "error" && !sealed && !("body" in envelope)) return "invalid-shape";
    const method = top["method"] as string | undefined;
    if (method === undefined) return envelope;
    if (!KNOWN.includes(method)) return "method-not-found";
    const body = Object.hasOwn(BODIES, method) ? BODIES[method] : undefined;
    return body === undefined || ("body" in envelope && body(envelope["body"] as Json)) ? envelope : "invalid-shape";
}

const isError: form.Form = form.object({
    code: form.integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER), message: form.characters(0, 500), data: failure,
});

const capabilities = (tier: form.Form) =>
    form.list(
        form.object({ name: form.capability, tier }, { description: form.characters(0, 200), schema: form.anything }), 0, 64,
    );
const grant = form.object(
    { capabilities: form.list(form.capability, 0, 64), tier: form.tier },
    { "messages-per-minute": form.integer(1, 1_000_000) },
);
const credentials = { certificate: spelling.certificate, keys: spelling.keys };
const opening = {
    ...credentials, nonce: form.hash, versions: form.versions, layers: form.layers, sessions: form.list(form.hash, 0, 8),
};
const revocations = { revocations: form.list(spelling.revocation, 0, 64) };
const closing = { ...credentials, transcript: form.hash, capabilities: capabilities(form.tier), grant };
const order = form.object({ statement: spelling.pause, control: spelling.control });

const exception = form.object({ sequence: form.sequence, reason: form.reason }, { hash: form.hash });

const BODIES: Record<string, form.Form> = {
    "agent.announce": form.object(opening, revocations),
    "agent.verify": form.object({ ...opening, choice: form.or(form.version, form.oneOf(null)), transcript: form.hash }, revocations),
    "agent.capability": form.object(closing),
    "agent.trust": form.object({ ...closing, decision: form.oneOf("granted", "refused") }),
    "agent.offer": form.object({ capabilities: capabilities(form.integer(1, 2)) }),
    "agent.receipt": form.object(
        { through: form.integer(0, Number.MAX_SAFE_INTEGER) },
        {
            hash: form.hash, except: form.list(exception, 0, 256), floor: form.sequence,
            "given-up": form.list(form.list(form.sequence, 2, 2), 0, 256),
        },
    ),
    "agent.poll": form.object({}, { after: form.uuid }),
    "agent.revoke": form.object({ revocation: spelling.revocation }),
    "agent.pause": order,
    "agent.resume": order,
};

const MANDATORY: Record<string, form.Form> = {
    "agent-id": form.name, "principal-id": form.name, timestamp: form.time,
    "message-type": form.oneOf("request", "response", "notification", "handoff"), "trust-layer-version": form.version,
    "skill-layers-loaded": form.layers, "recipient-id": form.name, "message-id": form.uuid, "expires-at": form.time,
    "key-id": form.keyId,
};
const OPTIONAL: Record<string, form.Form> = {
    session: form.hash, sequence: form.sequence, "data-tier": form.tier, capability: form.capability,
    "conversation-id": form.conversation, "in-reply-to": form.uuid, "audit-head": form.hashHex, hops: form.integer(1, 255),
};

/** The reason of V04, or null. */
function headerFault(headers: JsonObject, id: string | undefined, method: string | undefined): string | null {
    if (Object.keys(MANDATORY).some((name) => !(name in headers))) return "header-missing";
    if ((method === undefined || method === "agent.progress") && !("in-reply-to" in headers)) return "header-missing";
    const forms = { ...MANDATORY, ...OPTIONAL };
    if (Object.keys(headers).some((name) => !Object.hasOwn(forms, name))) return "header-unknown";
    if (Object.entries(headers).some(([name, value]) => !(forms[name] as form.Form)(value))) return "header-invalid";
    const type = headers["message-type"];
    const expected = method === undefined ? "response" : (TYPES[method] ?? "notification");
    if (type !== expected) return "message-type-mismatch";
    if ((type === "notification") !== (id === undefined)) return "message-type-mismatch";
    const due = type === "response" ? headers["in-reply-to"] : headers["message-id"];
    return type !== "notification" && id !== due ? "id-mismatch" : null;
}
