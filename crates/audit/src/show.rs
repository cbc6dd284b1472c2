//! Lines for people: one readable line each.

use signet_json::canonical;
use signet_proto::entry::{AttemptLine, Direction, Entry, HandoffLine, TaskChange, Verdict};
use signet_proto::envelope::Form;
use signet_proto::headers::MessageType;
use signet_proto::ids::AgentId;
use signet_proto::keys::fingerprint;

use crate::about::{message_type, peer_of};
use crate::record::{Line, Mark};
use signet_text::{counted, printable, visible};

/// One line of text about one line of the log. Nothing from the log can drive a terminal with it or
/// look like a second line.
#[must_use]
pub fn describe(line: &Line) -> String {
    let time = line.ts.to_string().replace('T', " ");
    let time = time.trim_end_matches('Z');
    let (direction, what, rest) = match (&line.entry, &line.mark) {
        (Some(Entry::Message(verdict)), _) => (
            direction(verdict),
            verdict.ruling.as_str(),
            describe_verdict(verdict),
        ),
        (Some(entry), _) => ("-", entry.kind(), describe_entry(entry)),
        (None, mark) => (
            "-",
            line.kind.as_str(),
            mark.as_ref().map(describe_mark).unwrap_or_default(),
        ),
    };
    let described = format!("{time}  {direction:<3} {:<8}  {rest}", printable(what));
    described.trim_end().to_owned()
}

fn direction(verdict: &Verdict) -> &'static str {
    if verdict.direction == Direction::In {
        "in"
    } else {
        "out"
    }
}

fn describe_verdict(verdict: &Verdict) -> String {
    let message = verdict.message();
    let (peer, method) = (peer_of(verdict), verdict.method());
    let peer = peer.as_ref().map_or("?", AgentId::as_str);
    // The method where it says more than the type does.
    let what = match method {
        Some(method) => method.as_str().trim_start_matches("agent."),
        None => message_type(verdict).map_or("?", MessageType::as_str),
    };
    let tier = verdict.tier();
    let tier = tier.map_or("t?".to_owned(), |tier| format!("t{tier}"));
    let mut out = format!("{what:<12}  {peer:<14}  {tier}");
    let quoted = |text: &str| format!("\"{}\"", printable(text));
    let refusal = message.and_then(|message| match &message.form {
        Form::Failure {
            reason, message, ..
        } => {
            let who = match verdict.direction {
                Direction::In => "the peer refuses",
                Direction::Out => "refuses",
            };
            Some(format!("{who}: {}  {}", printable(reason), quoted(message)))
        }
        _ => None,
    });
    let parts = [
        verdict.reason().map(|reason| reason.name().to_owned()),
        refusal,
        verdict.summary().map(quoted),
        message
            .is_some_and(|message| message.sealed.is_some())
            .then(|| SEALED.to_owned()),
        verdict.id().map(|id| id.to_string()),
    ];
    for part in parts.into_iter().flatten() {
        out.push_str("  ");
        out.push_str(&part);
    }
    out
}

/// What the message in a line carries, in clear, as one line of JSON that is safe to show; `None` where it
/// carries nothing, or nothing that is not sealed.
#[must_use]
pub fn body(line: &Line) -> Option<String> {
    let body = match line.entry.as_ref()? {
        Entry::Message(verdict) => verdict.message()?.body.as_ref(),
        Entry::Draft(draft) => draft.body(),
        _ => None,
    };
    let text = canonical(body?);
    Some(visible(&String::from_utf8_lossy(&text)).into_owned())
}

/// As much of what a message carries as fits into `most` characters, and how much more there is.
#[must_use]
pub fn glimpse(body: &str, most: usize) -> String {
    match body.char_indices().nth(most) {
        None => body.to_owned(),
        Some((end, _)) => {
            let (shown, rest) = body.split_at(end);
            let more = counted(rest.chars().count() as u64, "more character");
            format!("{shown}… ({more})")
        }
    }
}

/// Whether the row of a message says nothing of what it carries: it has no summary.
#[must_use]
pub fn is_without_words(line: &Line) -> bool {
    match &line.entry {
        Some(Entry::Message(verdict)) => verdict.summary().is_none(),
        _ => false,
    }
}

