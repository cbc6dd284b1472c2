//! Help texts that are broken into lines once: by the parser, for the width of the terminal.

use clap::{Command, CommandFactory as _};

/// The same command, and each below it, with the prose of its help in one line a paragraph. The parser
/// breaks that to the terminal's width; breaks of the source text would stand in the middle of its lines.
pub(super) fn unbroken(command: Command) -> Command {
    let text = command.get_after_help().map(ToString::to_string);
    let command = match text {
        Some(text) => command.after_help(join(&text)),
        None => command,
    };
    command.mut_subcommands(unbroken)
}

/// Every option that has a default which is no switch: its command, its name, the default.
pub fn defaults() -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let mut whole = crate::cli::SignetCli::command();
    // The list shows the whole name of each option's command, such as `signet key rotate`: only `build` gives each command the
    // names of the commands above it.
    whole.build();
    collect(&whole, &mut found);
    found
}

fn collect(command: &Command, found: &mut Vec<(String, String, String)>) {
    for option in command
        .get_arguments()
        .filter(|option| option.get_action().takes_values())
    {
        let defaults = option.get_default_values().iter();
        let default: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
        if let (Some(name), false) = (option.get_long(), default.is_empty()) {
            let command = command
                .get_bin_name()
                .unwrap_or(command.get_name())
                .to_owned();
            found.push((command, format!("--{name}"), default.join(" ")));
        }
    }
    for below in command.get_subcommands() {
        collect(below, found);
    }
}

fn join(text: &str) -> String {
    let mut joined = String::new();
    let (mut is_verbatim, mut before) = (None, None);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = whole(line, &mut lines);
        let line = line.as_str();
        let indentation = line.len() - line.trim_start().len();
        if indentation == 0 {
            is_verbatim = Verbatim::under(line);
        }
        let goes_on = !line.is_empty() && is_verbatim.is_none() && before == Some(indentation);
        if goes_on {
            joined.push(' ');
            joined.push_str(line.trim_start());
        } else {
            if !joined.is_empty() {
                joined.push('\n');
            }
            match is_verbatim {
                Some(Verbatim::Commands) => joined.push_str(&continued(line)),
                Some(Verbatim::Rows) => joined.push_str(&hanging(line)),
                None => joined.push_str(line),
            }
        }
        before = (!line.is_empty()).then_some(indentation);
    }
    joined
}

/// The line and those that continue it after a backslash, as one: a command is broken anew for 80 columns.
fn whole<'a>(line: &str, after: &mut impl Iterator<Item = &'a str>) -> String {
    let mut whole = line.to_owned();
    while let Some(begun) = whole.strip_suffix('\\') {
        let next = after.next().unwrap_or_default();
        whole = format!("{} {}", begun.trim_end(), next.trim_start());
    }
    whole
}

/// A row of a table that is too long for a line of 80 columns goes on below its own text.
fn hanging(line: &str) -> String {
    let text = line
        .trim_start()
        .trim_start_matches(|c| c != ' ')
        .trim_start();
    let indentation = line.len() - text.len();
    let (mut whole, mut width) = (String::new(), 0);
    whole.push_str(line.get(..indentation).unwrap_or_default());
    width += indentation;
    for (at, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        match at {
            0 => {}
            _ if width + 1 + length > COLUMNS => {
                whole.push('\n');
                whole.push_str(&" ".repeat(indentation));
                width = indentation;
            }
            _ => {
                whole.push(' ');
                width += 1;
            }
        }
        whole.push_str(word);
        width += length;
    }
    whole
}

