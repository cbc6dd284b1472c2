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
    let mut whole = super::Cli::command();
    // Only then it knows below which others each command stands.
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
    let (mut is_verbatim, mut before) = (false, None);
    for line in text.lines() {
        let indentation = line.len() - line.trim_start().len();
        if indentation == 0 {
            is_verbatim = VERBATIM.contains(&line);
        }
        let goes_on = !line.is_empty() && !is_verbatim && before == Some(indentation);
        if goes_on {
            joined.push(' ');
            joined.push_str(line.trim_start());
        } else {
            if !joined.is_empty() {
                joined.push('\n');
            }
            match is_verbatim {
                true => joined.push_str(&continued(line)),
                false => joined.push_str(line),
            }
        }
        before = (!line.is_empty()).then_some(indentation);
    }
    joined
}

/// A command that is too long for a line of 80 columns goes on in the next, as a shell reads it: the parser
/// would break it within its quotes.
fn continued(line: &str) -> String {
    let (mut whole, mut width, mut is_quoted) = (String::new(), 0, false);
    let mut word = String::new();
    for c in line.chars().chain([' ']) {
        is_quoted ^= c == '\'';
        word.push(c);
        if c != ' ' || is_quoted {
            continue;
        }
        let length = word.chars().count();
        // A space and a backslash stand behind the word.
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

const COLUMNS: usize = 80;
/// Under these stand commands and tables: each line is one.
const VERBATIM: [&str; 2] = ["EXAMPLE:", "EXIT CODES:"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_one_line_and_an_example_stays_as_it_is() {
        let text = "Prose of\ntwo lines.\n\nHANDLERS:\n  More\n  of it.\n\nEXAMPLE:\n  signet a\n  signet b \\\n    --c";
        let joined = "Prose of two lines.\n\nHANDLERS:\n  More of it.\n\nEXAMPLE:\n  signet a\n  signet b \\\n    --c";
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
}
