//! One input from the network, behind the checks that need no state.

use crate::carrier::CarrierId;
use crate::entry::RAW_KEPT;
use crate::envelope::Unparsed;
use crate::ids::Digest;
use crate::reject::Reason;
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
    /// An input that came by a subject that is not this agent's inbox (check V05).
    pub fn misplaced(bytes: &[u8]) -> Self {
        Self::unread(Reason::WrongSubject, bytes.len() as u64, bytes)
    }

    /// An input that was cut off at the transport's size cap (check V01): its length, its first
    /// bytes, and the hash of what was seen.
    pub fn oversized(length: u64, head: &[u8]) -> Self {
        Self::unread(Reason::TooLarge, length, head)
    }

    /// Bytes that were not looked at.
    pub(super) fn shed(bytes: &[u8]) -> Self {
        Self {
            carrier: CarrierId::NATS,
            bytes: bytes.len() as u64,
            head: Vec::new(),
            input: Input::Shed(Digest::of(&[bytes])),
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

    /// Bytes that were read as far as they could be.
    pub(super) fn of_input(bytes: &[u8], input: Input) -> Self {
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
