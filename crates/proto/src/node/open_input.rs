//! The way of an input from the network through the checks that need no state, for many inputs at once; under a flood of strangers,
//! what names no peer of ours is counted, and not judged.
//!
//! ```text
//! bytes ─ of, of_peers ─▶ OpenInput ─┐
//!                         OpenInput ─┼─ settle ─▶ Judged, Judged, …      one inversion for all their signatures
//!                         OpenInput ─┘
//! ```

use super::judged::{Input, Judged};
use crate::envelope::{Unparsed, Unverified};
use crate::keys::OpenCheck;
use crate::trust::TrustView;
use crate::verify::{BegunProof, Proven};

/// An input on its way through the checks V01 to V07. Where its signature is verified by a table, the last step is open, which
/// many inputs take at the cost of one.
#[derive(Debug)]
pub struct OpenInput<'a> {
    bytes: &'a [u8],
    step: InputStep,
}

#[derive(Debug)]
enum InputStep {
    /// The bytes are a message.
    Begun(BegunProof),
    Done(Box<Judged>),
}

impl<'a> OpenInput<'a> {
    /// Begins the whole way of bytes through the stateless checks. Workers call it in parallel.
    pub fn of(bytes: &'a [u8], view: &TrustView) -> Self {
        Self::of_parsed(bytes, Unverified::parse(bytes), view)
    }

    /// As [`OpenInput::of`], by the reader of every spelling alone.
    pub(super) fn of_any(bytes: &'a [u8], view: &TrustView) -> Self {
        Self::of_parsed(bytes, Unverified::parse_any(bytes), view)
    }

    /// As [`OpenInput::of`], for as long as the strangers' budget is spent: bytes that name no peer as
    /// their sender are hashed (SHA-256 of the bytes), and will be counted like every stranger's
    /// that is over the budget. What any peer sent is judged in full.
    pub fn of_peers(bytes: &'a [u8], view: &TrustView) -> Self {
        // Under a flood of strangers only messages of known peers are worth parsing. `may_be_a_peers` turns most other messages
        // away by a cheap look; if it lets one pass, the parser reads which sender the message names.
        let parsed = may_be_a_peers(bytes, view)
            .then(|| Unverified::parse_from(bytes, |sender| view.peer(sender).is_some()))
            .flatten();
        match parsed {
            Some(parsed) => Self::of_parsed(bytes, parsed, view),
            None => Self::done(bytes, Judged::shed(bytes)),
        }
    }

    /// An input that came by a subject that is not this agent's inbox (check V05).
    pub fn misplaced(bytes: &'a [u8]) -> Self {
        Self::done(bytes, Judged::misplaced(bytes))
    }

    /// An input that was cut off at the transport's size cap (check V01), as [`Judged::oversized`] takes it.
    pub fn oversized(length: u64, head: &'a [u8]) -> Self {
        Self::done(head, Judged::oversized(length, head))
    }

    /// Whether the sender is unproven already, before the last step of a signature.
    pub fn is_strangers(&self) -> bool {
        match &self.step {
            InputStep::Begun(begun) => matches!(begun, BegunProof::Done(Proven::Unproven(_))),
            InputStep::Done(judged) => judged.is_strangers(),
        }
    }

    /// Judges all of them to the end, and keeps their order. `view` is the one by which they were begun.
    pub fn settle(all: Vec<Self>, view: &TrustView) -> Vec<Judged> {
        let open: Vec<&OpenCheck> = all.iter().filter_map(Self::check).collect();
        let mut verdicts = view.tables().settle(&open).into_iter();
        let all = all.into_iter();
        all.map(|one| one.close(&mut verdicts)).collect()
    }

    /// Judges this one to the end.
    pub(super) fn alone(self, view: &TrustView) -> Judged {
        let verdicts = view.tables().settle(self.check().as_slice());
        self.close(&mut verdicts.into_iter())
    }

    fn of_parsed(bytes: &'a [u8], parsed: Result<Unverified, Unparsed>, view: &TrustView) -> Self {
        match parsed {
            Ok(unverified) => Self {
                bytes,
                step: InputStep::Begun(unverified.begin(view)),
            },
            Err(unparsed) => {
                let judged = Judged::of_input(bytes, Input::Unparsed(unparsed));
                Self::done(bytes, judged)
            }
        }
    }

    fn done(bytes: &'a [u8], judged: Judged) -> Self {
        Self {
            bytes,
            step: InputStep::Done(Box::new(judged)),
        }
    }

    fn check(&self) -> Option<&OpenCheck> {
        match &self.step {
            InputStep::Begun(begun) => begun.check(),
            InputStep::Done(_) => None,
        }
    }

    fn close(self, verdicts: &mut impl Iterator<Item = bool>) -> Judged {
        match self.step {
            InputStep::Begun(begun) => {
                Judged::of_input(self.bytes, Input::Parsed(begun.close(verdicts)))
            }
            InputStep::Done(judged) => *judged,
        }
    }
}

impl Judged {
    /// The whole way of bytes through the stateless checks V01 to V07.
    pub fn of(bytes: &[u8], view: &TrustView) -> Self {
        OpenInput::of(bytes, view).alone(view)
    }

    /// As [`Judged::of`], by the reader of every spelling alone: what it says does not depend on the reader.
    pub fn of_any(bytes: &[u8], view: &TrustView) -> Self {
        OpenInput::of_any(bytes, view).alone(view)
    }

    /// As [`Judged::of`], for as long as the strangers' budget is spent: see [`OpenInput::of_peers`].
    pub fn of_peers(bytes: &[u8], view: &TrustView) -> Self {
        OpenInput::of_peers(bytes, view).alone(view)
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
