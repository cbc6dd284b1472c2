//! What daemons cost: a bench a file, each in a process of its own, so that the memory of one is not another's.
//!
//! `cargo bench --workspace --bench daemon -- latency idle` runs these two; without a name, all of them run, and a missed
//! limit of one holds up none. Cargo runs it as a test, too, with the smallest numbers (`signet_testkit::bench`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod clients;
mod common;
mod flood;
mod handlers;
mod history;
mod idle;
mod inbound;
mod latency;
mod memory;
mod reading;
mod whole;
mod yardsticks;

use std::process::Command;

use signet_testkit::bench::{Bench, measures};

type Part = (&'static str, fn(Bench));

const PARTS: [Part; 10] = [
    ("inbound", inbound::run),
    ("latency", latency::run),
    ("reading", reading::run),
    ("history", history::run),
    ("idle", idle::run),
    ("handlers", handlers::run),
    ("clients", clients::run),
    ("flood", flood::run),
    ("memory", memory::run),
    ("whole", whole::run),
];

/// The word by which this program tells itself that it is the process of one part.
const ALONE: &str = "--alone";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let named: Vec<&str> = words
        .iter()
        .filter(|word| !word.starts_with("--"))
        .map(String::as_str)
        .collect();
    if let Some(unknown) = named
        .iter()
        .find(|name| !PARTS.iter().any(|(part, _)| part == *name))
    {
        let names = PARTS.map(|(name, _)| name).join(", ");
        eprintln!("there is no bench {unknown}; there are {names}");
        std::process::exit(2);
    }
    let chosen = PARTS
        .iter()
        .filter(|(name, _)| named.is_empty() || named.contains(name));
    if words.iter().any(|word| word == ALONE) {
        for (name, run) in chosen {
            run(Bench::begin(name));
        }
        return;
    }
    let failed: Vec<&str> = chosen
        .filter(|(name, _)| !holds(name))
        .map(|(name, _)| *name)
        .collect();
    if !failed.is_empty() {
        println!("\nthese failed: {}", failed.join(", "));
        std::process::exit(1);
    }
}

/// Runs one part in a process of its own.
fn holds(name: &str) -> bool {
    println!("\n== {name}\n");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([ALONE, name])
        .args(measures().then_some("--bench"));
    command.status().unwrap().success()
}
