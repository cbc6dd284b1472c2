//! What a program of the agent's own relies on: a message handed out is nobody else's until its lease
//! ends, and a call that is made again under its key sends once.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::household::net::{Net, times_taken};
use crate::household::sealing::{MARKER, secret};
use crate::household::{Agent, identity_with};
use serde_json::json;
use signet_proto::carrier::CarrierId;
use signet_proto::entry::{Did, Entry};
use signet_proto::envelope::{Form, Method};
use signet_proto::headers::Tier;
use signet_proto::ids::{MessageId, Version};
use signet_proto::node::{
    CallerKey, Content, HandedOut, LocalError, Sending, SentMessage, State, TRIES, Wanted,
};
use signet_proto::policy::{Capability, Policy};

pub(crate) const ALICE: usize = 0;
pub(crate) const BOB: usize = 1;

fn speaking(name: &'static str, principal: &'static str, policy: Policy) -> Agent {
    Agent::with(move || {
        let identity = identity_with(name, principal, 1, |request| {
            request.versions = Version::SPOKEN.to_vec();
        });
        (identity, policy.clone())
    })
}

/// Alice and Bob, who have met; Bob offers lamps and doors.
pub(crate) fn met() -> Net {
    let offered =
        ["lamp", "door"].map(|name| Capability::new(name.parse().unwrap(), Tier::Restricted));
    let policy = Policy {
        capabilities: offered.to_vec(),
        ..Policy::default()
    };
    let mut agents = vec![
        speaking("agent-alice", "alice", Policy::default()),
        speaking("agent-bob", "bob", policy),
    ];
    crate::household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    let first = net.ask(ALICE, BOB);
    net.run_for(5_000);
    net.reply(BOB, first);
    net.run_for(5_000);
    net
}

pub(crate) fn anything(connection: u64) -> Wanted {
    Wanted {
        capabilities: None,
        tier: 4,
        peers: None,
        lease: Duration::from_secs(60),
        connection,
        looked: 0,
    }
}

pub(crate) fn receive(net: &mut Net, wanted: &Wanted) -> Option<HandedOut> {
    wait_on(net, &mut wanted.clone())
}

/// As one that goes on from where it has looked.
fn wait_on(net: &mut Net, wanted: &mut Wanted) -> Option<HandedOut> {
    let at = net.at(BOB);
    let (handed, outcome) = net.agents[BOB].node.turn(at).leases().receive(wanted);
    let effects = net.agents[BOB].keep(at, outcome);
    net.perform(BOB, effects);
    handed
}

pub(crate) fn ask_for(net: &mut Net, capability: &str) -> MessageId {
    let content = Content {
        capability: Some(capability.parse().unwrap()),
        ..Content::default()
    };
    let name = net.send(ALICE, BOB, Sending::Request(content));
    net.run_for(100);
    name
}

fn respond(net: &mut Net, handed: &HandedOut) -> Result<MessageId, LocalError> {
    let at = net.at(BOB);
    let node = &mut net.agents[BOB].node;
    let (id, outcome) = node
        .turn(at)
        .leases()
        .reply(handed.lease, Ok(Content::default()))?;
    let effects = net.agents[BOB].keep(at, outcome);
    net.perform(BOB, effects);
    Ok(id)
}

fn name_of(handed: &HandedOut) -> MessageId {
    handed.message.headers.message_id
}

fn said(net: &Net, name: MessageId) -> Vec<(Did, u8)> {
    let line = |(_, entry): &(_, Entry)| match entry {
        Entry::Outcome(line) if line.message_id == name => Some((line.what, line.tries)),
        _ => None,
    };
    net.agents[BOB].log.iter().filter_map(line).collect()
}

fn key(text: &str) -> CallerKey {
    text.parse().unwrap()
}

fn once(net: &mut Net, text: &str, sending: Sending) -> Result<SentMessage, LocalError> {
    let (at, peer) = (net.at(ALICE), net.agents[BOB].id());
    let node = &mut net.agents[ALICE].node;
    let mut sent = node.turn(at).sent().send_once(&peer, sending, &key(text))?;
    let outcome = std::mem::take(&mut sent.outcome);
    let effects = net.agents[ALICE].keep(at, outcome);
    net.perform(ALICE, effects);
    Ok(sent)
}

