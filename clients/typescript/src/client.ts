// Calls of the daemon: by connections that are made when they are needed and again when they broke.

import { setTimeout as sleep } from "node:timers/promises";

import type { Calls, Name } from "./api.js";
import { type Call, connect, type Connection, silent, type Timed } from "./connection.js";
import { ApiError, ConnectionLost, isRefusal, NotReachable } from "./errors.js";

/** One connection at a time, with room for so many calls. */
export class Link {
    /** How many calls are under way, or wait for room. */
    busy = 0;
    readonly #path: string;
    #connecting: Promise<Connection> | undefined;
    #connection: Connection | undefined;
    #running = 0;
    readonly #queue: (() => void)[] = [];

    constructor(path: string) {
        this.#path = path;
    }

    /** One call, which is answered `within` seconds or given up: also what waits for room counts. */
    call: Timed = async (method, params, within) => {
        const deadline = now() + 1_000 * within;
        this.busy += 1;
        try {
            if (this.#running >= IN_FLIGHT) await this.#place(within);
            this.#running += 1;
            try {
                const connection = await this.#opened(Math.max(0.1, (deadline - now()) / 1_000), within);
                return await connection.call(method, params, Math.max(0.1, (deadline - now()) / 1_000));
            } finally {
                this.#running -= 1;
                this.#queue.shift()?.();
            }
        } finally {
            this.busy -= 1;
        }
    };

    /** The connection, made anew where it has ended; that another call is about to make it counts, too. */
    async #opened(left: number, within: number): Promise<Connection> {
        if (this.#connection?.isOpen) return this.#connection;
        this.#connecting ??= connect(this.#path, { within })
            .then((connection) => (this.#connection = connection))
            .finally(() => (this.#connecting = undefined));
        let timer: NodeJS.Timeout | undefined;
        const late = new Promise<never>((_, reject) => {
            timer = setTimeout(() => reject(silent(this.#path, within)), 1_000 * left);
        });
        return Promise.race([this.#connecting, late]).finally(() => clearTimeout(timer));
    }

    #place(within: number): Promise<void> {
        return new Promise((resolve, reject) => {
            const timer = setTimeout(() => {
                this.#queue.splice(this.#queue.indexOf(come), 1);
                reject(silent(this.#path, within));
            }, 1_000 * within);
            const come = () => {
                clearTimeout(timer);
                resolve();
            };
            this.#queue.push(come);
        });
    }

    close(): void {
        this.#connection?.close();
    }
}

/** How long a daemon that is not there is left alone: longer each time. */
export class Pauses {
    #next: number;
    readonly #most: number;

    constructor(first = 100, most = 5_000) {
        this.#next = first;
        this.#most = most;
    }

    async pass(atMost = Infinity): Promise<void> {
        const pause = Math.max(0, Math.min(this.#next, atMost));
        this.#next = Math.min(this.#next * 2, this.#most);
        await sleep(pause);
    }
}

/** What the daemon says when it stops, or needs the connection's place for another client. */
export const TRANSIENT = ["stopping", "outcome-unknown", "place-needed"] as const;

/** What waits has connections of its own: it must not hold up what is done at once. */
export class Client {
    readonly #patience: number;
    readonly #prompt: Link;
    readonly #waiting: Link[];
    /** Whether a daemon has answered here before: then it is worth waiting for. */
    #wasThere = false;
    #read: Name[] = [];
    #telling: Promise<void> | undefined;

    constructor(path: string, patience: number) {
        this.#patience = patience;
        this.#prompt = new Link(path);
        this.#waiting = Array.from({ length: WAITING_LINKS }, () => new Link(path));
    }

    /** One call that is done at once, and may be repeated when the connection broke under it. */
    call: Call = (method, params) => this.#promptly(method, params, true);

    /** One call that is not repeated when nobody knows whether it was done. */
    once: Call = (method, params) => this.#promptly(method, params, false);

    /** One call that waits for others, and may be repeated until `deadline`: `params` gives it anew each time. */
    wait<M extends keyof Calls>(
        method: M,
        params: () => Calls[M]["params"],
        deadline: number,
    ): Promise<Calls[M]["result"]> {
        const attempt = () => {
            const [link] = [...this.#waiting].sort((one, other) => one.busy - other.busy);
            const asked = params();
            // It waits by itself for so long, and then says where the message is.
            const waits = (asked as { wait?: number }).wait ?? 0;
            return (link ?? this.#prompt).call(method, asked, waits + MARGIN);
        };
        return this.#persist(attempt, deadline, true);
    }

    #promptly<M extends keyof Calls>(method: M, params: Calls[M]["params"], again: boolean): Promise<Calls[M]["result"]> {
        const deadline = now() + this.#patience;
        const attempt = () => this.#prompt.call(method, params, Math.max((deadline - now()) / 1_000, MARGIN));
        return this.#persist(attempt, deadline, again);
    }

    /** Tells the daemon soon that an answer is read: until then it stands in the inbox. Nobody waits for it. */
    readLater(name: Name): void {
        this.#read.push(name);
        this.#telling ??= this.#tellRead().finally(() => (this.#telling = undefined));
    }

    async close(): Promise<void> {
        await Promise.race([this.#telling, sleep(CLOSING, undefined, { ref: false })]);
        for (const link of [this.#prompt, ...this.#waiting]) link.close();
    }

    async #persist<T>(attempt: () => Promise<T>, deadline: number, again: boolean): Promise<T> {
        const pauses = new Pauses();
        for (;;) {
            try {
                const answer = await attempt();
                this.#wasThere = true;
                return answer;
            } catch (error) {
                const left = deadline - now();
                if (left <= 0 || !this.#isWorth(error, again)) throw error;
                await pauses.pass(left);
            }
        }
    }

    #isWorth(error: unknown, again: boolean): boolean {
        // Nothing was asked.
        if (error instanceof NotReachable && !(error instanceof ConnectionLost)) return this.#wasThere;
        if (error instanceof ApiError || error instanceof ConnectionLost) this.#wasThere = true;
        if (isRefusal(error, "stopping")) return true;
        return again && (error instanceof ConnectionLost || isRefusal(error, ...TRANSIENT));
    }

    async #tellRead(): Promise<void> {
        while (this.#read.length > 0) {
            const messages = this.#read.splice(0, READ_AT_ONCE);
            try {
                await this.call("acknowledge", { messages });
            } catch (error) {
                if (!isRefusal(error)) continue;
                // All or none: somebody else has taken one of them.
                for (const message of messages) {
                    await this.call("acknowledge", { messages: [message] }).catch(() => {});
                }
            }
        }
    }
}

/** A clock that nobody sets, in milliseconds. */
export function now(): number {
    return performance.now();
}

/** The daemon reads 16 lines of a connection before it has answered one. */
const IN_FLIGHT = 14;
/** All programs together have 64 connections to a socket. */
const WAITING_LINKS = 4;
/** How many answers one call says to be read. */
const READ_AT_ONCE = 100;
/** Seconds that a daemon has for its answer when the time of the call is over. */
export const MARGIN = 2;
/** Milliseconds for what is still to be said. */
const CLOSING = 2_000;
