//! The table of all calls: what each is called on the wire, what it takes and gives, and whose it is.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    AcceptTask, Acknowledge, AcknowledgeLease, Acknowledged, AddPeer, AdoptKeys, Adopted, Alarms,
    Answered, ApiError, ApproveStranger, Bound, CheckPolicy, ClearAlarms, DecideDraft, Decided,
    DecidedTask, DeclineTask, Drafts, DropDraft, DropMessage, Dropped, DroppedMessage, ExtendLease,
    Extended, Fail, FailTry, Failed, FollowInbox, History, Inbox, KeepMessage, Kept, ListAlarms,
    ListAside, ListDrafts, ListHistory, ListInbox, ListOutbox, ListPeers, ListPending,
    ListQuarantine, ListTasks, ListTrust, OfferCapability, Offered, Outbox, Outgoing, Pausing,
    Peer, Pending, Policy, Progress, Progressed, Quarantine, Receive, Received, RefuseStranger,
    Reload, Reloaded, ReplaceRoot, Replied, Reply, ReportTask, Respond, Retried, RetryMessage,
    Revoked, Send, SendHandoff, Sent, SetAside, ShowMessage, ShowPause, ShowPeer, ShowPolicy,
    ShowStatus, ShowTask, ShownPeer, ShownTask, StartTry, Started, Status, StrangerDecided,
    Subscribe, Subscribed, TakeRevocation, Tasks, TellPause, TrustedPeer, Withdraw, Withdrawn,
};

/// The parameters of one call: what it is called, and what comes back.
pub trait Request: Serialize + DeserializeOwned {
    /// The name on the wire.
    const METHOD: &'static str;
    /// What the daemon gives back.
    type Answer: Serialize + DeserializeOwned;

    /// Reads the parameters; null stands for none.
    ///
    /// # Errors
    /// `invalid_params` with what is wrong, which repeats no value.
    fn parse(params: Value) -> Result<Self, ApiError> {
        let params = match params {
            Value::Null => Value::Object(Map::new()),
            given => given,
        };
        serde_json::from_value(params).map_err(|error| ApiError::invalid_params(fault(&error)))
    }
}

/// A request that decides about trust: its person may have to say with a signature that it is theirs.
pub trait Decides: Request {
    /// The signed word.
    fn decision(&self) -> Option<&Value>;

    /// The same request with that word, or without.
    #[must_use]
    fn with_decision(self, decision: Option<Value>) -> Self;
}

macro_rules! decides {
    ($($name:ident),*) => {
        $( impl Decides for $name {
            fn decision(&self) -> Option<&Value> {
                self.decision.as_ref()
            }

            fn with_decision(mut self, decision: Option<Value>) -> Self {
                self.decision = decision;
                self
            }
        } )*

        impl Call {
            /// Of a call that decides about trust, the signed word, and what it has to be about: the parameters
            /// without it.
            pub fn decision(&self) -> Option<(Option<&Value>, Value)> {
                match self {
                    $( Self::$name(call) => {
                        let bare = call.clone().with_decision(None);
                        let params = serde_json::to_value(bare).unwrap_or_default();
                        Some((call.decision(), params))
                    } )*
                    _ => None,
                }
            }
        }
    };
}

decides!(
    AddPeer,
    ApproveStranger,
    RefuseStranger,
    Withdraw,
    ReplaceRoot,
    ClearAlarms
);

/// Who calls, told apart by the socket that the call comes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The person, by `control.sock`: everything.
    Person,
    /// The agent and its handlers, by `agent.sock`: its own mail and tasks, and nothing that decides about
    /// trust, keys, policy, pause or approval.
    Agent,
    /// What carries bytes to and from the network, by `carrier.sock`.
    Carrier,
}

impl Role {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
            Self::Carrier => "carrier",
        }
    }

    /// Whether a caller of this role may use a call that is `whose`.
    pub const fn may_use(self, whose: Self) -> bool {
        match (self, whose) {
            (Self::Person, _) | (Self::Agent, Self::Agent) | (Self::Carrier, Self::Carrier) => true,
            (Self::Agent | Self::Carrier, _) => false,
        }
    }
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It shows something, and changes nothing.
    Shows,
    /// It changes something.
    Changes,
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// The name on the wire.
    pub name: &'static str,
    /// Whose call it is. A person may use every call.
    pub whose: Role,
    /// What it does.
    pub effect: Effect,
}

