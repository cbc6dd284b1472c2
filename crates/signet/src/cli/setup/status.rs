//! `signet status`: the daemon, its peers, its sessions, its log's head; or where a message is.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use signet_api::{Alarm, Clock, MailboxReaders, Peer, Private, ShowStatus, Status};
use signet_audit::{counted, visible};
use signet_proto::ids::Version;

use crate::cli::ask::ask;
use crate::cli::print::{or_dash, print_json};
use crate::cli::{CliError, print, setup::doctor};
use crate::config::Config;
use crate::daemon::DaemonError;
use crate::home::Home;
use crate::memory::Memory;

/// See `signet status --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct StatusArgs {
    /// Say where this message of ours is, in one word and one sentence: its id, or as much of it as is unambiguous
    #[arg(value_name = "MESSAGE")]
    message: Option<String>,
    /// Print it as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: StatusArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    if let Some(message) = &args.message {
        return crate::cli::talk::outbox::show(message, args.json, home);
    }
    let known = Home::find(home.clone()).ok().and_then(|home| {
        let config = Config::load(&home).ok()?;
        Some((home, config))
    });
    let known = known.as_ref();
    let uses_nats = known.is_none_or(|(_, config)| !config.nats.servers.is_empty());
    // `mailbox` is the command that the page names when the agent's mailbox is missing. It depends on the configuration: where
    // the configuration cannot be read, name `signet doctor`, which says what is wrong with it.
    let mailbox = known.map_or_else(
        || "signet doctor".to_owned(),
        |(home, config)| match &config.nats.domain {
            // It lies on servers beyond the one that the daemon is connected to, which may be away themselves.
            Some(_) => "signet doctor  # says whether the `domain` of [nats] answers".to_owned(),
            None => doctor::keeper::next_for_mailbox(home, config),
        },
    );
    let status = ask(home.clone(), &ShowStatus {}).map_err(|failure| why(home, failure))?;
    if args.json {
        print_json(&status)
    } else {
        print(&page(&status, uses_nats, &mailbox))
    }
}

/// Where no daemon answers, its log may be why: a start is refused for it.
fn why(home: Option<PathBuf>, failure: CliError) -> CliError {
    if !failure.is_not_reachable() {
        return failure;
    }
    let found = Home::find(home).ok().and_then(|home| {
        let config = Config::load(&home).ok()?;
        // Judge the log as a start of the daemon would, without a change: if the log is refused, that is why no daemon runs.
        Memory::foresee(&home, &config).err()
    });
    match found {
        Some(error) => DaemonError::Memory(error).into(),
        None => failure,
    }
}

/// `mailbox` is what makes the mailbox of the agent.
fn page(status: &Status, uses_nats: bool, mailbox: &str) -> String {
    let private = status.private.as_ref();
    let log = private.and_then(|private| private.log.as_ref());
    let (nats, nats_next) = match (status.connected, status.mailbox) {
        _ if !uses_nats => (
            "none in config.toml; other carriers alone take messages to peers",
            None,
        ),
        (true, true) => match status.mailbox_readers {
            MailboxReaders::Own => ("connected, with a mailbox", None),
            MailboxReaders::Both => (
                "connected, and another program takes mail out of the mailbox of this agent",
                Some("signet doctor"),
            ),
            MailboxReaders::Other => (
                "connected; another program reads the mailbox of this agent, and this daemon waits",
                Some("signet doctor"),
            ),
        },
        (true, false) => (
            "connected, no mailbox: senders keep what is sent meanwhile",
            Some(mailbox),
        ),
        (false, _) => ("not connected; trying", None),
    };
    let mut page = format!(
        "{} of {}  ({}, process {})\n  words  {}\n  NATS   {nats}\n{}  inbox  {} waiting\n  log    {}, head {}\n",
        status.agent,
        status.principal,
        status.version,
        private.map_or(0, |private| private.pid),
        status.fingerprint,
        next_line(nats_next),
        status.inbox,
        counted(log.map_or(0, |log| log.seq), "line"),
        or_dash(log.map(|log| log.head.as_str())),
    );
    if let Some(refusing) = &status.refusing {
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "  state  refusing: the disk is full, since {}; free some space where the log is",
            visible(&refusing.since)
        );
    }
    for note in notes(status) {
        let _ = writeln!(page, "  note   {}", note.text);
        page.push_str(&next_line(note.next));
    }
    if status.peers.is_empty() {
        page.push_str("  peers  none yet\n");
        page.push_str(&next_line(Some("signet peer add FILE")));
    }
    for peer in &status.peers {
        let _ = writeln!(page, "  peer   {}", peer_line(peer));
    }
    page
}

