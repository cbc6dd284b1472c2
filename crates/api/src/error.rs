//! Why a call was not done.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Role;

/// The error object of a response (JSON-RPC 2.0).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[error("{message}")]
pub struct ApiError {
    /// -32000 for a refusal; -32768 to -32001 are JSON-RPC's own.
    pub code: i64,
    /// One sentence.
    pub message: String,
    /// More, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Details>,
}

/// What a program can read of an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Details {
    /// Of a refusal: its stable name, and more.
    Refusal(Box<Refusal>),
    /// Of a request that cannot be read: what is wrong with it.
    Fault(String),
}

/// A refusal: its stable name, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Refusal {
    /// The stable name.
    pub reason: Reason,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The known agent that an unknown one resembles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
    /// The message that may have been made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Whose call it is, where it is not the caller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whose: Option<Role>,
}

impl ApiError {
    /// An error without more.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// A refusal of that name. Its text has the form `what is wrong; what to do`.
    pub fn refused(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self {
            data: Some(Details::Refusal(Box::new(Refusal {
                reason: reason.into(),
                next: None,
                did_you_mean: None,
                message_id: None,
                whose: None,
            }))),
            ..Self::new(REFUSED, message)
        }
    }

    /// The same refusal with what to do about it.
    #[must_use]
    pub fn with_next(self, next: impl Into<String>) -> Self {
        self.with(|refusal| refusal.next = Some(next.into()))
    }

    /// The same refusal with what else it says.
    #[must_use]
    pub fn with(mut self, more: impl FnOnce(&mut Refusal)) -> Self {
        if let Some(Details::Refusal(refusal)) = &mut self.data {
            more(refusal);
        }
        self
    }

    /// -32700
    pub fn parse_error() -> Self {
        Self::new(-32700, "Parse error")
    }

    /// -32600
    pub fn invalid_request() -> Self {
        Self::new(-32600, "Invalid Request")
    }

    /// -32601
    pub fn method_not_found() -> Self {
        Self::new(-32601, "Method not found")
    }

    /// -32602, with what is wrong.
    pub fn invalid_params(fault: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, "Invalid params").with_fault(fault)
    }

    /// -32603
    pub fn internal() -> Self {
        Self::new(-32603, "Internal error")
    }

    /// The daemon stops, and did nothing of what was asked.
    pub fn stopping() -> Self {
        let text = "the daemon is stopping; what was asked is not done, and nothing of it was sent";
        let next = "start the daemon again with signet run, then repeat the command";
        Self::refused(Reason::Stopping, text).with_next(next)
    }

    /// The daemon stopped while what was asked was on its way to the log; `message_id` names the message that
    /// the call makes.
    pub fn outcome_unknown(message_id: Option<&str>) -> Self {
        let (text, next) = match message_id {
            Some(id) => (
                format!("the daemon stopped before it could say whether {id} was sent"),
                format!("start the daemon again, then: signet status {id}"),
            ),
            None => (
                "the daemon stopped before it could say whether it was done".to_owned(),
                "start the daemon again, then look: signet outbox, signet status".to_owned(),
            ),
        };
        let refusal = Self::refused(Reason::OutcomeUnknown, text).with_next(next);
        refusal.with(|refusal| refusal.message_id = message_id.map(str::to_owned))
    }

    /// The place of the connection is needed for another client.
    pub fn place_needed() -> Self {
        let text = "the daemon needed the place of this connection for another client";
        Self::refused(Reason::PlaceNeeded, text)
    }

    /// The same error with what is wrong.
    #[must_use]
    pub fn with_fault(self, fault: impl Into<String>) -> Self {
        Self {
            data: Some(Details::Fault(fault.into())),
            ..self
        }
    }

    /// What is wrong with a request that cannot be read.
    pub fn fault(&self) -> Option<&str> {
        match &self.data {
            Some(Details::Fault(fault)) => Some(fault),
            _ => None,
        }
    }

    /// What a refusal says.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.data {
            Some(Details::Refusal(refusal)) => Some(refusal),
            _ => None,
        }
    }

    /// The stable name of a refusal.
    pub fn reason(&self) -> Option<&Reason> {
        self.refusal().map(|refusal| &refusal.reason)
    }

    /// Whether it is a refusal of that name.
    pub fn is(&self, reason: &Reason) -> bool {
        self.reason() == Some(reason)
    }

    /// Whether it is about this moment alone, and no word about what was asked: the same call may be done later.
    pub fn passes(&self) -> bool {
        self.reason().is_some_and(Reason::passes)
    }

    /// Whether the parameters are at fault.
    pub const fn is_of_params(&self) -> bool {
        self.code == INVALID_PARAMS
    }

    /// Whether it says that the daemon stops: it did not do what was asked, or nobody knows whether it did.
    pub fn is_of_a_stop(&self) -> bool {
        self.is(&Reason::Stopping) || self.is(&Reason::OutcomeUnknown)
    }
}

