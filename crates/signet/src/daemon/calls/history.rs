//! `history`: what was said in the agent's own conversations, out of its log, up to tier 2: what was sealed
//! stays shut.
//!
//! The log is read beside the event loop, one call at a time, the newest two months and 10 s at most:
//! nobody else waits for it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use signet_api::{ApiError, History, ListHistory, Role};
use signet_audit::{LogError, LogLine, log_files, read_file};
use signet_proto::entry::{Did, Direction, Entry, Ruling};
use signet_proto::envelope::{Class, Form, Message, Method};
use signet_proto::headers::ConversationId;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::trust::TrustView;
use tokio::sync::Semaphore;

use crate::reach::Reach;
use crate::render;

use super::listing::page;
use super::serve::{maybe_named, text_of, unreadable};
use super::{AnswerCall, Asker, Batch, DaemonState};

/// How many messages one call gives when nothing else is said, and at most.
const FEW: usize = 100;
const MOST: usize = 1_000;
/// How many months are looked through, the newest first.
const MONTHS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(10);

/// Only one call at a time reads the log.
static READING: Semaphore = Semaphore::const_new(1);

/// Which messages the caller asks for.
struct HistoryQuery {
    peer: Option<AgentId>,
    conversation: Option<ConversationId>,
    before: u64,
    limit: usize,
    /// What the caller may see.
    reach: Arc<Reach>,
    /// What is withheld from the caller; `None` for the person, who sees everything.
    withheld: Option<KeptBack>,
}

/// What the agent is not given of what came, whatever its log holds: what a pause keeps for later, and what was set aside
/// for the person when its sender lost their trust.
struct KeptBack {
    /// While the agents pause: what the inbox holds, and every word on the way to an answer.
    is_paused: bool,
    names: HashSet<ReceivedName>,
    trust: TrustView,
    /// The newest line at the time of the call. Later lines are not shown, since a pause may have begun in which they
    /// came.
    newest: u64,
}

/// A message that came: of whom, and its message-id.
type ReceivedName = (AgentId, MessageId);

impl KeptBack {
    fn by(state: &DaemonState) -> Self {
        let (inbox, is_paused) = (
            state.node.inbox(),
            state.node.people().pausing().is_paused(),
        );
        // While the agents pause, hold back the messages that still wait in the inbox: otherwise a caller could read them in
        // this history in spite of the pause.
        let waiting = inbox.after(0).filter(|_| is_paused);
        let waiting = waiting.map(|item| name_of(&item.message));
        Self {
            is_paused,
            names: inbox
                .all_aside()
                .map(|gone| (gone.from, gone.message_id))
                .chain(waiting)
                .collect(),
            trust: state.node.trust().clone(),
            newest: state.log.head().map_or(u64::MAX, |head| head.seq),
        }
    }

    fn holds(&self, message: &Message) -> bool {
        self.names.contains(&name_of(message))
            || (self.is_paused && message.form.method() == Some(Method::Progress))
    }
}

fn name_of(message: &Message) -> ReceivedName {
    let headers = &message.headers;
    (headers.agent_id.clone(), headers.message_id)
}

/// A message that was taken or sent, and the line that says so.
struct LoggedMessage {
    line: u64,
    direction: Direction,
    message: Arc<Message>,
}

impl AnswerCall for ListHistory {
    /// Reads what was said, and answers from there.
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let Asker { caller, reply, .. } = asker;
        // Nothing is withheld from the person, who can read the whole log anyway.
        let withheld = (caller.role != Role::Person).then(|| KeptBack::by(state));
        let asked = match parse(&self, &caller.reach, withheld) {
            Ok(asked) => asked,
            Err(error) => return state.refuse(reply, error),
        };
        let log = state.settings.audit_dir().clone();
        tokio::spawn(async move {
            // `acquire` fails only for a closed semaphore, and `READING` is never closed.
            let Ok(_turn) = READING.acquire().await else {
                return;
            };
            if reply.is_closed() {
                return;
            }
            let read = tokio::task::spawn_blocking(move || read(&log, &asked)).await;
            reply.send(match read {
                Ok(Ok(shown)) => text_of::<Self>(&shown),
                Ok(Err(error)) => Err(unreadable(&error.to_string())),
                Err(_) => Err(unreadable("reading was broken off")),
            });
        });
        Batch::nothing()
    }
}

/// The answer to a request of ours, out of the log: whoever had it has taken it out of the inbox.
pub(super) async fn answer_in_log(
    log: PathBuf,
    peer: AgentId,
    request: MessageId,
) -> Option<Arc<Message>> {
    let _turn = READING.acquire().await.ok()?;
    let read = tokio::task::spawn_blocking(move || find_answer(&log, &peer, request));
    read.await.ok()?.ok()?
}

fn find_answer(
    log: &Path,
    peer: &AgentId,
    request: MessageId,
) -> Result<Option<Arc<Message>>, LogError> {
    let until = Instant::now() + PATIENCE;
    for file in log_files(log)?.iter().rev().take(MONTHS) {
        for line in read_file(file)? {
            if let Some(Entry::Message(verdict)) = line?.entry
                && verdict.direction == Direction::In
                // Take accepted messages only: a refused message could claim to answer any request.
                && verdict.ruling == Ruling::Accepted
                && let Some(message) = verdict.message()
                && message.headers.in_reply_to == Some(request)
                && message.headers.agent_id == *peer
                && matches!(message.form, Form::Success | Form::Failure { .. })
            {
                return Ok(Some(Arc::clone(message)));
            }
            if Instant::now() > until {
                return Ok(None);
            }
        }
    }
    Ok(None)
}

