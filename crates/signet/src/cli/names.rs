//! Messages by the beginning of their names, as people type them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use signet_api::{
    ListInbox, ListOutbox, ListQuarantine, ListTasks, Message, Outgoing, Quarantined,
};
use signet_audit::{Filter, LogError, log_files, read_file};
use signet_proto::entry::{Entry, Ruling, Verdict};
use signet_proto::handoff::TaskId;
use signet_proto::ids::MessageId;

use crate::cli::CliError;
use crate::cli::ask::connect;
use crate::cli::failure::exits::of_log;
use crate::cli::pages::every;
use crate::config::Config;
use crate::control::Client;
use crate::home::Home;

/// A message that a person may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The message-id.
    pub(super) id: String,
    /// Who sent it, or for whom it is.
    pub(super) peer: String,
}

/// The one message of `among` that `name` begins. A name that can begin no message-id is given back as it is: the
/// daemon then says what is wrong with it.
///
/// # Errors
/// For a name that is too short, or that several messages begin with: then they are listed.
pub(super) fn one(
    name: &str,
    among: impl FnOnce() -> Result<Vec<Candidate>, CliError>,
    list: &str,
) -> Result<String, CliError> {
    if name.parse::<MessageId>().is_ok() || !is_beginning(name) {
        return Ok(name.to_owned());
    }
    refuse_short(name, &MESSAGE, list)?;
    only(name, &MESSAGE, list, among()?)
}

/// The one of `all` that `name` begins.
fn only(
    name: &str,
    named: &NamedThing,
    list: &str,
    mut all: Vec<Candidate>,
) -> Result<String, CliError> {
    all.retain(|candidate| candidate.id.starts_with(name));
    // Two peers may have used the same id, so the list may hold an id twice: keep each id once, and let
    // `--from` say which peer is meant.
    all.sort_by(|one, other| one.id.cmp(&other.id));
    all.dedup_by(|one, other| one.id == other.id);
    match all.as_slice() {
        [candidate] => Ok(candidate.id.clone()),
        [] => {
            let (noun, reason) = (named.noun, format!("{}-unknown", named.noun));
            let what = format!("{reason}: no {noun} begins with {name}");
            Err(CliError::refused(what, format!("{list}  # shows the {noun}s")).named(&reason))
        }
        several => Err(ambiguous(name, named, several)),
    }
}

/// A kind of things that people name by the beginning of an id, in the words of an error.
pub(super) struct NamedThing {
    noun: &'static str,
    id: &'static str,
    whole_id: &'static str,
}

/// A message.
pub(super) const MESSAGE: NamedThing = NamedThing {
    noun: "message",
    id: "a message-id",
    whole_id: "the message-id",
};
const TASK: NamedThing = NamedThing {
    noun: "task",
    id: "a task",
    whole_id: "the task's id",
};

/// The name is the beginning of several.
pub(super) fn ambiguous(name: &str, named: &NamedThing, several: &[Candidate]) -> CliError {
    let shown = several.iter().take(SHOWN);
    let shown: Vec<String> = shown
        .map(|candidate| format!("{} ({})", candidate.id, candidate.peer))
        .collect();
    let more = match several.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = format!(
        "more than one {} begins with {name}: {}{more}",
        named.noun,
        shown.join(", ")
    );
    CliError::usage(what, format!("give more of {}", named.whole_id))
}

/// # Errors
/// For a beginning that would soon fit others.
pub(super) fn refuse_short(name: &str, named: &NamedThing, list: &str) -> Result<(), CliError> {
    if name.len() >= SHORTEST {
        return Ok(());
    }
    let what = format!("{name:?} is too short for the beginning of {}", named.id);
    let next = format!("give at least {SHORTEST} characters of it, as {list} shows it");
    Err(CliError::usage(what, next))
}

fn is_beginning(name: &str) -> bool {
    let of_id = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
    !name.is_empty() && name.bytes().all(of_id)
}