macro_rules! calls {
    ($( $method:literal $name:ident -> $answer:ty, $whose:ident $effect:ident; )*) => {
        /// A call that was read: its method is known, and its parameters have the right form.
        #[derive(Clone, PartialEq)]
        pub enum Call {
            $( #[doc = concat!("`", $method, "`")] $name($name), )*
        }

        impl Call {
            /// Every call, in the order of the table.
            pub const METHODS: &'static [Method] = &[
                $( Method { name: $method, whose: Role::$whose, effect: Effect::$effect }, )*
            ];

            /// Reads the parameters of `method`; null stands for none.
            ///
            /// # Errors
            /// `method_not_found`, or `invalid_params` with what is wrong, which repeats no value.
            pub fn parse(method: &str, params: Value) -> Result<Self, ApiError> {
                match method {
                    $( $method => $name::parse(params).map(Self::$name), )*
                    _ => Err(ApiError::method_not_found()),
                }
            }

            /// The name on the wire.
            pub const fn method(&self) -> &'static str {
                match self { $( Self::$name(_) => $method, )* }
            }

            /// Whose call it is.
            pub const fn whose(&self) -> Role {
                match self { $( Self::$name(_) => Role::$whose, )* }
            }

            /// What it does.
            pub const fn effect(&self) -> Effect {
                match self { $( Self::$name(_) => Effect::$effect, )* }
            }
        }

        $(
            impl Request for $name {
                const METHOD: &'static str = $method;
                type Answer = $answer;
            }

            impl From<$name> for Call {
                fn from(request: $name) -> Self {
                    Self::$name(request)
                }
            }
        )*

        /// The table once more, with what each type looks like in JSON.
        #[cfg(test)]
        pub(crate) fn schemas(
            generator: &mut schemars::SchemaGenerator,
        ) -> Vec<(Method, schemars::Schema, schemars::Schema)> {
            let shapes = vec![$( (
                generator.subschema_for::<$name>(),
                generator.subschema_for::<$answer>(),
            ), )*];
            let lines = Call::METHODS.iter().zip(shapes);
            lines.map(|(method, (params, result))| (*method, params, result)).collect()
        }
    };
}

calls! {
    "send"              Send            -> Sent,              Agent  Changes;
    "reply"             Reply           -> Replied,           Agent  Changes;
    "receive"           Receive         -> Received,          Agent  Changes;
    "respond"           Respond         -> Replied,           Agent  Changes;
    "acknowledge"       AcknowledgeLease -> Acknowledged,     Agent  Changes;
    "fail"              Fail            -> Failed,            Agent  Changes;
    "extend"            ExtendLease     -> Extended,          Agent  Changes;
    "progress"          Progress        -> Progressed,        Agent  Changes;
    "offer"             OfferCapability -> Offered,           Agent  Changes;
    "subscribe"         Subscribe       -> Subscribed,        Agent  Shows;
    "history"           ListHistory     -> History,           Agent  Shows;
    "inbox.list"        ListInbox       -> Inbox,             Agent  Shows;
    "inbox.follow"      FollowInbox     -> Option<Inbox>,     Agent  Shows;
    "inbox.acknowledge" Acknowledge     -> Acknowledged,      Agent  Changes;
    "inbox.start"       StartTry        -> Started,           Agent  Changes;
    "inbox.fail"        FailTry         -> Failed,            Agent  Changes;
    "inbox.keep"        KeepMessage     -> Kept,              Agent  Changes;
    "inbox.aside"       ListAside       -> SetAside,          Person Shows;
    "quarantine.list"   ListQuarantine  -> Quarantine,        Person Shows;
    "quarantine.retry"  RetryMessage    -> Retried,           Person Changes;
    "quarantine.drop"   DropMessage     -> DroppedMessage,    Person Changes;
    "outbox.list"       ListOutbox      -> Outbox,            Agent  Shows;
    "message.status"    ShowMessage     -> Outgoing,          Agent  Shows;
    "handoff.send"      SendHandoff     -> Sent,              Agent  Changes;
    "handoff.accept"    AcceptTask      -> DecidedTask,       Agent  Changes;
    "handoff.decline"   DeclineTask     -> DecidedTask,       Agent  Changes;
    "handoff.report"    ReportTask      -> DecidedTask,       Agent  Changes;
    "handoff.list"      ListTasks       -> Tasks,             Agent  Shows;
    "handoff.show"      ShowTask        -> ShownTask,         Agent  Shows;
    "alarms.list"       ListAlarms      -> Alarms,            Person Shows;
    "alarms.clear"      ClearAlarms     -> Alarms,            Person Changes;
    "trust.pending"     ListPending     -> Pending,           Person Shows;
    "trust.approve"     ApproveStranger -> StrangerDecided,   Person Changes;
    "trust.refuse"      RefuseStranger  -> StrangerDecided,   Person Changes;
    "trust.revoke"      Withdraw        -> Withdrawn,         Person Changes;
    "trust.revocation"  TakeRevocation  -> Revoked,           Person Changes;
    "trust.replace-root" ReplaceRoot    -> Bound,             Person Changes;
    "trust.list"        ListTrust       -> Vec<TrustedPeer>,  Person Shows;
    "drafts.list"       ListDrafts      -> Drafts,            Person Shows;
    "drafts.decide"     DecideDraft     -> Decided,           Person Changes;
    "drafts.drop"       DropDraft       -> Dropped,           Person Changes;
    "pause.tell"        TellPause       -> Pausing,           Person Changes;
    "pause.show"        ShowPause       -> Pausing,           Person Shows;
    "peer.add"          AddPeer         -> Bound,             Person Changes;
    "peer.list"         ListPeers       -> Vec<Peer>,         Agent  Shows;
    "peer.show"         ShowPeer        -> ShownPeer,         Agent  Shows;
    "policy.show"       ShowPolicy      -> Policy,            Person Shows;
    "policy.check"      CheckPolicy     -> Answered,          Agent  Shows;
    "keys.adopt"        AdoptKeys       -> Adopted,           Person Changes;
    "reload"            Reload          -> Reloaded,          Person Changes;
    "status"            ShowStatus      -> Status,            Agent  Shows;
}

