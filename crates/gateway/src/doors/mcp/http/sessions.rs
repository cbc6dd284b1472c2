//! Whose a session is. Its id is no secret that lets anybody in: it counts with the token that began it alone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::lock::Locked as _;
use rmcp::transport::streamable_http_server::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

/// The sessions that were begun, each with the name of its token.
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    known: Mutex<SessionOwners>,
}

/// The oldest first.
#[derive(Default)]
struct SessionOwners(VecDeque<(Arc<str>, Arc<str>)>);

impl Sessions {
    pub(super) fn new(manager: Arc<LocalSessionManager>) -> Self {
        Self {
            manager,
            known: Mutex::default(),
        }
    }

    /// Whether that token began it.
    pub(super) fn is_of(&self, session: &str, caller: &str) -> bool {
        let known = self.known.locked();
        known
            .0
            .iter()
            .any(|(id, whose)| &**id == session && &**whose == caller)
    }

    /// The session is over.
    pub(super) fn forget(&self, session: &str) {
        let mut known = self.known.locked();
        known.0.retain(|(id, _)| &**id != session);
    }

    /// The session is that token's; the oldest of too many ends.
    pub(super) async fn note(&self, session: &str, caller: &Arc<str>) {
        let ended = {
            let mut known = self.known.locked();
            known.note(session, caller)
        };
        if let Some(ended) = ended {
            // An error means that the session is already over, and that is all that is wanted here.
            let _ = self.manager.close_session(&ended).await;
        }
    }
}

impl SessionOwners {
    fn note(&mut self, session: &str, caller: &Arc<str>) -> Option<Arc<str>> {
        if self.0.iter().any(|(id, _)| &**id == session) {
            return None;
        }
        self.0.push_back((session.into(), Arc::clone(caller)));
        let theirs = self.0.iter().filter(|(_, whose)| whose == caller).count();
        let oldest = self.0.iter().position(|(_, whose)| whose == caller);
        let (ended, _) = self.0.remove(oldest.filter(|_| theirs > MOST)?)?;
        Some(ended)
    }
}

/// Sessions of one token.
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_its_tokens_and_one_token_has_so_many() {
        let sessions = Sessions::new(Arc::default());
        let (one, two): (Arc<str>, Arc<str>) = ("one".into(), "two".into());
        let mut known = SessionOwners::default();
        known.note("of two", &two);
        for number in 0..MOST {
            assert_eq!(known.note(&number.to_string(), &one), None);
        }
        assert_eq!(known.note("0", &one), None, "it is known already");
        assert_eq!(known.note("one more", &one).as_deref(), Some("0"));
        *sessions.known.lock().unwrap() = known;
        assert!(sessions.is_of("of two", "two") && sessions.is_of("one more", "one"));
        for (session, caller) in [("of two", "one"), ("0", "one"), ("", "one")] {
            assert!(!sessions.is_of(session, caller), "{session}");
        }
    }
}
