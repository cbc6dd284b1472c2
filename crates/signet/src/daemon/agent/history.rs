//! `history`: what was said in the agent's own conversations, out of its log, up to tier 2: what was sealed
//! stays shut.
//!
//! The log is read beside the event loop, one call at a time, the newest two months and 10 s at most:
//! nobody else waits for it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use signet_api::{ApiError, History, ListHistory};
use signet_audit::{Line, LogError, log_files, read_file};
use signet_proto::entry::{Direction, Entry, Ruling};
use signet_proto::envelope::{Class, Message};
use signet_proto::headers::ConversationId;
use signet_proto::ids::AgentId;
use signet_proto::policy::HIGHEST_CLEAR_TIER;
use tokio::sync::Semaphore;

use crate::control::{Caller, Reply};
use crate::daemon::heart::Heart;
use crate::daemon::listing::page;
use crate::daemon::methods::value_of;
use crate::daemon::reach::Reach;
use crate::daemon::serve::maybe_named;
use crate::render;

/// How many messages one call gives when nothing else is said, and at most.
const FEW: usize = 100;
const MOST: usize = 1_000;
/// How many months are looked through, the newest first.
const MONTHS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(10);

/// One call at a time.
static READING: Semaphore = Semaphore::const_new(1);

/// Which messages are asked for.
struct Asked {
    peer: Option<AgentId>,
    conversation: Option<ConversationId>,
    before: u64,
    limit: usize,
    /// What the caller may see.
    reach: Arc<Reach>,
}

/// A message that was taken or sent, and the line that says so.
struct Said {
    line: u64,
    direction: Direction,
    message: Arc<Message>,
}

impl Heart {
    /// Reads what was said, and answers from there.
    pub(in crate::daemon) fn history(&self, asked: &ListHistory, caller: &Caller, reply: Reply) {
        let asked = match parse(asked, &caller.reach) {
            Ok(asked) => asked,
            Err(error) => return reply.send(Err(error)),
        };
        let log = self.config.audit_dir.clone();
        tokio::spawn(async move {
            // Nobody closes it.
            let Ok(_turn) = READING.acquire().await else {
                return;
            };
            if reply.is_closed() {
                return;
            }
            let read = tokio::task::spawn_blocking(move || read(&log, &asked)).await;
            reply.send(match read {
                Ok(Ok(shown)) => value_of::<ListHistory>(&shown),
                Ok(Err(error)) => Err(unreadable(error.to_string())),
                Err(_) => Err(unreadable("reading was broken off".to_owned())),
            });
        });
    }
}

fn unreadable(why: String) -> ApiError {
    let text = format!("the log cannot be read: {why}; signet audit verify says more");
    ApiError::refused("history-unreadable", text)
}

fn parse(asked: &ListHistory, reach: &Arc<Reach>) -> Result<Asked, ApiError> {
    Ok(Asked {
        peer: maybe_named("peer", asked.peer.as_deref())?,
        conversation: maybe_named("conversation", asked.conversation.as_deref())?,
        before: asked.before.unwrap_or(u64::MAX),
        limit: asked.limit.unwrap_or(FEW).clamp(1, MOST),
        reach: Arc::clone(reach),
    })
}

/// The newest first.
fn read(log: &Path, asked: &Asked) -> Result<History, LogError> {
    let until = Instant::now() + PATIENCE;
    let mut found: Vec<Said> = Vec::new();
    for file in log_files(log)?.iter().rev().take(MONTHS) {
        let mut of_month = VecDeque::new();
        for line in read_file(file)? {
            let said = asked.admit(line?);
            of_month.extend(said);
            if of_month.len() > asked.limit - found.len().min(asked.limit) {
                of_month.pop_front();
            }
            if Instant::now() > until {
                break;
            }
        }
        found.extend(of_month.into_iter().rev());
        if found.len() >= asked.limit {
            break;
        }
    }
    let shown = found.iter().map(Said::shown);
    let messages = page(shown, asked.limit);
    Ok(History { messages })
}

impl Asked {
    fn admit(&self, line: Line) -> Option<Said> {
        let Some(Entry::Message(verdict)) = line.entry else {
            return None;
        };
        if line.seq >= self.before || matches!(verdict.ruling, Ruling::Rejected(_)) {
            return None;
        }
        let message = Arc::clone(verdict.message()?);
        let headers = &message.headers;
        let other = match verdict.direction {
            Direction::In => &headers.agent_id,
            Direction::Out => &headers.recipient_id,
        };
        let fits = message.form.class() == Class::Application
            && headers.data_tier <= HIGHEST_CLEAR_TIER
            && self.reach.sees(other, headers.data_tier)
            && self.peer.as_ref().is_none_or(|peer| peer == other)
            && self
                .conversation
                .as_ref()
                .is_none_or(|name| headers.conversation_id.as_ref() == Some(name));
        fits.then_some(Said {
            line: line.seq,
            direction: verdict.direction,
            message,
        })
    }
}

impl Said {
    fn shown(&self) -> signet_api::Said {
        let direction = match self.direction {
            Direction::In => "in",
            Direction::Out => "out",
        };
        signet_api::Said {
            line: self.line,
            direction: direction.to_owned(),
            to: self.message.headers.recipient_id.to_string(),
            message: render::item(&self.message, None),
        }
    }
}
