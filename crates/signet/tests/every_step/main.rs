//! Two daemons talk, and one of them is killed at a system call: any of those by which it changes a file or
//! tells somebody something, at its first, second, … last occurrence in a thread. Or that call on a file
//! of the log or of the state is answered with an error. Then it starts again, the conversation is finished, and both
//! logs are held against each other and against what was said on the wire.
//!
//! The short form takes a sample, by `SIGNET_SEED`; `SIGNET_STEPS=all` takes every point, and with
//! `SIGNET_SHARD=2/8` the second of every eight.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod scene;

use std::collections::BTreeMap;
use std::path::PathBuf;

use scene::Scene;
use signet_testkit::Home;
use signet_testkit::shard::Shard;
use signet_testkit::strace::{Tracing, is_usable};

/// How many points the short form takes of each list.
const SAMPLE: usize = 12;
/// A scene is played so often before a new one begins, with new homes and new logs.
const PLAYS: usize = 40;

#[test]
fn killed_at_a_system_call() {
    if !is_usable() {
        return;
    }
    let calls = Scene::new().count(&[]);
    println!("{calls:?}");
    let points = calls.iter().flat_map(|(call, most)| {
        (1..=*most).map(move |number| (call.clone(), format!("signal=SIGKILL:when={number}")))
    });
    play("killed", points.collect(), |_| Vec::new());
}

#[test]
fn a_system_call_on_the_log_fails() {
    if is_usable() {
        let mut scene = Scene::new();
        let files = scene.alice.log_files();
        let points = errors(scene.count(&files));
        play("failed on the log", points, Home::log_files);
    }
}

/// The rows are a convenience: whatever befalls their files, nothing that was said is lost or said twice, and
/// the daemon starts again.
#[test]
fn a_system_call_on_the_state_fails() {
    if is_usable() {
        let mut scene = Scene::new();
        let files = scene.alice.state_files();
        let points = errors(scene.count(&files));
        play("failed on the state", points, Home::state_files);
    }
}

/// Each call answered with an error, at its first, second, … last occurrence.
fn errors(calls: BTreeMap<String, u64>) -> Vec<(String, String)> {
    println!("{calls:?}");
    let mut points = Vec::new();
    for (call, most) in calls {
        for number in 1..=most {
            // A full disk that has room again after three tries, and one that never works again.
            for error in ["ENOSPC", "EDQUOT"] {
                points.push((
                    call.clone(),
                    format!("error={error}:when={number}..{}", number + 2),
                ));
            }
            for error in ["EIO", "EROFS"] {
                points.push((call.clone(), format!("error={error}:when={number}+")));
            }
        }
    }
    points
}

/// Plays the scene once for each point, or for a sample of them; the point counts calls on these files, or on
/// all when there are none.
fn play(what: &str, all: Vec<(String, String)>, files: fn(&Home) -> Vec<PathBuf>) {
    let seed = std::env::var("SIGNET_SEED").map_or(1, |text| text.parse().unwrap());
    let is_long = std::env::var("SIGNET_STEPS").is_ok_and(|text| text == "all");
    let points = if is_long {
        shard(&all)
    } else {
        sample(&all, seed)
    };
    println!(
        "{} points, {} of them {what}, SIGNET_SEED={seed}",
        all.len(),
        points.len()
    );
    let (mut reached, mut receipts) = (BTreeMap::<String, usize>::new(), 0);
    for chunk in points.chunks(PLAYS) {
        let mut scene = Scene::new();
        for (call, inject) in chunk {
            println!("{call} {inject}");
            let files = files(&scene.alice);
            let tracing = Tracing::inject(call, inject.clone()).only(files);
            if scene.play(&tracing) {
                *reached.entry(call.clone()).or_default() += 1;
            }
        }
        receipts += scene.close();
    }
    let ended: usize = reached.values().sum();
    println!(
        "{} points played, the daemon ended at {ended} of them {reached:?}; {receipts} receipts hold",
        points.len()
    );
    assert!(receipts > 0);
    // A daemon ends if it is killed or its log fails, so some point has to end it. It goes on if only its state fails.
    assert!(ended > 0 || what.ends_with("state"));
}

fn shard(all: &[(String, String)]) -> Vec<(String, String)> {
    Shard::asked().of(all.iter().cloned()).collect()
}

/// Spread over the list, so that every kind of call is among them.
fn sample(all: &[(String, String)], seed: usize) -> Vec<(String, String)> {
    // The errors of a place stand in fours: an even step would always play the same of the four, an odd one plays all.
    let step = all.len().div_ceil(SAMPLE) | 1;
    let from = seed.wrapping_mul(7) % step;
    all.iter().skip(from).step_by(step).cloned().collect()
}
