//! People's decisions in the log: under whose root key they stand, and whether what was sent had them.
//!
//! What a log proves of a draft: that its message left as the draft says, after the person's approval of
//! exactly this draft when the draft asks for one, and to the root key that it was approved for. For
//! which tiers the person wanted to be asked stands only in the drafts that ask.

use std::collections::{BTreeSet, HashMap, VecDeque};

use signet_json::{Limits, Map, Value, canonical, parse};
use signet_proto::entry::{ApprovalLine, Did, DraftLine, OutcomeLine};
use signet_proto::envelope::{Message, Method};
use signet_proto::ids::{AgentId, Digest, KeyId, MessageId};
use signet_proto::node::hash_of_draft;
use signet_proto::policy::PING;
use signet_proto::statement::{Decision, PauseStatement};

use super::KnownTrust;

/// Drafts that have not left, and the person's last word.
#[derive(Default)]
pub(super) struct DraftDecisions {
    drafts: HashMap<MessageId, WaitingDraft>,
    order: VecDeque<MessageId>,
    /// Whether drafts may wait of which no line is known: the log's first lines were not given, or there
    /// were too many to be remembered.
    is_partial: bool,
    /// The ranks (control certificate, statement) of the last pause or resume.
    obeyed: Option<(u64, u64)>,
    /// The tiers of drafts that asked for approval.
    asked: BTreeSet<u8>,
    /// Messages of such tiers that left without, whose draft, if there was one, did not ask.
    pub(super) unasked: u64,
    /// Decisions that stand under the own root key.
    pub(super) proven: u64,
    /// Decisions whose root key, or whose draft, stands in a part that was not given.
    pub(super) untied: u64,
}

struct WaitingDraft {
    peer: AgentId,
    approve: Option<KeyId>,
    /// The hash that a person's signature is about.
    hash: Digest,
    /// What the message has to say, where the decision fixes that.
    says: Option<Digest>,
    state: DraftState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DraftState {
    Waits,
    Approved,
    Ended,
}

impl DraftDecisions {
    /// The log's first lines were not given.
    pub(super) fn begin_within(&mut self) {
        self.is_partial = true;
    }

    pub(super) fn take_draft(&mut self, line: &DraftLine) -> Result<(), &'static str> {
        if line.approve.is_some() {
            self.asked.extend(tier_of(&line.message));
        }
        let waiting = WaitingDraft {
            peer: line.peer.clone(),
            approve: line.approve,
            hash: hash_of_draft(&line.message),
            says: content(line.message.clone()),
            state: DraftState::Waits,
        };
        if self.drafts.insert(line.message_id, waiting).is_some() {
            return Err(
                "a draft of this message-id waits already: the line is a copy, or one was put in",
            );
        }
        self.order.push_back(line.message_id);
        while self.order.len() > DRAFTS {
            let oldest = self.order.pop_front();
            let forgotten = oldest.and_then(|oldest| self.drafts.remove(&oldest));
            self.is_partial |= forgotten.is_some();
        }
        Ok(())
    }

    pub(super) fn take_outcome(&mut self, line: &OutcomeLine) {
        if let Did::DraftExpired | Did::DraftRefused = line.what
            && let Some(draft) = self.drafts.get_mut(&line.message_id)
        {
            draft.state = DraftState::Ended;
        }
    }

