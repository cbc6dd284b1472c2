//! What arrives after something that was signed later: a flight of a former handshake, a receipt of a former time.

use std::sync::Arc;

use signet_proto::entry::Alarm;
use signet_proto::envelope::Method;
use signet_proto::ids::MessageId;
use signet_proto::node::{Lost, State};
use signet_proto::receipt::Receipt;

use crate::household::forger::{hear, receipt, session_of};
use crate::household::net::{Net, message_of};
use crate::household::people::remembered;
use crate::household::{alice_and_bob, at, published};

const HOUR: i64 = 3_600_000;
const ALICE: usize = 0;
const BOB: usize = 1;

/// The first message of an agent by that method since `from`, which has to come within a minute.
fn next(net: &mut Net, who: usize, method: Method, from: i64) -> Arc<[u8]> {
    for _ in 0..60_000 {
        let mut sent = net
            .sent
            .iter()
            .filter(|(ms, by, _)| *ms >= from && *by == who);
        let found = sent.find(|(_, _, bytes)| message_of(bytes).form.method() == Some(method));
        if let Some((_, _, bytes)) = found {
            return Arc::clone(bytes);
        }
        net.run_for(1);
    }
    panic!("no {method:?}")
}

/// Alice asked, and has a session by Bob's flight 4; nothing that she says in it reaches him.
fn unconfirmed() -> Net {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(ALICE, BOB);
    next(&mut net, BOB, Method::Trust, 0);
    net.cut = Some((ALICE, BOB));
    net.run_for(1_000);
    net
}

#[test]
fn a_repeated_fourth_flight_is_answered_in_the_session_that_it_opened_and_in_no_newer_one() {
    let mut net = unconfirmed();
    let (first, from) = (session_of(&net), net.now);
    let opened = next(&mut net, BOB, Method::Trust, 0);
    // Bob has a message for Alice and has heard no word of hers in the session: he begins a new handshake, and its
    // flight 4 is lost.
    net.ask(BOB, ALICE);
    next(&mut net, BOB, Method::Announce, from);
    let answer = next(&mut net, ALICE, Method::Verify, from);
    net.put(BOB, answer, 1);
    next(&mut net, ALICE, Method::Trust, from);
    net.run_for(2_500);
    let (reason, effects) = hear(&mut net, ALICE, &opened);
    assert_eq!(reason, Some("duplicate"));
    let [(_, answer)] = published(&effects).try_into().unwrap();
    let headers = message_of(&answer).headers;
    assert_eq!(headers.session, Some(first));
    assert_eq!(hear(&mut net, BOB, &answer).0, None, "Bob holds it");
    assert_eq!(session_of(&net), first);
}

/// Bob's receipt, signed when his clock was that far from Alice's.
fn says(net: &mut Net, n: u64, off: i64, through: u64) {
    let body = Receipt {
        through,
        ..Receipt::default()
    };
    let bytes = receipt(net, n, at(net.now + off).now, &body);
    assert_eq!(hear(net, ALICE, &bytes).0, None);
}

/// Alice's three messages, of which Bob's node has told nothing.
fn three() -> (Net, [MessageId; 3]) {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], 1);
    let first = net.ask(ALICE, BOB);
    next(&mut net, BOB, Method::Trust, 0);
    net.run_for(1);
    net.cut = Some((BOB, ALICE));
    net.run_for(10_000);
    let names = [first, net.ask(ALICE, BOB), net.ask(ALICE, BOB)];
    net.run_for(1_000);
    (net, names)
}

fn states(net: &Net, names: [MessageId; 3]) -> [State; 3] {
    names.map(|name| net.agents[ALICE].node.sent().status(name).unwrap().state)
}

fn rings(net: &Net) -> Vec<Alarm> {
    let alarms = net.agents[ALICE].node.alarms();
    alarms.keys().map(|(what, _)| *what).collect()
}

#[test]
fn a_receipt_of_before_its_signers_clock_was_put_back_that_comes_last_rings_nothing() {
    let (mut net, names) = three();
    says(&mut net, 1, -HOUR / 2, 2);
    says(&mut net, 2, -5_000, 1);
    assert_eq!(rings(&net), []);
    let [first, second, third] = states(&net, names);
    assert_eq!((first, second), (State::Received, State::Received));
    assert_eq!(third, State::Queued);
    // The late receipt changes nothing: the next one that Bob signs settles the third message.
    net.run_for(1_000);
    says(&mut net, 3, -HOUR / 2, 3);
    assert_eq!(states(&net, names)[2], State::Received);
    remembered(&net);
}

#[test]
fn a_receipt_that_says_less_rings_where_no_clock_can_have_been_put_back_in_between() {
    // Bob signs both receipts by the same wrong clock, or the first by a clock that is as far behind as a handshake
    // lets it be, or both by a right clock.
    for (before, after) in [(-HOUR / 2, -HOUR / 2), (-590_000, -1_000), (0, 0)] {
        let (mut net, names) = three();
        says(&mut net, 1, before, 2);
        net.run_for(1_000);
        says(&mut net, 2, after, 1);
        assert_eq!(rings(&net), [Alarm::PeerRestored], "{before} {after}");
        let lost = State::Unknown(Lost::RestoredBackup);
        assert_eq!(states(&net, names)[2], lost);
        remembered(&net);
    }
}
