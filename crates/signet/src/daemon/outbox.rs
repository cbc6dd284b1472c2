//! Where our messages are: what the control socket says of them.

use serde::Deserialize;
use serde_json::{Value, json};
use signet_api::Reason;
use signet_proto::handoff::TaskId;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{Node, Outgoing, Progressed, State, WaitsFor};

use crate::control::ApiError;

use super::heart::Heart;
use super::listing::{MESSAGES, page};
use super::params::{MessageParams, named, parse, parse_given};

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct OutboxParams {
    /// Only what is for this agent.
    peer: Option<String>,
    /// How many were already seen.
    skip: usize,
}

impl Heart {
    /// `outbox.list`: everything of ours that is not settled, by peer, oldest first.
    pub(super) fn outbox(&self, params: Value) -> Result<Value, ApiError> {
        let params = parse_given::<OutboxParams>(params)?;
        let peer = params.peer.as_deref();
        let peer = peer
            .map(|peer| named::<AgentId>("peer", peer))
            .transpose()?;
        let fits = |out: &Outgoing| peer.as_ref().is_none_or(|peer| *peer == out.peer);
        let waiting = self.node.outbox().filter(fits).count();
        let listed = self.node.outbox().filter(fits).skip(params.skip);
        let listed = listed.map(|out| self.outgoing(&out));
        Ok(json!({"messages": page(listed, MESSAGES), "waiting": waiting}))
    }

    /// `message.status`: where one message of ours is.
    pub(super) fn whereabouts(&self, params: Value) -> Result<Value, ApiError> {
        let name = parse::<MessageParams>(params)?.message_id;
        let name = named::<MessageId>("message-id", &name)?;
        let out = self.node.status(name);
        out.map(|out| self.outgoing(&out))
            .ok_or_else(|| self.not_ours(name))
    }

    fn not_ours(&self, name: MessageId) -> ApiError {
        let text = match self.node.inbox().named(name).first() {
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

    fn outgoing(&self, out: &Outgoing) -> Value {
        let mut shown = json!({
            "message-id": out.message_id.to_string(),
            "peer": out.peer.as_str(),
            "state": out.state.as_str(),
            "since": out.since.to_string(),
        });
        let Some(members) = shown.as_object_mut() else {
            return shown;
        };
        let mut put = |name: &str, value: Option<Value>| {
            value.map(|value| members.insert(name.into(), value))
        };
        put("reason", out.state.why().map(Into::into));
        put("by", out.state.by().map(Into::into));
        put("waits-for", self.obstacle(out).map(Into::into));
        let held_by = |waits_for| held_by(&self.node, &out.peer, waits_for);
        put("held-by", out.waits_for.and_then(held_by));
        put("expires", out.expires.map(|time| time.to_string().into()));
        put("type", out.message_type.map(|kind| kind.as_str().into()));
        put(
            "session",
            out.place.map(|(session, _)| session.to_string().into()),
        );
        put("sequence", out.place.map(|(_, number)| number.into()));
        let published = out.state == State::Published;
        put("stored", published.then(|| out.stored.into()));
        let taken = self.node.is_taken(out.message_id);
        let received = out.state == State::Received;
        put("taken", taken.filter(|_| received).map(Into::into));
        let told = self.node.progress_of(out.message_id);
        put("progress", told.map(progress));
        shown
    }

    /// What keeps a message here. A signed one that nothing keeps goes out by itself.
    fn obstacle(&self, out: &Outgoing) -> Option<&'static str> {
        let connected = self.carriers.is_any_connected();
        match (&out.state, out.waits_for) {
            (State::Queued, Some(WaitsFor::Session)) if !connected => Some(CONNECTION),
            (State::Queued, Some(waits_for)) => Some(waits_for.as_str()),
            (State::Queued, None) if self.node.pausing().is_paused() => {
                Some(WaitsFor::Resume.as_str())
            }
            (State::Queued, None) if !connected => Some(CONNECTION),
            _ => None,
        }
    }
}

/// What the peer's agent told last of a request of ours.
fn progress(told: &Progressed) -> Value {
    let mut shown = json!({"since": told.since.to_string()});
    if let Some(state) = told.state {
        shown = with(shown, "state", state.as_str());
    }
    match &told.note {
        Some(note) => with(shown, "note", note.as_str()),
        None => shown,
    }
}

/// What a caller hears of a message of ours.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) message_id: MessageId,
    pub(super) task: Option<TaskId>,
    pub(super) waits_for: Option<WaitsFor>,
    pub(super) held_by: Option<Value>,
}

impl Told {
    fn now(&self, state: &str) -> Value {
        let value = json!({"message-id": self.message_id.to_string(), "state": state});
        match self.task {
            Some(task) => with(value, "task", task.to_string()),
            None => value,
        }
    }

    /// What became of it since.
    pub(super) fn since(&self, state: &State) -> Value {
        let mut value = self.now(state.as_str());
        if let Some(why) = state.why() {
            value = with(value, "reason", why);
        }
        match state.by() {
            Some(by) => with(value, "by", by),
            None => value,
        }
    }

    /// It was answered, by that.
    pub(super) fn answered(&self, answer: Value) -> Value {
        with(self.now("answered"), "answer", answer)
    }

    /// The peer's mailbox holds it, and nothing else was heard.
    pub(super) fn held(&self) -> Value {
        with(self.since(&State::Published), "stored", true)
    }

    /// Where it was when the daemon stopped, which is what the caller hears in the place of an end.
    pub(super) fn left(&self, state: &State, stored: bool) -> Value {
        let value = match state {
            State::Queued => self.fate(state),
            State::Published => with(self.since(state), "stored", stored),
            _ => self.since(state),
        };
        with(value, "stopping", true)
    }

    /// Where it is still, and for what it waits.
    pub(super) fn fate(&self, state: &State) -> Value {
        let value = match self.waits_for {
            Some(waits_for) => with(self.since(state), "waits-for", waits_for.as_str()),
            None => self.since(state),
        };
        match &self.held_by {
            Some(agents) => with(value, "held-by", agents.clone()),
            None => value,
        }
    }
}

fn with(mut value: Value, name: &str, member: impl Into<Value>) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.insert(name.into(), member.into());
    }
    value
}

/// Whose alarm holds back what is for `peer`, where it waits for that.
pub(super) fn held_by(node: &Node, peer: &AgentId, waits_for: WaitsFor) -> Option<Value> {
    let agents = node.held_by(peer);
    let agents = agents.into_iter().map(AgentId::as_str);
    (waits_for == WaitsFor::Alarm).then(|| agents.collect())
}

/// What a message waits for that nothing but the network keeps here.
const CONNECTION: &str = "connection";
