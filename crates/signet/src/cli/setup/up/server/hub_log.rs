//! The log of a home's own NATS server, as far as it tells of the server's line to its hub.
//!
//! Only what the server says itself counts: a client that it refuses chooses a part of what it says of that client, in quotes.

use std::time::Duration;

use signet_proto::time::Timestamp;

/// How the server's connection to its hub does, by the server's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::setup) enum HubState {
    /// The hub took the household's password.
    Connected,
    /// The hub does not take the household or its password.
    Refused,
    /// The hub's certificate is not of the authority that the line names, or not for its address.
    Unproved,
    /// The connection was made, and ended: the server's log says why.
    Closed,
    /// The hub throws the connection out for another server that logs in as the same household, and that one for this.
    Contested,
    /// No address is found for the name of the hub.
    Nameless,
    /// Nothing was heard of it yet.
    Away,
}

/// One event of the line to the hub.
#[derive(Clone, Copy)]
enum HubEvent {
    /// The server started.
    Start,
    /// A connection stands, and nobody has said yet that the password holds.
    Made,
    /// The event settles how the line does.
    Judged(HubState),
    Ended,
}

/// The state behind the last event; `None` where the log tells of none.
pub(super) fn state_of(log: &str) -> Option<HubState> {
    let events = log.lines().filter_map(event);
    let (state, _) = events.fold((None, false), |(state, is_judged), event| match event {
        HubEvent::Start => (Some(HubState::Away), true),
        HubEvent::Made => (state.or(Some(HubState::Away)), false),
        HubEvent::Judged(state) => (Some(state), true),
        // The end of a connection that the hub refused says no more than the refusal.
        HubEvent::Ended if is_judged && state != Some(HubState::Connected) => (state, true),
        HubEvent::Ended => (Some(HubState::Closed), true),
    });
    state
}

/// Whether the connection before the last was thrown out for another server of the same household.
pub(super) fn is_contested(log: &str) -> bool {
    let events = log.lines().filter_map(event);
    events.fold(false, |contested, event| match event {
        HubEvent::Judged(HubState::Contested) => true,
        HubEvent::Judged(HubState::Connected) | HubEvent::Made | HubEvent::Ended => contested,
        HubEvent::Start | HubEvent::Judged(_) => false,
    })
}

/// How long the last event lies before the last line of the log.
pub(super) fn since_last_event(log: &str) -> Duration {
    let event = log.lines().rev().find(|line| event(line).is_some());
    let [event, last] = [event, log.lines().next_back()].map(|line| time(line?));
    event
        .zip(last)
        .map_or(Duration::ZERO, |(event, last)| last.since(event))
}

/// The time of a line, by the clock on the wall, to a second.
fn time(line: &str) -> Option<Timestamp> {
    let mut words = line.split(' ').skip(1);
    let (date, time) = (words.next()?, words.next()?);
    let text = format!("{}T{}.000Z", date.replace('/', "-"), time.get(..8)?);
    text.parse().ok()
}