fn question(text: &str) -> Sending {
    Sending::Request(Content {
        body: json!(text),
        ..Content::default()
    })
}

#[test]
fn what_is_handed_out_is_nobody_else_s_until_it_is_answered() {
    let mut net = met();
    let request = ask_for(&mut net, "lamp");
    let handed = receive(&mut net, &anything(1)).unwrap();
    assert_eq!((name_of(&handed), handed.tries), (request, 1));
    assert!(receive(&mut net, &anything(2)).is_none());
    let at = net.at(BOB);
    let alice = net.agents[ALICE].id();
    let started = net.agents[BOB].node.turn(at).inbox().start(&alice, request);
    assert_eq!(started.unwrap_err(), LocalError::Leased(request));
    respond(&mut net, &handed).unwrap();
    net.run_for(1_000);
    assert_eq!(
        net.agents[ALICE].node.sent().status(request).unwrap().state,
        State::Answered
    );
    assert_eq!(
        respond(&mut net, &handed).unwrap_err(),
        LocalError::LeaseEnded
    );
    assert!(receive(&mut net, &anything(2)).is_none());
}

#[test]
fn a_lease_that_runs_out_gives_the_message_to_the_next_under_the_same_name() {
    let mut net = met();
    let request = ask_for(&mut net, "lamp");
    let first = receive(&mut net, &anything(1)).unwrap();
    let before = net.agents[BOB]
        .node
        .inbox()
        .supply(net.agents[BOB].node.people().pausing().is_paused());
    net.run_for(60_000);
    assert_ne!(
        net.agents[BOB]
            .node
            .inbox()
            .supply(net.agents[BOB].node.people().pausing().is_paused()),
        before,
        "whoever waits asks again"
    );
    let second = receive(&mut net, &anything(2)).unwrap();
    assert_eq!((name_of(&second), second.tries), (request, 2));
    assert_ne!(first.lease, second.lease);
    assert_eq!(
        respond(&mut net, &first).unwrap_err(),
        LocalError::LeaseEnded
    );
    respond(&mut net, &second).unwrap();
    net.run_for(1_000);
    let taken = times_taken(&net.agents[ALICE], request);
    assert_eq!(taken, 0, "the request is Alice's own");
    let answers = net.agents[ALICE].node.inbox().after(0);
    let to_it = answers.filter(|item| item.message.headers.in_reply_to == Some(request));
    assert_eq!(to_it.count(), 1, "answered once");
}

#[test]
fn a_clock_that_jumps_ends_no_lease() {
    let mut net = met();
    ask_for(&mut net, "lamp");
    let handed = receive(&mut net, &anything(1)).unwrap();
    net.skew[BOB] = 3_600_000;
    net.run_for(10_000);
    assert!(receive(&mut net, &anything(2)).is_none());
    let at = net.at(BOB);
    assert!(
        net.agents[BOB]
            .node
            .inbox()
            .leased(at.elapsed, handed.lease)
            .is_ok()
    );
}

#[test]
fn a_lease_can_be_extended_while_it_lasts() {
    let mut net = met();
    ask_for(&mut net, "lamp");
    let handed = receive(&mut net, &anything(1)).unwrap();
    net.run_for(50_000);
    let at = net.at(BOB);
    let node = &mut net.agents[BOB].node;
    node.turn(at)
        .leases()
        .extend(handed.lease, Duration::from_secs(60))
        .unwrap();
    net.run_for(50_000);
    respond(&mut net, &handed).unwrap();
    let at = net.at(BOB);
    let node = &mut net.agents[BOB].node;
    let late = node
        .turn(at)
        .leases()
        .extend(handed.lease, Duration::from_secs(60));
    assert_eq!(late.unwrap_err(), LocalError::LeaseEnded);
}

