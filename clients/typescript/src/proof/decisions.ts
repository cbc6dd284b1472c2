// Drafts and what their person decided about them (docs/protocol.md, sections 12, Lines say this of each other, and 15).

import { member } from "./forms.js";
import { canonical, isObject, type Json, type JsonObject, without } from "./json.js";
import type { Line } from "./line.js";
import type { Message } from "./message.js";
import { type Certificate, hashOf, keyIdOf, nanos } from "./statements.js";

/** A person's decision about a draft. */
export interface Decision {
    readonly person: string;
    readonly decision: string;
    readonly at: string;
}

interface Draft {
    readonly value: JsonObject;
    /** The key-id of the root key that its recipient had, where its person has to approve it. */
    readonly approve: string | undefined;
    /** Until when it may leave. */
    readonly until: bigint;
    decision: Decision | null;
}

/** What signing adds to a draft, and what a session and the sender's own state set. */
const ADDED = [
    "timestamp", "expires-at", "key-id", "session", "sequence", "audit-head", "trust-layer-version", "skill-layers-loaded",
];

/** The drafts of a log, and what became of them. */
export class Decisions {
    private readonly drafts = new Map<string, Draft>();
    private control = 0;
    private word: number | null = null;

    constructor(
        private readonly rootOf: (principal: string) => string | undefined,
        private readonly newest: (agent: string) => Certificate | undefined,
    ) {}

    /** Takes a `draft`, `approval` or `pause` line of that person's agent; the fault, or null. */
    write(line: Line, person: string | undefined): string | null {
        const { value } = line;
        if (line.kind === "draft") {
            const until = nanos(line.ts) + BigInt(value["life"] as number) * 1_000_000_000n;
            const approve = value["approve"] as string | undefined;
            this.drafts.set(idOf(value), { value: value["message"] as JsonObject, approve, until, decision: null });
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

    private standing(control: JsonObject, person: string | undefined): string | null {
        const root = person === undefined ? undefined : this.rootOf(person);
        if (person !== undefined && (control["principal-id"] !== person || control["root-key"] !== root)) {
            return "its control certificate does not stand under the root key of this agent's person";
        }
        const old = (control["serial"] as number) < this.control;
        return old ? "its control certificate is older than that of a word of the person obeyed before" : null;
    }

    private approve(value: JsonObject): string | null {
        const draft = this.drafts.get(idOf(value));
        const statement = value["approval"] as JsonObject;
        if (draft === undefined) return "it decides about a draft of which no line stands before it";
        if (draft.approve === undefined || draft.decision !== null) return "it decides about a draft that does not wait for a decision";
        if (hashOf(draft.value) !== statement["draft"]) return "it decides about another draft than the one that waits under this message-id";
        draft.decision = {
            person: statement["principal-id"] as string, decision: statement["decision"] as string, at: statement["decided-at"] as string,
        };
        return null;
    }

    /** Whether the message was a draft first. */
    concerns(message: Message): boolean {
        return this.drafts.has(message.headers["message-id"] as string);
    }

    /** The decision about the draft that this message was. */
    of(message: Message): Decision | null {
        return this.drafts.get(message.headers["message-id"] as string)?.decision ?? null;
    }

    /** What is wrong with it that a draft left as this message, or null. */
    sent(message: Message, ts: string): string | null {
        const draft = this.drafts.get(message.headers["message-id"] as string) as Draft;
        const ended = nanos(ts) > draft.until || draft.decision?.decision === "refused";
        if (ended) return "it was sent although its draft had ended";
        if (!says(message, draft)) return "it says something else than its draft";
        if (draft.approve === undefined) return null;
        if (draft.decision === null) return "it was sent without the approval that its draft asks for";
        const recipient = this.newest(message.headers["recipient-id"] as string);
        const same = recipient !== undefined && keyIdOf(recipient.root) === draft.approve;
        return same ? null : "it was sent to a recipient under another root key than the one that it was approved for";
    }
}

function idOf(value: JsonObject): string {
    return (value["id"] ?? value["message-id"]) as string;
}

/** Whether a message says what its draft says; a request without approval may name a capability that its draft left open. */
function says(message: Message, draft: Draft): boolean {
    const [left, waited] = [content(message.value), content(draft.value)];
    const open = member(waited, "headers", "capability") === undefined && draft.approve === undefined && message.type === "request";
    const named = open && isObject(left["headers"]) ? { ...left, headers: without(left["headers"], "capability") } : left;
    return canonical(named) === canonical(waited);
}

function content(value: JsonObject): JsonObject {
    const place = ["params", "result"].find((name) => name in value);
    const envelope = (place === undefined ? member(value["error"], "data") : value[place]) as JsonObject;
    const headers = isObject(envelope["headers"]) ? without(envelope["headers"], ...ADDED) : null;
    const outer = place === undefined ? { code: member(value["error"], "code") as Json, message: member(value["error"], "message") as Json } : null;
    const sealed = "sealed" in envelope ? { sealed: true } : {};
    return { ...without(value, "params", "result", "error"), ...without(envelope, "headers", "signature", "sealed"), ...sealed, headers, outer };
}