/// The command below a line, on a line of its own.
fn next_line(next: Option<&str>) -> String {
    next.map_or_else(String::new, |next| format!("         next: {next}\n"))
}

/// What a person has to see to, and the command for it.
struct StatusNote {
    text: String,
    next: Option<&'static str>,
}

/// The most urgent first.
fn notes(status: &Status) -> Vec<StatusNote> {
    let private = status.private.as_ref();
    let fault = private.and_then(|private| private.log_fault.as_ref());
    let fault = fault.map(|fault| StatusNote {
        text: format!("ALARM: the log was changed: {}", visible(fault)),
        next: None,
    });
    let mut notes: Vec<StatusNote> = fault.into_iter().collect();
    notes.extend(status.clock.as_ref().map(clock_note));
    notes.extend(versions_note(&status.versions));
    notes.extend(private.map(alarm_notes).into_iter().flatten());
    let some = |count: fn(&Private) -> usize| private.is_some_and(|private| count(private) > 0);
    let mut note = |applies: bool, next: &'static str, text: &str| {
        let text = text.to_owned();
        notes.extend(applies.then_some(StatusNote {
            text,
            next: Some(next),
        }));
    };
    note(
        status.revoked,
        "signet key rotate signing",
        "this agent's certificate was REVOKED by its person",
    );
    note(
        status.paused,
        "signet resume",
        "the agents of this person pause",
    );
    note(
        some(|of| of.pending),
        "signet trust pending",
        "strangers wait for an introduction",
    );
    note(
        some(|of| of.root_alarms),
        "signet trust pending",
        "ALARM: a known person with another root key",
    );
    note(some(|of| of.drafts), "signet drafts", "drafts wait");
    note(
        some(|of| of.set_aside),
        "signet inbox --set-aside",
        "messages of withdrawn or revoked agents are set aside",
    );
    note(
        some(|of| of.quarantine),
        "signet quarantine list",
        "messages could not be handled",
    );
    note(
        some(|of| of.config_waits.reload.len() + of.config_waits.restart.len()),
        "signet doctor",
        "config.toml was changed, and the daemon runs by what stood there before",
    );
    notes
}

/// A certificate of an older release lists fewer versions: until it is renewed, peers speak those alone.
fn versions_note(listed: &[String]) -> Option<StatusNote> {
    let newest = Version::SPOKEN.last()?.to_string();
    // A daemon of an older release does not report which protocol versions its certificate lists. The list is empty then
    // and says nothing about the certificate, so show no note.
    let lists = listed.is_empty() || listed.contains(&newest);
    (!lists).then(|| StatusNote {
        text: format!(
            "the certificate does not list version {newest}: no progress, no offers of programs"
        ),
        next: Some("signet key rotate signing"),
    })
}

/// The clock stands outside the dates of our certificate: either it is wrong, or the certificate has run
/// out, which only a person can tell.
fn clock_note(clock: &Clock) -> StatusNote {
    let [now, from, to] =
        [&clock.now, &clock.not_before, &clock.not_after].map(|time| visible(time));
    // All times have the same spelling, so they can be compared as texts.
    let (text, next) = if now < from {
        (
            format!(
                "the CLOCK IS WRONG, or this agent is new: it says {now}, and the certificate begins {from}; \
                 nothing is signed and all that is sent waits"
            ),
            "timedatectl set-ntp true  # sets the clock; if it is right: signet key rotate signing",
        )
    } else {
        (
            format!(
                "the CERTIFICATE HAS RUN OUT, or the clock is wrong: it says {now}, and the certificate ended \
                 {to}; nothing is signed and all that is sent waits"
            ),
            "signet key rotate signing  # if the clock is ahead: timedatectl set-ntp true",
        )
    };
    StatusNote {
        text,
        next: Some(next),
    }
}

/// A note for each of the first alarms, with the peer that rang it. The command that lists all of them stands below
/// the last note.
fn alarm_notes(private: &Private) -> Vec<StatusNote> {
    let ringing = &private.ringing;
    let note = |alarm: &Alarm| {
        let (what, peer) = (&alarm.alarm, &alarm.peer);
        visible(&format!("ALARM: {what}, with {peer}")).into_owned()
    };
    let mut notes: Vec<_> = ringing.iter().take(ALARMS).map(note).collect();
    if let Some(more) = ringing.len().checked_sub(ALARMS).filter(|more| *more > 0) {
        notes.push(format!("ALARM: {more} more"));
    }
    let last = notes.len().saturating_sub(1);
    let next = |at| (at == last).then_some("signet alarms");
    let notes = notes.into_iter().enumerate();
    notes
        .map(|(at, text)| StatusNote {
            text,
            next: next(at),
        })
        .collect()
}

