// What may be said beside what has to be.

import type { Notifications, ProgressState, Send } from "./api.js";
import type { Where } from "./places.js";
import type { Log } from "./run.js";
import type { Limits } from "./service.js";

export interface Options extends Where, Partial<Omit<Limits, "connecting">> {
    /** Seconds that a call waits for a daemon that was there and has gone; 30. */
    patience?: number;
    /** Takes what goes wrong in handlers and connections; standard error when absent. */
    log?: Log;
}

export interface Handles {
    /** The JSON Schema of the body: the daemon refuses what does not fit. */
    schema?: object;
    /** One line for people. */
    description?: string;
    /** The highest data tier that it takes: 1 or 2. */
    tier?: number;
    /** Whether peers are told of it while the agent runs; true when absent. */
    offer?: boolean;
    /** Seconds that one try may take; 600. */
    timeout?: number;
}

/** What of a message may be said besides its peer and body. */
export type More = Partial<Omit<Send, "peer" | "kind" | "body" | "wait">>;

export interface Asking extends More {
    /** Seconds to wait for the answer; 60. */
    timeout?: number;
    /** Leaves the answer in the inbox. */
    keep?: boolean;
    /** Hears what the peer tells while it works. */
    onProgress?: (told: { state: ProgressState; note?: string; part?: { index: number; last: boolean; body: unknown } }) => void;
}

/** What moved. */
export type Update = { [K in keyof Notifications]: { kind: K; params: Notifications[K] } }[keyof Notifications];
