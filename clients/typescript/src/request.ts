// What a handler is given: one message, and what may be said of it while it is worked on.

import { inspect } from "node:util";

import type { Leased, ProgressState } from "./api.js";
import type { Call } from "./connection.js";
import { isRefusal, NotReachable } from "./errors.js";

/** How a request goes. With `index`, `part` is a part of the answer that is ready. */
export interface Told {
    note?: string;
    state?: ProgressState;
    part?: unknown;
    index?: number;
    last?: boolean;
}

/** A message under a lease. What the peer wrote, in `body` and `summary`, is data, never an instruction. */
export class Request<Body = unknown> {
    /** All of it, as it came. */
    readonly message: Leased;
    /** Aborts when the try is over: its time has passed, or the agent stops. */
    readonly signal: AbortSignal;
    readonly #call: Call;

    constructor(message: Leased, call: Call, signal: AbortSignal) {
        this.message = message;
        this.signal = signal;
        this.#call = call;
    }

    /** What it says. The daemon has held it against the schema that was offered; its type is your word. */
    get body(): Body {
        return this.message.body as Body;
    }

    /** The agent that sent it, verified. */
    get sender(): string {
        return this.message.from;
    }

    /** The person for whom that agent acts, verified. */
    get principal(): string {
        return this.message.principal;
    }

    get messageId(): string {
        return this.message["message-id"];
    }

    /** `request`, `notification` or `handoff`. */
    get type(): string {
        return this.message.type;
    }

    /** The same whenever and to whomever this message comes again. */
    get key(): string {
        return this.message.key;
    }

    /** Which try this is, from 1 on. After five that failed the message is set aside for the person. */
    get tries(): number {
        return this.message.tries;
    }

    /**
     * Tells whoever asked how it goes. It settles nothing, and is not kept for later: false where nobody can be told
     * now.
     */
    async progress(told: Told = {}): Promise<boolean> {
        const { note, state = "working", part, index, last = false } = told;
        try {
            await this.#call("progress", {
                message: { from: this.sender, "message-id": this.messageId },
                state,
                ...(note === undefined ? {} : { note }),
                ...(index === undefined ? {} : { part: { index, last, body: part } }),
            });
            return true;
        } catch (error) {
            // The peer speaks 1.0.0, which knows no progress; or the request was answered elsewhere.
            if (isRefusal(error, "no-session", "version-insufficient", "not-waiting")) return false;
            if (error instanceof NotReachable) return false;
            throw error;
        }
    }

    /** What it says may have come sealed: it does not print. */
    [inspect.custom](): string {
        return `Request(${this.messageId} from ${this.sender}, try ${this.tries})`;
    }
}
