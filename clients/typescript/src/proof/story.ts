// What bundles tell, in the order in which it happened: who said what to whom, who approved it, and who else has signed for it.

import type { Entry, Proof } from "./bundle.js";
import { member } from "./forms.js";
import type { Json } from "./json.js";
import { hashText, isApplication, type Message } from "./message.js";

/** A message, as the logs have it. */
export interface Told {
    readonly entry: Entry;
    readonly message: Message;
    readonly from: string;
    /** For whom the sender acts, by its certificate. */
    readonly person: string;
    readonly to: string;
    /** When its sender signed it, by its own clock. */
    readonly at: string;
    readonly tier: number;
    /** Absent where it is sealed, or where there is none. */
    readonly summary: string | undefined;
    readonly body: Json | undefined;
    readonly sealed: boolean;
    /** The reason of an answer that refuses, and what it says. */
    readonly refusal: { reason: string; words: string } | null;
    /** Whether agents say it to each other; the rest is what the protocol needs. */
    readonly application: boolean;
    /** In which logs it stands. */
    readonly logs: readonly string[];
    /** When its recipient signed that it has it, by a receipt or an answer. */
    readonly received: string | null;
    /** Whether all that was looked at in it holds. */
    readonly holds: boolean;
}

/** What several bundles tell together. */
export interface Story {
    readonly told: readonly Told[];
    /** Whether each of the bundles holds. */
    readonly holds: boolean;
}

export function storyOf(proofs: readonly Proof[]): Story {
    const found = new Map<string, { entry: Entry; logs: string[] }>();
    for (const proof of proofs) {
        for (const entry of proof.entries) {
            const { message } = entry.line;
            if (message === null || !entry.counts) continue;
            const name = hashText(message);
            const known = found.get(name);
            if (known === undefined) found.set(name, { entry, logs: [proof.agent] });
            else if (!known.logs.includes(proof.agent)) known.logs.push(proof.agent);
        }
    }
    const entries = [...found.values()];
    const words = new Words(entries.map(({ entry }) => entry));
    const told = entries.map(({ entry, logs }) => tell(entry, logs, words.receivedAt(entry.line.message as Message)));
    told.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
    return { told, holds: proofs.length > 0 && proofs.every(({ faults }) => faults.length === 0) };
}

function tell(entry: Entry, logs: string[], received: string | null): Told {
    const message = entry.line.message as Message;
    const { headers, envelope } = message;
    const sealed = "sealed" in envelope;
    const reason = envelope["reason"] as string | undefined;
    return {
        entry, message, logs, received, sealed,
        from: headers["agent-id"] as string,
        person: headers["principal-id"] as string,
        to: headers["recipient-id"] as string,
        at: headers["timestamp"] as string,
        tier: (headers["data-tier"] ?? 1) as number,
        summary: sealed ? undefined : (envelope["summary"] as string | undefined),
        body: sealed ? undefined : envelope["body"],
        refusal: reason === undefined ? null : { reason, words: String(member(message.value["error"], "message") ?? "") },
        application: isApplication(message.method),
        holds: entry.place === null && entry.checks.every(({ fault }) => fault === null),
    };
}

interface Receipt {
    readonly at: string;
    readonly through: number;
    readonly hash: string | undefined;
    readonly except: ReadonlySet<number>;
}

/** What agents signed about what they have: receipts and answers. */
class Words {
    private readonly answers = new Map<string, string>();
    private readonly receipts = new Map<string, Receipt[]>();

    constructor(entries: readonly Entry[]) {
        for (const { line, signer } of entries) {
            const message = line.message as Message;
            if (signer === null) continue;
            if (message.type === "response") this.answer(message);
            if (message.method === "agent.receipt") this.receipt(message);
        }
        for (const receipts of this.receipts.values()) receipts.sort((one, other) => (one.at < other.at ? -1 : 1));
    }

    /** When the recipient signed that it has a message: the first receipt whose numbers reach it, or an answer to it. */
    receivedAt(message: Message): string | null {
        const { headers } = message;
        const [from, to] = [headers["agent-id"] as string, headers["recipient-id"] as string];
        const answer = this.answers.get(`${to} ${from} ${headers["message-id"]}`);
        const number = headers["sequence"];
        const receipts = this.receipts.get(`${to} ${from} ${headers["session"]}`) ?? [];
        const receipt = typeof number !== "number" ? undefined : receipts.find((one) => reaches(one, number, message));
        const times = [answer, receipt?.at].filter((time) => time !== undefined).sort();
        return times[0] ?? null;
    }

    private answer({ headers }: Message): void {
        const name = `${headers["agent-id"]} ${headers["recipient-id"]} ${headers["in-reply-to"]}`;
        const [before, at] = [this.answers.get(name), headers["timestamp"] as string];
        if (before === undefined || at < before) this.answers.set(name, at);
    }

    private receipt({ headers, envelope }: Message): void {
        const [through, hash, except] = ["through", "hash", "except"].map((name) => member(envelope["body"], name));
        if (typeof through !== "number") return;
        const numbers = (Array.isArray(except) ? except : []).map((one) => member(one, "sequence") as number);
        const name = `${headers["agent-id"]} ${headers["recipient-id"]} ${headers["session"]}`;
        const receipt = { at: headers["timestamp"] as string, through, hash: hash as string | undefined, except: new Set(numbers) };
        const known = this.receipts.get(name);
        if (known === undefined) this.receipts.set(name, [receipt]);
        else known.push(receipt);
    }
}

function reaches({ through, hash, except }: Receipt, number: number, message: Message): boolean {
    return number <= through && !except.has(number) && (number < through || hash === hashText(message));
}
