//! `send` and `handoff.send`: a new message of ours, and waiting for what becomes of it.

use std::sync::Arc;
use std::time::Duration;

use signet_api::{ApiError, Kind, Send, Sent};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{CallerKey, Content, Continues, Once, Outcome, Sending, State, WaitsFor};
use tokio::sync::oneshot;

use crate::control::{Caller, Reply};
use crate::effects::{Deed, Fate, Waiter};
use crate::render;

use super::agent::history::answer_in_log;
use super::heart::{Heart, is_publish};
use super::nearest::{refused_of, refused_to_introduce};
use super::outbox::{Told, held_by, offers_beside, task_of};
use super::serve::{maybe_named, named, parse_key, parse_wait, value_of};
use crate::reach::Reach;

/// What a caller wants to be sent, and how long it waits.
pub(super) struct Asked {
    pub(super) peer: AgentId,
    pub(super) sending: Sending,
    /// The caller's own, by which the same call again is the same message.
    pub(super) key: Option<CallerKey>,
    pub(super) wait: Duration,
    /// The peer may be somebody whom nobody has introduced yet, whatever its id resembles.
    pub(super) introduce: bool,
    /// The wait is over after this time already, once the peer's mailbox holds the message.
    pub(super) mailbox_after: Option<Duration>,
}

pub(super) fn parse_send(call: Send) -> Result<Asked, ApiError> {
    let content = Content {
        summary: call.summary,
        body: call.body,
        capability: maybe_named("capability", call.capability.as_deref())?,
        conversation_id: maybe_named("conversation-id", call.conversation_id.as_deref())?,
        data_tier: call.data_tier,
        life: call.life.map(Duration::from_secs),
        continues: continues(call.continues.as_deref(), call.continues_from.as_deref())?,
        finds_capability: !call.for_people,
    };
    Ok(Asked {
        peer: named("peer", &call.peer)?,
        sending: match call.kind {
            Kind::Request => Sending::Request(content),
            Kind::Notification => Sending::Notification(content),
            Kind::Ping => Sending::Ping,
        },
        wait: parse_wait(call.wait)?,
        key: call.key.as_deref().map(parse_key).transpose()?,
        introduce: call.introduce,
        mailbox_after: call.mailbox_after.map(parse_wait).transpose()?,
    })
}

fn continues(name: Option<&str>, from: Option<&str>) -> Result<Option<Continues>, ApiError> {
    let from = maybe_named("continues-from", from)?;
    let message = maybe_named("continues", name)?;
    Ok(message.map(|message| Continues { from, message }))
}

impl Heart {
    /// Sends, and answers when that is durable or when something came of it.
    pub(super) async fn send(
        &mut self,
        asked: Result<Asked, ApiError>,
        caller: &Caller,
        mut reply: Reply,
    ) {
        let at = self.at();
        let sent = asked.and_then(|asked| {
            self.refuse_mistyped(&asked, &caller.reach)?;
            // An agent may take its time with a handoff; that it has arrived is enough.
            let for_answer = matches!(asked.sending, Sending::Request(_) | Sending::Ping);
            let peer = &asked.peer;
            let sent = match &asked.key {
                Some(key) => self.node.handle_send_once(at, peer, asked.sending, key),
                None => self.node.handle_send(at, peer, asked.sending).map(first),
            };
            let times = (asked.wait, asked.mailbox_after);
            let sent = sent.map_err(|error| refused_of(&self.node, &caller.reach, error))?;
            Ok((asked.peer, sent, times, for_answer))
        });
        let (peer, once, (wait, mailbox_after), for_answer) = match sent {
            Ok(sent) => sent,
            Err(error) => return self.refuse(reply, error).await,
        };
        let Once {
            message_id,
            again,
            outcome,
        } = once;
        let waits_for = self.waits_for(message_id);
        let left = outcome.effects.iter().any(is_publish) && waits_for.is_none();
        let state = match left && self.carriers.is_any_connected() {
            true => State::Published,
            false => State::Queued,
        };
        let told = Told {
            message_id,
            task: task_of(&self.node, message_id),
            waits_for,
            held_by: waits_for.and_then(|waits_for| held_by(&self.node, &peer, waits_for)),
        };
        let name = message_id.to_string();
        if again && self.has_taken_answer(message_id) {
            return self.answer_again((peer, told), &caller.reach, reply);
        }
        if again && let Some(end) = self.end_of(message_id, for_answer, &told, &caller.reach) {
            let end = value_of::<Send>(&end);
            return self
                .answer(reply, end, (at.now, outcome), Some(&name))
                .await;
        }
        // Nobody waits at a terminal for what people decide first.
        let for_people = waits_for.is_some_and(|waits_for| waits_for != WaitsFor::Session);
        if wait.is_zero() || for_people {
            let sent = value_of::<Send>(&told.fate(&state));
            return self
                .answer(reply, sent, (at.now, outcome), Some(&name))
                .await;
        }
        reply.in_doubt(Some(&name));
        let (fate, fated) = oneshot::channel();
        let (stored, is_stored) = oneshot::channel();
        let waiter = Waiter {
            fate,
            for_answer,
            on_stored: Some(stored),
            state: State::Queued,
        };
        let waiting = vec![Deed::Wait(message_id, waiter)];
        self.write(at.now, vec![outcome], waiting).await;
        let awaited = Awaited {
            told,
            state,
            wait,
            mailbox_after,
            reach: caller.reach.clone(),
        };
        tokio::spawn(async move {
            // Its line may be durable or not: a reply that is dropped says so by itself.
            if let Some(sent) = awaited.end(fated, is_stored).await {
                reply.send(value_of::<Send>(&sent));
            }
        });
    }

