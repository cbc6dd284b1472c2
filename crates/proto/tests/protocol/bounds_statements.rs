//! Bounds of certificates, key statements and invitations: the last moment and the last byte that count, and the first
//! that does not.

use std::time::Duration;

use signet_proto::certificate::{KEYS_LIFE, KEYS_ROTATE, KeyStatement, next_serial};
use signet_proto::statement::{Invitation, InvitationError, Reached};
use signet_proto::time::Timestamp;

use crate::household::{START, at, identity, identity_with};

const DAY: Duration = Duration::from_secs(24 * 3600);
const MOMENT: Duration = Duration::from_millis(1);

fn statement_until(not_after: Timestamp) -> KeyStatement {
    let bob = identity("agent-bob", "bob");
    let key = bob.keys.sealing_key;
    KeyStatement::sign(bob.agent(), key, 1, not_after, &bob.signing).unwrap()
}

#[test]
fn a_serial_is_the_second_in_which_it_is_made_and_more_than_the_one_before() {
    let second = START as u64 / 1000;
    let now = at(999).now;
    assert_eq!(next_serial(None, now), second);
    assert_eq!(next_serial(Some(7), now), second);
    assert_eq!(next_serial(Some(second), now), second + 1);
    assert_eq!(next_serial(Some(u64::MAX), now), u64::MAX);
    assert_eq!(next_serial(None, Timestamp::from_millis(0)), 1);
}

#[test]
fn a_key_statement_is_due_after_thirty_days_and_where_its_clock_was_over_an_hour_ahead() {
    let made = at(0).now;
    let keys = statement_until(made.saturating_add(KEYS_LIFE));
    let due = made.saturating_add(KEYS_ROTATE);
    assert!(!keys.is_due(due.saturating_sub(MOMENT)));
    assert!(keys.is_due(due));
    let ahead = made.saturating_add(Duration::from_secs(3600));
    let keys = statement_until(ahead.saturating_add(KEYS_LIFE));
    assert!(!keys.is_due(made), "peers still take it");
    assert!(keys.is_due(made.saturating_sub(MOMENT)));
}

fn reached(carrier: &str, addresses: &[String]) -> Reached {
    Reached {
        carrier: carrier.to_owned(),
        addresses: addresses.to_vec(),
    }
}

fn invitation(reached: &[Reached], life: Duration) -> Result<Invitation, InvitationError> {
    let bob = identity("agent-bob", "bob");
    Invitation::sign(&bob.certificate, &bob.signing, reached, at(0).now, life)
}

#[test]
fn an_invitation_lasts_for_31_days_at_most_and_begins_with_its_certificate() {
    let nats = [reached("nats", &["nats://house:4222".to_owned()])];
    assert!(invitation(&nats, 31 * DAY).is_ok());
    assert!(invitation(&nats, 31 * DAY + MOMENT).is_err());
    let begins = at(0).now;
    let bob = identity_with("agent-bob", "bob", 1, |request| request.not_before = begins);
    let made = Invitation::sign(&bob.certificate, &bob.signing, &nats, begins, DAY).unwrap();
    let before = begins.saturating_sub(MOMENT);
    let early = Invitation::parse_line(&made.to_line(), before);
    assert_eq!(early, Err(InvitationError::Early(begins)));
}

#[test]
fn a_carriers_name_has_sixteen_characters_at_most() {
    let at_one = |name: &str| invitation(&[reached(name, &["x:1".to_owned()])], DAY);
    assert!(at_one("a-carrier-of-16c").is_ok());
    assert!(at_one("a-carrier-of-17-c").is_err());
}

/// An invitation whose line has `length` bytes.
fn line_of(length: usize) -> String {
    let mut widths = [100; 28];
    loop {
        let addresses: Vec<String> = widths.iter().map(|width| "a".repeat(*width)).collect();
        let carriers: Vec<Reached> = (0..)
            .zip(addresses.chunks(8))
            .map(|(n, some)| reached(&format!("c{n}"), some))
            .collect();
        let line = invitation(&carriers, DAY).unwrap().to_line();
        // Four characters of the line are three bytes (base64url): widen an address by three quarters of what the line
        // lacks.
        let short = length.saturating_sub(line.len());
        let room = widths.iter_mut().find(|width| **width < 256);
        match room.filter(|_| short > 0) {
            Some(width) => *width = (*width + (short * 3 / 4).max(1)).min(256),
            None => return line,
        }
    }
}

#[test]
fn a_line_of_8_kib_is_an_invitation_and_a_longer_one_is_not() {
    let longest = line_of(8_192);
    assert_eq!(longest.len(), 8_192);
    assert!(Invitation::parse_line(&longest, at(0).now).is_ok());
    let longer = line_of(8_193);
    assert_eq!(longer.len(), 8_193);
    let refused = Invitation::parse_line(&longer, at(0).now);
    assert_eq!(refused, Err(InvitationError::NoLine));
}
