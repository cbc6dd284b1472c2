//! The one table of reasons: name, JSON-RPC code, numbered check of `docs/protocol.md`, and text.
//!
//! The wire, the log, the schemas and the documents all take theirs from here; a test compares them.

use std::fmt;
use std::str::FromStr;

macro_rules! reasons {
    ($( $variant:ident $name:literal $code:literal $check:literal $text:literal; )*) => {
        /// Why a message was refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $( #[doc = $text] $variant, )*
        }

        impl Reason {
            /// Every reason, in the order of the checks that give it.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];

            /// The stable name: on the wire in `error.data.reason`, in the log in `reason`.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )* }
            }

            /// The JSON-RPC error code: a standard one, or one of -32050 to -32099.
            pub const fn code(self) -> i64 {
                match self { $( Self::$variant => $code, )* }
            }

            /// The numbered check of `docs/protocol.md` that gives this reason.
            pub const fn check(self) -> &'static str {
                match self { $( Self::$variant => $check, )* }
            }

            /// One sentence for a person: what was wrong and what to do about it.
            pub const fn text(self) -> &'static str {
                match self { $( Self::$variant => $text, )* }
            }
        }
    };
}

reasons! {
    TooLarge "too-large" -32600 "V01" "The message is over 240 KiB; send less, or a reference to where the data is.";
    InvalidUtf8 "invalid-utf8" -32700 "V02" "The bytes are not UTF-8; encode the message as UTF-8.";
    ByteOrderMark "byte-order-mark" -32700 "V02" "The text starts with a byte order mark; send it without.";
    MalformedJson "malformed-json" -32700 "V02" "The text is not JSON (RFC 8259); nothing is repaired, send it again well-formed.";
    DuplicateName "duplicate-name" -32700 "V02" "An object names a member twice; name each member once.";
    LoneSurrogate "lone-surrogate" -32700 "V02" "A string escapes half a surrogate pair; escape both halves or neither.";
    NumberOutOfRange "number-out-of-range" -32700 "V02" "A number does not survive as an IEEE 754 double; send it as a string.";
    TooDeep "too-deep" -32700 "V02" "The JSON nests deeper than 64; flatten it.";
    TooManyValues "too-many-values" -32700 "V02" "The JSON has more than 10,000 values; send fewer.";
    BatchUnsupported "batch-unsupported" -32600 "V02" "Batches are not taken from the network; send one signed message at a time.";
    InvalidShape "invalid-shape" -32600 "V03" "The message does not fit schemas/message.schema.json; compare the two.";
    MethodNotFound "method-not-found" -32601 "V03" "The method is not one of signet/1; see the list of methods in docs/protocol.md.";
    HeaderMissing "header-missing" -32602 "V04" "A mandatory header is absent; send all of them.";
    HeaderUnknown "header-unknown" -32602 "V04" "A header is not one of signet/1; put what an application adds into body.";
    HeaderInvalid "header-invalid" -32602 "V04" "A header's value has the wrong form; see docs/protocol.md, Headers.";
    MessageTypeMismatch "message-type-mismatch" -32602 "V04" "message-type does not fit the method or the JSON-RPC form.";
    IdMismatch "id-mismatch" -32602 "V04" "The JSON-RPC id is not the message-id (call) or the in-reply-to (response).";
    WrongRecipient "wrong-recipient" -32050 "V05" "recipient-id names another agent; the message was redirected or misaddressed.";
    WrongSubject "wrong-subject" -32051 "V05" "The message came by a subject that is not this agent's inbox.";
    Reflected "reflected" -32052 "V05" "agent-id names the recipient itself; a message of ours came back.";
    AgentUnknown "agent-unknown" -32053 "V06" "No principal is known for this agent-id; `signet peer add` its certificate first.";
    PrincipalUnknown "principal-unknown" -32054 "V06" "The certificate's root key is not known; compare the words, then `signet peer add`.";
    AgentIdTaken "agent-id-taken" -32055 "V06" "This agent-id is known as another principal's; a person must resolve it.";
    RootChanged "root-changed" -32056 "V06" "A known principal appears with another root key; treat it as an attack until the person confirms.";
    CertificateInvalid "certificate-invalid" -32057 "V06" "The certificate's form or root signature does not hold.";
    CertificateExpired "certificate-expired" -32058 "V06" "The certificate was not valid at the message's timestamp; renew it.";
    SerialRolledBack "serial-rolled-back" -32059 "V06" "A certificate with a higher serial is already known; send the newest.";
    KeyUnknown "key-unknown" -32060 "V06" "key-id is not a certified key of this agent.";
    KeysInvalid "keys-invalid" -32061 "V06" "The key statement's form, signature or validity does not hold.";
    CertificateRevoked "certificate-revoked" -32092 "V06" "The certificate was revoked by its principal's root key; its person must issue a new one.";
    TrustWithdrawn "trust-withdrawn" -32093 "V06" "The recipient's person withdrew or refused trust in this agent; only they can approve it again.";
    PrincipalMismatch "principal-mismatch" -32062 "V06" "principal-id is not the certificate's.";
    LayersExceedCertificate "layers-exceed-certificate" -32063 "V06" "skill-layers-loaded claims more than the certificate allows.";
    SignatureInvalid "signature-invalid" -32064 "V07" "The Ed25519 signature does not verify strictly; the message was changed or is forged.";
    Duplicate "duplicate" -32065 "V08" "This very message was judged before; the first verdict stands.";
    TimestampInFuture "timestamp-in-future" -32066 "V09" "timestamp is over 60 s ahead of the recipient's clock; set the clocks right.";
    Expired "expired" -32067 "V09" "expires-at has passed; send a new message.";
    LifetimeTooLong "lifetime-too-long" -32068 "V09" "The message lives longer than 7 days (handshake: 5 minutes), or ends before it starts.";
    HandshakeRequired "handshake-required" -32069 "V10" "Nothing is taken outside a session; announce first.";
    SessionUnknown "session-unknown" -32070 "V10" "The recipient has no such session; it announces, and a new session follows.";
    SessionEnded "session-ended" -32071 "V10" "The session had ended at the message's timestamp; use its successor.";
    VersionMismatch "version-mismatch" -32072 "V10" "trust-layer-version is not the session's.";
    VersionInsufficient "version-insufficient" -32601 "V10" "The method belongs to a later version than this session's; both certificates have to list that version, which a renewal adds.";
    SequenceBelowWindow "sequence-below-window" -32073 "V10" "The sequence number lies below the replay window.";
    SequenceReuse "sequence-reuse" -32074 "V10" "The sequence number was seen with another message: a restored backup, or a second copy of the agent.";
    MessageIdReuse "message-id-reuse" -32075 "V10" "The message-id was seen with another message; ids are used once.";
    HandshakeUnexpected "handshake-unexpected" -32076 "V11" "This flight fits no handshake that is under way; announce again.";
    HandshakeCrossed "handshake-crossed" -32077 "V11" "Both sides announced; the lower agent-id goes on as initiator.";
    HandshakeBusy "handshake-busy" -32078 "V11" "Too many handshakes are half open; the sender tries again by itself.";
    AnnounceStale "announce-stale" -32079 "V11" "A later announce of this agent is already being answered.";
    TranscriptMismatch "transcript-mismatch" -32080 "V11" "The transcript hash is not that of the flights exchanged; a flight was changed or mixed up.";
    VersionUnsupported "version-unsupported" -32081 "V11" "No common trust-layer version; update the older side.";
    VersionDowngrade "version-downgrade" -32082 "V11" "The version chosen or offered is lower than what both sides can do or have done.";
    ResponseUnsolicited "response-unsolicited" -32083 "V12" "No open request of ours to this agent has that message-id.";
    TierLowered "tier-lowered" -32084 "V12" "A response must have at least its request's data-tier.";
    CapabilityNotGranted "capability-not-granted" -32085 "V12" "The capability was not granted in the handshake; ask the recipient's person.";
    TierNotGranted "tier-not-granted" -32086 "V12" "The data-tier is above what was granted in the handshake.";
    SealRequired "seal-required" -32087 "V12" "Tiers 3 and 4 travel sealed, never in clear.";
    HopsExceeded "hops-exceeded" -32088 "V12" "The conversation went through more than 8 hops; it is a loop.";
    LayersInsufficient "layers-insufficient" -32094 "V12" "The data-tier asks for skill layers that the sender has not loaded; see `signet policy show`.";
    BodyUnfit "body-unfit" -32602 "V12" "The body does not fit the JSON Schema of its capability or method; for a capability the message names the place in the schema.";
    BudgetExceeded "budget-exceeded" -32095 "V12" "More messages a minute than were granted; slow down, or ask the recipient's person for more.";
    Unsealable "unsealable" -32096 "V12" "The sealed box does not open with any key of the recipient; seal to the key of its newest key statement.";
    SealMismatch "seal-mismatch" -32097 "V12" "What is sealed inside was made for another message: it was forwarded or signed anew by somebody else.";
    StatementInvalid "statement-invalid" -32602 "V12" "The revocation, pause or resume is not signed by the key of the person it concerns.";
    StatementStale "statement-stale" -32602 "V12" "A pause or resume with this serial or a higher one was obeyed before; it is a replay.";
    MandateInvalid "mandate-invalid" -32098 "V12" "The handoff does not hold: its form, or a signature, holder, link, issuer or time in its chain of mandates is wrong.";
    AuthorityWidened "authority-widened" -32099 "V12" "A mandate allows more than the one before it; authority only ever narrows.";
    TaskUnknown "task-unknown" -32602 "V12" "The sender does not hold such a task of the recipient's, or it cannot go to that state.";
    OfferInvalid "offer-invalid" -32602 "V12" "The offer names a capability twice or one that the handshake settled, or is more than 64 capabilities or 160 KiB.";
    InboxFull "inbox-full" -32089 "V12" "The recipient's inbox waits for its agent; send again later.";
    PeerRefused "peer-refused" -32090 "V11" "The peer refused the handshake; its person decides.";
    Declined "declined" -32091 "V12" "The recipient's agent declined the request; its message says why.";
}

