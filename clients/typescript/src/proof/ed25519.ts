// Ed25519 by the strict rule of docs/protocol.md, section 3, and which X25519 keys are keys (section 4). Browsers leave the
// checks of points to whoever calls them, and differ: here they come first, so that all that computes gives one verdict.

import { ed25519 } from "@noble/curves/ed25519.js";
import { sha512 } from "@noble/hashes/sha2.js";

import { equal, hex } from "./bytes.js";

const { Point } = ed25519;
const FIELD = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
/** The y of a point of order 8. */
const EIGHTH = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;
/** The y of the points whose order divides 8: those that add nothing to an equation multiplied by 8. */
const SMALL = new Set([0n, 1n, FIELD - 1n, EIGHTH, FIELD - EIGHTH]);

/** Who computes signatures: the browser's or Node's own code, or the code in this package. */
export type Engine = "webcrypto" | "noble";

type Imported = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Verifies signatures, and keeps the keys that it has met. */
export class Ed25519 {
    private readonly keys = new Map<string, Promise<Imported>>();

    private constructor(readonly engine: Engine) {}

    /** By WebCrypto where it has Ed25519, else by the code in this package; or by the one that is wanted. */
    static async open(wanted?: Engine): Promise<Ed25519> {
        return new Ed25519(wanted ?? ((await hasWebCrypto()) ? "webcrypto" : "noble"));
    }

    /** Whether this key signed these bytes. */
    async holds(key: Uint8Array, bytes: Uint8Array, signature: Uint8Array): Promise<boolean> {
        if (signature.length !== 64 || !isKey(key) || !isSound(signature.subarray(0, 32))) return false;
        if (littleEndian(signature.subarray(32)) >= ORDER) return false;
        if (this.engine === "noble") return computed(key, bytes, signature);
        const name = hex(key);
        let imported = this.keys.get(name);
        if (imported === undefined) {
            imported = crypto.subtle.importKey("raw", owned(key), "Ed25519", false, ["verify"]);
            this.keys.set(name, imported);
        }
        return crypto.subtle.verify("Ed25519", await imported, owned(signature), owned(bytes));
    }
}

const known = new Map<string, boolean>();

/** Whether 32 bytes are a public key: a point in its one spelling, and not of small order. */
export function isKey(bytes: Uint8Array): boolean {
    return remembered(`e${hex(bytes)}`, () => isSound(bytes) && Point.fromBytes(bytes, false) !== undefined);
}

/** Whether 32 bytes are an X25519 key: canonical, and the u of a point of prime order. */
export function isSealingKey(bytes: Uint8Array): boolean {
    return remembered(`x${hex(bytes)}`, () => {
        const u = littleEndian(bytes);
        if (bytes.length !== 32 || u >= FIELD) return false;
        const y = u === FIELD - 1n ? 0n : modulo((u - 1n) * inverse(u + 1n));
        const point = Point.fromBytes(bytesOf(y), false);
        return !point.isSmallOrder() && point.isTorsionFree();
    });
}

function remembered(name: string, judge: () => boolean): boolean {
    const before = known.get(name);
    if (before !== undefined) return before;
    let verdict = false;
    try {
        verdict = judge();
    } catch {
        // No point of the curve has these bytes.
    }
    if (known.size > 10_000) known.clear();
    known.set(name, verdict);
    return verdict;
}

/** Whether they spell a y below the field that is not one of small order. */
function isSound(bytes: Uint8Array): boolean {
    const y = littleEndian(bytes) & (2n ** 255n - 1n);
    return bytes.length === 32 && y < FIELD && !SMALL.has(y);
}

/** The equation without the cofactor, as RFC 8032 has it in 5.1.7 for strict verifiers: R = S·B − k·A, by its bytes. */
function computed(key: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
    const r = signature.subarray(0, 32);
    const k = littleEndian(sha512(concatenated(r, key, bytes))) % ORDER;
    const right = Point.fromBytes(key, false).negate().multiplyUnsafe(k);
    const point = Point.BASE.multiplyUnsafe(littleEndian(signature.subarray(32))).add(right);
    return equal(point.toBytes(), r);
}

// The key and the signature of RFC 8032, 7.1, TEST 1; its text is empty.
const TEST_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const TEST_SIGNATURE =
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";

async function hasWebCrypto(): Promise<boolean> {
    try {
        const key = await crypto.subtle.importKey("raw", owned(fromHex(TEST_KEY)), "Ed25519", false, ["verify"]);
        return await crypto.subtle.verify("Ed25519", key, owned(fromHex(TEST_SIGNATURE)), new Uint8Array());
    } catch {
        return false;
    }
}

function fromHex(text: string): Uint8Array {
    return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function littleEndian(bytes: Uint8Array): bigint {
    return BigInt(`0x0${hex(Uint8Array.from(bytes).reverse())}`);
}

function bytesOf(value: bigint): Uint8Array {
    return fromHex(value.toString(16).padStart(64, "0")).reverse();
}

function modulo(value: bigint): bigint {
    return ((value % FIELD) + FIELD) % FIELD;
}

/** By Fermat: value^(p − 2). */
function inverse(value: bigint): bigint {
    let [result, base, power] = [1n, modulo(value), FIELD - 2n];
    for (; power > 0n; power >>= 1n) {
        if (power & 1n) result = modulo(result * base);
        base = modulo(base * base);
    }
    return result;
}

function concatenated(...parts: Uint8Array[]): Uint8Array {
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
        all.set(part, at);
        at += part.length;
    }
    return all;
}

/** A copy in memory of its own, which WebCrypto's types ask for. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    return new Uint8Array(bytes);
}
