//! `signet status`: the daemon, its peers, its sessions, its log's head; or where a message is.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use signet_audit::{hold_against_anchor, visible};
use signet_proto::ids::Version;

use super::ask::{ask, print_json, text};
use super::{Failure, print};
use crate::config::Config;
use crate::daemon::DaemonError;
use crate::home::Home;
use crate::memory::MemoryError;

/// See `signet status --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct StatusArgs {
    /// Say where this message of ours is, in one word and one sentence
    #[arg(value_name = "MESSAGE")]
    message: Option<String>,
    /// Print it as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: StatusArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    if let Some(message) = &args.message {
        return super::outbox::show(message, args.json, home);
    }
    let status = ask(home.clone(), "status", &json!({})).map_err(|failure| why(home, failure))?;
    if args.json {
        print_json(&status)
    } else {
        print(&page(&status))
    }
}

/// Where no daemon answers, its log may be why: a start is refused for it.
fn why(home: Option<PathBuf>, failure: Failure) -> Failure {
    let found = Home::find(home).ok().and_then(|home| {
        let config = Config::load(&home).ok()?;
        hold_against_anchor(&config.audit_dir, &home.log_anchor()).err()
    });
    match found.filter(|_| failure.is_not_reachable()) {
        Some(error) => DaemonError::Memory(MemoryError::Log(error)).into(),
        None => failure,
    }
}

fn page(status: &Value) -> String {
    let connected = is(status, "connected");
    let number = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or_default();
    let log = status.get("log");
    let mut page = format!(
        "{} of {}  ({}, process {})\n  words  {}\n  NATS   {}\n  inbox  {} waiting\n  log    {} lines, head {}\n",
        text(status, "agent"),
        text(status, "principal"),
        text(status, "version"),
        number(status.get("pid")),
        text(status, "fingerprint"),
        match (connected, is(status, "mailbox")) {
            (true, true) => "connected, with a mailbox",
            (true, false) =>
                "connected, no mailbox: senders keep what is sent meanwhile; signet nats setup",
            (false, _) => "not connected; trying",
        },
        number(status.get("inbox")),
        number(log.and_then(|log| log.get("seq"))),
        log.map_or("-", |log| text(log, "head")),
    );
    if let Some(refusing) = status.get("refusing").filter(|value| value.is_object()) {
        let since = visible(text(refusing, "since")).into_owned();
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "  state  refusing: the disk is full, since {since}; free some space where the log is"
        );
    }
    if let Some(fault) = status.get("log-fault").and_then(Value::as_str) {
        let _ = writeln!(
            page,
            "  note   ALARM: the log was changed: {}",
            visible(fault)
        );
    }
    if let Some(clock) = status.get("clock").filter(|value| value.is_object()) {
        let _ = writeln!(page, "  note   {}", clock_note(clock));
    }
    if let Some(note) = versions_note(status) {
        let _ = writeln!(page, "  note   {note}");
    }
    for note in alarm_notes(status) {
        let _ = writeln!(page, "  note   {note}");
    }
    let notes = [
        (
            "revoked",
            "this agent's certificate was REVOKED by its person; signet key rotate signing",
        ),
        ("paused", "the agents of this person pause; signet resume"),
        ("pending", "strangers ask to be known; signet trust pending"),
        (
            "root-alarms",
            "ALARM: a known person with another root key; signet trust pending",
        ),
        ("drafts", "drafts wait; signet drafts"),
        (
            "set-aside",
            "messages of revoked agents are set aside; signet inbox --set-aside",
        ),
        (
            "quarantine",
            "messages could not be handled; signet quarantine list",
        ),
    ];
    for (name, note) in notes {
        let value = status.get(name).unwrap_or(&Value::Null);
        if number(Some(value)) > 0 || value.as_bool() == Some(true) {
            let _ = writeln!(page, "  note   {note}");
        }
    }
    let peers = status
        .get("peers")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    if peers.is_empty() {
        page.push_str("  peers  none yet; signet peer add FILE\n");
    }
    for peer in &peers {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "  peer   {}", peer_line(peer));
    }
    page
}