    /// Whether the answer to a message of ours has been taken out of the inbox by its agent: the log alone has it. While
    /// the agents pause nobody is given any.
    fn has_taken_answer(&self, message_id: MessageId) -> bool {
        let out = self.node.status(message_id);
        let (inbox, answers) = (self.node.inbox(), Some(message_id));
        let waits = inbox.after(0).map(|item| item.message.headers.in_reply_to);
        let aside = inbox.all_aside().map(|gone| gone.in_reply_to);
        !self.node.pausing().is_paused()
            && out.is_some_and(|out| out.state == State::Answered)
            && waits.chain(aside).all(|reply_to| reply_to != answers)
    }

    /// Reads the answer in the log, beside the event loop. What is sealed there stays shut.
    fn answer_again(&self, (peer, told): (AgentId, Told), reach: &Arc<Reach>, reply: Reply) {
        let (log, reach) = (self.config.audit_dir.clone(), Arc::clone(reach));
        tokio::spawn(async move {
            let answer = answer_in_log(log, peer, told.message_id).await;
            let seen = answer.filter(|answer| reach.sees_message(answer));
            let shown = seen.map(|answer| signet_api::Message {
                shut: answer.sealed.is_some().then(|| SHUT.to_owned()),
                ..render::item(&answer, None)
            });
            reply.send(value_of::<Send>(&told.answered(shown)));
        });
    }

    /// What became of a message that an earlier call made: nothing as long as something may still follow
    /// that its caller waits for.
    fn end_of(
        &self,
        message_id: MessageId,
        for_answer: bool,
        told: &Told,
        reach: &Reach,
    ) -> Option<Sent> {
        let out = self.node.status(message_id)?;
        let items = self.node.inbox().after(0);
        let mut answers = items.filter(|item| item.message.headers.in_reply_to == Some(message_id));
        // While the agents pause, what came is handed to nobody.
        let is_paused = self.node.pausing().is_paused();
        if let Some(answer) = answers
            .next()
            .filter(|_| out.state == State::Answered && !is_paused)
        {
            let (message, seen) = (&answer.message, reach.sees_message(&answer.message));
            let shown = || render::item(message, self.node.opened(message).as_ref());
            return Some(told.answered(seen.then(shown)));
        }
        let goes_on = !out.state.is_settled() || (for_answer && out.state == State::Received);
        (!goes_on).then(|| Sent {
            offers: offers_beside(&self.node, &out),
            ..told.since(&out.state)
        })
    }

    /// What a message that could not leave at once waits for.
    fn waits_for(&self, message_id: MessageId) -> Option<WaitsFor> {
        let mut drafts = self.node.drafts();
        let waiter = drafts.find(|waiter| waiter.draft.message_id == message_id);
        waiter.map(|waiter| waiter.waits_for)
    }

    /// Mail for somebody unknown waits for days: an id that resembles a known one is a slip first.
    fn refuse_mistyped(&self, asked: &Asked, reach: &Reach) -> Result<(), ApiError> {
        let (peer, trust) = (&asked.peer, self.node.trust());
        let meant = asked.introduce
            || matches!(asked.sending, Sending::Ping)
            || peer == self.node.identity().agent()
            || trust.peer(peer).is_some()
            || self.node.drafts().any(|waiter| waiter.peer == peer)
            || self
                .node
                .pending(self.at().now)
                .any(|who| who.certificate.agent == *peer);
        match refused_to_introduce(&self.node, reach, peer).filter(|_| !meant) {
            Some(refusal) => Err(refusal),
            None => Ok(()),
        }
    }
}

/// Said of a sealed answer in the place of its body.
const SHUT: &str = "it was taken out of the inbox, and the log keeps it sealed: signet audit open";

/// A message that no earlier call made.
fn first((message_id, outcome): (MessageId, Outcome)) -> Once {
    Once {
        message_id,
        again: false,
        outcome,
    }
}

/// A message that its caller waits for.
struct Awaited {
    told: Told,
    /// Where it was when the wait began.
    state: State,
    wait: Duration,
    mailbox_after: Option<Duration>,
    reach: Arc<Reach>,
}

impl Awaited {
    /// What the caller hears; `None` where nobody knows.
    async fn end(
        self,
        fated: oneshot::Receiver<Fate>,
        is_stored: oneshot::Receiver<()>,
    ) -> Option<Sent> {
        let told = &self.told;
        let fate = tokio::select! {
            biased;
            fate = tokio::time::timeout(self.wait, fated) => fate,
            () = mailbox_suffices(is_stored, self.mailbox_after) => return Some(told.held()),
        };
        Some(match fate {
            // It waits in the inbox until the caller says that it has it.
            Ok(Ok(Fate::Answered(accepted))) => {
                let message = accepted.message();
                let seen = self.reach.sees_message(message);
                told.answered(seen.then(|| render::item(message, accepted.opened())))
            }
            Ok(Ok(Fate::Settled { state, offers })) => Sent {
                offers: state.needs_capability().then(|| render::names(&offers)),
                ..told.since(&state)
            },
            Ok(Ok(Fate::Left { state, stored })) => told.left(&state, stored),
            Ok(Err(_)) => return None,
            Err(_) => told.fate(&self.state),
        })
    }
}

/// Ends when the peer's mailbox holds the message and `after` is over; else never.
async fn mailbox_suffices(stored: oneshot::Receiver<()>, after: Option<Duration>) {
    if let Some(after) = after {
        let ((), stored) = tokio::join!(tokio::time::sleep(after), stored);
        if stored.is_ok() {
            return;
        }
    }
    std::future::pending().await
}
