//! Attacks on approvals: a draft of a tier that its person wants to see leaves by their word alone.

use std::time::Duration;

use serde_json::json;
use signet_proto::certificate::{ControlCertificate, ControlRequest};
use signet_proto::entry::Entry;
use signet_proto::headers::Tier;
use signet_proto::ids::{Digest, MessageId};
use signet_proto::node::{Content, LocalError, Notice, Sending, State, WaitsFor, hash_of_draft};
use signet_proto::policy::Policy;
use signet_proto::statement::{Approval, Decision};

use crate::household::net::{Net, times_taken};
use crate::household::people::{
    DAY, decision, does, notices, pause, pause_under, remembered, states, works_when_cut_anywhere,
};
use crate::household::{Agent, at, control, identity, identity_under, key};

/// Alice (0), whose person wants to see tier 4, and Bob (1).
fn acquainted() -> Net {
    acquainted_by(vec![Tier::Restricted])
}

/// The same, where Alice's person wants to see these tiers.
fn acquainted_by(approve: Vec<Tier>) -> Net {
    let policy = Policy {
        approve,
        ..Policy::default()
    };
    let mut alice = Agent::with(move || (identity("agent-alice", "alice"), policy.clone()));
    let mut bob = Agent::new("agent-bob", "bob");
    alice.knows(&bob);
    bob.knows(&alice);
    Net::new(vec![alice, bob], 1)
}

fn talking() -> Net {
    let mut net = acquainted();
    net.ask(0, 1);
    net.run_for(10_000);
    net
}

fn restricted() -> Sending {
    Sending::Request(Content {
        body: json!("for Bob's eyes"),
        data_tier: Some(Tier::Restricted),
        life: Some(Duration::from_secs(24 * 3600)),
        ..Content::default()
    })
}

/// What Alice's node says of a decision.
fn decides(net: &mut Net, approval: &Approval) -> Result<(), LocalError> {
    let at = net.at(0);
    let (_, outcome) = net.agents[0].node.turn(at).drafts().decide(approval)?;
    let effects = net.agents[0].keep(at, outcome);
    net.perform(0, effects);
    Ok(())
}

fn approved(net: &Net, draft: MessageId) -> Approval {
    decision(&net.agents[0], draft, Decision::Approved)
}

/// A decision under another control certificate.
fn by(net: &Net, draft: MessageId, control: &ControlCertificate, signer: &str) -> Approval {
    let mut drafts = net.agents[0].node.sent().drafts();
    let waiter = drafts
        .find(|waiter| waiter.draft.message_id == draft)
        .unwrap();
    let hash = hash_of_draft(waiter.value.unwrap());
    let key = key(&format!("control of {signer}"));
    Approval::sign(hash, Decision::Approved, at(0).now, control, &key).unwrap()
}

fn other_control(root: &str, serial: u64, days: i64) -> ControlCertificate {
    let ours = control("alice");
    let request = ControlRequest {
        principal: ours.principal,
        control_key: ours.control_key,
        audit_key: ours.audit_key,
        serial,
        not_before: ours.not_before,
        not_after: at(days * DAY).now,
        next_root: Digest([1; 32]),
    };
    request.sign(&key(root)).unwrap()
}

fn stays(net: &mut Net, draft: MessageId) {
    net.run_for(60_000);
    assert_eq!(times_taken(&net.agents[1], draft), 0);
    let mut drafts = net.agents[0].node.sent().drafts();
    let waiter = drafts.find(|waiter| waiter.draft.message_id == draft);
    assert_eq!(waiter.unwrap().waits_for, WaitsFor::Approval);
}

