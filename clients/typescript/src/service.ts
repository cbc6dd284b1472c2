// Works off what comes: receives under leases, runs handlers side by side, and answers each message once.
//
//   receive ──▶ Run ──▶ handler ──▶ respond by the lease; where that has ended, by the message's name
//      ▲         └── extended while it runs; the same message under a new lease joins the run that goes on
//      └── connects again with pauses that grow, and offers again what it serves

import { setTimeout as sleep } from "node:timers/promises";

import type { Leased, OfferCapability } from "./api.js";
import { now, Pauses } from "./client.js";
import { type Call, connect, type Connection, PROMPT } from "./connection.js";
import {
    ApiError,
    ConnectionLost,
    Decline,
    InvalidParams,
    isRefusal,
    MethodNotFound,
    NotReachable,
    Refusal,
} from "./errors.js";
import { Request } from "./request.js";
import { type Log, type Outcome, type Run, settle, Stopped } from "./run.js";
import { leasedOf, listOf, objectOf } from "./shape.js";

/** One function, and what it serves. */
export interface Handler {
    function: (request: Request<never>) => unknown;
    /** What peers are told; undefined where they are not. */
    offer: OfferCapability | undefined;
    /** Seconds that one try may take. */
    timeout: number;
}

/** The handlers of one agent. */
export interface Handlers {
    byCapability: Map<string, Handler>;
    /** Takes what no other does. */
    fallback: Handler | undefined;
}

export interface Limits {
    parallel: number;
    /** Seconds. */
    lease: number;
    /** Seconds for handlers to come to their end. */
    grace: number;
    /** Seconds that connecting may take. */
    connecting: number;
}

/** The handlers of one agent at work. */
export class Service {
    readonly #path: string;
    readonly #handlers: Handlers;
    readonly #limits: Limits;
    readonly #log: Log;
    #connection: Connection | undefined;
    /** What is worked on, by its key; a message that comes again meanwhile belongs to the same run. */
    readonly #runs = new Map<string, Run>();
    readonly #tasks = new Set<Promise<void>>();
    /** What ends the tries that are under way. */
    readonly #tries = new Set<AbortController>();
    /** What was answered a moment ago: it may have been handed out once more just before. */
    readonly #recent = new Map<string, number>();
    #ended = false;
    #changed: (() => void)[] = [];

    constructor(path: string, handlers: Handlers, limits: Limits, log: Log) {
        this.#path = path;
        this.#handlers = handlers;
        this.#limits = limits;
        this.#log = log;
    }

