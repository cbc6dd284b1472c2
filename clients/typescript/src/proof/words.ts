// The twelve words that spell a root key (docs/protocol.md, section 1, Words).

import { wordlist } from "@scure/bip39/wordlists/english.js";

import { sha256 } from "./bytes.js";
import { bytesOf } from "./forms.js";

/** The words of a public key in base64url. */
export function wordsOf(key: string): string {
    const hash = sha256("signet/1 fingerprint\n", bytesOf(key));
    const bits = Array.from(hash, (byte) => byte.toString(2).padStart(8, "0")).join("");
    return Array.from({ length: 12 }, (_, at) => wordlist[Number.parseInt(bits.slice(11 * at, 11 * at + 11), 2)]).join(" ");
}
