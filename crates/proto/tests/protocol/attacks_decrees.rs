//! Attacks on people's words and on what carries them: older keys, echoes, a connection that is not
//! there, and tiers that would keep them out of the log.

use signet_proto::carrier::CarrierId;
use signet_proto::certificate::{ControlCertificate, ControlRequest};
use signet_proto::draft::Identity;
use signet_proto::entry::{Entry, TrustChange};
use signet_proto::envelope::Method;
use signet_proto::handoff::TaskState;
use signet_proto::ids::Digest;
use signet_proto::node::{Content, LocalError, Sending};
use signet_proto::statement::PauseStatement;

use crate::forge::{headers, read, sign};
use crate::household::forger::{hear, name};
use crate::household::net::{Net, message_of};
use crate::household::people::{
    announce, decree_at, does, pause, pause_under, pausing, remembered, revocation, revoking,
};
use crate::household::sealing::{agent, introduce};
use crate::household::tasks::{hand, handing, held, household};
use crate::household::{control, identity, identity_under, key};

const ALICE: usize = 0;
const BOB: usize = 1;
/// Alice's person has a second agent.
const SISTER: usize = 2;
/// Far above what anybody reaches honestly.
const THIEFS: u64 = 1_000_000;

fn talking() -> Net {
    let mut agents = vec![
        agent("agent-alice", "alice"),
        agent("agent-bob", "bob"),
        agent("agent-alice-2", "alice"),
    ];
    introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    for (from, to) in [(ALICE, BOB), (SISTER, ALICE), (SISTER, BOB)] {
        net.send(from, to, Sending::Ping);
    }
    net.run_for(10_000);
    net.effects.clear();
    net
}

/// A control certificate of Alice's person, by whichever root.
fn control_by(root: &str, serial: u64) -> ControlCertificate {
    let ours = control("alice");
    let request = ControlRequest {
        principal: ours.principal,
        control_key: ours.control_key,
        audit_key: ours.audit_key,
        serial,
        not_before: ours.not_before,
        not_after: ours.not_after,
        next_root: Digest([1; 32]),
    };
    request.sign(&key(root)).unwrap()
}

fn word_by(root: &str, control: u64, paused: bool, serial: u64) -> PauseStatement {
    pause_under(&control_by(root, control), "alice", paused, serial)
}

/// What one of Alice's agents says of a word that her person hands it.
fn obeys(net: &mut Net, who: usize, said: &PauseStatement) -> Result<(), LocalError> {
    let at = net.at(who);
    let outcome = net.agents[who].node.turn(at).people().pause(said)?;
    let effects = net.agents[who].keep(at, outcome);
    net.perform(who, effects);
    Ok(())
}

fn refused(net: &mut Net, said: &PauseStatement) -> String {
    obeys(net, ALICE, said).unwrap_err().name().to_owned()
}

fn is_paused(net: &Net, who: usize) -> bool {
    net.agents[who].node.people().pausing().is_paused()
}

/// How many messages of a method an agent handed to the network from then on.
fn said(net: &Net, who: usize, from: i64, method: Method) -> usize {
    let since = net
        .sent
        .iter()
        .filter(|(ms, sender, _)| *ms >= from && *sender == who);
    since
        .filter(|(_, _, bytes)| message_of(bytes).form.method() == Some(method))
        .count()
}

/// Alice's agents under the root that her first one named.
fn moved(agent: &str) -> Identity {
    identity_under("next root of alice", agent, "alice", 2, |request| {
        request.next_root = Digest::of(&[key("third root of alice").public().as_bytes()]);
    })
}

#[test]
fn a_control_certificate_of_a_root_that_a_sister_followed_first_is_heard_and_no_others() {
    let mut net = talking();
    let next = word_by("next root of alice", 2, true, 1);
    let early = refused(&mut net, &next);
    assert_eq!(early, "statement-invalid", "named, and not followed yet");
    does(&mut net, SISTER, |node, at| {
        node.turn(at).me().adopt(moved("agent-alice-2"))
    });
    net.run_for(10_000);
    for root in ["root of mallory", "root of bob", "third root of alice"] {
        let said = word_by(root, 9, true, 9);
        assert_eq!(refused(&mut net, &said), "statement-invalid", "{root}");
    }
    assert!(!is_paused(&net, ALICE));
    obeys(&mut net, SISTER, &next).unwrap();
    net.run_for(10_000);
    assert!(is_paused(&net, ALICE), "told by the sister");
    remembered(&net);
}

