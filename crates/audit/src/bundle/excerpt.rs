//! Which lines a proof of something said needs: the messages, the receipts of them, and what their person decided.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use signet_proto::entry::{Direction, Entry, Verdict};
use signet_proto::envelope::{Message, Method};
use signet_proto::headers::ConversationId;
use signet_proto::ids::{AgentId, MessageId, SessionId};
use signet_proto::time::Timestamp;

use super::{ExportError, Span};
use crate::error::LogError;
use crate::filter::about;
use crate::read::read_file;
use crate::record::LogLine;
use crate::verify::log_files;

/// The messages that are to be proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExcerptSubject {
    /// One message, and what answers it.
    Message(MessageId),
    /// Everything in one conversation, or for one task.
    Conversation(ConversationId),
    /// Everything in a span of time.
    Everything,
}

/// The lines of a log that prove something.
#[derive(Clone, Debug)]
pub struct LogExcerpt {
    /// With whom it was said, and when.
    pub span: Span,
    /// The numbers of the lines; without them, every line about the peer in the span.
    pub(super) lines: Option<BTreeSet<u64>>,
    /// The numbers of the drafts that asked for approval, and of the approvals.
    pub(super) decisions: BTreeSet<u64>,
}

impl LogExcerpt {
    /// Everything about a peer in a span, without what its person decided.
    pub(super) fn plain(span: &Span) -> Self {
        Self {
            span: span.clone(),
            lines: None,
            decisions: BTreeSet::new(),
        }
    }

    /// Finds the lines that prove `proven` in the log at `path`, within a span from one moment up to before another, if one is
    /// given. Reads the log twice: drafts stand before what they became, receipts behind it.
    ///
    /// # Errors
    /// When the log cannot be read, when nothing in it is about that, or when several peers are and none is named.
    pub fn find(
        path: &Path,
        proven: &ExcerptSubject,
        peer: Option<&AgentId>,
        within: Option<(Timestamp, Timestamp)>,
    ) -> Result<Self, ExportError> {
        let files = log_files(path)?;
        let each = |take: &mut dyn FnMut(&LogLine)| -> Result<(), LogError> {
            for file in &files {
                for line in read_file(file)? {
                    take(&line?);
                }
            }
            Ok(())
        };
        let mut wanted = ExcerptLines::default();
        each(&mut |line| {
            let is_within = within.is_none_or(|(from, to)| (from..to).contains(&line.ts));
            if is_within && peer.is_none_or(|peer| about(line).peer.as_ref() == Some(peer)) {
                wanted.take(line, proven);
            }
        })?;
        let mut peers = std::mem::take(&mut wanted.peers).into_iter();
        let peer = match (peers.next(), peers.next()) {
            (None, _) => return Err(ExportError::Unknown),
            (Some(only), None) => only,
            (Some(one), Some(other)) => {
                let all = [one, other].into_iter().chain(peers).collect();
                return Err(ExportError::SeveralPeers(all));
            }
        };
        each(&mut |line| wanted.take_evidence(line))?;
        wanted
            .excerpt(peer, proven, within)
            .ok_or(ExportError::Unknown)
    }
}

#[derive(Default)]
struct ExcerptLines {
    peers: BTreeSet<AgentId>,
    lines: BTreeSet<u64>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    /// Messages of the log's own agent, of which drafts and approvals may stand in it.
    sent: BTreeSet<MessageId>,
    /// Messages whose receipt is looked for: their session, who sent them, and their number.
    numbered: BTreeMap<(SessionId, bool), BTreeSet<u64>>,
    decisions: BTreeSet<u64>,
}

impl ExcerptLines {
    fn take(&mut self, line: &LogLine, proven: &ExcerptSubject) {
        if !matches!(&line.entry, Some(Entry::Message(_) | Entry::Handoff(_))) {
            return;
        }
        let subject = about(line);
        let is_wanted = match proven {
            ExcerptSubject::Message(id) => subject.messages.contains(&Some(*id)),
            ExcerptSubject::Conversation(id) => subject.conversation.as_ref() == Some(id),
            ExcerptSubject::Everything => true,
        };
        let Some(peer) = subject.peer.filter(|_| is_wanted) else {
            return;
        };
        self.peers.insert(peer);
        self.keep(line);
        if let Some(Entry::Message(verdict)) = &line.entry
            && let Some(message) = verdict.message()
        {
            self.expect(verdict, message);
        }
    }

    fn keep(&mut self, line: &LogLine) {
        self.lines.insert(line.seq);
        self.first = Some(self.first.map_or(line.ts, |first| first.min(line.ts)));
        self.last = Some(self.last.map_or(line.ts, |last| last.max(line.ts)));
    }

    fn expect(&mut self, verdict: &Verdict, message: &Message) {
        let headers = &message.headers;
        let is_ours = verdict.direction == Direction::Out;
        if is_ours {
            self.sent.insert(headers.message_id);
        }
        if let (Some(session), Some(number)) = (headers.session, headers.sequence) {
            let numbers = self.numbered.entry((session, is_ours)).or_default();
            numbers.insert(number);
        }
    }

    /// Takes the first receipt that reaches each message, and what a person decided about one.
    fn take_evidence(&mut self, line: &LogLine) {
        match &line.entry {
            Some(Entry::Draft(draft))
                if draft.approve.is_some() && self.sent.contains(&draft.message_id) =>
            {
                self.decisions.insert(line.seq);
            }
            Some(Entry::Approval(approval)) if self.sent.contains(&approval.message_id) => {
                self.decisions.insert(line.seq);
            }
            Some(Entry::Message(verdict)) => {
                let message = verdict.message().filter(|message| is_receipt(message));
                if message.is_some_and(|message| self.reaches(verdict, message)) {
                    self.keep(line);
                }
            }
            _ => {}
        }
    }

    fn reaches(&mut self, verdict: &Verdict, receipt: &Message) -> bool {
        let is_theirs = verdict.direction == Direction::In;
        let through = receipt
            .body()
            .and_then(|body| body.get("through")?.as_u64());
        let (Some(session), Some(through)) = (receipt.headers.session, through) else {
            return false;
        };
        let Some(numbers) = self.numbered.get_mut(&(session, is_theirs)) else {
            return false;
        };
        let before = numbers.len();
        numbers.retain(|number| *number > through);
        numbers.len() < before
    }

    fn excerpt(
        self,
        peer: AgentId,
        proven: &ExcerptSubject,
        within: Option<(Timestamp, Timestamp)>,
    ) -> Option<LogExcerpt> {
        let is_all = *proven == ExcerptSubject::Everything;
        // A bundle names the span that its lines are from. Name the span that was asked for only if everything in it is
        // proven; else name the time from the first to the last line: a longer span would say that nothing else was
        // said in it.
        let (from, to) = match within.filter(|_| is_all) {
            Some(within) => within,
            None => (
                self.first?,
                self.last?.saturating_add(Duration::from_millis(1)),
            ),
        };
        Some(LogExcerpt {
            span: Span { peer, from, to },
            lines: (!is_all).then_some(self.lines),
            decisions: self.decisions,
        })
    }
}

fn is_receipt(message: &Message) -> bool {
    message.form.method() == Some(Method::Receipt)
}
