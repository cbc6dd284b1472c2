//! Clocks that are wrong, and clocks that are put right: what runs at a pace runs on a clock that nobody
//! sets, and nothing is signed outside the dates of one's own certificate.

use std::time::Duration;

use signet_proto::certificate::{KEYS_LIFE, KeyStatement};
use signet_proto::draft::Identity;
use signet_proto::entry::{Alarm, ClockLine, Direction, Entry};
use signet_proto::envelope::Method;
use signet_proto::ids::{AgentId, Digest, MessageId, SessionId};
use signet_proto::node::{Content, LocalError, Sending, State, WaitsFor};
use signet_proto::policy::Policy;
use signet_proto::receipt::Receipt;
use signet_proto::reject::{PeerReason, Reason};
use signet_proto::time::Timestamp;

use crate::household::forger::{call, hear, name, receipt, refusal, session_of, talking};
use crate::household::liar::Liar;
use crate::household::net::{Net, message_of, times_taken};
use crate::household::people::remembered;
use crate::household::{self, Agent, START, at, identity, identity_with};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

fn word() -> Sending {
    Sending::Notification(Content::default())
}

fn is_received(net: &Net, who: usize, name: MessageId) -> bool {
    let out = net.agents[who].node.sent().status(name).unwrap();
    out.state == State::Received
}

/// How long it takes until the sender knows that a message was taken.
fn until_received(net: &mut Net, who: usize, name: MessageId, patience: i64) -> i64 {
    let from = net.now;
    while !is_received(net, who, name) {
        assert!(net.now - from <= patience, "no receipt in {patience} ms");
        net.run_for(1);
    }
    net.now - from
}

fn receipts(net: &Net, who: usize, from: i64) -> usize {
    let sent = net
        .sent
        .iter()
        .filter(|(ms, by, _)| *ms >= from && *by == who);
    let methods = sent.map(|(_, _, bytes)| message_of(bytes).form.method());
    methods
        .filter(|method| *method == Some(Method::Receipt))
        .count()
}

/// When an agent signed what its log says it sent.
fn signed(agent: &Agent) -> Vec<Timestamp> {
    let out = agent.log.iter().filter_map(|(_, entry)| match entry {
        Entry::Message(verdict) if verdict.direction == Direction::Out => verdict.message(),
        _ => None,
    });
    out.map(|message| message.headers.timestamp).collect()
}

/// The times at which an agent noted that its own clock was put back.
fn put_back(agent: &Agent) -> usize {
    let me = agent.id();
    let noted = |(_, entry): &&(Timestamp, Entry)| matches!(entry, Entry::Clock(ClockLine { peer, .. }) if *peer == me);
    agent.log.iter().filter(noted).count()
}

#[test]
fn forty_notifications_one_after_another_are_receipted_within_fifteen_milliseconds_each() {
    let mut net = talking();
    let from = net.now;
    for _ in 0..40 {
        let name = net.send(0, 1, word());
        let took = until_received(&mut net, 0, name, 15);
        assert!(took <= 15, "{took} ms");
    }
    assert!(net.now - from <= 40 * 15, "{} ms for forty", net.now - from);
}

#[test]
fn under_load_receipts_keep_to_fifty_a_second_and_leave_nothing_out() {
    let mut net = talking();
    let from = net.now;
    let mut names = Vec::new();
    for _ in 0..4_000 {
        names.push(net.send(0, 1, word()));
        net.run_for(1);
    }
    let sent = receipts(&net, 1, from);
    assert!(
        (150..=50 + 4 * 50).contains(&sent),
        "{sent} receipts in 4 s"
    );
    net.run_for(25);
    assert!(names.iter().all(|name| is_received(&net, 0, *name)));
}