#[test]
fn five_leases_that_ended_badly_set_the_message_aside() {
    let mut net = met();
    let request = ask_for(&mut net, "lamp");
    let next = ask_for(&mut net, "lamp");
    for tries in 1..=TRIES {
        let handed = receive(&mut net, &anything(u64::from(tries))).unwrap();
        assert_eq!((name_of(&handed), handed.tries), (request, tries));
        let at = net.at(BOB);
        let node = &mut net.agents[BOB].node;
        // A lease can end badly in three ways, and each counts as a try: its holder fails, its connection ends, or its
        // time is over.
        let outcome = match tries % 3 {
            0 => {
                node.turn(at)
                    .leases()
                    .fail(handed.lease, "no lamp", None)
                    .unwrap()
                    .1
            }
            1 => node.turn(at).leases().consumer_gone(u64::from(tries)),
            _ => {
                net.run_for(60_000);
                continue;
            }
        };
        let effects = net.agents[BOB].keep(at, outcome);
        net.perform(BOB, effects);
        if tries % 3 == 0 {
            let others = receive(&mut net, &anything(8)).unwrap();
            assert_eq!(
                name_of(&others),
                next,
                "what failed is left alone for a while"
            );
            let at = net.at(BOB);
            let gone = net.agents[BOB].node.turn(at).leases().consumer_gone(8);
            net.agents[BOB].keep(at, gone);
            net.run_for(5_000);
        }
    }
    let inbox = net.agents[BOB].node.inbox();
    assert_eq!(inbox.quarantine().named(request).count(), 1);
    let handed = receive(&mut net, &anything(9)).unwrap();
    assert_eq!(name_of(&handed), next, "one message is lost, and no more");
}

#[test]
fn a_kill_hands_it_out_again_as_another_try_under_the_same_name() {
    let mut net = met();
    let request = ask_for(&mut net, "lamp");
    let first = receive(&mut net, &anything(1)).unwrap();
    net.restart(BOB);
    assert_eq!(
        respond(&mut net, &first).unwrap_err(),
        LocalError::LeaseEnded
    );
    let second = receive(&mut net, &anything(1)).unwrap();
    assert_eq!((name_of(&second), second.tries), (request, 2));
    respond(&mut net, &second).unwrap();
    net.restart(BOB);
    assert!(receive(&mut net, &anything(1)).is_none());
    net.run_for(20_000);
    assert_eq!(
        net.agents[ALICE].node.sent().status(request).unwrap().state,
        State::Answered
    );
    assert_eq!(said(&net, request), [(Did::Started, 1), (Did::Started, 2)]);
}

#[test]
fn what_a_consumer_keeps_waits_for_somebody_s_answer_and_is_received_no_more() {
    let mut net = met();
    let request = ask_for(&mut net, "lamp");
    let handed = receive(&mut net, &anything(1)).unwrap();
    let at = net.at(BOB);
    let kept = net.agents[BOB].node.turn(at).leases().keep(handed.lease);
    let effects = net.agents[BOB].keep(at, kept.unwrap());
    net.perform(BOB, effects);
    for restarted in [false, true] {
        if restarted {
            net.restart(BOB);
        }
        assert!(receive(&mut net, &anything(2)).is_none());
    }
    net.reply(BOB, request);
    net.run_for(20_000);
    assert_eq!(
        net.agents[ALICE].node.sent().status(request).unwrap().state,
        State::Answered
    );
}

#[test]
fn consumers_share_the_work_by_capability() {
    let mut net = met();
    let lamp = ask_for(&mut net, "lamp");
    let door = ask_for(&mut net, "door");
    let wants = |name: &str, connection| Wanted {
        capabilities: Some(BTreeSet::from([name.parse().unwrap()])),
        ..anything(connection)
    };
    let handed = receive(&mut net, &wants("door", 1)).unwrap();
    assert_eq!(name_of(&handed), door);
    assert!(receive(&mut net, &wants("door", 2)).is_none());
    let handed = receive(&mut net, &wants("lamp", 2)).unwrap();
    assert_eq!(name_of(&handed), lamp);
}