/// A command that is too long for a line of 80 columns goes on in the next, as a shell reads it: the parser
/// would break it within its quotes.
fn continued(line: &str) -> String {
    let (mut whole, mut width) = (String::new(), 0);
    let (mut word, mut quote) = (String::new(), None);
    for c in line.chars().chain([' ']) {
        quote = match quote {
            None if c == '\'' || c == '"' => Some(c),
            Some(begun) if begun == c => None,
            same => same,
        };
        word.push(c);
        if c != ' ' || quote.is_some() {
            continue;
        }
        let length = word.chars().count();
        // If the word, with a space and the continuing backslash behind it, does not fit into the line, begin a new line. At
        // the beginning of a line, or for a space alone, a new line would gain nothing.
        if width > 0 && !word.trim().is_empty() && width + length + 1 > COLUMNS {
            whole.push_str("\\\n      ");
            width = 6;
        }
        whole.push_str(&word);
        width += length;
        word.clear();
    }
    whole.push_str(&word);
    whole.trim_end().to_owned()
}

/// Kinds of help text that are not prose.
#[derive(Clone, Copy)]
enum Verbatim {
    /// Each line is a command, for a shell.
    Commands,
    /// Each line is a row of a table.
    Rows,
}

impl Verbatim {
    fn under(heading: &str) -> Option<Self> {
        match heading {
            "EXAMPLE:" => Some(Self::Commands),
            "EXIT CODES:" => Some(Self::Rows),
            _ => None,
        }
    }
}

const COLUMNS: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_one_line_and_an_example_stays_as_it_is() {
        let text = "Prose of\ntwo lines.\n\nHANDLERS:\n  More\n  of it.\n\nEXAMPLE:\n  signet a\n  signet b \\\n    --c";
        let joined = "Prose of two lines.\n\nHANDLERS:\n  More of it.\n\nEXAMPLE:\n  signet a\n  signet b --c";
        assert_eq!(join(text), joined);
    }

    #[test]
    fn a_long_command_is_broken_where_a_shell_goes_on() {
        let short = "  signet send agent-bob-001 --notify '{}'";
        assert_eq!(continued(short), short);
        let long = "  signet send agent-bob-001 --request '{\"week\": \"2026-W07\"}' --summary 'Asks for free evenings'";
        let broken = "  signet send agent-bob-001 --request '{\"week\": \"2026-W07\"}' --summary \\\n      'Asks for free evenings'";
        assert_eq!(continued(long), broken);
    }

    /// Every help, as the parser is given it.
    fn helps(command: &Command, found: &mut Vec<String>) {
        found.extend(command.get_after_help().map(ToString::to_string));
        for below in command.get_subcommands() {
            helps(below, found);
        }
    }

    #[test]
    fn no_help_breaks_a_row_with_a_shells_backslash_or_a_command_within_its_quotes() {
        let mut found = Vec::new();
        helps(&unbroken(crate::cli::SignetCli::command()), &mut found);
        assert!(found.len() > 40, "{}", found.len());
        for text in &found {
            let (rows, commands) = text.split_once("EXAMPLE:").unwrap_or((text, ""));
            if let Some((_, rows)) = rows.split_once("EXIT CODES:\n") {
                let rows = rows.split("\n\n").next().unwrap();
                assert!(!rows.contains('\\'), "{rows}");
            }
            // Only the lines up to the first empty line are commands: prose may follow them, which this test must not take for
            // commands.
            let commands = commands.split("\n\n").next().unwrap();
            let whole = commands.replace("\\\n", "");
            for line in whole.lines().filter(|line| line.starts_with("  ")) {
                let quotes = |c: char| line.matches(c).count() % 2 == 0;
                assert!(quotes('\'') && quotes('"'), "{line}");
            }
            for line in commands.lines() {
                assert!(line.chars().count() <= COLUMNS, "{line}");
                let quotes = |c: char| line.matches(c).count() % 2 == 0;
                assert!(quotes('\'') && quotes('"'), "broken within quotes: {line}");
            }
        }
    }

    #[test]
    fn a_row_that_is_too_long_goes_on_below_its_text() {
        let row = "  1    a port is taken, the login refused, the certificate ended, or the home another agent's";
        assert_eq!(
            hanging(row),
            "  1    a port is taken, the login refused, the certificate ended, or the home\n       another agent's"
        );
        assert_eq!(hanging("  0    done"), "  0    done");
    }
}
