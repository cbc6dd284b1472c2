//! The daemons of the homes that are shown: whether each answers, and how it does.

use std::collections::HashMap;
use std::sync::Mutex;

use signet_api::Status;

use crate::shared::locked;

/// How the daemon of a home does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DaemonSeen {
    /// Nobody answers.
    Away,
    /// Its last answer, without what the log says as well.
    Answers(Box<Status>),
}

/// What is known of the daemons, by the names of their homes.
#[derive(Default)]
pub(crate) struct Daemons(Mutex<HashMap<String, DaemonSeen>>);

impl Daemons {
    /// How the daemon of that home does; nothing of a log alone, and of a daemon that was not asked yet.
    pub(crate) fn of(&self, home: &str) -> Option<DaemonSeen> {
        locked(&self.0).get(home).cloned()
    }

    /// Notes it; whether it is another state than before.
    pub(crate) fn note(&self, home: &str, state: DaemonSeen) -> bool {
        let before = locked(&self.0).insert(home.to_owned(), state.clone());
        before != Some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_is_told_again_is_no_change() {
        let daemons = Daemons::default();
        assert_eq!(daemons.of("alice"), None);
        assert!(daemons.note("alice", DaemonSeen::Away));
        assert!(!daemons.note("alice", DaemonSeen::Away));
        assert!(daemons.note("bob", DaemonSeen::Away));
        assert_eq!(daemons.of("alice"), Some(DaemonSeen::Away));
    }
}
