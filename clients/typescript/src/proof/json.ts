// Strict JSON and its canonical form (docs/protocol.md, section 2). Whoever reads a signed thing reads it so, or takes one
// text for another.

/** A JSON value as the strict parser gives it. Objects have no prototype: every name of a member is only a name. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [name: string]: Json };

/** Why bytes are not JSON that counts: a reason of V01 or V02. */
export class NotStrict extends Error {
    readonly reason: string;

    constructor(reason: string) {
        super(reason);
        this.reason = reason;
    }
}

/** How much a document may have. */
export interface Bounds {
    readonly bytes: number;
    readonly depth: number;
    readonly values: number;
}

/** The bounds of a message (section 13). */
export const MESSAGE: Bounds = { bytes: 245_760, depth: 64, values: 10_000 };
/** The bounds of a line of a log, which holds a message and something around it. */
export const LINE: Bounds = { bytes: 2 * 1024 * 1024, depth: 72, values: 100_000 };

const GREATEST = Number.MAX_SAFE_INTEGER;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const SPACE = /[ \t\n\r]*/y;
const ESCAPES: Record<string, string> = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const length = new TextEncoder();

/** The value of these bytes. Throws `NotStrict` with the first fault. */
export function parse(bytes: Uint8Array, bounds: Bounds = MESSAGE): Json {
    if (bytes.length > bounds.bytes) throw new NotStrict("too-large");
    let text;
    try {
        text = utf8.decode(bytes);
    } catch {
        throw new NotStrict("invalid-utf8");
    }
    if (text.startsWith("\ufeff")) throw new NotStrict("byte-order-mark");
    const value = new Reader(text, bounds).document();
    // A short number may be long in canonical form: 9e15 has 16 digits there.
    if (bounds === MESSAGE && length.encode(canonical(value)).length > bounds.bytes) throw new NotStrict("too-large");
    return value;
}

/** RFC 8785: names by UTF-16 code units, numbers as ECMAScript writes them, the shortest escapes, no white space. */
export function canonical(value: Json): string {
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    return written(Object.keys(value).sort().map((name) => [name, value[name] as Json]));
}

/** An object whose members stand in this order; what is inside of them is canonical. */
export function written(members: [string, Json][]): string {
    return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`).join(",")}}`;
}

/** Whether it is an object. */
export function isObject(value: Json | undefined): value is JsonObject {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object without the members of these names. */
export function without(value: JsonObject, ...names: string[]): JsonObject {
    const rest: JsonObject = Object.create(null);
    for (const name of Object.keys(value)) if (!names.includes(name)) rest[name] = value[name] as Json;
    return rest;
}

class Reader {
    private at = 0;
    private depth = 0;
    private values = 0;

    constructor(
        private readonly text: string,
        private readonly bounds: Bounds,
    ) {}

    document(): Json {
        this.take(SPACE);
        const value = this.value();
        this.take(SPACE);
        if (this.at !== this.text.length) throw new NotStrict("malformed-json");
        return value;
    }

    private value(): Json {
        this.values += 1;
        if (this.values > this.bounds.values) throw new NotStrict("too-many-values");
        switch (this.text[this.at]) {
            case "{":
                return this.nested(() => this.object());
            case "[":
                return this.nested(() => this.array());
            case '"':
                return this.string();
            case "t":
                return this.word("true", true);
            case "f":
                return this.word("false", false);
            case "n":
                return this.word("null", null);
            default:
                return this.number();
        }
    }

    private nested<T>(read: () => T): T {
        this.depth += 1;
        if (this.depth > this.bounds.depth) throw new NotStrict("too-deep");
        this.at += 1;
        const value = read();
        this.depth -= 1;
        return value;
    }

    private object(): JsonObject {
        const members: JsonObject = Object.create(null);
        this.take(SPACE);
        if (this.passes("}")) return members;
        for (;;) {
            if (this.text[this.at] !== '"') throw new NotStrict("malformed-json");
            const name = this.string();
            if (name in members) throw new NotStrict("duplicate-name");
            this.take(SPACE);
            this.must(":");
            this.take(SPACE);
            members[name] = this.value();
            this.take(SPACE);
            if (this.passes("}")) return members;
            this.must(",");
            this.take(SPACE);
        }
    }

    private array(): Json[] {
        const items: Json[] = [];
        this.take(SPACE);
        if (this.passes("]")) return items;
        for (;;) {
            items.push(this.value());
            this.take(SPACE);
            if (this.passes("]")) return items;
            this.must(",");
            this.take(SPACE);
        }
    }

    private string(): string {
        this.at += 1;
        let value = this.take(PLAIN);
        for (;;) {
            const next = this.text[this.at];
            if (next === '"') {
                this.at += 1;
                return value;
            }
            if (next !== "\\") throw new NotStrict("malformed-json");
            value += this.escape() + this.take(PLAIN);
        }
    }

    private escape(): string {
        const letter = this.text[this.at + 1] ?? "";
        this.at += 2;
        const short = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
        if (short !== undefined) return short;
        if (letter !== "u") throw new NotStrict("malformed-json");
        const unit = this.unit();
        if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
        if (unit > 0xdbff || this.text.slice(this.at, this.at + 2) !== "\\u") throw new NotStrict("lone-surrogate");
        this.at += 2;
        const low = this.unit();
        if (low < 0xdc00 || low > 0xdfff) throw new NotStrict("lone-surrogate");
        return String.fromCharCode(unit, low);
    }

    private unit(): number {
        const digits = this.text.slice(this.at, this.at + 4);
        if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new NotStrict("malformed-json");
        this.at += 4;
        return Number.parseInt(digits, 16);
    }

    private number(): number {
        NUMBER.lastIndex = this.at;
        const found = NUMBER.exec(this.text);
        if (found === null) throw new NotStrict("malformed-json");
        this.at = NUMBER.lastIndex;
        return numberOf(found[0], found[1] === undefined && found[2] === undefined);
    }

    private word<T>(word: string, value: T): T {
        if (!this.text.startsWith(word, this.at)) throw new NotStrict("malformed-json");
        this.at += word.length;
        return value;
    }

    private take(pattern: RegExp): string {
        pattern.lastIndex = this.at;
        const found = pattern.exec(this.text)?.[0] ?? "";
        this.at += found.length;
        return found;
    }

    private passes(letter: string): boolean {
        if (this.text[this.at] !== letter) return false;
        this.at += 1;
        return true;
    }

    private must(letter: string): void {
        if (!this.passes(letter)) throw new NotStrict("malformed-json");
    }
}

/** The number of a literal that survives as a double, and as its own canonical form. */
function numberOf(literal: string, whole: boolean): number {
    const value = Number(literal) + 0; // −0 is 0
    const size = Math.abs(value);
    if (whole && size > GREATEST) throw new NotStrict("number-out-of-range");
    if (!Number.isFinite(value) || (size > GREATEST && size < 1e21)) throw new NotStrict("number-out-of-range");
    if (!whole && decimal(literal) !== decimal(String(value))) throw new NotStrict("number-out-of-range");
    return value === 0 ? 0 : value;
}

/** The decimal number that a literal denotes, spelt in one way: its digits without zeros at the ends, and the power of ten. */
function decimal(literal: string): string {
    const [, sign, before, after, power] = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(literal) as unknown as string[];
    const all = `${before}${after ?? ""}`;
    const digits = all.replace(/^0+/, "").replace(/0+$/, "");
    if (digits === "") return "0";
    const zeros = all.length - all.replace(/0+$/, "").length;
    return `${sign}${digits}e${BigInt(power ?? "0") - BigInt(after?.length ?? 0) + BigInt(zeros)}`;
}