#[test]
fn a_peer_gains_no_more_than_a_receipt_a_second_by_asking_with_receipts_of_its_own() {
    let mut net = talking();
    net.cut = Some((0, 1));
    let from = net.now;
    for n in 0..500 {
        let asks = Receipt {
            through: 1,
            floor: Some(9),
            given_up: vec![(1, 8)],
            ..Receipt::default()
        };
        let now = net.at(1).now;
        let bytes = receipt(&net, n, now, &asks);
        net.put(0, bytes, 0);
        net.run_for(2);
    }
    let sent = receipts(&net, 0, from);
    assert!((1..=3).contains(&sent), "{sent} receipts in a second");
}

#[test]
fn a_clock_that_was_ahead_and_was_put_right_silences_no_receipt() {
    for ahead in [3_000, 59_000, 61_000, 100_000, DAY] {
        for wrong in [&[0][..], &[1], &[0, 1]] {
            let mut net = talking();
            for who in wrong {
                net.skew[*who] = ahead;
            }
            for who in [0, 1] {
                net.send(who, 1 - who, word());
            }
            net.run_for(3_000);
            net.skew = vec![0, 0];
            net.run_for(1_000);
            for who in [0, 1, 0, 1] {
                let name = net.send(who, 1 - who, word());
                let took = until_received(&mut net, who, name, 15_000);
                assert!(took <= 15, "{ahead} ms ahead, {wrong:?}: {took} ms");
            }
            for who in wrong {
                // A clock that is 61 s ahead may be noted or not: a minute is the limit, and the moment at which the
                // clock is read decides.
                let noted = put_back(&net.agents[*who]);
                let far = usize::from(ahead > MINUTE);
                assert!(noted == far || ahead == 61_000, "{ahead} ms ahead");
            }
            net.run_for(10_000);
            remembered(&net);
        }
    }
}

/// Alice forgets her sessions, so that she has to announce.
fn forget(net: &mut Net) {
    net.agents[0].log.truncate(1);
    net.restart(0);
}

#[test]
fn an_announce_of_a_clock_that_was_ahead_for_a_day_holds_back_none_when_both_are_put_right() {
    let mut net = talking();
    net.skew = vec![DAY, DAY];
    forget(&mut net);
    let name = net.send(0, 1, word());
    net.run_for(3_000);
    assert!(is_received(&net, 0, name));
    net.skew = vec![0, 0];
    forget(&mut net);
    let name = net.send(0, 1, word());
    let took = until_received(&mut net, 0, name, 20_000);
    assert!(took <= 1_000, "{took} ms");
    let before = session_of(&net);
    net.run_for(40 * DAY);
    assert_ne!(session_of(&net), before, "and it is renewed in time");
}

#[test]
fn an_announce_that_nobody_answered_while_the_clock_was_ahead_is_made_anew_at_once() {
    let mut net = talking();
    forget(&mut net);
    net.skew[0] = DAY;
    let name = net.send(0, 1, word());
    net.run_for(3_000);
    assert_eq!(times_taken(&net.agents[1], name), 0);
    net.skew[0] = 0;
    let took = until_received(&mut net, 0, name, 60_000);
    assert!(took <= 1_000, "{took} ms");
}

#[test]
fn what_was_sent_while_nobody_listened_goes_out_again_when_the_clock_is_put_right() {
    let mut net = talking();
    net.skew[0] = 2 * HOUR;
    net.cut = Some((0, 1));
    let lost = net.send(0, 1, word());
    net.run_for(3_000);
    net.cut = None;
    net.skew[0] = 0;
    net.run_for(10_000);
    // The message goes out again with nothing behind it, for which Bob could miss it. It was signed two hours ahead, and Bob
    // refuses it. The refusal uses up its number, so the next one is taken.
    let state = net.agents[0].node.sent().status(lost).unwrap().state;
    assert_eq!(state, State::Refused("timestamp-in-future".into()));
    let later = net.send(0, 1, word());
    net.run_for(10_000);
    assert!(is_received(&net, 0, later));
    assert_eq!(put_back(&net.agents[0]), 1);
}

