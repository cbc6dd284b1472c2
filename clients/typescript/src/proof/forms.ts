// The forms that values have on the wire (docs/protocol.md, section 1, Identifiers and encodings).

import { fromBase64url } from "./bytes.js";
import { isKey, isSealingKey } from "./ed25519.js";
import { isObject, type Json, type JsonObject } from "./json.js";

/** Says whether a value has a form. */
export type Form = (value: Json) => boolean;

const matching = (pattern: RegExp): Form => (value) => typeof value === "string" && pattern.test(value);
const bytes = (value: Json, count: number): Uint8Array | null => {
    const found = typeof value === "string" ? fromBase64url(value) : null;
    return found?.length === count ? found : null;
};

export const anything: Form = () => true;
export const text: Form = (value) => typeof value === "string";
export const bool: Form = (value) => typeof value === "boolean";
export const name = matching(/^[a-z0-9][a-z0-9-]{0,62}$/);
export const uuid = matching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
export const capability = matching(/^[a-z0-9][a-z0-9.-]{0,126}$/);
export const conversation = matching(/^[A-Za-z0-9._:-]{1,128}$/);
export const reason = matching(/^[a-z][a-z0-9-]{0,62}$/);
export const hashHex = matching(/^[0-9a-f]{64}$/);
export const version = matching(/^(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3})){2}$/);
export const hash: Form = (value) => bytes(value, 32) !== null;
export const signature: Form = (value) => bytes(value, 64) !== null;
export const keyId: Form = (value) => typeof value === "string" && value.startsWith("ed25519:") && hash(value.slice(8));
export const time: Form = (value) => timeOf(value) !== null;

/** An Ed25519 public key that is one. */
export const key: Form = (value) => {
    const found = bytes(value, 32);
    return found !== null && isKey(found);
};

/** An X25519 public key that is one. */
export const sealingKey: Form = (value) => {
    if (typeof value !== "string" || !value.startsWith("x25519:")) return false;
    const found = bytes(value.slice(7), 32);
    return found !== null && isSealingKey(found);
};

/** The spelling of an X25519 key. */
export const sealingKeySpelt: Form = (value) => typeof value === "string" && value.startsWith("x25519:") && hash(value.slice(7));

/** A box, and the spelling of the key that it is for: whoever opens it looks at the point. */
export const sealed: Form = (value) => object({ to: sealingKeySpelt, box: isBox })(value);

const isBox: Form = (value) => typeof value === "string" && (fromBase64url(value)?.length ?? 0) >= 48;

export const integer =
    (least: number, most: number): Form =>
    (value) =>
        Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
export const serial = integer(1, Number.MAX_SAFE_INTEGER);
export const sequence = serial;
export const tier = integer(1, 4);

/** A text of so many characters, which are code points. */
export const characters =
    (least: number, most: number): Form =>
    (value) => {
        if (typeof value !== "string" || value.length > 2 * most) return false;
        const count = [...value].length;
        return count >= least && count <= most;
    };

export const oneOf =
    (...values: Json[]): Form =>
    (value) =>
        values.includes(value);

export const or =
    (...forms: Form[]): Form =>
    (value) =>
        forms.some((form) => form(value));

export const list =
    (form: Form, least: number, most: number): Form =>
    (value) =>
        Array.isArray(value) && value.length >= least && value.length <= most && value.every(form);

/** An object of these members, of those that may be absent, and of no others. */
export const object =
    (members: Record<string, Form>, optional: Record<string, Form> = {}): Form =>
    (value) =>
        isObject(value) &&
        Object.keys(members).every((member) => member in value) &&
        Object.entries(value).every(([member, inside]) => (formOf(members, member) ?? formOf(optional, member) ?? never)(inside));

const never: Form = () => false;

function formOf(members: Record<string, Form>, member: string): Form | undefined {
    return Object.hasOwn(members, member) ? members[member] : undefined;
}

/** Skill layers: distinct. */
export const layers: Form = (value) => list(integer(0, 15), 0, 16)(value) && new Set(value as Json[]).size === (value as Json[]).length;

/** Versions, whether or not they ascend. */
export const versionList = list(version, 1, 16);

/** Versions in strictly ascending order. */
export const versions: Form = (value) =>
    versionList(value) && (value as string[]).every((one, at, all) => at === 0 || compareVersions(all[at - 1] as string, one) < 0);

export function compareVersions(one: string, other: string): number {
    const [left, right] = [one.split(".").map(Number), other.split(".").map(Number)];
    return left.map((number, at) => number - (right[at] as number)).find((difference) => difference !== 0) ?? 0;
}

/** Nanoseconds since 1970 of a time in its form, or null. */
export function timeOf(value: Json | undefined): bigint | null {
    const found = typeof value === "string" ? /^(\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d)(?:\.(\d{1,9}))?Z$/.exec(value) : null;
    if (found === null) return null;
    const whole = new Date(`${found[1]}.000Z`);
    // A day that does not exist becomes another one, or none.
    if (Number.isNaN(whole.getTime()) || whole.toISOString().slice(0, 19) !== found[1]) return null;
    const year = whole.getUTCFullYear();
    if (year < 1970 || year > 2261) return null;
    return BigInt(whole.getTime()) * 1_000_000n + BigInt((found[2] ?? "").padEnd(9, "0"));
}

/** The bytes of an Ed25519 key, or of another value of 32 bytes, that has its form. */
export function bytesOf(value: Json | undefined): Uint8Array {
    return fromBase64url(String(value)) ?? new Uint8Array();
}

/** A member of an object that may be none. */
export function member(value: Json | undefined, ...path: string[]): Json | undefined {
    let found = value;
    for (const step of path) found = isObject(found) ? (found as JsonObject)[step] : undefined;
    return found;
}
