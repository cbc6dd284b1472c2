//! What our own agent tried and we refused, for its person: a line each, as long as there are few.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::draft::Draft;
use crate::entry::{AttemptLine, Entry, Tried};
use crate::headers::MessageType;
use crate::ids::AgentId;
use crate::policy::PING;
use crate::time::Timestamp;

use crate::node::Outcome;
use crate::node::turn::MeDoor;
use crate::node::{LocalError, Sending};

/// So many lines a minute tell of one attempt each; the rest is counted.
const LINES: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);
/// How many pairs of peer and reason are counted apart.
const PAIRS: usize = 64;

/// Not lasting: a restart forgets what was counted and not yet written.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// When the minute began, and how many lines it has.
    minute: Option<(Timestamp, u32)>,
    pending: Vec<AttemptLine>,
    counted: BTreeMap<Alike, u64>,
}

/// Attempts alike: for whom, why refused, and by which call where it was no message.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alike {
    peer: Option<AgentId>,
    reason: &'static str,
    call: Option<&'static str>,
}

impl Attempts {
    fn note(&mut self, now: Timestamp, mut alike: Alike, tried: Option<Tried>) {
        let minute = self
            .minute
            .filter(|(begun, _)| now.is_within(MINUTE, *begun));
        let (begun, lines) = minute.unwrap_or((now, 0));
        if lines < LINES {
            self.minute = Some((begun, lines + 1));
            self.pending.push(alike.line(1, tried));
            return;
        }
        let apart = self.counted.contains_key(&alike) || self.counted.len() < PAIRS;
        // An agent can name ever more peers and calls: beyond the limit, count by the reason alone, so that the table does not
        // grow.
        if !apart {
            (alike.peer, alike.call) = (None, None);
        }
        *self.counted.entry(alike).or_default() += 1;
    }

    /// When the next lines are due.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let (begun, _) = self.minute?;
        match (self.pending.is_empty(), self.counted.is_empty()) {
            (true, true) => None,
            (false, _) => Some(begun),
            (true, false) => Some(begun.saturating_add(MINUTE)),
        }
    }

    /// The lines that are due; at a stop, all.
    pub(super) fn take(&mut self, now: Option<Timestamp>) -> Vec<AttemptLine> {
        let mut lines = std::mem::take(&mut self.pending);
        let going_on = |begun: Timestamp| now.is_some_and(|now| now.is_within(MINUTE, begun));
        if self.minute.is_some_and(|(begun, _)| going_on(begun)) {
            return lines;
        }
        let counted = std::mem::take(&mut self.counted);
        let counted = counted.into_iter();
        lines.extend(counted.map(|(alike, count)| alike.line(count, None)));
        lines
    }
}

impl Alike {
    fn line(self, count: u64, tried: Option<Tried>) -> AttemptLine {
        AttemptLine {
            peer: self.peer,
            reason: self.reason.to_owned(),
            count,
            tried,
            call: self.call.map(str::to_owned),
        }
    }
}

impl MeDoor<'_, '_> {
    /// The lines of what our agent tried and was refused since. To be written when a call of its own has
    /// failed; what was only counted comes with [`crate::node::Turn::handle_timeout`].
    pub fn refused_attempts(&mut self) -> Outcome {
        self.write_attempts();
        self.turn.take()
    }

    /// Notes that a caller of a socket asked for what callers of that socket may not: `call` names what.
    pub fn note_forbidden(&mut self, call: &'static str, reason: &'static str) {
        let (peer, call) = (None, Some(call));
        let alike = Alike { peer, reason, call };
        let now = self.turn.at.now;
        self.turn.node.me.attempts.note(now, alike, None);
    }

    pub(in crate::node) fn write_attempts(&mut self) {
        for line in self.turn.node.me.attempts.take(Some(self.turn.at.now)) {
            self.turn.write(Entry::Attempt(line));
        }
    }

    /// Notes what our agent tried, when its own rules refuse it. What is malformed, unknown or has no room
    /// is nobody's transgression.
    pub(in crate::node) fn note_attempt<T>(
        &mut self,
        peer: &AgentId,
        tried: Tried,
        done: Result<T, LocalError>,
    ) -> Result<T, LocalError> {
        if let Some(error) = done.as_ref().err().filter(|error| error.is_a_refusal()) {
            let (peer, reason, call) = (Some(peer.clone()), error.name(), None);
            let alike = Alike { peer, reason, call };
            let now = self.turn.at.now;
            self.turn.node.me.attempts.note(now, alike, Some(tried));
        }
        done
    }
}

impl Tried {
    /// What a draft says of itself.
    pub(in crate::node) fn of(draft: &Draft) -> Self {
        Self {
            message_type: draft.form.message_type(),
            tier: draft.data_tier.number(),
            capability: draft.capability.clone(),
            conversation: draft.conversation_id.clone(),
        }
    }

    /// What our agent asks for, before there is a draft.
    pub(in crate::node) fn to_send(sending: &Sending) -> Self {
        let (message_type, content) = match sending {
            Sending::Request(content) => (MessageType::Request, Some(content)),
            Sending::Notification(content) => (MessageType::Notification, Some(content)),
            Sending::Ping => (MessageType::Request, None),
            Sending::Handoff(handing) => {
                return Self {
                    message_type: MessageType::Handoff,
                    tier: handing.data_tier.unwrap_or_default().number(),
                    capability: None,
                    conversation: handing
                        .parent
                        .and_then(|task| task.to_string().parse().ok()),
                };
            }
        };
        let ping = || PING.parse().ok();
        let tier = content.and_then(|content| content.data_tier);
        Self {
            message_type,
            tier: tier.unwrap_or_default().number(),
            capability: content.map_or_else(ping, |content| content.capability.clone()),
            conversation: content.and_then(|content| content.conversation_id.clone()),
        }
    }
}
