//! The JSON-RPC 2.0 forms.

use crate::headers::MessageType;
use crate::method::{Class, KeptIn, Method};
use crate::reject::PeerReason;

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

    /// Where it is kept when it was accepted: answers, but those to pings, where requests are.
    pub const fn kept(&self) -> KeptIn {
        match self {
            Self::Call(method) => method.kept(),
            Self::Success | Self::Failure { .. } => KeptIn::Inbox,
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
