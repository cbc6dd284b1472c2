//! What a peer may say of answers that it took or refused, so that they are signed anew: it causes nothing by it.

use signet_proto::ids::MessageId;
use signet_proto::node::State;
use signet_proto::receipt::{Exception, Receipt};

use crate::anew::{forms, state};
use crate::household::forger::{receipt, talking};
use crate::household::net::{Net, message_of};

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
    // Nor when it says the same of the second form, and our clock is put back once more.
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
