//! Seeds, many or one.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use signet_proto::keys::{KeyTables, TableBudget};

use crate::household::net::Dice;
use crate::mood::Mood;
use crate::sabotage::Sabotage;
use crate::shard::Shard;
use crate::world::{Event, Read, World};

/// How many seeds a plain `cargo test` runs.
const SEEDS: u64 = 1_000;
/// How long everything has to come to its end when nothing goes wrong any more, in ms.
const CALM: i64 = 4 * 3_600_000;

/// The run of a seed, to its end.
fn run(seed: u64, loud: bool) -> Result<(u64, u64), String> {
    run_with(seed, loud, None)
}

fn run_with(seed: u64, loud: bool, sabotage: Option<Sabotage>) -> Result<(u64, u64), String> {
    let mut dice = Dice(seed);
    let mood = Mood::whole(seed, &mut dice);
    let mut world = World::new(seed, mood, dice, loud);
    world.sabotage = sabotage;
    ending(world, "every_seed")
}

/// The run of a seed, and what is left of it with all that was sent.
pub fn seen(
    seed: u64,
    read: Read,
    tables: Option<TableBudget>,
    look: impl Fn(&World),
) -> Result<(u64, u64), String> {
    let mut dice = Dice(seed);
    let mood = Mood::whole(seed, &mut dice);
    let mut world = World::new(seed, mood, dice, false);
    world.keeps_wire = true;
    world.read = read;
    if let Some(tables) = tables {
        world.tables = Some(Arc::new(KeyTables::new(tables)));
    }
    ending_with(world, "golden", look)
}

/// Lives through a run, and says how it ended, and how to see it again.
fn ending(world: World, test: &str) -> Result<(u64, u64), String> {
    ending_with(world, test, |_| {})
}

/// The same, and looks at what is left.
fn ending_with(mut world: World, test: &str, look: impl Fn(&World)) -> Result<(u64, u64), String> {
    let done = catch_unwind(AssertUnwindSafe(|| {
        live(&mut world);
        look(&world);
    }));
    done.map(|()| world.trace.digest()).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let (seed, text, tail) = (world.seed, text.unwrap_or_default(), world.trace.tail());
        format!(
            "seed {seed}: {text}\n{tail}\nagain: SIGNET_SEED={seed} cargo test --workspace --test simulation {test} -- --nocapture"
        )
    })
}

fn live(world: &mut World) {
    world.begin();
    for _ in 0..world.mood.acts {
        let when = world.dice.below(world.mood.chaos as u64) as i64;
        world.plan(when, Event::Act);
    }
    for (when, fault) in world.mood.faults.clone() {
        world.plan(when.max(INTRODUCED), Event::Fault(fault));
    }
    world.run_until(world.mood.chaos);
    world.mend_all();
    world.run_until(world.mood.chaos + CALM);
    world.meet_again();
    world.watch_end();
}

/// In ms: whom an agent knows is durable before the first fault, for its person was told so.
const INTRODUCED: i64 = 100;

fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn every_seed_ends_well() {
    if let Some(seed) = asked("SIGNET_SEED") {
        println!("{:?}", run(seed, true).unwrap());
        return;
    }
    all_end_well(asked("SIGNET_SEEDS").unwrap_or(SEEDS), |seed| {
        run(seed, false)
    });
}

/// Runs seeds on every core, and shows all that failed, and how the first of them ended.
fn all_end_well(seeds: u64, run: impl Fn(u64) -> Result<(u64, u64), String> + Sync) {
    let shard = Shard::asked();
    let (first, of) = (shard.first as u64, shard.of as u64);
    let (next, failures) = (AtomicU64::new(first), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(of, Ordering::Relaxed);
                    if seed >= seeds {
                        break;
                    }
                    if let Err(told) = run(seed) {
                        failures.lock().unwrap().insert(seed, told);
                    }
                }
            });
        }
    });
    println!(
        "{} seeds in {:.1?}",
        seeds.saturating_sub(first).div_ceil(of),
        started.elapsed()
    );
    let failures = failures.into_inner().unwrap();
    let firsts = failures.values().filter_map(|told| told.lines().next());
    let summary = firsts.collect::<Vec<_>>().join("\n");
    let first = failures.values().next().cloned().unwrap_or_default();
    assert!(
        failures.is_empty(),
        "{} of {seeds} failed\n{summary}\n\n{first}",
        failures.len()
    );
}

