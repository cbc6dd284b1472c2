//! Decisions about trust that the person has to sign: `[people] sign`.

use std::collections::BTreeSet;
use std::time::Duration;

use signet_api::{ApiError, Call, Reason};
use signet_json::canonical;
use signet_proto::ids::Digest;
use signet_proto::node::Node;
use signet_proto::reject;
use signet_proto::statement::{Asked, DecisionStatement};
use signet_proto::time::Timestamp;

use super::people::invalid;
use crate::config::Sign;

/// Asks for signatures, and takes each once.
#[derive(Debug)]
pub(in crate::daemon) struct Decisions {
    sign: Sign,
    /// When the daemon started. A word from before is not taken: which of those were used, nobody remembers.
    started: Timestamp,
    /// The words that were used, by when they were signed. None is dropped for its age, however old the clock says it
    /// is: a clock that is put back would make it good again.
    used: BTreeSet<(Timestamp, Digest)>,
}

impl Decisions {
    pub(in crate::daemon) const fn new(sign: Sign, started: Timestamp) -> Self {
        Self {
            sign,
            started,
            used: BTreeSet::new(),
        }
    }

    /// Asks for other signatures from now on. What was signed while none were asked for is not taken: whether it
    /// was used, nobody remembers.
    pub(in crate::daemon) fn ask_for(&mut self, sign: Sign, now: Timestamp) {
        if sign != self.sign {
            // Never move `started` back, even where the clock was put back: a decision signed before `started` may have been
            // used already, and nothing remembers that it was.
            (self.sign, self.started) = (sign, self.started.max(now));
        }
    }

    /// Whether a call that decides about trust is the person's.
    ///
    /// # Errors
    /// `decision-unsigned`, `statement-invalid`, or `statement-stale` for a word that was used,
    /// or may have been used before the daemon started.
    pub(in crate::daemon) fn admit(
        &mut self,
        node: &Node,
        now: Timestamp,
        call: &Call,
    ) -> Result<(), ApiError> {
        let Some(said) = verify(self.sign, node, now, call)? else {
            return Ok(());
        };
        // Compare the canonical form: the same decision in another spelling of its JSON must not count as a new one.
        let name = Digest::of(&[&canonical(&said.to_value())]);
        let is_new = self.used.insert((said.issued_at, name));
        if self.used.len() > MOST
            && let Some((oldest, _)) = self.used.pop_first()
        {
            // Move `started` behind the decision that is forgotten here: nothing remembers any more that it was used, so it
            // must not be taken again, nor any older one.
            self.started = self
                .started
                .max(oldest.saturating_add(Duration::from_nanos(1)));
        }
        if !is_new || said.issued_at < self.started {
            let stale = reject::Reason::StatementStale;
            let text = "this decision was handed in before, or signed before the daemon started; sign it anew";
            return Err(ApiError::refused(stale.name(), text));
        }
        Ok(())
    }
}

/// The word that a call needs, and that holds; `None` where it needs none.
///
/// # Errors
/// `decision-unsigned` and `statement-invalid`.
pub fn verify(
    sign: Sign,
    node: &Node,
    now: Timestamp,
    call: &Call,
) -> Result<Option<DecisionStatement>, ApiError> {
    let (Sign::All, Some((said, params))) = (sign, call.decision()) else {
        return Ok(None);
    };
    let control = node.identity().control.as_ref();
    let control = control.ok_or_else(|| {
        let text = "there is no control certificate, so nobody can sign a decision; signet key rotate control";
        ApiError::refused(Reason::DecisionUnsigned, text)
    })?;
    let said = said.ok_or_else(|| {
        let text =
            "[people] sign asks for the person's signature; give the control key: --key FILE";
        ApiError::refused(Reason::DecisionUnsigned, text)
    })?;
    let asked = Asked {
        agent: node.identity().agent(),
        call: call.method(),
        params: &params,
    };
    let said = DecisionStatement::verify(said, asked, now, control);
    said.map(Some).map_err(|error| invalid(&error))
}

/// How many used words are remembered.
const MOST: usize = 4_096;

#[cfg(test)]
mod tests;