/// The one task that `name` begins, as [`one`] finds a message.
///
/// # Errors
/// For a name that is too short, or that no task or several begin with.
pub(super) fn task(client: &mut Client, name: &str) -> Result<String, CliError> {
    if name.parse::<TaskId>().is_ok() || !is_beginning(name) {
        return Ok(name.to_owned());
    }
    let tasks = client.call(&ListTasks {})?.tasks;
    let all = tasks.into_iter().map(|task| Candidate {
        id: task.task,
        peer: task.peer,
    });
    task_of(name, all.collect())
}

fn task_of(name: &str, all: Vec<Candidate>) -> Result<String, CliError> {
    let list = "signet handoff list";
    refuse_short(name, &TASK, list)?;
    only(name, &TASK, list, all)
}

/// The messages that wait in the inbox; only those of `peer` where one is named.
pub(super) fn in_inbox(
    client: &mut Client,
    from: Option<&str>,
) -> Result<Vec<Candidate>, CliError> {
    let (mut found, mut list) = (Vec::new(), ListInbox::default());
    loop {
        let messages = client.call(&list)?.messages;
        let Some(last) = messages.last() else {
            found.retain(|candidate: &Candidate| from.is_none_or(|from| candidate.peer == from));
            return Ok(found);
        };
        list.after = last.number;
        found.extend(messages.iter().map(|waiting| sent_by(&waiting.message)));
    }
}

/// The messages in the quarantine.
pub(super) fn in_quarantine(client: &mut Client) -> Result<Vec<Candidate>, CliError> {
    let held = quarantined(client)?;
    Ok(held.iter().map(|held| sent_by(&held.message)).collect())
}

/// All of the quarantine.
pub(super) fn quarantined(client: &mut Client) -> Result<Vec<Quarantined>, CliError> {
    let name = |held: &Quarantined| (held.message.from.clone(), held.message.message_id.clone());
    every(name, |skip| {
        let page = client.call(&ListQuarantine { skip })?;
        Ok((page.waiting, page.messages))
    })
}

/// All that is on its way; only what is for `peer` where one is named.
pub(super) fn on_their_way(
    client: &mut Client,
    peer: Option<String>,
) -> Result<Vec<Outgoing>, CliError> {
    let name = |out: &Outgoing| out.message_id.clone();
    every(name, |skip| {
        let peer = peer.clone();
        let page = client.call(&ListOutbox { peer, skip })?;
        Ok((page.waiting, page.messages))
    })
}

/// Our own messages: those on their way, else those of the log's newest two months.
pub(super) fn of_ours(home: Option<PathBuf>, name: &str) -> Result<Vec<Candidate>, CliError> {
    let mut client = connect(home.clone(), Duration::ZERO)?;
    let found = on_their_way(&mut client, None)?.into_iter();
    let found = found.map(|out| Candidate {
        id: out.message_id,
        peer: out.peer,
    });
    let config = Config::load(&Home::find(home)?)?;
    with_those_before(found.collect(), name, &config.audit_dir)
        .map_err(|error| CliError::new(of_log(&error), &error, error.next()))
}

/// Those that the daemon named, and those of the log that `name` begins.
fn with_those_before(
    mut found: Vec<Candidate>,
    name: &str,
    log: &Path,
) -> Result<Vec<Candidate>, LogError> {
    match sent_before(name, log) {
        Ok(before) => found.extend(before),
        // The user may belong to the socket's group and not to the log's, so an unreadable log is no error if the
        // daemon named a message that begins with `name`. Otherwise report the error: the message may stand in the log,
        // so "unknown" would be wrong.
        Err(_) if found.iter().any(|it| it.id.starts_with(name)) => {}
        Err(error) => return Err(error),
    }
    Ok(found)
}

