//! What a peer may say of answers that it took or refused, so that they are signed anew: it causes nothing by it.

use signet_proto::ids::MessageId;
use signet_proto::node::State;
use signet_proto::receipt::{Exception, Receipt};

use crate::anew::{forms, state};
use crate::household::forger::{receipt, talking};
use crate::household::net::{Net, message_of};
use crate::household::people::{does, pause};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const ALICE: usize = 0;
const BOB: usize = 1;

/// Bob asks, and Alice answers while his node hears nothing of her and his keys say what they like. The number of the
/// answer, and its name.
fn answered_unheard(net: &mut Net, ahead: i64) -> (u64, MessageId) {
    let asked = net.ask(BOB, ALICE);
    net.run_for(SECOND);
    net.cut = Some((ALICE, BOB));
    net.skew[ALICE] = ahead;
    net.run_for(SECOND);
    net.reply(ALICE, asked);
    net.run_for(SECOND);
    let sent = net.sent.iter().map(|(_, _, bytes)| message_of(bytes));
    let mut answers = sent.filter(|message| message.headers.in_reply_to == Some(asked));
    let headers = answers.next().unwrap().headers;
    (headers.sequence.unwrap(), headers.message_id)
}

/// Bob's word that he refused that number of Alice's as from the future, signed at Alice's time.
fn calls_early(net: &mut Net, number: u64, n: u64) {
    let exception = Exception {
        reason: "timestamp-in-future".into(),
        hash: None,
    };
    let word = Receipt {
        through: number,
        hash: None,
        floor: Some(1),
        given_up: Vec::new(),
        except: vec![(number, exception)],
    };
    let word = receipt(net, n, net.at(ALICE).now, &word);
    net.put(ALICE, word, 1);
    net.run_for(SECOND);
}

#[test]
fn a_peer_that_repeats_the_refusal_of_an_answer_after_its_second_form_went_out_causes_nothing() {
    let mut net = talking();
    let (first, answer) = answered_unheard(&mut net, HOUR);
    net.skew[ALICE] = 0;
    net.run_for(2 * SECOND);
    calls_early(&mut net, first, 1);
    assert_eq!(forms(&net, answer).len(), 2);
    for n in 2..6 {
        calls_early(&mut net, first, n);
    }
    assert_eq!(forms(&net, answer).len(), 2);
    assert!(!state(&net, ALICE, answer).is_settled());
    // Bob says of the second form too that he refused it, and Alice's clock is put back once more: no third form goes
    // out.
    let second = message_of(&forms(&net, answer)[1]).headers.sequence;
    calls_early(&mut net, second.unwrap(), 7);
    let refused = State::Refused("timestamp-in-future".into());
    assert_eq!(state(&net, ALICE, answer), refused);
    for ahead in [HOUR, 0] {
        net.skew[ALICE] = ahead;
        net.run_for(2 * SECOND);
    }
    calls_early(&mut net, second.unwrap(), 8);
    calls_early(&mut net, first, 9);
    assert_eq!(forms(&net, answer).len(), 2);
}

#[test]
fn an_answer_that_a_peer_falsely_calls_early_is_not_signed_anew_when_the_clock_is_put_back_later() {
    let mut net = talking();
    let (number, answer) = answered_unheard(&mut net, 0);
    calls_early(&mut net, number, 1);
    let refused = State::Refused("timestamp-in-future".into());
    assert_eq!(state(&net, ALICE, answer), refused);
    for ahead in [HOUR, 0] {
        net.skew[ALICE] = ahead;
        net.run_for(MINUTE);
    }
    net.restart(ALICE);
    net.run_for(MINUTE);
    assert_eq!(forms(&net, answer).len(), 1);
    assert_eq!(state(&net, ALICE, answer), refused);
}

