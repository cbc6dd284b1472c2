//! Names that the code has in a table stand in a table or a list of the documents too, so that whoever adds one is told of its
//! page.

use signet_proto::envelope::Method;

use super::{AGENTS, text};

const PROTOCOL: &str = "docs/protocol.md";

/// That each name stands in the first cell of a row or begins an item of a list, between two lines of the page.
fn stand_in_rows<'a>(page: &str, from: &str, to: &str, names: impl Iterator<Item = &'a str>) {
    let text = text(page);
    let (_, section) = text.split_once(from).unwrap();
    let (section, _) = section.split_once(to).unwrap();
    // The name of a list's item ends with a colon if text follows: cut it off there, so that a name within the text
    // does not count.
    let first = |line: &'_ str| -> Option<String> {
        let row = line
            .strip_prefix("| ")
            .and_then(|row| row.split(" | ").next());
        let item = || line.strip_prefix("- ")?.split("`: ").next();
        row.or_else(item).map(|name| format!("{name}`"))
    };
    let cells: Vec<String> = section.lines().filter_map(first).collect();
    let is_there = |name: &str| {
        let quoted = format!("`{name}`");
        cells.iter().any(|cell| cell.contains(&quoted))
    };
    let missing: Vec<&str> = names.filter(|name| !is_there(name)).collect();
    assert!(
        missing.is_empty(),
        "{missing:?}: give each a row of the table, or an item of the list, below \"{}\" in {page}",
        from.trim()
    );
}

#[test]
fn every_method_has_its_row() {
    let names = Method::ALL.iter().map(|method| method.as_str());
    let (from, to) = ("\n### Methods and message types\n", "\nA request:\n");
    stand_in_rows(PROTOCOL, from, to, names);
}

#[test]
fn every_kind_of_line_has_its_row() {
    let (from, to) = ("\n## 12. The log\n", "\n### Versions of lines\n");
    stand_in_rows(PROTOCOL, from, to, signet_audit::kinds().into_iter());
}

#[test]
fn every_call_has_its_row() {
    let names = signet_api::Call::METHODS.iter().map(|method| method.name);
    stand_in_rows(AGENTS, "\n## Every call\n", "\n## Refusals\n", names);
}
