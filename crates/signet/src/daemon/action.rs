//! What the daemon does outside once the log remembers why: one [`Action`] for each thing.

use std::sync::Arc;

use serde::Serialize;
use signet_api::Attention;
use signet_proto::carrier::CarrierId;
use signet_proto::envelope::Message;
use signet_proto::headers::{CapabilityName, ConversationId};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{Accepted, Effect, Node, Notice, State};
use signet_proto::time::Timestamp;
use tokio::sync::oneshot;

use crate::attention;
use crate::carrier::{Settling, Ticket};
use crate::control::{CallAnswer, Notifier, ReplySender, text_of_note};
use crate::reach::Reach;

/// One thing to do outside once the log has the lines that it depends on. There is no `Debug`, because answers hold
/// the clear text of what was sealed.
pub(super) enum Action {
    /// The node's.
    Effect(Effect),
    /// A call is answered: its entries are durable; or refused: what it tried is noted.
    Answer(ReplySender, CallAnswer),
    /// A call waits for what becomes of a message of ours.
    Wait(MessageId, SendWaiter),
    /// A carrier hears what became of messages: their lines are durable, or they get none.
    Settle(CarrierId, Vec<(Ticket, Settling)>),
    /// A connection wants every message that arrives, from the next on.
    Follow(Follower),
    /// A connection wants to hear what moves of that.
    Subscribe(Follower, Topic),
    /// The person should see this; the notice that it comes of, where there is one, says more in the log.
    Tell(Box<Attention>, Option<Box<Notice>>),
    /// A connection of the person's wants everything that they should see, from the next on.
    Attend(Notifier),
}

impl Action {
    /// An effect of the node that came at `now`. A notice for the person goes to everybody who listens for those.
    pub(super) fn of(node: &Node, now: Timestamp, effect: Effect) -> Self {
        let Effect::Notice(notice) = effect else {
            return Self::Effect(effect);
        };
        match attention::of_notice(node, now, &notice) {
            Some(attention) => Self::Tell(Box::new(attention), Some(notice)),
            None => Self::Effect(Effect::Notice(notice)),
        }
    }
}

/// The event that a listener waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// All that comes in a conversation.
    Conversation(ConversationId),
    /// The next state of a message of ours.
    Message(MessageId),
}

impl Topic {
    pub(super) fn is_of(&self, message: &Message) -> bool {
        let headers = &message.headers;
        match self {
            Self::Conversation(name) => headers.conversation_id.as_ref() == Some(name),
            Self::Message(id) => headers.in_reply_to == Some(*id),
        }
    }
}

/// A connection that is told of every message that arrives, as far as its socket reaches.
#[derive(Debug)]
pub(super) struct Follower {
    /// The connection to tell.
    pub(super) notifier: Notifier,
    /// How far it reaches.
    pub(super) reach: Arc<Reach>,
}

impl Follower {
    /// Tells the listener; false where it does not keep up.
    pub(super) fn tell(&self, what: &str, told: &impl Serialize) -> bool {
        self.notifier.notify(what, &text_of_note(told)).is_ok()
    }
}

/// Somebody who waits for what becomes of a message of ours.
#[derive(Debug)]
pub(super) struct SendWaiter {
    /// Where the result of the send goes.
    pub(super) result: oneshot::Sender<SendResult>,
    /// Whether a receipt is not yet the end: a request waits for its answer.
    pub(super) for_answer: bool,
    /// Told when the peer's mailbox holds it; taken then.
    pub(super) on_stored: Option<oneshot::Sender<()>>,
    /// The state of the message so far.
    pub(super) state: State,
}

impl SendWaiter {
    pub(super) fn is_stored(&self) -> bool {
        self.on_stored.is_none()
    }

    /// The peer's mailbox holds it.
    pub(super) fn store(&mut self) {
        // Ignore a failed send: the caller may have given up, and then nobody waits to hear that the mailbox holds the
        // message.
        self.on_stored.take().map(|told| told.send(()));
    }
}

/// What became of a message of ours.
#[derive(Debug)]
pub(super) enum SendResult {
    /// The message was answered.
    Answered(Accepted),
    /// The message ended without an answer, or was received.
    Settled {
        /// Where it is.
        state: State,
        /// What the peer offers, where it ended because it named none of several.
        offers: Vec<CapabilityName>,
    },
    /// The daemon stops, and this is how far it came.
    Left {
        /// Where it is.
        state: State,
        /// Whether the peer's mailbox holds it.
        stored: bool,
    },
}

/// What a carrier says of a message of ours that went out.
#[derive(Debug)]
pub(super) struct CarrierReport {
    /// Which carrier.
    pub(super) carrier: CarrierId,
    /// For whom it is.
    pub(super) peer: AgentId,
    /// Its name.
    pub(super) message_id: MessageId,
    /// Whether the carrier holds the message for the peer.
    pub(super) stored: bool,
}
