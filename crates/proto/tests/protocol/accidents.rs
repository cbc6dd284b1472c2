//! Accidents: answers and drafts that wait for a person while the world changes, work handed over
//! twice, and secrets that somebody sends in clear.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
use signet_proto::draft::Identity;
use signet_proto::entry::{Entry, Evidence, TrustChange};
use signet_proto::envelope::Method;
use signet_proto::handoff::{Limits, TaskState};
use signet_proto::headers::Tier;
use signet_proto::ids::MessageId;
use signet_proto::node::{Content, Declining, Handing, Judged, LocalError, Sending, State};
use signet_proto::policy::Policy;
use signet_proto::statement::Decision;

use crate::forge::{envelope, headers, message, read, sign};
use crate::household::net::{Net, times_taken};
use crate::household::people::{decision, does, remembered, states};
use crate::household::tasks::{ALICE, BOB, CAROL, accept, given, hand, handing, household};
use crate::household::{self, Agent, at, identity, key};
use crate::leases_and_keys::anything;

/// Alice (0), whose person wants to see what `approve` says, and Bob (1).
fn acquainted(approve: Vec<Tier>) -> (Net, Rc<RefCell<Policy>>) {
    let policy = Rc::new(RefCell::new(Policy {
        approve,
        ..Policy::default()
    }));
    let read = Rc::clone(&policy);
    let alice = move || (identity("agent-alice", "alice"), read.borrow().clone());
    let (mut alice, mut bob) = (Agent::with(alice), Agent::new("agent-bob", "bob"));
    alice.knows(&bob);
    bob.knows(&alice);
    (Net::new(vec![alice, bob], 1), policy)
}

fn talking() -> Net {
    let (mut net, _) = acquainted(vec![Tier::Restricted]);
    net.ask(0, 1);
    net.run_for(10_000);
    net
}

fn of_tier(tier: u8) -> Content {
    Content {
        body: json!("for Bob's eyes"),
        data_tier: Tier::parse(tier).ok(),
        ..Content::default()
    }
}

/// What Alice's node says of an answer.
fn answers(
    net: &mut Net,
    request: MessageId,
    answer: Result<Content, Declining>,
) -> Result<MessageId, LocalError> {
    let at = net.at(0);
    let node = &mut net.agents[0].node;
    let (name, outcome) = node.turn(at).sent().reply(None, request, answer)?;
    let effects = net.agents[0].keep(at, outcome);
    net.perform(0, effects);
    net.run_for(5_000);
    Ok(name)
}

fn decides(net: &mut Net, draft: MessageId, word: Decision) {
    let said = decision(&net.agents[0], draft, word);
    does(net, 0, |node, at| {
        node.turn(at).drafts().decide(&said).unwrap().1
    });
    net.run_for(5_000);
}

/// What waits in Alice's inbox.
fn waiting(net: &Net) -> Vec<MessageId> {
    let items = net.agents[0].node.inbox().after(0);
    items.map(|item| item.message.headers.message_id).collect()
}

#[test]
fn a_request_whose_answer_was_refused_can_be_answered_again() {
    let mut net = talking();
    let asked = net.ask(1, 0);
    net.run_for(5_000);
    let draft = answers(&mut net, asked, Ok(of_tier(4))).unwrap();
    for restart in [false, true] {
        if restart {
            net.restart(0);
        }
        assert_eq!(waiting(&net), [asked], "restart: {restart}");
        remembered(&net);
    }
    decides(&mut net, draft, Decision::Refused);
    let refused = State::RefusedHere("not-approved".into());
    assert_eq!(states(&net, 0, draft), [refused]);
    assert_eq!(waiting(&net), [asked]);
    let milder = answers(&mut net, asked, Ok(of_tier(1))).unwrap();
    assert_eq!(times_taken(&net.agents[1], milder), 1);
    assert_eq!(waiting(&net), []);
    remembered(&net);
}