fn parse(
    asked: &ListHistory,
    reach: &Arc<Reach>,
    withheld: Option<KeptBack>,
) -> Result<HistoryQuery, ApiError> {
    Ok(HistoryQuery {
        peer: maybe_named("peer", asked.peer.as_deref())?,
        conversation: maybe_named("conversation", asked.conversation.as_deref())?,
        before: asked.before.unwrap_or(u64::MAX),
        limit: asked.limit.unwrap_or(FEW).clamp(1, MOST),
        reach: Arc::clone(reach),
        withheld,
    })
}

/// The newest first.
fn read(log: &Path, asked: &HistoryQuery) -> Result<History, LogError> {
    let until = Instant::now() + PATIENCE;
    let mut found: Vec<LoggedMessage> = Vec::new();
    // The names of messages that the agent took before their sender was withdrawn or revoked. The line that says that a message
    // was taken may be in a later month than the message, so keep the names for all months.
    let mut taken: HashSet<ReceivedName> = HashSet::new();
    for file in log_files(log)?.iter().rev().take(MONTHS) {
        let mut of_month: BTreeMap<u64, LoggedMessage> = BTreeMap::new();
        let mut untaken: HashMap<ReceivedName, LoggedMessage> = HashMap::new();
        for line in read_file(file)? {
            let line = line?;
            if let Some(name) = asked.taken(&line) {
                of_month.extend(untaken.remove(&name).map(|said| (said.line, said)));
                taken.insert(name);
            }
            if let Some(said) = asked.admit(line) {
                let name = name_of(&said.message);
                match said.direction == Direction::In
                    && asked.is_of_nobody_trusted(&said.message)
                    && !taken.contains(&name)
                {
                    // The sender of this message is no longer trusted: keep the message aside until a later line says that the
                    // agent took it, since only then may the agent see it.
                    true => drop(untaken.insert(name, said)),
                    false => drop(of_month.insert(said.line, said)),
                }
            }
            // Drop the oldest message as soon as there are too many: to drop them at the end would
            // first fill the memory with a whole month.
            if of_month.len() > asked.limit - found.len().min(asked.limit) {
                of_month.pop_first();
            }
            if Instant::now() > until {
                break;
            }
        }
        found.extend(of_month.into_values().rev());
        if found.len() >= asked.limit {
            break;
        }
    }
    let shown = found.iter().map(LoggedMessage::shown);
    let messages = page(shown, asked.limit).collect();
    Ok(History { messages })
}

impl HistoryQuery {
    /// Whether only what the agent had taken before is for it: the log holds more of such a peer than is set aside.
    fn is_of_nobody_trusted(&self, message: &Message) -> bool {
        let withheld = self.withheld.as_ref();
        withheld.is_some_and(|held| held.trust.trusted(&message.headers.agent_id).is_none())
    }

    /// The message of a peer whom nobody trusts any more, where this line says that the agent had taken it: it was handed
    /// out, or answered.
    fn taken(&self, line: &LogLine) -> Option<ReceivedName> {
        let name = match line.entry.as_ref()? {
            Entry::Outcome(outcome) => {
                let is_taking = matches!(
                    outcome.what,
                    Did::Acknowledged | Did::Started | Did::Kept | Did::Failed
                );
                is_taking.then(|| (outcome.peer.clone(), outcome.message_id))?
            }
            Entry::Message(verdict) if verdict.direction == Direction::Out => {
                let headers = &verdict.message()?.headers;
                (headers.recipient_id.clone(), headers.in_reply_to?)
            }
            _ => return None,
        };
        let withheld = self.withheld.as_ref()?;
        withheld.trust.trusted(&name.0).is_none().then_some(name)
    }

    fn admit(&self, line: LogLine) -> Option<LoggedMessage> {
        let Some(Entry::Message(verdict)) = line.entry else {
            return None;
        };
        if line.seq >= self.before
            || self
                .withheld
                .as_ref()
                .is_some_and(|held| line.seq > held.newest)
            || matches!(verdict.ruling, Ruling::Rejected(_))
        {
            return None;
        }
        let message = Arc::clone(verdict.message()?);
        let headers = &message.headers;
        let other = match verdict.direction {
            Direction::In => &headers.agent_id,
            Direction::Out => &headers.recipient_id,
        };
        let fits = message.form.class() == Class::Application
            // Leave out sealed messages: the log keeps them sealed, and only the person can open them there, with `signet audit
            // open`.
            && !headers.data_tier.is_sealed()
            && self.reach.sees(other, headers.data_tier.number())
            && self.peer.as_ref().is_none_or(|peer| peer == other)
            && self
                .conversation
                .as_ref()
                .is_none_or(|name| headers.conversation_id.as_ref() == Some(name));
        let withheld = self.withheld.as_ref();
        let is_withheld = verdict.direction == Direction::In
            && withheld.is_some_and(|withheld| withheld.holds(&message));
        (fits && !is_withheld).then_some(LoggedMessage {
            line: line.seq,
            direction: verdict.direction,
            message,
        })
    }
}

impl LoggedMessage {
    fn shown(&self) -> signet_api::Said {
        signet_api::Said {
            line: self.line,
            direction: self.direction.as_str().to_owned(),
            to: self.message.headers.recipient_id.to_string(),
            message: render::item(&self.message, None),
        }
    }
}
