//! Whether a receipt fits what was sent, or shows that one side was put back to an older copy.

use super::Ledger;
use crate::draft::FLIGHT_LIFE;
use crate::ids::Digest;
use crate::receipt::{Exception, Receipt};
use crate::reject::Reason;
use crate::time::Timestamp;

/// Whose log was put back to an older copy, by the word of a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// Ours: the peer has judged what we do not remember, or another message under the same number.
    Ours,
    /// The peer's: it has judged less than it had before.
    Theirs,
}

impl Ledger {
    /// Whose log was put back to an older copy, if a receipt does not fit what we sent.
    pub fn misfit(&self, receipt: &Receipt, signed_at: Timestamp) -> Option<Misfit> {
        if receipt.through >= self.next {
            return Some(Misfit::Ours);
        }
        let fell = receipt.through < self.peer_through
            && self.last_receipt.is_some_and(|last| last < signed_at);
        let seen = receipt.except.iter();
        let seen = seen.map(|(number, exception)| (*number, exception.hash));
        let mut seen = seen.chain([(receipt.through, receipt.hash)]);
        let differs = |(number, hash): (u64, Option<Digest>)| {
            let ours = self.hash_of(number);
            ours.zip(hash).is_some_and(|(ours, theirs)| ours != theirs)
        };
        // The peer saw two messages under a number of ours that is settled: a copy of this log sent the other.
        let is_reuse = |(number, exception): &(u64, Exception)| {
            exception.reason == Reason::SequenceReuse.name() && self.hash_of(*number).is_none()
        };
        let is_ours = seen.any(differs) || receipt.except.iter().any(is_reuse);
        is_ours
            .then_some(Misfit::Ours)
            .or(fell.then_some(Misfit::Theirs))
    }

    /// Whether a receipt that says less than the last one was signed before it, although its time is later: in a
    /// session that `began` then, the last one bears a time that no peer had then, so its signer's clock was put
    /// back between the two. Their times do not order them, and the lower number is the older one.
    pub(crate) fn is_overtaken(
        &self,
        receipt: &Receipt,
        signed_at: Timestamp,
        began: Timestamp,
    ) -> bool {
        // A receipt that is dated before the session began shows that a clock was put back. Allow for two lives of a flight:
        // the peer's clock may be that far behind the clock that signed flight 4 (`began`).
        let before = |time: Timestamp| time.saturating_add(FLIGHT_LIFE * 2) < began;
        let last = self.last_receipt.is_some_and(before);
        receipt.through < self.peer_through && last && !before(signed_at)
    }
}
