// What the daemon answered has the form that its schema says, as far as this package relies on it.

import type { Leased, Message, Sent } from "./api.js";
import { isObject, Malformed } from "./errors.js";

/** An object. */
export function objectOf<T>(value: T, what: string): T {
    if (!isObject(value)) throw malformed(`${what} is no object`);
    return value;
}

/** The list in the member of that name, or the value itself; of objects alone. */
export function listOf<T>(value: T[] | undefined | null, what: string): T[] {
    if (!Array.isArray(value) || !value.every(isObject)) throw malformed(`${what} is no list of objects`);
    return value;
}

/** Where a message is. */
export function sentOf(value: Sent): Sent {
    const sent = textsOf(value, "where a message is", "message-id", "state");
    const { answer } = sent as { answer?: unknown };
    if (answer !== undefined && answer !== null) messageOf(answer as Message);
    return sent;
}

/** A message that came. */
export function messageOf<T extends Message>(value: T): T {
    const message = textsOf(value, "a message", "from", "message-id", "type");
    const { error } = message as { error?: unknown };
    if (error !== undefined && error !== null) objectOf(error, "the refusal of a message");
    return message;
}

/** A message under a lease. */
export function leasedOf(value: Leased): Leased {
    const leased = textsOf(messageOf(value), "a message under a lease", "lease", "key");
    if (typeof leased.tries !== "number") throw malformed("a message under a lease has no number of its try");
    return leased;
}

/** An object with texts of these names. */
export function textsOf<T>(value: T, what: string, ...names: string[]): T {
    const members = objectOf(value, what) as Record<string, unknown>;
    for (const name of names) {
        if (typeof members[name] !== "string") throw malformed(`${what} has no text ${name}`);
    }
    return value;
}

function malformed(what: string): Malformed {
    const next = "are the daemon and this package of one release? signet --version";
    return new Malformed(`what the daemon answered has not its form: ${what}`, next);
}
