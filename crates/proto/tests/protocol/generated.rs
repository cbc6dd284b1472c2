//! What is made from tables of the code: files, and parts of files that somebody wrote by hand.

use std::path::PathBuf;

fn path(file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../..", file].iter().collect()
}

/// Holds the file against what the code says, or writes it.
pub(crate) fn keep(file: &str, generated: &str) {
    if std::env::var_os("SIGNET_WRITE_GENERATED").is_some() {
        std::fs::write(path(file), generated).unwrap();
        return;
    }
    assert!(
        generated == std::fs::read_to_string(path(file)).unwrap(),
        "{file} is not what the code says; `make generated` writes it anew"
    );
}

/// The same for what stands in the file between two texts, which are both in it once.
pub(crate) fn keep_between(file: &str, start: &str, end: &str, generated: &str) {
    let text = std::fs::read_to_string(path(file)).unwrap();
    let (before, rest) = text.split_once(start).expect("the start is there");
    let (_, after) = rest.split_once(end).expect("the end is there");
    keep(file, &format!("{before}{start}{generated}{end}{after}"));
}

/// Names as the items of an array that stands so far to the right.
pub(crate) fn items<'a>(names: impl Iterator<Item = &'a str>, indent: usize) -> String {
    let items = names.map(|name| format!("\n{:indent$}\"{name}\"", ""));
    items.collect::<Vec<_>>().join(",")
}