/// How many alarms are shown by name.
const ALARMS: usize = 8;

/// One peer on one line.
pub(crate) fn peer_line(peer: &Peer) -> String {
    let session = match (&peer.session, peer.handshake) {
        (Some(_), _) => format!("session until {}", or_dash(peer.session_ends.as_deref())),
        (None, true) => "handshake under way".to_owned(),
        (None, false) => "no session".to_owned(),
    };
    let mut line = format!(
        "{} of {}: {session}",
        peer.peer,
        or_dash(peer.principal.as_deref())
    );
    let (waiting, unconfirmed) = (peer.waiting as u64, peer.unconfirmed as u64);
    for (count, what) in [
        (waiting, "waiting"),
        (unconfirmed, "unconfirmed"),
        (peer.over_budget, "refused over its budget"),
        (peer.withheld, "not sent over ours"),
    ] {
        if count > 0 {
            let _ = write!(line, ", {count} {what}");
        }
    }
    visible(&line).into_owned()
}

const EXAMPLE: &str = "\
The states of a message: queued (it waits here), published (handed to the network), received, answered,
refused, expired (no receipt came in its life), unknown (nobody can say).

EXAMPLE:
  signet status --json | jq .log.head
  signet status 0192f0c1-0000-7000-8000-000000000000";

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Checks the page of a daemon of this release where all is well but for `other`.
    fn page(other: &Value) -> String {
        let mut status = json!({
            "agent": "agent-alice", "principal": "alice", "fingerprint": "", "version": "0.0.0",
            "versions": Version::SPOKEN.map(|version| version.to_string()), "connected": true,
            "refusing": null, "mailbox": true, "inbox": 0, "revoked": false, "clock": null,
            "paused": false, "peers": [], "pid": 1, "set-aside": 0, "quarantine": 0, "pending": 0,
            "alarms": 0, "ringing": [], "root-alarms": 0, "drafts": 0, "log-fault": null, "log": null,
        });
        let other = other.as_object().cloned().unwrap_or_default();
        status.as_object_mut().unwrap().extend(other);
        super::page(&serde_json::from_value(status).unwrap(), true, "")
    }

    fn note(now: &str) -> String {
        let clock = json!({
            "now": now, "not-before": "2026-02-01T00:00:00.000Z", "not-after": "2027-02-01T00:00:00.000Z",
        });
        let page = page(&json!({"clock": clock}));
        let (_, note) = page.split_once("  note   ").unwrap();
        let lines: Vec<&str> = note.lines().take(2).collect();
        assert!(lines[1].trim_start().starts_with("next: "), "{page}");
        lines.join("\n")
    }

    #[test]
    fn a_slow_clock_is_answered_with_both_times_and_the_command_that_sets_it() {
        let note = note("2020-01-01T00:00:00.000Z");
        for part in [
            "CLOCK IS WRONG",
            "2020-01-01",
            "2026-02-01",
            "timedatectl set-ntp true",
        ] {
            assert!(note.contains(part), "{note}");
        }
    }

    #[test]
    fn an_own_certificate_that_ran_out_is_a_note_with_both_times_and_the_next_command() {
        let note = note("2027-02-01T00:00:00.001Z");
        for part in [
            "CERTIFICATE HAS RUN OUT",
            "2027-02-01",
            "signet key rotate signing",
        ] {
            assert!(note.contains(part), "{note}");
        }
        let page = page(&json!({}));
        assert!(!page.contains("note"), "{page}");
    }

    #[test]
    fn each_alarm_is_a_note_that_names_it_and_the_peer_that_rang_it() {
        let alarm = |n: usize| {
            let peer = format!("agent-{n}");
            json!({"alarm": "second-copy", "peer": peer, "since": "", "text": ""})
        };
        let ringing: Vec<_> = (0..11).map(alarm).collect();
        let shown = page(&json!({"alarms": 11, "ringing": ringing}));
        assert!(
            shown.contains("note   ALARM: second-copy, with agent-0\n"),
            "{shown}"
        );
        assert!(
            shown.contains("ALARM: 3 more\n         next: signet alarms\n"),
            "{shown}"
        );
        assert_eq!(shown.matches("ALARM").count(), 9);
        let quiet = page(&json!({}));
        assert!(!quiet.contains("ALARM"), "{quiet}");
    }
}
