//! Answers that a peer refused because our clock was ahead: signed anew when it was put back, once each, and
//! never so that both forms are taken.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use signet_proto::handoff::TaskState;
use signet_proto::headers::Tier;
use signet_proto::ids::{MessageId, Version};
use signet_proto::node::{Sending, State};
use signet_proto::policy::Policy;
use signet_proto::reject::Reason;

use crate::household::forger::{hear, talking};
use crate::household::net::{Net, message_of, times_taken};
use crate::household::people::{does, remembered};
use crate::household::{Agent, identity_with, sealing, tasks};
use crate::progress_and_offers::speaking;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const ALICE: usize = 0;
const BOB: usize = 1;

/// Alice asks, and Bob answers while his clock is so far ahead.
fn answered_ahead(ahead: i64) -> (Net, MessageId, MessageId) {
    let mut net = talking();
    let asked = net.ask(ALICE, BOB);
    net.run_for(SECOND);
    net.skew[BOB] = ahead;
    net.run_for(SECOND);
    net.reply(BOB, asked);
    net.run_for(4 * SECOND);
    let sent = net.sent.iter().map(|(_, _, bytes)| message_of(bytes));
    let mut answers = sent.filter(|message| {
        message.form.method().is_none() && message.headers.in_reply_to == Some(asked)
    });
    let answer = answers.next().unwrap().headers.message_id;
    drop(answers);
    (net, asked, answer)
}

/// The forms in which a message went out.
pub(crate) fn forms(net: &Net, name: MessageId) -> Vec<Arc<[u8]>> {
    let mut forms: Vec<Arc<[u8]>> = Vec::new();
    for (_, _, bytes) in &net.sent {
        if message_of(bytes).headers.message_id == name && !forms.contains(bytes) {
            forms.push(Arc::clone(bytes));
        }
    }
    forms
}

pub(crate) fn state(net: &Net, who: usize, name: MessageId) -> State {
    net.agents[who].node.sent().status(name).unwrap().state
}

#[test]
fn an_answer_refused_while_the_clock_was_ahead_for_four_seconds_arrives_when_it_is_right() {
    let (mut net, asked, answer) = answered_ahead(HOUR);
    let refused = State::Refused("timestamp-in-future".into());
    assert_eq!(state(&net, BOB, answer), refused);
    let shown = net.agents[ALICE].node.sent().status(asked).unwrap();
    assert_eq!(
        (shown.state, shown.answer_refused),
        (State::Received, Some(Reason::TimestampInFuture)),
        "Alice can see that there was an answer"
    );
    net.skew[BOB] = 0;
    net.run_for(2 * SECOND);
    assert_eq!(state(&net, ALICE, asked), State::Answered);
    assert_eq!(state(&net, BOB, answer), State::Received);
    let shown = net.agents[ALICE].node.sent().status(asked).unwrap();
    assert_eq!(shown.answer_refused, None);
    remembered(&net);
    // Alice takes neither form of the answer once more: not when the time that the first form bears has come, and not
    // after a restart.
    let forms = forms(&net, answer);
    assert_eq!(forms.len(), 2);
    for wait in [0, 2 * HOUR, DAY] {
        net.run_for(wait);
        net.restart(ALICE);
        for form in &forms {
            assert_eq!(hear(&mut net, ALICE, form).0, Some("duplicate"));
        }
    }
    assert_eq!(times_taken(&net.agents[ALICE], answer), 1);
}

#[test]
fn an_answer_whose_refusal_is_heard_two_hours_after_the_clock_was_right_again_arrives() {
    for restarts in [false, true] {
        let mut net = talking();
        let asked = net.ask(ALICE, BOB);
        net.run_for(SECOND);
        net.skew[BOB] = HOUR;
        net.run_for(SECOND);
        // Nothing of Alice's reaches Bob: he hears of the refusal only after his clock is right again.
        net.cut = Some((ALICE, BOB));
        net.reply(BOB, asked);
        net.run_for(4 * SECOND);
        net.skew[BOB] = 0;
        net.run_for(2 * HOUR);
        remembered(&net);
        if restarts {
            net.restart(BOB);
        }
        net.cut = None;
        net.run_for(10 * MINUTE);
        assert_eq!(state(&net, ALICE, asked), State::Answered);
        let answer = net.sent.iter().map(|(_, _, bytes)| message_of(bytes));
        let mut answer = answer.filter(|message| message.headers.in_reply_to == Some(asked));
        let answer = answer.next().unwrap().headers.message_id;
        assert_eq!(forms(&net, answer).len(), 2);
        assert_eq!(times_taken(&net.agents[ALICE], answer), 1);
        assert_eq!(state(&net, BOB, answer), State::Received);
        remembered(&net);
    }
}

