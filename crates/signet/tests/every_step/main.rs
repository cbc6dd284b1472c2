//! Two daemons talk, and one of them is killed at a system call: any of those by which it changes a file or
//! tells somebody something, at its first, second, … last occurrence in a thread. Or that call on a file
//! of the log is answered with an error. Then it starts again, the conversation is finished, and both
//! logs are held against each other and against what was said on the wire.
//!
//! The short form takes a sample, by `SIGNET_SEED`; `SIGNET_STEPS=all` takes every point.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "../house/mod.rs"]
mod house;
mod scene;

use std::collections::BTreeMap;

use house::strace::{Tracing, is_usable};
use scene::Scene;

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
    play("killed", points.collect(), false);
}

#[test]
fn a_system_call_on_the_log_fails() {
    if !is_usable() {
        return;
    }
    let mut scene = Scene::new();
    let files = scene.alice.log_files();
    let mut points = Vec::new();
    let calls = scene.count(&files);
    println!("{calls:?}");
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
    play("failed", points, true);
}

/// Plays the scene once for each point, or for a sample of them.
fn play(what: &str, all: Vec<(String, String)>, only_log: bool) {
    let seed = std::env::var("SIGNET_SEED").map_or(1, |text| text.parse().unwrap());
    let is_long = std::env::var("SIGNET_STEPS").is_ok_and(|text| text == "all");
    let points = if is_long {
        all.clone()
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
            let mut tracing = Tracing::inject(call, inject.clone());
            if only_log {
                tracing = tracing.only(scene.alice.log_files());
            }
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
    assert!(receipts > 0 && ended > 0);
}

/// Spread over the list, so that every kind of call is among them.
fn sample(all: &[(String, String)], seed: usize) -> Vec<(String, String)> {
    // An odd one: the errors of a place stand in fours.
    let step = all.len().div_ceil(SAMPLE) | 1;
    let from = seed.wrapping_mul(7) % step;
    all.iter().skip(from).step_by(step).cloned().collect()
}
