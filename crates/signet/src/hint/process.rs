//! Where a process was started, and how its commands are typed there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::daemon::DaemonKeeper;
use super::user::{kept_from_root, me, owner_of, run_as};
use super::{quoted, word};
use crate::home::Home;
use crate::programs::in_path;

/// The program, the home and the user of a process.
pub(super) struct ProcessContext {
    /// The program, as a shell finds it.
    program: String,
    /// The home, where the command line or SIGNET_HOME named one.
    named: Option<PathBuf>,
    /// The home, wherever it comes from.
    home: Option<PathBuf>,
    /// The user of the home, where that is not the one of this process.
    owner: Option<u32>,
    /// Every command of the program, with its subcommands: `key`, `key rotate`, `key rotate signing`.
    verbs: Vec<String>,
    /// The arguments of this process.
    args: Vec<OsString>,
}

impl ProcessContext {
    pub(super) fn of_process(option: Option<PathBuf>, verbs: Vec<String>) -> Self {
        let is_named = option.is_some()
            || std::env::var_os("SIGNET_HOME").is_some_and(|home| !home.is_empty());
        let home = Home::find(option).ok().map(|home| home.path().to_owned());
        let owner = home
            .as_deref()
            .and_then(|home| owner_of(home).or_else(|| kept_from_root(home)));
        Self {
            program: program(),
            named: home.clone().filter(|_| is_named),
            owner: owner.filter(|owner| *owner != me()),
            home,
            verbs,
            args: std::env::args_os().skip(1).collect(),
        }
    }

    /// Each command of the text with the program's path, the home and the user.
    pub(super) fn typed(&self, text: &str) -> String {
        let text = &bare(text);
        let (mut done, mut rest) = (String::with_capacity(text.len()), text.as_str());
        while let Some((before, verb, after)) = self.next_command(rest) {
            done.push_str(before);
            done.push_str(&self.begun(verb, after));
            rest = after;
        }
        done.push_str(rest);
        done
    }

    /// What stands before and behind the words of a command that uses the home.
    pub(super) fn around(&self) -> Option<(String, String)> {
        let line = self.begun(MARK, "");
        let (before, after) = line.split_once(MARK)?;
        Some((before.to_owned(), after.to_owned()))
    }

    /// How the daemon of the home is run.
    pub(super) fn daemon(&self) -> DaemonKeeper {
        self.home
            .as_deref()
            .map(DaemonKeeper::of)
            .unwrap_or_default()
    }

    /// The user of the home, where that is not the one of this process.
    pub(super) fn owner(&self) -> Option<u32> {
        self.owner
    }

    /// The command line of this process, for another user.
    pub(super) fn again_as(&self, user: u32) -> String {
        let mut words = self.args.iter().map(|word| word.to_string_lossy());
        let mut line = format!("{} {}", run_as(user), whole(&self.program));
        if let Some(home) = &self.home {
            line.push_str(&format!(" --home {}", whole_home(home)));
        }
        while let Some(word) = words.next() {
            if word == "--home" {
                words.next();
            } else if !word.starts_with("--home=") {
                // The text of a login is a secret, so do not print it in the command: `-` makes the command read it from
                // standard input.
                let shown = if word.starts_with("signet-login:") {
                    "-".into()
                } else {
                    word
                };
                line.push_str(&format!(" {}", quoted(&shown)));
            }
        }
        line
    }

