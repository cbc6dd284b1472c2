//! Our requests that are open: who may answer which, and until when.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::envelope::Message;
use crate::headers::{Headers, MessageType, Tier};
use crate::ids::{AgentId, MessageId, Version};
use crate::policy::PING;
use crate::progress::Progress;
use crate::reject::Reason;
use crate::time::Timestamp;

use super::progress::Progressed;

/// How many requests of ours may be open at once.
const OPEN_REQUESTS: usize = 10_000;
/// A request stays open this long after it expires, for an answer that was on its way.
const OPEN_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);
/// Nobody waits for a late sign of life.
const PING_AFTER: Duration = Duration::from_secs(60);

/// Our requests that are not answered, by name.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct Requests(BTreeMap<MessageId, OpenRequest>);

/// A request of ours that is not answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::node) struct OpenRequest {
    peer: AgentId,
    tier: Tier,
    closes: Timestamp,
    /// Whether it was sent in a session in which the peer can tell of progress.
    #[serde(default)]
    tells: bool,
    #[serde(default)]
    progress: Option<Progressed>,
    /// Whether it is a ping: its answer is no message for our agent, and nobody looks for a late one.
    #[serde(default)]
    ping: bool,
    /// Why the last answer was refused that its peer gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused_answer: Option<Reason>,
}

impl OpenRequest {
    pub(in crate::node) fn peer(&self) -> &AgentId {
        &self.peer
    }

    pub(in crate::node) fn tier(&self) -> Tier {
        self.tier
    }

    /// Until when an answer is taken.
    pub(in crate::node) fn closes(&self) -> Timestamp {
        self.closes
    }

    pub(in crate::node) fn is_ping(&self) -> bool {
        self.ping
    }

    pub(in crate::node) fn refused_answer(&self) -> Option<Reason> {
        self.refused_answer
    }

    pub(super) fn progress(&self) -> Option<&Progressed> {
        self.progress.as_ref()
    }

    /// Whether the peer's agent has taken it; `None` where the peer cannot tell because it was sent in a session of
    /// version 1.0.0.
    pub(super) fn is_taken(&self) -> Option<bool> {
        let tells = self.progress.is_some() || self.tells;
        tells.then_some(self.progress.is_some())
    }
}

impl Requests {
    /// A request of ours that is not answered.
    pub(in crate::node) fn get(&self, name: MessageId) -> Option<&OpenRequest> {
        self.0.get(&name)
    }

    /// Every request that is open, by name.
    pub(in crate::node) fn iter(&self) -> impl Iterator<Item = (&MessageId, &OpenRequest)> {
        self.0.iter()
    }

    /// A share for each peer, so that a silent one does not keep us from asking the others.
    pub(super) fn has_room(&self, now: Timestamp, peer: &AgentId) -> bool {
        let share = OPEN_REQUESTS / 4;
        // If fewer requests are open than a single peer's share, no peer can have used up its share: skip the counting.
        if self.0.len() < share {
            return true;
        }
        let open = || self.0.values().filter(|open| now < open.closes);
        let of_peer = || open().filter(|open| open.peer == *peer).count();
        let all = open().count();
        all < OPEN_REQUESTS && (all < share || of_peer() < share)
    }

    /// A response is taken only for an open request of ours, from the agent we asked, once; progress
    /// likewise, as often as it comes before that.
    pub(in crate::node) fn rule(&self, now: Timestamp, message: &Message) -> Result<(), Reason> {
        if !message.form.belongs_to_request() {
            return Ok(());
        }
        let headers = &message.headers;
        let open = headers.in_reply_to.and_then(|request| self.0.get(&request));
        match open.filter(|open| now < open.closes && open.peer == headers.agent_id) {
            None => Err(Reason::ResponseUnsolicited),
            Some(open) if headers.data_tier < open.tier => Err(Reason::TierLowered),
            Some(_) => Ok(()),
        }
    }

    /// A call of ours waits for an answer. A full table forgets what closes first: no clock, which may be far
    /// ahead for a moment, parts what the node remembers from what its log says.
    pub(in crate::node) fn apply_sent(&mut self, headers: &Headers) {
        let ping = matches!(&headers.capability, Some(name) if name.as_str() == PING);
        let patience = if ping { PING_AFTER } else { OPEN_AFTER };
        if self.0.len() >= OPEN_REQUESTS {
            let ends = self.0.iter().min_by_key(|(_, open)| open.closes);
            let first = ends.map(|(name, _)| *name);
            first.and_then(|name| self.0.remove(&name));
        }
        let open = OpenRequest {
            peer: headers.recipient_id.clone(),
            tier: headers.data_tier,
            closes: headers.expires_at.saturating_add(patience),
            tells: headers.version >= Version::PROGRESS,
            progress: None,
            ping,
            refused_answer: None,
        };
        self.0.insert(headers.message_id, open);
    }

    /// A request of ours is answered.
    pub(in crate::node) fn apply_answer(&mut self, request: MessageId) -> Option<OpenRequest> {
        self.0.remove(&request)
    }

    /// Nobody can answer it.
    pub(in crate::node) fn never_left(&mut self, request: MessageId) {
        self.0.remove(&request);
    }

    /// Whoever asked can see that there was an answer.
    pub(in crate::node) fn apply_refused(&mut self, headers: &Headers, reason: Reason) {
        let request = headers.in_reply_to;
        let request = request.filter(|_| headers.message_type == MessageType::Response);
        let open = request.and_then(|request| self.0.get_mut(&request));
        if let Some(open) = open.filter(|open| open.peer == headers.agent_id) {
            open.refused_answer = Some(reason);
        }
    }

    /// What an accepted line of progress changes. Nothing of what came sealed stands outside its box.
    pub(in crate::node) fn apply_progress(&mut self, message: &Message, told: Option<&Progress>) {
        let headers = &message.headers;
        let open = headers.in_reply_to.and_then(|id| self.0.get_mut(&id));
        let Some(open) = open else { return };
        let known = open.progress.as_ref();
        // A progress message may overtake an earlier one: keep the one that was signed last.
        if known.is_some_and(|known| known.since > headers.timestamp) {
            return;
        }
        let told = told.filter(|_| !headers.data_tier.is_sealed());
        open.progress = Some(Progressed {
            since: headers.timestamp,
            message_id: headers.message_id,
            tier: headers.data_tier,
            state: told.map(|told| told.state),
            note: told.and_then(|told| told.note.clone()),
        });
    }

    /// The peer is trusted no more. Gives back what it was asked.
    pub(super) fn cut(&mut self, peer: &AgentId) -> Vec<MessageId> {
        let asked = self.0.iter().filter(|(_, open)| open.peer == *peer);
        let asked = asked.map(|(name, _)| *name).collect();
        self.0.retain(|_, open| open.peer != *peer);
        asked
    }

    /// Puts back a request as it was remembered.
    pub(in crate::node) fn put_back(&mut self, name: MessageId, open: OpenRequest) {
        self.0.insert(name, open);
    }
}