    /** Goes on until `stop` aborts. What may not be offered at the first start ends it: nobody would ask. */
    async serve(stop: AbortSignal): Promise<void> {
        const extending = setInterval(() => void this.#extend(), (1_000 * this.#limits.lease) / 3);
        const stopped = new Promise<void>((resolve) => {
            if (stop.aborted) resolve();
            stop.addEventListener("abort", () => resolve(), { once: true });
        });
        try {
            await Promise.race([this.#serve(stop), stopped]);
            const grace = sleep(1_000 * this.#limits.grace, undefined, { ref: false });
            await Promise.race([Promise.all(this.#tasks), grace]);
        } finally {
            this.#ended = true;
            for (const over of this.#tries) over.abort();
            clearInterval(extending);
            this.#connection?.close();
            this.#wake();
        }
    }

    /** One call by the connection that holds the leases, as soon as there is one. */
    #call: Call = async (method, params) => {
        while (!this.#connection?.isOpen) {
            if (this.#ended) throw new Stopped("the agent has stopped");
            await new Promise<void>((resolve) => this.#changed.push(resolve));
        }
        return this.#connection.call(method, params, PROMPT);
    };

    /** The same for what is of no use later: it waits for no connection. */
    #callNow: Call = async (method, params) => {
        if (!this.#connection) throw new ConnectionLost(`there is no connection to ${this.#path}`);
        return this.#connection.call(method, params, PROMPT);
    };

    async #serve(stop: AbortSignal): Promise<void> {
        let pauses = new Pauses();
        let isFirst = true;
        while (!stop.aborted) {
            try {
                const connection = await connect(this.#path, { within: this.#limits.connecting, signal: stop });
                this.#connection = connection;
                await this.#offer(connection, isFirst);
                isFirst = false;
                pauses = new Pauses();
                this.#wake();
                await this.#receive(connection, stop);
            } catch (error) {
                const isForThePerson =
                    isRefusal(error, "offer-refused") || error instanceof InvalidParams || error instanceof MethodNotFound;
                const goesOn = error instanceof NotReachable || error instanceof ApiError;
                if (!goesOn || (isFirst && isForThePerson)) throw error;
                if (!stop.aborted) this.#log("the daemon is not there, or speaks no more; trying again", error);
            }
            if (stop.aborted) return;
            // Leases end with their connection; what is worked on goes on, and is answered by its name.
            this.#connection?.close();
            for (const run of this.#runs.values()) run.lease = undefined;
            await pauses.pass();
        }
    }

    async #offer(connection: Connection, isFirst: boolean): Promise<void> {
        for (const { offer } of this.#handlers.byCapability.values()) {
            if (!offer) continue;
            try {
                await connection.call("offer", offer, PROMPT);
            } catch (error) {
                // The configuration offers it: peers ask all the same.
                if (isRefusal(error, "offer-configured")) continue;
                if (isFirst || !(error instanceof Refusal || error instanceof InvalidParams)) throw error;
                this.#log(`${offer.capability} is not offered any more`, error);
            }
        }
    }

    async #receive(connection: Connection, stop: AbortSignal): Promise<void> {
        const { parallel, lease } = this.#limits;
        const names = this.#handlers.fallback ? undefined : [...this.#handlers.byCapability.keys()];
        while (!stop.aborted) {
            while (this.#runs.size >= parallel && connection.isOpen) {
                await Promise.race([new Promise<void>((resolve) => this.#changed.push(resolve)), connection.ended]);
            }
            const asked = { wait: WAIT, lease, limit: parallel - this.#runs.size, ...(names ? { capabilities: names } : {}) };
            const received = objectOf(await connection.call("receive", asked, WAIT + PROMPT), "what was received");
            const messages = listOf(received.messages, "what was received").map(leasedOf);
            for (const message of messages) await this.#take(connection, message);
        }
    }

    async #take(connection: Connection, message: Leased): Promise<void> {
        const { key, lease } = message;
        const run = this.#runs.get(key);
        if (run) {
            run.lease = lease;
            return;
        }
        if (this.#recent.has(key) && !(await this.#isLive(connection, lease))) return;
        const begun: Run = { message, lease };
        this.#runs.set(key, begun);
        const task = this.#work(begun).finally(() => {
            this.#runs.delete(key);
            this.#tasks.delete(task);
            this.#wake();
        });
        this.#tasks.add(task);
    }

    async #isLive(connection: Connection, lease: string): Promise<boolean> {
        try {
            await connection.call("extend", { lease, seconds: this.#limits.lease }, PROMPT);
            return true;
        } catch (error) {
            if (isRefusal(error, "lease-ended")) return false;
            throw error;
        }
    }

    async #work(run: Run): Promise<void> {
        try {
            await settle(run, await this.#outcome(run), this.#call, this.#log);
        } catch (error) {
            if (error instanceof Stopped) return;
            this.#log(`${run.message.key}: the daemon was not told how it ended`, error);
        }
        const then = now();
        // A map keeps the order: the oldest stand first, and only they are looked at.
        for (const [key, at] of this.#recent) {
            if (then - at <= RECENT) break;
            this.#recent.delete(key);
        }
        this.#recent.delete(run.message.key);
        this.#recent.set(run.message.key, then);
    }

    /** What the handler says. Nothing of an error but its class leaves this process. */
    async #outcome({ message }: Run): Promise<Outcome> {
        const named = message.capability ? this.#handlers.byCapability.get(message.capability) : undefined;
        const handler = named ?? this.#handlers.fallback;
        // Answers and reports stay in the inbox, where whoever waits for them finds them.
        if (!HANDLED.includes(message.type) || !handler) return { kind: "kept" };
        const over = new AbortController();
        const ended = new Promise<never>((_, reject) => {
            over.signal.addEventListener("abort", () => reject(new Over()), { once: true });
        });
        const timer = setTimeout(() => over.abort(), 1_000 * handler.timeout);
        this.#tries.add(over);
        try {
            const request = new Request<never>(message, this.#callNow, over.signal);
            return { kind: "answered", body: await Promise.race([this.#run(handler, request), ended]) };
        } catch (error) {
            if (error instanceof Decline) return { kind: "declined", text: error.message };
            if (error instanceof Over) return { kind: "failed", reason: "timed out" };
            this.#log(`${message.key}: its handler failed`, error);
            const name = error instanceof Error ? error.constructor.name : typeof error;
            return { kind: "failed", reason: `threw ${name}` };
        } finally {
            clearTimeout(timer);
            this.#tries.delete(over);
        }
    }

    async #run(handler: Handler, request: Request<never>): Promise<unknown> {
        return handler.function(request);
    }

    async #extend(): Promise<void> {
        for (const run of [...this.#runs.values()]) {
            const lease = run.lease;
            if (lease === undefined) continue;
            try {
                await this.#callNow("extend", { lease, seconds: this.#limits.lease });
            } catch (error) {
                if (isRefusal(error, "lease-ended") && run.lease === lease) run.lease = undefined;
            }
        }
    }

    /** Something changed: whoever waits looks again. */
    #wake(): void {
        for (const wake of this.#changed.splice(0)) wake();
    }
}

/** The time of a try is over. */
class Over extends Error {}

/** Seconds that one call waits for what comes. */
const WAIT = 30;
/** Milliseconds for which an answered message is remembered. */
const RECENT = 60_000;
/** What handlers are for. */
const HANDLED = ["request", "notification", "handoff"];