impl Reason {
    /// Whether a peer can give this reason in a failure or a receipt. Those of V01 to V08 and of the
    /// handshake go to nobody, but for three that V10 gives as well, and two of V06 that cost a number whose
    /// signature holds; a peer that names another of them says what only our own side could find.
    pub fn travels(self) -> bool {
        matches!(self.check(), "V09" | "V10" | "V12")
            || matches!(
                self,
                Self::HeaderMissing | Self::HeaderInvalid | Self::KeyUnknown
            )
            || matches!(
                self,
                Self::CertificateExpired | Self::LayersExceedCertificate
            )
    }
}

/// What a peer says of why it refused a message of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerReason<'a> {
    /// A reason of the table, that a peer can give, with its code.
    Known(Reason),
    /// A name that this table does not have: that of a later one, perhaps.
    Later(&'a str),
    /// A reason that no peer can give, or one with another code than the table's: nobody knows why.
    Misfit,
}

impl<'a> PeerReason<'a> {
    /// What a failure names.
    pub fn in_failure(name: &'a str, code: i64) -> Self {
        match Self::in_receipt(name) {
            Self::Known(reason) if reason.code() != code => Self::Misfit,
            heard => heard,
        }
    }

    /// What a receipt names, which gives no code.
    pub fn in_receipt(name: &'a str) -> Self {
        match name.parse::<Reason>() {
            Ok(reason) if reason.travels() => Self::Known(reason),
            // Leave out the names in `OWN`, which only our own daemon gives: people would take one from a peer for a report of
            // our own daemon.
            Err(_) if !OWN.contains(&name) => Self::Later(name),
            _ => Self::Misfit,
        }
    }

