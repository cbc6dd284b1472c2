//! `scripts/book` says when it can make no book, and follows links; `make docs` is it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use signet_testkit::says;

use super::quickstart::which;
use super::text;

/// The book's script beside a `cargo` that fetches nothing, in a folder of its own.
fn without_mdbook() -> Output {
    let place = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (scripts, bin) = (place.path().join("scripts"), place.path().join("bin"));
    for folder in [&scripts, &bin] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::copy(root.join("scripts/book"), scripts.join("book")).unwrap();
    symlink(which("dirname"), bin.join("dirname")).unwrap();
    symlink(which("false"), bin.join("cargo")).unwrap();
    let mut script = Command::new(which("sh"));
    let script = script.arg(scripts.join("book")).env_clear();
    script.env("PATH", &bin).output().unwrap()
}

#[test]
fn where_mdbook_cannot_be_had_the_script_says_so_and_ends_with_3() {
    let ended = without_mdbook();
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert!(says(&ended).contains("cannot be had here"), "{ended:?}");
    let makefile = text("Makefile");
    let (_, target) = makefile.split_once("\ndocs: ##").unwrap();
    assert!(
        target
            .split("\n\n")
            .next()
            .unwrap()
            .contains("scripts/book")
    );
}

/// A book of so many pages, each with links to the next one and to a place in it.
fn follow(place: &Path, broken: Option<&str>) -> Output {
    for page in 0..30 {
        let next = (page + 1) % 30;
        let link = format!(
            "<a href=\"{next}.html#there\">on</a> <a href=\"https://example.org\">away</a>"
        );
        let more = broken.filter(|_| page == 7).unwrap_or_default();
        let text = format!(
            "<main><h1 id=\"there\">{page}</h1>{}{more}</main>",
            link.repeat(4)
        );
        fs::write(place.join(format!("{page}.html")), text).unwrap();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut python = Command::new("python3");
    let python = python.arg(root.join("scripts/book-links"));
    python.arg(place).output().unwrap()
}

#[test]
fn a_link_of_the_book_that_leads_nowhere_is_named() {
    let place = tempfile::tempdir().unwrap();
    let ended = follow(place.path(), None);
    assert!(ended.status.success(), "{}", says(&ended));
    for (broken, named) in [
        ("<a href=\"gone.html\">x</a>", "7.html: gone.html"),
        (
            "<a href=\"8.html#elsewhere\">x</a>",
            "7.html: 8.html#elsewhere",
        ),
        ("<img src=\"view.png\">", "7.html: view.png"),
    ] {
        let ended = follow(place.path(), Some(broken));
        assert_eq!(ended.status.code(), Some(1), "{broken}: {ended:?}");
        assert!(says(&ended).contains(named), "{broken}: {}", says(&ended));
    }
    let empty = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut python = Command::new("python3");
    let python = python
        .arg(root.join("scripts/book-links"))
        .arg(empty.path());
    let ended = python.output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "no book: {ended:?}");
}