macro_rules! reasons {
    ($( #[doc = $meaning:literal] $variant:ident $name:literal; )*) => {
        /// The stable name of a refusal.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum Reason {
            $( #[doc = $meaning] $variant, )*
            /// A reason of the protocol: `signet schema reason` has their names.
            Protocol(String),
        }

        impl Reason {
            /// The names that are the daemon's own.
            pub const OWN: &'static [&'static str] = &[$( $name ),*];

            /// What each of them means.
            #[cfg(test)]
            pub(crate) const MEANINGS: &'static [&'static str] = &[$( $meaning ),*];

            /// The name.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $name, )*
                    Self::Protocol(name) => name,
                }
            }
        }

        impl From<&str> for Reason {
            fn from(name: &str) -> Self {
                match name {
                    $( $name => Self::$variant, )*
                    other => Self::Protocol(other.to_owned()),
                }
            }
        }
    };
}

reasons! {
    /// No such peer.
    PeerUnknown "peer-unknown";
    /// No such peer, and its id resembles a known one.
    PeerResembles "peer-resembles";
    /// The peer is trusted no more.
    PeerRevoked "peer-revoked";
    /// Mail for too many strangers waits.
    TooManyStrangers "too-many-strangers";
    /// No stranger of that name waits.
    StrangerUnknown "stranger-unknown";
    /// More than one root key claims the name.
    StrangerAmbiguous "stranger-ambiguous";
    /// No such draft waits.
    DraftUnknown "draft-unknown";
    /// The agents of this person pause.
    Paused "paused";
    /// The staged keys cannot be used.
    KeysRefused "keys-refused";
    /// The configuration that was read anew cannot be used.
    ConfigUnusable "config-unusable";
    /// The configuration has no section `card`.
    NoCard "no-card";
    /// Too much waits for that peer.
    OutboxFull "outbox-full";
    /// Too many requests wait for answers.
    TooManyRequests "too-many-requests";
    /// No such request waits in the inbox.
    NotWaiting "not-waiting";
    /// No such message is in the quarantine.
    NotQuarantined "not-quarantined";
    /// An answer to it waits already.
    AnswerWaits "answer-waits";
    /// This agent remembers no such message of its own.
    MessageUnknown "message-unknown";
    /// Two peers used that message-id.
    Ambiguous "ambiguous";
    /// It wants no answer.
    NoRequest "no-request";
    /// No such call came within three days.
    NotRemembered "not-remembered";
    /// It is a handoff.
    IsHandoff "is-handoff";
    /// Too many tasks with that peer are open.
    TooManyTasks "too-many-tasks";
    /// The clock stands outside the dates of the certificate.
    WrongClock "wrong-clock";
    /// The peer offers several capabilities, and the request names none.
    CapabilityNeeded "capability-needed";
    /// That capability is for reports.
    CapabilityReserved "capability-reserved";
    /// The caller's key was used with other content.
    KeyReused "key-reused";
    /// The lease has ended, or never was.
    LeaseEnded "lease-ended";
    /// The caller's key has not the form of one.
    KeyUnfit "key-unfit";
    /// Somebody holds it under a lease.
    Leased "leased";
    /// The capability may not be offered.
    OfferRefused "offer-refused";
    /// The configuration offers that capability already.
    OfferConfigured "offer-configured";
    /// There is no session with that peer.
    NoSession "no-session";
    /// What a person has to approve first cannot be sent so.
    ApprovalNeeded "approval-needed";
    /// The log cannot be read.
    HistoryUnreadable "history-unreadable";
    /// The place of the connection was needed for another client.
    PlaceNeeded "place-needed";
    /// The disk is full.
    DiskFull "disk-full";
    /// The daemon stops; nothing was done.
    Stopping "stopping";
    /// The daemon stopped; nobody knows whether it was done.
    OutcomeUnknown "outcome-unknown";
    /// The call is not for callers of this socket.
    NotForThisSocket "not-for-this-socket";
    /// The call goes beyond what this socket is allowed.
    BeyondCeiling "beyond-ceiling";
    /// The decision has to be signed by the person's control key.
    DecisionUnsigned "decision-unsigned";
    /// The call was one of an earlier release.
    CallGone "call-gone";
    /// This daemon has no carrier of that name.
    CarrierUnknown "carrier-unknown";
    /// Another connection carries it.
    CarrierTaken "carrier-taken";
    /// No connection carries it.
    CarrierDetached "carrier-detached";
    /// It has handed in as much as is judged at once, or asks too often.
    CarrierBusy "carrier-busy";
    /// The peer has no address on it.
    CarrierUnreachable "carrier-unreachable";
}

impl Reason {
    /// Whether it ends by itself, or when a person ends it, without any change of the call.
    const fn passes(&self) -> bool {
        matches!(
            self,
            Self::DiskFull
                | Self::Paused
                | Self::WrongClock
                | Self::OutboxFull
                | Self::TooManyRequests
                | Self::PlaceNeeded
                | Self::CarrierBusy
        )
    }
}

impl From<String> for Reason {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.as_str().to_owned()
    }
}

impl FromStr for Reason {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(Self::from(name))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A call could not be done.
const REFUSED: i64 = -32000;
/// JSON-RPC's code for parameters that cannot be read.
const INVALID_PARAMS: i64 = -32602;
