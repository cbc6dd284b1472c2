//! A log line as a person who hunts a fault would want to read it.

use signet_proto::entry::{ClockLine, Direction, Entry, Verdict};
use signet_proto::envelope::{Form, Method};
use signet_proto::node::{At, Effect, Node};

use crate::household::START;

/// Both know the same. How long a half-open handshake goes on is bent when a clock is set back.
pub fn same_rows(live: &Node, again: &Node, now: At) {
    let rows = |node: &Node| node.snapshot(now.now).rows();
    let differ = signet_proto::node::differences(&rows(live), &rows(again));
    assert!(differ.is_empty(), "rows differ: {differ:#?}");
}

pub fn line(entry: &Entry) -> String {
    match entry {
        Entry::Message(verdict) => message(verdict),
        Entry::Draft(draft) => format!(
            "draft {} for {}",
            short(&draft.message_id.to_string()),
            draft.peer
        ),
        Entry::Outcome(line) => format!(
            "{} {}",
            line.what.as_str(),
            short(&line.message_id.to_string())
        ),
        Entry::Trust(line) => format!("{:?} {}", line.change, line.certificate.agent),
        Entry::Clock(ClockLine {
            peer,
            difference_ms,
        }) => format!("clock of {peer} {difference_ms} ms off"),
        other => other.kind().to_owned(),
    }
}

fn message(verdict: &Verdict) -> String {
    let way = match verdict.direction {
        Direction::In => "<-",
        Direction::Out => "->",
    };
    let ruling = match verdict.reason() {
        Some(reason) => reason.name(),
        None => verdict.ruling.as_str(),
    };
    let Some(message) = verdict.message() else {
        return format!("{way} {ruling} {}", short(&verdict.hash.to_hex()));
    };
    let headers = &message.headers;
    let form = match &message.form {
        Form::Call(method) => format!("{method:?}"),
        Form::Success => "Success".to_owned(),
        Form::Failure { reason, .. } => format!("Failure({reason})"),
    };
    let peer = match verdict.direction {
        Direction::In => &headers.agent_id,
        Direction::Out => &headers.recipient_id,
    };
    let session = headers.session.map(|id| short(&id.to_string()));
    let body = match message.form {
        Form::Call(Method::Receipt) => message.body().map(ToString::to_string),
        _ => None,
    };
    format!(
        "{way} {peer} {ruling} {form} {} #{} of {} at {} {}",
        short(&headers.message_id.to_string()),
        headers.sequence.unwrap_or_default(),
        session.unwrap_or_default(),
        headers.timestamp.as_millis() - START,
        body.unwrap_or_default(),
    )
}

/// The end of a name tells more than its beginning.
pub fn short(name: &str) -> String {
    name.chars().skip(name.len().saturating_sub(6)).collect()
}

pub fn effect(effect: &Effect) -> Option<String> {
    match effect {
        Effect::Settle {
            message_id, state, ..
        } => Some(format!(
            "settles {} {state:?}",
            short(&message_id.to_string())
        )),
        Effect::Notice(notice) => Some(format!("notice {notice:?}")),
        Effect::Answer(answer) => Some(format!(
            "answer {}",
            short(&answer.message().headers.message_id.to_string())
        )),
        Effect::Deliver(taken) => Some(format!(
            "delivers {}",
            short(&taken.message().headers.message_id.to_string())
        )),
        _ => None,
    }
}
