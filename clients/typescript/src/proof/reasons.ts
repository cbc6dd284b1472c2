// The reasons of docs/protocol.md, section 10. A test compares them.

/** The names for which a message is refused. */
export const REASONS: ReadonlySet<string> = new Set(
    `
    too-large invalid-utf8 byte-order-mark malformed-json duplicate-name lone-surrogate number-out-of-range too-deep
    too-many-values batch-unsupported invalid-shape method-not-found header-missing header-unknown header-invalid
    message-type-mismatch id-mismatch wrong-recipient wrong-subject reflected agent-unknown principal-unknown
    agent-id-taken root-changed certificate-invalid certificate-expired serial-rolled-back key-unknown keys-invalid
    certificate-revoked trust-withdrawn principal-mismatch layers-exceed-certificate signature-invalid duplicate
    timestamp-in-future expired lifetime-too-long handshake-required session-unknown session-ended version-mismatch
    version-insufficient sequence-below-window sequence-reuse message-id-reuse handshake-unexpected handshake-crossed
    handshake-busy announce-stale transcript-mismatch version-unsupported version-downgrade response-unsolicited
    tier-lowered capability-not-granted tier-not-granted seal-required hops-exceeded layers-insufficient body-unfit
    budget-exceeded unsealable seal-mismatch statement-invalid statement-stale mandate-invalid authority-widened
    task-unknown offer-invalid inbox-full peer-refused declined
`.trim().split(/\s+/),
);
