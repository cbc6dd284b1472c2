//! Exchanges, and what came of each: a request and its answer, a task and its end, a word that wants no answer.

use std::collections::HashMap;

use signet_audit::{LogLine, body};
use signet_json::canonical;
use signet_proto::entry::{Did, Direction, HandoffLine, OutcomeLine, Ruling, TaskChange, Verdict};
use signet_proto::envelope::{Class, Form, Message, Method};
use signet_proto::handoff::{Report, TaskId, TaskState};
use signet_proto::ids::{AgentId, MessageId, SessionId};
use signet_proto::policy::is_mere_ping;
use signet_proto::receipt::{MISSING, Receipt};
use signet_proto::time::Timestamp;

/// The content of a message, as much of it as a digest shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SaidText {
    /// Sealed: only a key opens it.
    Sealed,
    /// The first characters of its summary, or of what it carries in clear.
    Words(String),
    /// Nothing.
    Nothing,
}

/// The wish of somebody who sends a message to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WantedOf {
    Answer,
    Nothing,
    Task,
}

/// The end of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CameOf {
    Answered(SaidText),
    /// The reason's name, and the words with it.
    Refused(String, SaidText),
    /// The task is there, with the holder's note.
    Task(TaskState, SaidText),
    /// It was handled without success, put into quarantine, or given up.
    Handled(Did),
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) at: Timestamp,
    pub(super) peer: AgentId,
    /// Whether the log's own agent began it.
    pub(super) is_ours: bool,
    pub(super) wanted: WantedOf,
    pub(super) said: SaidText,
    /// When it can no longer be answered, as its message says.
    pub(super) expires: Option<Timestamp>,
    pub(super) came_of: Option<(Timestamp, CameOf)>,
}

/// All of a log, each found by the names that later lines give to it.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    pub(super) all: Vec<Exchange>,
    by_message: HashMap<(AgentId, MessageId), usize>,
    by_task: HashMap<(AgentId, TaskId), usize>,
    by_number: HashMap<(SessionId, u64), usize>,
}

impl SaidText {
    /// The words of a message.
    pub(super) fn of(message: &Message, line: &LogLine) -> Self {
        match (&message.summary, &message.form) {
            _ if message.sealed.is_some() || message.headers.data_tier.is_sealed() => Self::Sealed,
            (Some(summary), _) => Self::words(summary),
            (None, Form::Failure { message, .. }) => Self::words(message),
            (None, _) => body(line).map_or(Self::Nothing, |body| Self::words(&body)),
        }
    }

    /// A text's first characters; nothing of an empty one.
    pub(super) fn words(text: &str) -> Self {
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        match shown.trim().is_empty() {
            true => Self::Nothing,
            false => Self::Words(shown),
        }
    }

    /// Words that may be absent.
    pub(super) fn maybe(text: Option<&str>) -> Self {
        text.map_or(Self::Nothing, Self::words)
    }
}

impl Exchanges {
    /// Takes a message that was accepted or sent.
    pub(super) fn take(&mut self, verdict: &Verdict, line: &LogLine) {
        let Some(message) = verdict.message() else {
            return;
        };
        let Some(peer) = verdict.peer() else { return };
        let is_ours = verdict.ruling == Ruling::Sent;
        let headers = &message.headers;
        match &message.form {
            Form::Call(Method::Receipt) if !is_ours => self.take_receipt(message, line.ts),
            Form::Call(Method::Request) => {
                self.begin(message, peer, is_ours, WantedOf::Answer, line);
            }
            Form::Call(Method::Notification) => {
                self.begin(message, peer, is_ours, WantedOf::Nothing, line);
            }
            Form::Success | Form::Failure { .. } => {
                let answered = headers.in_reply_to.map(|id| (peer, id));
                let came_of = match &message.form {
                    Form::Failure { reason, .. } => {
                        CameOf::Refused(clipped(reason), SaidText::of(message, line))
                    }
                    _ => CameOf::Answered(SaidText::of(message, line)),
                };
                let found = answered.and_then(|name| self.by_message.get(&name));
                self.end(found.copied(), line.ts, came_of);
            }
            // The line of the task says what a handoff and its reports say, also of those that are sealed.
            Form::Call(_) => {}
        }
    }

    fn begin(
        &mut self,
        message: &Message,
        peer: AgentId,
        is_ours: bool,
        wanted: WantedOf,
        line: &LogLine,
    ) {
        if is_mere_ping(message) || self.is_report(message, &peer) {
            return;
        }
        let headers = &message.headers;
        let index = self.all.len();
        self.by_message
            .insert((peer.clone(), headers.message_id), index);
        if let (true, Some(name)) = (is_ours, headers.session.zip(headers.sequence)) {
            self.by_number.insert(name, index);
        }
        self.all.push(Exchange {
            at: line.ts,
            peer,
            is_ours,
            wanted,
            said: SaidText::of(message, line),
            expires: Some(headers.expires_at),
            came_of: None,
        });
    }

