//! The one way of a message from its task to the daemon: tried until the daemon has it, once more where the program is away
//! for which it is, and looked for after the gateway was killed in between.

use std::sync::Arc;
use std::time::Duration;

use signet_api::{ApiError, FindMessage, FoundMessage, Reason, Send, State as Sent};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, sleep};

use super::door::{A2aDoor, Followed};
use super::store::{TaskCall, daemon_key};
use super::task::{Change, told_why};
use crate::fault::DoorError;
use crate::lock::Locked as _;
use crate::shown::visible;
use crate::tokens::Holder;

impl A2aDoor {
    pub(super) fn send_in_background(self: &Arc<Self>, call: TaskCall) {
        self.context.spawn(Arc::clone(self).send(call));
    }

    /// Hands the message to the daemon, as often as it takes: its key makes all tries one message.
    async fn send(self: Arc<Self>, call: TaskCall) {
        let Some(request) = call.request.clone() else {
            return self.find(call).await;
        };
        let mut pause = PAUSES.0;
        // Retry two refusals, budget used up and program away, only until the message would have expired anyway: nothing would
        // come of a message that is sent later.
        let given_up = Instant::now() + Duration::from_secs(request.life.unwrap_or(LIFE));
        // `turn` is held from the moment when the peer's budget is used up until this message has left: only
        // one of the messages that wait for this budget is tried at a time.
        let mut turn = None;
        loop {
            // Ask `is_given_up` before the first try, too: the client may have given the task up before the gateway was killed,
            // or while the message waited to be sent once more.
            if self.is_given_up(&call).await {
                return;
            }
            // The token is looked up at each try, because the token may have been revoked or narrowed meanwhile.
            let daemon = match self.context.holder(&call.caller) {
                Holder::Held(caller) => self.context.daemon_of(&caller),
                Holder::Ended => return self.end_with_token(call.task).await,
                // While the tokens file cannot be read, nobody can say whether the token still holds: the message waits.
                Holder::Unsaid => {
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                    continue;
                }
            };
            match daemon.call(&request, Duration::ZERO).await {
                Ok(sent) => {
                    self.has_left(&call, request.peer, sent.message_id).await;
                    if sent.waits_for.is_some() || sent.state == Sent::Refused {
                        let change = Change::Moved {
                            state: sent.state,
                            reason: told_why(sent.reason, sent.offers.as_deref()),
                            by: sent.by,
                            waits_for: sent.waits_for,
                        };
                        // An error of the store is ignored: the daemon has the message, and the follower asks for its state.
                        let _ = self.changed(call.task, change).await;
                    }
                    return;
                }
                Err(fault) if Instant::now() < given_up && is_over_budget(&fault) => {
                    let _ = self.changed(call.task.clone(), Change::OverBudget).await;
                    if turn.is_none() {
                        turn = Some(self.in_line(&request.peer).await);
                    }
                    pause = PAUSE_BUDGET;
                }
                Err(fault) => match refusal(&fault) {
                    Some(_)
                        if Instant::now() < given_up && self.is_away(&request, &fault).await =>
                    {
                        let _ = self.changed(call.task.clone(), Change::Away).await;
                    }
                    Some(why) => return self.not_sent(call, why).await,
                    None => {}
                },
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// The daemon has the message: it is followed from here on.
    async fn has_left(&self, call: &TaskCall, peer: String, message: String) {
        // Follow the message before its id is written to the store: its answer may come during that write.
        let _ = self.follow.send(Followed {
            message: message.clone(),
            key: call.key.clone(),
            task: call.task.clone(),
            peer,
        });
        // The error is ignored: without the stored id, the next start sends the message again, or looks for
        // it, under the same key, by which the daemon knows that it is the same message.
        let _ = self.store.sent(call.key.clone(), message).await;
    }

    /// A place at the head of the line of those messages to a peer that wait for its budget.
    async fn in_line(&self, peer: &str) -> OwnedMutexGuard<()> {
        let line = {
            let mut lines = self.lines.locked();
            // Drop the queues (`lines`) that nobody holds or waits in: otherwise the map would keep one for each peer that ever
            // was.
            lines.retain(|known, line| known == peer || Arc::strong_count(line) > 1);
            Arc::clone(lines.entry(peer.to_owned()).or_default())
        };
        line.lock_owned().await
    }

    /// Whether its client gave the task up while the message was here: then nothing is sent.
    async fn is_given_up(&self, call: &TaskCall) -> bool {
        let record = self.store.record(call.task.clone()).await;
        // Only a task that is over or deleted stops the message. If the store cannot be read, the message goes
        // on, and the next try looks again.
        let is_over = record.is_ok_and(|record| record.is_none_or(|record| record.is_over()));
        if is_over {
            let _ = self.store.settled(call.key.clone()).await;
        }
        is_over
    }

    /// Sends once more what the other side refused because the program was away for which it is (its daemon was sooner back
    /// than the program), or because this minute's messages were used up. False where it was refused for good.
    pub(crate) async fn again(self: &Arc<Self>, refused: &Followed, reason: &str) -> bool {
        if ![NOT_GRANTED, OVER_BUDGET].contains(&reason) {
            return false;
        }
        // `Db::again` adds one `_` to the key at each try: the key itself counts the tries, even across a restart.
        let tries = refused.key.bytes().rev().take_while(|byte| *byte == b'_');
        let tries = u32::try_from(tries.count()).unwrap_or(TRIES);
        if tries >= TRIES {
            return false;
        }
        let Ok(Some(call)) = self.store.again(refused.key.clone()).await else {
            return false;
        };
        let request = call.request.as_ref();
        let capability = request.and_then(|request| request.capability.clone());
        let why = match capability {
            _ if reason == OVER_BUDGET => Some(Change::OverBudget),
            Some(capability) if self.has_offered(&refused.peer, &capability).await => {
                Some(Change::Away)
            }
            _ => None,
        };
        let Some(why) = why else {
            let _ = self.store.settled(call.key).await;
            return false;
        };
        let _ = self.changed(call.task.clone(), why).await;
        let room = Arc::clone(self);
        self.context.spawn(async move {
            sleep(PAUSE_AGAIN * 2_u32.saturating_pow(tries)).await;
            room.send(call).await;
        });
        true
    }

    /// Whether the daemon refused it because the program is away for which it is.
    async fn is_away(&self, request: &Send, fault: &DoorError) -> bool {
        match (&request.capability, fault.refusal()) {
            (Some(capability), Some(error)) if is_not_granted(error) => {
                self.has_offered(&request.peer, capability).await
            }
            _ => false,
        }
    }

    /// Asks the daemon by the key whether it had taken the message when the gateway was killed. A request above tier 2 is
    /// not kept, so it cannot be sent again.
    async fn find(self: Arc<Self>, call: TaskCall) {
        let record = self.store.record(call.task.clone()).await;
        let Ok(Some(record)) = record else {
            return;
        };
        let asked = FindMessage {
            key: daemon_key(&call.key),
        };
        let mut pause = PAUSES.0;
        loop {
            // Wait before asking for the message: if the gateway was killed just after sending it, the daemon may still be
            // reading it, and would say that it has no such message.
            sleep(pause).await;
            let daemon = match self.context.holder(&call.caller) {
                Holder::Held(caller) => self.context.daemon_of(&caller),
                Holder::Ended => return self.end_with_token(call.task).await,
                Holder::Unsaid => {
                    pause = (pause * 2).min(PAUSES.1);
                    continue;
                }
            };
            match daemon.call(&asked, Duration::ZERO).await {
                Ok(FoundMessage {
                    message_id: Some(message),
                }) => {
                    return self.has_left(&call, record.peer, message).await;
                }
                Err(fault) if fault.refusal().is_none() => pause = (pause * 2).min(PAUSES.1),
                Ok(_) | Err(_) => return self.not_sent(call, INTERRUPTED.to_owned()).await,
            }
        }
    }

    async fn not_sent(&self, call: TaskCall, why: String) {
        // End the task before its call is settled: in the other order, a crash in between would leave a task
        // that waits for ever.
        let _ = self.changed(call.task, Change::NotTaken(why)).await;
        let _ = self.store.settled(call.key).await;
    }
}

/// What was under way when the process ended: what the daemon has is followed, and the rest is sent.
pub(super) async fn resume(room: Arc<A2aDoor>) {
    for mut call in room.store.open_calls().await.unwrap_or_default() {
        let record = room.store.record(call.task.clone()).await;
        let Ok(Some(record)) = record else {
            continue;
        };
        match call.message {
            Some(message) => {
                let followed = Followed {
                    message,
                    key: call.key,
                    task: call.task,
                    peer: record.peer,
                };
                let _ = room.follow.send(followed);
            }
            None => {
                // A message of a task that is over is not sent: without its request, `send` only looks for the message. If the
                // daemon has it, it is followed, so that its answer leaves the inbox.
                call.request = call.request.filter(|_| !record.is_over());
                room.send_in_background(call);
            }
        }
    }
    for task in room.store.tasks_due().await.unwrap_or_default() {
        room.push(&task);
    }
}

/// Whether the peer takes no more messages this minute.
fn is_over_budget(fault: &DoorError) -> bool {
    let reason = fault.refusal().and_then(ApiError::reason);
    reason.is_some_and(|reason| reason.as_str() == OVER_BUDGET)
}

fn is_not_granted(error: &ApiError) -> bool {
    let reason = error.reason();
    reason.is_some_and(|reason| reason.as_str() == NOT_GRANTED)
}

/// Why the daemon will never take it; `None` where another try may do.
fn refusal(fault: &DoorError) -> Option<String> {
    if matches!(fault, DoorError::PersonsSocket) {
        return Some(fault.to_string());
    }
    let error = fault.refusal()?;
    let text = error.fault().unwrap_or(&error.message);
    let reason = error.reason().map_or("invalid", Reason::as_str);
    Some(format!("not sent: {} ({reason})", visible(text)))
}

const INTERRUPTED: &str = "\
    not sent: the gateway was stopped before the daemon had it, and what is above tier 2 is not kept; say it again";
/// Nobody there offers the capability (check V12).
pub(crate) const NOT_GRANTED: &str = "capability-not-granted";
/// So many messages a minute, and they are used up (check V12).
pub(crate) const OVER_BUDGET: &str = "budget-exceeded";
/// How long after that the next try is: what the minute allows comes back bit by bit.
const PAUSE_BUDGET: Duration = Duration::from_secs(1);
/// How often a message is sent once more, the first time after so long.
const TRIES: u32 = 8;
const PAUSE_AGAIN: Duration = Duration::from_secs(1);
/// Seconds: of a message that says nothing of its life.
const LIFE: u64 = 72 * 3600;
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