    pub(super) fn take_approval(
        &mut self,
        line: &ApprovalLine,
        authority: &KnownTrust,
    ) -> Result<(), &'static str> {
        self.take_control(authority.is_own_control(&line.approval.control))?;
        let control = line.approval.control.serial;
        // A new control certificate puts the older ones out of force: once a pause or resume under the new one was obeyed, an
        // approval under an older one is a fault.
        if self.obeyed.is_some_and(|(serial, _)| control < serial) {
            return Err(OUTRANKED);
        }
        let Some(draft) = self.drafts.get_mut(&line.message_id) else {
            return match self.is_partial {
                true => Ok(()),
                false => Err("it decides about a draft of which no line stands before it"),
            };
        };
        if draft.hash != line.approval.draft || draft.peer != line.peer {
            return Err(
                "it decides about another draft than the one that waits under this message-id",
            );
        }
        if draft.approve.is_none() || draft.state != DraftState::Waits {
            return Err("it decides about a draft that does not wait for a decision");
        }
        draft.state = match line.approval.decision {
            Decision::Approved => DraftState::Approved,
            Decision::Refused => DraftState::Ended,
        };
        Ok(())
    }

    pub(super) fn take_pause(
        &mut self,
        statement: &PauseStatement,
        authority: &KnownTrust,
    ) -> Result<(), &'static str> {
        self.take_control(authority.is_own_control(&statement.control))?;
        let rank = (statement.control.serial, statement.serial);
        let is_newer = self.obeyed.is_none_or(|obeyed| obeyed < rank);
        // Keep the highest rank: if a repeated old statement lowered it, other old statements would pass as newer after it.
        self.obeyed = self.obeyed.max(Some(rank));
        match is_newer {
            true => Ok(()),
            false => Err("the person's word is not newer than the one that was obeyed before"),
        }
    }

    /// Takes a message of the log's own, and tells what its draft says against it.
    pub(super) fn take_sent(
        &mut self,
        message: &Message,
        authority: &KnownTrust,
    ) -> Option<&'static str> {
        let headers = &message.headers;
        // Take the draft out, since it is sent only once: `Repeats` judges a second message under the same id.
        let Some(draft) = self.drafts.remove(&headers.message_id) else {
            self.count_unasked(message);
            return None;
        };
        match (draft.approve, draft.state) {
            (_, DraftState::Ended) => return Some("it was sent although its draft had ended"),
            (Some(_), DraftState::Waits) => {
                return Some("it was sent without the approval that its draft asks for");
            }
            (Some(root), DraftState::Approved) => {
                // The line that made the recipient known may lie in a part of the log that was not given: then there is no root
                // key to compare, so report no fault.
                let bound = authority.root_of(&headers.recipient_id);
                if bound.is_some_and(|bound| bound != root) {
                    return Some(
                        "it was sent to a recipient under another root key than the one that it was approved for",
                    );
                }
            }
            (None, _) => self.count_unasked(message),
        }
        let mut sent = parse(message.canonical(), Limits::LINE).ok();
        let says = sent.clone().and_then(content);
        if says == draft.says {
            return None;
        }
        // A request that named no capability, and had to wait for a session, may have got the peer's only capability
        // when it left: compare without the capability, which its draft lacks. An approved message leaves as it was
        // approved.
        let finds = draft.approve.is_none() && message.form.method() == Some(Method::Request);
        let envelope = sent.as_mut().and_then(envelope).filter(|_| finds);
        let headers = envelope.and_then(|envelope| envelope.get_mut("headers")?.as_object_mut());
        let found = headers.and_then(|headers| headers.remove("capability"));
        let says = found.and(sent).and_then(content);
        (says.is_none() || says != draft.says).then_some("it says something else than its draft")
    }

    fn count_unasked(&mut self, message: &Message) {
        // Only messages of the agent ask for approval, and not those that the daemon sends by itself, such as receipts.
        let is_agents = match message.form.method() {
            Some(Method::Request | Method::Notification | Method::Handoff | Method::Progress)
            | None => true,
            Some(_) => false,
        };
        let says_nothing = message.body().is_none_or(Value::is_null);
        let is_silent = message.summary.is_none() && says_nothing && message.sealed.is_none();
        let is_bare = is_silent && !message.has_body();
        let named = message.headers.capability.as_ref();
        // The daemon pings and answers pings by itself. A ping that says something carries words of the agent.
        let is_ping = named.is_some_and(|name| name.as_str() == PING)
            && (message.form.method().is_none() || is_silent);
        let is_asked = self.asked.contains(&message.headers.data_tier.number());
        if is_agents && !is_ping && !is_bare && is_asked {
            self.unasked += 1;
        }
    }

    fn take_control(&mut self, is_own: Option<bool>) -> Result<(), &'static str> {
        match is_own {
            Some(true) => self.proven += 1,
            Some(false) => {
                return Err(
                    "its control certificate does not stand under the root key of this agent's person",
                );
            }
            None => self.untied += 1,
        }
        Ok(())
    }
}

/// The hash of the members of a draft that signing does not change. Left out are the sealed part, which is sealed
/// anew when the message leaves, and the headers that follow from the session and the day on which it leaves.
fn content(mut message: Value) -> Option<Digest> {
    let envelope = envelope(&mut message)?;
    envelope.remove("sealed");
    envelope.remove("signature");
    let headers = envelope.get_mut("headers")?.as_object_mut()?;
    SIGNED_LATER
        .iter()
        .for_each(|name| drop(headers.remove(*name)));
    Some(Digest::of(&[&canonical(&message)]))
}

fn tier_of(message: &Value) -> Option<u8> {
    let mut places = PLACES.iter();
    let tier = places.find_map(|place| message.pointer(&format!("{place}/headers/data-tier")));
    tier?.as_u64()?.try_into().ok()
}

fn envelope(message: &mut Value) -> Option<&mut Map<String, Value>> {
    let mut places = PLACES.iter();
    let place = places.find(|place| message.pointer(&format!("{place}/headers")).is_some())?;
    message.pointer_mut(place)?.as_object_mut()
}

const OUTRANKED: &str =
    "its control certificate is older than that of a word of the person obeyed before";
const PLACES: [&str; 3] = ["/params", "/result", "/error/data"];
const SIGNED_LATER: [&str; 8] = [
    "timestamp",
    "expires-at",
    "key-id",
    "session",
    "sequence",
    "audit-head",
    "trust-layer-version",
    "skill-layers-loaded",
];
/// The most drafts that are remembered; far fewer ever wait at one time.
const DRAFTS: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> MessageId {
        MessageId::from_parts(number as u64, [0; 10])
    }

    fn waits(number: usize) -> DraftLine {
        DraftLine {
            peer: "agent-bob-001".parse().unwrap(),
            message_id: id(number),
            life: 60,
            approve: None,
            message: Value::Null,
            copy: None,
            client_key: None,
        }
    }

    #[test]
    fn only_where_more_drafts_wait_than_are_remembered_may_one_be_missing() {
        let mut decisions = DraftDecisions::default();
        for number in 0..DRAFTS {
            decisions.take_draft(&waits(number)).unwrap();
        }
        assert_eq!(
            (decisions.drafts.len(), decisions.is_partial),
            (DRAFTS, false)
        );
        for number in [DRAFTS, DRAFTS + 1] {
            decisions.take_draft(&waits(number)).unwrap();
            assert_eq!(
                (decisions.drafts.len(), decisions.is_partial),
                (DRAFTS, true)
            );
        }
        let is_known = |number| decisions.drafts.contains_key(&id(number));
        assert_eq!([0, 1, 2, DRAFTS].map(is_known), [false, false, true, true]);
    }
}
