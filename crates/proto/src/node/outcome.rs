//! What comes of an input: lines for the log, and what they allow.

use std::sync::Arc;

use crate::carrier::{CarrierId, Parcel};
use crate::certificate::Certificate;
use crate::entry::{AlarmLine, Direction, Entry, Evidence, HoleLine, Ruling, Verdict};
use crate::envelope::{Claimed, Message};
use crate::headers::CapabilityName;
use crate::ids::{AgentId, MessageId};
use crate::reject::Reason;
use crate::seal::Sealed;
use crate::statement::{PauseStatement, Revocation};
use crate::trust::TrustView;

use super::{Accepted, Paid, State};

/// What to do once the entries are durable.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send these bytes to the recipient, by that carrier.
    Publish(Parcel),
    /// A message arrived in the agent's inbox.
    Deliver(Accepted),
    /// A request of ours is answered.
    Answer(Accepted),
    /// A ping of ours is answered: that is for whoever waits for it, and in no inbox.
    Pong(Accepted),
    /// A peer tells how a request of ours is doing.
    Progress(Accepted),
    /// A message of ours came to an end that is not an answer, or was taken.
    Settle {
        /// For whom it was.
        peer: AgentId,
        /// Which.
        message_id: MessageId,
        /// Where it is now.
        state: State,
        /// What the peer offers, where the message ended because it named none of several.
        offers: Vec<CapabilityName>,
    },
    /// A session with a peer stands.
    Established(AgentId),
    /// The trust store changed: verify by this snapshot from now on.
    Trust(TrustView),
    /// Our person has to hear of something.
    Notice(Box<Notice>),
}

/// What our person has to hear of.
#[derive(Clone, Debug)]
pub enum Notice {
    /// A stranger waits for a decision.
    StrangerWaits(Certificate),
    /// A pinned principal appeared with a root key that the old one had not named: perhaps an attack.
    RootChanged(Certificate),
    /// The successor that a pinned root had named took its place.
    RootSucceeded(Certificate),
    /// Certificates were taken back by their root.
    Revoked(Revocation),
    /// The person paused their agents, or let them go on.
    Pause(PauseStatement),
    /// A peer sends more than it may: told at most once a minute.
    OverBudget {
        /// Who.
        peer: AgentId,
        /// How many of its calls were refused for it since the start.
        refused: u64,
    },
    /// Something is wrong that only a person can judge.
    Alarm(AlarmLine),
    /// Agents of several people, or one of our own person's, show another copy of us: in words.
    Doubled(String),
    /// Messages of a peer's never came, and it did not give them up.
    Hole(HoleLine),
    /// A peer's clock and ours differ by more than a minute: what one of them signs, the other refuses.
    Clock {
        /// Whose.
        peer: AgentId,
        /// The peer's minus ours, in milliseconds.
        difference_ms: i64,
    },
    /// A message that came could not be handled five times, and went to the quarantine.
    Quarantined {
        /// Who sent it.
        peer: AgentId,
        /// Which.
        message_id: MessageId,
    },
    /// A message of ours waits for the person's approval.
    ApprovalNeeded {
        /// For whom it is.
        peer: AgentId,
        /// Which.
        message_id: MessageId,
    },
}

/// What came of one input: lines for the log, in order, and what they allow. Outside of this crate none is
/// made but the empty one.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// To be made durable first. For an inbound message the first is its verdict, after the line of
    /// the task that it changes; unless it was over a budget of bytes or lines and is counted in the
    /// next `flood` line instead.
    pub entries: Vec<Entry>,
    /// To be performed then.
    pub effects: Vec<Effect>,
    /// What was decided about the message that came in; `None` for every other input.
    pub ruled: Option<Disposition>,
    /// What brought the message that came in, where it is not NATS: its line says so.
    pub carrier: Option<CarrierId>,
    /// Who asks for what is kept, where the message that came in was a poll and is taken.
    pub polled: Option<Polled>,
}

/// A peer that has proved who it is asks for what is kept for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polled {
    /// Who asks.
    pub peer: AgentId,
    /// The last message that it has from an earlier poll: it and those before it need not be kept.
    pub after: Option<MessageId>,
}

/// What was decided about a message that came in. Whatever it is, its carrier may forget the message once the
/// entries are durable: what is to come again, its sender sends again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It is taken.
    Accepted,
    /// It is refused, or a copy, and a line of its own says so.
    Refused,
    /// It is one of those that a `flood` line counts.
    Counted,
}

impl Outcome {
    /// Adds what happened to a message that came, and says what was decided.
    pub(super) fn verdict(
        bytes: u64,
        message: &Arc<Message>,
        ruling: Ruling,
        copy: Option<Sealed>,
        paid: Paid,
    ) -> Entry {
        // Keep only the hash of a copy: the log line of the message that came first has the rest.
        let evidence = if ruling == Ruling::Rejected(Reason::Duplicate) {
            Evidence::Copy(Claimed {
                agent: Some(message.headers.agent_id.clone()),
                message_type: Some(message.headers.message_type),
            })
        } else if paid == Paid::Withheld || message.bares_secrets() {
            // Keep only the headers: content in clear that had to be sealed must not be in the log, and a peer that is over its
            // budget for refused messages is given no room for content.
            Evidence::Headers(Arc::clone(message))
        } else {
            Evidence::Whole(Arc::clone(message))
        };
        Entry::Message(Verdict {
            direction: Direction::In,
            ruling,
            bytes,
            hash: message.hash(),
            evidence,
            copy,
        })
    }
}
