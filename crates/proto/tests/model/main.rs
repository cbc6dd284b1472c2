//! The handshake under a model checker: every order of events within bounds, with an attacker who
//! replays, drops, reorders and redirects, and who is a certified agent besides.
//!
//! The states hold real `Handshake` values and real signed flights (`local.rs`); what each agent does
//! with a flight is taken once for each of its states, and the checker explores all combinations
//! (`world.rs`). What must hold stands in `claims.rs`, what must be possible in `sights.rs`. The second
//! half of the tests takes one check out each and expects a counterexample.
//!
//! `cargo test --workspace --test model -- --ignored --nocapture` goes further, in some minutes.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs
)]

mod carol;
mod cast;
mod claims;
#[path = "../household/mod.rs"]
mod household;
mod local;
mod real;
mod sights;
mod world;

use std::time::Instant;

use local::Fault;
use stateright::{Checker, HasDiscoveries, Model};
use world::{Bounds, World};

/// Alice and Bob announce once each, and the network does its worst.
const PLAIN: Bounds = Bounds {
    announces: [1, 1],
    to_carol: 0,
    carol: 0,
    crash: false,
    upgrade: false,
    give_ups: 0,
};
/// What must never be found to fail.
const ALWAYS: [&str; 4] = [
    "agreement",
    "no effect before flight 3",
    "no downgrade",
    "bounded state",
];

/// Visits every state, and gives back how many there are.
fn explore(bounds: Bounds) -> usize {
    let started = Instant::now();
    let checker = World::new(bounds, Fault::None).checker().spawn_bfs().join();
    println!(
        "{bounds:?}: {} states, depth {}, {}, {:.1?}",
        checker.unique_state_count(),
        checker.max_depth(),
        checker.model().sizes(),
        started.elapsed(),
    );
    checker.assert_properties();
    checker.unique_state_count()
}

/// Takes a check out, and expects a counterexample to the property that it is for.
fn breaks(fault: Fault, bounds: Bounds, property: &'static str) {
    let enough = HasDiscoveries::AnyOf([property].into());
    let world = World::new(bounds, fault).checker().finish_when(enough);
    let checker = world.spawn_bfs().join();
    let found = checker.discovery(property).map(|path| path.into_actions());
    println!("{fault:?} breaks {property}: {found:?}");
    assert!(found.is_some(), "{fault:?} goes unnoticed by {property}");
}

#[test]
fn one_handshake_in_either_direction() {
    assert!(explore(PLAIN) > 30);
}

#[test]
fn two_sessions_and_a_crash() {
    let bounds = Bounds {
        announces: [2, 2],
        crash: true,
        ..PLAIN
    };
    assert!(explore(bounds) > 2_000);
}

#[test]
fn two_sessions_a_crash_and_an_upgrade() {
    let bounds = Bounds {
        announces: [2, 1],
        crash: true,
        upgrade: true,
        give_ups: 1,
        ..PLAIN
    };
    assert!(explore(bounds) > 5_000);
}

#[test]
fn two_sessions_a_crash_and_flights_for_others_redirected() {
    let bounds = Bounds {
        announces: [2, 1],
        to_carol: 1,
        crash: true,
        ..PLAIN
    };
    assert!(explore(bounds) > 2_000);
}

#[test]
fn a_rogue_agent_between_two_that_cross() {
    let bounds = Bounds {
        to_carol: 1,
        carol: 2,
        ..PLAIN
    };
    assert!(explore(bounds) > 20_000);
}

#[test]
fn a_rogue_agent_with_two_whole_handshakes() {
    let bounds = Bounds {
        announces: [1, 0],
        to_carol: 1,
        carol: 4,
        ..PLAIN
    };
    assert!(explore(bounds) > 30_000);
}

#[test]
fn real_nodes_walk_every_path_of_a_handshake_with_a_crash() {
    let bounds = Bounds {
        crash: true,
        ..PLAIN
    };
    let alice = || household::Agent::new("agent-alice", "alice");
    let bob = || household::Agent::new("agent-bob", "bob");
    let steps = real::walk(&World::new(bounds, Fault::None), alice, bob);
    assert!(steps > 500, "{steps}");
}

#[test]
#[ignore = "takes minutes"]
fn further() {
    let pair = Bounds {
        announces: [2, 2],
        crash: true,
        upgrade: true,
        give_ups: 1,
        ..PLAIN
    };
    explore(pair);
    let redirected = Bounds {
        announces: [2, 1],
        to_carol: 1,
        ..pair
    };
    explore(redirected);
    let rogue = Bounds {
        announces: [1, 1],
        to_carol: 1,
        carol: 3,
        ..PLAIN
    };
    explore(rogue);
}

#[test]
fn without_the_transcript_the_two_disagree() {
    let bounds = Bounds {
        announces: [2, 1],
        give_ups: 1,
        ..PLAIN
    };
    breaks(Fault::NoTranscript, bounds, "agreement");
}

#[test]
fn without_best_common_a_rogue_talks_a_version_down() {
    let bounds = Bounds {
        announces: [0, 0],
        to_carol: 1,
        carol: 2,
        ..PLAIN
    };
    breaks(Fault::NoBestCommon, bounds, "no downgrade");
}

#[test]
fn without_a_minimum_an_old_announce_is_good_again() {
    let bounds = Bounds {
        crash: true,
        upgrade: true,
        ..PLAIN
    };
    breaks(Fault::NoMinimum, bounds, "no downgrade");
}

#[test]
fn without_order_a_replayed_announce_opens_a_handshake_again() {
    let bounds = Bounds {
        announces: [2, 1],
        give_ups: 1,
        ..PLAIN
    };
    breaks(Fault::NoOrder, bounds, "bounded state");
}

#[test]
fn who_believes_flight_1_is_found_out() {
    breaks(Fault::Hasty, PLAIN, "no effect before flight 3");
}

#[test]
fn who_takes_flight_3_twice_is_found_out() {
    breaks(Fault::Stuck, PLAIN, "bounded state");
    breaks(Fault::Stuck, PLAIN, "agreement");
}

/// As ProVerif says of `ablate_no_recipient_handshake.pv`: defence in depth. Redirected flights then
/// open handshakes, and the transcript ends them all without a session.
#[test]
fn without_the_recipient_check_the_transcript_still_protects() {
    let bounds = Bounds {
        to_carol: 1,
        ..PLAIN
    };
    let world = World::new(bounds, Fault::NoRecipient);
    let checker = world.checker().spawn_bfs().join();
    for property in ALWAYS {
        checker.assert_no_discovery(property);
    }
    assert!(checker.unique_state_count() > explore(bounds));
}
