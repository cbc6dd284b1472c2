//! One word for each thing: what docs/glossary.md says not to write, no document, help or message writes. And a sentence of a
//! document names what it is about.

use std::collections::BTreeMap;

use super::{help, pages, text};

const GLOSSARY: &str = "docs/glossary.md";

/// Sentences in which a word is the name of something that programs read, or of a command.
const NAMES: [&str; 7] = [
    "trust pending",
    "accepted, rejected or sent",
    "--verdict rejected",
    "\"rejected\"",
    "\\\"rejected\\\"",
    ".fingerprint",
    "signet/1 fingerprint",
];

/// The words not to be used, each with the one to use in its place.
fn unwanted() -> Vec<(String, String)> {
    let page = text(GLOSSARY);
    let rows = page.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut found = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let instead = cells[0].to_owned();
        let words = cells[2].trim_end_matches('|').split(',').map(str::trim);
        let words = words.filter(|word| !word.is_empty());
        found.extend(words.map(|word| (word.to_lowercase(), instead.clone())));
    }
    assert!(found.len() >= 15, "{found:?}");
    found
}

/// The first word of a line that is not to be used.
fn found_in<'a>(line: &str, unwanted: &'a [(String, String)]) -> Option<&'a (String, String)> {
    let mut line = line.to_lowercase();
    for name in NAMES {
        line = line.replace(name, "");
    }
    // What stands in backticks is a name.
    let prose: Vec<&str> = line.split('`').step_by(2).collect();
    let prose = prose.join(" ");
    let is_letter = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let stands = |word: &str| {
        prose.match_indices(word).any(|(at, _)| {
            let (before, after) = (&prose[..at], &prose[at + word.len()..]);
            !before.ends_with(is_letter) && !after.starts_with(is_letter)
        })
    };
    unwanted.iter().find(|(word, _)| stands(word))
}

/// Lines of a document outside blocks and comments, with their numbers; what links lead to is no prose.
fn prose(page: &str) -> Vec<(usize, String)> {
    let (mut is_fenced, mut is_comment) = (false, false);
    let mut found = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        is_fenced ^= line.starts_with("```");
        is_comment |= line.starts_with("<!--");
        let is_prose = !is_fenced && !is_comment && !line.starts_with("```");
        is_comment &= !line.contains("-->");
        if !is_prose {
            continue;
        }
        let mut parts = line.split("](");
        let mut prose = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            prose.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
        }
        found.push((number, prose));
    }
    found
}

/// A sentence that begins so, with a verb behind it, is read twice: its reader looks for the noun that it is about.
const OPENINGS: [&str; 4] = ["What", "Who", "Whoever", "One that"];

/// Words behind which a noun stands, before any verb.
const BEFORE_NOUNS: [&str; 26] = [
    "a", "all", "an", "another", "any", "both", "each", "every", "four", "her", "his", "its", "no",
    "one", "other", "our", "some", "that", "the", "their", "these", "this", "those", "three",
    "two", "your",
];

/// The text of a reason, as it stands on the wire and in logs.
const REASON: &str = "What is sealed inside was made for another message:";

/// Paragraphs, items and cells of a page, each in one line, with the number of its first one. Blocks, comments, headings
/// and the heads of tables are none.
fn passages(page: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = page.lines().map(str::trim).collect();
    let is_rule = |line: &str| line.starts_with("|--");
    let (mut is_fenced, mut is_comment, mut goes_on) = (false, false, false);
    let mut found: Vec<(usize, String)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        is_fenced ^= line.starts_with("```");
        is_comment |= line.starts_with("<!--");
        let is_text = !line.is_empty() && !line.starts_with('#') && !line.starts_with("```");
        let is_prose = is_text && !is_fenced && !is_comment;
        is_comment &= !line.contains("-->");
        if !is_prose || line.starts_with('|') {
            goes_on = false;
        }
        let is_head = lines.get(at + 1).is_some_and(|next| is_rule(next));
        if !is_prose || line.starts_with('|') && (is_head || is_rule(line)) {
            continue;
        }
        if line.starts_with('|') {
            let cells = line.trim_matches('|').split(" | ");
            found.extend(cells.map(|cell| (at + 1, cell.trim().to_owned())));
            continue;
        }
        match (item(line), found.last_mut()) {
            (None, Some((_, passage))) if goes_on => {
                passage.push(' ');
                passage.push_str(line);
            }
            (item, _) => found.push((at + 1, item.unwrap_or(line).to_owned())),
        }
        goes_on = true;
    }
    found
}

/// What a line says behind the mark or the number of an item of a list.
fn item(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let marked = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    marked.or_else(|| number.strip_prefix(". ").filter(|_| number != line))
}

