//! Four flights over a bad network: one common session, whatever is lost, copied, late or killed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use signet_proto::carrier::CarrierId;
use signet_proto::entry::Entry;
use signet_proto::envelope::Method;
use signet_proto::ids::{MessageId, SessionId};

use crate::household::net::{Crash, Net, message_of, tale, times_taken};
use crate::household::{START, alice_and_bob, at, published};

const SEEDS: u64 = 500;
/// The resends of one handshake, the silence after it, and the resends of the next.
const PATIENCE: i64 = 3 * 300_000 + 60_000;

fn network(seed: u64) -> Net {
    let (alice, bob) = alice_and_bob();
    Net::new(vec![alice, bob], seed)
}

fn session(net: &Net, who: usize) -> Option<SessionId> {
    let peer = net.agents[1 - who].id();
    let standing = net.agents[who].node.standing(&peer, net.at(who).now);
    standing.session
}

/// Runs a story for many seeds, and says which one failed.
fn for_seeds(seeds: std::ops::Range<u64>, story: impl Fn(u64)) {
    for seed in seeds {
        if let Err(cause) = catch_unwind(AssertUnwindSafe(|| story(seed))) {
            eprintln!("the seed is {seed}");
            resume_unwind(cause);
        }
    }
}

fn open_requests(net: &mut Net, seed: u64) -> Vec<(usize, MessageId)> {
    let who: &[usize] = [&[0][..], &[1], &[0, 1]][(seed % 3) as usize];
    let ask = |from: &usize| (1 - from, net.ask(*from, 1 - from));
    who.iter().map(ask).collect()
}

/// A request of each side is taken and answered on a network that has become good.
fn everything_goes_through(net: &mut Net) {
    (net.loss, net.copies, net.delay, net.cut) = (0, 0, 1, None);
    for who in [0, 1] {
        let name = net.ask(who, 1 - who);
        net.run_for(20_000);
        assert_eq!(times_taken(&net.agents[1 - who], name), 1, "{}", told(net));
        net.reply(1 - who, name);
        net.run_for(20_000);
        let standing = net.agents[who]
            .node
            .standing(&net.agents[1 - who].id(), net.at(who).now);
        assert_eq!((standing.drafts, standing.unconfirmed), (0, 0));
    }
    assert!(session(net, 0).is_some());
    assert_eq!(session(net, 0), session(net, 1), "{}", told(net));
}

fn told(net: &Net) -> String {
    let [alice, bob] = [0, 1].map(|who| tale(&net.agents[who]));
    format!("at {} ms\nalice:\n{alice}\nbob:\n{bob}", net.now)
}

#[test]
fn loss_copies_and_reordering_end_in_one_common_session() {
    for_seeds(0..SEEDS, |seed| {
        let mut net = network(seed);
        net.loss = seed % 41;
        net.copies = seed % 23;
        net.delay = 1 + seed * 7 % 3_000;
        let asked = open_requests(&mut net, seed);
        net.run_for(PATIENCE);
        assert_eq!(session(&net, 0), session(&net, 1), "{}", told(&net));
        for (who, name) in asked {
            assert_eq!(times_taken(&net.agents[who], name), 1, "{}", told(&net));
        }
        everything_goes_through(&mut net);
    });
}

#[test]
fn a_crash_after_any_flight_ends_in_one_common_session() {
    for_seeds(0..SEEDS, |seed| {
        let mut net = network(seed);
        net.loss = seed / 32 % 31;
        net.delay = 1 + seed * 13 % 500;
        net.crash = Some(Crash {
            who: (seed % 2) as usize,
            flights: 1 + (seed / 2 % 4) as usize,
            loses_effects: seed / 8 % 2 == 0,
        });
        let asked = open_requests(&mut net, seed / 16);
        net.run_for(PATIENCE);
        assert_eq!(session(&net, 0), session(&net, 1), "{}", told(&net));
        for (who, name) in asked {
            assert_eq!(times_taken(&net.agents[who], name), 1, "{}", told(&net));
        }
        everything_goes_through(&mut net);
    });
}

#[test]
fn a_crash_on_a_good_network_costs_less_than_half_a_minute() {
    for_seeds(0..96, |seed| {
        let mut net = network(seed);
        net.crash = Some(Crash {
            who: (seed % 2) as usize,
            flights: 1 + (seed / 2 % 4) as usize,
            loses_effects: seed / 8 % 2 == 0,
        });
        let asked = open_requests(&mut net, seed / 16);
        net.run_for(30_000);
        for (who, name) in asked {
            assert_eq!(times_taken(&net.agents[who], name), 1, "{}", told(&net));
        }
        assert_eq!(session(&net, 0), session(&net, 1), "{}", told(&net));
    });
}

#[test]
fn one_way_loss_of_the_lower_agents_announces_heals() {
    for deaf in [(0, 1), (1, 0)] {
        let mut net = network(1);
        net.cut = Some(deaf);
        net.ask(0, 1);
        net.ask(1, 0);
        net.run_for(PATIENCE);
        let (a, b) = (session(&net, 0), session(&net, 1));
        assert_eq!((a, b), (None, None), "{deaf:?}");
        net.cut = None;
        net.run_for(PATIENCE);
        assert_eq!(net.agents[0].node.inbox().len(), 1, "{}", told(&net));
        everything_goes_through(&mut net);
    }
}

