//! `carrier.transparency`: what agents said to each other, as far as it may be shown, out of the log. What was
//! sealed stays sealed: its envelope is shown as it travelled.
//!
//! The log is read beside the event loop, by one call at a time, and from where the call before ended.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use signet_api::{Transparency, Transparent};
use signet_audit::{Head, LogError, LogLine, LogLines, log_files, read_file};
use signet_proto::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use signet_proto::envelope::{Class, Message};
use signet_proto::ids::{AgentId, encode_base64url};
use signet_proto::trust::{KnownPeer, TrustView};
use tokio::sync::watch;

use super::send;
use crate::control::ReplySender;
use crate::daemon::calls::serve::unreadable;
use crate::reach::Reach;

/// Where the reading of the log stands.
#[derive(Clone, Default)]
pub(in crate::daemon) struct TransparencyReader(Arc<Mutex<Option<LogCursor>>>);

struct LogCursor {
    /// The last line that was read.
    line: u64,
    file: PathBuf,
    lines: LogLines,
}

/// What one caller may see of the conversations, and the names that it knows people by.
pub(in crate::daemon) struct TransparencyView {
    pub(in crate::daemon) reach: Arc<Reach>,
    pub(in crate::daemon) trust: TrustView,
    pub(in crate::daemon) log: PathBuf,
}

impl TransparencyReader {
    /// Answers with what stands behind line `after`, or comes within `wait`; `None` stands for the log's end.
    pub(in crate::daemon) fn follow(
        &self,
        sight: TransparencyView,
        after: Option<u64>,
        limit: usize,
        wait: Duration,
        mut head: watch::Receiver<Option<Head>>,
        reply: ReplySender,
    ) {
        let end = head.borrow_and_update().as_ref().map_or(0, |head| head.seq);
        let after = after.unwrap_or(end);
        let limit = limit.clamp(1, MOST);
        let reader = self.clone();
        let until = tokio::time::Instant::now() + wait;
        tokio::spawn(async move {
            let sight = Arc::new(sight);
            let mut after = after;
            loop {
                let (reader, seen) = (reader.clone(), Arc::clone(&sight));
                let newest = head.borrow().as_ref().map_or(0, |head| head.seq);
                let read = move || reader.read(&seen, after, newest, limit);
                let read = tokio::task::spawn_blocking(read).await;
                let read = read.map_err(|_| "reading was broken off".to_owned());
                let read = match read.and_then(|read| read.map_err(|error| error.to_string())) {
                    Ok(read) => read,
                    Err(why) => return send(reply, Err::<(), _>(unreadable(&why))),
                };
                let is_over = !read.messages.is_empty() || reply.is_closed();
                after = read.through;
                let more = head.wait_for(|head| head.as_ref().is_some_and(|head| head.seq > after));
                let waited = async { tokio::time::timeout_at(until, more).await };
                if is_over || !matches!(waited.await, Ok(Ok(_))) {
                    return send(reply, Ok(read));
                }
            }
        });
    }

    /// What stands behind line `after`, up to `newest`, the newest durable line: what is written and not durable yet may
    /// never have been said.
    fn read(
        &self,
        sight: &TransparencyView,
        after: u64,
        newest: u64,
        limit: usize,
    ) -> Result<Transparency, LogError> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Take the kept cursor out of `place`: if reading fails, no wrong cursor is left there, and the next call looks for
        // the right place in the log anew.
        let mut at = match place.take().filter(|place| place.line == after) {
            Some(place) => Some(place),
            None => LogCursor::before(&sight.log, after)?,
        };
        let mut read = Transparency {
            messages: Vec::new(),
            through: after,
        };
        let (until, mut bytes) = (Instant::now() + PATIENCE, 0);
        while let Some(open) = at.as_mut().filter(|open| open.line.max(after) < newest) {
            let Some(line) = open.lines.next() else {
                match LogCursor::after(&sight.log, &open.file, open.line)? {
                    Some(next) => at = Some(next),
                    None => break,
                }
                continue;
            };
            let line = line?;
            // Move the cursor on before the line is checked: a line that is not shown counts as read too.
            open.line = line.seq;
            if line.seq <= after {
                continue;
            }
            read.through = line.seq;
            if let Some(shown) = sight.shown(&line) {
                bytes += shown.envelope.len();
                read.messages.push(shown);
            }
            // Stop when PATIENCE is over too: a log of which nothing may be shown would otherwise be read whole in one call.
            if read.messages.len() >= limit || bytes >= BYTES || Instant::now() > until {
                break;
            }
        }
        // Keep the cursor only if it has read as far as its `line` says. A cursor that has read nothing has
        // line 0, even at the beginning of a later file: a call with `after` 0 would go on there, and miss
        // all lines before that file.
        *place = at.filter(|at| at.line == read.through);
        Ok(read)
    }
}

