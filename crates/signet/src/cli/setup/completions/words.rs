//! `signet complete-words`: the peers, drafts and messages that a shell offers where a command line names one.
//!
//! The scripts of `signet completions` ask for it while somebody types. So it starts nothing and changes nothing, says nothing
//! where no daemon answers at once, and gives nothing but names: no text of a stranger reaches a shell by it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory as _};
use signet_api::{
    ListDrafts, ListInbox, ListOutbox, ListPeers, ListPending, ListQuarantine, ListTasks,
};

use crate::cli::{CliError, SignetCli, print};
use crate::config::Config;
use crate::control::{Client, ClientError};
use crate::home::Home;

/// A thing of which a daemon knows the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameKind {
    Peers,
    Strangers,
    Drafts,
    Inbox,
    Outbox,
    Quarantine,
    Tasks,
}

/// The words behind `signet complete-words --`, where that is asked for: the words of a command line, the name of the program first,
/// up to the one that is typed. No parser of commands knows it, and so no help and no completion lists it.
pub(crate) fn asked_for(mut args: impl Iterator<Item = OsString>) -> Option<Vec<String>> {
    let is_asked = args.nth(1).is_some_and(|name| name == "complete-words");
    let words = args.skip(1).map(|word| word.to_string_lossy().into_owned());
    is_asked.then(|| words.collect())
}

/// Prints the names for the last of the words.
pub(crate) fn run(words: &[String]) -> Result<(), CliError> {
    let names = WantedName::of(words).map(WantedName::names);
    let names = names.unwrap_or_default();
    print(
        &names
            .iter()
            .map(|name| format!("{name}\n"))
            .collect::<String>(),
    )
}

/// The word that is typed, where it is a name.
#[derive(Debug, PartialEq, Eq)]
struct WantedName {
    kind: NameKind,
    home: Option<PathBuf>,
    begun: String,
}

impl WantedName {
    /// Goes through the words as the parser does.
    fn of(words: &[String]) -> Option<Self> {
        let whole = SignetCli::command();
        let (typed, before) = words.split_last()?;
        let (mut at, mut path, mut place) = (&whole, Vec::new(), 0);
        let mut home = None;
        let mut before = before.iter().skip(1);
        while let Some(word) = before.next() {
            // Behind `--` stands somebody else's command.
            if word == "--" {
                return None;
            }
            if let Some(option) = option_of(word) {
                let (name, given) = match option.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (option, None),
                };
                let found = find_option(&whole, at, name);
                let takes = found.is_some_and(|option| option.get_action().takes_values());
                let value = match given {
                    None if takes => match before.next() {
                        Some(value) => Some(value.clone()),
                        // The word that is typed is the value of this option.
                        None => return Some(Self::new(of_option(found?)?, home, typed)),
                    },
                    given => given,
                };
                if name == "home" {
                    home = value.map(PathBuf::from);
                }
                continue;
            }
            match at.get_subcommands().find(|sub| sub.get_name() == word) {
                Some(sub) if place == 0 => {
                    at = sub;
                    path.push(sub.get_name());
                }
                _ => place += 1,
            }
        }
        match typed.starts_with('-') || place > 0 {
            true => None,
            false => Some(Self::new(of_place(&path)?, home, typed)),
        }
    }

    fn new(kind: NameKind, home: Option<PathBuf>, typed: &str) -> Self {
        Self {
            kind,
            home,
            begun: typed.to_owned(),
        }
    }

    /// The names that begin so; none where no daemon answers at once.
    fn names(self) -> Vec<String> {
        let (tell, told) = sync_channel(1);
        let (kind, home) = (self.kind, self.home);
        // A thread asks, so that nobody who types waits for a daemon that hangs. Where it is late, it ends with this process.
        thread::spawn(move || {
            let _ = tell.send(asked(kind, home));
        });
        let mut names = told
            .recv_timeout(PATIENCE)
            .ok()
            .flatten()
            .unwrap_or_default();
        names.retain(|name| name.starts_with(&self.begun) && is_plain(name));
        names.sort();
        names.dedup();
        names
    }
}

/// The name of an option, such as `peer` of `--peer`.
fn option_of(word: &str) -> Option<&str> {
    let option = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    (!option.is_empty()).then_some(option)
}

fn find_option<'a>(whole: &'a Command, at: &'a Command, name: &str) -> Option<&'a Arg> {
    let is_it = |arg: &&Arg| {
        let short = arg.get_short().map(String::from);
        arg.get_long() == Some(name) || short.as_deref() == Some(name)
    };
    let mut options = at.get_opts().chain(whole.get_opts());
    options.find(is_it)
}

fn of_option(option: &Arg) -> Option<NameKind> {
    let names = option.get_value_names().unwrap_or_default();
    let is_peer = option.get_long() == Some("peer")
        || names
            .iter()
            .any(|name| matches!(name.as_str(), "PEER" | "AGENT-ID"));
    is_peer.then_some(NameKind::Peers)
}

/// The kind of name that stands first behind a command.
fn of_place(path: &[&str]) -> Option<NameKind> {
    Some(match path {
        ["send" | "ping"]
        | ["handoff", "send"]
        | ["policy", "check"]
        | ["peer", "show"]
        | ["trust", "withdraw"] => NameKind::Peers,
        ["trust", "approve" | "refuse"] => NameKind::Strangers,
        ["approve"] | ["drafts", "drop"] => NameKind::Drafts,
        ["reply"] | ["inbox", "done"] => NameKind::Inbox,
        ["status"] => NameKind::Outbox,
        ["quarantine", "retry" | "drop"] => NameKind::Quarantine,
        ["handoff", "accept" | "decline" | "report" | "show"] => NameKind::Tasks,
        _ => return None,
    })
}

