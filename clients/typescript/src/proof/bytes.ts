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

export function hex(bytes: Uint8Array): string {
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
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

/** The bytes of a text in base64 with padding, or null: each byte string has one spelling. */
export function fromBase64(text: string): Uint8Array | null {
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return null;
    let plain;
    try {
        plain = atob(text);
    } catch {
        return null;
    }
    const bytes = Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
    return base64(bytes) === text ? bytes : null;
}

/** The bytes of a text in base64url without padding, or null. */
export function fromBase64url(text: string): Uint8Array | null {
    if (!/^[A-Za-z0-9_-]*$/.test(text)) return null;
    const padded = text.replace(/-/g, "+").replace(/_/g, "/") + "=".repeat((4 - (text.length % 4)) % 4);
    return fromBase64(padded);
}

export function equal(one: Uint8Array, other: Uint8Array): boolean {
    return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