#[test]
fn a_consumer_that_waits_looks_at_what_is_not_for_it_once() {
    let mut net = met();
    let lamp = ask_for(&mut net, "lamp");
    let mut door = Wanted {
        capabilities: Some(BTreeSet::from(["door".parse().unwrap()])),
        ..anything(1)
    };
    assert!(wait_on(&mut net, &mut door).is_none());
    assert!(door.looked > 0, "the lamp is behind it");
    let asked = ask_for(&mut net, "door");
    let handed = wait_on(&mut net, &mut door).unwrap();
    assert_eq!(name_of(&handed), asked);
    let before = net.agents[BOB]
        .node
        .inbox()
        .supply(net.agents[BOB].node.people().pausing().is_paused());
    respond(&mut net, &handed).unwrap();
    ask_for(&mut net, "lamp");
    let now = net.agents[BOB]
        .node
        .inbox()
        .supply(net.agents[BOB].node.people().pausing().is_paused());
    assert!(now != before && !now.has_older_than(before), "{now:?}");
    let held = receive(&mut net, &anything(2)).unwrap();
    assert_eq!(name_of(&held), lamp);
    net.run_for(60_000);
    let now = net.agents[BOB]
        .node
        .inbox()
        .supply(net.agents[BOB].node.people().pausing().is_paused());
    assert!(
        now.has_older_than(before),
        "a lease ran out: what is behind them is for them again"
    );
}

#[test]
fn a_consumer_is_handed_nothing_above_its_tier() {
    let mut net = met();
    let sealed = net.send(ALICE, BOB, Sending::Request(secret()));
    net.run_for(1_000);
    let low = Wanted {
        tier: 2,
        ..anything(1)
    };
    assert!(receive(&mut net, &low).is_none());
    let of_others = Wanted {
        peers: Some(BTreeSet::from(["agent-nobody".parse().unwrap()])),
        ..anything(1)
    };
    assert!(receive(&mut net, &of_others).is_none());
    let handed = receive(&mut net, &anything(2)).unwrap();
    assert_eq!(name_of(&handed), sealed);
    assert_eq!(handed.opened.unwrap().body, Some(json!({ "what": MARKER })));
}

#[test]
fn whoever_asked_hears_after_a_second_that_somebody_has_it() {
    let mut net = met();
    let request = ask_for(&mut net, "lamp");
    let handed = receive(&mut net, &anything(1)).unwrap();
    assert_eq!(net.agents[ALICE].node.sent().is_taken(request), Some(false));
    net.run_for(1_500);
    assert_eq!(net.agents[ALICE].node.sent().is_taken(request), Some(true));
    respond(&mut net, &handed).unwrap();
    net.run_for(1_000);
    // A request that is answered within a second costs no progress message.
    let told = net.sent_since(0, Some(Method::Progress));
    ask_for(&mut net, "lamp");
    let handed = receive(&mut net, &anything(1)).unwrap();
    net.run_for(500);
    respond(&mut net, &handed).unwrap();
    net.run_for(5_000);
    assert_eq!(net.sent_since(0, Some(Method::Progress)), told);
}

#[test]
fn a_request_whose_answer_waits_for_its_person_is_not_handed_out_again() {
    let policy = Policy {
        approve: vec![Tier::Public],
        ..Policy::default()
    };
    let mut agents = vec![
        speaking("agent-alice", "alice", Policy::default()),
        speaking("agent-bob", "bob", policy),
    ];
    crate::household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.ask(ALICE, BOB);
    net.run_for(5_000);
    let handed = receive(&mut net, &anything(1)).unwrap();
    respond(&mut net, &handed).unwrap();
    assert_eq!(
        net.agents[BOB].node.inbox().len(),
        1,
        "the person may refuse"
    );
    assert!(receive(&mut net, &anything(1)).is_none());
}

#[test]
fn the_same_call_again_is_the_same_message_and_sends_once() {
    let mut net = met();
    let first = once(&mut net, "order-1", question("milk?")).unwrap();
    assert!(!first.again);
    net.run_for(1_000);
    let again = once(&mut net, "order-1", question("milk?")).unwrap();
    assert_eq!((again.id, again.again), (first.id, true));
    net.restart(ALICE);
    let again = once(&mut net, "order-1", question("milk?")).unwrap();
    assert_eq!((again.id, again.again), (first.id, true));
    net.run_for(10_000);
    assert_eq!(times_taken(&net.agents[BOB], first.id), 1);
    let calls = net.agents[BOB].node.inbox().after(0);
    let calls = calls.filter(|item| item.message.form == Form::Call(Method::Request));
    assert_eq!(calls.count(), 1);
    let other = once(&mut net, "order-2", question("milk?")).unwrap();
    assert_ne!(other.id, first.id);
}