impl Call {
    /// The line of the table for the method of that name.
    pub fn named(method: &str) -> Option<&'static Method> {
        Self::METHODS.iter().find(|known| known.name == method)
    }
}

impl fmt::Debug for Call {
    /// Without the parameters, which may be sealed later.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({})", self.method())
    }
}

/// What is wrong with parameters, without the value that is: it may be part of a message.
fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match (
        text.starts_with("unknown field"),
        text.rsplit_once(", expected "),
    ) {
        (false, Some((_, expected))) => {
            format!("a parameter has the wrong form; expected {expected}")
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wrong_parameter_is_not_repeated_in_the_error() {
        let wrong = [
            json!({"peer": "agent-bob", "kind": "secret"}),
            json!({"peer": "agent-bob", "kind": "request", "data-tier": "secret"}),
            json!({"peer": "agent-bob", "kind": "request", "data-tier": "secret, expected secret"}),
            json!({"peer": "agent-bob", "kind": {"secret": "secret"}}),
            json!({"peer": ["secret"], "kind": "request"}),
            json!("secret"),
        ];
        for params in wrong {
            let error = Call::parse("send", params.clone()).unwrap_err();
            let text = format!("{error:?}");
            assert!(!text.contains("secret"), "{params}: {text}");
        }
        let typo = Call::parse("peer.show", json!({"pear": "agent-bob"})).unwrap_err();
        assert!(typo.fault().unwrap().contains("`pear`"));
    }

    #[test]
    fn what_takes_nothing_takes_null_and_an_empty_object_and_no_member_that_it_does_not_know() {
        for method in ["status", "inbox.list", "pause.show"] {
            for nothing in [Value::Null, json!({})] {
                assert!(Call::parse(method, nothing).is_ok(), "{method}");
            }
            let error = Call::parse(method, json!({"x": 1})).unwrap_err();
            assert!(error.is_of_params() && error.fault().unwrap().contains("`x`"));
        }
    }

    #[test]
    fn a_call_does_not_print_what_it_says() {
        let said =
            json!({"peer": "agent-bob", "kind": "request", "body": "secret", "summary": "secret"});
        let call = Call::parse("send", said).unwrap();
        assert_eq!(format!("{call:?}"), "Call(send)");
        let Call::Send(send) = call else {
            panic!("another call")
        };
        assert_eq!(format!("{send:?}"), "Send(..)");
    }

    #[test]
    fn a_request_reads_as_the_call_that_it_is() {
        let send = Send {
            data_tier: Some(2),
            wait: 1.5,
            ..Send::new("agent-bob", crate::Kind::Request, json!({"a": null}))
        };
        let written = serde_json::to_value(&send).unwrap();
        assert_eq!(
            written,
            json!({"peer": "agent-bob", "kind": "request", "body": {"a": null}, "data-tier": 2, "wait": 1.5})
        );
        assert_eq!(Call::parse(Send::METHOD, written), Ok(Call::Send(send)));
    }

    #[test]
    fn nothing_that_decides_is_the_agents() {
        let decides = [
            "trust.",
            "alarms.",
            "drafts.",
            "pause.",
            "keys.",
            "reload",
            "quarantine.",
            "peer.add",
        ];
        for method in Call::METHODS {
            let decides = decides.iter().any(|those| method.name.starts_with(those));
            assert!(
                !(Role::Agent.may_use(method.whose) && decides),
                "{method:?}"
            );
            assert!(Role::Person.may_use(method.whose) && !Role::Carrier.may_use(method.whose));
        }
    }

    #[test]
    fn a_decision_is_about_the_parameters_without_itself() {
        let params = json!({"agent": "agent-bob", "decision": {"type": "decision"}});
        let call = Call::parse("trust.approve", params).unwrap();
        let (said, about) = call.decision().unwrap();
        assert_eq!(said, Some(&json!({"type": "decision"})));
        assert_eq!(about, json!({"agent": "agent-bob"}));
        let asks = Call::parse("trust.list", json!({})).unwrap();
        assert_eq!(asks.decision(), None);
    }

    #[test]
    fn a_name_stands_for_one_call() {
        for method in Call::METHODS {
            let same = Call::METHODS
                .iter()
                .filter(|other| other.name == method.name);
            assert_eq!(same.count(), 1, "{}", method.name);
            assert_eq!(Call::named(method.name), Some(method));
        }
        assert_eq!(
            Call::parse("trust.everybody", Value::Null),
            Err(ApiError::method_not_found())
        );
    }
}
