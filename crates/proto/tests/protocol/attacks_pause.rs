//! Attacks on pause and resume, and what a pause holds back.

use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::carrier::CarrierId;
use signet_proto::certificate::{ControlCertificate, ControlRequest};
use signet_proto::entry::Entry;
use signet_proto::envelope::{Form, Method};
use signet_proto::ids::MessageId;
use signet_proto::node::{Content, Sending, State};

use crate::household::net::{Net, message_of, times_taken};
use crate::household::people::{
    DAY, decree_at, does, handed, pause, pause_under, pausing, remembered, revocation, revoking,
    states, works_when_cut_anywhere,
};
use crate::household::sealing::{agent, introduce, secret};
use crate::household::{self, Agent, control, identity, key};

const ALICE: usize = 0;
const BOB: usize = 1;
/// Alice's person has a second agent.
const SECOND: usize = 2;

fn talking() -> Net {
    let mut agents = vec![
        agent("agent-alice", "alice"),
        agent("agent-bob", "bob"),
        agent("agent-alice-2", "alice"),
    ];
    introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    for (from, to) in [(ALICE, BOB), (SECOND, ALICE), (SECOND, BOB)] {
        net.send(from, to, Sending::Ping);
    }
    net.run_for(10_000);
    net.effects.clear();
    net
}

fn pauses(net: &mut Net, who: usize, paused: bool, serial: u64) {
    let said = pause("alice", paused, serial);
    does(net, who, |node, at| {
        node.turn(at).people().pause(&said).unwrap()
    });
}

fn is_paused(net: &Net) -> bool {
    net.agents[ALICE].node.people().pausing().is_paused()
}

/// What Alice's agent makes of a pause or resume that `carrier` signs: the reason of a refusal.
fn hears(
    net: &mut Net,
    carrier: (&str, &str),
    name: u64,
    method: Method,
    body: Value,
) -> Option<&'static str> {
    let (at, carrier) = (net.at(ALICE), identity(carrier.0, carrier.1));
    let bytes = decree_at(&carrier, &net.agents[ALICE], name, method, body, at);
    household::forger::hear(net, ALICE, &bytes).0
}

const SISTER: (&str, &str) = ("agent-alice-2", "alice");

/// A control certificate of Alice's with another serial, by whichever root.
fn other_control(root: &str, serial: u64) -> ControlCertificate {
    let ours = control("alice");
    let request = ControlRequest {
        principal: ours.principal,
        control_key: ours.control_key,
        audit_key: ours.audit_key,
        serial,
        not_before: ours.not_before,
        not_after: ours.not_after,
        next_root: signet_proto::ids::Digest([1; 32]),
    };
    request.sign(&key(root)).unwrap()
}

#[test]
fn nobody_but_the_person_pauses_their_agents() {
    let mut net = talking();
    let theirs = pausing(&pause("bob", true, 1));
    let mut borrowed = pausing(&pause("bob", true, 1));
    borrowed["control"] = control("alice").to_value();
    let mut widened = pausing(&pause("alice", false, 1));
    widened["statement"]["paused"] = true.into();
    let other_root = pause_under(&other_control("root of mallory", 9), "alice", true, 1);
    let outsider = pausing(&pause("alice", true, 1));
    for (name, carrier, body) in [
        (1, ("agent-bob", "bob"), theirs.clone()),
        (2, SISTER, theirs),
        (3, SISTER, borrowed),
        (4, SISTER, widened),
        (5, SISTER, pausing(&other_root)),
        (6, ("agent-bob", "bob"), outsider),
    ] {
        let reason = hears(&mut net, carrier, name, Method::Pause, body);
        assert_eq!(reason, Some("statement-invalid"), "{name}");
        assert!(!is_paused(&net));
    }
    let (at, node) = (net.at(ALICE), &mut net.agents[ALICE].node);
    let error = node.turn(at).people().pause(&other_root).unwrap_err();
    assert_eq!(error.name(), "statement-invalid");
}

#[test]
fn a_pause_does_not_travel_as_a_resume_nor_the_other_way_round() {
    let mut net = talking();
    for (name, method, paused) in [(1, Method::Resume, true), (2, Method::Pause, false)] {
        let body = pausing(&pause("alice", paused, 1));
        let reason = hears(&mut net, SISTER, name, method, body);
        assert_eq!(reason, Some("statement-invalid"));
    }
    assert!(
        net.agents[ALICE]
            .node
            .people()
            .pausing()
            .statement()
            .is_none()
    );
}

#[test]
fn a_pause_in_a_session_is_none() {
    let mut net = talking();
    let body = pausing(&pause("alice", true, 1));
    let bytes = household::forger::call(&net, Method::Pause, 500, |draft, _| {
        draft.body = Some(body);
    });
    let (reason, _) = household::forger::hear(&mut net, ALICE, &bytes);
    assert_eq!(reason, Some("header-invalid"));
    assert!(!is_paused(&net));
}

