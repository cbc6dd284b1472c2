//! `docs/handlers.md` says what is: its file is read, and the names by which tries fail are those of the tests.

use std::path::Path;

use signet_gateway::handle::Handlers;

use crate::faults::FAULTS;

fn page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/handlers.md");
    std::fs::read_to_string(page).unwrap()
}

#[test]
fn the_file_of_the_document_is_one() {
    let page = page();
    let block = page.split("```toml\n").nth(1).unwrap();
    let file = block.split("```").next().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("handlers.toml");
    std::fs::write(&path, file).unwrap();
    let handlers = Handlers::load(&path).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(handlers.sections().len(), 6);
    let ledger = handlers.get("ledger.balance").unwrap();
    assert_eq!((ledger.parallel(), ledger.timeout().as_secs()), (2, 60));
}

#[test]
fn every_name_by_which_a_try_fails_stands_in_the_document() {
    let page = page();
    for (fault, reason, _) in FAULTS {
        let name = reason.split_once(':').map_or(*reason, |(name, _)| name);
        assert!(page.contains(&format!("`{name}`")), "{fault}: {name}");
    }
}
