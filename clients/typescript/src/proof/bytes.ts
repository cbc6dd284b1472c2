// Bytes, their spellings and their hash.

import { sha256 as hash } from "@noble/hashes/sha2.js";

const encoder = new TextEncoder();

/** The bytes of a text in UTF-8. */
export function utf8(text: string): Uint8Array {
    return encoder.encode(text);
}

/** SHA-256 of these parts, one behind the other. */
export function sha256(...parts: (Uint8Array | string)[]): Uint8Array {
    const all = hash.create();
    for (const part of parts) all.update(typeof part === "string" ? utf8(part) : part);
    return all.digest();
}

const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function hex(bytes: Uint8Array): string {
    let text = "";
    for (const byte of bytes) text += DIGITS[byte];
    return text;
}

/** RFC 4648, section 4, with padding. */
export function base64(bytes: Uint8Array): string {
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    return btoa(text);
}

/** RFC 4648, section 5, without padding. */
export function base64url(bytes: Uint8Array): string {
    return base64(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** The bytes of a text in base64 with padding, or null: the unused bits of its end are zero, so each byte string has one spelling. */
export function fromBase64(text: string): Uint8Array | null {
    if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
    if (text.endsWith("==") ? !/[AQgw]==$/.test(text.slice(-3)) : text.endsWith("=") && !/[AEIMQUYcgkosw048]=$/.test(text.slice(-2))) return null;
    const plain = atob(text);
    const bytes = new Uint8Array(plain.length);
    for (let at = 0; at < plain.length; at += 1) bytes[at] = plain.charCodeAt(at);
    return bytes;
}

/** The bytes of a text in base64url without padding, or null. */
export function fromBase64url(text: string): Uint8Array | null {
    if (/[^A-Za-z0-9_-]/.test(text)) return null;
    return fromBase64(text.replace(/-/g, "+").replace(/_/g, "/") + "=".repeat((4 - (text.length % 4)) % 4));
}

export function equal(one: Uint8Array, other: Uint8Array): boolean {
    return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
