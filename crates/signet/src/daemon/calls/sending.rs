//! `send` and `handoff.send`: a new message of ours, and waiting for what becomes of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use signet_api::{ApiError, Kind, Send, Sent};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{
    At, CallerKey, Content, Continues, Effect, Node, Once, Outcome, Sending, State, WaitsFor,
};
use signet_proto::time::Timestamp;
use tokio::sync::oneshot;

use crate::control::ReplySender;
use crate::reach::{Reach, Sees as _};
use crate::render;

use crate::daemon::action::{Action, SendResult, SendWaiter};

use super::history::answer_in_log;
use super::nearest::{refused_of, refused_to_introduce};
use super::outbox::{SendReport, held_by, offers_beside, task_of};
use super::serve::{maybe_named, named, parse_key, parse_wait, value_of};
use super::{AnswerCall, Asker, Batch, DaemonState};

/// What a caller wants to be sent, and how long it waits.
pub(super) struct SendRequest {
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

pub(super) fn parse_send(call: Send) -> Result<SendRequest, ApiError> {
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
    Ok(SendRequest {
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

impl AnswerCall for Send {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        send(state, parse_send(self), asker)
    }
}

/// Sends, and answers when that is durable or when something came of it.
pub(super) fn send(
    state: &mut DaemonState,
    request: Result<SendRequest, ApiError>,
    asker: Asker<'_>,
) -> Batch {
    let now = state.at().now;
    let (reach, mut reply) = (&asker.caller.reach, asker.reply);
    let made = match request.and_then(|request| make(state, now, request, reach)) {
        Ok(made) => made,
        Err(error) => return state.refuse(reply, error),
    };
    let node = &state.node;
    let message_id = made.report.message_id;
    let name = message_id.to_string();
    if made.again && has_taken_answer(node, message_id) {
        let log = state.settings.audit_dir().clone();
        answer_again(log, (made.peer, made.report), reach, reply);
        return Batch::nothing();
    }
    let end = || end_of(node, message_id, made.for_answer, &made.report, reach);
    // Nobody waits at a terminal for what people decide first.
    let for_people = made
        .report
        .waits_for
        .is_some_and(|waits_for| waits_for != WaitsFor::Session);
    let at_once = match made.again.then(end).flatten() {
        None if made.wait.is_zero() || for_people => Some(made.report.so_far(&made.state)),
        end => end,
    };
    if let Some(sent) = at_once {
        return state.answer::<Send>(now, Ok((sent, made.outcome)), reply, Some(&name));
    }
    reply.in_doubt(Some(&name));
    let (result, ended) = oneshot::channel();
    let (stored, is_stored) = oneshot::channel();
    let waiter = SendWaiter {
        result,
        for_answer: made.for_answer,
        on_stored: Some(stored),
        state: State::Queued,
    };
    let awaited = AwaitedSend {
        report: made.report,
        state: made.state,
        wait: made.wait,
        mailbox_after: made.mailbox_after,
        reach: reach.clone(),
    };
    tokio::spawn(async move {
        // Its line may be durable or not: a reply that is dropped says so by itself.
        if let Some(sent) = awaited.end(ended, is_stored).await {
            reply.send(value_of::<Send>(&sent));
        }
    });
    Batch::of(now, made.outcome).and_before(Action::Wait(message_id, waiter))
}

/// A message of ours that the node has just made, or made for an earlier call.
struct MadeMessage {
    peer: AgentId,
    report: SendReport,
    /// Where it is now.
    state: State,
    again: bool,
    outcome: Outcome,
    /// An agent may take its time with a handoff; that it has arrived is enough.
    for_answer: bool,
    wait: Duration,
    mailbox_after: Option<Duration>,
}

fn make(
    state: &mut DaemonState,
    now: Timestamp,
    request: SendRequest,
    reach: &Reach,
) -> Result<MadeMessage, ApiError> {
    let at = At { now, ..state.at() };
    let node = &mut state.node;
    refuse_mistyped(node, now, &request, reach)?;
    let for_answer = matches!(request.sending, Sending::Request(_) | Sending::Ping);
    let peer = request.peer;
    let sent = match &request.key {
        Some(key) => node.handle_send_once(at, &peer, request.sending, key),
        None => node.handle_send(at, &peer, request.sending).map(first),
    };
    let Once {
        message_id,
        again,
        outcome,
    } = sent.map_err(|error| refused_of(node, reach, error))?;
    let waits_for = waits_for(node, message_id);
    let is_publish = |effect: &Effect| matches!(effect, Effect::Publish(_));
    let left = outcome.effects.iter().any(is_publish) && waits_for.is_none();
    Ok(MadeMessage {
        report: SendReport {
            message_id,
            task: task_of(node, message_id),
            waits_for,
            held_by: waits_for.and_then(|waits_for| held_by(node, &peer, waits_for)),
        },
        state: match left && state.connections.is_any_connected() {
            true => State::Published,
            false => State::Queued,
        },
        peer,
        again,
        outcome,
        for_answer,
        wait: request.wait,
        mailbox_after: request.mailbox_after,
    })
}

/// Whether the answer to a message of ours has been taken out of the inbox by its agent: the log alone has it. While
/// the agents pause nobody is given any.
fn has_taken_answer(node: &Node, message_id: MessageId) -> bool {
    let out = node.status(message_id);
    let (inbox, answers) = (node.inbox(), Some(message_id));
    let waits = inbox.after(0).map(|item| item.message.headers.in_reply_to);
    let aside = inbox.all_aside().map(|gone| gone.in_reply_to);
    !node.people().pausing().is_paused()
        && out.is_some_and(|out| out.state == State::Answered)
        && waits.chain(aside).all(|reply_to| reply_to != answers)
}

/// Reads the answer in the log, beside the event loop. What is sealed there stays shut.
fn answer_again(
    log: PathBuf,
    (peer, report): (AgentId, SendReport),
    reach: &Arc<Reach>,
    reply: ReplySender,
) {
    let reach = Arc::clone(reach);
    tokio::spawn(async move {
        let answer = answer_in_log(log, peer, report.message_id).await;
        let seen = answer.filter(|answer| reach.sees_message(answer));
        let shown = seen.map(|answer| signet_api::Message {
            shut: answer.sealed.is_some().then(|| SHUT.to_owned()),
            ..render::item(&answer, None)
        });
        reply.send(value_of::<Send>(&report.answered(shown)));
    });
}

/// What became of a message that an earlier call made: nothing as long as something may still follow
/// that its caller waits for.
fn end_of(
    node: &Node,
    message_id: MessageId,
    for_answer: bool,
    report: &SendReport,
    reach: &Reach,
) -> Option<Sent> {
    let out = node.status(message_id)?;
    let items = node.inbox().after(0);
    let mut answers = items.filter(|item| item.message.headers.in_reply_to == Some(message_id));
    // While the agents pause, what came is handed to nobody.
    let is_paused = node.people().pausing().is_paused();
    if let Some(answer) = answers
        .next()
        .filter(|_| out.state == State::Answered && !is_paused)
    {
        let (message, seen) = (&answer.message, reach.sees_message(&answer.message));
        let shown = || render::item(message, node.opened(message).as_ref());
        return Some(report.answered(seen.then(shown)));
    }
    let goes_on = !out.state.is_settled() || (for_answer && out.state == State::Received);
    (!goes_on).then(|| Sent {
        offers: offers_beside(node, &out),
        ..report.since(&out.state)
    })
}

/// What a message that could not leave at once waits for.
fn waits_for(node: &Node, message_id: MessageId) -> Option<WaitsFor> {
    let mut drafts = node.drafts();
    let waiter = drafts.find(|waiter| waiter.draft.message_id == message_id);
    waiter.map(|waiter| waiter.waits_for)
}

/// Mail for somebody unknown waits for days: an id that resembles a known one is a slip first.
fn refuse_mistyped(
    node: &Node,
    now: Timestamp,
    request: &SendRequest,
    reach: &Reach,
) -> Result<(), ApiError> {
    let (peer, trust) = (&request.peer, node.trust());
    let meant = request.introduce
        || matches!(request.sending, Sending::Ping)
        || peer == node.identity().agent()
        || trust.peer(peer).is_some()
        || node.drafts().any(|waiter| waiter.peer == peer)
        || node
            .people()
            .pending(now)
            .any(|who| who.certificate.agent == *peer);
    match refused_to_introduce(node, reach, peer).filter(|_| !meant) {
        Some(refusal) => Err(refusal),
        None => Ok(()),
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
struct AwaitedSend {
    report: SendReport,
    /// Where it was when the wait began.
    state: State,
    wait: Duration,
    mailbox_after: Option<Duration>,
    reach: Arc<Reach>,
}

impl AwaitedSend {
    /// What the caller hears; `None` where nobody knows.
    async fn end(
        self,
        ended: oneshot::Receiver<SendResult>,
        is_stored: oneshot::Receiver<()>,
    ) -> Option<Sent> {
        let report = &self.report;
        let result = tokio::select! {
            biased;
            result = tokio::time::timeout(self.wait, ended) => result,
            () = mailbox_suffices(is_stored, self.mailbox_after) => return Some(report.held()),
        };
        Some(match result {
            // It waits in the inbox until the caller says that it has it.
            Ok(Ok(SendResult::Answered(accepted))) => {
                let message = accepted.message();
                let seen = self.reach.sees_message(message);
                report.answered(seen.then(|| render::item(message, accepted.opened())))
            }
            Ok(Ok(SendResult::Settled { state, offers })) => Sent {
                offers: state.needs_capability().then(|| render::names(&offers)),
                ..report.since(&state)
            },
            Ok(Ok(SendResult::Left { state, stored })) => report.left(&state, stored),
            Ok(Err(_)) => return None,
            Err(_) => report.so_far(&self.state),
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
