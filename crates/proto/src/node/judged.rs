//! One input from the network, through the checks that need no state; under a flood of strangers,
//! what names no peer of ours is counted, and not judged.

use crate::carrier::CarrierId;
use crate::entry::RAW_KEPT;
use crate::envelope::{Unparsed, Unverified};
use crate::ids::Digest;
use crate::reject::Reason;
use crate::trust::TrustView;
use crate::verify::Proven;

/// One input from the network, parsed and verified as far as it goes.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What brought it.
    pub(super) carrier: CarrierId,
    pub(super) bytes: u64,
    pub(super) head: Vec<u8>,
    pub(super) input: Input,
}

/// How far an input could be read.
#[derive(Clone, Debug)]
pub(super) enum Input {
    Parsed(Proven),
    Unparsed(Unparsed),
    /// Not looked at: the hash of the bytes.
    Shed(Digest),
}

impl Judged {
    /// The whole way of bytes through the stateless checks V01 to V07. Workers call it in parallel.
    pub fn of(bytes: &[u8], view: &TrustView) -> Self {
        Self::of_parsed(bytes, Unverified::parse(bytes), view)
    }

    /// As [`Judged::of`], by the reader of every spelling alone: what it says does not depend on the reader.
    pub fn of_any(bytes: &[u8], view: &TrustView) -> Self {
        Self::of_parsed(bytes, Unverified::parse_any(bytes), view)
    }

    /// An input that came by a subject that is not this agent's inbox (check V05).
    pub fn misplaced(bytes: &[u8]) -> Self {
        Self::unread(Reason::WrongSubject, bytes.len() as u64, bytes)
    }

    /// An input that was cut off at the transport's size cap (check V01): its length, its first
    /// bytes, and the hash of what was seen.
    pub fn oversized(length: u64, head: &[u8]) -> Self {
        Self::unread(Reason::TooLarge, length, head)
    }

    /// As [`Judged::of`], for as long as the strangers' budget is spent: bytes that name no peer as
    /// their sender are hashed (SHA-256 of the bytes), and will be counted like every stranger's
    /// that is over the budget. What any peer sent is judged in full.
    pub fn of_peers(bytes: &[u8], view: &TrustView) -> Self {
        // Under a flood of strangers only messages of known peers are worth parsing. `may_be_a_peers` turns most other messages
        // away by a cheap look; if it lets one pass, the parser reads which sender the message names.
        let parsed = may_be_a_peers(bytes, view)
            .then(|| Unverified::parse_from(bytes, |sender| view.peer(sender).is_some()))
            .flatten();
        match parsed {
            Some(parsed) => Self::of_parsed(bytes, parsed, view),
            None => Self {
                carrier: CarrierId::NATS,
                bytes: bytes.len() as u64,
                head: Vec::new(),
                input: Input::Shed(Digest::of(&[bytes])),
            },
        }
    }

    /// The same input, brought by another carrier than NATS.
    #[must_use]
    pub fn by(self, carrier: CarrierId) -> Self {
        Self { carrier, ..self }
    }

    /// Whether the sender is unproven: it costs a line of the strangers' budget.
    pub fn is_strangers(&self) -> bool {
        !matches!(
            self.input,
            Input::Parsed(Proven::Verified(_) | Proven::Beyond(_))
        )
    }

    fn of_parsed(bytes: &[u8], parsed: Result<Unverified, Unparsed>, view: &TrustView) -> Self {
        let input = match parsed {
            Ok(unverified) => Input::Parsed(unverified.verify(view)),
            Err(unparsed) => Input::Unparsed(unparsed),
        };
        let kept = match &input {
            Input::Parsed(Proven::Verified(_) | Proven::Beyond(_)) => 0,
            // Keep no bytes of a message in clear whose tier demands sealing: its content must not be stored in clear.
            Input::Parsed(Proven::Unproven(unproven)) if unproven.message.bares_secrets() => 0,
            Input::Parsed(Proven::Unproven(_)) | Input::Unparsed(_) | Input::Shed(_) => {
                bytes.len().min(RAW_KEPT)
            }
        };
        let head = bytes.get(..kept).unwrap_or_default().to_vec();
        Self {
            carrier: CarrierId::NATS,
            bytes: bytes.len() as u64,
            head,
            input,
        }
    }

    fn unread(reason: Reason, length: u64, seen: &[u8]) -> Self {
        let unparsed = Unparsed {
            reason,
            hash: Digest::of(&[seen]),
            claimed: Default::default(),
        };
        let kept = seen.get(..seen.len().min(RAW_KEPT)).unwrap_or_default();
        Self {
            carrier: CarrierId::NATS,
            bytes: length,
            head: kept.to_vec(),
            input: Input::Unparsed(unparsed),
        }
    }
}

/// Whether the sender of these bytes can be bound, by a look that costs less than parsing them.
///
/// Names are written as they are unless they are escaped, and of the escapes only `\u` can write
/// what names are made of (RFC 8259 section 7). So without one, whoever is named as the sender
/// stands behind a literal `"agent-id"`, between the next two quotation marks, wherever in the
/// document that is.
fn may_be_a_peers(bytes: &[u8], view: &TrustView) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    if text.contains("\\u") {
        return true;
    }
    let mut parts = text.split('"');
    while let Some(part) = parts.next() {
        if part != SENDER {
            continue;
        }
        // Look ahead on a copy of the iterator: `part` may be a value and not a member's name, and then the member itself may
        // come next.
        let mut behind = parts.clone();
        let named = behind.next().and(behind.next());
        let named = named.and_then(|name| name.parse().ok());
        if named.is_some_and(|agent| view.peer(&agent).is_some()) {
            return true;
        }
    }
    false
}

/// The header that names a sender.
const SENDER: &str = "agent-id";
