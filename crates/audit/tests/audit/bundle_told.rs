//! The report on a bundle: for people, for programs, and whose root keys stand behind it.

use std::fs;

use serde_json::json;
use signet_audit::{Span, VerifyReport, export, verify};
use signet_proto::entry::{Entry, TrustChange};
use signet_proto::keys::fingerprint;

use crate::common::*;
use crate::pair::*;

/// What verification says of a bundle about Bob, found in that file.
fn report(pair: &Pair, name: &str) -> (VerifyReport, std::path::PathBuf) {
    let span = Span {
        peer: "agent-bob-001".parse().unwrap(),
        from: second(0),
        to: march(),
    };
    let mut out = Vec::new();
    export(&pair.alice.dir(), &span, &mut out).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, out).unwrap();
    (verify(std::slice::from_ref(&path)), path)
}

#[test]
fn programs_are_told_of_a_bundle_all_that_people_are() {
    let pair = Pair::talked();
    let (report, path) = report(&pair, "for-carol.jsonl");
    assert!(report.holds(), "{report}");
    let bundle = &report.bundles[0];
    assert_eq!(bundle.name, path);
    let words = |party: &Party| fingerprint(party.root.public());
    let expected = json!({
        "bundle": path.to_str(),
        "agent": "agent-alice-001",
        "peer": "agent-bob-001",
        "from": second(0).to_string(),
        "to": march().to_string(),
        "lines": 30,
        "signatures": {"agent-alice-001": 15, "agent-bob-001": 15},
        "root-keys": {"agent-alice-001": words(&alice()), "agent-bob-001": words(&bob())},
        "months": {"2026-02": pair.alice.lines(FEBRUARY).len()},
        "left-out": 0,
        "faults": [],
        "faults-left-out": 0,
        "sentence": bundle.sentence(),
    });
    assert_eq!(report.to_json()["bundles"], json!([expected]));
    let shown = bundle.to_string();
    assert_eq!(shown, format!("{}\n", bundle.sentence()));
}

#[test]
fn a_fault_of_a_bundle_is_told_with_its_file() {
    let pair = Pair::talked();
    let (_, path) = report(&pair, "for-carol.jsonl");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(path.file_name().unwrap());
    fs::write(&path, "{\"kind\":\"bundle\"}\n[]\n").unwrap();
    let report = verify(std::slice::from_ref(&path));
    let shown = report.bundles[0].to_string();
    let place = format!(
        "{}, line 2: neither a proof nor a checkpoint",
        path.display()
    );
    assert!(shown.contains(&place), "{shown}");
}

/// A stranger who claims to be Bob stands in Alice's log, and in the bundle, because the claim is of Bob's principal.
#[test]
fn a_root_key_that_was_only_claimed_is_not_told_as_the_peer_s() {
    for change in [
        TrustChange::Pending,
        TrustChange::Refused,
        TrustChange::RootChanged,
    ] {
        let mut pair = Pair::new();
        pair.talk(4, second(10));
        let claimed = certify("agent-bob-001", "bob", &key(50), &key(51), 7);
        pair.alice.write(second(11), &Entry::trust(change, claimed));
        pair.stop();
        let (report, _) = report(&pair, "bundle.jsonl");
        assert!(report.holds(), "{report}");
        let roots = &report.bundles[0].roots;
        assert_eq!(roots["agent-bob-001"], fingerprint(bob().root.public()));
    }
}