/// Alice's agent, whose certificate lasts so long, and Bob's.
fn lasting(from: i64, to: i64) -> Net {
    let make = move || {
        let identity = identity_with("agent-alice", "alice", 1, |request| {
            request.not_before = Timestamp::from_millis(START + from);
            request.not_after = Timestamp::from_millis(START + to);
        });
        (identity, Policy::default())
    };
    let (mut alice, mut bob) = (Agent::with(make), Agent::new("agent-bob", "bob"));
    alice.knows(&bob);
    bob.knows(&alice);
    Net::new(vec![alice, bob], 1)
}

fn waits_for(net: &Net) -> Vec<WaitsFor> {
    let drafts = net.agents[0].node.sent().drafts();
    drafts.map(|draft| draft.waits_for).collect()
}

#[test]
fn nothing_is_signed_before_the_own_certificate_begins_and_all_of_it_leaves_then() {
    let mut net = lasting(HOUR, 400 * DAY);
    net.restart(0);
    let name = net.send(0, 1, word());
    let asked = net.send(1, 0, word());
    net.run_until(HOUR - 1);
    assert_eq!(waits_for(&net), [WaitsFor::Clock]);
    assert_eq!(signed(&net.agents[0]), []);
    let dates = net.agents[0].node.me().outside_certificate(net.at(0).now);
    assert_eq!(dates.unwrap().0, at(HOUR).now);
    let handing = household::tasks::handing("x");
    let refused = household::tasks::sends(&mut net, 0, 1, Sending::Handoff(Box::new(handing)));
    assert_eq!(refused, Err("wrong-clock".to_owned()));
    net.run_until(HOUR + 10 * MINUTE);
    assert!(is_received(&net, 0, name));
    assert!(is_received(&net, 1, asked));
    assert!(
        signed(&net.agents[0])
            .iter()
            .all(|time| *time >= at(HOUR).now)
    );
}

/// Alice's next certificate and key statement.
fn renewed(now: Timestamp) -> Identity {
    let mut next = identity_with("agent-alice", "alice", 2, |request| {
        request.not_after = now.saturating_add(Duration::from_secs(365 * 24 * 3600));
    });
    let (agent, key) = (next.agent().clone(), next.keys.sealing_key);
    let until = now.saturating_add(KEYS_LIFE);
    next.keys = KeyStatement::sign(&agent, key, 2, until, &next.signing).unwrap();
    next
}

#[test]
fn the_own_certificate_runs_out_with_all_peers_at_once_and_nothing_is_signed_until_the_next() {
    const PEERS: usize = 12;
    let end = 2 * DAY;
    let make = move || {
        let identity = identity_with("agent-alice", "alice", 1, |request| {
            request.not_after = Timestamp::from_millis(START + end);
        });
        (identity, Policy::default())
    };
    let mut agents = vec![Agent::with(make)];
    for n in 1..=PEERS {
        let mut peer = Agent::new(&format!("agent-{n}"), &format!("person-{n}"));
        agents[0].knows(&peer);
        peer.knows(&agents[0]);
        agents.push(peer);
    }
    let mut net = Net::new(agents, 1);
    for peer in 1..=PEERS {
        net.send(0, peer, word());
        net.send(peer, 0, word());
    }
    net.run_until(end + 1);
    let names: Vec<_> = (1..=PEERS).map(|peer| net.send(0, peer, word())).collect();
    for peer in 1..=PEERS {
        net.send(peer, 0, word());
    }
    net.run_for(2 * DAY);
    assert_eq!(waits_for(&net), [WaitsFor::Clock; PEERS]);
    let late = signed(&net.agents[0])
        .into_iter()
        .filter(|time| *time > at(end).now);
    assert_eq!(late.count(), 0);
    let now = net.at(0);
    let agent = &mut net.agents[0];
    let cleared = agent.node.turn(now).alarms().clear();
    let adopted = agent.node.turn(now).me().adopt(renewed(now.now));
    let mut effects = agent.keep(now, cleared);
    effects.extend(agent.keep(now, adopted));
    net.perform(0, effects);
    net.run_for(10_000);
    for name in names {
        assert!(is_received(&net, 0, name));
    }
}

