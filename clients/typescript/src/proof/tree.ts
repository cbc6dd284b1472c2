// The tree over the lines of a month (RFC 6962, SHA-256), and the signed notes about it (docs/protocol.md, section 12, Checkpoints).

import { equal, fromBase64, sha256, utf8 } from "./bytes.js";
import type { Ed25519 } from "./ed25519.js";

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

/** The root of the tree over no lines. */
export const EMPTY = sha256();

export function leaf(line: string): Uint8Array {
    return sha256(LEAF, line);
}

function node(left: Uint8Array, right: Uint8Array): Uint8Array {
    return sha256(NODE, left, right);
}

/** The root over these leaves, as the tree grows: one pass, whatever sizes are asked for. */
export class Tree {
    /** Roots of full subtrees side by side, the largest first, each with its size. */
    private readonly peaks: { size: number; root: Uint8Array }[] = [];
    size = 0;

    add(line: string): void {
        let peak = { size: 1, root: leaf(line) };
        for (let last = this.peaks.at(-1); last?.size === peak.size; last = this.peaks.at(-1)) {
            this.peaks.pop();
            peak = { size: 2 * peak.size, root: node(last.root, peak.root) };
        }
        this.peaks.push(peak);
        this.size += 1;
    }

    root(): Uint8Array {
        const [last, ...rest] = [...this.peaks].reverse();
        return last === undefined ? EMPTY : rest.reduce((root, peak) => node(peak.root, root), last.root);
    }
}

/** The root to which an inclusion proof leads from this line (RFC 9162, 2.1.3.2), or null where it is too long or too short. */
export function climb(line: string, index: number, size: number, path: Uint8Array[]): Uint8Array | null {
    if (index >= size) return null;
    let [at, last, root] = [BigInt(index), BigInt(size - 1), leaf(line)];
    for (const sister of path) {
        if (last === 0n) return null;
        if (at & 1n || at === last) {
            root = node(sister, root);
            while (!(at & 1n) && at !== 0n) {
                at >>= 1n;
                last >>= 1n;
            }
        } else {
            root = node(root, sister);
        }
        at >>= 1n;
        last >>= 1n;
    }
    return last === 0n ? root : null;
}

/** What a signed note says: of which log and month, over how many lines, with which root. */
export interface Note {
    readonly origin: string;
    readonly size: number;
    readonly root: Uint8Array;
    /** What is signed: the first three lines. */
    readonly text: string;
    /** The signatures by the name of the log itself. */
    readonly signatures: Uint8Array[];
}

/** The note of this text, or null. */
export function noteOf(text: string): Note | null {
    const [head, signatures, ...more] = text.split("\n\n");
    if (head === undefined || signatures === undefined || more.length > 0 || !signatures.endsWith("\n")) return null;
    const lines = head.split("\n");
    const [origin, size, root] = lines;
    const bytes = fromBase64(root ?? "");
    if (origin === undefined || lines.length !== 3 || !/^(0|[1-9][0-9]{0,14})$/.test(size ?? "") || bytes?.length !== 32) return null;
    const found: Uint8Array[] = [];
    for (const line of signatures.slice(0, -1).split("\n")) {
        const parts = /^— (\S+) (\S+)$/.exec(line);
        const signature = parts === null ? null : fromBase64(parts[2] as string);
        // The hash of its key has four bytes, and something comes behind it.
        if (parts === null || signature === null || signature.length < 5) return null;
        if (parts[1] === origin) found.push(signature);
    }
    return { origin, size: Number(size), root: bytes, text: `${head}\n`, signatures: found };
}

/** Whether one of a note's signatures is that of this key, under the name that the note has. */
export async function noteHolds(curve: Ed25519, note: Note, key: Uint8Array): Promise<boolean> {
    const hash = sha256(note.origin, Uint8Array.of(0x0a, 0x01), key).subarray(0, 4);
    for (const signature of note.signatures) {
        if (signature.length !== 68 || !equal(signature.subarray(0, 4), hash)) continue;
        if (await curve.holds(key, utf8(note.text), signature.subarray(4))) return true;
    }
    return false;
}