/// A certificate of an older release lists fewer versions: until it is renewed, peers speak those alone.
fn versions_note(status: &Value) -> Option<String> {
    let newest = Version::SPOKEN.last()?.to_string();
    let listed = status.get("versions")?.as_array()?;
    let lists = listed.iter().any(|version| *version == newest.as_str());
    (!lists).then(|| {
        format!(
            "the certificate does not list version {newest}: no progress, no offers of programs; \
             signet key rotate signing"
        )
    })
}

/// The clock stands outside the dates of our certificate: either it is wrong, or the certificate has run
/// out, which only a person can tell.
fn clock_note(clock: &Value) -> String {
    let [now, from, to] = ["now", "not-before", "not-after"].map(|name| visible(text(clock, name)));
    // Times of one spelling compare as texts.
    if now < from {
        format!(
            "the CLOCK IS WRONG, or this agent is new: it says {now}, and the certificate begins {from}; \
             nothing is signed and all that is sent waits; timedatectl set-ntp true, and if the clock \
             is right: signet key rotate signing"
        )
    } else {
        format!(
            "the CERTIFICATE HAS RUN OUT, or the clock is wrong: it says {now}, and the certificate ended \
             {to}; nothing is signed and all that is sent waits; signet key rotate signing, and if the \
             clock is ahead: timedatectl set-ntp true"
        )
    }
}

/// What rings and who rang it, the first few by name.
fn alarm_notes(status: &Value) -> Vec<String> {
    let ringing = status.get("ringing").and_then(Value::as_array);
    let ringing = ringing.map(Vec::as_slice).unwrap_or_default();
    let note = |alarm: &Value| {
        let (what, peer) = (text(alarm, "alarm"), text(alarm, "peer"));
        visible(&format!("ALARM: {what}, with {peer}; signet alarms")).into_owned()
    };
    let mut notes: Vec<_> = ringing.iter().take(ALARMS).map(note).collect();
    if let Some(more) = ringing.len().checked_sub(ALARMS).filter(|more| *more > 0) {
        notes.push(format!("ALARM: {more} more; signet alarms"));
    }
    notes
}

/// How many alarms are shown by name.
const ALARMS: usize = 8;

fn is(status: &Value, name: &str) -> bool {
    let flag = status.get(name).and_then(Value::as_bool);
    flag.unwrap_or_default()
}

/// One peer on one line.
pub(super) fn peer_line(peer: &Value) -> String {
    let number = |name: &str| peer.get(name).and_then(Value::as_u64).unwrap_or_default();
    let session = match peer.get("session").and_then(Value::as_str) {
        Some(_) => format!("session until {}", text(peer, "session-ends")),
        None if peer.get("handshake").and_then(Value::as_bool) == Some(true) => {
            "handshake under way".to_owned()
        }
        None => "no session".to_owned(),
    };
    let mut line = format!(
        "{} of {}: {session}",
        text(peer, "peer"),
        text(peer, "principal")
    );
    for (name, what) in [
        ("waiting", "waiting"),
        ("unconfirmed", "unconfirmed"),
        ("over-budget", "refused over its budget"),
        ("withheld", "not sent over ours"),
    ] {
        if number(name) > 0 {
            let _ = write!(line, ", {} {what}", number(name));
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
    use super::*;

    fn note(now: &str) -> String {
        let clock = json!({
            "now": now, "not-before": "2026-02-01T00:00:00.000Z", "not-after": "2027-02-01T00:00:00.000Z",
        });
        let page = page(&json!({"clock": clock, "connected": true}));
        let note = page.lines().find(|line| line.contains("  note   "));
        note.unwrap_or_default().to_owned()
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
        let page = page(&json!({"clock": null, "connected": true}));
        assert!(!page.contains("note"), "{page}");
    }

    #[test]
    fn each_alarm_is_a_note_that_names_it_and_the_peer_that_rang_it() {
        let alarm = |n: usize| json!({"alarm": "second-copy", "peer": format!("agent-{n}")});
        let ringing: Vec<_> = (0..11).map(alarm).collect();
        let page = page(&json!({"alarms": 11, "ringing": ringing}));
        assert!(
            page.contains("note   ALARM: second-copy, with agent-0; signet alarms"),
            "{page}"
        );
        assert!(page.contains("ALARM: 3 more"), "{page}");
        assert_eq!(page.matches("ALARM").count(), 9);
        let quiet = super::page(&json!({"alarms": 0, "ringing": []}));
        assert!(!quiet.contains("ALARM"), "{quiet}");
    }
}