impl LogCursor {
    /// The beginning of the newest file that begins at or before the line behind `after`.
    fn before(log: &Path, after: u64) -> Result<Option<Self>, LogError> {
        let files = log_files(log)?;
        for (index, file) in files.iter().enumerate().rev() {
            let first = read_file(file)?.next().transpose()?;
            if index == 0 || first.is_some_and(|first| first.seq <= after.saturating_add(1)) {
                return Self::of(file).map(Some);
            }
        }
        Ok(None)
    }

    /// The beginning of the file after `file`, where there is one.
    fn after(log: &Path, file: &Path, line: u64) -> Result<Option<Self>, LogError> {
        let files = log_files(log)?;
        let mut later = files.iter().skip_while(|other| *other != file).skip(1);
        let next = later.next().map(|next| Self::of(next)).transpose()?;
        Ok(next.map(|next| Self { line, ..next }))
    }

    fn of(file: &Path) -> Result<Self, LogError> {
        Ok(Self {
            line: 0,
            file: file.to_owned(),
            lines: read_file(file)?,
        })
    }
}

impl TransparencyView {
    fn shown(&self, line: &LogLine) -> Option<Transparent> {
        let Some(Entry::Message(verdict)) = &line.entry else {
            return None;
        };
        let message = whole(verdict)?;
        let headers = &message.headers;
        let (direction, other) = match verdict.direction {
            Direction::In => ("in", &headers.agent_id),
            Direction::Out => ("out", &headers.recipient_id),
        };
        let is_shown = message.form.class() == Class::Application
            && self.reach.sees(other, headers.data_tier.number());
        let method = message.form.method();
        is_shown.then(|| Transparent {
            line: line.seq,
            direction: direction.to_owned(),
            from: headers.agent_id.to_string(),
            from_principal: headers.principal_id.to_string(),
            to: headers.recipient_id.to_string(),
            to_principal: self.principal_of(&headers.recipient_id),
            method: method.map(|method| method.as_str().to_owned()),
            message_type: headers.message_type.as_str().to_owned(),
            message_id: headers.message_id.to_string(),
            timestamp: headers.timestamp.to_string(),
            data_tier: headers.data_tier.number(),
            capability: headers.capability.as_ref().map(ToString::to_string),
            conversation_id: headers.conversation_id.as_ref().map(ToString::to_string),
            summary: message.summary.clone(),
            envelope: encode_base64url(message.canonical()),
        })
    }

    fn principal_of(&self, agent: &AgentId) -> Option<String> {
        if agent == self.trust.me() {
            return Some(self.trust.own_principal().to_string());
        }
        let principal = self.trust.peer(agent).and_then(KnownPeer::principal);
        principal.map(ToString::to_string)
    }
}

/// What was taken or sent, whole: what came in clear against its tier is not kept so.
fn whole(verdict: &Verdict) -> Option<&Arc<Message>> {
    match (&verdict.evidence, verdict.ruling) {
        (Evidence::Whole(message), Ruling::Accepted | Ruling::Sent) => Some(message),
        _ => None,
    }
}

/// How many messages one call gives at most, and how long their envelopes are together.
const MOST: usize = 32;
const BYTES: usize = 2 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