#[test]
fn a_restricted_message_leaves_by_the_persons_word_and_once() {
    let mut net = talking();
    let draft = net.send(0, 1, restricted());
    let effects: Vec<_> = net
        .effects
        .iter()
        .map(|(_, effect)| effect.clone())
        .collect();
    let needed = |notice: &&Notice| matches!(notice, Notice::ApprovalNeeded { message_id, .. } if *message_id == draft);
    assert_eq!(notices(&effects).into_iter().filter(needed).count(), 1);
    stays(&mut net, draft);
    remembered(&net);
    let approval = approved(&net, draft);
    decides(&mut net, &approval).unwrap();
    net.run_for(10_000);
    assert_eq!(times_taken(&net.agents[1], draft), 1);
    assert_eq!(states(&net, 0, draft), [State::Received]);
    remembered(&net);
}

#[test]
fn an_approval_by_any_other_key_releases_nothing() {
    let mut net = talking();
    let draft = net.send(0, 1, restricted());
    let bobs = by(&net, draft, &control("bob"), "bob");
    let other_root = by(
        &net,
        draft,
        &other_control("root of mallory", 9, 300),
        "alice",
    );
    for forged in [bobs, other_root] {
        let error = decides(&mut net, &forged).unwrap_err();
        assert_eq!(error.name(), "statement-invalid");
    }
    let hash = Digest([1; 32]);
    let mallory = key("control of mallory");
    let signed = Approval::sign(
        hash,
        Decision::Approved,
        at(0).now,
        &control("alice"),
        &mallory,
    );
    assert!(signed.is_err(), "no such statement exists");
    stays(&mut net, draft);
}

#[test]
fn an_approval_under_a_control_certificate_that_has_a_successor_releases_nothing() {
    let mut net = talking();
    let draft = net.send(0, 1, restricted());
    let newer = pause_under(&other_control("root of alice", 2, 300), "alice", false, 1);
    does(&mut net, 0, |node, at| {
        node.turn(at).people().pause(&newer).unwrap()
    });
    let older = approved(&net, draft);
    let error = decides(&mut net, &older).unwrap_err();
    assert_eq!(error.name(), "statement-invalid");
    stays(&mut net, draft);
}

/// A control key that leaked after its end could date its word back.
#[test]
fn an_approval_under_a_control_certificate_that_ended_releases_nothing() {
    let mut net = talking();
    net.run_until(DAY + 1);
    let draft = net.send(0, 1, restricted());
    let ended = by(&net, draft, &other_control("root of alice", 2, 1), "alice");
    let error = decides(&mut net, &ended).unwrap_err();
    assert_eq!(error.name(), "statement-invalid");
    stays(&mut net, draft);
}

#[test]
fn an_approval_is_for_one_draft() {
    let mut net = talking();
    let (one, other) = (net.send(0, 1, restricted()), net.send(0, 1, restricted()));
    let approval = approved(&net, one);
    decides(&mut net, &approval).unwrap();
    net.run_for(5_000);
    assert_eq!(times_taken(&net.agents[1], one), 1);
    stays(&mut net, other);
    let unknown = Approval::sign(
        Digest([1; 32]),
        Decision::Approved,
        at(0).now,
        &control("alice"),
        &key("control of alice"),
    );
    let error = decides(&mut net, &unknown.unwrap()).unwrap_err();
    assert_eq!(error, LocalError::DraftUnknown);
    remembered(&net);
}

#[test]
fn an_approval_that_comes_again_sends_nothing_again() {
    let mut net = talking();
    let draft = net.send(0, 1, restricted());
    let approval = approved(&net, draft);
    let refusal = decision(&net.agents[0], draft, Decision::Refused);
    decides(&mut net, &approval).unwrap();
    net.run_for(10_000);
    for restart in [false, true] {
        if restart {
            net.restart(0);
        }
        for late in [&approval, &refusal] {
            let error = decides(&mut net, late).unwrap_err();
            assert_eq!(error, LocalError::DraftUnknown);
        }
        net.run_for(10_000);
        assert_eq!(times_taken(&net.agents[1], draft), 1);
        assert_eq!(states(&net, 0, draft), [State::Received]);
    }
}

