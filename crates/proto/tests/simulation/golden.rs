//! What households write, byte for byte: the lines of their logs in both versions, what they publish, and the rows of
//! their states. `golden/runs.txt` has the hashes of many seeds and `golden/seed-N.txt` the text of one, so that a
//! change of a byte names the first line that changed. A change that means to write something else makes both anew:
//! `SIGNET_WRITE_GOLDEN=1 cargo test --workspace --test simulation golden`; then the files' differences say what it did.

use std::fmt::Write as _;
use std::path::PathBuf;

use signet_proto::entry::LineVersion;
use signet_proto::ids::Digest;
use signet_proto::keys::TableBudget;
use signet_proto::node::Judged;

use crate::runs;
use crate::world::{Read, World};

/// So many seeds are hashed.
const SEEDS: u64 = 60;
/// The seed whose text is kept: a short run in which much happens.
const TOLD: u64 = 31;
/// So many are lived through again by the reader of every spelling alone.
const READ_AGAIN: usize = 20;

/// All that a run wrote, a line of text for each thing.
fn text(world: &World) -> String {
    let mut text = String::new();
    for agent in &world.agents {
        let id = agent.id();
        for (number, line) in agent.disk.lines().enumerate() {
            for version in [LineVersion::V1, LineVersion::V2] {
                let mut bytes = Vec::new();
                line.entry.write_as(version, &mut bytes);
                let bytes = String::from_utf8(bytes).unwrap();
                let version = version.number();
                writeln!(text, "{id} line {number} v{version} {} {bytes}", line.ts).unwrap();
            }
        }
        if let Some(node) = &agent.node {
            for row in node.snapshot(agent.at(world.now).now).rows() {
                writeln!(text, "{id} row {} {} {}", row.table, row.key, row.value).unwrap();
            }
        }
    }
    for (number, (from, bytes)) in world.wire.iter().enumerate() {
        let bytes = String::from_utf8_lossy(bytes);
        writeln!(text, "wire {number} of {from} {bytes}").unwrap();
    }
    text
}

fn told(seed: u64, read: Read, tables: Option<TableBudget>) -> String {
    let told = std::cell::RefCell::new(String::new());
    runs::seen(seed, read, tables, |world| drop(told.replace(text(world)))).unwrap();
    told.into_inner()
}

fn place(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/simulation/golden", name]
        .iter()
        .collect()
}

/// Holds `now` against the file, or writes the file; the first line that differs.
fn differs(name: &str, now: &str) -> Option<String> {
    let file = place(name);
    if std::env::var_os("SIGNET_WRITE_GOLDEN").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, now).unwrap();
        return None;
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    if kept == now {
        return None;
    }
    let mut lines = kept.lines().zip(now.lines());
    let first = lines.find(|(kept, now)| kept != now);
    Some(match first {
        Some((kept, now)) => format!("{name}: kept\n{kept}\nnow\n{now}"),
        None => format!(
            "{name}: {} lines were kept, and now there are {}",
            kept.lines().count(),
            now.lines().count()
        ),
    })
}

#[test]
fn golden_what_households_write_is_byte_for_byte_what_it_was() {
    let text = differs(&format!("seed-{TOLD}.txt"), &told(TOLD, Judged::of, None));
    let mut runs = String::new();
    for seed in 0..SEEDS {
        let text = told(seed, Judged::of, None);
        let hash = Digest::of(&[text.as_bytes()]).to_hex();
        writeln!(runs, "seed {seed}: {} lines {hash}", text.lines().count()).unwrap();
    }
    let hashes = differs("runs.txt", &runs);
    let differ: Vec<String> = [text, hashes].into_iter().flatten().collect();
    assert!(differ.is_empty(), "{}", differ.join("\n\n"));
}

/// Whichever reader reads a message, everybody writes the same.
#[test]
fn golden_what_households_write_does_not_depend_on_the_reader() {
    let kept = std::fs::read_to_string(place("runs.txt")).unwrap();
    for (seed, line) in (0..).zip(kept.lines()).take(READ_AGAIN) {
        let text = told(seed, Judged::of_any, None);
        let hash = Digest::of(&[text.as_bytes()]).to_hex();
        let lines = text.lines().count();
        assert_eq!(format!("seed {seed}: {lines} lines {hash}"), line);
    }
}

/// With a table of every key or with none: everybody writes the same.
#[test]
fn golden_what_households_write_does_not_depend_on_tables_of_keys() {
    let kept = std::fs::read_to_string(place("runs.txt")).unwrap();
    for (seed, line) in (0..).zip(kept.lines()) {
        for tables in [TableBudget::AT_ONCE, TableBudget::OFF] {
            let text = told(seed, Judged::of, Some(tables));
            let hash = Digest::of(&[text.as_bytes()]).to_hex();
            let lines = text.lines().count();
            assert_eq!(format!("seed {seed}: {lines} lines {hash}"), line);
        }
    }
}