/// What Bob's wrong clock signed under number `n`, hours before his certificate begins.
fn before_its_certificate(net: &Net, n: u64) -> std::sync::Arc<[u8]> {
    call(net, Method::Notification, n, |draft, stamp| {
        stamp.now = Timestamp::from_millis(START - 5 * HOUR);
        draft.life = Duration::from_secs(24 * 3600);
    })
}

#[test]
fn a_number_that_a_wrong_clock_signed_is_receipted_with_its_refusal() {
    let mut net = talking();
    let wrong = before_its_certificate(&net, 1);
    assert_eq!(refusal(&mut net, &wrong), Some("certificate-expired"));
    assert_eq!(refusal(&mut net, &wrong), Some("duplicate"));
    let right = call(&net, Method::Notification, 2, |_, _| {});
    assert_eq!(refusal(&mut net, &right), None);
    net.run_for(1_500);
    let sent = net.sent.iter().rev().filter(|(_, who, _)| *who == 0);
    let mut sent = sent.map(|(_, _, bytes)| message_of(bytes));
    let last = sent.find(|message| message.form.method() == Some(Method::Receipt));
    let body = last.unwrap().body().cloned().unwrap();
    assert_eq!(body["through"], 2, "the number holds up nothing");
    assert_eq!(body["except"][0]["reason"], "certificate-expired");
    assert_eq!(body["except"][0]["sequence"], 1);
    // Bob's node reads this reason in the receipt as one that a peer may give, and not as one that fits nowhere.
    let heard = PeerReason::in_receipt("certificate-expired");
    assert_eq!(heard, PeerReason::Known(Reason::CertificateExpired));
    remembered(&net);
}

#[test]
fn without_a_signature_that_holds_a_time_outside_the_certificate_uses_up_no_number() {
    let mut net = talking();
    let wrong = before_its_certificate(&net, 1);
    let text = String::from_utf8(wrong.to_vec()).unwrap();
    let forged = text.replacen("\"n\":1", "\"n\":2", 1);
    assert_ne!(forged, text);
    let (reason, _) = hear(&mut net, 0, forged.as_bytes());
    assert_eq!(reason, Some("certificate-expired"));
    let right = call(&net, Method::Notification, 1, |draft, _| {
        draft.message_id = name(77);
    });
    assert_eq!(refusal(&mut net, &right), None, "number 1 is still free");
    remembered(&net);
}

#[test]
fn a_key_statement_that_a_clock_ahead_made_is_made_anew() {
    let identity = identity("agent-alice", "alice");
    let made = |ahead: i64| {
        let until = at(ahead).now.saturating_add(KEYS_LIFE);
        let key = identity.keys.sealing_key;
        KeyStatement::sign(identity.agent(), key, 1, until, &identity.signing).unwrap()
    };
    assert!(!made(0).is_due(at(0).now));
    assert!(!made(30 * MINUTE).is_due(at(0).now));
    assert!(
        made(DAY).is_due(at(0).now),
        "peers would refuse it as keys-invalid"
    );
}

#[test]
fn a_handoff_waits_for_no_clock_in_an_error_that_names_it() {
    let error = LocalError::WrongClock {
        now: at(0).now,
        from: at(HOUR).now,
        to: at(DAY).now,
    };
    let text = error.to_string();
    for time in [at(0), at(HOUR), at(DAY)] {
        assert!(text.contains(&time.now.to_string()), "{text}");
    }
}

#[test]
fn a_clock_that_is_forty_days_ahead_for_a_moment_closes_no_open_request() {
    let mut net = talking();
    let asked = net.ask(0, 1);
    net.run_for(3_000);
    net.skew[0] = 40 * DAY;
    let now = net.at(0);
    net.agents[0].tick(now);
    net.skew[0] = 0;
    net.run_for(3_000);
    net.reply(1, asked);
    net.run_for(3_000);
    assert_eq!(net.agents[0].refusals(), Vec::<&str>::new());
    let state = net.agents[0].node.sent().status(asked).unwrap().state;
    assert_eq!(state, State::Answered);
    remembered(&net);
}