#[test]
fn an_older_control_certificate_speaks_no_more() {
    let mut net = talking();
    let newer = pausing(&pause_under(
        &other_control("root of alice", 2),
        "alice",
        true,
        1,
    ));
    assert_eq!(hears(&mut net, SISTER, 1, Method::Pause, newer), None);
    let older = pausing(&pause("alice", false, 2));
    let reason = hears(&mut net, SISTER, 2, Method::Resume, older);
    assert_eq!(reason, Some("statement-invalid"));
    assert!(is_paused(&net));
    remembered(&net);
}

#[test]
fn an_old_word_cannot_be_repeated() {
    let mut net = talking();
    for (name, paused, serial) in [(1, true, 1), (2, false, 2), (3, true, 3)] {
        let method = if paused {
            Method::Pause
        } else {
            Method::Resume
        };
        let body = pausing(&pause("alice", paused, serial));
        assert_eq!(hears(&mut net, SISTER, name, method, body), None);
    }
    for (name, reason) in [(2, "duplicate"), (9, "statement-stale")] {
        let body = pausing(&pause("alice", false, 2));
        let said = hears(&mut net, SISTER, name, Method::Resume, body);
        assert_eq!(said, Some(reason));
    }
    let again = pausing(&pause("alice", false, 3));
    let said = hears(&mut net, SISTER, 10, Method::Resume, again);
    assert_eq!(said, Some("statement-stale"), "the same serial");
    assert!(is_paused(&net));
    let (at, node) = (net.at(ALICE), &mut net.agents[ALICE].node);
    let error = node
        .turn(at)
        .people()
        .pause(&pause("alice", false, 2))
        .unwrap_err();
    assert_eq!(error.name(), "statement-stale");
    remembered(&net);
}

#[test]
fn a_pause_that_its_resume_overtook_is_not_obeyed() {
    let mut net = talking();
    let resume = pausing(&pause("alice", false, 2));
    assert_eq!(hears(&mut net, SISTER, 2, Method::Resume, resume), None);
    let late = pausing(&pause("alice", true, 1));
    let said = hears(&mut net, SISTER, 1, Method::Pause, late);
    assert_eq!(said, Some("statement-stale"));
    assert!(!is_paused(&net));
    remembered(&net);
}

/// What an agent handed to the network since then: of which kinds.
fn said_since(net: &Net, who: usize, from: i64) -> Vec<String> {
    let sent = net
        .sent
        .iter()
        .filter(|(ms, sender, _)| *ms >= from && *sender == who);
    let kind = |bytes: &[u8]| match message_of(bytes).form {
        Form::Call(method) => method.as_str().to_owned(),
        _ => "an answer".to_owned(),
    };
    sent.map(|(_, _, bytes)| kind(bytes)).collect()
}

#[test]
fn while_paused_nothing_is_handed_over_and_nothing_goes_out_but_receipts_and_handshakes() {
    let mut net = talking();
    net.cut = Some((ALICE, BOB));
    let unreceipted = net.ask(ALICE, BOB);
    net.run_for(100);
    net.cut = None;
    pauses(&mut net, ALICE, true, 1);
    net.run_for(10);
    let (from, before) = (net.now + 1, handed(&net, ALICE).len());
    net.run_for(1);
    let ping = net.send(BOB, ALICE, Sending::Ping);
    let asked = net.ask(BOB, ALICE);
    let waits = net.ask(ALICE, BOB);
    net.run_for(60_000);
    let at = net.at(ALICE);
    let outcome = net.agents[ALICE]
        .node
        .turn(at)
        .carriers()
        .connected(&CarrierId::NATS);
    let effects = net.agents[ALICE].keep(at, outcome);
    net.perform(ALICE, effects);
    net.restart(BOB);
    net.run_for(3_600_000);
    let said = said_since(&net, ALICE, from);
    let allowed = |kind: &String| {
        kind == "agent.receipt"
            || [
                "agent.announce",
                "agent.verify",
                "agent.capability",
                "agent.trust",
            ]
            .contains(&kind.as_str())
    };
    assert!(said.iter().all(allowed), "{said:?}");
    assert!(said.contains(&"agent.receipt".to_owned()));
    assert_eq!(handed(&net, ALICE).len(), before, "nothing is handed over");
    assert_eq!(
        times_taken(&net.agents[ALICE], asked),
        1,
        "yet it is judged"
    );
    assert_eq!(states(&net, BOB, asked), [State::Received], "and receipted");
    assert!(states(&net, BOB, ping).contains(&State::Received));
    for name in [unreceipted, waits] {
        assert_eq!(times_taken(&net.agents[BOB], name), 0);
    }
    remembered(&net);
}

