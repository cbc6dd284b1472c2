//! Whom a start and a new connection tell how far we are: peers with something open, and at a start the newest sixteen.

use std::time::Duration;

use signet_proto::carrier::CarrierId;
use signet_proto::entry::Alarm;
use signet_proto::envelope::Method;
use signet_proto::ids::MessageId;
use signet_proto::node::{Content, Sending, State};

use crate::household::Agent;
use crate::household::forger::talking;
use crate::household::net::{Net, message_of};
use crate::household::people::{does, states};

pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 60 * MINUTE;
const PEERS: usize = 100;
/// So many hear of a start although nothing is open.
const TOLD_AT_START: usize = 16;

pub fn tells(net: &mut Net, who: usize, to: usize) -> MessageId {
    net.send(who, to, Sending::Notification(Content::default()))
}

pub fn disconnects(net: &mut Net, who: usize) {
    let elapsed = net.at(who).elapsed;
    net.agents[who]
        .node
        .handle_disconnected(&CarrierId::NATS, elapsed);
}

pub fn connects(net: &mut Net, who: usize) {
    does(net, who, |node, at| {
        node.turn(at).carriers().connected(&CarrierId::NATS)
    });
    does(net, who, |node, at| {
        node.turn(at).carriers().drained(&CarrierId::NATS)
    });
}

/// An agent loses its connection for so long, and has it again.
pub fn is_away(net: &mut Net, who: usize, span: i64) {
    disconnects(net, who);
    net.run_for(span);
    connects(net, who);
    net.run_for(MINUTE);
}

/// A start, and then a connection.
pub fn starts(net: &mut Net, who: usize) {
    net.restart(who);
    disconnects(net, who);
    net.run_for(1_000);
    connects(net, who);
    net.run_for(MINUTE);
}

/// Everybody that an agent wrote to since `from`, and how many messages that were; and the lines that it wrote.
fn said(net: &Net, who: usize, from: i64, lines: usize) -> (Vec<String>, usize, usize) {
    let since = net
        .sent
        .iter()
        .filter(|(ms, by, _)| *ms >= from && *by == who);
    let mut to: Vec<_> = since
        .map(|(_, _, bytes)| message_of(bytes).headers.recipient_id.to_string())
        .collect();
    let messages = to.len();
    to.sort_unstable();
    to.dedup();
    (to, messages, net.agents[who].log.len() - lines)
}

/// Alice (0), who has spoken with so many peers, and they with her, one after the other.
fn crowd(peers: usize) -> Net {
    let mut alice = Agent::new("agent-alice", "alice");
    alice.asks_everybody = false;
    let mut agents = Vec::new();
    for n in 1..=peers {
        let mut peer = Agent::new(&format!("agent-peer-{n:03}"), &format!("peer-{n:03}"));
        peer.knows(&alice);
        alice.knows(&peer);
        agents.push(peer);
    }
    agents.insert(0, alice);
    let mut net = Net::new(agents, 1);
    connects(&mut net, 0);
    for peer in 1..=peers {
        tells(&mut net, 0, peer);
        net.run_for(1_000);
    }
    net.run_for(10_000);
    for peer in 1..=peers {
        tells(&mut net, peer, 0);
        net.run_for(100);
    }
    net.run_for(HOUR);
    net
}

#[test]
fn of_a_hundred_peers_with_nothing_open_none_hears_of_a_reconnect_and_the_newest_sixteen_of_a_start()
 {
    let mut net = crowd(PEERS);
    let (from, lines) = (net.now, net.agents[0].log.len());
    is_away(&mut net, 0, 30_000);
    let (_, messages, written) = said(&net, 0, from, lines);
    assert_eq!((messages, written), (0, 0), "a reconnect");
    let (from, lines) = (net.now, net.agents[0].log.len());
    starts(&mut net, 0);
    let (to, messages, written) = said(&net, 0, from, lines);
    let newest = PEERS - TOLD_AT_START + 1..=PEERS;
    let newest: Vec<_> = newest.map(|n| format!("agent-peer-{n:03}")).collect();
    assert_eq!(to, newest, "a start");
    assert_eq!((messages, written), (TOLD_AT_START, TOLD_AT_START));
    net.run_for(HOUR);
    let (from, lines) = (net.now, net.agents[0].log.len());
    is_away(&mut net, 0, 30_000);
    let (_, messages, written) = said(&net, 0, from, lines);
    assert_eq!((messages, written), (0, 0), "a reconnect after it");
    assert_eq!(net.agents[0].node.inbox().len(), PEERS);
}