#[test]
fn a_program_that_waits_is_handed_the_request_whose_answer_was_refused_or_ended() {
    for refused in [true, false] {
        let mut net = talking();
        let asked = net.ask(1, 0);
        net.run_for(5_000);
        let draft = answers(&mut net, asked, Ok(of_tier(4))).unwrap();
        let mut wanted = anything(1);
        let at = net.at(0);
        let (handed, _) = (net.agents[0].node.turn(at).leases()).receive(&mut wanted);
        assert!(handed.is_none(), "its answer waits for the person");
        assert!(wanted.looked > 0, "the program has looked past it");
        let before = net.agents[0].node.inbox().supply(false);
        if refused {
            decides(&mut net, draft, Decision::Refused);
        } else {
            let at = net.at(0);
            let (_, outcome) = (net.agents[0].node.turn(at).drafts())
                .take_back(draft)
                .unwrap();
            let effects = net.agents[0].keep(at, outcome);
            net.perform(0, effects);
        }
        let now = net.agents[0].node.inbox().supply(false);
        assert!(now.has_older_than(before), "it has to look again");
        wanted.looked = 0;
        let at = net.at(0);
        let (handed, _) = (net.agents[0].node.turn(at).leases()).receive(&mut wanted);
        assert_eq!(handed.unwrap().message.headers.message_id, asked);
    }
}

#[test]
fn an_answer_to_another_agent_s_request_of_that_name_waits_for_nothing() {
    let mut net = talking();
    let asked = net.ask(1, 0);
    net.run_for(5_000);
    let (at, stranger) = (net.at(0), "agent-carol".parse().unwrap());
    let mut turn = net.agents[0].node.turn(at);
    let answer = turn.sent().reply(Some(&stranger), asked, Ok(of_tier(1)));
    // Carol sent no request of that name: to say which sender is meant would not help.
    assert_eq!(answer.unwrap_err(), LocalError::NotWaiting(asked));
}

#[test]
fn a_second_answer_while_the_first_waits_for_its_person_is_none() {
    let mut net = talking();
    let asked = net.ask(1, 0);
    net.run_for(5_000);
    let draft = answers(&mut net, asked, Ok(of_tier(4))).unwrap();
    for second in [Ok(of_tier(4)), Ok(of_tier(1)), Err("no".into())] {
        let error = answers(&mut net, asked, second).unwrap_err();
        assert_eq!(error, LocalError::AnswerWaits(asked));
    }
    decides(&mut net, draft, Decision::Approved);
    assert_eq!(times_taken(&net.agents[1], draft), 1);
    assert_eq!(waiting(&net), [], "answered");
    let late = answers(&mut net, asked, Ok(of_tier(1))).unwrap_err();
    assert_eq!(late, LocalError::NotWaiting(asked));
    remembered(&net);
}

#[test]
fn a_draft_of_before_its_person_asked_to_see_its_tier_does_not_leave() {
    let (mut net, policy) = acquainted(Vec::new());
    net.cut = Some((0, 1));
    let [secret, plain] = [4, 1].map(|tier| net.send(0, 1, Sending::Notification(of_tier(tier))));
    net.run_for(60_000);
    assert_eq!(net.agents[0].node.sent().drafts().count(), 2);
    policy.borrow_mut().approve = vec![Tier::Restricted];
    net.restart(0);
    net.cut = None;
    net.run_for(3_600_000);
    let refused = State::RefusedHere("not-approved".into());
    assert_eq!(states(&net, 0, secret), [refused]);
    let taken = |name| times_taken(&net.agents[1], name);
    assert_eq!([secret, plain].map(taken), [0, 1]);
    remembered(&net);
}

fn on(task: signet_proto::handoff::TaskId) -> Sending {
    let limits = Limits {
        depth: Some(1),
        ..handing("").limits
    };
    Sending::Handoff(Box::new(Handing {
        limits,
        parent: Some(task),
        ..handing("Ask them")
    }))
}