#[test]
fn a_request_that_nobody_answers_is_forgotten_by_the_log_as_by_the_node() {
    let mut net = talking();
    let asked = net.ask(0, 1);
    net.run_for(3_000);
    net.run_for(40 * DAY);
    net.send(0, 1, word());
    net.run_for(3_000);
    net.reply(1, asked);
    net.run_for(3_000);
    assert_eq!(net.agents[0].refusals(), ["response-unsolicited"]);
    remembered(&net);
}

/// What Bob says in a session that Alice never made.
fn in_another_session(net: &Net, n: u64) -> std::sync::Arc<[u8]> {
    call(net, Method::Notification, n, |_, stamp| {
        stamp.session = Some(SessionId(Digest([9; 32])));
    })
}

#[test]
fn a_session_that_wrong_clocks_made_a_day_ahead_hides_no_other() {
    let mut net = talking();
    net.skew = vec![DAY, DAY];
    forget(&mut net);
    let name = net.send(0, 1, word());
    net.run_for(3_000);
    assert!(is_received(&net, 0, name));
    net.skew = vec![0, 0];
    net.run_for(5 * MINUTE);
    let from = net.now;
    let bytes = in_another_session(&net, 50);
    let (reason, effects) = hear(&mut net, 0, &bytes);
    assert_eq!(reason, Some("session-unknown"));
    net.perform(0, effects);
    assert_eq!(net.sent_since(from, Some(Method::Announce)), 1);
}

#[test]
fn a_second_copy_rings_although_the_clock_was_a_day_ahead_at_the_start() {
    let mut net = talking();
    net.skew[0] = DAY;
    net.restart(0);
    net.skew[0] = 0;
    net.run_for(2 * MINUTE);
    // Bob has lost his sessions, and makes another.
    net.agents[1].log.truncate(1);
    net.restart(1);
    let name = net.send(1, 0, word());
    net.run_for(3_000);
    assert!(is_received(&net, 1, name));
    net.run_for(2 * MINUTE);
    assert!(!net.agents[0].node.alarms().keys().any(is_copy));
    let bytes = in_another_session(&net, 50);
    let (reason, _) = hear(&mut net, 0, &bytes);
    assert_eq!(reason, Some("session-unknown"));
    assert!(net.agents[0].node.alarms().keys().any(is_copy));
}

fn is_copy((what, _): &(Alarm, AgentId)) -> bool {
    *what == Alarm::SecondCopy
}

fn announces(net: &Net) -> usize {
    let sent = net.sent.iter().filter(|(_, who, _)| *who == 0);
    let methods = sent.map(|(_, _, bytes)| message_of(bytes).form.method());
    methods
        .filter(|method| *method == Some(Method::Announce))
        .count()
}

#[test]
fn a_clock_that_stood_days_behind_for_a_moment_makes_no_late_flight_a_second_copys() {
    for method in [Method::Verify, Method::Trust] {
        let mut net = talking();
        net.restart(0);
        net.run_for(MINUTE);
        let first = announces(&net);
        while announces(&net) == first {
            net.run_for(MINUTE);
        }
        // Both have renewed their session: nothing is left to announce.
        net.skew[0] = -3 * DAY;
        let now = net.at(0);
        let effects = net.agents[0].tick(now);
        net.perform(0, effects);
        net.skew[0] = 0;
        net.run_for(1_000);
        assert_eq!(put_back(&net.agents[0]), 1);
        let answer = Liar::new(&net, 1, 0).flight(&net, method);
        let (reason, _) = hear(&mut net, 0, &answer);
        assert!(reason.is_some(), "it fits no handshake any more");
        assert!(net.agents[0].node.alarms().is_empty(), "{method:?}");
    }
}