#[test]
fn a_root_that_we_left_says_nothing_more() {
    let mut net = talking();
    does(&mut net, ALICE, |node, at| {
        node.turn(at).me().adopt(moved("agent-alice"))
    });
    // A log that began with Alice's old certificate records her new root key by this line: let her node read it.
    let line = Entry::trust(TrustChange::RootSucceeded, moved("agent-alice").certificate);
    let at = net.at(ALICE);
    net.agents[ALICE].node.recall(at.now, &line);
    let stolen = word_by("root of alice", 9, true, 9);
    assert_eq!(refused(&mut net, &stolen), "statement-invalid");
    let said = word_by("next root of alice", 2, true, 1);
    obeys(&mut net, ALICE, &said).unwrap();
    assert!(is_paused(&net, ALICE));
}

#[test]
fn a_thief_of_a_control_key_who_used_up_its_numbers_is_heard_no_more_under_the_next() {
    let mut net = talking();
    obeys(&mut net, ALICE, &pause("alice", true, THIEFS)).unwrap();
    assert!(is_paused(&net, ALICE));
    let newer = word_by("root of alice", 2, false, 1);
    obeys(&mut net, ALICE, &newer).unwrap();
    assert!(!is_paused(&net, ALICE));
    let again = pause("alice", true, THIEFS + 1);
    assert_eq!(refused(&mut net, &again), "statement-invalid");
    net.run_for(10_000);
    assert!(!is_paused(&net, SISTER), "she hears the same");
    remembered(&net);
}

#[test]
fn an_echo_of_a_pause_is_no_second_one() {
    let mut net = talking();
    let word = pause("alice", true, 1);
    obeys(&mut net, ALICE, &word).unwrap();
    net.run_for(10_000);
    let pauses = |net: &Net| {
        let log = net.agents[ALICE].log.iter();
        let lines = log.filter(|(_, entry)| matches!(entry, Entry::Pause(_)));
        (lines.count(), net.agents[ALICE].log.len())
    };
    let before = pauses(&net);
    assert_eq!(before.0, 1);
    let (at, node) = (net.at(ALICE), &mut net.agents[ALICE].node);
    let outcome = node.turn(at).people().pause(&word).unwrap();
    assert!(outcome.entries.is_empty() && outcome.effects.is_empty());
    let sister = identity("agent-alice-2", "alice");
    let body = pausing(&word);
    let bytes = decree_at(&sister, &net.agents[ALICE], 1, Method::Pause, body, at);
    assert_eq!(hear(&mut net, ALICE, &bytes).0, None, "nor a fault");
    assert_eq!(pauses(&net), (1, before.1 + 1), "its own line alone");
    remembered(&net);
}

#[test]
fn what_a_person_says_while_the_connection_is_gone_is_told_when_it_is_back() {
    let mut net = talking();
    let elapsed = net.at(ALICE).elapsed;
    net.agents[ALICE]
        .node
        .handle_disconnected(&CarrierId::NATS, elapsed);
    let from = net.now;
    obeys(&mut net, ALICE, &pause("alice", true, 1)).unwrap();
    let lost = revocation("alice", "agent-lost", 3);
    does(&mut net, ALICE, |node, at| {
        node.turn(at).people().revoke(&lost).unwrap()
    });
    net.run_for(2 * 3_600_000);
    let told = |net: &Net| [Method::Pause, Method::Revoke].map(|of| said(net, ALICE, from, of));
    assert_eq!(told(&net), [0, 0], "into the void");
    does(&mut net, ALICE, |node, at| {
        node.turn(at).carriers().connected(&CarrierId::NATS)
    });
    assert_eq!(told(&net), [1, 2], "to the sister, and to everybody");
    net.run_for(10_000);
    assert!(is_paused(&net, SISTER));
    for who in [BOB, SISTER] {
        let log = net.agents[who].log.iter();
        let heard = log.filter(|(_, entry)| matches!(entry, Entry::Revoked(_)));
        assert_eq!(heard.count(), 1);
    }
    remembered(&net);
}

