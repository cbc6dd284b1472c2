// A bundle (docs/protocol.md, section 12, Bundles): lines of a log about one peer, each with the proof that it stands in that log.

import { equal, fromBase64 } from "./bytes.js";
import { Contents, type Judged } from "./contents.js";
import type { Ed25519 } from "./ed25519.js";
import * as form from "./forms.js";
import { isObject, type Json, type JsonObject, LINE, NotStrict, parse } from "./json.js";
import { type Line, lineOf } from "./line.js";
import { nanos } from "./statements.js";
import { climb, type Note, noteHolds, noteOf } from "./tree.js";
import { wordsOf } from "./words.js";

/** What is wrong with a bundle, and in which of its lines, from 1. */
export interface Fault {
    readonly line: number;
    readonly fault: string;
}

/** A line of the log in a bundle. */
export interface Entry extends Judged {
    /** Its number in the bundle, from 1. */
    readonly number: number;
    readonly line: Line;
    /** What is wrong with the proof that it stands in the log; null, too, where it is there for its certificates alone. */
    readonly place: string | null;
    /** How many lines the checkpoint above it covers, or null where it has none. */
    readonly under: number | null;
    /** Whether it is one of those that the bundle is about. */
    readonly counts: boolean;
}

/** What a bundle proves. */
export interface Proof {
    readonly agent: string;
    readonly peer: string;
    readonly from: string;
    readonly to: string;
    /** Lines about the peer that stand in the log. */
    readonly lines: number;
    /** How many more its maker says there are, newer than the checkpoint. */
    readonly leftOut: number;
    /** How many lines the checkpoint of each month covers. */
    readonly months: ReadonlyMap<string, number>;
    /** Of whom there are how many signed messages. */
    readonly signed: ReadonlyMap<string, number>;
    /** The words of the root keys under which they are signed. */
    readonly roots: ReadonlyMap<string, string>;
    readonly entries: readonly Entry[];
    readonly faults: readonly Fault[];
}

interface Month {
    readonly note: Note;
    /** Whether the key that the month's first line names signed the note. */
    holds: boolean;
}

interface Place {
    readonly month: string;
    /** Null where the line is there for its certificates. */
    readonly index: number | null;
    readonly path: Uint8Array[];
}

const AT_ONCE = 256;
const MONTH = /^[0-9]{4}-(0[1-9]|1[0-2])$/;

/** The bundle's first line, or null where these bytes are no bundle. */
export function headerOf(bytes: Uint8Array): JsonObject | null {
    const end = bytes.indexOf(0x0a);
    const first = objectOf(bytes.subarray(0, end === -1 ? bytes.length : end));
    return first?.["kind"] === "bundle" ? first : null;
}

/** Proves a bundle, from its bytes alone. */
export async function proveBundle(curve: Ed25519, bytes: Uint8Array): Promise<Proof> {
    const prover = new Prover(curve, headerOf(bytes) ?? Object.create(null));
    let [from, number] = [0, 0];
    for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, from)) {
        number += 1;
        if (number > 1) await prover.take(number, bytes.subarray(from, end));
        from = end + 1;
    }
    return await prover.finish(number, from < bytes.length);
}

class Prover {
    private readonly agent: string;
    private readonly peer: string;
    private readonly from: string;
    private readonly to: string;
    private readonly leftOut: number;
    private readonly faults: Fault[] = [];
    private readonly entries: (() => Promise<Entry>)[] = [];
    private readonly months = new Map<string, Month>();
    private readonly signed = new Map<string, number>();
    private readonly contents: Contents;
    private pending: Place | null = null;
    private last = 0;

    constructor(
        private readonly curve: Ed25519,
        header: JsonObject,
    ) {
        const text = (name: string, fits: form.Form) => (fits(header[name] ?? null) ? (header[name] as string) : "?");
        [this.agent, this.peer] = [text("agent", form.name), text("peer", form.name)];
        [this.from, this.to] = [text("from", form.time), text("to", form.time)];
        this.leftOut = form.integer(0, Number.MAX_SAFE_INTEGER)(header["left-out"] ?? null) ? (header["left-out"] as number) : 0;
        const named = header["v"] === 1 && this.agent !== "?" && this.peer !== "?";
        if (!named) this.fault(1, "the first line does not say of which version, agent and peer the bundle is");
        this.contents = new Contents(curve, { agent: this.agent, peer: this.peer });
    }

    async take(number: number, bytes: Uint8Array): Promise<void> {
        const place = this.pending;
        this.pending = null;
        if (place !== null) return this.line(number, bytes, place);
        const value = objectOf(bytes);
        switch (value?.["kind"]) {
            case "checkpoint":
                return this.checkpoint(number, value);
            case "proof":
            case "certificate":
                this.pending = placeOf(value);
                if (this.pending === null) this.fault(number, "the proof is malformed");
                return;
            default:
                this.fault(number, "neither a proof nor a checkpoint");
        }
    }

