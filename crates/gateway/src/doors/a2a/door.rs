//! What the calls of A2A share: the tasks, and the one way from a task to the daemon.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use signet_api::{Acknowledge, ListPeers, Message, Name, Peer, ShowCard, ShowPeer, ShownCard};
use tokio::sync::{Mutex as AsyncMutex, Semaphore, mpsc};

use super::fault::{A2aError, A2aErrorKind, BUSY_REASON};
use super::push::Pushing;
use super::remembered::{CardDates, PeersOffers, dead_keys};
use super::store::{Begin, Begun, Owner, Store};
use super::task::{Change, Record};
use crate::config::a2a::A2aSection;
use crate::context::Context;
use crate::daemon::{Daemon, Lasting};
use crate::fault::{BUSY, DAEMON_AWAY, DoorError, OUTCOME_UNKNOWN};
use crate::lock::Locked as _;
use crate::say::say;
use crate::scope::{Caller, SeenPeer};

/// The door of A2A.
pub(crate) struct A2aDoor {
    pub(crate) context: Arc<Context>,
    pub(crate) store: Store,
    pub(crate) streams: Arc<Semaphore>,
    pub(super) follow: mpsc::UnboundedSender<Followed>,
    pub(super) pushing: Pushing,
    /// This agent's own id, once the daemon has said it.
    pub(super) agent: OnceLock<String>,
    pub(super) card: Mutex<LastCard>,
    pub(super) offered: PeersOffers,
    /// For each peer whose budget is used up, the line of what waits for it.
    pub(super) lines: Mutex<HashMap<String, Arc<AsyncMutex<()>>>>,
    /// When each card was another one last.
    pub(super) changes: CardDates,
}

/// A message that left, and whose it is.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    pub(crate) message: String,
    pub(crate) key: String,
    pub(crate) task: String,
    pub(crate) peer: String,
}

/// What the daemon said last of this agent's card.
#[derive(Default)]
pub(super) struct LastCard {
    is_known: bool,
    signed: Option<ShownCard>,
}

impl A2aDoor {
    pub(crate) fn section(&self) -> &A2aSection {
        &self.context.config.a2a
    }

    /// Takes a call in, and lets its message leave where it is new.
    pub(crate) async fn begin(self: &Arc<Self>, begin: Begin) -> Result<Begun, A2aError> {
        let begun = self.store.begin(begin).await?;
        if let Some(call) = begun.call.clone() {
            self.send_in_background(call);
        }
        Ok(begun)
    }

    /// Changes a task, and lets its pushes leave.
    pub(crate) async fn changed(&self, task: String, change: Change) -> Result<(), DoorError> {
        let done = self.store.change(task.clone(), change).await;
        done.map_err(|_| DoorError::Own("a task cannot be written"))?;
        self.push(&task);
        Ok(())
    }

    pub(crate) async fn settled(&self, key: String) -> Result<(), DoorError> {
        let done = self.store.settled(key).await;
        done.map_err(|_| DoorError::Own("a task cannot be written"))
    }

    /// Ends a task whose token holds no more; nothing of it is sent from then on.
    pub(super) async fn end_with_token(&self, task: String) {
        // Errors are ignored: if a write fails, `settle_ended` tries to end this task again when the tokens next change, or
        // when the gateway next starts.
        let _ = self.changed(task.clone(), Change::TokenEnded).await;
        let _ = self.store.settled_all(task).await;
    }

    pub(crate) fn push(&self, task: &str) {
        if self.section().push {
            self.pushing.kick(&self.context, &self.store, task);
        }
    }

    /// Whether the answer of the task need not stay in the inbox: it is written here, or there is nothing to show.
    pub(crate) async fn may_leave_inbox(&self, task: &str) -> bool {
        let seen = self.store.record(task.to_owned()).await;
        seen.is_ok_and(|record| {
            record.is_none_or(|record| record.answer.is_none() && !record.is_withheld())
        })
    }

