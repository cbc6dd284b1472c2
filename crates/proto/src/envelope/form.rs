//! The JSON-RPC 2.0 forms and the methods.

use std::str::FromStr;

use crate::headers::MessageType;
use crate::ids::Version;
use crate::reject::{PeerReason, Reason};

/// The methods of signet/1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `agent.request`
    Request,
    /// `agent.notification`
    Notification,
    /// `agent.handoff`
    Handoff,
    /// `agent.progress`, from version 1.1.0 on
    Progress,
    /// `agent.offer`, from version 1.1.0 on
    Offer,
    /// `agent.receipt`
    Receipt,
    /// `agent.poll`: asks for what is kept, outside sessions and without a line of the log
    Poll,
    /// `agent.revoke`
    Revoke,
    /// `agent.pause`
    Pause,
    /// `agent.resume`
    Resume,
    /// `agent.announce`: flight 1
    Announce,
    /// `agent.verify`: flight 2
    Verify,
    /// `agent.capability`: flight 3
    Capability,
    /// `agent.trust`: flight 4
    Trust,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 14] = [
        Self::Request,
        Self::Notification,
        Self::Handoff,
        Self::Progress,
        Self::Offer,
        Self::Receipt,
        Self::Revoke,
        Self::Pause,
        Self::Resume,
        Self::Announce,
        Self::Verify,
        Self::Capability,
        Self::Trust,
        Self::Poll,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "agent.request",
            Self::Notification => "agent.notification",
            Self::Handoff => "agent.handoff",
            Self::Progress => "agent.progress",
            Self::Offer => "agent.offer",
            Self::Receipt => "agent.receipt",
            Self::Poll => "agent.poll",
            Self::Revoke => "agent.revoke",
            Self::Pause => "agent.pause",
            Self::Resume => "agent.resume",
            Self::Announce => "agent.announce",
            Self::Verify => "agent.verify",
            Self::Capability => "agent.capability",
            Self::Trust => "agent.trust",
        }
    }

    /// The `message-type` that goes with it.
    pub const fn message_type(self) -> MessageType {
        match self {
            Self::Request => MessageType::Request,
            Self::Handoff => MessageType::Handoff,
            _ => MessageType::Notification,
        }
    }

    /// Whether it is one of the four flights.
    pub const fn is_handshake(self) -> bool {
        matches!(
            self,
            Self::Announce | Self::Verify | Self::Capability | Self::Trust
        )
    }

    /// Whether the call carries an `id` and wants an answer.
    pub const fn is_call(self) -> bool {
        matches!(self, Self::Request | Self::Handoff)
    }

    /// The lowest version of a session in which it may be said.
    pub const fn since(self) -> Version {
        match self {
            Self::Progress | Self::Offer => Version::PROGRESS,
            _ => Version::CURRENT,
        }
    }

    /// What it is for.
    pub const fn class(self) -> Class {
        match self {
            Self::Request | Self::Notification | Self::Handoff | Self::Progress => {
                Class::Application
            }
            Self::Offer
            | Self::Receipt
            | Self::Poll
            | Self::Revoke
            | Self::Pause
            | Self::Resume
            | Self::Announce
            | Self::Verify
            | Self::Capability
            | Self::Trust => Class::Control,
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, Reason> {
        Self::ALL
            .into_iter()
            .find(|method| method.as_str() == text)
            .ok_or(Reason::MethodNotFound)
    }
}

impl FromStr for Method {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        Self::parse(text)
    }
}

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Agents say it to each other: requests, answers, progress, notifications, handoffs and reports of tasks.
    Application,
    /// The protocol needs it: flights of the handshake, offers, receipts, polls, and people's signed orders.
    Control,
}

impl Class {
    /// As a line of the log names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Control => "control",
        }
    }
}

/// The JSON-RPC 2.0 form of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A call; with an `id` when the method wants an answer.
    Call(Method),
    /// A successful response.
    Success,
    /// A failed response.
    Failure {
        /// JSON-RPC's error code.
        code: i64,
        /// For a person.
        message: String,
        /// The stable name, from the table of reasons or a later table.
        reason: String,
    },
}

impl Form {
    /// The method, when it is a call.
    pub const fn method(&self) -> Option<Method> {
        match self {
            Self::Call(method) => Some(*method),
            Self::Success | Self::Failure { .. } => None,
        }
    }

    /// Whether it belongs to a request of the recipient's: an answer, or progress on the way to one. It was
    /// asked for, so that no grant speaks of it.
    pub const fn belongs_to_request(&self) -> bool {
        match self {
            Self::Success | Self::Failure { .. } | Self::Call(Method::Progress) => true,
            Self::Call(_) => false,
        }
    }

    /// Why it refuses, when it is a failure: as far as the table of reasons takes its sender's word.
    pub fn refusal(&self) -> Option<PeerReason<'_>> {
        match self {
            Self::Failure { code, reason, .. } => Some(PeerReason::in_failure(reason, *code)),
            Self::Call(_) | Self::Success => None,
        }
    }

    /// What it is for: only what agents ask is answered.
    pub const fn class(&self) -> Class {
        match self {
            Self::Call(method) => method.class(),
            Self::Success | Self::Failure { .. } => Class::Application,
        }
    }

    /// The `message-type` that goes with it.
    pub const fn message_type(&self) -> MessageType {
        match self {
            Self::Call(method) => method.message_type(),
            Self::Success | Self::Failure { .. } => MessageType::Response,
        }
    }
}