#[test]
fn silence_is_no_and_an_approval_comes_too_late() {
    let mut net = talking();
    let draft = net.send(0, 1, restricted());
    let approval = approved(&net, draft);
    net.run_for(DAY);
    assert_eq!(states(&net, 0, draft), [State::Expired]);
    let error = decides(&mut net, &approval).unwrap_err();
    assert_eq!(error, LocalError::DraftUnknown);
    net.run_for(60_000);
    assert_eq!(times_taken(&net.agents[1], draft), 0);
    remembered(&net);
}

#[test]
fn a_refused_draft_ends_and_cannot_be_approved_after_all() {
    let mut net = talking();
    let draft = net.send(0, 1, restricted());
    let approval = approved(&net, draft);
    let refusal = decision(&net.agents[0], draft, Decision::Refused);
    decides(&mut net, &refusal).unwrap();
    assert_eq!(
        states(&net, 0, draft),
        [State::RefusedHere("not-approved".into())]
    );
    net.restart(0);
    let error = decides(&mut net, &approval).unwrap_err();
    assert_eq!(error, LocalError::DraftUnknown);
    net.run_for(60_000);
    assert_eq!(times_taken(&net.agents[1], draft), 0);
    remembered(&net);
}

/// The person saw the old root's fingerprint, and approved for whoever held it.
#[test]
fn an_approval_does_not_outlive_the_recipients_root() {
    let mut net = talking();
    let draft = net.send(0, 1, restricted());
    let approval = approved(&net, draft);
    let next = || identity_under("next root of bob", "agent-bob", "bob", 2, |_| {});
    does(&mut net, 1, |node, at| node.turn(at).me().adopt(next()));
    net.run_for(10_000);
    decides(&mut net, &approval).unwrap();
    assert_eq!(
        states(&net, 0, draft),
        [State::RefusedHere("root-changed".into())]
    );
    net.run_for(60_000);
    assert_eq!(times_taken(&net.agents[1], draft), 0);
    remembered(&net);
}

#[test]
fn nor_does_it_outlive_a_root_that_was_replaced() {
    let mut net = talking();
    let draft = net.send(0, 1, restricted());
    let approval = approved(&net, draft);
    let new = identity_under("new root of bob", "agent-bob", "bob", 2, |_| {}).certificate;
    does(&mut net, 0, |node, at| {
        node.turn(at).people().replace_root(&new).unwrap()
    });
    assert_eq!(
        states(&net, 0, draft),
        [State::RefusedHere("peer-revoked".into())]
    );
    let error = decides(&mut net, &approval).unwrap_err();
    assert_eq!(error, LocalError::DraftUnknown);
}

#[test]
fn other_mail_does_not_wait_behind_a_draft_that_waits_for_its_person() {
    let mut net = acquainted();
    let draft = net.send(0, 1, restricted());
    net.run_for(DAY / 2);
    assert_eq!(net.sent_since(0, None), 0, "it asks for no session either");
    let mail = net.ask(0, 1);
    net.run_for(10_000);
    let more = net.ask(0, 1);
    net.run_for(10_000);
    for name in [mail, more] {
        assert_eq!(times_taken(&net.agents[1], name), 1);
    }
    stays(&mut net, draft);
    remembered(&net);
}

#[test]
fn an_approval_survives_a_restart_and_a_pause_holds_the_draft_back() {
    let mut net = talking();
    let draft = net.send(0, 1, restricted());
    let held = pause("alice", true, 1);
    does(&mut net, 0, |node, at| {
        node.turn(at).people().pause(&held).unwrap()
    });
    let approval = approved(&net, draft);
    decides(&mut net, &approval).unwrap();
    net.run_for(10_000);
    remembered(&net);
    net.restart(0);
    net.run_for(10_000);
    assert_eq!(times_taken(&net.agents[1], draft), 0);
    let on = pause("alice", false, 2);
    does(&mut net, 0, |node, at| {
        node.turn(at).people().pause(&on).unwrap()
    });
    net.run_for(10_000);
    assert_eq!(times_taken(&net.agents[1], draft), 1);
    remembered(&net);
}