    /// Whether a notification is the report of a task that is told already, and says nothing besides. The result of the task is told
    /// with its end.
    fn is_report(&mut self, message: &Message, peer: &AgentId) -> bool {
        let body = message.body().filter(|_| message.summary.is_none());
        let report = body.and_then(|body| Report::parse(body).ok());
        let Some(report) = report else { return false };
        let found = self.by_task.get(&(peer.clone(), report.task)).copied();
        let Some(exchange) = found.and_then(|index| self.all.get_mut(index)) else {
            return false;
        };
        if let (Some((_, CameOf::Task(state, said))), Some(result)) =
            (&mut exchange.came_of, &report.result)
            && *state == report.state
            && *said == SaidText::Nothing
        {
            *said = SaidText::words(&String::from_utf8_lossy(&canonical(result)));
        }
        true
    }

    /// A receipt names what was refused; of a request its answer says so, too.
    fn take_receipt(&mut self, message: &Message, at: Timestamp) {
        let receipt = message.body().and_then(Receipt::parse);
        let (Some(receipt), Some(session)) = (receipt, message.headers.session) else {
            return;
        };
        for (number, exception) in receipt.except {
            if exception.reason != MISSING {
                let found = self.by_number.get(&(session, number)).copied();
                let came_of = CameOf::Refused(clipped(&exception.reason), SaidText::Nothing);
                self.end(found, at, came_of);
            }
        }
    }

    /// Takes a change of a task.
    pub(super) fn take_task(&mut self, line: &HandoffLine, at: Timestamp) {
        let name = (line.peer.clone(), line.task);
        match &line.change {
            TaskChange::Offered(offered) => {
                let said = match (&offered.goal, offered.tier) {
                    (Some(goal), _) => SaidText::words(goal),
                    (None, 3..) => SaidText::Sealed,
                    (None, _) => SaidText::Nothing,
                };
                self.by_task.insert(name, self.all.len());
                self.by_message
                    .insert((line.peer.clone(), line.message_id), self.all.len());
                self.all.push(Exchange {
                    at,
                    peer: line.peer.clone(),
                    is_ours: line.direction == Direction::Out,
                    wanted: WantedOf::Task,
                    said,
                    expires: None,
                    came_of: None,
                });
            }
            TaskChange::Moved { to, note, .. } => {
                let found = self.by_task.get(&name).copied();
                let exchange = found.and_then(|index| self.all.get_mut(index));
                if let Some(exchange) = exchange {
                    exchange.came_of =
                        Some((at, CameOf::Task(*to, SaidText::maybe(note.as_deref()))));
                }
            }
        }
    }

    /// Takes what became of a message that arrived, where it did not go as it should.
    pub(super) fn take_outcome(&mut self, line: &OutcomeLine, at: Timestamp) {
        if !matches!(
            line.what,
            Did::SetAside | Did::Dropped | Did::AnswerFailed | Did::Expired
        ) {
            return;
        }
        let name = (line.peer.clone(), line.message_id);
        let found = self.by_message.get(&name).copied();
        self.end(found, at, CameOf::Handled(line.what));
    }

    /// The first end counts: a receipt says the same again and again. A task's end is told by its own lines.
    fn end(&mut self, found: Option<usize>, at: Timestamp, came_of: CameOf) {
        let Some(exchange) = found.and_then(|index| self.all.get_mut(index)) else {
            return;
        };
        if exchange.came_of.is_none() && exchange.wanted != WantedOf::Task {
            exchange.came_of = Some((at, came_of));
        }
    }
}

impl Exchange {
    /// Whether something is still wanted of somebody at `end`.
    pub(super) fn is_open(&self, end: Timestamp) -> bool {
        match (&self.wanted, &self.came_of) {
            (WantedOf::Nothing, _) => false,
            (WantedOf::Answer, came_of) => {
                came_of.is_none() && self.expires.is_none_or(|expires| end < expires)
            }
            (WantedOf::Task, None) => true,
            (WantedOf::Task, Some((_, CameOf::Task(state, _)))) => state.is_open(),
            (WantedOf::Task, Some(_)) => false,
        }
    }
}

/// Whether a message is somebody's word, and not the protocol's.
pub(super) fn is_talk(message: &Message) -> bool {
    message.form.class() == Class::Application && !is_mere_ping(message)
}

/// A name of a reason, which a peer may have made up.
pub(super) fn clipped(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// Characters that are shown of what somebody said.
const SHOWN: usize = 90;
/// Characters of a reason's name. Those of the protocol have fewer.
const LONGEST_NAME: usize = 40;