#[test]
fn an_agent_whose_person_took_its_certificate_back_sends_nothing_and_a_sister_tells_it() {
    let mut net = talking();
    let asked = net.ask(BOB, ALICE);
    net.run_for(5_000);
    let own = revocation("alice", "agent-alice", 1);
    does(&mut net, SISTER, |node, at| {
        node.turn(at).people().revoke(&own).unwrap()
    });
    net.run_for(10_000);
    assert!(
        net.agents[ALICE].node.context().is_revoked(),
        "told, though revoked"
    );
    let (at, bob) = (net.at(ALICE), net.agents[BOB].id());
    let node = &mut net.agents[ALICE].node;
    for sending in [
        Sending::Request(Content::default()),
        Sending::Notification(Content::default()),
        Sending::Ping,
    ] {
        let error = node.turn(at).sent().send(&bob, sending).unwrap_err();
        assert_eq!(error, LocalError::Revoked);
    }
    for answer in [Ok(Content::default()), Err("no".into())] {
        let error = node.turn(at).sent().reply(None, asked, answer).unwrap_err();
        assert_eq!(error, LocalError::Revoked);
    }
    assert_eq!(node.inbox().named(asked).count(), 1, "it still waits");
    net.restart(ALICE);
    assert!(net.agents[ALICE].node.context().is_revoked());
    remembered(&net);
}

#[test]
fn an_agent_whose_person_took_its_certificate_back_takes_no_work_either() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    let own = revocation("bob", "agent-bob", 1);
    does(&mut net, BOB, |node, at| {
        node.turn(at).people().revoke(&own).unwrap()
    });
    let at = net.at(BOB);
    let error = net.agents[BOB]
        .node
        .turn(at)
        .tasks()
        .accept(task)
        .unwrap_err();
    assert_eq!(error, LocalError::Revoked);
    assert_eq!(held(&net, BOB, task), TaskState::Offered);
    remembered(&net);
}

/// The reason for which Alice refuses a message of Bob's once it says that it has that tier.
fn tiered(net: &mut Net, bytes: &[u8], tier: u8, n: u64) -> Option<&'static str> {
    let mut value = read(bytes);
    let headers = headers(&mut value);
    headers.insert("data-tier".into(), tier.into());
    headers.insert("message-id".into(), name(n).to_string().into());
    let bytes = sign(value, &identity("agent-bob", "bob").signing);
    hear(net, ALICE, &bytes).0
}

/// Otherwise the log would hold their headers alone, and a start would not know what they did.
fn refused_above_tier_2(net: &mut Net, bytes: &[u8], n: u64) {
    for (n, tier) in (n..).zip([3, 4]) {
        let reason = tiered(net, bytes, tier, n);
        assert_eq!(reason, Some("header-invalid"), "tier {tier}");
    }
    assert_eq!(tiered(net, bytes, 2, n + 2), None);
    remembered(net);
}

#[test]
fn a_flight_of_a_tier_that_the_log_keeps_no_words_of() {
    let mut net = talking();
    net.run_for(1_000);
    let bob = || identity("agent-bob", "bob");
    let flight = announce(bob, &net.agents[ALICE], net.now);
    refused_above_tier_2(&mut net, &flight, 100);
}

#[test]
fn a_receipt_of_a_tier_that_the_log_keeps_no_words_of() {
    let mut net = talking();
    net.ask(ALICE, BOB);
    net.run_for(10_000);
    let sent = net.sent.iter().rev().find(|(_, who, bytes)| {
        let message = message_of(bytes);
        let to_alice = message.headers.recipient_id == net.agents[ALICE].id();
        *who == BOB && to_alice && message.form.method() == Some(Method::Receipt)
    });
    let receipt = sent.unwrap().2.clone();
    refused_above_tier_2(&mut net, &receipt, 200);
}

#[test]
fn a_decree_of_a_tier_that_the_log_keeps_no_words_of() {
    let mut net = talking();
    let (at, bob) = (net.at(ALICE), identity("agent-bob", "bob"));
    let body = revoking(&revocation("bob", "agent-lost", 3));
    let decree = decree_at(&bob, &net.agents[ALICE], 1, Method::Revoke, body, at);
    refused_above_tier_2(&mut net, &decree, 300);
}
