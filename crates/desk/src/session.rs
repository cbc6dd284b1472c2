//! The browser that is in: it came by a one-time address, and shows the secret of the path and a cookie of its own.
//!
//! Browsers send a cookie to every port of its address, and paths stand in nobody's cookie: whoever has one of the two has
//! nothing. So no answer gives the path for a cookie, or a cookie for the path.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use signet_cord::EntryTicket;

use crate::DeskError;
use crate::secret::{SecretHash, fresh};

/// The browsers that are in, and the addresses that let one in.
pub(crate) struct DeskSessions {
    path: SecretHash,
    held: Mutex<EntryState>,
}

#[derive(Default)]
struct EntryState {
    tickets: Vec<OpenTicket>,
    cookies: Vec<SecretHash>,
    /// Of a browser that has just come in: the cookie that it shows once at `/home`, and until when.
    arriving: Option<(SecretHash, Instant)>,
    /// Where the browser goes that has just come in.
    then: Option<String>,
}

struct OpenTicket {
    once: SecretHash,
    until: Instant,
    then: Option<String>,
}

/// The cookies of a browser that comes in.
pub(crate) struct EntryCookies {
    /// For the session, below the path's secret.
    pub(crate) session: String,
    /// For `/home`, once.
    pub(crate) arriving: String,
}

impl DeskSessions {
    /// Below that segment of the path.
    pub(crate) fn new(path: &str) -> Self {
        Self {
            path: SecretHash::of(path),
            held: Mutex::default(),
        }
    }

    /// Lets a browser in by that address, once.
    pub(crate) fn admit(&self, ticket: EntryTicket) {
        let mut held = self.held();
        let until = Instant::now() + Duration::from_secs(ticket.seconds);
        held.tickets.retain(|ticket| ticket.until > Instant::now());
        held.tickets.push(OpenTicket {
            once: SecretHash::of(&ticket.once),
            until,
            then: ticket.then,
        });
        keep_newest(&mut held.tickets);
    }

    /// The cookies for whoever comes by that address; `None` where it was used, is too old or never was.
    pub(crate) fn enter(&self, once: &str) -> Result<Option<EntryCookies>, DeskError> {
        let cookies = EntryCookies {
            session: fresh()?,
            arriving: fresh()?,
        };
        let mut held = self.held();
        let once = SecretHash::of(once);
        let found = held.tickets.iter().position(|ticket| ticket.once == once);
        // Remove the ticket first: if two browsers come with the same one-time address, only one of them gets in.
        let ticket = found.map(|at| held.tickets.remove(at));
        let Some(ticket) = ticket.filter(|ticket| ticket.until > Instant::now()) else {
            return Ok(None);
        };
        held.cookies.push(SecretHash::of(&cookies.session));
        keep_newest(&mut held.cookies);
        held.arriving = Some((SecretHash::of(&cookies.arriving), Instant::now() + ARRIVAL));
        held.then = ticket.then;
        Ok(Some(cookies))
    }

    /// Whether that is the browser that has just come in; asked once.
    pub(crate) fn arrives(&self, cookie: Option<&str>) -> bool {
        let mut held = self.held();
        let shown = cookie.map(SecretHash::of);
        let is_it = |(known, until): &(SecretHash, Instant)| {
            Some(*known) == shown && *until > Instant::now()
        };
        let arrives = held.arriving.as_ref().is_some_and(is_it);
        if arrives {
            held.arriving = None;
        }
        arrives
    }

    /// Where the browser goes that has just come in.
    pub(crate) fn take_then(&self) -> Option<String> {
        self.held().then.take()
    }

    /// Whether somebody is in: by both, or not at all.
    pub(crate) fn is_in(&self, path: &str, cookie: Option<&str>) -> bool {
        let shown = cookie.map(SecretHash::of);
        let has_cookie = shown.is_some_and(|shown| self.held().cookies.contains(&shown));
        SecretHash::of(path) == self.path && has_cookie
    }

    fn held(&self) -> MutexGuard<'_, EntryState> {
        // If a thread panicked while it held the lock, go on with the state: each change of it is complete, so nothing
        // is half done.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the newest few: whoever asks the launcher for addresses again and again fills no memory.
fn keep_newest<T>(items: &mut Vec<T>) {
    let over = items.len().saturating_sub(MOST);
    items.drain(..over);
}

const MOST: usize = 16;
/// How long the way from the one-time address to the first page may take.
const ARRIVAL: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(once: &str, seconds: u64) -> EntryTicket {
        EntryTicket {
            once: once.to_owned(),
            seconds,
            then: Some("http://127.1.1.1:1/o/x".to_owned()),
        }
    }

    #[test]
    fn a_used_address_lets_nobody_else_in() {
        let sessions = DeskSessions::new("path");
        sessions.admit(ticket("once", 60));
        let cookies = sessions.enter("once").unwrap().unwrap();
        assert!(sessions.is_in("path", Some(&cookies.session)));
        assert!(sessions.enter("once").unwrap().is_none());
        assert!(sessions.enter("other").unwrap().is_none());
    }

    #[test]
    fn an_address_that_is_too_old_lets_nobody_in() {
        let sessions = DeskSessions::new("path");
        sessions.admit(ticket("once", 0));
        assert!(sessions.enter("once").unwrap().is_none());
    }

    #[test]
    fn whoever_has_one_of_the_two_secrets_is_not_in() {
        let sessions = DeskSessions::new("path");
        sessions.admit(ticket("once", 60));
        let cookies = sessions.enter("once").unwrap().unwrap();
        assert!(!sessions.is_in("path", None));
        assert!(!sessions.is_in("path", Some("guess")));
        assert!(!sessions.is_in("guess", Some(&cookies.session)));
        assert!(!sessions.is_in("path", Some(&cookies.arriving)));
    }

    #[test]
    fn the_path_is_told_once_to_the_browser_that_has_just_come_in() {
        let sessions = DeskSessions::new("path");
        assert!(!sessions.arrives(None));
        sessions.admit(ticket("once", 60));
        let cookies = sessions.enter("once").unwrap().unwrap();
        assert!(!sessions.arrives(None) && !sessions.arrives(Some(&cookies.session)));
        assert!(sessions.arrives(Some(&cookies.arriving)));
        assert!(!sessions.arrives(Some(&cookies.arriving)), "once");
        assert!(sessions.take_then().is_some() && sessions.take_then().is_none());
    }

    #[test]
    fn a_thousand_addresses_fill_no_memory() {
        let sessions = DeskSessions::new("path");
        for number in 0..1000 {
            sessions.admit(ticket(&number.to_string(), 60));
        }
        assert!(sessions.held().tickets.len() <= MOST);
        assert!(sessions.enter("999").unwrap().is_some());
    }
}
