//! What waits to leave for each peer, and until when.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signet_json::Value;

use crate::draft::Draft;
use crate::ids::{AgentId, KeyId, MessageId};
use crate::reject::Reason;
use crate::time::Timestamp;

/// How many drafts may wait for one peer.
const DRAFTS: usize = 1_024;

/// Our drafts, by peer. A peer for whom nothing waits has no entry.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct Drafts {
    of_peers: BTreeMap<AgentId, PeerDrafts>,
    /// When the first of each peer's ends, or may have room.
    due: BTreeSet<(Timestamp, AgentId)>,
}

/// Those for one peer.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct PeerDrafts {
    /// The oldest first.
    waiting: VecDeque<Waiting>,
    /// Drafts whose content cannot be opened any more.
    lost: Vec<(MessageId, Reason)>,
    /// Until when they wait for room in the budget that the peer granted, or for its offers. A start forgets it.
    room_at: Option<Timestamp>,
}

/// A draft and when its life ends.
#[derive(Clone, Debug)]
pub(in crate::node) struct Waiting {
    // Share the draft by an `Arc`, so that a snapshot for the state copies no drafts: copying all of them would stop the event
    // loop for too long.
    pub(in crate::node) draft: Arc<Draft>,
    pub(in crate::node) until: Timestamp,
    /// The draft as its line holds it: what was sealed is sealed.
    pub(in crate::node) value: Arc<Value>,
    /// When its person must approve it.
    pub(in crate::node) approval: Option<Approving>,
    /// Whether it is for the only capability that the peer will turn out to offer. A start forgets it.
    pub(super) finds: Finds,
}

/// Whether a request that waits for a session finds its capability in it, and since when it waits there for an offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Finds {
    /// It names one, or is for the peer's people.
    #[default]
    Nothing,
    /// It does, when there is a session.
    Offer,
    /// There has been a session since then, by the clock that nobody sets, and nothing was offered in it yet that the request is
    /// for.
    OfferSince(Duration),
}

/// A draft that its person must approve.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::node) struct Approving {
    /// The root key that the recipient is bound to; it must be the same when the draft leaves.
    pub(super) root: KeyId,
    pub(super) granted: bool,
}

impl Approving {
    /// It waits for an approval that rests on this root key.
    pub(in crate::node) const fn by(root: KeyId) -> Self {
        let granted = false;
        Self { root, granted }
    }
}

impl Waiting {
    /// A draft as its line, or its row, holds it.
    pub(in crate::node) fn of(
        draft: Draft,
        value: Value,
        until: Timestamp,
        approval: Option<Approving>,
    ) -> Self {
        Self {
            draft: Arc::new(draft),
            until,
            value: Arc::new(value),
            approval,
            finds: Finds::default(),
        }
    }

    /// Whether no person has to decide about it any more.
    pub(super) fn is_approved(&self) -> bool {
        let approval = self.approval.as_ref();
        approval.is_none_or(|approval| approval.granted)
    }
}

impl PeerDrafts {
    /// What waits, the oldest first.
    pub(in crate::node) fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn due(&self) -> Option<Timestamp> {
        let ends = self.waiting.iter().map(|waiting| waiting.until);
        let room = self.room_at.filter(|_| !self.waiting.is_empty());
        ends.chain(room).min()
    }
}

impl Drafts {
    /// Everything that waits, by peer.
    pub(in crate::node) fn iter(&self) -> impl Iterator<Item = (&AgentId, &PeerDrafts)> {
        self.of_peers.iter()
    }

    /// Those for a peer whose content cannot be opened any more, and why.
    pub(in crate::node) fn lost(&self, peer: &AgentId) -> &[(MessageId, Reason)] {
        self.of_peers.get(peer).map_or(&[], |drafts| &drafts.lost)
    }

    /// For whom a draft waits.
    pub(super) fn owner_of(&self, name: MessageId) -> Option<&AgentId> {
        let mut peers = self.of_peers.iter();
        let is_named = |waiting: &Waiting| waiting.draft.message_id == name;
        let found = peers.find(|(_, drafts)| drafts.waiting.iter().any(is_named));
        found.map(|(peer, _)| peer)
    }