#[test]
fn an_answer_that_is_refused_twice_is_not_signed_a_third_time() {
    let (mut net, asked, answer) = answered_ahead(2 * HOUR);
    net.skew[BOB] = HOUR;
    net.run_for(10 * SECOND);
    assert_eq!(forms(&net, answer).len(), 2);
    for back in [HOUR / 2, HOUR / 4, 0] {
        net.skew[BOB] = back;
        net.restart(BOB);
        net.run_for(10 * MINUTE);
    }
    assert_eq!(forms(&net, answer).len(), 2);
    let refused = State::Refused("timestamp-in-future".into());
    assert_eq!(state(&net, BOB, answer), refused);
    assert_eq!(state(&net, ALICE, asked), State::Received);
    remembered(&net);
}

#[test]
fn a_refused_answer_is_signed_anew_after_a_start_too() {
    let (mut net, asked, answer) = answered_ahead(HOUR);
    net.restart(BOB);
    net.run_for(SECOND);
    assert_eq!(forms(&net, answer).len(), 1);
    net.skew[BOB] = 0;
    net.restart(BOB);
    net.restart(ALICE);
    net.run_for(20 * SECOND);
    assert_eq!(state(&net, ALICE, asked), State::Answered);
    assert_eq!(times_taken(&net.agents[ALICE], answer), 1);
    remembered(&net);
}

/// Whose clock is wrong, a peer cannot say: while ours is not put back, nothing is signed anew.
#[test]
fn a_peer_that_calls_every_answer_early_causes_nothing() {
    let mut net = talking();
    let asked = net.ask(ALICE, BOB);
    net.run_for(SECOND);
    net.skew[ALICE] = -HOUR;
    net.run_for(SECOND);
    net.reply(BOB, asked);
    net.run_for(HOUR / 2);
    let answers = net.sent.iter().filter(|(_, who, bytes)| {
        *who == BOB && message_of(bytes).headers.in_reply_to == Some(asked)
    });
    let forms: std::collections::BTreeSet<_> = answers.map(|(_, _, bytes)| bytes).collect();
    assert_eq!(forms.len(), 1);
}

/// A request ends with its refusal: its failure said so, and its agent asks again.
#[test]
fn a_request_refused_for_the_clock_has_ended_and_its_name_is_used() {
    let mut net = talking();
    net.skew[ALICE] = HOUR;
    net.run_for(SECOND);
    let asked = net.ask(ALICE, BOB);
    net.run_for(4 * SECOND);
    net.skew[ALICE] = 0;
    net.run_for(MINUTE);
    assert_eq!(forms(&net, asked).len(), 1);
    let refused = State::Refused("timestamp-in-future".into());
    assert_eq!(state(&net, ALICE, asked), refused);
}

#[test]
fn a_sealed_answer_is_signed_anew_around_the_same_box() {
    let mut net = sealing::talking();
    let asked = net.send(ALICE, BOB, Sending::Request(sealing::secret()));
    net.run_for(SECOND);
    net.skew[BOB] = HOUR;
    net.run_for(SECOND);
    net.reply(BOB, asked);
    net.run_for(4 * SECOND);
    net.skew[BOB] = 0;
    net.run_for(2 * SECOND);
    assert_eq!(state(&net, ALICE, asked), State::Answered);
    let sent = net.sent.iter().filter(|(_, who, _)| *who == BOB);
    let sent = sent.map(|(_, _, bytes)| message_of(bytes));
    let answers = sent.filter(|message| message.headers.in_reply_to == Some(asked));
    let boxes: Vec<_> = answers.map(|answer| answer.sealed.unwrap()).collect();
    assert!(boxes.len() == 2 && boxes[0] == boxes[1]);
}