fn describe_entry(entry: &Entry) -> String {
    match entry {
        Entry::Message(verdict) => describe_verdict(verdict),
        Entry::Genesis(own) => format!(
            "{} of {}  {}",
            own.agent,
            own.principal,
            fingerprint(&own.root)
        ),
        Entry::Trust(change, certificate) => {
            let words = fingerprint(&certificate.root);
            let (agent, principal, serial) = (
                &certificate.agent,
                &certificate.principal,
                certificate.serial,
            );
            format!(
                "{:<12}  {agent:<14}  of {principal}, serial {serial}  {words}",
                change.as_str()
            )
        }
        Entry::Revoked(revocation) => format!(
            "{:<12}  {:<14}  of {}, serial {} and lower  \"{}\"",
            "revoked",
            revocation.agent,
            revocation.principal,
            revocation.serial,
            printable(&revocation.why)
        ),
        Entry::Approval(line) => format!(
            "{:<12}  {:<14}  by {}  {}",
            line.approval.decision.as_str(),
            line.peer,
            line.approval.principal,
            line.message_id
        ),
        Entry::Pause(statement) => format!(
            "{:<12}  by {}, number {}",
            if statement.paused {
                "paused"
            } else {
                "resumed"
            },
            statement.principal,
            statement.serial
        ),
        Entry::Draft(draft) => {
            let sealed = draft
                .sealed()
                .map_or(String::new(), |_| format!("  {SEALED}"));
            let (peer, id) = (&draft.peer, draft.message_id);
            format!(
                "{:<12}  {peer:<14}  for {} s{sealed}  {id}",
                "waits", draft.life
            )
        }
        Entry::Outcome(outcome) => {
            let (what, id) = (outcome.what.as_str(), outcome.message_id);
            let why = outcome.reason.as_deref().map(printable);
            let why = why.map_or(String::new(), |why| format!("  \"{why}\""));
            format!(
                "{what:<12}  {:<14}  try {}  {id}{why}",
                outcome.peer, outcome.tries
            )
        }
        Entry::Handoff(handoff) => describe_handoff(handoff),
        Entry::Clock {
            peer,
            difference_ms,
        } => format!(
            "{:<12}  {peer:<14}  {difference_ms} ms from this log's time",
            "clock"
        ),
        Entry::Alarm(alarm) => format!(
            "{:<12}  {:<14}  {}",
            if alarm.cleared { "cleared" } else { "rings" },
            alarm.peer,
            alarm.what.as_str()
        ),
        Entry::Hole(hole) => format!(
            "{:<12}  {:<14}  {} to {} never came",
            "missing", hole.peer, hole.from, hole.to
        ),
        Entry::Attempt(attempt) => describe_attempt(attempt),
        Entry::Flood(flood) => format!(
            "{} of strangers, {}, counted only",
            counted(flood.count, "input"),
            counted(flood.bytes, "byte")
        ),
        Entry::Loss { line, hash } => format!(
            "line {line} ({}) was lost, and that was accepted",
            hash.to_hex()
        ),
        Entry::Gap { cause } | Entry::Rebuilt { cause } => format!("\"{}\"", printable(cause)),
        // A kind that a later proto adds has at least its name.
        _ => String::new(),
    }
}

fn describe_attempt(line: &AttemptLine) -> String {
    if let Some(call) = &line.call {
        let (call, why) = (printable(call), printable(&line.reason));
        return format!(
            "{:<12}  {:<14}  {call}, tried {}  {why}",
            "forbidden",
            "a socket",
            counted(line.count, "time")
        );
    }
    let peer = line.peer.as_ref().map_or("several agents", AgentId::as_str);
    let what = match &line.tried {
        Some(tried) => {
            let asked = tried.capability.as_ref().map(|name| format!(", {name}"));
            let (kind, tier) = (tried.message_type.as_str(), tried.tier);
            format!("{kind}, tier {tier}{}", asked.unwrap_or_default())
        }
        None => format!("{}, counted only", counted(line.count, "attempt")),
    };
    let why = printable(&line.reason);
    format!("{:<12}  {peer:<14}  {what}  {why}", "not sent")
}

fn describe_handoff(line: &HandoffLine) -> String {
    let whose = match line.direction {
        Direction::In => "to us",
        Direction::Out => "by us",
    };
    let words = match &line.change {
        TaskChange::Offered(offered) => {
            let last = offered.chain.last();
            let (authority, steps) = (&last.authority, offered.chain.links().count());
            let goal = offered.goal.as_deref();
            let goal = goal.map(|goal| format!("  \"{}\"", printable(goal)));
            format!(
                "tier {}, depth {}, until {}, step {steps}{}",
                authority.tier,
                authority.depth,
                authority.not_after,
                goal.unwrap_or_default()
            )
        }
        TaskChange::Moved { reason, note, .. } => {
            let note = note
                .as_deref()
                .map(|note| format!("\"{}\"", printable(note)));
            let reason = reason
                .as_deref()
                .map(|reason| printable(reason).into_owned());
            let said: Vec<String> = [reason, note].into_iter().flatten().collect();
            said.join("  ")
        }
    };
    let (state, peer, task) = (line.state(), &line.peer, line.task);
    format!(
        "{:<12}  {peer:<14}  task {task} given {whose}  {words}",
        state.as_str()
    )
}

fn describe_mark(mark: &Mark) -> String {
    match mark {
        Mark::Open { previous, .. } => format!("after {}", printable(previous)),
        Mark::Close => "the month is over".to_owned(),
        Mark::Recovery { file, bytes, .. } => {
            format!(
                "{} set aside in {}",
                counted(*bytes, "torn byte"),
                printable(file)
            )
        }
    }
}

/// In the place of a summary that only `signet audit open` can show.
const SEALED: &str = "(sealed)";
