//! The threat model says by which test each thing is stopped: such a test exists.

use std::path::Path;

use super::text;

/// What stands in backticks and is named as a test is: at least four words, perhaps behind the names of its modules.
fn named(page: &str) -> Vec<&str> {
    let quoted = page.split('`').skip(1).step_by(2);
    let names = quoted.filter_map(|name| name.trim_end_matches('…').rsplit("::").next());
    let is_test = |name: &&str| {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        name.chars().all(is_plain) && name.matches('_').count() >= 3
    };
    names.filter(is_test).collect()
}

/// All of the house's Rust, and of the clients' tests.
fn sources(at: &Path, all: &mut String) {
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let skipped = ["target", "node_modules", "dist", ".venv"];
        if path.is_dir() && !skipped.iter().any(|name| path.ends_with(name)) {
            sources(&path, all);
        } else if path
            .extension()
            .is_some_and(|end| end == "rs" || end == "py")
        {
            all.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let page = text("docs/threat-model.md");
    let names = named(&page);
    assert!(names.len() > 100, "{}", names.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = String::new();
    for place in ["crates", "clients"] {
        sources(&root.join(place), &mut all);
    }
    let is_missing = |name: &&&str| {
        let (rust, python) = (format!("fn {name}"), format!("def test_{name}"));
        !all.contains(&rust) && !all.contains(&python) && !all.contains(&format!("def {name}"))
    };
    let missing: Vec<_> = names.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