/// Reads `[PID] DATE TIME [LEVEL] ` and what is said; of a connection to a hub that begins with `HOST:PORT - lid:N - `.
fn event(line: &str) -> Option<HubEvent> {
    let said = line.splitn(5, ' ').nth(4)?;
    if said == "Starting nats-server" {
        return Some(HubEvent::Start);
    }
    if said.starts_with("Error trying to connect as leafnode") {
        return Some(HubEvent::Judged(match said.contains("): lookup ") {
            true => HubState::Nameless,
            false => HubState::Away,
        }));
    }
    let (address, said) = said.split_once(" - lid:")?;
    let (number, said) = said.split_once(" - ")?;
    let is_own = !address.contains([' ', '"']) && number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_own {
        return None;
    }
    if said.starts_with("Leafnode connection created") {
        Some(HubEvent::Made)
    } else if said.starts_with("JetStream using domains") {
        Some(HubEvent::Judged(HubState::Connected))
    } else if said.starts_with("Leafnode Error 'Authorization Violation'") {
        Some(HubEvent::Judged(HubState::Refused))
    } else if said.starts_with("Leafnode Error 'Duplicate Remote LeafNode Connection'") {
        Some(HubEvent::Judged(HubState::Contested))
    } else if said.starts_with("TLS leafnode handshake error") {
        Some(HubEvent::Judged(HubState::Unproved))
    } else {
        said.starts_with("Leafnode connection closed")
            .then_some(HubEvent::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server's words as 2.10.25 and 2.15.1 write them.
    fn log(said: &[&str]) -> String {
        let line = |said: &&str| format!("[18010] 2026/11/27 19:25:32.105241 [INF] {said}\n");
        said.iter().map(line).collect()
    }

    const START: &str = "Starting nats-server";
    const MADE: &str = "127.0.0.1:45422 - lid:5 - Leafnode connection created for account: $G ";
    const IN: &str =
        "127.0.0.1:45422 - lid:5 - JetStream using domains: local \"house\", remote \"\"";
    const REFUSED: &str = "127.0.0.1:45422 - lid:5 - Leafnode Error 'Authorization Violation'";
    const UNPROVED: &str = "127.0.0.1:45422 - lid:5 - TLS leafnode handshake error: tls: failed to verify certificate: x509: certificate signed by unknown authority";
    const ENDED: &str =
        "127.0.0.1:45422 - lid:5 - Leafnode connection closed: Client Closed - Account: $G";
    const CONTESTED: &str =
        "127.0.0.1:45422 - lid:5 - Leafnode Error 'Duplicate Remote LeafNode Connection'";
    const NAMELESS: &str = "Error trying to connect as leafnode to remote server \"hub.example:7422\" (attempt 1): lookup hub.example: no such host";
    const AWAY: &str = "Error trying to connect as leafnode to remote server \"127.0.0.1:45422\" (attempt 1): dial tcp 127.0.0.1:45422: connect: connection refused";

    #[test]
    fn the_last_event_says_how_the_line_does() {
        let state = |said: &[&str]| state_of(&log(said));
        assert_eq!(state(&["Server is ready"]), None);
        assert_eq!(state(&[START]), Some(HubState::Away));
        assert_eq!(
            state(&[START, MADE]),
            Some(HubState::Away),
            "not let in yet"
        );
        assert_eq!(state(&[START, MADE, IN]), Some(HubState::Connected));
        assert_eq!(state(&[START, MADE, ENDED]), Some(HubState::Closed));
        assert_eq!(state(&[MADE, IN, ENDED]), Some(HubState::Closed));
        assert_eq!(
            state(&[ENDED]),
            Some(HubState::Closed),
            "it began in an older file"
        );
        assert_eq!(state(&[MADE, IN, ENDED, AWAY]), Some(HubState::Away));
        for (verdict, state_then) in [(REFUSED, HubState::Refused), (UNPROVED, HubState::Unproved)]
        {
            let again = [MADE, verdict, ENDED, MADE, verdict, ENDED];
            assert_eq!(state(&again), Some(state_then));
            assert_eq!(state(&[&again[..], &[MADE]].concat()), Some(state_then));
            assert_eq!(state(&[&again[..], &[AWAY]].concat()), Some(HubState::Away));
            assert_eq!(
                state(&[&again[..], &[MADE, IN]].concat()),
                Some(HubState::Connected)
            );
        }
        assert_eq!(state(&[MADE, IN, START, AWAY]), Some(HubState::Away));
        assert_eq!(state(&[START, NAMELESS]), Some(HubState::Nameless));
    }

    #[test]
    fn a_connection_that_was_thrown_out_for_another_may_be_so_again() {
        let thrown_out = [START, MADE, IN, CONTESTED, ENDED];
        assert_eq!(state_of(&log(&thrown_out)), Some(HubState::Contested));
        let back = log(&[&thrown_out[..], &[MADE, IN]].concat());
        assert_eq!(state_of(&back), Some(HubState::Connected));
        assert!(is_contested(&back));
        for after in [START, AWAY, REFUSED] {
            let later = [&thrown_out[..], &[after, MADE, IN]].concat();
            assert!(!is_contested(&log(&later)), "{after}");
        }
        assert!(!is_contested(&log(&[START, MADE, IN, ENDED, MADE, IN])));
        let last = "[18010] 2026/11/27 19:25:45.010203 [ERR] 127.0.0.1:33238 - cid:5 - Publish Violation\n";
        assert_eq!(since_last_event(&(back + last)).as_secs(), 13);
        assert_eq!(since_last_event("of another kind\n"), Duration::ZERO);
    }

    /// Anybody who may connect chooses a name, and the server repeats it in quotes when it refuses the login.
    #[test]
    fn a_client_whose_name_is_a_line_of_the_log_changes_nothing() {
        for evil in [
            START, MADE, IN, REFUSED, UNPROVED, ENDED, AWAY, CONTESTED, NAMELESS,
        ] {
            for said in [
                format!("127.0.0.1:33246 - cid:4 - \"v1:x:{evil}\" - authentication error"),
                format!(
                    "127.0.0.1:33246 - cid:4 - \"v1:x:\\n[1] 2026/11/27 19:25:32 [INF] {evil}\" - authentication error"
                ),
                format!("127.0.0.1:33238 - cid:5 - authentication error - User \"{evil}\""),
                format!(
                    "127.0.0.1:33238 - cid:5 - authentication error - Nkey \" - lid:5 - {evil}\""
                ),
                format!("\"{evil}"),
            ] {
                let before = log(&[START, MADE, IN, &said]);
                assert_eq!(state_of(&before), Some(HubState::Connected), "{said}");
                assert!(!is_contested(&before), "{said}");
            }
        }
    }
}
