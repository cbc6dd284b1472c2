//! The words under which docs/troubleshooting.md lists a symptom are those that the program prints.

use super::glossary::sentences;
use super::{pages, text};

const PAGE: &str = "docs/troubleshooting.md";

/// The lines that the page quotes, each with its number.
fn quoted(page: &str) -> Vec<(usize, &str)> {
    let mut is_quoted = false;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        if line.starts_with("```") {
            is_quoted = line == "```text";
        } else if is_quoted {
            found.push((number, line));
        }
    }
    found
}

/// Every sentence in the sources of the programs, without the breaks of its lines.
fn said() -> Vec<String> {
    let mut found = Vec::new();
    for folder in pages::folders_in("crates") {
        for (file, source) in pages::files_below(&format!("{folder}/src"), "rs") {
            if !file.ends_with("/tests.rs") && !file.contains("/tests/") {
                let texts = sentences(&source).into_iter();
                found
                    .extend(texts.map(|(_, text)| text.replace(" \\ ", " ").replace("\\\"", "\"")));
            }
        }
    }
    assert!(found.len() > 1_000, "{}", found.len());
    found
}

/// Whether the parts of a quoted line around each `…` stand in one sentence, in their order.
fn is_of(line: &str, sentence: &str) -> bool {
    let parts = line.split('…').map(str::trim);
    let mut parts = parts.filter(|part| part.contains(char::is_alphabetic));
    let mut rest = sentence;
    parts.all(|part| match rest.split_once(part) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

#[test]
fn every_symptom_is_in_the_words_of_the_program() {
    let (page, said) = (text(PAGE), said());
    let lines = quoted(&page);
    assert!(lines.len() > 110, "{}", lines.len());
    let is_unsaid = |line: &str| !said.iter().any(|sentence| is_of(line, sentence));
    let wrong: Vec<String> = lines
        .iter()
        .filter(|(_, line)| is_unsaid(line))
        .map(|(number, line)| format!("{PAGE}:{number}: {line}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A line that said nothing of its own would be found in every sentence.
#[test]
fn every_symptom_has_words_to_look_for() {
    for (number, line) in quoted(&text(PAGE)) {
        let letters = line.chars().filter(|c| c.is_alphabetic()).count();
        assert!(letters >= 5, "{PAGE}:{number}: {line}");
    }
}

/// What stands between each block of symptoms and whatever comes next: the next block, or a heading.
fn remedies(page: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut is_quoted, mut is_open) = (false, false);
    for (number, line) in (1..).zip(page.lines()) {
        if line == "```text" {
            (is_quoted, is_open) = (true, true);
            found.push((number, String::new()));
        } else if is_quoted {
            is_quoted = line != "```";
        } else if line.starts_with('#') && !line.starts_with("# ") {
            is_open = false;
        } else if is_open {
            found.last_mut().unwrap().1.push_str(line);
        }
    }
    found
}

/// Somebody who has found their line is told why it was printed and what to do.
#[test]
fn every_symptom_has_a_cause_and_a_remedy_below_it() {
    let page = text(PAGE);
    let told = remedies(&page);
    assert!(told.len() >= 30, "{}", told.len());
    for (number, remedy) in told {
        assert!(
            remedy.len() >= 20,
            "{PAGE}:{number}: nothing says what to do: {remedy}"
        );
    }
    let [(_, none)] = &remedies("```text\nit fails\n```\n## Next")[..] else {
        panic!("one block");
    };
    assert_eq!(none, "");
}

#[test]
fn other_words_or_another_order_are_noticed() {
    let sentence = "no peer {0}; ask its person for `signet peer export`";
    assert!(is_of("no peer …; ask its person for …", sentence));
    assert!(!is_of("no peer …; ask his person for …", sentence));
    assert!(!is_of("ask its person … no peer", sentence));
}
