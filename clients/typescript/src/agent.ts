// An agent: its handlers, and what it asks of others.

import { randomUUID } from "node:crypto";

import type {
    Calls,
    DecidedTask,
    Kind,
    ListHistory,
    Message,
    Name,
    OfferCapability,
    Outgoing,
    Peer,
    ReportTask,
    Said,
    SendHandoff,
    Sent,
    ShownPeer,
    ShownTask,
    Status,
    Task,
    Waiting,
} from "./api.js";
import { ask, hear, type Keyed } from "./asking.js";
import { Client, MARGIN, now } from "./client.js";
import { connect, type Connection } from "./connection.js";
import { SignetError } from "./errors.js";
import type { Asking, Handles, More, Options, Update } from "./options.js";
import { findSocket } from "./places.js";
import type { Request } from "./request.js";
import { type Handlers, type Limits, Service } from "./service.js";
import type { Log } from "./run.js";
import { listOf, objectOf, sentOf, textsOf } from "./shape.js";

/**
 * An agent of this machine, by its daemon's `agent.sock`. Nothing is opened before the first call, and none of it decides
 * anything for the person: trust, keys, policy and approval are theirs.
 */
export class Agent {
    readonly socket: string;
    readonly #limits: Limits;
    readonly #patience: number;
    readonly #log: Log;
    readonly #handlers: Handlers = { byCapability: new Map(), fallback: undefined };
    #client: Client | undefined;

    constructor(options: Options = {}) {
        const { parallel = 8, lease = 60, grace = 10, patience = 30, log = toStandardError } = options;
        if (!(parallel >= 1 && parallel <= 100)) throw new SignetError("parallel is from 1 to 100");
        if (!(lease >= 1 && lease <= 86_400)) throw new SignetError("lease is from 1 second to a day");
        this.socket = findSocket(options);
        this.#limits = { parallel, lease, grace, connecting: Math.max(patience, MARGIN) };
        this.#patience = 1_000 * patience;
        this.#log = log;
    }