/// Bob asks so often, and Alice answers all of it while her clock is ahead and he hears nothing of her; then his keys
/// call all of it early. The names of the answers.
fn all_called_early(net: &mut Net, count: usize) -> Vec<MessageId> {
    let asked: Vec<_> = (0..count).map(|_| net.ask(BOB, ALICE)).collect();
    net.run_for(5 * SECOND);
    net.cut = Some((ALICE, BOB));
    net.skew[ALICE] = HOUR;
    net.run_for(SECOND);
    let from = net.sent.len();
    for request in asked {
        net.reply(ALICE, request);
    }
    let sent = net.sent[from..]
        .iter()
        .map(|(_, _, bytes)| message_of(bytes));
    let answers = sent.filter(|message| message.form.method().is_none());
    let answers: Vec<_> = answers
        .map(|message| {
            (
                message.headers.sequence.unwrap(),
                message.headers.message_id,
            )
        })
        .collect();
    assert_eq!(answers.len(), count);
    for (n, some) in (from as u64..).zip(answers.chunks(200)) {
        let early = || Exception {
            reason: "timestamp-in-future".into(),
            hash: None,
        };
        let word = Receipt {
            through: some.last().unwrap().0,
            hash: None,
            floor: Some(1),
            given_up: Vec::new(),
            except: some.iter().map(|(number, _)| (*number, early())).collect(),
        };
        net.run_for(SECOND);
        let word = receipt(net, n, net.at(ALICE).now, &word);
        net.put(ALICE, word, 1);
        net.run_for(SECOND);
    }
    answers.into_iter().map(|(_, name)| name).collect()
}

/// How many of these went out a second time, under another number.
fn signed_anew(net: &Net, answers: &[MessageId]) -> usize {
    let mut numbers = std::collections::BTreeSet::new();
    for (_, _, bytes) in &net.sent {
        let headers = message_of(bytes).headers;
        numbers.extend(headers.sequence.map(|number| (headers.message_id, number)));
    }
    let forms = |name: &MessageId| numbers.iter().filter(|(known, _)| known == name).count();
    answers.iter().filter(|name| forms(name) > 1).count()
}

#[test]
fn a_peer_that_calls_every_answer_early_fills_no_more_than_256_of_them() {
    let mut net = talking();
    let answers = all_called_early(&mut net, 260);
    net.skew[ALICE] = 0;
    net.run_for(2 * SECOND);
    assert_eq!(signed_anew(&net, &answers), 256);
}

#[test]
fn answers_that_expired_make_room_for_others_that_are_called_early() {
    let mut net = talking();
    let expired = all_called_early(&mut net, 256);
    net.run_for(4 * 24 * HOUR);
    net.cut = None;
    let later = all_called_early(&mut net, 2);
    net.skew[ALICE] = 0;
    net.run_for(2 * SECOND);
    assert_eq!(signed_anew(&net, &later), 2);
    assert_eq!(signed_anew(&net, &expired), 0);
}

#[test]
fn an_answer_that_was_signed_before_the_clock_went_wrong_is_not_signed_anew_for_a_false_word() {
    let mut net = talking();
    let (number, answer) = answered_unheard(&mut net, 0);
    for ahead in [HOUR, 0] {
        net.skew[ALICE] = ahead;
        net.run_for(MINUTE);
    }
    calls_early(&mut net, number, 1);
    net.run_for(MINUTE);
    assert_eq!(forms(&net, answer).len(), 1);
}

/// While her person pauses nothing leaves; by then the time of the answer has come.
#[test]
fn an_answer_that_was_refused_is_signed_anew_after_a_pause_in_which_the_clock_was_put_back() {
    let mut net = talking();
    let (number, answer) = answered_unheard(&mut net, HOUR);
    calls_early(&mut net, number, 1);
    let paused = |paused, serial| pause("alice", paused, serial);
    does(&mut net, ALICE, |node, at| {
        node.turn(at).people().pause(&paused(true, 1)).unwrap()
    });
    net.skew[ALICE] = 0;
    net.run_for(2 * HOUR);
    assert_eq!(forms(&net, answer).len(), 1);
    does(&mut net, ALICE, |node, at| {
        node.turn(at).people().pause(&paused(false, 2)).unwrap()
    });
    does(&mut net, ALICE, |node, at| node.turn(at).handle_timeout());
    assert_eq!(forms(&net, answer).len(), 2);
}

/// A clock that is put right in steps too small to be noticed.
#[test]
fn an_answer_whose_time_is_far_ahead_of_a_clock_that_crept_back_is_signed_anew() {
    let mut net = talking();
    let (number, answer) = answered_unheard(&mut net, 110 * SECOND);
    calls_early(&mut net, number, 1);
    for ahead in [55 * SECOND, 0] {
        assert_eq!(forms(&net, answer).len(), 1);
        net.skew[ALICE] = ahead;
        does(&mut net, ALICE, |node, at| node.turn(at).handle_timeout());
    }
    assert_eq!(forms(&net, answer).len(), 2);
}