#[test]
fn of_a_hundred_peers_one_that_has_not_receipted_something_hears_of_a_reconnect_and_of_a_start() {
    let mut net = crowd(PEERS);
    net.cut = Some((0, 7));
    let name = tells(&mut net, 0, 7);
    net.run_for(HOUR);
    let (from, lines) = (net.now, net.agents[0].log.len());
    is_away(&mut net, 0, 30_000);
    let (to, _, written) = said(&net, 0, from, lines);
    assert_eq!(to, ["agent-peer-007"], "a reconnect");
    assert_eq!(
        written, 1,
        "its receipt; a message that goes again is no line"
    );
    let (from, lines) = (net.now, net.agents[0].log.len());
    starts(&mut net, 0);
    let (to, _, written) = said(&net, 0, from, lines);
    assert!(to.contains(&"agent-peer-007".to_owned()), "a start: {to:?}");
    assert!(written <= 2 + TOLD_AT_START, "{written}");
    net.cut = None;
    is_away(&mut net, 0, 30_000);
    assert_eq!(states(&net, 0, name), [State::Received]);
}

#[test]
fn what_was_judged_before_a_kill_and_not_receipted_is_receipted_at_the_start() {
    for by_rows in [false, true] {
        let mut net = talking();
        net.run_for(HOUR);
        tells(&mut net, 0, 1);
        let before = net.agents[1].log.len();
        while net.agents[1].log.len() == before {
            net.run_for(1);
        }
        net.run_for(10);
        // The message is in the log; the receipt is not.
        net.agents[1].log.truncate(before + 1);
        let from = net.now;
        if by_rows {
            let at = net.at(1);
            net.agents[1].node = net.agents[1].restored(before + 1);
            let outcome = net.agents[1].node.turn(at).resume();
            let effects = net.agents[1].keep(at, outcome);
            net.perform(1, effects);
        } else {
            net.restart(1);
        }
        net.run_for(1);
        assert_eq!(net.sent_since(from, Some(Method::Receipt)), 1, "{by_rows}");
    }
}

/// Bob has Alice's message, and his receipt is lost. A mailbox holds the message, so that her copy comes after a minute.
fn lost_receipt(net: &mut Net) -> MessageId {
    net.cut = Some((1, 0));
    let name = tells(net, 0, 1);
    let at = net.at(0);
    let bob = net.agents[1].id();
    let mut turn = net.agents[0].node.turn(at);
    turn.carriers().stored(&CarrierId::NATS, &bob, name);
    net.run_for(1_000);
    disconnects(net, 1);
    net.cut = None;
    name
}

#[test]
fn a_last_receipt_that_was_lost_with_the_connection_is_said_again_when_it_is_back() {
    let mut net = talking();
    net.run_for(HOUR);
    let name = lost_receipt(&mut net);
    net.run_for(10_000);
    assert_eq!(states(&net, 0, name), []);
    connects(&mut net, 1);
    net.run_for(5_000);
    assert_eq!(states(&net, 0, name), [State::Received]);
    let from = net.now;
    net.run_for(HOUR);
    is_away(&mut net, 1, 30_000);
    assert_eq!(net.sent_since(from, None), 0, "and once");
}

#[test]
fn a_last_receipt_that_was_lost_without_a_word_is_made_good_by_the_copy_that_asks_for_it() {
    let mut net = talking();
    net.run_for(HOUR);
    let name = lost_receipt(&mut net);
    connects(&mut net, 1);
    net.cut = Some((1, 0));
    net.run_for(5_000);
    net.cut = None;
    assert_eq!(states(&net, 0, name), []);
    net.run_for(2 * MINUTE);
    assert_eq!(states(&net, 0, name), [State::Received]);
}

