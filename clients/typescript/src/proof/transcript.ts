// The transcript of a handshake (docs/protocol.md, section 5).

import { base64url, sha256 } from "./bytes.js";
import type { Message } from "./message.js";

/** H0 to H4 of the flights so far, as they are spelt in a flight; the fifth is the session's id. */
export function transcriptOf(flights: Message[]): string[] {
    let hash = sha256("signet/1 handshake");
    return [base64url(hash), ...flights.map((flight) => base64url((hash = sha256(hash, flight.hash))))];
}