    /// What waits for a peer, the oldest first.
    pub(in crate::node) fn of(&self, peer: &AgentId) -> impl Iterator<Item = &Waiting> {
        self.of_peers
            .get(peer)
            .into_iter()
            .flat_map(PeerDrafts::waiting)
    }

    /// The next draft that may leave now, whatever waits before it for a person.
    pub(in crate::node) fn next(&self, peer: &AgentId) -> Option<&Waiting> {
        self.of(peer).find(|waiting| waiting.is_approved())
    }

    /// Whether one more may wait for the peer.
    pub(super) fn has_room(&self, peer: &AgentId) -> bool {
        let waiting = self
            .of_peers
            .get(peer)
            .map_or(0, |drafts| drafts.waiting.len());
        waiting < DRAFTS
    }

    /// When the life of one ends, or there may be room for one.
    pub(in crate::node) fn due(&self) -> Option<Timestamp> {
        self.due.first().map(|(due, _)| *due)
    }

    /// For whom one is over by then, or may have room.
    pub(in crate::node) fn due_by(&self, now: Timestamp) -> impl Iterator<Item = &AgentId> {
        let due = self.due.iter().take_while(move |(due, _)| *due <= now);
        due.map(|(_, peer)| peer)
    }

    /// They leave when there is room, and no earlier; or as soon as they can.
    pub(super) fn wait_until(&mut self, peer: &AgentId, room_at: Option<Timestamp>) {
        self.change(peer, |drafts| drafts.room_at = room_at);
    }

    /// A draft waits.
    pub(super) fn add(&mut self, peer: &AgentId, waiting: Waiting) {
        self.of_peers.entry(peer.clone()).or_default();
        self.change(peer, |drafts| drafts.waiting.push_back(waiting));
    }

    /// A draft waits whose content cannot be opened.
    pub(in crate::node) fn lose(&mut self, peer: &AgentId, name: MessageId, why: Reason) {
        let drafts = self.of_peers.entry(peer.clone()).or_default();
        drafts.lost.push((name, why));
    }

    /// A draft was sent, or came to an end.
    pub(in crate::node) fn remove(&mut self, peer: &AgentId, name: MessageId) {
        self.change(peer, |drafts| {
            let waiting = &mut drafts.waiting;
            waiting.retain(|waiting| waiting.draft.message_id != name);
            drafts.lost.retain(|(lost, _)| *lost != name);
        });
    }

    /// Changes those for a peer, where there are any.
    fn change(&mut self, peer: &AgentId, change: impl FnOnce(&mut PeerDrafts)) {
        let Some(drafts) = self.of_peers.get_mut(peer) else {
            return;
        };
        let before = drafts.due();
        change(drafts);
        let after = drafts.due();
        if drafts.waiting.is_empty() && drafts.lost.is_empty() {
            self.of_peers.remove(peer);
        }
        // If the earliest due time is the same as before, the index needs no change: most changes are to drafts that wait
        // behind the first one.
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.due.remove(&(before, peer.clone()));
        }
        if let Some(after) = after {
            self.due.insert((after, peer.clone()));
        }
    }

    /// Nothing for the peer waits any more but what cannot be opened, which ends when the log has been told. Gives
    /// back the names of what waited.
    pub(super) fn drain(&mut self, peer: &AgentId) -> Vec<MessageId> {
        let names: Vec<_> = self
            .of(peer)
            .map(|waiting| waiting.draft.message_id)
            .collect();
        for name in &names {
            self.remove(peer, *name);
        }
        names
    }

    /// A request that waits for a session, and names no capability, is for the only one that the peer offers in it. What its
    /// person approved leaves as it was approved.
    pub(super) fn find_with_session(&mut self, peer: &AgentId, name: MessageId) {
        let waiting = self.named(peer, name);
        if let Some(waiting) = waiting.filter(|waiting| waiting.approval.is_none()) {
            waiting.finds = Finds::Offer;
        }
    }

    /// The draft of that name, to note what was decided about it.
    pub(super) fn named(&mut self, peer: &AgentId, name: MessageId) -> Option<&mut Waiting> {
        let mut waiting = self.of_peers.get_mut(peer)?.waiting.iter_mut();
        waiting.find(|waiting| waiting.draft.message_id == name)
    }
}