    /// Waits until the task is over, or waits for its client or for people; no longer than the configuration says.
    pub(crate) async fn wait(&self, task: &str) -> Result<(), A2aError> {
        // Subscribe before reading the record: a change between these two steps then wakes the loop below.
        let mut news = self.store.follow(task);
        let watching = async {
            loop {
                news.borrow_and_update();
                let record = self.store.record(task.to_owned()).await?;
                let rests = record.is_none_or(|record| rests(&record));
                if rests || news.changed().await.is_err() {
                    return Ok(());
                }
            }
        };
        match tokio::time::timeout(self.section().patience(), watching).await {
            Ok(done) => done,
            Err(_) => Ok(()),
        }
    }

    /// The caller's task, with an answer that is not kept fetched from the daemon's inbox.
    pub(crate) async fn task(
        &self,
        caller: &Caller,
        owner: Owner,
        id: String,
    ) -> Result<(Record, u64), A2aError> {
        let (mut record, seq) = self.store.owned(owner, id).await?;
        if let Some(answer) = record.answer.clone() {
            let daemon = self.context.daemon_of(caller);
            // The text of an answer that is not kept on disk is in memory alone (`Unwritten`): fetch it from the inbox if a
            // restart, or a lack of room, has taken it from there.
            if record.task.artifacts.is_empty() {
                put_answer(&daemon, &mut record, &answer).await?;
            }
            self.shown(&daemon, &record, answer).await;
        }
        Ok((record, seq))
    }

    /// The caller was shown an answer that is not kept: it leaves the inbox, and is then in the log alone, sealed.
    async fn shown(&self, daemon: &Daemon, record: &Record, answer: String) {
        let name = Name {
            from: record.peer.clone(),
            message_id: answer,
        };
        let acknowledge = Acknowledge::of(vec![name]);
        let done = daemon.call(&acknowledge, Duration::ZERO).await;
        // The daemon refuses to acknowledge an answer that has left the inbox already. So count a refusal as success: in both
        // cases note that the client has got the answer.
        if done.map_or_else(|fault| fault.refusal().is_some(), |_| true) {
            let task = record.task.id.clone();
            let _ = self.store.change(task, Change::Shown).await;
        }
    }

    /// The agents that the caller may speak to.
    pub(crate) async fn peers(&self, caller: &Caller) -> Result<Vec<Peer>, A2aError> {
        let daemon = self.context.daemon_of(caller);
        let peers = daemon.call(&ListPeers {}, Duration::ZERO).await;
        let peers = peers.map_err(of_daemon)?;
        let seen = peers
            .into_iter()
            .filter(|peer| caller.scope.knows(&peer.peer));
        Ok(seen.collect())
    }

    pub(crate) async fn shown_peer(
        &self,
        caller: &Caller,
        peer: &str,
    ) -> Result<signet_api::ShownPeer, A2aError> {
        let show = ShowPeer {
            peer: peer.to_owned(),
        };
        let daemon = self.context.daemon_of(caller);
        let shown = daemon.call(&show, Duration::ZERO).await;
        shown.map_err(|fault| match fault.refusal() {
            Some(_) => A2aError::new(
                A2aErrorKind::Unsupported,
                "Unsupported operation: no agent of that name is known here",
            ),
            None => of_daemon(fault),
        })
    }

    /// The card that the daemon signs, of this agent or of a peer; `None` where it has none. While the daemon is away, or its
    /// disk is full, this agent's is the one that it gave last.
    pub(crate) async fn signed_card(
        &self,
        of_peer: Option<SeenPeer<'_>>,
    ) -> Result<Option<ShownCard>, A2aError> {
        let show = ShowCard {
            peer: of_peer.map(|seen| seen.peer.to_owned()),
        };
        let daemon = match of_peer {
            Some(seen) => self.context.daemon_of(seen.caller),
            None => Arc::clone(&self.context.daemon),
        };
        let shown = match daemon.call(&show, Duration::ZERO).await {
            Ok(shown) => Some(shown),
            // Take a refusal to mean that there is no signed card: the daemon's configuration has no [card], the daemon
            // does not know this peer, or the daemon is of an earlier release and does not know this call.
            Err(fault) if fault.refusal().is_some() => None,
            Err(fault) => {
                let last = self.card.locked();
                return match of_peer.is_none() && last.is_known {
                    true => Ok(last.signed.clone()),
                    false => Err(of_daemon(fault)),
                };
            }
        };
        if of_peer.is_none() {
            let mut last = self.card.locked();
            // This runs each time that somebody fetches the card: log the warning only when the card has changed since the last
            // time.
            if let Some(card) = shown.as_ref().filter(|_| last.signed != shown)
                && let Some(warning) = dead_keys(&card.card)
            {
                say(&warning);
            }
            *last = LastCard {
                is_known: true,
                signed: shown.clone(),
            };
        }
        Ok(shown)
    }