    /// The name to go by; [`DOES_NOT_FIT`] for what fits none.
    pub const fn as_str(self) -> &'a str {
        match self {
            Self::Known(reason) => reason.name(),
            Self::Later(name) => name,
            Self::Misfit => DOES_NOT_FIT,
        }
    }
}

/// Stands for a peer's reason that is none it can have.
pub const DOES_NOT_FIT: &str = "does-not-fit";
/// Why our own side ended a request that named none of several capabilities.
pub const CAPABILITY_NEEDED: &str = "capability-needed";
/// Why our own side ended a draft that its sender took back.
pub const DROPPED: &str = "dropped";
/// Why what waits for a peer ends that is trusted no more.
pub const PEER_REVOKED: &str = "peer-revoked";
/// What only one's own side says of its messages.
const OWN: [&str; 8] = [
    CAPABILITY_NEEDED,
    DOES_NOT_FIT,
    DROPPED,
    "missing",
    "not-approved",
    PEER_REVOKED,
    "restored-backup",
    "session-lost",
];

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text names no reason of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a reason of signet/1; see the table in docs/protocol.md")]
pub struct UnknownReason;

impl FromStr for Reason {
    type Err = UnknownReason;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|reason| reason.name() == text)
            .ok_or(UnknownReason)
    }
}