    /** `handler` serves `capability`, which peers are offered while the agent runs. */
    handles<Body = unknown>(
        capability: string,
        handler: (request: Request<Body>) => unknown,
        { schema, description, tier, offer = true, timeout = 600 }: Handles = {},
    ): this {
        if (this.#handlers.byCapability.has(capability)) throw new SignetError(`${capability} has a handler already`);
        const said: OfferCapability = {
            capability,
            ...(schema === undefined ? {} : { schema }),
            ...(description === undefined ? {} : { description }),
            ...(tier === undefined ? {} : { tier }),
        };
        const typed = handler as (request: Request<never>) => unknown;
        this.#handlers.byCapability.set(capability, { function: typed, offer: offer ? said : undefined, timeout });
        return this;
    }

    /** `handler` takes what no other does: requests, notifications and handoffs. */
    fallback(handler: (request: Request) => unknown, timeout = 600): this {
        if (this.#handlers.fallback) throw new SignetError("there is a fallback already");
        const typed = handler as (request: Request<never>) => unknown;
        this.#handlers.fallback = { function: typed, offer: undefined, timeout };
        return this;
    }

    /** Serves until SIGINT or SIGTERM. Connects again by itself when the daemon goes and comes. */
    async run(): Promise<void> {
        const stop = new AbortController();
        const end = () => stop.abort();
        process.once("SIGINT", end).once("SIGTERM", end);
        try {
            await this.serve(stop.signal);
        } finally {
            process.off("SIGINT", end).off("SIGTERM", end);
            await this.close();
        }
    }

    /** Serves until `stop` aborts; then handlers have `grace` seconds to come to their end. */
    async serve(stop: AbortSignal): Promise<void> {
        const { byCapability, fallback } = this.#handlers;
        if (byCapability.size === 0 && !fallback) {
            throw new SignetError("this agent handles nothing", "say agent.handles(capability, handler) first");
        }
        await new Service(this.socket, this.#handlers, this.#limits, this.#log).serve(stop);
    }

    /**
     * Asks `peer` and waits for the answer, whose `body` holds what it says. It is sent once, also when the connection
     * breaks or the daemon starts anew meanwhile; with a `key` of the caller's own also when this program does.
     */
    async request(peer: string, body: unknown, asking: Asking = {}): Promise<Message> {
        const { timeout = 60, keep = false, onProgress, ...more } = asking;
        const params = message("request", peer, body, more);
        if (!onProgress) return ask(this.#opened, params, timeout, keep);
        const began = now();
        const begin = () => ({ ...params, wait: 0 });
        const sent = sentOf(await this.#opened.wait("send", begin, began + 1_000 * timeout));
        const left = Math.max(0, timeout - (now() - began) / 1_000);
        const stop = new AbortController();
        const subscribed = () => this.subscribe({ message: sent["message-id"] }, stop.signal);
        const telling = hear(subscribed, stop.signal, onProgress, this.#log);
        try {
            return await ask(this.#opened, params, left, keep);
        } finally {
            stop.abort();
            await telling;
        }
    }

    /** Tells `peer` something that wants no answer; with `wait` seconds, until the peer has it. */
    notify(peer: string, body: unknown, { wait = 0, ...more }: More & { wait?: number } = {}): Promise<Sent> {
        return this.#opened.call("send", { ...message("notification", peer, body, more), wait });
    }

    /** A sign of life of the peer's daemon. */
    ping(peer: string, timeout = 10): Promise<Message> {
        const life = Math.max(1, Math.trunc(timeout));
        return ask(this.#opened, message("ping", peer, null, { life }), timeout, false);
    }

    /** What waits, oldest first, from behind the number `after`. */
    async inbox({ after = 0, limit }: { after?: number; limit?: number } = {}): Promise<Waiting[]> {
        const asked = { after, ...(limit === undefined ? {} : { limit }) };
        return listOf(objectOf(await this.call("inbox.list", asked), "the inbox").messages, "the inbox");
    }

    /** They are read, and leave the inbox: all or none. */
    async acknowledge(...messages: Name[]): Promise<void> {
        await this.call("acknowledge", { messages: messages.map(nameOf) });
    }

    /** Answers a request that waits in the inbox; the answer's message-id. */
    async reply(message: Name, body: unknown): Promise<string> {
        const replied = await this.#opened.once("respond", { message: nameOf(message), body });
        return textsOf(replied, "an answer", "message-id")["message-id"];
    }

    /** Declines a request that waits in the inbox; the peer reads `text`. */
    async decline(message: Name, text: string): Promise<string> {
        const replied = await this.#opened.once("respond", { message: nameOf(message), decline: text });
        return textsOf(replied, "an answer", "message-id")["message-id"];
    }

    /** What waits in the inbox, and then what comes, until the connection ends or `signal` aborts. It stays in the inbox. */
    async *follow(signal?: AbortSignal): AsyncGenerator<Message, void, void> {
        for await (const update of this.#told("inbox.follow", {}, signal)) {
            if (update.kind === "inbox.message") yield update.params;
        }
    }

    /** What moves about one message, or in one conversation, until the connection ends or `signal` aborts. */
    subscribe(
        topic: { message: string } | { conversation: string },
        signal?: AbortSignal,
    ): AsyncGenerator<Update, void, void> {
        return this.#told("subscribe", topic, signal);
    }

    /** What was said, newest first, in tiers 1 and 2. */
    async history(which: ListHistory = {}): Promise<Said[]> {
        return listOf(objectOf(await this.call("history", which), "the history").messages, "the history");
    }

    /** Messages of ours that have neither a receipt nor an end. */
    async outbox(peer?: string): Promise<Outgoing[]> {
        const asked = peer === undefined ? {} : { peer };
        return listOf(objectOf(await this.call("outbox.list", asked), "the outbox").messages, "the outbox");
    }

    /** Where one message of ours is. */
    async where(messageId: string): Promise<Outgoing> {
        const out = await this.call("message.status", { "message-id": messageId });
        return textsOf(out, "where a message is", "message-id", "state");
    }

    /** Hands a task to `peer`, within limits. It is not repeated when the connection breaks. */
    handoff(peer: string, goal: string, more: Partial<Omit<SendHandoff, "peer" | "goal">> = {}): Promise<Sent> {
        return this.#opened.once("handoff.send", { ...more, peer, goal });
    }

    /** Every task, held or given, newest first. */
    async tasks(): Promise<Task[]> {
        return listOf(objectOf(await this.call("handoff.list", {}), "the tasks").tasks, "the tasks");
    }

    /** One task with the chain of those who gave it. */
    task(task: string): Promise<ShownTask> {
        return this.call("handoff.show", { task });
    }

    /** Takes a task that was offered. */
    accept(task: string): Promise<DecidedTask> {
        return this.#opened.once("handoff.accept", { task });
    }

    /** Does not take a task; the giver reads `why`. */
    declineTask(task: string, why: string): Promise<DecidedTask> {
        return this.#opened.once("handoff.decline", { task, why });
    }

    /** Says how a task goes. */
    report(task: string, state: ReportTask["state"], more: Partial<Pick<ReportTask, "note" | "result">> = {}): Promise<DecidedTask> {
        return this.#opened.once("handoff.report", { ...more, task, state });
    }

    /** Every agent that is trusted. */
    async peers(): Promise<Peer[]> {
        return listOf(await this.call("peer.list", {}), "the peers");
    }

    /** One agent, with what it offers. */
    async peer(peer: string): Promise<ShownPeer> {
        return objectOf(await this.call("peer.show", { peer }), "a peer");
    }

    /** How the daemon does. */
    async status(): Promise<Status> {
        return objectOf(await this.call("status", {}), "the status");
    }

    /** Any call of docs/agent-api.md that may be repeated. */
    call<M extends keyof Calls>(method: M, params: Calls[M]["params"]): Promise<Calls[M]["result"]> {
        return this.#opened.call(method, params);
    }

    /** Ends the connections of calls. The next call opens them anew. */
    async close(): Promise<void> {
        const client = this.#client;
        this.#client = undefined;
        await client?.close();
    }

    get #opened(): Client {
        return (this.#client ??= new Client(this.socket, this.#patience));
    }

    async *#told<M extends "inbox.follow" | "subscribe">(
        method: M,
        params: Calls[M]["params"],
        signal: AbortSignal | undefined,
    ): AsyncGenerator<Update, void, void> {
        const heard: Update[] = [];
        let wake = () => {};
        const hears = (kind: string, said: unknown) => {
            heard.push({ kind, params: said } as Update);
            wake();
        };
        const within = this.#limits.connecting;
        let connection: Connection | undefined;
        const end = () => connection?.close();
        signal?.addEventListener("abort", end);
        try {
            connection = await connect(this.socket, { within, signal, hears });
            const begun = await connection.call(method, params, within);
            if (begun && typeof begun === "object" && "messages" in begun) {
                const waits = listOf(begun.messages, "the inbox");
                for (const waiting of waits) yield { kind: "inbox.message", params: waiting };
            }
            while (connection.isOpen || heard.length > 0) {
                const update = heard.shift();
                if (update) yield update;
                else await Promise.race([new Promise<void>((resolve) => (wake = resolve)), connection.ended]);
            }
        } catch (error) {
            if (!signal?.aborted) throw error;
        } finally {
            signal?.removeEventListener("abort", end);
            connection?.close();
        }
    }
}

function message(kind: Kind, peer: string, body: unknown, more: More): Keyed {
    return { ...more, peer, kind, body: body ?? null, key: more.key ?? `js-${randomUUID()}` };
}

function nameOf(message: Name): Name {
    return { from: message.from, "message-id": message["message-id"] };
}

function toStandardError(text: string, error?: unknown): void {
    console.error(error === undefined ? text : `${text}:`, error ?? "");
}