    /// The first command in the text: what stands before it, its words, and what follows.
    fn next_command<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
        let mut from = 0;
        while let Some(found) = text.get(from..)?.find(NAME) {
            let at = from + found;
            let (before, command) = text.split_at_checked(at)?;
            // The program's name can also be a part of a path or of a unit's name, which is no command: look at the character
            // before it.
            let begins = before
                .chars()
                .next_back()
                .is_none_or(|c| c.is_whitespace() || "`'\"(".contains(c))
                // A command that somebody else is to type, or typed, is typed at another home.
                && !before.trim_end_matches('`').ends_with(THEIRS);
            let verb = command.get(NAME.len()..).and_then(|rest| self.verb(rest));
            match verb.filter(|_| begins) {
                Some(length) => {
                    let (verb, after) = command.split_at_checked(NAME.len() + length)?;
                    return Some((before, verb.get(NAME.len()..)?, after));
                }
                None => from = at + NAME.len(),
            }
        }
        None
    }

    /// The length of the longest command with which the text begins.
    fn verb(&self, text: &str) -> Option<usize> {
        let ends = |rest: &str| {
            let next = rest.chars().next();
            next.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_')
        };
        let known = self.verbs.iter();
        let begun = known.filter(|verb| text.strip_prefix(verb.as_str()).is_some_and(ends));
        // `key rotate` is a command, and so is its first word, `key`: take the longest match, because the whole command is
        // meant.
        begun.map(String::len).max()
    }

    /// A command as far as it names the home; `after` is what follows in the text.
    fn begun(&self, verb: &str, after: &str) -> String {
        // Look no further than the end of this command: a `--home` after it belongs to the next command, or to an explanation.
        let end = after.find([';', '`', '\n', '#']).unwrap_or(after.len());
        // Where the text itself names a home, that home is meant: add no other.
        let has_home = after.get(..end).is_some_and(|rest| rest.contains("--home"));
        let has_none = HOMELESS.iter().any(|other| {
            verb.strip_prefix(other)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        if has_home || has_none {
            return format!("{} {verb}", self.program);
        }
        match (self.owner, self.home.as_deref(), self.named.as_deref()) {
            (Some(owner), Some(home), _) => {
                let (user, program) = (run_as(owner), whole(&self.program));
                format!("{user} {program} {verb} --home {}", whole_home(home))
            }
            (_, _, Some(home)) => format!("{} {verb} --home {}", self.program, word(home)),
            _ => format!("{} {verb}", self.program),
        }
    }
}

/// A text that begins with a command in backticks, as a line for a shell: there the backticks would run its output.
fn bare(text: &str) -> String {
    let quoted = text.strip_prefix('`').and_then(|rest| rest.split_once('`'));
    match quoted {
        Some((command, words)) if words.trim().is_empty() => command.to_owned(),
        Some((command, words)) => format!("{command}  # {}", words.trim_start()),
        None => text.to_owned(),
    }
}

/// The program by its whole path: another user may have another PATH and another working directory.
fn whole(program: &str) -> String {
    match program.contains('/') {
        true => std::env::current_exe().map_or_else(|_| program.to_owned(), |file| word(&file)),
        false => program.to_owned(),
    }
}

fn whole_home(home: &Path) -> String {
    word(&std::path::absolute(home).unwrap_or_else(|_| home.to_owned()))
}

/// This program, as the shell finds it from here: by its name where PATH leads to it, else by its path.
fn program() -> String {
    let typed = std::env::args_os().next().map(PathBuf::from);
    let typed = typed.filter(|typed| !typed.as_os_str().is_empty());
    let own = std::env::current_exe().and_then(|file| file.canonicalize());
    let found = in_path(NAME.trim_end()).find(|file| file.is_file());
    let is_found = found.and_then(|file| file.canonicalize().ok());
    match (is_found, own, typed) {
        // Use the bare name only where PATH leads to this very program: PATH may lead to another release.
        (Some(found), Ok(own), _) if found == own => NAME.trim_end().to_owned(),
        (_, _, Some(typed)) if typed.components().count() > 1 => word(&typed),
        (_, Ok(own), _) => word(&own),
        _ => NAME.trim_end().to_owned(),
    }
}

const NAME: &str = "signet ";
/// A command behind this word is not for this home.
const THEIRS: &str = "their ";
/// Stands for the words of a command, and in no path.
const MARK: &str = "\u{1}";
/// Commands that use no home.
const HOMELESS: [&str; 8] = [
    "install",
    "schema",
    "completions",
    "man",
    "demo",
    "nats hub",
    "audit verify",
    "audit reconcile",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn place(program: &str, home: Option<&str>) -> ProcessContext {
        let verbs = [
            "key",
            "key rotate",
            "key rotate signing",
            "up",
            "status",
            "audit",
            "audit verify",
            "install",
        ];
        ProcessContext {
            program: program.to_owned(),
            named: home.map(PathBuf::from),
            home: home.map(PathBuf::from),
            owner: None,
            verbs: verbs.map(str::to_owned).to_vec(),
            args: Vec::new(),
        }
    }

    #[test]
    fn a_command_in_a_text_is_completed_with_program_and_home() {
        let at = place("./signet", Some("/my home"));
        for (brief, whole) in [
            ("signet status", "./signet status --home '/my home'"),
            (
                "signet key rotate signing  # if it is right",
                "./signet key rotate signing --home '/my home'  # if it is right",
            ),
            (
                "`signet status 01a1` says where it is",
                "./signet status --home '/my home' 01a1  # says where it is",
            ),
            (
                "see `signet status`",
                "see `./signet status --home '/my home'`",
            ),
            (
                "wait, then signet up; or signet status",
                "wait, then ./signet up --home '/my home'; or ./signet status --home '/my home'",
            ),
            ("signet up --home other", "./signet up --home other"),
            ("signet audit verify /log", "./signet audit verify /log"),
            ("signet install --agent a", "./signet install --agent a"),
        ] {
            assert_eq!(at.typed(brief), whole);
            assert_eq!(at.typed(whole), whole, "twice is once");
        }
        for words in [
            "a signet of theirs",
            "signet upward",
            "/x/signet status",
            "the signet",
            "ask what their signet status says",
            "ask for what their `signet up --join -` said",
        ] {
            assert_eq!(at.typed(words), words);
        }
    }

    #[test]
    fn the_default_home_and_a_program_that_is_found_need_no_more_words() {
        let at = place("signet", None);
        assert_eq!(at.typed("signet status, please"), "signet status, please");
    }

    #[test]
    fn somebody_elses_home_is_its_owners_to_use() {
        let mut at = place("signet", Some("/srv/a"));
        at.owner = Some(4_294_967_000);
        let typed = at.typed("signet status");
        assert!(typed.contains("4294967000") && typed.ends_with("signet status --home /srv/a"));
        at.args = [
            "status",
            "--home",
            "x",
            "--login",
            "signet-login:1:geheim",
            "a b",
        ]
        .map(OsString::from)
        .to_vec();
        let again = at.again_as(4_294_967_000);
        assert!(
            again.ends_with("signet --home /srv/a status --login - 'a b'"),
            "{again}"
        );
    }
}