/// The names that the daemon knows. Only calls that show are made.
fn asked(kind: NameKind, home: Option<PathBuf>) -> Option<Vec<String>> {
    let config = Config::load(&Home::find(home).ok()?).ok()?;
    let client = Client::connect(&config.control_socket, PATIENCE);
    client
        .and_then(|mut client| names_of(kind, &mut client))
        .ok()
}

fn names_of(kind: NameKind, client: &mut Client) -> Result<Vec<String>, ClientError> {
    Ok(match kind {
        NameKind::Peers => {
            let peers = client.call(&ListPeers {})?;
            peers.into_iter().map(|peer| peer.peer).collect()
        }
        NameKind::Strangers => {
            let strangers = client.call(&ListPending {})?.pending;
            strangers
                .into_iter()
                .map(|stranger| stranger.agent)
                .collect()
        }
        NameKind::Drafts => {
            let drafts = client.call(&ListDrafts::default())?.drafts;
            drafts.into_iter().map(|draft| draft.message_id).collect()
        }
        NameKind::Inbox => {
            let inbox = client.call(&ListInbox::default())?.messages;
            inbox
                .into_iter()
                .map(|waiting| waiting.message.message_id)
                .collect()
        }
        NameKind::Outbox => {
            let outbox = client.call(&ListOutbox::default())?.messages;
            outbox
                .into_iter()
                .map(|outgoing| outgoing.message_id)
                .collect()
        }
        NameKind::Quarantine => {
            let quarantine = client.call(&ListQuarantine::default())?.messages;
            quarantine
                .into_iter()
                .map(|one| one.message.message_id)
                .collect()
        }
        NameKind::Tasks => {
            let tasks = client.call(&ListTasks {})?.tasks;
            tasks.into_iter().map(|task| task.task).collect()
        }
    })
}

/// Whether a name holds nothing that means something to a shell.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.starts_with('-') && name.bytes().all(plain)
}

/// How long somebody who types is kept waiting at most.
const PATIENCE: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(line: &str) -> Option<(NameKind, Option<PathBuf>)> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        WantedName::of(&words).map(|wanted| (wanted.kind, wanted.home))
    }

    #[test]
    fn a_name_is_wanted_where_the_parser_takes_one_and_nowhere_else() {
        for (line, kind) in [
            ("signet send ", Some(NameKind::Peers)),
            ("signet send agent-b", Some(NameKind::Peers)),
            ("signet send agent-b ", None),
            ("signet send --summary ", None),
            ("signet send --summary hello ", Some(NameKind::Peers)),
            ("signet send --summary=hello ", Some(NameKind::Peers)),
            ("signet approve 01", Some(NameKind::Drafts)),
            ("signet approve --refuse ", Some(NameKind::Drafts)),
            ("signet approve --key ", None),
            ("signet approve -", None),
            ("signet trust approve ", Some(NameKind::Strangers)),
            ("signet trust ", None),
            ("signet reply 0", Some(NameKind::Inbox)),
            ("signet reply x --from ", Some(NameKind::Peers)),
            ("signet audit export --from ", None),
            ("signet audit export --peer ", Some(NameKind::Peers)),
            ("signet quarantine retry ", Some(NameKind::Quarantine)),
            ("signet handoff report 0", Some(NameKind::Tasks)),
            ("signet status 0", Some(NameKind::Outbox)),
            ("signet inbox --each -- send ", None),
            ("signet no-such-command ", None),
            ("signet", None),
            ("", None),
        ] {
            assert_eq!(wanted(line).map(|(kind, _)| kind), kind, "{line:?}");
        }
    }

    #[test]
    fn the_home_is_the_one_that_the_line_names() {
        for line in [
            "signet --home a send ",
            "signet send --home a ",
            "signet send --home=a ",
        ] {
            assert_eq!(
                wanted(line),
                Some((NameKind::Peers, Some("a".into()))),
                "{line}"
            );
        }
    }

    #[test]
    fn every_command_of_the_table_is_one() {
        let whole = SignetCli::command();
        for path in [
            &["send"][..],
            &["ping"],
            &["handoff", "send"],
            &["policy", "check"],
            &["peer", "show"],
            &["trust", "withdraw"],
            &["trust", "approve"],
            &["trust", "refuse"],
            &["approve"],
            &["drafts", "drop"],
            &["reply"],
            &["inbox", "done"],
            &["status"],
            &["quarantine", "retry"],
            &["quarantine", "drop"],
            &["handoff", "accept"],
            &["handoff", "decline"],
            &["handoff", "report"],
            &["handoff", "show"],
        ] {
            assert!(of_place(path).is_some(), "{path:?}");
            let mut at = &whole;
            for name in path {
                at = at.find_subcommand(name).unwrap();
            }
            assert!(at.get_positionals().next().is_some(), "{path:?}");
        }
    }

    /// Agent-ids and message-ids have no other characters; what else a daemon in somebody's hands would say stays out.
    #[test]
    fn a_name_that_a_shell_would_run_is_not_offered() {
        for name in [
            "$(id)",
            "`id`",
            "a b",
            "a;b",
            "-rf",
            "a\nb",
            "a'b",
            "\u{202e}a",
            "~a",
            "A",
        ] {
            assert!(!is_plain(name), "{name:?}");
        }
        assert!(is_plain("agent-bob-001") && is_plain("01a20aa4-9fcd-7815-b963-5912033037e4"));
    }
}