#[test]
fn a_key_with_another_content_is_refused_also_when_it_was_sealed_and_after_a_restart() {
    let mut net = met();
    let sealed = once(&mut net, "k", Sending::Request(secret())).unwrap();
    for restarted in [false, true] {
        if restarted {
            net.restart(ALICE);
        }
        let refused = once(&mut net, "k", question("other")).unwrap_err();
        assert_eq!(refused, LocalError::KeyReused(sealed.id));
        let again = once(&mut net, "k", Sending::Request(secret())).unwrap();
        assert!(again.again);
    }
    for (_, entry) in &net.agents[ALICE].log {
        let mut line = Vec::new();
        entry.write(&mut line);
        assert!(!String::from_utf8_lossy(&line).contains(MARKER));
    }
}

#[test]
fn what_was_refused_is_not_remembered() {
    let mut net = met();
    let too_long = Content {
        body: json!("x".repeat(300 * 1024)),
        ..Content::default()
    };
    once(&mut net, "k", Sending::Request(too_long)).unwrap_err();
    assert!(!once(&mut net, "k", question("shorter")).unwrap().again);
}

#[test]
fn a_kill_between_the_draft_and_the_message_sends_once() {
    let mut net = met();
    let (at, peer) = (net.at(ALICE), net.agents[BOB].id());
    let node = &mut net.agents[ALICE].node;
    let sent = node
        .turn(at)
        .sent()
        .send_once(&peer, question("milk?"), &key("k"))
        .unwrap();
    let lines = sent.outcome.entries.len();
    assert!(lines >= 2, "the draft, and the message");
    for kept in 0..=lines {
        let mut net = met();
        let (at, peer) = (net.at(ALICE), net.agents[BOB].id());
        let node = &mut net.agents[ALICE].node;
        let sent = node
            .turn(at)
            .sent()
            .send_once(&peer, question("milk?"), &key("k"))
            .unwrap();
        let entries = sent.outcome.entries.into_iter().take(kept);
        net.agents[ALICE]
            .log
            .extend(entries.map(|entry| (at.now, entry)));
        net.restart(ALICE);
        let at = net.at(ALICE);
        let outcome = net.agents[ALICE]
            .node
            .turn(at)
            .carriers()
            .connected(&CarrierId::NATS);
        let effects = net.agents[ALICE].keep(at, outcome);
        net.perform(ALICE, effects);
        let again = once(&mut net, "k", question("milk?")).unwrap();
        assert_eq!(again.again, kept > 0, "{kept} lines were durable");
        net.run_for(60_000);
        let calls = net.agents[BOB].node.inbox().after(0);
        let calls = calls.filter(|item| item.message.body() == Some(&json!("milk?")));
        assert_eq!(calls.count(), 1, "{kept} lines were durable");
    }
}

#[test]
fn a_key_is_forgotten_after_thirty_days() {
    let mut net = met();
    let first = once(&mut net, "k", question("milk?")).unwrap();
    let day = 24 * 3600 * 1000;
    net.run_for(29 * day);
    assert!(once(&mut net, "k", question("milk?")).unwrap().again);
    net.run_for(2 * day);
    let later = once(&mut net, "k", question("milk?")).unwrap();
    assert!(!later.again && later.id != first.id);
}

#[test]
fn a_key_is_no_text_of_any_kind() {
    for text in ["", "a b", "ä", "a\n", &"x".repeat(129)] {
        assert_eq!(
            text.parse::<CallerKey>().unwrap_err().name(),
            "key-unfit",
            "{text:?}"
        );
    }
    assert_eq!(format!("{:?}", key("secret-plan")), "CallerKey(..)");
}

#[test]
fn a_node_with_keys_and_leases_is_what_its_log_says() {
    let mut net = met();
    once(&mut net, "k", question("milk?")).unwrap();
    net.run_for(1_000);
    receive(&mut net, &anything(1)).unwrap();
    net.run_for(1_000);
    for agent in &net.agents {
        let now = agent.log.last().unwrap().0;
        let lived = agent.node.snapshot(now).rows();
        assert_eq!(agent.retold().snapshot(now).rows(), lived);
        assert_eq!(
            agent.restored(agent.log.len() / 2).snapshot(now).rows(),
            lived
        );
    }
}