fn sent_before(name: &str, log: &Path) -> Result<Vec<Candidate>, LogError> {
    let mut files = match log_files(log) {
        // There is no log yet: this agent has sent nothing.
        Err(LogError::NoLog(_)) => Vec::new(),
        files => files?,
    };
    files.sort();
    let newest = files.iter().rev().take(MONTHS);
    let lines: Vec<_> = newest
        .map(|file| read_file(file))
        .collect::<Result<_, _>>()?;
    // Leave out messages of class `control`, such as handshakes and receipts: nobody types the id of one.
    let filter = Filter {
        without_control: true,
        ..Filter::default()
    };
    let entries = lines
        .into_iter()
        .flat_map(|lines| lines.map_while(Result::ok))
        .filter(|line| filter.admits(line))
        .filter_map(|line| line.entry);
    let ours = entries.filter_map(|entry| match entry {
        Entry::Message(verdict) if verdict.ruling == Ruling::Sent => sent(&verdict),
        _ => None,
    });
    Ok(ours
        .filter(|candidate| candidate.id.starts_with(name))
        .collect())
}

fn sent(verdict: &Verdict) -> Option<Candidate> {
    Some(Candidate {
        id: verdict.id()?.to_string(),
        peer: verdict.peer()?.to_string(),
    })
}

fn sent_by(message: &Message) -> Candidate {
    Candidate {
        id: message.message_id.clone(),
        peer: message.from.clone(),
    }
}

/// The fewest characters of an id: the ids of an hour begin with the same few, since an id begins with its time.
const SHORTEST: usize = 4;
const SHOWN: usize = 8;
const MONTHS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_cannot_be_read_is_no_word_that_nothing_was_sent() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path();
        let known = || vec![candidate("0192f0c1")];
        let found = with_those_before(known(), "0193", log).unwrap();
        assert_eq!(found, known(), "nothing was ever written");
        let gone = log.join("gone");
        // Put a folder where the log's file of a month belongs: nobody can read it as a file. Taking the permission to
        // read away would not stop root, as whom this test may run.
        std::fs::create_dir(log.join("inter-agent-2026-02.jsonl")).unwrap();
        for log in [log, &gone] {
            let found = with_those_before(known(), "0192f0", log);
            assert_eq!(found.unwrap(), known(), "the one that is meant is known");
            with_those_before(known(), "0193", log).unwrap_err();
        }
    }

    fn candidate(id: &str) -> Candidate {
        Candidate {
            id: id.to_owned(),
            peer: "agent-bob".to_owned(),
        }
    }

    fn meant(name: &str) -> Result<String, String> {
        let among = ["0192f0c1-0000", "0192f0c1-0001", "0192f0c2-0000"].map(candidate);
        one(name, || Ok(among.to_vec()), "signet inbox").map_err(|failure| match failure {
            CliError::Told { what, next, .. } => format!("{what}; {next}"),
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn the_beginning_of_a_task_names_it_where_it_is_the_only_one() {
        let all = || {
            ["0192f0c1-0000", "0192f0c1-0001", "0192f0c2-0000"]
                .map(candidate)
                .to_vec()
        };
        let meant = |name: &str| {
            task_of(name, all()).map_err(|failure| match failure {
                CliError::Told { what, .. } => what,
                other => format!("{other:?}"),
            })
        };
        assert_eq!(meant("0192f0c2").unwrap(), "0192f0c2-0000");
        assert!(
            meant("0192f0c1")
                .unwrap_err()
                .starts_with("more than one task begins with")
        );
        assert!(meant("aaaa").unwrap_err().contains("task-unknown"));
        assert!(meant("019").unwrap_err().contains("too short"));
    }

    #[test]
    fn a_beginning_names_one_message_or_says_which_it_may_be() {
        assert_eq!(meant("0192f0c2").unwrap(), "0192f0c2-0000");
        let both = meant("0192f0c1").unwrap_err();
        assert!(
            both.contains("0192f0c1-0000 (agent-bob), 0192f0c1-0001 (agent-bob)"),
            "{both}"
        );
        assert!(!both.contains("0192f0c2"), "{both}");
        assert!(meant("019").unwrap_err().contains("too short"));
        assert!(meant("aaaa").unwrap_err().contains("message-unknown"));
        assert_eq!(
            meant("no id").unwrap(),
            "no id",
            "the daemon says what is wrong with it"
        );
    }
}
