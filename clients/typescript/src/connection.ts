// One connection to the agent's socket: JSON-RPC 2.0, one object a line.

import { createConnection, type Socket } from "node:net";

import type { Calls } from "./api.js";
import { CannotBeSaid, ConnectionLost, DaemonSilent, NotReachable, errorOf, isObject } from "./errors.js";

/** A call by its name, and for how many seconds its answer is waited for. */
export type Timed = <M extends keyof Calls>(
    method: M,
    params: Calls[M]["params"],
    within: number,
) => Promise<Calls[M]["result"]>;

/** A call by its name. */
export type Call = <M extends keyof Calls>(method: M, params: Calls[M]["params"]) => Promise<Calls[M]["result"]>;

/** Takes the method and the parameters of what the daemon tells without being asked again. */
export type Hears = (method: string, params: unknown) => void;

interface Waiting {
    resolve(result: unknown): void;
    reject(error: Error): void;
}

/** How long connecting may take in seconds, what ends it before, and who hears what the daemon tells unasked. */
export interface Connecting {
    within: number;
    signal?: AbortSignal | undefined;
    hears?: Hears | undefined;
}

/** Connects to the daemon at `path` in time: one that is stopped takes no connection, once so many wait for it as the system lets. */
export async function connect(path: string, { within, signal, hears }: Connecting): Promise<Connection> {
    const socket = createConnection(path);
    let timer: NodeJS.Timeout | undefined;
    let leave = () => {};
    try {
        await new Promise<void>((resolve, reject) => {
            leave = () => reject(new ConnectionLost(`connecting to the daemon at ${path} was given up`));
            timer = setTimeout(() => reject(silent(path, within)), 1_000 * within);
            signal?.addEventListener("abort", leave, { once: true });
            if (signal?.aborted) leave();
            socket.once("error", (error) => reject(unreachable(path, error)));
            socket.once("connect", resolve);
        });
    } catch (error) {
        socket.destroy();
        throw error;
    } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", leave);
    }
    return new Connection(path, socket, hears);
}

/** Calls may be under way side by side. The daemon reads 16 of them at most before it has answered one. */
export class Connection {
    /** Resolves when the connection has ended. */
    readonly ended: Promise<void>;
    readonly #path: string;
    readonly #socket: Socket;
    readonly #hears: Hears | undefined;
    readonly #waiting = new Map<number, Waiting>();
    #lastId = 0;
    #pieces: Buffer[] = [];
    #held = 0;
    #over: Error | undefined;
    #end: () => void = () => {};

