//! Lines for people: one readable line each, and which of them are wanted.

use std::str::FromStr;

use signet_proto::entry::{
    AttemptLine, Direction, Entry, Evidence, HandoffLine, Ruling, TaskChange, Verdict,
};
use signet_proto::envelope::Message;
use signet_proto::headers::MessageType;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::json::Value;
use signet_proto::keys::fingerprint;
use signet_proto::time::Timestamp;

use crate::escape::printable;
use crate::record::{Line, Mark};

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

/// Which lines are wanted; what is `None` is not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only lines about this agent.
    pub peer: Option<AgentId>,
    /// Only messages of this type.
    pub message_type: Option<MessageType>,
    /// Only messages with this verdict.
    pub verdict: Option<VerdictName>,
    /// Only lines of this moment and later.
    pub since: Option<Timestamp>,
    /// Only lines earlier than this moment.
    pub until: Option<Timestamp>,
}

/// The verdicts, without their reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictName {
    /// Taken.
    Accepted,
    /// Refused.
    Rejected,
    /// Ours.
    Sent,
}

/// The text names no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a verdict; use accepted, rejected or sent")]
pub struct UnknownVerdict;

impl Filter {
    /// Whether the line is wanted.
    #[must_use]
    pub fn admits(&self, line: &Line) -> bool {
        let verdict = match &line.entry {
            Some(Entry::Message(verdict)) => Some(verdict),
            _ => None,
        };
        let seen = verdict.map(Seen::of);
        let kind = seen.as_ref().and_then(|seen| seen.message_type);
        self.since.is_none_or(|since| since <= line.ts)
            && self.until.is_none_or(|until| line.ts < until)
            && self.peer.is_none_or_same(peer(line).as_ref())
            && self.message_type.is_none_or_same(kind.as_ref())
            && self.verdict.is_none_or_same(
                verdict
                    .map(|verdict| VerdictName::of(verdict.ruling))
                    .as_ref(),
            )
    }
}

impl VerdictName {
    fn of(ruling: Ruling) -> Self {
        match ruling {
            Ruling::Accepted => Self::Accepted,
            Ruling::Rejected(_) => Self::Rejected,
            Ruling::Sent => Self::Sent,
        }
    }
}

impl FromStr for VerdictName {
    type Err = UnknownVerdict;

    fn from_str(text: &str) -> Result<Self, UnknownVerdict> {
        match text {
            "accepted" => Ok(Self::Accepted),
            "rejected" => Ok(Self::Rejected),
            "sent" => Ok(Self::Sent),
            _ => Err(UnknownVerdict),
        }
    }
}

/// "Not asked for, or the very same".
trait Wanted<T> {
    fn is_none_or_same(&self, found: Option<&T>) -> bool;
}

impl<T: PartialEq> Wanted<T> for Option<T> {
    fn is_none_or_same(&self, found: Option<&T>) -> bool {
        self.is_none() || self.as_ref() == found
    }
}

/// Whom a line is about.
pub(crate) fn peer(line: &Line) -> Option<AgentId> {
    match line.entry.as_ref()? {
        Entry::Message(verdict) => Seen::of(verdict).peer,
        Entry::Trust(_, certificate) => Some(certificate.agent.clone()),
        Entry::Draft(draft) => Some(draft.peer.clone()),
        Entry::Revoked(revocation) => Some(revocation.agent.clone()),
        Entry::Approval(line) => Some(line.peer.clone()),
        Entry::Outcome(outcome) => Some(outcome.peer.clone()),
        Entry::Handoff(handoff) => Some(handoff.peer.clone()),
        Entry::Clock { peer, .. } => Some(peer.clone()),
        Entry::Alarm(alarm) => Some(alarm.peer.clone()),
        Entry::Hole(hole) => Some(hole.peer.clone()),
        Entry::Attempt(attempt) => attempt.peer.clone(),
        _ => None,
    }
}

/// What a line shows of a message: proven or, for unproven input, claimed.
#[derive(Default)]
struct Seen<'a> {
    peer: Option<AgentId>,
    message_type: Option<MessageType>,
    method: Option<&'a str>,
    tier: Option<u8>,
    summary: Option<&'a str>,
    sealed: bool,
    id: Option<MessageId>,
}

