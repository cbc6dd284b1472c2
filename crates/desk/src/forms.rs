//! The forms that were handed out, and what was shown beside each: nothing is decided but what was shown.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use signet_proto::ids::Digest;

use crate::DeskError;
use crate::secret::{SecretHash, fresh};

/// The decision that a button asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownForm {
    /// The home in which it is decided.
    pub(crate) home: String,
    /// The decision itself.
    pub(crate) choice: DeskChoice,
    /// Stands for all that was shown: another one means that it changed since.
    pub(crate) mark: Digest,
}

/// A decision that a form asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeskChoice {
    /// About a stranger under that root key.
    Stranger {
        agent: String,
        root: String,
        approve: bool,
    },
    /// About a draft.
    Draft { message_id: String, approve: bool },
    /// Clears what rings.
    ClearAlarms,
    /// Takes back the trust in an agent.
    Withdraw { peer: String },
    /// Lets the person's agents pause, or go on.
    Pause { paused: bool },
    /// Opens a sealed line of the log.
    Open {
        message_id: String,
        line: u64,
        /// As text alone: what is too long for a page.
        as_text: bool,
    },
}

/// The forms that were handed out and not sent back.
#[derive(Default)]
pub(crate) struct Forms(Mutex<VecDeque<(SecretHash, Instant, ShownForm)>>);

impl Forms {
    /// Remembers what is shown beside a form; the token that goes into it.
    pub(crate) fn hand_out(&self, form: ShownForm) -> Result<String, DeskError> {
        let token = fresh()?;
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forms.push_back((SecretHash::of(&token), Instant::now(), form));
        // Forget the oldest: pages that are loaded again and again fill no memory.
        if forms.len() > MOST {
            forms.pop_front();
        }
        Ok(token)
    }

    /// The decision that was shown beside the form with that token, once.
    pub(crate) fn take(&self, token: &str) -> Option<ShownForm> {
        let token = SecretHash::of(token);
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = forms.iter().position(|(known, ..)| *known == token)?;
        let (_, shown, form) = forms.remove(at)?;
        (shown.elapsed() < LIFE).then_some(form)
    }
}

const MOST: usize = 64;
/// How long a page may lie before its button serves no more.
const LIFE: Duration = Duration::from_secs(30 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    fn form(home: &str) -> ShownForm {
        ShownForm {
            home: home.to_owned(),
            choice: DeskChoice::ClearAlarms,
            mark: Digest::of(&[b"shown"]),
        }
    }

    #[test]
    fn a_form_serves_once_and_names_what_was_shown() {
        let forms = Forms::default();
        let token = forms.hand_out(form("alice")).unwrap();
        assert_eq!(forms.take("guess"), None);
        assert_eq!(forms.take(&token), Some(form("alice")));
        assert_eq!(forms.take(&token), None);
    }

    #[test]
    fn ten_thousand_pages_fill_no_memory_and_the_newest_serves() {
        let forms = Forms::default();
        let tokens: Vec<String> = (0..10_000)
            .map(|number| forms.hand_out(form(&number.to_string())).unwrap())
            .collect();
        assert_eq!(forms.0.lock().unwrap().len(), MOST);
        assert_eq!(forms.take(&tokens[9_999]), Some(form("9999")));
        assert_eq!(forms.take(&tokens[0]), None);
    }
}
