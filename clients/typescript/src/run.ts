// One message that is worked on, and how its end is told to the daemon, whatever breaks meanwhile.

import type { Calls, Leased } from "./api.js";
import { Pauses, TRANSIENT } from "./client.js";
import type { Call } from "./connection.js";
import { CannotBeSaid, InvalidParams, isRefusal, NotReachable, SignetError } from "./errors.js";

/** A message under a lease, which may end and come anew while the handler goes on. */
export interface Run {
    readonly message: Leased;
    lease: string | undefined;
}

/** How it ended. A `reason` stands in the log in clear: it holds nothing of the message. */
export type Outcome =
    | { kind: "answered"; body: unknown }
    | { kind: "declined"; text: string; body?: unknown }
    | { kind: "failed"; reason: string }
    | { kind: "kept" };

/** Where the words about a message go that only this process may have. */
export type Log = (text: string, error?: unknown) => void;

/** The agent has stopped: what is not told yet is left to its next start. */
export class Stopped extends SignetError {}

/** Tells the daemon how it ended, until it has it or somebody else has settled the message. */
export async function settle(run: Run, outcome: Outcome, call: Call, log: Log): Promise<void> {
    const pauses = new Pauses(50, 10_000);
    const key = run.message.key;
    for (;;) {
        const said = sayingOf(run, outcome);
        if (!said) return;
        const lease = run.lease;
        try {
            await (call as (method: string, params: unknown) => Promise<unknown>)(said[0], said[1]);
            return;
        } catch (error) {
            if (error instanceof Stopped) throw error;
            if (isRefusal(error, "lease-ended")) {
                // The next call goes by the message's name, or by the lease that came meanwhile.
                if (run.lease === lease) run.lease = undefined;
            } else if (isRefusal(error, "not-waiting", "answer-waits")) {
                return;
            } else if (error instanceof NotReachable || isRefusal(error, ...TRANSIENT, ...LATER)) {
                await pauses.pass();
            } else if (outcome.kind === "answered" && run.message.type === "request" && neverLeaves(error)) {
                // More tries would do the work again, and come to the same.
                log(`${key}: its answer can never be sent`, error);
                const text = `it was handled, and its answer cannot be sent: ${nameOf(error)}`;
                outcome = { kind: "declined", text, body: { state: "failed" } };
            } else if (outcome.kind === "failed") {
                return log(`${key}: the daemon was not told that it failed`, error);
            } else {
                log(`${key}: its answer cannot be sent`, error);
                outcome = { kind: "failed", reason: `its answer was refused: ${nameOf(error)}` };
            }
        }
    }
}

type Saying = { [M in keyof Calls]: [method: M, params: Calls[M]["params"]] }[keyof Calls];

/** The call that says so; undefined where nothing needs to be said. */
function sayingOf(run: Run, outcome: Outcome): Saying | undefined {
    const { lease, message } = run;
    const name = { from: message.from, "message-id": message["message-id"] };
    const by = lease === undefined ? { message: name } : { lease };
    if (outcome.kind === "failed") {
        // A lease that has ended was a try that failed.
        return lease === undefined ? undefined : ["fail", { lease, reason: outcome.reason }];
    }
    if (message.type === "request" && outcome.kind === "declined") {
        const decline = [...outcome.text].slice(0, DECLINE).join("") || "declined";
        return ["respond", { ...by, decline, ...(outcome.body === undefined ? {} : { body: outcome.body }) }];
    }
    if (message.type === "request" && outcome.kind === "answered") {
        return ["respond", { ...by, body: outcome.body ?? null }];
    }
    // A handoff is decided by calls of its own, and stays until then.
    const keep = outcome.kind === "kept" || message.type === "handoff";
    if (lease !== undefined) return ["acknowledge", { lease, keep }];
    return keep ? undefined : ["acknowledge", { messages: [name] }];
}

/** Whether no later try could send the same answer: its size or its form is at fault, and not the moment. */
function neverLeaves(error: unknown): boolean {
    return error instanceof CannotBeSaid || error instanceof InvalidParams || isRefusal(error, ...UNFIT);
}

function nameOf(error: unknown): string {
    if (isRefusal(error)) return error.reason;
    if (error instanceof CannotBeSaid) return "not JSON, or too large";
    return error instanceof InvalidParams ? "its form" : "an error";
}

/** What ends by itself, or by a person. */
const LATER = ["paused", "disk-full", "outbox-full", "wrong-clock"];
/** What the daemon says of an answer that no message holds (docs/protocol.md, section 10). */
const UNFIT = ["too-large", "too-deep", "too-many-values", "duplicate-name", "number-out-of-range", "invalid-shape"];
/** The longest text of a refusal on the wire, in characters. */
const DECLINE = 500;