#[test]
fn a_report_on_a_task_refused_for_the_clock_reaches_whoever_gave_it() {
    let mut net = tasks::household();
    let task = tasks::hand(&mut net, ALICE, BOB, tasks::handing("dinner"));
    net.run_for(SECOND);
    tasks::accept(&mut net, BOB, task);
    net.run_for(SECOND);
    net.skew[BOB] = HOUR;
    net.run_for(SECOND);
    tasks::reports(&mut net, BOB, task, TaskState::Completed);
    net.run_for(4 * SECOND);
    assert_eq!(tasks::given(&net, ALICE, task), TaskState::Accepted);
    net.skew[BOB] = 0;
    net.run_for(2 * SECOND);
    assert_eq!(tasks::given(&net, ALICE, task), TaskState::Completed);
    remembered(&net);
}

/// Its box was made for that session, and both sides still have it.
#[test]
fn a_refused_answer_goes_into_its_own_session_though_there_is_a_newer_one() {
    let mut net = talking();
    let asked = net.ask(ALICE, BOB);
    net.run_for(SECOND);
    net.cut = Some((BOB, ALICE));
    net.skew[BOB] = HOUR;
    net.run_for(SECOND);
    net.reply(BOB, asked);
    net.run_for(SECOND);
    net.skew[BOB] = 0;
    net.run_for(SECOND);
    net.cut = None;
    let newest = |net: &Net| {
        let alice = net.agents[ALICE].id();
        let standing = net.agents[BOB].node.standing(&alice, net.at(BOB).now);
        standing.session
    };
    let before = newest(&net);
    does(&mut net, BOB, |node, at| {
        let policy = Policy {
            tier: Tier::Sensitive,
            ..Policy::default()
        };
        node.turn(at).me().change_policy(policy).0
    });
    net.run_for(MINUTE);
    assert_ne!(newest(&net), before);
    assert_eq!(state(&net, ALICE, asked), State::Answered);
    let sent = net.sent.iter().map(|(_, _, bytes)| message_of(bytes));
    let answers = sent.filter(|message| message.headers.in_reply_to == Some(asked));
    let places: Vec<_> = answers
        .map(|answer| (answer.headers.session, answer.headers.sequence))
        .collect();
    let (first, last) = (places.first().unwrap(), places.last().unwrap());
    assert!(first.1 != last.1 && first.0 == last.0, "{places:?}");
}

/// Its session is of the version that both spoke when it began.
#[test]
fn a_refused_answer_goes_into_its_own_session_though_the_newest_is_of_a_newer_version() {
    let versions = Rc::new(RefCell::new((1, vec![Version::CURRENT])));
    let shared = Rc::clone(&versions);
    let alice = Agent::with(move || {
        let identity = identity_with("agent-alice", "alice", 1, |request| {
            (request.serial, request.versions) = shared.borrow().clone();
        });
        (identity, Policy::default())
    });
    let bob = speaking("agent-bob", "bob", &Version::SPOKEN, Policy::default());
    let mut agents = vec![alice, bob];
    sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    let asked = net.ask(ALICE, BOB);
    net.run_for(10 * SECOND);
    net.cut = Some((BOB, ALICE));
    net.skew[BOB] = HOUR;
    net.run_for(SECOND);
    net.reply(BOB, asked);
    net.run_for(SECOND);
    net.skew[BOB] = 0;
    net.run_for(SECOND);
    net.cut = None;
    let spoken = |net: &Net| {
        let (alice, now) = (net.agents[ALICE].id(), net.at(BOB).now);
        let session = net.agents[BOB].node.peers().session(&alice, now);
        session.unwrap().version
    };
    assert_eq!(spoken(&net), Version::CURRENT);
    *versions.borrow_mut() = (2, Version::SPOKEN.to_vec());
    net.restart(ALICE);
    net.run_for(MINUTE);
    assert_eq!(spoken(&net), Version::PROGRESS);
    assert_eq!(state(&net, ALICE, asked), State::Answered);
    let refused = net.agents[ALICE].refusals();
    assert!(
        refused.iter().all(|why| *why == "timestamp-in-future"),
        "{refused:?}"
    );
}
