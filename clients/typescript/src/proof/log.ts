// A month of a log with its checkpoints (docs/protocol.md, section 12): the chain, the messages and decisions in it, the notes.

import { equal, hex, sha256 } from "./bytes.js";
import { Contents } from "./contents.js";
import type { Ed25519 } from "./ed25519.js";
import * as form from "./forms.js";
import { type Line, lineOf } from "./line.js";
import { Tree, noteHolds, noteOf } from "./tree.js";

/** What is wrong with a month: in which of its lines, and what kind of thing does not hold. */
export interface LogFault {
    readonly line: number;
    readonly of: "chain" | "message" | "checkpoint";
    readonly fault: string;
}

/** A month of a log. */
export interface Month {
    readonly agent: string;
    /** YYYY-MM. */
    readonly month: string;
    /** The whole file. Bytes behind its last line feed are no line. */
    readonly lines: string;
    /** The file of checkpoints beside it. */
    readonly checkpoints: string;
}

/** The faults of a month, in the order of its lines. What other months, or other logs, know is not looked at. */
export async function proveLog(curve: Ed25519, { agent, month, lines, checkpoints }: Month): Promise<LogFault[]> {
    const texts = lines.split("\n").slice(0, -1);
    const notes = checkpoints.split("\n\n").length > 1 ? notesOf(checkpoints) : [];
    const faults: LogFault[] = [];
    const contents = new Contents(curve, { agent, peer: null });
    const tree = new Tree();
    let [before, key, covered]: [Line | null, Uint8Array, number] = [null, new Uint8Array(), 0];
    for (const [at, text] of texts.entries()) {
        const add = (of: LogFault["of"], fault: string) => void faults.push({ line: at + 1, of, fault });
        const line = await lineOf(curve, text);
        tree.add(text);
        if (typeof line === "string") {
            add("chain", line);
            before = null;
            continue;
        }
        if (at === 0) key = form.bytesOf(line.value["checkpoint-key"]);
        const link = at === 0 ? firstFault(line) : linkFault(line, before, texts[at - 1] as string);
        if (link !== null) add("chain", link);
        for (const { fault } of (await (await contents.judge(line))()).checks) if (fault !== null) add("message", fault);
        before = line;
        for (const [number, text] of notes.entries()) {
            const note = noteOf(text);
            if (note?.size !== tree.size) continue;
            covered = Math.max(covered, note.size);
            const size = `checkpoint ${number + 1}, over ${note.size} ${note.size === 1 ? "line" : "lines"},`;
            if (note.origin !== `signet/${agent}/${month}`) add("checkpoint", `${size} is of another log or month`);
            else if (!(await noteHolds(curve, note, key))) add("checkpoint", `${size} is not signed by the key that the first line names`);
            else if (!equal(note.root, tree.root())) {
                add("checkpoint", `${size} is of other lines: the file was written anew, or there are two versions of it`);
            }
        }
    }
    const longest = Math.max(0, ...notes.map((text) => noteOf(text)?.size ?? 0));
    if (longest > texts.length) {
        const has = `the file has ${texts.length}: lines were cut off at its end`;
        faults.push({ line: texts.length, of: "checkpoint", fault: `a checkpoint covers ${longest} lines, and ${has}` });
    }
    return faults;
}

/** The notes of a file: neither the text nor the signatures of one can hold an empty line, so every second one parts them. */
function notesOf(file: string): string[] {
    const parts = file.split("\n\n");
    const notes: string[] = [];
    for (let at = 0; at + 1 < parts.length; at += 2) notes.push(`${parts[at]}\n\n${parts[at + 1]}\n`);
    return notes;
}

function firstFault(line: Line): string | null {
    if (line.kind === "genesis") return line.seq === 1 && /^0{64}$/.test(line.prev) ? null : "`seq` and `prev` are not those of a first line";
    return line.kind === "open" ? null : "the first line of a file is neither `genesis` nor `open`";
}

const MOVED = "it, or the line before, was changed, removed, moved or put in";

function linkFault(line: Line, before: Line | null, text: string): string | null {
    if (line.kind === "genesis" || line.kind === "open") return "`genesis` and `open` stand only at the start of a file";
    if (before !== null && line.seq !== before.seq + 1) return `\`seq\` is not one more than the line before has: ${MOVED}`;
    if (line.prev !== hex(sha256(text))) return `\`prev\` is not the SHA-256 of the line before: ${MOVED}`;
    return before !== null && line.ts < before.ts ? "`ts` is before that of the line before" : null;
}