    constructor(path: string, socket: Socket, hears: Hears | undefined) {
        this.#path = path;
        this.#socket = socket;
        this.#hears = hears;
        this.ended = new Promise((resolve) => {
            this.#end = resolve;
        });
        socket.on("data", (data) => this.#take(data));
        // "close" follows, and says the same.
        socket.on("error", () => {});
        socket.on("close", () => this.#stop(this.#lost()));
        this.#rest();
    }

    get isOpen(): boolean {
        return this.#over === undefined;
    }

    /** The result of one call. A daemon that says nothing of it for `within` seconds is given up, and the connection. */
    call: Timed = async (method, params, within) => {
        if (this.#over) throw this.#over;
        const id = ++this.#lastId;
        const line = lineOf(method, { jsonrpc: "2.0", id, method, params });
        const timer = setTimeout(() => this.#stop(silent(this.#path, within)), 1_000 * within);
        try {
            return (await new Promise<unknown>((resolve, reject) => {
                this.#waiting.set(id, { resolve, reject });
                this.#socket.ref();
                this.#socket.write(line);
            })) as never;
        } finally {
            clearTimeout(timer);
            this.#waiting.delete(id);
            this.#rest();
        }
    };

    /** A connection on which nothing is awaited keeps no process from its end; one that is told things does. */
    #rest(): void {
        if (this.#waiting.size === 0 && !this.#hears) this.#socket.unref();
    }

    close(): void {
        this.#socket.destroy();
    }

    #take(data: Buffer): void {
        let from = 0;
        for (let at = data.indexOf(LINE_FEED); at >= 0; at = data.indexOf(LINE_FEED, from)) {
            this.#pieces.push(data.subarray(from, at));
            const line = Buffer.concat(this.#pieces);
            this.#pieces = [];
            this.#held = 0;
            from = at + 1;
            this.#read(line);
        }
        this.#pieces.push(data.subarray(from));
        this.#held += data.length - from;
        if (this.#held > ANSWER_MAX) this.#stop(this.#foreign());
    }

    #read(line: Buffer): void {
        let said: unknown;
        try {
            said = JSON.parse(line.toString("utf8"));
        } catch {
            return this.#stop(this.#foreign());
        }
        if (!isObject(said)) return this.#stop(this.#foreign());
        if (typeof said["method"] === "string") return this.#hears?.(said["method"], said["params"]);
        // The daemon ends the connection and says why.
        if (said["id"] === null || said["id"] === undefined) return this.#stop(errorOf(said["error"]));
        const id = said["id"] as number;
        // A call that was given up is answered late.
        const waiting = this.#waiting.get(id);
        this.#waiting.delete(id);
        if ("error" in said) waiting?.reject(errorOf(said["error"]));
        else waiting?.resolve(said["result"]);
    }

    #stop(why: Error): void {
        this.#over ??= why;
        for (const waiting of this.#waiting.values()) waiting.reject(this.#over);
        this.#waiting.clear();
        this.#socket.destroy();
        this.#end();
    }

    #lost(): Error {
        return (
            this.#over ??
            new ConnectionLost(`the connection to the daemon at ${this.#path} broke`, "see whether it runs: signet status")
        );
    }

    #foreign(): Error {
        return new NotReachable(`what answers at ${this.#path} does not speak JSON-RPC`);
    }
}

/** What is said of a daemon that says nothing. */
export function silent(path: string, seconds: number): DaemonSilent {
    const next = "see whether it hangs: signet doctor; what it was told may be done all the same";
    return new DaemonSilent(`the daemon at ${path} said nothing within ${Math.round(seconds)} s`, next);
}

function lineOf(method: string, call: object): string {
    let line: string;
    try {
        line = JSON.stringify(call, refuseLoss);
    } catch (error) {
        if (error instanceof CannotBeSaid) throw error;
        throw new CannotBeSaid(`${method}: what is to be said is not JSON: ${(error as Error).message}`);
    }
    if (Buffer.byteLength(line) >= LINE_MAX) {
        throw new CannotBeSaid(`${method}: what is to be said is over 1023 KiB; say less, or in parts`);
    }
    return `${line}\n`;
}

/** JSON.stringify leaves functions out and makes null of NaN: nobody would see what was lost. */
function refuseLoss(name: string, value: unknown): unknown {
    const isLost =
        typeof value === "function" ||
        typeof value === "symbol" ||
        typeof value === "bigint" ||
        (typeof value === "number" && !Number.isFinite(value)) ||
        (typeof value === "string" && !isWellFormed(value)) ||
        value instanceof Map ||
        value instanceof Set;
    if (isLost) throw new CannotBeSaid(`what is to be said is not JSON: the member ${JSON.stringify(name)}`);
    return value;
}

/** Whether a text has no half of a surrogate pair alone: it could not be written as UTF-8. */
function isWellFormed(text: string): boolean {
    return !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text);
}

function unreachable(path: string, error: NodeJS.ErrnoException): NotReachable {
    const next =
        error.code === "EACCES"
            ? "let this user into the group of the socket: `group` in [agent-socket] of config.toml"
            : "start the daemon (signet run, or signet up), or name its socket: SIGNET_HOME, SIGNET_AGENT_SOCKET, or " +
              "new Agent({ home })";
    return new NotReachable(`no daemon answers at ${path}: ${error.code ?? error.message}`, next);
}

const LINE_FEED = 0x0a;
/** The daemon takes lines of a megabyte. */
const LINE_MAX = 1 << 20;
/** Seconds for what a daemon does at once: a slow disk is slow. */
export const PROMPT = 30;
/** An inbox full of the largest messages fits. */
const ANSWER_MAX = 64 << 20;