#[test]
fn a_seed_is_one_run() {
    for seed in 0..20 {
        assert_eq!(run(seed, false).ok(), run(seed, false).ok());
    }
}

/// A seed in which a broken rule is noticed by the check that says so.
fn noticed(sabotage: Sabotage, words: &str) {
    let mut others = Vec::new();
    for seed in 0..2_000 {
        let Err(told) = run_with(seed, false, Some(sabotage)) else {
            continue;
        };
        let first = told.lines().next().unwrap_or_default().to_owned();
        if first.contains(words) {
            println!("{sabotage:?}: {first}");
            return;
        }
        others.push(first);
    }
    panic!("nobody notices {sabotage:?} by {words:?}: {others:#?}");
}

#[test]
fn every_rule_that_is_broken_on_purpose_is_noticed() {
    let broken = [
        (Sabotage::EffectsFirst, "without a line"),
        (Sabotage::ReceiptsFirst, "without a line"),
        (
            Sabotage::WindowForgotten,
            "is unknown, and nobody lost anything",
        ),
        // A draft whose leaving is forgotten is sent again under its message-id, or another message is given its
        // number.
        (Sabotage::NumbersForgotten, "message-id-reuse"),
        (Sabotage::InboxForgotten, "again"),
        (Sabotage::SignedAnew, "message-id-reuse"),
        (Sabotage::DiskLies, "refuses what an honest agent sent"),
        (Sabotage::PauseForgotten, "whether it pauses"),
        (Sabotage::TriesForgotten, "tried"),
    ];
    for (sabotage, words) in broken {
        noticed(sabotage, words);
    }
}

#[test]
fn a_restored_backup_is_exposed_and_nothing_false_is_said() {
    let run = |seed, loud| {
        let mut dice = Dice(seed);
        let mood = Mood::restoring(&mut dice);
        ending(World::new(seed, mood, dice, loud), "a_restored_backup")
    };
    if let Some(seed) = asked("SIGNET_SEED") {
        println!("{:?}", run(seed, true).unwrap());
        return;
    }
    all_end_well(200, |seed| run(seed, false));
}

#[test]
fn by_two_carriers_at_once_nothing_is_lost_and_nothing_acts_twice() {
    let run = |seed, loud| {
        let mut dice = Dice(seed);
        let mood = Mood::of_two_carriers(&mut dice);
        ending(World::new(seed, mood, dice, loud), "by_two_carriers")
    };
    if let Some(seed) = asked("SIGNET_SEED") {
        println!("{:?}", run(seed, true).unwrap());
        return;
    }
    all_end_well(asked("SIGNET_SEEDS").unwrap_or(100), |seed| {
        run(seed, false)
    });
}

#[test]
fn who_can_only_dial_out_gets_everything_once_by_polls_and_nobody_by_copies_of_them() {
    let given = AtomicU64::new(0);
    let run = |seed, loud| {
        let mut dice = Dice(seed);
        let mood = Mood::of_polls(&mut dice);
        let world = World::new(seed, mood, dice, loud);
        ending_with(world, "who_can_only_dial_out", |world| {
            world.watch_kept();
            given.fetch_add(world.polls.given, Ordering::Relaxed);
        })
    };
    if let Some(seed) = asked("SIGNET_SEED") {
        println!("{:?}", run(seed, true).unwrap());
        return;
    }
    all_end_well(asked("SIGNET_SEEDS").unwrap_or(100), |seed| {
        run(seed, false)
    });
    let given = given.into_inner();
    assert!(given > 100, "{given} messages came by polls");
}

#[test]
fn certificates_and_keys_that_run_out_are_renewed_and_nothing_is_lost() {
    let run = |seed, loud| {
        let mut dice = Dice(seed);
        let mood = Mood::running_out(&mut dice);
        ending(World::new(seed, mood, dice, loud), "certificates_and_keys")
    };
    if let Some(seed) = asked("SIGNET_SEED") {
        println!("{:?}", run(seed, true).unwrap());
        return;
    }
    all_end_well(asked("SIGNET_SEEDS").unwrap_or(100), |seed| {
        run(seed, false)
    });
}