#[test]
fn a_first_receipt_that_was_lost_with_the_connection_is_said_again_when_it_is_back() {
    for who in [0, 1] {
        let mut net = talking();
        net.run_for(MINUTE);
        let from = net.now;
        is_away(&mut net, who, 30_000);
        assert!(
            net.sent_since(from, None) <= 2,
            "a session that is young speaks"
        );
        net.run_for(HOUR);
        let from = net.now;
        is_away(&mut net, who, 30_000);
        assert_eq!(net.sent_since(from, None), 0, "an old one does not");
    }
}

/// Alice's home is put back to a copy that lacks what was said since, by `lacks`, in a session with Bob (1) that is older
/// than those with `others` more peers. Who then says something next, if anybody. The alarms of both.
fn put_back(others: usize, lacks: usize, speaks: Option<usize>) -> Vec<(usize, Alarm)> {
    let mut net = crowd(1 + others);
    let copy = net.agents[0].log.len();
    tells(&mut net, lacks, 1 - lacks);
    net.run_for(HOUR);
    net.agents[0].log.truncate(copy);
    let from = net.now;
    starts(&mut net, 0);
    net.run_for(HOUR);
    let bob = "agent-peer-001".to_owned();
    if let Some(speaks) = speaks {
        let (to, _, _) = said(&net, 0, from, 0);
        assert!(!to.contains(&bob), "nothing is open with him: {to:?}");
        tells(&mut net, speaks, 1 - speaks);
        net.run_for(2 * MINUTE);
    }
    let rung: Vec<_> = [0, 1]
        .into_iter()
        .flat_map(|who| {
            let alarms = net.agents[who].node.alarms().keys();
            alarms
                .map(move |(what, _)| (who, *what))
                .collect::<Vec<_>>()
        })
        .collect();
    // Both go on in a session that both hold.
    let name = tells(&mut net, 0, 1);
    net.run_for(2 * MINUTE);
    assert_eq!(states(&net, 0, name), [State::Received]);
    rung
}

fn is_noticed(others: usize, speaks: Option<usize>) {
    let rung = put_back(others, 0, speaks);
    let ours = (0, Alarm::Restored);
    assert!(rung.contains(&ours), "own messages, {speaks:?}: {rung:?}");
    let rung = put_back(others, 1, speaks);
    let theirs = (1, Alarm::PeerRestored);
    assert!(rung.contains(&theirs), "the peer's, {speaks:?}: {rung:?}");
}

#[test]
fn a_home_put_back_to_an_old_copy_is_noticed_at_its_start() {
    is_noticed(0, None);
    is_noticed(TOLD_AT_START - 1, None);
}

#[test]
fn a_home_put_back_to_an_old_copy_is_noticed_by_an_older_peer_when_either_side_next_says_anything()
{
    for speaks in [0, 1] {
        is_noticed(TOLD_AT_START, Some(speaks));
    }
}

#[test]
fn a_peer_that_lies_about_its_floor_gets_one_answer_to_a_receipt_and_no_storm() {
    let mut net = talking();
    net.run_for(HOUR);
    tells(&mut net, 1, 0);
    net.run_for(HOUR);
    let bob = net.agents[1].made().0;
    let receipt = net
        .sent
        .iter()
        .rev()
        .map(|(_, who, bytes)| (*who, message_of(bytes)));
    let of_bob = |(who, message): &(usize, _)| {
        let message: &signet_proto::envelope::Message = message;
        *who == 1 && message.form.method() == Some(Method::Receipt)
    };
    let (_, receipt) = receipt.into_iter().find(of_bob).unwrap();
    let from = net.now;
    for n in 0..600u64 {
        let lie = crate::household::net::resign(&bob, &receipt, |draft, stamp| {
            let ms = net.at(1).now.as_millis() as u64;
            draft.message_id = MessageId::from_parts(ms, [n as u8; 10]);
            draft.body.as_mut().unwrap()["floor"] = 1.into();
            stamp.now = net.at(1).now.saturating_add(Duration::from_nanos(n + 1));
        });
        net.put(0, lie, 1);
        net.run_for(100);
    }
    let answers = net.sent_since(from, Some(Method::Receipt));
    assert!((1..=2).contains(&answers), "{answers}");
}
