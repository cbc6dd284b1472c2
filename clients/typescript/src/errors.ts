// What can go wrong. Each error has `next`: what to do about it, where that is known.

import type { Failure, Reason, Role, Sent } from "./api.js";

/** Anything that this package throws by itself. */
export class SignetError extends Error {
    readonly next: string | undefined;

    constructor(message: string, next?: string) {
        super(next === undefined ? message : `${message}\n  next: ${next}`);
        this.name = new.target.name;
        this.next = next;
    }
}

/** No daemon answers at the socket. */
export class NotReachable extends SignetError {}

/** The connection broke while a call was under way: nobody knows here whether it was done. */
export class ConnectionLost extends NotReachable {}

/** The daemon took a call and said nothing in time: it hangs, or is stopped. Nobody knows here whether it was done. */
export class DaemonSilent extends ConnectionLost {}

/** What was answered has not the form of that answer: daemon and package are of different releases, or it is no daemon. */
export class Malformed extends NotReachable {}

/** What is to be said is not JSON, or does not fit into one line of the socket. */
export class CannotBeSaid extends SignetError {}

/** Nothing says where the agent's home is. */
export class NoHome extends SignetError {}

/** A handler throws it to decline a request. Its text is the answer: the peer reads it. */
export class Decline extends SignetError {}

/** The daemon answered a call with an error. */
export class ApiError extends SignetError {
    readonly code: number;
    /** What else the error says, as it came. */
    readonly data: unknown;

    constructor(code: number, message: string, data?: unknown) {
        const next = isObject(data) && typeof data["next"] === "string" ? data["next"] : undefined;
        super(typeof data === "string" ? `${message}: ${data}` : message, next);
        this.code = code;
        this.data = data;
    }
}

/** The parameters have the wrong form; the text says which. */
export class InvalidParams extends ApiError {}

/** The daemon knows no such call. */
export class MethodNotFound extends ApiError {}

/** The daemon did not do it: `reason` is a stable name, one of the daemon's own (`REASONS`) or of the protocol. */
export class Refusal extends ApiError {
    readonly reason: Reason;
    /** The known agent that an unknown one resembles. */
    readonly didYouMean: string | undefined;
    /** The message that may have been made. */
    readonly messageId: string | undefined;
    /** Whose call it is, where it is not the caller's. */
    readonly whose: Role | undefined;

    constructor(code: number, message: string, data: Record<string, unknown>) {
        super(code, message, data);
        this.reason = String(data["reason"]);
        this.didYouMean = data["did-you-mean"] as string | undefined;
        this.messageId = data["message-id"] as string | undefined;
        this.whose = data["whose"] as Role | undefined;
    }
}

/** Whether an error is a refusal, of one of these reasons where some are named. */
export function isRefusal(error: unknown, ...reasons: Reason[]): error is Refusal {
    return error instanceof Refusal && (reasons.length === 0 || reasons.includes(error.reason));
}

/** The error for the error object of a response. */
export function errorOf(error: unknown): ApiError {
    if (!isObject(error)) return new ApiError(0, "the daemon's error cannot be read");
    const code = typeof error["code"] === "number" ? error["code"] : 0;
    const message = String(error["message"] ?? "");
    const data = error["data"];
    if (code === REFUSED && isObject(data)) return new Refusal(code, message, data);
    if (code === INVALID_PARAMS) return new InvalidParams(code, message, data);
    if (code === METHOD_NOT_FOUND) return new MethodNotFound(code, message, data);
    return new ApiError(code, message, data);
}

/** A request of ours has no answer. The same request with the same `key` asks for it again. */
export class RequestFailed extends SignetError {
    /** Where it is. */
    readonly sent: Sent;
    readonly messageId: string;
    readonly key: string;

    constructor(message: string, sent: Sent, key: string, next?: string) {
        super(message, next);
        this.sent = sent;
        this.messageId = sent["message-id"];
        this.key = key;
    }
}

/** The peer, its daemon, or our own side refused it. `failure` is what the peer said: data, never an instruction. */
export class RequestRefused extends RequestFailed {
    readonly failure: Failure | undefined;
    readonly reason: string | undefined;
    readonly by: "peer" | "self" | undefined;

    constructor(message: string, sent: Sent, key: string, next?: string) {
        super(message, sent, key, next);
        this.failure = sent.answer?.error ?? undefined;
        this.reason = this.failure?.reason ?? sent.reason ?? undefined;
        this.by = this.failure ? "peer" : (sent.by ?? undefined);
    }
}

/** The peer's agent declined; `failure.message` says why, or the answer's `summary` where it came sealed. */
export class Declined extends RequestRefused {}

/** Its life ended before anything was heard, or its end is unknown. */
export class RequestLost extends RequestFailed {}

/** No answer in time. A late one comes into the inbox; the same request with the same `key` waits for it. */
export class RequestTimedOut extends RequestFailed {}

/** It does not leave before people decide: `sent["waits-for"]` says about what. */
export class HeldBack extends RequestFailed {}

/** It was answered, and the answer has left the inbox: somebody read it before. */
export class AnswerTaken extends RequestFailed {}

export function isObject(value: unknown): value is Record<string, unknown> {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

const REFUSED = -32000;
const INVALID_PARAMS = -32602;
const METHOD_NOT_FOUND = -32601;
