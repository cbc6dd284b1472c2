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

/// The same command, whose help lists the commands below it by what somebody wants to do.
pub(super) fn grouped(command: Command) -> Command {
    let (header, name) = {
        let styles = command.get_styles();
        (*styles.get_header(), *styles.get_literal())
    };
    let mut listed = String::new();
    for (heading, names) in GROUPS {
        listed.push_str(&format!("{header}{heading}:{header:#}\n"));
        for of in *names {
            let about = command.find_subcommand(of).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let row = format!("  {of:WIDTH$}  {about}");
            let row = hanging(&row);
            let styled = row.replacen(of, &format!("{name}{of}{name:#}"), 1);
            listed.push_str(&format!("{styled}\n"));
        }
        listed.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

/// The commands by what somebody wants to do. The first five are enough to talk with another person's agent.
const GROUPS: &[(&str, &[&str])] = &[
    ("First", &["up", "invite", "accept", "send", "view"]),
    ("Begin", &["demo", "init", "run", "install"]),
    (
        "Talk",
        &[
            "inbox",
            "reply",
            "handoff",
            "ping",
            "outbox",
            "quarantine",
            "peer",
        ],
    ),
    (
        "Decide",
        &[
            "watch", "trust", "drafts", "approve", "policy", "pause", "resume", "alarms",
        ],
    ),
    ("Read", &["status", "digest", "audit", "prove"]),
    (
        "Keep",
        &[
            "down",
            "reload",
            "doctor",
            "key",
            "nats",
            "state",
            "uninstall",
        ],
    ),
    (
        "Extend",
        &[
            "handle",
            "handler",
            "mcp",
            "gateway",
            "token",
            "schema",
            "completions",
            "man",
        ],
    ),
];

/// Columns of the longest name of a command.
const WIDTH: usize = 11;

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
    fn every_command_stands_in_one_group() {
        let whole = crate::cli::SignetCli::command();
        let shown = whole.get_subcommands().filter(|sub| !sub.is_hide_set());
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        shown.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, shown);
        assert!(listed.iter().all(|name| name.len() <= WIDTH));
    }

    #[test]
    fn the_groups_fit_into_80_columns_and_newcomers_read_five_commands_first() {
        let help = grouped(unbroken(crate::cli::SignetCli::command()))
            .render_help()
            .to_string();
        let (_, first) = help.split_once("First:\n").unwrap();
        let (groups, _) = first.split_once("\nOptions:\n").unwrap();
        assert!(
            groups.lines().all(|line| line.chars().count() <= COLUMNS),
            "{groups}"
        );
        let first = first.lines().take_while(|line| !line.is_empty());
        // A description that is too long for its line goes on further to the right.
        let first = first.filter(|line| !line.starts_with("   "));
        let first: Vec<&str> = first
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(first, ["up", "invite", "accept", "send", "view"]);
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
