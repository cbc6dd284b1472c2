//! Alarms that a peer rings at will: they hold back and accuse whoever rang them, and nobody else.

use std::sync::Arc;

use serde_json::json;
use signet_proto::draft::Identity;
use signet_proto::entry::{Alarm, AlarmLine, Entry};
use signet_proto::envelope::Method;
use signet_proto::ids::MessageId;
use signet_proto::node::{Content, Notice, Sending, WaitsFor};

use crate::household::liar::Liar;
use crate::household::net::{Net, times_taken};
use crate::household::people::{acquainted, does, notices, remembered};
use crate::household::{self, identity_with};

const MINUTE: i64 = 60_000;
const ALICE: usize = 0;
const BOB: usize = 1;
const MALLORY: usize = 2;

/// Alice, Bob and Mallory, who know each other and have not met, a quarter of an hour after the start.
fn strangers() -> Net {
    of_people([("agent-bob", "bob"), ("agent-mallory", "mallory")])
}

fn of_people(others: [(&str, &str); 2]) -> Net {
    let mut net = acquainted(&[("agent-alice", "alice"), others[0], others[1]]);
    net.run_for(15 * MINUTE);
    net
}

/// What somebody makes Alice hear.
fn hears(net: &mut Net, bytes: &[u8]) {
    let now = net.at(ALICE);
    let effects = net.agents[ALICE].hear(now, bytes);
    net.perform(ALICE, effects);
}

fn lies(net: &mut Net, who: usize, method: Method) {
    let bytes = Liar::new(net, who, ALICE).flight(net, method);
    hears(net, &bytes);
}

fn tells(net: &mut Net, to: usize) -> MessageId {
    net.send(ALICE, to, Sending::Notification(Content::default()))
}

fn rung(net: &Net) -> Vec<(Alarm, String)> {
    let alarms = net.agents[ALICE].node.alarms().keys();
    alarms
        .map(|(what, peer)| (*what, peer.to_string()))
        .collect()
}

fn waits_for(net: &Net, name: MessageId) -> Option<WaitsFor> {
    net.agents[ALICE]
        .node
        .sent()
        .status(name)
        .unwrap()
        .waits_for
}

fn held(net: &Net, for_whom: usize) -> Vec<String> {
    let peer = net.agents[for_whom].id();
    let by = net.agents[ALICE]
        .node
        .alarms()
        .held_by(net.agents[ALICE].node.context(), &peer)
        .into_iter();
    by.map(|agent| agent.to_string()).collect()
}

/// Alice with a new signing key.
fn rekeyed(net: &Net) -> Identity {
    let old = household::identity("agent-alice", "alice");
    assert_eq!(net.agents[ALICE].certificate(), old.certificate);
    let mut new = identity_with("agent-alice", "alice", 2, |_| {});
    new.former = vec![old.signing];
    new
}

#[test]
fn what_is_wrong_with_our_own_log_rings_about_ourselves_until_a_person_clears_it() {
    let mut net = strangers();
    for told in [1, 0] {
        let now = net.at(ALICE);
        let outcome = net.agents[ALICE]
            .node
            .turn(now)
            .alarms()
            .ring_own(Alarm::LogChanged);
        let effects = net.agents[ALICE].keep(now, outcome);
        assert_eq!(notices(&effects).len(), told);
    }
    let ours = [(Alarm::LogChanged, "agent-alice".to_owned())];
    assert_eq!(rung(&net), ours);
    net.restart(ALICE);
    assert_eq!(rung(&net), ours);
    does(&mut net, ALICE, |node, at| node.turn(at).alarms().clear());
    assert_eq!(rung(&net), []);
}

