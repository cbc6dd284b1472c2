//! Defaults that the documents name: of the configuration and of the options.

use signet::config::Config;
use signet::home::Home;

use super::{OPERATIONS, text};

fn parsed(more: &str) -> Config {
    let text = format!("[agent]\nagent = \"agent-a\"\nprincipal = \"a\"\n{more}");
    let parsed = Config::parse(&text, &Home::at("/nowhere"), None);
    parsed.unwrap_or_else(|error| panic!("{more}: {error}"))
}

/// The rows of the table of the configuration: section, keys, defaults.
fn rows() -> Vec<(String, Vec<String>, Vec<String>)> {
    let page = text(OPERATIONS);
    let table = page
        .split_once("| section | key | default | meaning |")
        .unwrap()
        .1;
    let table = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut section = String::new();
    let mut rows = Vec::new();
    for row in table {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let (name, keys, default) = (cells[0], cells[1], cells[2]);
        if !name.is_empty() {
            section = name.trim_matches('`').to_owned();
        }
        let quoted = |cell: &str| -> Vec<String> {
            cell.split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect()
        };
        rows.push((section.clone(), quoted(keys), quoted(default)));
    }
    rows
}

#[test]
fn the_defaults_of_the_configuration_are_those_of_the_code() {
    let mut compared = 0;
    for (section, keys, defaults) in rows() {
        // Skip rows without a default to compare: `none` and the like stand there without backticks, and `nats.nk` is a
        // file that may be there.
        if keys.len() != defaults.len() || defaults[0] == "nats.nk" {
            continue;
        }
        for (key, default) in keys.iter().zip(&defaults) {
            let (without, with) = match section.as_str() {
                "[agent]" => (String::new(), format!("{key} = {default}\n")),
                "[[capability]]" => {
                    let head = "[[capability]]\nname = \"calendar.read\"\n".to_owned();
                    (head.clone(), format!("{head}{key} = {default}\n"))
                }
                section => (String::new(), format!("{section}\n{key} = {default}\n")),
            };
            assert_eq!(
                parsed(&without),
                parsed(&with),
                "{section} {key} = {default}"
            );
            compared += 1;
        }
    }
    assert!(compared >= 14, "{compared}");
}

#[test]
fn every_key_of_the_configuration_is_in_the_table() {
    let template = Config::template(&"agent-a".parse().unwrap(), &"a".parse().unwrap());
    let rows = rows();
    let mut section = String::new();
    for line in template.lines() {
        let line = line.trim_start_matches("# ");
        if line.starts_with('[') {
            section = line.to_owned();
        }
        let Some((key, _)) = line.split_once(" = ") else {
            continue;
        };
        if key.contains(' ') {
            continue;
        }
        let documented = rows
            .iter()
            .any(|(name, keys, _)| *name == section && keys.iter().any(|known| known == key));
        assert!(documented, "{section} {key}");
    }
}

/// What a section knows, and the whole file without one: who writes another key is told.
fn known(head: &str) -> Option<Vec<String>> {
    let text = format!("{head}\nno-such-key-is-known = 1\n");
    let fault = Config::parse(&text, &Home::at("/nowhere"), None).unwrap_err();
    let next = fault.next();
    let known = next.strip_prefix("known here: ")?.split(';').next()?;
    Some(known.split(", ").map(str::to_owned).collect())
}

#[test]
fn every_key_that_the_code_knows_is_in_the_table() {
    let rows = rows();
    let is_section = |head: &str| rows.iter().any(|(name, ..)| name == head);
    let mut sections = known("").unwrap();
    while let Some(section) = sections.pop() {
        let (table, many) = (format!("[{section}]"), format!("[[{section}]]"));
        let (head, keys) = match known(&table) {
            Some(keys) => (table, keys),
            None => (many.clone(), known(&many).unwrap()),
        };
        for key in keys {
            let inner = format!("{section}.{key}");
            if is_section(&format!("[{inner}]")) {
                sections.push(inner);
                continue;
            }
            let is_there = |(name, keys, _): &(String, Vec<String>, Vec<String>)| {
                *name == head && keys.contains(&key)
            };
            assert!(
                rows.iter().any(is_there),
                "`{key}` of {head} has no row in the table of {OPERATIONS}"
            );
        }
    }
}

#[test]
fn the_defaults_of_options_are_those_of_the_code() {
    let page = text(OPERATIONS);
    let table = page.split_once("<!-- defaults of options").unwrap().1;
    let table = table.split_once("<!-- /defaults of options -->").unwrap().0;
    let documented: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    let coded: Vec<String> = signet::cli::defaults()
        .into_iter()
        .map(|(command, option, default)| format!("| `{command}` | `{option}` | `{default}` |"))
        .collect();
    assert_eq!(documented, coded);
}
