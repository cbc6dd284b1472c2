// Drafts and what their person decided about them (docs/protocol.md, sections 12, Lines say this of each other, and 15).

import { member } from "./forms.js";
import { canonical, isObject, type Json, type JsonObject, without } from "./json.js";
import type { Line } from "./line.js";
import type { Message } from "./message.js";
import { hashOf, keyIdOf } from "./statements.js";

/** A person's decision about a draft. */
export interface Decision {
    readonly person: string;
    readonly decision: string;
    readonly at: string;
}

/** The person of a log's agent, and the root keys that speak for them. */
export interface Person {
    readonly principal: string;
    readonly roots: readonly (string | undefined)[];
}

interface Draft {
    readonly value: JsonObject;
    /** The key-id of the root key that its recipient had, where its person has to approve it. */
    readonly approve: string | undefined;
    readonly peer: Json;
    decision: Decision | null;
    /** Whether it may leave no more: it was refused, or its life is over. */
    ended: boolean;
}

/** What signing adds to a draft, and what a session and the sender's own state set. */
const ADDED = [
    "timestamp", "expires-at", "key-id", "session", "sequence", "audit-head", "trust-layer-version", "skill-layers-loaded",
];

/** The drafts of a log, and what became of them. */
export class Decisions {
    private readonly drafts = new Map<string, Draft>();
    private readonly made = new Map<string, Decision>();
    private control = 0;
    private word: number | null = null;

    constructor(private readonly rootOf: (agent: string) => string | undefined) {}

    /** Takes a `draft`, `approval`, `outcome` or `pause` line of that person's agent; the fault, or null. */
    write(line: Line, person: Person | null): string | null {
        const { value } = line;
        if (line.kind === "draft") return this.wait(value);
        if (line.kind === "outcome") {
            const draft = this.drafts.get(idOf(value));
            if (draft !== undefined && String(value["what"]).startsWith("draft-")) draft.ended = true;
            return null;
        }
        const control = value["control"] as JsonObject;
        const fault = this.standing(control, person);
        if (fault !== null || line.kind === "approval") return fault ?? this.approve(value);
        const [serial, word] = [control["serial"] as number, member(value["statement"], "serial") as number];
        if (serial === this.control && this.word !== null && word <= this.word) {
            return "the person's word is not newer than the one that was obeyed before";
        }
        this.control = serial;
        this.word = word;
        return null;
    }

    private wait(value: JsonObject): string | null {
        const before = this.drafts.has(idOf(value));
        const approve = value["approve"] as string | undefined;
        const message = value["message"] as JsonObject;
        this.drafts.set(idOf(value), { value: message, approve, peer: value["peer"] as Json, decision: null, ended: false });
        return before ? "a draft of this message-id waits already: the line is a copy, or one was put in" : null;
    }

    private standing(control: JsonObject, person: Person | null): string | null {
        const own = person === null || (control["principal-id"] === person.principal && person.roots.includes(control["root-key"] as string));
        if (!own) {
            return "its control certificate does not stand under the root key of this agent's person";
        }
        const old = (control["serial"] as number) < this.control;
        return old ? "its control certificate is older than that of a word of the person obeyed before" : null;
    }

    private approve(value: JsonObject): string | null {
        const draft = this.drafts.get(idOf(value));
        const statement = value["approval"] as JsonObject;
        if (draft === undefined) return "it decides about a draft of which no line stands before it";
        if (hashOf(draft.value) !== statement["draft"] || draft.peer !== value["peer"]) {
            return "it decides about another draft than the one that waits under this message-id";
        }
        const waits = draft.approve !== undefined && draft.decision === null && !draft.ended;
        if (!waits) return "it decides about a draft that does not wait for a decision";
        draft.decision = {
            person: statement["principal-id"] as string, decision: statement["decision"] as string, at: statement["decided-at"] as string,
        };
        draft.ended = statement["decision"] === "refused";
        this.made.set(idOf(value), draft.decision);
        return null;
    }

    /** The decision about the draft that this message was. */
    of(message: Message): Decision | null {
        return this.made.get(message.headers["message-id"] as string) ?? null;
    }

    /** What is wrong with it that a draft left as this message, or null; undefined where it was no draft. */
    sent(message: Message): string | null | undefined {
        const id = message.headers["message-id"] as string;
        const draft = this.drafts.get(id);
        if (draft === undefined) return undefined;
        this.drafts.delete(id);
        if (draft.ended) return "it was sent although its draft had ended";
        if (draft.approve !== undefined) {
            if (draft.decision === null) return "it was sent without the approval that its draft asks for";
            const root = this.rootOf(message.headers["recipient-id"] as string);
            if (root !== undefined && keyIdOf(root) !== draft.approve) {
                return "it was sent to a recipient under another root key than the one that it was approved for";
            }
        }
        return says(message, draft) ? null : "it says something else than its draft";
    }
}

function idOf(value: JsonObject): string {
    return (value["id"] ?? value["message-id"]) as string;
}

/** Whether a message says what its draft says; a request without approval may name a capability that its draft left open. */
function says(message: Message, draft: Draft): boolean {
    const [left, waited] = [content(message.value), canonical(content(draft.value))];
    if (canonical(left) === waited) return true;
    if (draft.approve !== undefined || message.method !== "agent.request") return false;
    const params = left["params"] as JsonObject;
    const bare = { ...params, headers: without(params["headers"] as JsonObject, "capability") };
    return canonical({ ...left, params: bare }) === waited;
}

/** What signing does not change: the sealed part is sealed anew, and some headers follow from the session and the day. */
function content(value: JsonObject): JsonObject {
    const place = ["params", "result"].find((name) => name in value);
    const envelope = (place === undefined ? member(value["error"], "data") : value[place]) as JsonObject;
    const headers = isObject(envelope["headers"]) ? without(envelope["headers"], ...ADDED) : null;
    const inside = { ...without(envelope, "headers", "signature", "sealed"), headers };
    const outer = without(value, "params", "result", "error");
    if (place !== undefined) return { ...outer, [place]: inside };
    return { ...outer, error: { ...without(value["error"] as JsonObject, "data"), data: inside } };
}