    private checkpoint(number: number, value: JsonObject): void {
        const month = String(value["month"]);
        const note = typeof value["note"] === "string" ? noteOf(value["note"]) : null;
        if (note === null || note.origin !== `signet/${this.agent}/${month}`) {
            this.fault(number, "the checkpoint is not one of this agent and month");
        } else if (this.months.has(month)) {
            this.fault(number, "a second checkpoint of one month");
        } else {
            this.months.set(month, { note, holds: false });
        }
    }

    private async line(number: number, bytes: Uint8Array, place: Place): Promise<void> {
        const text = textOf(bytes);
        const line = text === null ? "not a line of JSON: invalid-utf8" : await lineOf(this.curve, text);
        if (typeof line === "string") return this.fault(number, line);
        const wrong: string[] = [];
        if (line.ts.slice(0, 7) !== place.month) wrong.push("`ts` lies in another month than its proof says");
        if (line.seq <= this.last) wrong.push("the lines are not in the order of the log");
        else this.last = line.seq;
        const stands = place.index === null ? null : await this.stands(line, place, place.index);
        if (stands !== null) wrong.push(stands);
        for (const fault of wrong) this.fault(number, fault);
        if (stands !== null) return;
        if (line.kind === "genesis" && form.member(line.value["certificate"], "agent-id") !== this.agent) {
            this.fault(number, "the log is another agent's than the bundle says");
        }
        const judged = await this.contents.judge(line);
        const counts = place.index !== null && (line.kind === "message" || line.kind === "handoff") && this.isWithin(line);
        const under = place.index === null ? null : (this.months.get(place.month)?.note.size ?? null);
        this.entries.push(async () => ({ ...(await judged()), number, line, place: stands, under, counts }));
        // So many signatures are computed side by side.
        if (this.entries.length % AT_ONCE === 0) await judged();
    }

    /** Why the line is not proven to stand in the log, or null. A month's first line brings the key of its checkpoint. */
    private async stands(line: Line, { month, path }: Place, index: number): Promise<string | null> {
        const known = this.months.get(month);
        if (known === undefined) return "there is no checkpoint of its month before it";
        const root = climb(line.text, index, known.note.size, path);
        if (root === null || !equal(root, known.note.root)) {
            return "the proof does not lead to the checkpoint: the line was changed, or is not of this log";
        }
        if (known.holds) return null;
        if (index > 0) return "the month's first line, with the key of its checkpoint, is not before it";
        const names = line.kind === "genesis" || line.kind === "open";
        known.holds = names && (await noteHolds(this.curve, known.note, form.bytesOf(line.value["checkpoint-key"])));
        return known.holds ? null : "the checkpoint is not signed by the key that the month's first line names";
    }

    private isWithin(line: Line): boolean {
        if (this.from === "?" || this.to === "?") return false;
        return nanos(this.from) <= nanos(line.ts) && nanos(line.ts) < nanos(this.to);
    }

    private fault(line: number, fault: string): void {
        this.faults.push({ line, fault });
    }

    async finish(number: number, torn: boolean): Promise<Proof> {
        if (torn) this.fault(number, "the bundle ends within a line: part of it is missing");
        if (this.pending !== null) this.fault(number, "a proof stands at the end without its line");
        const entries: Entry[] = [];
        for (const entry of this.entries) entries.push(await entry());
        for (const { number, checks, signer, counts } of entries) {
            for (const { fault } of checks) if (fault !== null) this.fault(number, fault);
            if (counts && signer !== null) this.signed.set(signer.agent, (this.signed.get(signer.agent) ?? 0) + 1);
        }
        this.faults.sort((one, other) => one.line - other.line);
        const lines = entries.filter(({ counts }) => counts).length;
        if (lines === 0 && this.faults.length === 0) this.fault(number, "no line in it is proven to stand in a log");
        const roots = new Map<string, string>();
        for (const agent of [this.agent, this.peer]) {
            const root = this.contents.rootOf(agent);
            if (root !== undefined) roots.set(agent, wordsOf(root));
        }
        const months = new Map([...this.months].filter(([, { holds }]) => holds).map(([month, { note }]) => [month, note.size]));
        const { agent, peer, from, to, leftOut, signed, faults } = this;
        return { agent, peer, from, to, lines, leftOut, months, signed, roots, entries, faults };
    }
}

function placeOf(value: JsonObject): Place | null {
    const month = value["month"];
    if (typeof month !== "string" || !MONTH.test(month)) return null;
    if (value["kind"] === "certificate" && !("path" in value)) return { month, index: null, path: [] };
    const { index, path } = value;
    if (!form.integer(0, Number.MAX_SAFE_INTEGER)(index ?? null) || !Array.isArray(path)) return null;
    const hashes = path.map((hash: Json) => (typeof hash === "string" ? fromBase64(hash) : null));
    if (hashes.some((hash) => hash?.length !== 32)) return null;
    return { month, index: index as number, path: hashes as Uint8Array[] };
}

function objectOf(bytes: Uint8Array): JsonObject | null {
    try {
        const value = parse(bytes, LINE);
        return isObject(value) ? value : null;
    } catch (fault) {
        if (fault instanceof NotStrict) return null;
        throw fault;
    }
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string | null {
    try {
        return strict.decode(bytes);
    } catch {
        return null;
    }
}
