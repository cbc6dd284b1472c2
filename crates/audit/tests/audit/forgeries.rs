//! Forgeries of a log by its own host: each is made here with the keys that the host may have, and found
//! by the means that the table in docs/threat-model.md names, and by none weaker.

mod forge;
mod rows;
pub(crate) mod story;

use std::path::Path;

use forge::Keys;
use rows::ROWS;
use signet_audit::{Depth, ProgressFn, Settings, verify, verify_with};
use story::Story;

const DOCUMENT: &str = include_str!("../../../../docs/threat-model.md");

/// What finds a forgery, the weakest means first. The order is that of the document.
fn found_by(story: &Story) -> &'static str {
    let alice = story.alice.as_path();
    let alone = [alice.to_owned()];
    let settings = Settings {
        depth: Depth::Links,
        ..Settings::default()
    };
    let links = || verify_with(&alone, settings, &mut ProgressFn::new(|_, _| {}));
    let peer = || {
        let report = verify(&[alice.to_owned(), story.bob.clone()]);
        let log = report.logs.iter().find(|log| log.name == alice).unwrap();
        log.faults.is_empty()
    };
    if !chain_holds(alice) {
        "chain"
    } else if !links().holds() {
        "checkpoints"
    } else if !verify(&alone).holds() {
        "verify"
    } else if !peer() {
        "peer"
    } else {
        "nothing"
    }
}

fn chain_holds(dir: &Path) -> bool {
    signet_audit::read(dir).unwrap().all(|line| line.is_ok())
}

/// The rows of the table: name, the means for each of the host's keys, and the file that holds the row.
fn documented() -> Vec<[&'static str; 5]> {
    let (_, table) = DOCUMENT
        .split_once("<!-- forgeries")
        .expect("the table of forgeries");
    let (table, _) = table.split_once("<!-- /forgeries -->").expect("its end");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, _, without, checkpoint, signing, held] = cells.try_into().expect("six cells");
        [name.trim_matches('`'), without, checkpoint, signing, held]
    })
    .collect()
}

#[test]
fn the_honest_log_holds_for_every_reader() {
    let story = Story::tell();
    assert_eq!(found_by(&story), "nothing", "{}", verify(&[story.alice]));
}

#[test]
fn each_forgery_is_found_by_the_means_that_the_document_names_and_by_none_weaker() {
    let honest = Story::tell();
    let found: Vec<_> = ROWS
        .iter()
        .map(|row| {
            let means = Keys::ALL.map(|keys| {
                let story = honest.copy();
                row.apply(&story, keys);
                match found_by(&story) {
                    // With these keys the row only signed the checkpoints of the honest lines anew. They say nothing
                    // false, so there is no forgery to be found.
                    "nothing" if story.lines() == honest.lines() => "—",
                    means => means,
                }
            });
            let [without, checkpoint, signing] = means;
            [row.name, without, checkpoint, signing, HERE]
        })
        .collect();
    let documented = documented();
    let ours: Vec<_> = documented
        .into_iter()
        .filter(|row| row[4] == HERE)
        .collect();
    assert_eq!(ours, found, "the document, and then what was found");
}

#[test]
fn no_forgery_passes_whoever_made_it() {
    for row in documented() {
        let means = ["chain", "checkpoints", "verify", "peer", "start", "—"];
        for cell in &row[1..4] {
            assert!(means.contains(cell), "{cell} is no means: {row:?}");
        }
    }
}

/// A row of another test binary has to be named there.
#[test]
fn every_row_stands_in_the_test_that_holds_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for [name, .., held] in documented().into_iter().filter(|row| row[4] != HERE) {
        let held = held.trim_matches('`');
        let code = std::fs::read_to_string(crates.join(held)).expect(held);
        assert!(code.contains(name), "{held} does not name {name}");
    }
}

const HERE: &str = "`audit/tests/audit/forgeries`";
