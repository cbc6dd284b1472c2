//! The one place that completes the hints which this program prints: what a person types next, as it runs where they are.
//!
//! Texts name commands briefly (`signet token list`). `signet`, which starts this program in its own place, hands over how
//! it was typed, which home it found, and what starts that home's daemon. Where this program was started by itself, texts
//! stay brief. So do the answers to callers of the listener and to clients of MCP: where the home lies is not theirs to know.

use std::env;
use std::sync::OnceLock;

/// How commands are typed where this process was started.
struct Invocation {
    /// What stands before the words of a command: the program, and the user where the home is somebody else's.
    before: String,
    /// What stands behind them: the home.
    after: String,
    /// The line that starts the daemon of the home.
    start: String,
}

static PLACE: OnceLock<Option<Invocation>> = OnceLock::new();

/// The text with each command of `signet` as it can be typed here.
pub(crate) fn typed(text: &str) -> String {
    let place = PLACE.get_or_init(|| {
        Some(Invocation {
            before: env::var(BEFORE).ok()?,
            after: env::var(AFTER).ok()?,
            start: env::var(START).ok()?,
        })
    });
    place
        .as_ref()
        .map_or_else(|| text.to_owned(), |place| place.typed(text))
}

impl Invocation {
    fn typed(&self, text: &str) -> String {
        let (mut done, mut rest) = (String::with_capacity(text.len()), text);
        while let Some((before, command)) = rest.split_once(NAME) {
            done.push_str(before);
            // `STARTS` begins with one of the commands in `VERBS`: look for `STARTS` first, because otherwise that command
            // alone would be replaced, and the rest of `STARTS` would stay.
            let starts = STARTS.strip_prefix(NAME).unwrap_or(STARTS);
            if let Some(after) = command.strip_prefix(starts) {
                done.push_str(&self.start);
                rest = after;
                continue;
            }
            let verb = VERBS.iter().find(|verb| command.starts_with(**verb));
            match verb.and_then(|verb| command.strip_prefix(verb)) {
                Some(after) => {
                    let verb = command.strip_suffix(after).unwrap_or_default();
                    done.push_str(&format!("{}{verb}{}", self.before, self.after));
                    rest = after;
                }
                None => {
                    done.push_str(NAME);
                    rest = command;
                }
            }
        }
        done.push_str(rest);
        done
    }
}

/// How a text says that the daemon is to be started, where it is not known how that is done.
pub(crate) const STARTS: &str = "signet run, or signet up";
const NAME: &str = "signet ";
const VERBS: [&str; 9] = [
    "token make",
    "token list",
    "token revoke",
    "handler trace on",
    "peer list",
    "peer show",
    "doctor",
    "run",
    "up",
];
const BEFORE: &str = "SIGNET_HINT_BEFORE";
const AFTER: &str = "SIGNET_HINT_AFTER";
const START: &str = "SIGNET_HINT_START";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_a_text_is_completed_as_signet_was_typed() {
        let place = Invocation {
            before: "./signet ".to_owned(),
            after: " --home 'my home'".to_owned(),
            start: "./signet up --background --home 'my home'".to_owned(),
        };
        for (brief, whole) in [
            (
                "signet token list  # shows them",
                "./signet token list --home 'my home'  # shows them",
            ),
            (
                "signet run, or signet up  # starts it",
                "./signet up --background --home 'my home'  # starts it",
            ),
            (
                "`signet peer show bob`, a signet of theirs",
                "`./signet peer show --home 'my home' bob`, a signet of theirs",
            ),
        ] {
            assert_eq!(place.typed(brief), whole);
        }
        assert_eq!(typed("signet token list"), "signet token list");
    }
}
