//! An honest log whose agent signed while its clock was wrong is not called tampered with; one that was
//! changed is.

use serde_json::Value;
use signet_audit::{VerifyReport, verify};
use signet_proto::entry::{Direction, Entry, Ruling};
use signet_proto::envelope::Message;
use signet_proto::reject::Reason;

use crate::common::*;

/// Before the certificates of the two begin.
const DEAD_BATTERY: &str = "2025-12-31T23:00:00.000Z";
/// After they end.
const RUN_OUT: &str = "2027-01-01T00:00:00.001Z";

/// A message of that time, signed by its sender.
fn signed_at(from: &Party, to: &Party, number: u64, time: &str) -> Message {
    sign(dated(draft(from, to, number, "hello"), time), &from.key)
}

fn dated(mut message: Value, time: &str) -> Value {
    message["params"]["headers"]["timestamp"] = time.into();
    message
}

fn sent_at(number: u64, time: &str) -> Entry {
    let message = signed_at(&alice(), &bob(), number, time);
    entry(Direction::Out, Ruling::Sent, message)
}

fn came(ruling: Ruling, time: &str) -> Entry {
    entry(Direction::In, ruling, signed_at(&bob(), &alice(), 1, time))
}

/// The report on Alice's log with these lines behind its first two.
fn prove(entries: &[Entry]) -> VerifyReport {
    let dir = tempfile::tempdir().unwrap();
    let mut log = conversation(dir.path(), 0);
    for (number, entry) in (1..).zip(entries) {
        log.append(second(number), entry).unwrap();
    }
    log.commit().unwrap();
    verify(&[dir.path().to_owned()])
}

#[test]
fn a_log_that_was_signed_while_its_clock_was_wrong_is_told_from_one_that_was_tampered_with() {
    for time in [DEAD_BATTERY, RUN_OUT] {
        let report = prove(&[sent(1, "in time"), sent_at(2, time), sent_at(3, time)]);
        assert!(report.holds() && !report.is_tampered(), "{report}");
        let found = report.logs[0].wrong_clock.unwrap();
        assert_eq!((found.count, found.first), (2, Some(4)));
        assert_eq!(found.signed_at, at(time));
        assert!(report.to_string().contains("wrong clock: 2 messages"));
        assert_eq!(report.to_json()["logs"][0]["wrong-clock"]["first"], 4);
    }
    let report = prove(&[sent(1, "in time")]);
    assert_eq!(report.logs[0].wrong_clock, None);
    assert!(!report.to_string().contains("wrong clock"));
}

#[test]
fn a_wrong_clock_excuses_no_signature_that_does_not_hold() {
    let forged = sign(
        dated(draft(&alice(), &bob(), 1, "x"), DEAD_BATTERY),
        &bob().key,
    );
    let report = prove(&[entry(Direction::Out, Ruling::Sent, forged)]);
    assert!(report.is_tampered(), "{report}");
    assert_eq!(report.logs[0].wrong_clock, None);
}

#[test]
fn a_peers_message_outside_its_certificate_is_honest_only_as_refused_for_it() {
    let expired = Ruling::Rejected(Reason::CertificateExpired);
    assert!(prove(&[came(expired, DEAD_BATTERY)]).holds());
    for ruling in [Ruling::Accepted, Ruling::Rejected(Reason::TierNotGranted)] {
        let report = prove(&[came(ruling, DEAD_BATTERY)]);
        assert!(report.is_tampered(), "{report}");
    }
}