#[test]
fn work_handed_over_twice_to_the_same_peer_does_not_take_its_own_place() {
    let mut net = household();
    let task = hand(&mut net, ALICE, BOB, handing("Find an evening"));
    accept(&mut net, BOB, task);
    let twice = |net: &mut Net| {
        let (at, carol) = (net.at(BOB), net.agents[CAROL].id());
        let node = &mut net.agents[BOB].node;
        node.turn(at).sent().send(&carol, on(task)).map(drop)
    };
    net.send(BOB, CAROL, on(task));
    for state in [TaskState::Offered, TaskState::Accepted] {
        let error = twice(&mut net).unwrap_err();
        assert_eq!(error, LocalError::TaskStands(task, state));
        net.run_for(5_000);
        if state == TaskState::Offered {
            accept(&mut net, CAROL, task);
        }
    }
    assert_eq!(net.agents[BOB].node.tasks().given(task).count(), 1);
    assert_eq!(given(&net, BOB, task), TaskState::Accepted);
    household::tasks::reports(&mut net, CAROL, task, TaskState::Failed);
    twice(&mut net).unwrap();
}

const MARKER: &str = "the diagnosis";

/// A request to Bob, in clear, that says of itself that it has that tier.
fn bare(from: &Identity, tier: u8, signer: &str) -> Vec<u8> {
    let mut value: Value = message(from, "agent-bob", Method::Request, "bare", 0);
    headers(&mut value).insert("data-tier".into(), tier.into());
    envelope(&mut value).insert("body".into(), json!({ "what": MARKER }));
    let bytes = sign(value, &key(signer));
    assert_eq!(headers(&mut read(&bytes))["data-tier"], tier);
    bytes
}

/// Bob's node, his refusal, and how many of the bytes its line kept.
fn kept(bytes: &[u8]) -> (&'static str, usize) {
    let mut bob = Agent::new("agent-bob", "bob");
    bob.knows(&Agent::new("agent-alice", "alice"));
    assert!(
        bob.log.len() == 1
            && matches!(&bob.log[0].1, Entry::Trust(line) if line.change == TrustChange::Bound)
    );
    bob.hear(at(0), bytes);
    let (_, entry) = bob.log.last().unwrap();
    let Entry::Message(verdict) = entry else {
        panic!("every input has its verdict")
    };
    let Evidence::Raw(head, _) = &verdict.evidence else {
        panic!("nothing is proven of it")
    };
    (bob.refusals()[0], head.len())
}

#[test]
fn secrets_that_somebody_unproven_sends_in_clear_leave_no_words_in_the_log() {
    let eve = identity("agent-eve", "eve");
    let alice = identity("agent-alice", "alice");
    let (true_key, false_key) = (
        "signing key 1 of agent-eve",
        "signing key 1 of agent-mallory",
    );
    for (from, signer, reason) in [
        (&eve, true_key, "agent-unknown"),
        (&alice, false_key, "signature-invalid"),
    ] {
        for tier in [3, 4] {
            assert_eq!(kept(&bare(from, tier, signer)), (reason, 0), "tier {tier}");
        }
        let plain = bare(from, 2, signer);
        assert_eq!(kept(&plain), (reason, plain.len()), "which may be kept");
    }
}

#[test]
fn nor_do_they_in_a_flood() {
    let mut bob = Agent::new("agent-bob", "bob");
    bob.knows(&Agent::new("agent-alice", "alice"));
    let alice = identity("agent-alice", "alice");
    let bytes = bare(&alice, 3, "signing key 1 of agent-mallory");
    let judged = Judged::of_peers(&bytes, bob.node.trust());
    let outcome = bob.node.turn(at(0)).handle_inbound(judged);
    let [Entry::Message(verdict)] = &outcome.entries[..] else {
        panic!("{:?}", outcome.entries)
    };
    assert!(matches!(&verdict.evidence, Evidence::Raw(head, _) if head.is_empty()));
}