/// The sentences of a passage, and what stands before and behind a colon in one.
fn parts(passage: &str) -> Vec<&str> {
    let (mut found, mut begun, mut at) = (Vec::new(), 0, 0);
    for word in passage.split_inclusive(' ') {
        at += word.len();
        let word = word.trim_end().trim_end_matches(['*', '"', ')']);
        if word.ends_with(['.', '!', '?', ':', ';']) {
            found.push(passage[begun..at].trim());
            begun = at;
        }
    }
    found.push(passage[begun..].trim());
    found
}

/// Whether a sentence, and no question, begins with an opening and has no noun before its verb.
fn lacks_its_noun(sentence: &str) -> bool {
    let said = sentence.trim_start_matches(['*', '_', '"', '(']);
    let behind = |opening: &str| said.strip_prefix(opening)?.strip_prefix(' ');
    let Some(rest) = OPENINGS.into_iter().find_map(behind) else {
        return false;
    };
    let next = rest.split_whitespace().next().unwrap_or_default();
    let is_name = next.starts_with(|c: char| c == '`' || c.is_uppercase());
    let is_question = said.trim_end_matches(['*', '_', '"', ')']).ends_with('?');
    !is_name && !is_question && !BEFORE_NOUNS.contains(&next) && !said.starts_with(REASON)
}

/// The sentences that a source file says: its texts with a space in them, without those of its tests.
pub fn sentences(source: &str) -> Vec<(usize, String)> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut found = Vec::new();
    let (mut rest, mut number) = (source, 1);
    while let Some(at) = rest.find(['"', '\'', '/', '\n']) {
        let (skipped, tail) = rest.split_at(at);
        // `r"…"` and `r#"…"#` end where as many marks stand again.
        let marks = skipped.len() - skipped.trim_end_matches('#').len();
        let is_raw = skipped.trim_end_matches('#').ends_with('r');
        rest = match tail.as_bytes() {
            [b'\n', ..] => {
                number += 1;
                &tail[1..]
            }
            [b'/', b'/', ..] => &tail[tail.find('\n').unwrap_or(tail.len())..],
            [b'"', ..] => {
                let length = match is_raw {
                    true => tail[1..].find(&format!("\"{}", "#".repeat(marks))).unwrap(),
                    false => end_of_text(&tail[1..]),
                };
                let said = &tail[1..=length];
                if said.contains(' ') {
                    found.push((
                        number,
                        said.split_whitespace().collect::<Vec<_>>().join(" "),
                    ));
                }
                number += said.matches('\n').count();
                &tail[length + 2..]
            }
            // `'"'` and `'\''` are characters, `'a` is a lifetime.
            [b'\'', b'\\', _, b'\'', ..] => &tail[4..],
            [b'\'', _, b'\'', ..] => &tail[3..],
            _ => &tail[1..],
        };
    }
    found
}

fn end_of_text(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !is_escaped => return at,
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    panic!("a text that does not end");
}

/// Every command, by its words, with its help.
fn helps() -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    let mut left: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = left.pop() {
        let named: Vec<&str> = words.iter().map(String::as_str).collect();
        let page = help(&named, &mut known);
        for name in signet_testkit::listed_commands(&page) {
            left.push([&words[..], &[name]].concat());
        }
    }
    known
}

