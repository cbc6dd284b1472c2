//! Where our messages are: what the sockets say of them.

use signet_api::{
    ApiError, FindMessage, FoundMessage, ListOutbox, Message, Outbox, ProgressState, Reason, Sent,
    ShowMessage, ToldProgress,
};
use signet_proto::handoff::TaskId;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{Node, Outgoing, Progressed, SentMessage, State, WaitsFor};
use signet_proto::progress::ProgressState as Word;

use crate::reach::Reach;
use crate::render;

use super::listing::{MESSAGES, page};
use super::serve::{maybe_named, named, parse_key};
use super::{AnswerCall, Asker, Batch, DaemonState};

impl AnswerCall for ListOutbox {
    /// Everything of ours that is not settled, by peer, oldest first.
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let listed = outbox(state, &self, &asker.caller.reach);
        state.show::<Self>(listed, asker.reply)
    }
}

impl AnswerCall for ShowMessage {
    /// Where one message of ours is.
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let node = &state.node;
        let connected = state.connections.is_any_connected();
        let found = named::<MessageId>("message-id", &self.message_id).and_then(|name| {
            let out = node.sent().status(name);
            out.map(|out| outgoing(node, connected, &asker.caller.reach, &out))
                .ok_or_else(|| not_ours(node, name))
        });
        state.show::<Self>(found, asker.reply)
    }
}

impl AnswerCall for FindMessage {
    /// The message that an earlier `send` with that key made.
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let (at, node, reach) = (state.at(), &state.node, &asker.caller.reach);
        let found = parse_key(&self.key).map(|key| {
            let is_seen = |name: &MessageId| match node.sent().status(*name) {
                Some(out) => reach.sees(&out.peer, out.tier.unwrap_or_default().number()),
                // The node has forgotten this message's peer and tier, so a caller's limits on them cannot be checked: show it
                // only to a caller without limits.
                None => reach.sees_everything(),
            };
            let made = node.sent().under(at.now, &key).filter(is_seen);
            FoundMessage {
                message_id: made.map(|name| name.to_string()),
            }
        });
        state.show::<Self>(found, asker.reply)
    }
}

fn outbox(state: &DaemonState, call: &ListOutbox, reach: &Reach) -> Result<Outbox, ApiError> {
    let peer = maybe_named::<AgentId>("peer", call.peer.as_deref())?;
    let (node, connected) = (&state.node, state.connections.is_any_connected());
    let fits = |out: &Outgoing| {
        reach.sees(&out.peer, out.tier.unwrap_or_default().number())
            && peer.as_ref().is_none_or(|peer| *peer == out.peer)
    };
    let listed = node.sent().outbox().filter(fits).skip(call.skip);
    let listed = listed.map(|out| outgoing(node, connected, reach, &out));
    Ok(Outbox {
        messages: page(listed, MESSAGES).collect(),
        waiting: node.sent().unsettled().filter(fits).count(),
    })
}

fn not_ours(node: &Node, name: MessageId) -> ApiError {
    let text = match node.inbox().named(name).next() {
        Some(message) => format!(
            "{name} is no message of this agent's own, but came from {}; signet inbox",
            message.headers.agent_id
        ),
        None => format!(
            "this agent remembers no message {name} of its own; the log has every one that it \
             ever sent: signet audit show"
        ),
    };
    ApiError::refused(Reason::MessageUnknown, text)
}

/// `connected` says whether any carrier is up. What the peer told of it may be above the tier of the message, and then is
/// nothing for whoever has that tier alone.
fn outgoing(node: &Node, connected: bool, reach: &Reach, out: &Outgoing) -> signet_api::Outgoing {
    let held_by = |waits_for| held_by(node, &out.peer, waits_for);
    let received = out.state == State::Received;
    let told = node.sent().progress_of(out.message_id);
    let told = told.filter(|told| reach.sees(&out.peer, told.tier.number()));
    let offers = node.sent().offers_beside(out);
    signet_api::Outgoing {
        message_id: out.message_id.to_string(),
        peer: out.peer.to_string(),
        state: render::state(&out.state),
        since: out.since.to_string(),
        reason: out.state.why().map(str::to_owned),
        by: render::by(&out.state),
        offers: offers.map(|offers| render::names(&offers)),
        waits_for: obstacle(node, connected, out),
        held_by: out.waits_for.and_then(held_by),
        expires: out.expires.map(|time| time.to_string()),
        message_type: out.message_type.map(|kind| kind.as_str().to_owned()),
        session: out.place.map(|(session, _)| session.to_string()),
        sequence: out.place.map(|(_, number)| number),
        stored: (out.state == State::Published).then_some(out.stored),
        taken: node.sent().is_taken(out.message_id).filter(|_| received),
        answer_refused: out.answer_refused.map(|reason| reason.name().to_owned()),
        progress: told.map(progress),
    }
}

