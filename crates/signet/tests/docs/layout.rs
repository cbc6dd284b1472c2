//! The documents are laid out for people: each page begins with whom it is for, stands in the contents, and has no cell of a
//! table that nobody reads to its end.

use std::collections::BTreeSet;

use super::{pages, text};

const CONTENTS: &str = "docs/SUMMARY.md";
/// Pages whose form is the custom of all projects.
const CUSTOMARY: [&str; 4] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
];
/// The longest cell, in characters as a reader sees them.
const LONGEST: usize = 160;

/// Every page that a reader is led to: those of tests lie beside the tests.
fn led_to() -> Vec<(String, String)> {
    let others = ["crates/", "audit/sample/"];
    let is_page = |file: &str| file != CONTENTS && !others.iter().any(|at| file.starts_with(at));
    let documents = pages::documents().into_iter();
    documents.filter(|(file, _)| is_page(file)).collect()
}

/// The rows of tables outside blocks, with the numbers of their lines.
fn rows(page: &str) -> Vec<(usize, &str)> {
    let mut is_fenced = false;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        is_fenced ^= line.starts_with("```");
        if !is_fenced && line.starts_with('|') {
            found.push((number, line));
        }
    }
    found
}

/// A cell as a reader sees it: of a link its words alone.
fn seen(cell: &str) -> String {
    let mut parts = cell.trim().split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |seen, part| {
        seen + part.split_once(')').map_or(part, |(_, rest)| rest)
    })
}

/// Cells that are too long, each with its line.
fn too_long(page: &str) -> Vec<(usize, String)> {
    let cells = |(number, row): (usize, &str)| -> Vec<(usize, String)> {
        let cells = row.trim_matches('|').split(" | ").map(seen);
        cells.map(|cell| (number, cell)).collect()
    };
    let cells = rows(page).into_iter().flat_map(cells);
    cells
        .filter(|(_, cell)| cell.chars().count() > LONGEST)
        .collect()
}

#[test]
fn no_cell_of_a_table_is_longer_than_a_glance() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (file, text) in pages::documents() {
        seen += rows(&text).len();
        let cells = too_long(&text).into_iter();
        wrong.extend(cells.map(|(line, cell)| format!("{file}:{line}: {cell}")));
    }
    assert!(seen > 500, "{seen}");
    assert!(
        wrong.is_empty(),
        "make a list, or two rows:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_long_cell_is_found_and_the_target_of_a_link_is_not_counted() {
    let words = "word ".repeat(40);
    assert_eq!(too_long(&format!("| a | {words} |")).len(), 1);
    assert_eq!(too_long(&format!("```text\n| a | {words} |\n```")).len(), 0);
    let link = format!("[here]({}) and there", "x".repeat(200));
    assert_eq!(seen(&link), "[here and there");
    assert_eq!(too_long(&format!("| a | {link} |")).len(), 0);
}

/// What is wrong with the first paragraph of a page.
fn fault_of_opening(page: &str) -> Option<&'static str> {
    let mut paragraphs = page.split("\n\n");
    let is_title = paragraphs
        .next()
        .is_some_and(|title| title.starts_with("# "));
    let opening = paragraphs.next().unwrap_or_default().replace('\n', " ");
    if !is_title {
        Some("it has no title")
    } else if !opening.starts_with("For ") {
        Some("it does not begin with whom it is for: \"For …\"")
    } else if !opening.contains(". Afterwards ") {
        Some("it does not say what its reader has or can do afterwards: \"Afterwards …\"")
    } else {
        None
    }
}

#[test]
fn each_page_begins_with_whom_it_is_for_and_what_they_get_done() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (file, text) in led_to() {
        // A decision is a record, and begins with its state.
        if CUSTOMARY.contains(&file.as_str()) || file.starts_with("docs/decisions/") {
            continue;
        }
        seen += 1;
        wrong.extend(fault_of_opening(&text).map(|fault| format!("{file}: {fault}")));
    }
    assert!(seen >= 30, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for page in [
        "For nobody.\n\nAfterwards",
        "# A page\n\nIt says what it says.",
        "# A page\n\nFor a reader of it.",
    ] {
        assert!(fault_of_opening(page).is_some(), "{page}");
    }
}

/// A page that stands in no contents is read by nobody, and the book has only those that do.
#[test]
fn the_contents_list_each_page_once() {
    let contents = text(CONTENTS);
    let targets = contents.split("](").skip(1);
    let targets = targets.filter_map(|part| part.split_once(')').map(|(target, _)| target));
    let at_root = |target: &str| match target.strip_prefix("../") {
        Some(path) => path.to_owned(),
        None => format!("docs/{target}"),
    };
    let listed: Vec<String> = targets.map(at_root).collect();
    let once: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(
        once.len(),
        listed.len(),
        "twice in the contents: {listed:#?}"
    );
    let pages: BTreeSet<String> = led_to().into_iter().map(|(file, _)| file).collect();
    let left: Vec<_> = pages.iter().filter(|page| !once.contains(page)).collect();
    assert!(left.is_empty(), "give each a line in {CONTENTS}: {left:?}");
    let (read_first, ..) = listed.split_first().unwrap();
    assert_eq!(read_first, "README.md");
}