#[test]
fn no_document_uses_a_word_that_the_glossary_replaces() {
    let unwanted = unwanted();
    let mut wrong = Vec::new();
    for (file, text) in pages::documents() {
        // What `jq` printed of a log stands in the sample, in the log's own words; the list of rooms is made of what
        // the code says of itself to whoever changes it.
        if file == GLOSSARY || file == "docs/rooms.md" || file.starts_with("audit/sample/") {
            continue;
        }
        for (number, line) in prose(&text) {
            let found = found_in(&line, &unwanted);
            wrong
                .extend(found.map(|(word, instead)| format!("{file}:{number}: {word}: {instead}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_sentence_of_a_document_names_what_it_is_about() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (file, text) in pages::documents() {
        // The list of rooms is made of what the code says of itself, decisions and changes stay as they were written.
        let others = ["docs/rooms.md", "CHANGELOG.md"];
        let kept = ["docs/decisions/", "docs/formal/", "audit/sample/"];
        if others.contains(&file.as_str()) || kept.iter().any(|folder| file.starts_with(folder)) {
            continue;
        }
        for (number, passage) in passages(&text) {
            let parts = parts(&passage);
            seen += parts.len();
            let lacking = parts.into_iter().filter(|part| lacks_its_noun(part));
            wrong.extend(lacking.map(|part| format!("{file}:{number}: begin with a noun: {part}")));
        }
    }
    assert!(seen > 3_000, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_help_uses_a_word_that_the_glossary_replaces() {
    let (unwanted, helps) = (unwanted(), helps());
    assert!(helps.len() > 60, "{}", helps.len());
    let mut wrong = Vec::new();
    for (command, page) in helps {
        for (number, line) in (1..).zip(page.lines()) {
            // The name of a command stands before what is said about it.
            let row = line.strip_prefix("  ").and_then(|row| row.split_once("  "));
            let found = found_in(row.map_or(line, |(_, said)| said), &unwanted);
            wrong.extend(found.map(|(word, instead)| {
                format!("signet {command} --help:{number}: {word}: {instead}")
            }));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_message_uses_a_word_that_the_glossary_replaces() {
    let unwanted = unwanted();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    // Leave out the two crates that drive tests and demonstration: no user reads their messages.
    let crates = pages::folders_in("crates").into_iter();
    let crates = crates.filter(|name| !name.ends_with("/testkit") && !name.ends_with("/driver"));
    for folder in crates {
        for (file, text) in pages::files_below(&format!("{folder}/src"), "rs") {
            if file.ends_with("/tests.rs") || file.contains("/tests/") {
                continue;
            }
            for (number, said) in sentences(&text) {
                let found = found_in(&said, &unwanted);
                wrong.extend(
                    found.map(|(word, instead)| format!("{file}:{number}: {word}: {instead}")),
                );
                seen += 1;
            }
        }
    }
    for (folder, ending) in [("schemas", "json"), ("systemd", "service")] {
        for (file, text) in pages::files_below(folder, ending) {
            for (number, line) in (1..).zip(text.lines()) {
                let said = line.contains("\"description\"") || line.starts_with('#');
                let found = found_in(line, &unwanted).filter(|_| said);
                wrong.extend(
                    found.map(|(word, instead)| format!("{file}:{number}: {word}: {instead}")),
                );
            }
        }
    }
    assert!(seen > 1_000, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_word_is_found_where_it_is_prose_and_not_where_it_is_a_name() {
    let unwanted = unwanted();
    let finds = |line: &str| found_in(line, &unwanted).map(|(word, _)| word.as_str());
    assert_eq!(finds("It was Rejected by the peer."), Some("rejected"));
    assert_eq!(
        finds("a draft of an unknown agent waits"),
        Some("unknown agent")
    );
    for name in [
        "the verdict `rejected`",
        "a pinstripe, unbound",
        "signet trust pending",
    ] {
        assert_eq!(finds(name), None, "{name}");
    }
}

#[test]
fn a_sentence_that_lacks_its_noun_is_found_and_a_question_is_none() {
    let lacking = |page: &str| -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (number, passage) in passages(page) {
            let parts = parts(&passage).into_iter();
            let parts = parts.filter(|part| lacks_its_noun(part));
            found.extend(parts.map(|part| (number, part.to_owned())));
        }
        found
    };
    for sentence in [
        "What passes is written.",
        "What it says is data.",
        "Whoever asks is told:",
        "**Who reads** leaves it out.",
        "One that is late is left out",
    ] {
        assert_eq!(lacking(sentence), [(1, sentence.to_owned())]);
        let longer = format!("- It ends\n  here: so be it.\n  {sentence}\n\nAnother one.");
        assert_eq!(lacking(&longer), [(1, sentence.to_owned())]);
        let cell = format!("| one | two |\n|---|---|\n| first | second. {sentence} |");
        assert_eq!(lacking(&cell), [(3, sentence.to_owned())]);
    }
    for fine in [
        "What a peer says is data.",
        "What `signet up` made stays.",
        "Who may ask, and what for?",
        "A message that passes is written; what fails is not.",
        "Whatever it is, it stays.",
        "## What follows",
        "```text\nWhat follows is code.\n```",
        "<!-- What follows is hidden. -->",
        "| What follows | Who reads |\n|---|---|\n| nothing | nobody |",
    ] {
        assert_eq!(lacking(fine), [], "{fine}");
    }
}

#[test]
fn what_a_source_file_says_is_found_past_quotes_comments_and_lifetimes() {
    let source = "// \"a comment of it\n/// it's\nfn f<'a>(c: &'a str) { g('\"', '\\'', \"one \\\" two\", r#\"three \" four\"#, \"name\") }\n\"five\n six\";\n\"seven eight\"";
    let found = sentences(source);
    let said: Vec<(usize, &str)> = found
        .iter()
        .map(|(line, text)| (*line, text.as_str()))
        .collect();
    let wanted = [
        (3, "one \\\" two"),
        (3, "three \" four"),
        (4, "five six"),
        (6, "seven eight"),
    ];
    assert_eq!(said, wanted);
}