/// What keeps a message here. A signed one that nothing keeps goes out by itself.
fn obstacle(node: &Node, connected: bool, out: &Outgoing) -> Option<signet_api::WaitsFor> {
    use signet_api::WaitsFor::{Connection, Resume};
    match (&out.state, out.waits_for) {
        (State::Queued, None | Some(WaitsFor::Peer)) if node.people().pausing().is_paused() => {
            Some(Resume)
        }
        (State::Queued, None | Some(WaitsFor::Session | WaitsFor::Peer)) if !connected => {
            Some(Connection)
        }
        (State::Queued, Some(waits_for)) => Some(render::waits_for(waits_for)),
        _ => None,
    }
}

/// What the peer's agent told last of a request of ours.
fn progress(told: &Progressed) -> ToldProgress {
    ToldProgress {
        since: told.since.to_string(),
        data_tier: Some(told.tier.number()),
        state: told.state.map(|state| match state {
            Word::Working => ProgressState::Working,
            Word::InputRequired => ProgressState::InputRequired,
        }),
        note: told.note.clone(),
    }
}

/// What a caller hears of a message of ours.
#[derive(Clone)]
pub(super) struct SendReport {
    pub(super) message_id: MessageId,
    pub(super) task: Option<TaskId>,
    pub(super) waits_for: Option<WaitsFor>,
    pub(super) held_by: Option<Vec<String>>,
}

impl SendReport {
    pub(super) fn of(sent: &SentMessage) -> Self {
        Self {
            message_id: sent.id,
            task: sent.task,
            waits_for: sent.waits_for,
            held_by: named_holders(&sent.held_by),
        }
    }

    fn now(&self, state: signet_api::State) -> Sent {
        Sent {
            task: self.task.map(|task| task.to_string()),
            ..Sent::new(self.message_id.to_string(), state)
        }
    }

    /// What became of the message since it was sent.
    pub(super) fn since(&self, state: &State) -> Sent {
        Sent {
            reason: state.why().map(str::to_owned),
            by: render::by(state),
            ..self.now(render::state(state))
        }
    }

    /// The message was answered; `answer` is `None` where the caller may not see it.
    pub(super) fn answered(&self, answer: Option<Message>) -> Sent {
        Sent {
            answer,
            ..self.now(signet_api::State::Answered)
        }
    }

    /// The peer's mailbox holds it, and nothing else was heard.
    pub(super) fn held(&self) -> Sent {
        Sent {
            stored: Some(true),
            ..self.since(&State::Published)
        }
    }

    /// Where it was when the daemon stopped, which is what the caller hears in the place of an end.
    pub(super) fn left(&self, state: &State, stored: bool) -> Sent {
        let mut sent = match state {
            State::Queued => self.so_far(state),
            State::Published
            | State::Expired
            | State::Unknown(_)
            | State::Received
            | State::Answered
            | State::Refused(_)
            | State::RefusedHere(_) => self.since(state),
        };
        sent.stored = (*state == State::Published)
            .then_some(stored)
            .or(sent.stored);
        sent.stopping = Some(true);
        sent
    }

    /// Where the message still is, and what it waits for.
    pub(super) fn so_far(&self, state: &State) -> Sent {
        Sent {
            waits_for: self.waits_for.map(render::waits_for),
            held_by: self.held_by.clone(),
            ..self.since(state)
        }
    }
}

/// Whose alarm holds back what is for `peer`, where it waits for that.
pub(super) fn held_by(node: &Node, peer: &AgentId, waits_for: WaitsFor) -> Option<Vec<String>> {
    named_holders(node.sent().held_by(peer, waits_for))
}

fn named_holders<'a>(holders: impl IntoIterator<Item = &'a AgentId>) -> Option<Vec<String>> {
    let holders: Vec<_> = holders.into_iter().map(ToString::to_string).collect();
    (!holders.is_empty()).then_some(holders)
}
