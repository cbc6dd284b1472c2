//! `send` and `handoff.send`: a new message of ours, and waiting for what becomes of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use signet_api::{ApiError, Kind, Send, Sent};
use signet_proto::headers::Tier;
use signet_proto::ids::AgentId;
use signet_proto::node::{
    Accepted, CallerKey, Content, Continues, LocalError, Node, Sending, SentEnd, SentMessage,
    State, Turn, WaitsFor,
};
use signet_proto::time::Timestamp;
use tokio::sync::oneshot;

use crate::control::ReplySender;
use crate::reach::{Reach, Sees as _};
use crate::render;

use crate::daemon::action::{Action, SendResult, SendWaiter};

use super::history::answer_in_log;
use super::nearest::{refused_of, refused_to_introduce};
use super::outbox::SendReport;
use super::serve::{maybe_named, named, parse_key, parse_wait, refused, text_of};
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
        // A ping has no content: ignore a tier that is given with it.
        data_tier: tier_of(call.data_tier.filter(|_| call.kind != Kind::Ping))?,
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

/// The data tier that a call names. A number that is none is what it would be in the message: a header at fault.
pub(super) fn tier_of(number: Option<u8>) -> Result<Option<Tier>, ApiError> {
    let tier = number.map(Tier::parse).transpose();
    tier.map_err(|reason| refused(LocalError::Message(reason)))
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
    let at = state.at();
    let (reach, mut reply) = (&asker.caller.reach, asker.reply);
    let mut turn = state.node.turn(at);
    let made = match request.and_then(|request| make(&mut turn, request, reach)) {
        Ok(made) => made,
        Err(error) => return state.refuse(reply, error),
    };
    let (sent, report) = (made.sent, made.report);
    let name = sent.id.to_string();
    // `again`: an earlier call with the same key has made this message. It may have ended since, and then nothing would wake a
    // waiter, so look for its end now.
    let end = sent
        .again
        .then(|| turn.node().sent().end_of(sent.id, made.for_answer));
    // Answer at once where the message waits for more than a session: a person has to do something first. That can take days,
    // and no caller waits for so long.
    let for_people = report
        .waits_for
        .is_some_and(|waits_for| !matches!(waits_for, WaitsFor::Session | WaitsFor::Peer));
    let at_once = match end.flatten() {
        // The answer to this message was taken from the inbox earlier: read it from the log again. This call has no lines to
        // write.
        Some(SentEnd::AnswerTaken) => {
            let log = state.settings.audit_dir().clone();
            answer_again(log, made.peer, report, reach, reply);
            return Batch::nothing();
        }
        Some(SentEnd::Answered(answer)) => Some(report.answered(shown_to(reach, &answer))),
        Some(SentEnd::Settled { state, offers }) => Some(Sent {
            offers: offers.map(|offers| render::names(&offers)),
            ..report.since(&state)
        }),
        None if made.wait.is_zero() || for_people => Some(report.so_far(&sent.state)),
        None => None,
    };
    if let Some(answer) = at_once {
        return state.answer::<Send>(at.now, Ok((answer, sent.outcome)), reply, Some(&name));
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
        report,
        state: sent.state,
        wait: made.wait,
        mailbox_after: made.mailbox_after,
        reach: reach.clone(),
    };
    tokio::spawn(async move {
        // `None`: nobody knows whether the log holds the message durably. Then the reply is dropped unsent, which tells the
        // caller that the outcome is unknown.
        if let Some(sent) = awaited.end(ended, is_stored).await {
            reply.send(text_of::<Send>(&sent));
        }
    });
    // Register the waiter before the message leaves: a receipt that comes at once then finds it.
    Batch::of(at.now, sent.outcome).and_before(Action::Wait(sent.id, waiter))
}

/// A message of ours that the node has just made, or made for an earlier call, and how its caller waits for it.
struct MadeMessage {
    peer: AgentId,
    sent: SentMessage,
    report: SendReport,
    /// An agent may take its time with a handoff; that it has arrived is enough.
    for_answer: bool,
    wait: Duration,
    mailbox_after: Option<Duration>,
}

fn make(turn: &mut Turn<'_>, request: SendRequest, reach: &Reach) -> Result<MadeMessage, ApiError> {
    refuse_mistyped(turn.node(), turn.now(), &request, reach)?;
    let for_answer = matches!(request.sending, Sending::Request(_) | Sending::Ping);
    let (peer, sending) = (request.peer, request.sending);
    let sent = match &request.key {
        Some(key) => turn.sent().send_once(&peer, sending, key),
        None => turn.sent().send(&peer, sending),
    };
    let sent = sent.map_err(|error| refused_of(turn.node(), reach, error))?;
    Ok(MadeMessage {
        report: SendReport::of(&sent),
        peer,
        sent,
        for_answer,
        wait: request.wait,
        mailbox_after: request.mailbox_after,
    })
}

/// An answer as its caller may see it.
fn shown_to(reach: &Reach, answer: &Accepted) -> Option<signet_api::Message> {
    let message = answer.message();
    let seen = reach.sees_message(message);
    seen.then(|| render::item(message, answer.opened()))
}

/// Reads the answer in the log, beside the event loop. What is sealed there stays shut.
fn answer_again(
    log: PathBuf,
    peer: AgentId,
    report: SendReport,
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
        reply.send(text_of::<Send>(&report.answered(shown)));
    });
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
        || node.sent().drafts().any(|waiter| waiter.peer == peer)
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
            // Look at the message's end first: it tells the caller more than that a mailbox holds the message.
            biased;
            result = tokio::time::timeout(self.wait, ended) => result,
            () = mailbox_suffices(is_stored, self.mailbox_after) => return Some(report.held()),
        };
        Some(match result {
            // The answer to a request also stays in the inbox until the caller acknowledges it, so it is not lost with this
            // reply. The answer to a ping is kept nowhere else: whoever misses it can ping again.
            Ok(Ok(SendResult::Answered(answer))) => report.answered(shown_to(&self.reach, &answer)),
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
        // Wait for `after` even where the mailbox confirms at once: a peer that is online has that long to give the caller a
        // real answer.
        let ((), stored) = tokio::join!(tokio::time::sleep(after), stored);
        if stored.is_ok() {
            return;
        }
    }
    std::future::pending().await
}