#[test]
fn an_unsolicited_flight_holds_back_what_is_for_its_sender_and_nobody_else() {
    for method in [Method::Verify, Method::Trust] {
        let mut net = strangers();
        lies(&mut net, MALLORY, method);
        let alarm = (Alarm::SecondCopy, "agent-mallory".to_owned());
        assert_eq!(rung(&net), [alarm]);
        for restart in [false, true] {
            if restart {
                net.restart(ALICE);
            }
            let to_bob = tells(&mut net, BOB);
            let to_mallory = tells(&mut net, MALLORY);
            net.run_for(MINUTE);
            assert_eq!(times_taken(&net.agents[BOB], to_bob), 1, "{restart}");
            assert_eq!(times_taken(&net.agents[MALLORY], to_mallory), 0);
            assert_eq!(waits_for(&net, to_mallory), Some(WaitsFor::Alarm));
            assert_eq!(held(&net, MALLORY), ["agent-mallory"]);
            assert_eq!(held(&net, BOB), Vec::<String>::new());
            remembered(&net);
        }
        // The alarm is cleared, and Mallory lies again twelve minutes later: a message for Bob leaves all the same.
        does(&mut net, ALICE, |node, at| node.turn(at).alarms().clear());
        net.run_for(12 * MINUTE);
        assert_eq!(rung(&net), []);
        lies(&mut net, MALLORY, method);
        assert_eq!(
            rung(&net),
            [(Alarm::SecondCopy, "agent-mallory".to_owned())]
        );
        let to_bob = tells(&mut net, BOB);
        net.run_for(MINUTE);
        assert_eq!(times_taken(&net.agents[BOB], to_bob), 1);
        assert_eq!(held(&net, MALLORY), ["agent-mallory"]);
        assert_eq!(held(&net, BOB), Vec::<String>::new());
    }
}

#[test]
fn what_waits_is_sent_as_soon_as_its_alarm_is_cleared() {
    let mut net = strangers();
    lies(&mut net, MALLORY, Method::Verify);
    let waiting = tells(&mut net, MALLORY);
    net.run_for(30 * MINUTE);
    assert_eq!(waits_for(&net, waiting), Some(WaitsFor::Alarm));
    does(&mut net, ALICE, |node, at| node.turn(at).alarms().clear());
    net.run_for(5_000);
    assert_eq!(times_taken(&net.agents[MALLORY], waiting), 1);
}

#[test]
fn after_a_rotation_of_the_signing_key_everybody_hears_of_it_whatever_rang_before() {
    let mut net = strangers();
    tells(&mut net, BOB);
    net.run_for(MINUTE);
    lies(&mut net, MALLORY, Method::Trust);
    let new = rekeyed(&net);
    does(&mut net, ALICE, |node, at| node.turn(at).me().adopt(new));
    net.run_for(MINUTE);
    let alice = net.agents[ALICE].id();
    let newest = net.agents[ALICE].certificate();
    for who in [BOB, MALLORY] {
        let view = net.agents[who].node.trust();
        assert_eq!(view.peer(&alice).unwrap().newest(), Some(&newest), "{who}");
    }
    // The new key ended what rang before. A flight that Mallory shows under the new key holds back announces to Mallory
    // again.
    net.run_for(15 * MINUTE);
    lies(&mut net, MALLORY, Method::Trust);
    assert_eq!(held(&net, MALLORY), ["agent-mallory"]);
    assert_eq!(held(&net, BOB), Vec::<String>::new());
}

#[test]
fn agents_of_two_people_or_one_of_our_own_hold_back_everybody() {
    let doubled = |net: &mut Net, who: usize| {
        let bytes = Liar::new(net, who, ALICE).flight(net, Method::Verify);
        let now = net.at(ALICE);
        let effects = net.agents[ALICE].hear(now, &bytes);
        let told = notices(&effects).into_iter();
        told.filter(|notice| matches!(notice, Notice::Doubled(_)))
            .count()
    };
    let mut net = strangers();
    assert_eq!(doubled(&mut net, MALLORY), 0);
    assert_eq!(doubled(&mut net, BOB), 1);
    for who in [BOB, MALLORY] {
        assert_eq!(held(&net, who), ["agent-bob", "agent-mallory"]);
        let waiting = tells(&mut net, who);
        net.run_for(MINUTE);
        assert_eq!(waits_for(&net, waiting), Some(WaitsFor::Alarm));
    }
    remembered(&net);
    // Two agents of one person count once: otherwise this person alone could hold back Alice's announces to everybody.
    let mut net = of_people([("agent-bob", "mallory"), ("agent-mallory", "mallory")]);
    assert_eq!(doubled(&mut net, MALLORY) + doubled(&mut net, BOB), 0);
    // An agent of Alice's own person has no reason to lie: its word alone holds back announces to Bob as well.
    let mut net = of_people([("agent-bob", "bob"), ("agent-mallory", "alice")]);
    assert_eq!(doubled(&mut net, MALLORY), 1);
    assert_eq!(held(&net, BOB), ["agent-mallory"]);
}