impl<'a> Seen<'a> {
    fn of(verdict: &'a Verdict) -> Self {
        match &verdict.evidence {
            Evidence::Whole(message) | Evidence::Headers(message) => {
                Self::of_message(message, verdict.direction)
            }
            Evidence::Withheld(headers, _) => {
                let text = |name: &str| headers.get(name).and_then(Value::as_str);
                let tier = headers.get("data-tier").and_then(Value::as_u64);
                Self {
                    peer: text("agent-id").and_then(|id| id.parse().ok()),
                    message_type: text("message-type").and_then(|kind| kind.parse().ok()),
                    tier: tier.and_then(|tier| u8::try_from(tier).ok()),
                    id: text("message-id").and_then(|id| id.parse().ok()),
                    ..Self::default()
                }
            }
            Evidence::Copy(claimed) | Evidence::Raw(_, claimed) => Self {
                peer: claimed.agent.clone(),
                message_type: claimed.message_type,
                ..Self::default()
            },
        }
    }

    fn of_message(message: &'a Message, direction: Direction) -> Self {
        let headers = &message.headers;
        let peer = if direction == Direction::In {
            &headers.agent_id
        } else {
            &headers.recipient_id
        };
        let method = message
            .form
            .method()
            .map(|method| method.as_str().trim_start_matches("agent."));
        Self {
            peer: Some(peer.clone()),
            message_type: Some(headers.message_type),
            method,
            tier: Some(headers.data_tier),
            summary: message.summary.as_deref().filter(|_| headers.data_tier < 3),
            sealed: message.sealed.is_some(),
            id: Some(headers.message_id),
        }
    }

    /// The method where it says more than the type does.
    fn type_name(&self) -> &str {
        self.method
            .or(self.message_type.map(MessageType::as_str))
            .unwrap_or("?")
    }
}

fn direction(verdict: &Verdict) -> &'static str {
    if verdict.direction == Direction::In {
        "in"
    } else {
        "out"
    }
}

fn describe_verdict(verdict: &Verdict) -> String {
    let seen = Seen::of(verdict);
    let peer = seen.peer.as_ref().map_or("?", AgentId::as_str);
    let tier = seen.tier.map_or("t?".to_owned(), |tier| format!("t{tier}"));
    let mut out = format!("{:<12}  {peer:<14}  {tier}", seen.type_name());
    let reason = verdict.reason().map(|reason| reason.name().to_owned());
    let summary = seen
        .summary
        .map(|summary| format!("\"{}\"", printable(summary)));
    let sealed = seen.sealed.then(|| SEALED.to_owned());
    for part in [reason, summary, sealed, seen.id.as_ref().map(brief)]
        .into_iter()
        .flatten()
    {
        out.push_str("  ");
        out.push_str(&part);
    }
    out
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
            brief(&line.message_id)
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
            let (peer, id) = (&draft.peer, brief(&draft.message_id));
            format!(
                "{:<12}  {peer:<14}  for {} s{sealed}  {id}",
                "waits", draft.life
            )
        }
        Entry::Outcome(outcome) => {
            let (what, id) = (outcome.what.as_str(), brief(&outcome.message_id));
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
            "{:<12}  {peer:<14}  {difference_ms} ms from ours",
            "differs"
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
            "{} inputs of strangers, {} bytes, counted only",
            flood.count, flood.bytes
        ),
        Entry::Gap { cause } | Entry::Rebuilt { cause } => format!("\"{}\"", printable(cause)),
        // A kind that a later proto adds has at least its name.
        _ => String::new(),
    }
}

fn describe_attempt(line: &AttemptLine) -> String {
    let peer = line.peer.as_ref().map_or("several agents", AgentId::as_str);
    let what = match &line.tried {
        Some(tried) => {
            let asked = tried.capability.as_ref().map(|name| format!(", {name}"));
            let (kind, tier) = (tried.message_type.as_str(), tried.tier);
            format!("{kind}, tier {tier}{}", asked.unwrap_or_default())
        }
        None => format!("{} attempts, counted only", line.count),
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
    let (state, peer, task) = (line.state(), &line.peer, brief(&line.task));
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
            format!("{bytes} torn bytes set aside in {}", printable(file))
        }
    }
}

fn brief(id: &MessageId) -> String {
    let id = id.to_string();
    format!("{}…", id.get(..8).unwrap_or_default())
}

/// In the place of a summary that only `signet audit open` can show.
const SEALED: &str = "(sealed)";