#[test]
fn while_paused_new_sessions_are_made_and_revocations_obeyed() {
    let mut net = talking();
    pauses(&mut net, ALICE, true, 1);
    let newer = || household::identity_with("agent-bob", "bob", 2, |_| {});
    does(&mut net, BOB, |node, at| node.turn(at).me().adopt(newer()));
    net.run_for(10_000);
    let bob = net.agents[BOB].id();
    let newest = net.agents[ALICE].node.trust().peer(&bob).unwrap().newest();
    assert_eq!(newest.unwrap().serial, 2);
    let body = revoking(&revocation("bob", "agent-bob", 2));
    assert_eq!(hears(&mut net, SISTER, 1, Method::Revoke, body), None);
    assert!(net.agents[ALICE].node.trust().trusted(&bob).is_none());
    remembered(&net);
}

/// What Bob sends and Alice sends while Alice pauses: names, in order.
fn meanwhile(net: &mut Net) -> (Vec<MessageId>, Vec<MessageId>) {
    let mut came = Vec::new();
    let mut waited = Vec::new();
    for n in 0..4 {
        came.push(match n {
            2 => net.send(BOB, ALICE, Sending::Notification(secret())),
            _ => net.ask(BOB, ALICE),
        });
        waited.push(net.ask(ALICE, BOB));
        net.run_for(5_000);
        if n == 1 {
            // The person says once more that their agents pause, and Alice restarts: messages from before still wait.
            pauses(net, ALICE, true, 2);
            net.restart(ALICE);
            net.run_for(5_000);
        }
    }
    (came, waited)
}

#[test]
fn a_resume_hands_over_what_waited_once_and_in_order_also_after_a_restart() {
    let mut net = talking();
    let before = net.ask(BOB, ALICE);
    net.run_for(5_000);
    pauses(&mut net, ALICE, true, 1);
    let (came, waited) = meanwhile(&mut net);
    assert!(is_paused(&net), "after the restart as well");
    assert_eq!(handed(&net, ALICE), [before]);
    pauses(&mut net, ALICE, false, 3);
    assert_eq!(handed(&net, ALICE), [&[before], &came[..]].concat());
    net.run_for(60_000);
    assert_eq!(handed(&net, ALICE), [&[before], &came[..]].concat(), "once");
    assert_eq!(
        handed(&net, BOB),
        waited,
        "and what waited went out, in order"
    );
    pauses(&mut net, ALICE, false, 4);
    net.run_for(5_000);
    assert_eq!(
        handed(&net, ALICE).len(),
        5,
        "a second resume hands over nothing"
    );
    remembered(&net);
}

#[test]
fn an_answer_that_came_during_a_pause_is_handed_over_at_its_end() {
    let mut net = talking();
    let asked = net.ask(ALICE, BOB);
    net.run_for(1_000);
    pauses(&mut net, ALICE, true, 1);
    net.reply(BOB, asked);
    net.run_for(5_000);
    assert!(handed(&net, ALICE).is_empty());
    pauses(&mut net, ALICE, false, 2);
    assert_eq!(handed(&net, ALICE).len(), 1);
    remembered(&net);
}

#[test]
fn what_waits_in_a_pause_keeps_running_out() {
    let mut net = talking();
    pauses(&mut net, ALICE, true, 1);
    let content = Content {
        body: json!("soon"),
        life: Some(Duration::from_secs(60)),
        ..Content::default()
    };
    let brief = net.send(ALICE, BOB, Sending::Notification(content));
    net.run_for(61_000);
    assert_eq!(states(&net, ALICE, brief), [State::Expired]);
    pauses(&mut net, ALICE, false, 2);
    net.run_for(5_000);
    assert_eq!(times_taken(&net.agents[BOB], brief), 0);
}

#[test]
fn a_persons_word_reaches_their_other_agents_and_nobody_else() {
    let mut net = talking();
    let from = net.now;
    pauses(&mut net, SECOND, true, 1);
    net.run_for(5_000);
    assert!(is_paused(&net));
    let told = said_since(&net, SECOND, from);
    assert_eq!(told, ["agent.pause"], "to Alice's own agent alone");
    assert!(!net.agents[BOB].node.people().pausing().is_paused());
    pauses(&mut net, SECOND, false, 2);
    net.run_for(5_000);
    assert!(!is_paused(&net));
    let lines = |agent: &Agent| {
        let pauses = agent
            .log
            .iter()
            .filter(|(_, entry)| matches!(entry, Entry::Pause(_)));
        pauses.count()
    };
    assert_eq!(
        [ALICE, SECOND, BOB].map(|who| lines(&net.agents[who])),
        [2, 2, 0]
    );
    net.run_for(2 * DAY);
    assert_eq!(
        lines(&net.agents[ALICE]),
        2,
        "told again, and written down once"
    );
    remembered(&net);
}

#[test]
fn a_log_with_pauses_cut_anywhere_leaves_an_agent_that_works() {
    works_when_cut_anywhere(|| {
        let mut net = talking();
        pauses(&mut net, ALICE, true, 1);
        net.ask(BOB, ALICE);
        net.run_for(5_000);
        pauses(&mut net, ALICE, false, 2);
        net.run_for(5_000);
        net
    });
}