#[test]
fn a_peer_that_answers_only_the_first_flight_is_announced_to_ever_more_rarely() {
    let (mut alice, mut bob) = alice_and_bob();
    let told = signet_proto::node::Sending::Notification(Default::default());
    let sent = alice.node.turn(at(0)).sent().send(&bob.id(), told);
    let mut effects = alice.keep(at(0), sent.unwrap().outcome);
    let (mut announces, mut now) = (0, 0);
    while now < 3_600_000 {
        for (_, bytes) in published(&effects) {
            // Flight 3 never reaches Bob.
            if message_of(&bytes).form.method() == Some(Method::Announce) {
                announces += 1;
                for (_, verify) in published(&bob.hear(at(now), &bytes)) {
                    alice.hear(at(now), &verify);
                }
            }
        }
        now = alice.node.poll_timeout(at(now)).unwrap().as_millis() - START;
        effects = alice.tick(at(now));
    }
    assert!((5..20).contains(&announces), "{announces} in an hour");
}

#[test]
fn clocks_two_minutes_apart_open_no_session_and_no_storm() {
    for skew in [120_000, -120_000] {
        let mut net = network(3);
        net.skew[1] = skew;
        net.ask(0, 1);
        net.ask(1, 0);
        net.run_for(1_800_000);
        for agent in &net.agents {
            let clock = |(_, entry): &&(_, Entry)| matches!(entry, Entry::Clock(_));
            let lines = agent.log.iter().filter(clock).count();
            assert!(
                (1..=7).contains(&lines),
                "{lines} clock lines, {skew} {}",
                told(&net)
            );
        }
        let all = net.sent_since(0, None);
        assert!(all < 400, "{all} messages in half an hour");
        net.skew[1] = 0;
        net.run_for(3_600_000);
        everything_goes_through(&mut net);
    }
}

#[test]
fn the_side_that_goes_on_as_the_first_learns_of_a_clock_minutes_behind_it() {
    // Flight 1 is sent again until its time has come, and is taken then. Flight 3 is not sent again for that long, so
    // it is not taken: both sides have to note the clock.
    for ahead in [92_000, 160_000, 251_000] {
        let mut net = network(3);
        net.skew[0] = ahead;
        net.ask(0, 1);
        net.run_for(1_800_000);
        for agent in &net.agents {
            let clock = |(_, entry): &(_, Entry)| matches!(entry, Entry::Clock(_));
            assert!(agent.log.iter().any(clock), "{ahead} {}", told(&net));
        }
    }
}

#[test]
fn copies_of_the_four_flights_change_nothing() {
    for restart in [None, Some(0), Some(1)] {
        let mut net = network(7);
        let name = net.ask(0, 1);
        net.run_for(10_000);
        let stands = session(&net, 0).unwrap();
        let flights: Vec<_> = net.sent.clone();
        let is_flight = |bytes: &[u8]| message_of(bytes).form.method().unwrap().is_handshake();
        let flights: Vec<_> = flights.iter().filter(|(_, _, b)| is_flight(b)).collect();
        assert_eq!(flights.len(), 4);
        if let Some(who) = restart {
            net.restart(who);
        }
        for wait in [0, 5_000, 400_000] {
            net.run_for(wait);
            let (from, entries) = (net.now, net.sent.len());
            for _ in 0..50 {
                for (_, who, bytes) in &flights {
                    net.put(1 - who, std::sync::Arc::clone(bytes), 1);
                }
                net.run_for(100);
            }
            net.run_for(5_000);
            let seconds = (net.now - from) as usize / 1_000 + 1;
            let answers = net.sent.len() - entries;
            assert!(answers <= 2 * 2 * seconds, "{answers} in {seconds} s");
        }
        for who in [0, 1] {
            assert_eq!(session(&net, who), Some(stands));
            let peer = net.agents[1 - who].id();
            assert!(
                !net.agents[who]
                    .node
                    .standing(&peer, at(net.now).now)
                    .handshake
            );
        }
        assert_eq!(times_taken(&net.agents[1], name), 1);
        assert_eq!(net.agents[1].node.inbox().len(), 1);
        everything_goes_through(&mut net);
    }
}

#[test]
fn a_connection_that_is_back_carries_flights_and_messages_at_once() {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], 1);
    for taken in [1, 2] {
        net.cut = Some((0, 1));
        net.ask(0, 1);
        // By now resends have become rare: without word that the connection is back, the next one would come after more
        // than 20 s.
        net.run_for(100_000);
        net.cut = None;
        let at = net.at(0);
        let outcome = net.agents[0]
            .node
            .turn(at)
            .carriers()
            .connected(&CarrierId::NATS);
        let effects = net.agents[0].keep(at, outcome);
        net.perform(0, effects);
        net.run_for(1_000);
        assert_eq!(net.agents[1].node.inbox().len(), taken);
    }
}
