// One request of ours, from its first call to its answer: sent once, whatever breaks meanwhile.

import { setTimeout as sleep } from "node:timers/promises";

import type { Message, Send, Sent } from "./api.js";
import { type Client, now, Pauses } from "./client.js";
import {
    AnswerTaken,
    Declined,
    HeldBack,
    RequestLost,
    RequestRefused,
    RequestTimedOut,
    type SignetError,
} from "./errors.js";
import type { Asking, Update } from "./options.js";
import type { Log } from "./run.js";
import { sentOf } from "./shape.js";

/** A request with the key under which it is asked again. */
export type Keyed = Send & { key: string };

/**
 * The answer. The call is repeated with its key until one is there: that is the same message each time. `keep` leaves
 * the answer in the inbox, for a caller that acknowledges it when it has used it.
 */
export async function ask(client: Client, params: Keyed, timeout: number, keep: boolean): Promise<Message> {
    const deadline = now() + 1_000 * timeout;
    const pauses = new Pauses(50, 2_000);
    // A wait that ends before the deadline is begun anew.
    const asked = () => ({ ...params, wait: Math.max(0, Math.min((deadline - now()) / 1_000, SLICE)) });
    for (;;) {
        const began = now();
        const sent = sentOf(await client.wait("send", asked, deadline));
        const answer = end(sent, params.key);
        if (answer) {
            if (!keep || answer.error) client.readLater({ from: answer.from, "message-id": answer["message-id"] });
            if (answer.error) throw refused(sent, params.key);
            return answer;
        }
        const left = deadline - now();
        if (left <= 0) {
            const name = sent["message-id"];
            throw new RequestTimedOut(
                `no answer to ${name} within ${timeout} s: it is ${sent.state}`,
                sent,
                params.key,
                `ask again with the error's key, or see where it is: signet status ${name}`,
            );
        }
        if (now() - began < 1_000) await pauses.pass(left);
    }
}

/** What the peer tells while it works, until `stop` aborts, and again where the connection broke. */
export async function hear(
    subscribed: () => AsyncIterable<Update>,
    stop: AbortSignal,
    onProgress: NonNullable<Asking["onProgress"]>,
    log: Log,
): Promise<void> {
    for (let pause = 100; !stop.aborted; pause = Math.min(2 * pause, 5_000)) {
        try {
            for await (const update of subscribed()) {
                if (update.kind === "message.progress") handOn(update.params.body as never, onProgress, log);
            }
        } catch (error) {
            log("progress is not heard", error);
        }
        await sleep(pause, undefined, { signal: stop }).catch(() => {});
    }
}

function handOn(progress: never, onProgress: NonNullable<Asking["onProgress"]>, log: Log): void {
    try {
        onProgress(progress);
    } catch (error) {
        // The answer is waited for all the same.
        log("onProgress failed", error);
    }
}

/** The answer, undefined while none is there; throws why there will be none. */
function end(sent: Sent, key: string): Message | undefined {
    if (sent.answer) return sent.answer;
    const name = sent["message-id"];
    switch (sent.state) {
        case "answered":
            throw new AnswerTaken(`${name} was answered, and the answer has left the inbox`, sent, key);
        case "refused":
            throw refused(sent, key);
        case "expired":
            throw new RequestLost(`the life of ${name} ended, and nothing was heard`, sent, key);
        case "unknown":
            throw new RequestLost(`the end of ${name} is unknown: ${sent.reason}`, sent, key);
    }
    const command = PEOPLE.get(sent["waits-for"] ?? "");
    if (command) {
        throw new HeldBack(`${name} waits for ${sent["waits-for"]}`, sent, key, `its person decides: ${command}`);
    }
    return undefined;
}

function refused(sent: Sent, key: string): SignetError {
    const name = sent["message-id"];
    if (sent.answer?.error?.reason === "declined") return new Declined(`${name} was declined`, sent, key);
    const answered = sent.answer?.error;
    const by = answered ? "peer" : sent.by;
    const whose = { peer: "the peer's side", self: "our own side" };
    const text = `${name} was refused by ${by ? whose[by] : "somebody"}: ${answered?.reason ?? sent.reason}`;
    if (!sent.offers) return new RequestRefused(text, sent, key);
    const offers = `the peer offers ${sent.offers.join(", ")}, and the request names none of them`;
    const next = 'name one with `capability`, or ask the people there with `"for-people": true`';
    return new RequestRefused(`${text}; ${offers}`, sent, key, next);
}

/** Seconds that one call waits: the daemon allows an hour. */
const SLICE = 300;
/** What only people end, and the command for it. */
const PEOPLE = new Map([
    ["approval", "signet drafts"],
    ["introduction", "signet trust pending"],
    ["resume", "signet resume"],
    ["clock", "signet status"],
    ["alarm", "signet status"],
]);