#[test]
fn an_answer_of_that_tier_waits_as_well() {
    let mut net = talking();
    let asked = net.send(1, 0, restricted());
    net.run_for(5_000);
    net.reply(0, asked);
    let draft = net.agents[0]
        .node
        .sent()
        .drafts()
        .next()
        .unwrap()
        .draft
        .message_id;
    stays(&mut net, draft);
    let approval = approved(&net, draft);
    decides(&mut net, &approval).unwrap();
    net.run_for(5_000);
    assert_eq!(times_taken(&net.agents[1], draft), 1);
    remembered(&net);
}

/// The daemon answers a ping by itself, so a ping and its answer need no approval. The agent chooses which capability its
/// messages name: under the ping's name its words must not leave unseen.
#[test]
fn words_under_the_name_of_a_ping_wait_for_the_person_all_the_same() {
    let named = |summary: Option<&str>, body| Content {
        body,
        summary: summary.map(str::to_owned),
        capability: "signet.ping".parse().ok(),
        data_tier: Some(Tier::Restricted),
        ..Content::default()
    };
    let body = || json!("the number of the safe");
    for sending in [
        Sending::Request(named(None, body())),
        Sending::Request(named(Some("the number of the safe"), json!(null))),
        Sending::Notification(named(None, body())),
    ] {
        let mut net = talking();
        let draft = net.send(0, 1, sending);
        stays(&mut net, draft);
        let approval = approved(&net, draft);
        decides(&mut net, &approval).unwrap();
        net.run_for(5_000);
        assert_eq!(times_taken(&net.agents[1], draft), 1);
        remembered(&net);
    }
}

#[test]
fn a_ping_that_says_nothing_and_the_answer_to_a_ping_need_no_approval() {
    let mut net = acquainted_by(vec![Tier::Public, Tier::Restricted]);
    let ping = net.send(0, 1, Sending::Ping);
    net.run_for(10_000);
    assert_eq!(times_taken(&net.agents[1], ping), 1);
    let asked = Content {
        capability: "signet.ping".parse().ok(),
        data_tier: Some(Tier::Restricted),
        ..Content::default()
    };
    let asked = net.send(1, 0, Sending::Request(asked));
    net.run_for(5_000);
    assert_eq!(times_taken(&net.agents[0], asked), 1);
    assert_eq!(net.agents[0].node.sent().drafts().count(), 0);
    let status = net.agents[1].node.sent().status(asked).unwrap();
    assert_eq!(status.state, State::Answered);
    remembered(&net);
}

/// For whom it would be approved, nobody could say.
#[test]
fn a_restricted_message_to_a_stranger_is_not_taken() {
    let mut net = acquainted();
    let stranger = "agent-stranger".parse().unwrap();
    let (at, node) = (net.at(0), &mut net.agents[0].node);
    let error = node
        .turn(at)
        .sent()
        .send(&stranger, restricted())
        .unwrap_err();
    assert_eq!(error.name(), "peer-unknown");
}

/// What is sealed is sealed in the draft and in its approval too.
#[test]
fn what_waits_for_approval_stands_sealed_in_the_log() {
    let mut net = talking();
    let draft = net.send(0, 1, restricted());
    let approval = approved(&net, draft);
    decides(&mut net, &approval).unwrap();
    net.run_for(5_000);
    for (_, entry) in &net.agents[0].log {
        let mut line = Vec::new();
        Entry::write(entry, &mut line);
        assert!(!String::from_utf8(line).unwrap().contains("for Bob's eyes"));
    }
}

#[test]
fn a_log_with_approvals_cut_anywhere_leaves_an_agent_that_works() {
    works_when_cut_anywhere(|| {
        let mut net = talking();
        let (one, other) = (net.send(0, 1, restricted()), net.send(0, 1, restricted()));
        let approval = approved(&net, one);
        decides(&mut net, &approval).unwrap();
        let refusal = decision(&net.agents[0], other, Decision::Refused);
        decides(&mut net, &refusal).unwrap();
        net.run_for(10_000);
        net
    });
}
