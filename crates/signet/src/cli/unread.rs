//! Command lines that cannot be read, and those that only ask for help.

use std::io::Write as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::{CliError, Exit};

/// What a command line says that asks for help, or that cannot be read: an error of two lines, as every other.
pub(super) fn unread(error: &clap::Error) -> CliError {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => shown(error),
        _ => CliError::usage(fault_of(&error.to_string()), next_of(error)),
    }
}

/// The help, where somebody asked for it or named no command.
fn shown(error: &clap::Error) -> CliError {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    match (error.use_stderr(), printed) {
        (true, _) => CliError::Ended(Exit::Usage),
        (false, Ok(())) => CliError::Ended(Exit::Done),
        (false, Err(error)) => CliError::output(error),
    }
}

/// What clap says is wrong, as one line: what it lists below belongs to it.
fn fault_of(text: &str) -> String {
    let mut lines = text.lines();
    let what = lines.next().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(what);
    let listed: Vec<&str> = lines
        .take_while(|line| line.starts_with("  "))
        .map(str::trim)
        .collect();
    match (what.ends_with(':'), listed.as_slice()) {
        (true, [_, ..]) => format!("{what} {}", listed.join(", ")),
        (false, [values]) => format!("{what} {values}"),
        _ => what.to_owned(),
    }
}

/// What is probably meant, and where the form of the command stands.
fn next_of(error: &clap::Error) -> String {
    let suggested = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let meant = suggested
        .into_iter()
        .find_map(|kind| texts(error.get(kind)?));
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let usage = usage.as_deref().and_then(|usage| {
        let form: Vec<&str> = usage.split_whitespace().collect();
        form.join(" ").strip_prefix("Usage: ").map(str::to_owned)
    });
    // The hint needs the command's name, with which the usage begins: take the first words of the usage, up to a word that does
    // not begin with a small letter, such as an option.
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    let help = usage.as_deref().map(|form| {
        let command: Vec<&str> = form.split(' ').take_while(is_name).collect();
        format!("{} --help", command.join(" "))
    });
    let help = help.unwrap_or_else(|| "signet --help".to_owned());
    match (meant, usage) {
        (Some(meant), _) => format!("did you mean {meant}? {help} shows what there is"),
        (None, Some(form)) => format!("{help} shows each argument; the form is: {form}"),
        (None, None) => format!("{help} shows the form of each argument"),
    }
}

fn texts(value: &ContextValue) -> Option<String> {
    match value {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) if !texts.is_empty() => Some(texts.join(" or ")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::SignetCli;

    fn told(args: &[&str]) -> (String, String) {
        let args = [&["signet"], args].concat();
        let error = SignetCli::command().try_get_matches_from(args).unwrap_err();
        match unread(&error) {
            CliError::Told {
                what, next, exit, ..
            } => {
                assert_eq!(exit, Exit::Usage);
                assert_eq!((what.lines().count(), next.lines().count()), (1, 1));
                (what, next)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_arguments_that_are_missing_are_named_with_the_form_of_the_command() {
        let (what, next) = told(&["send"]);
        assert!(
            what.contains("not provided: ") && what.contains("<PEER>"),
            "{what}"
        );
        assert!(
            next.starts_with("signet send --help shows each argument; the form is: signet send "),
            "{next}"
        );
    }

    #[test]
    fn a_command_line_that_cannot_be_read_says_what_is_meant() {
        for (args, meant) in [
            (&["sned"][..], "did you mean send"),
            (&["audit", "verfy"], "did you mean verify"),
            (&["send", "bob", "--notfy", "{}"], "did you mean --notify?"),
            (
                &["handoff", "report", "1", "workin"],
                "did you mean working?",
            ),
        ] {
            let (_, next) = told(args);
            assert!(next.starts_with(meant), "{args:?}: {next}");
        }
        let (what, next) = told(&["send", "bob", "--notify", "{}", "--tier", "9"]);
        assert!(what.contains("'9'") && what.contains("1..=4"), "{what}");
        assert!(next.contains("--help"), "{next}");
        let (what, _) = told(&["completions", "tcsh"]);
        assert!(what.contains("possible values: bash"), "{what}");
    }
}