#[test]
fn one_peers_lies_are_told_in_words_that_accuse_nobody_else() {
    let mut net = strangers();
    lies(&mut net, MALLORY, Method::Verify);
    let (mallory, bob) = (net.agents[MALLORY].id(), net.agents[BOB].id());
    let node = &net.agents[ALICE].node;
    let alone = node
        .alarms()
        .text(node.context(), Alarm::SecondCopy, &mallory);
    assert!(
        alone.contains("may be agent-mallory's own doing"),
        "{alone}"
    );
    assert!(!alone.contains("somebody else"), "{alone}");
    for what in [
        Alarm::Restored,
        Alarm::PeerRestored,
        Alarm::SequenceReuse,
        Alarm::SecondCopy,
    ] {
        let text = node.alarms().text(node.context(), what, &mallory);
        assert!(text.contains("agent-mallory"), "{text}");
    }
    lies(&mut net, BOB, Method::Verify);
    let node = &net.agents[ALICE].node;
    let both = node.alarms().text(node.context(), Alarm::SecondCopy, &bob);
    assert!(both.contains("agent-bob, agent-mallory show"), "{both}");
    assert!(both.contains("somebody else acts with this agent's keys"));
}

/// Each of them caused a handshake, and the fourth rang.
#[test]
fn sixty_made_up_sessions_in_three_seconds_cause_no_handshake_and_ring_nothing() {
    let mut net = strangers();
    tells(&mut net, MALLORY);
    net.run_for(2_000);
    let mut liar = Liar::new(&net, MALLORY, ALICE);
    let announced = net.sent_since(0, Some(Method::Announce));
    for _ in 0..60 {
        let session = liar.no_session();
        let bytes = liar.say(&net, Method::Notification, json!(1), |_, stamp| {
            (stamp.session, stamp.sequence) = (Some(session), Some(1));
        });
        net.put(ALICE, Arc::clone(&bytes), 1);
        net.run_for(50);
    }
    assert_eq!(net.sent_since(0, Some(Method::Announce)), announced);
    assert_eq!(rung(&net), []);
    // Two minutes later one more made-up session makes the alarm ring, and holds back only messages to Mallory.
    net.run_for(2 * MINUTE);
    let session = liar.no_session();
    let bytes = liar.say(&net, Method::Notification, json!(1), |_, stamp| {
        (stamp.session, stamp.sequence) = (Some(session), Some(1));
    });
    hears(&mut net, &bytes);
    let alarm = (Alarm::SecondCopy, "agent-mallory".to_owned());
    assert_eq!(rung(&net), [alarm]);
    let name = tells(&mut net, BOB);
    net.run_for(5_000);
    assert_eq!(times_taken(&net.agents[BOB], name), 1);
}

#[test]
fn whoever_is_trusted_no_more_shows_nothing_about_others() {
    let mut net = strangers();
    for who in [BOB, MALLORY] {
        let line = AlarmLine {
            peer: net.agents[who].id(),
            what: Alarm::SecondCopy,
            cleared: false,
        };
        let now = net.at(ALICE).now;
        net.agents[ALICE].log.push((now, Entry::Alarm(line)));
    }
    net.restart(ALICE);
    assert_eq!(held(&net, BOB).len(), 2);
    let mallory = net.agents[MALLORY].id();
    does(&mut net, ALICE, |node, at| {
        node.turn(at).people().withdraw(&mallory).unwrap()
    });
    assert_eq!(held(&net, BOB), ["agent-bob"]);
    assert_eq!(held(&net, MALLORY), ["agent-mallory"]);
}
