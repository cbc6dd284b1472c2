//! What is sealed: opened when it is judged and when it is shown, copied for our person, and lost with
//! its secret.

use zeroize::Zeroizing;

use crate::draft::Draft;
use crate::envelope::{Form, Message};
use crate::ids::{AgentId, MessageId};
use crate::policy::may_travel_in_clear;
use crate::reject::Reason;
use crate::seal::{self, Opened, Sealed};

use super::turn::Turn;
use super::{Node, State};

/// What a box held, and its bytes.
pub(super) type Unsealed = (Opened, Zeroizing<Vec<u8>>);

impl Node {
    /// What is sealed in a message for us. `None` when nothing is, and when the secret that it was
    /// sealed to is destroyed.
    pub fn opened(&self, message: &Message) -> Option<Opened> {
        self.open(message).ok().flatten().map(|(opened, _)| opened)
    }

    /// The last step of check V12: what is sealed, and its bytes for the log's copy.
    pub(super) fn open(&self, message: &Message) -> Result<Option<Unsealed>, Reason> {
        let Some(sealed) = &message.sealed else {
            return Ok(None);
        };
        let secret = self.identity.secret_for(sealed);
        let secret = secret.ok_or(Reason::Unsealable)?;
        seal::open(sealed, secret, message).map(Some)
    }

    /// Sealed for our person. A copy that cannot be made costs the line its copy, not the message.
    pub(super) fn copy_of(&mut self, plaintext: &[u8]) -> Option<Sealed> {
        let copy = self.identity.copy_of(plaintext, self.ids.rng());
        copy.ok().flatten()
    }
}

impl Turn<'_> {
    /// Drafts of the log whose content cannot be opened any more: they say so, and end.
    pub(super) fn end_lost_drafts(&mut self, peer: &AgentId) {
        let lost = self.link(peer).map(|link| link.lost.clone());
        for (message_id, reason) in lost.unwrap_or_default() {
            let state = State::RefusedHere(reason.name().to_owned());
            self.end_draft(peer, message_id, state);
        }
    }
}

/// A failure in our agent's own words.
pub(super) fn decline(request: &Message, id: MessageId, text: String) -> Draft {
    let (form, summary) = declined(request.headers.data_tier, text);
    let mut draft = Draft::answer(form, request, id, None);
    draft.summary = summary;
    draft
}

/// The form and the summary of a failure in our agent's own words. Where what they answer was sealed,
/// so are they: as the summary.
pub(super) fn declined(tier: u8, text: String) -> (Form, Option<String>) {
    let reason = Reason::Declined;
    let (message, summary) = match may_travel_in_clear(tier, true, false) {
        true => (text, None),
        false => (reason.text().to_owned(), Some(text)),
    };
    let (code, reason) = (reason.code(), reason.name().to_owned());
    let form = Form::Failure {
        code,
        message,
        reason,
    };
    (form, summary)
}