    /// This agent's own id.
    pub(crate) async fn agent(&self) -> Result<String, A2aError> {
        if let Some(agent) = self.agent.get() {
            return Ok(agent.clone());
        }
        let status = self
            .context
            .daemon
            .call(&signet_api::ShowStatus {}, Duration::ZERO)
            .await;
        let agent = status.map_err(of_daemon)?.agent;
        Ok(self.agent.get_or_init(|| agent).clone())
    }
}

async fn put_answer(daemon: &Daemon, record: &mut Record, answer: &str) -> Result<(), A2aError> {
    let peer = record.peer.clone();
    let mut link = daemon.link(Lasting::AtOnce).await.map_err(of_inbox)?;
    let is_it = |came: &Message| came.from == peer && came.message_id == answer;
    let found = link.find_in_inbox(is_it).await.map_err(of_inbox)?;
    if let Some(body) = found.and_then(|came| came.body) {
        record.put_answer(body);
    }
    Ok(())
}

/// Whether a call need not wait any longer.
fn rests(record: &Record) -> bool {
    let state = record.task.status.state;
    state.is_terminal() || state.is_interrupted() || record.waits_for_people()
}

/// The daemon cannot be asked what has to be known before anything is sent.
#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn of_daemon(fault: DoorError) -> A2aError {
    unasked(&fault, "nothing was sent")
}

/// The daemon cannot be asked for an answer that is in its inbox.
#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn of_inbox(fault: DoorError) -> A2aError {
    unasked(
        &fault,
        "the task is done, and its answer waits in the inbox of the daemon",
    )
}

fn unasked(fault: &DoorError, so_far: &str) -> A2aError {
    let name = match fault.name() {
        // `OUTCOME_UNKNOWN` says that a call may have changed something before its connection ended. The calls whose errors
        // come here only read, so report only that the daemon is away.
        OUTCOME_UNKNOWN => DAEMON_AWAY,
        name => name,
    };
    let passing = fault.passing();
    let busy = |fault: A2aError| match name == BUSY || passing.is_some() {
        true => fault.with("reason", BUSY_REASON),
        false => fault,
    };
    if let Some(refusal) = passing {
        let text = format!("Internal error: {refusal} ({name}); {so_far}");
        return busy(A2aError::internal(text));
    }
    busy(A2aError::internal(match fault {
        DoorError::Busy => format!("Internal error: {fault}; call again a little later"),
        DoorError::Own(what) => format!("Internal error: {what}; try again"),
        DoorError::Daemon(_)
        | DoorError::PersonsSocket
        | DoorError::Arguments(_)
        | DoorError::Tier { .. }
        | DoorError::NoResource => format!(
            "Internal error: the daemon of this agent does not answer ({name}); {so_far}. Start it with signet run or signet \
             up (signet doctor says what is wrong), then call again"
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that reads `outcome-unknown` would not dare to call again.
    #[test]
    fn a_daemon_that_is_killed_while_it_is_asked_is_away_and_nothing_was_sent() {
        let killed = DoorError::Daemon(signet_api::ClientError::Closed);
        let told = format!("{:?}", of_daemon(killed));
        assert!(told.contains("(daemon-away); nothing was sent"), "{told}");
    }
}
