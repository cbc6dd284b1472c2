//! The table of all calls: what each is called on the wire, what it takes and gives, and whose it is.

use std::fmt;

use serde_json::Value;

use crate::request::decides;
use crate::*;

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
    (
        ($dollar:tt)
        $( $method:literal $name:ident -> $answer:ty, $whose:ident $effect:ident,
            |$call:pat_param| $names:expr; )*
    ) => {
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
            pub fn parse(method: &str, params: impl Into<Params>) -> Result<Self, ApiError> {
                let params = params.into();
                match method {
                    $( $method => $name::parse(params).map(Self::$name), )*
                    unknown => Err(Self::unknown(unknown)),
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

            /// What it names, as far as the ceiling of a socket is held against it.
            pub fn names(&self) -> Vec<Named<'_>> {
                match self { $( Self::$name($call) => $names, )* }
            }
        }

        /// Does the same with the request of a call, whichever it is: `with_request!(call, request => …)`.
        #[macro_export]
        macro_rules! with_request {
            ($dollar call:expr, $dollar request:ident => $dollar done:expr) => {
                match $dollar call { $( $crate::Call::$name($dollar request) => $dollar done, )* }
            };
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

// The last column lists the peers, tiers and other things that a call names: each is checked against what its socket may reach
// (its ceiling). It is empty for a person's calls, since the person's socket has no ceiling, and for calls that name none of
// these, such as `receive`, which hands out only what is within the ceiling.
calls! {
    ($)
    "send"              Send -> Sent, Agent Changes, |call| vec![Named::Peer(&call.peer), Named::tier(call.data_tier)];
    "receive"           Receive -> Received, Agent Changes, |_| vec![];
    "respond"           Respond -> Replied, Agent Changes, |call| {
        let request = call.message.iter();
        let request = request.map(|name| Named::Came(name.from.as_deref(), &name.message_id));
        request.chain(Named::lease(&call.lease)).collect()
    };
    "acknowledge"       Acknowledge -> Acknowledged, Agent Changes, |call| {
        let messages = Named::came(call.messages.iter().flatten());
        messages.into_iter().chain(Named::lease(&call.lease)).collect()
    };
    "fail"              Fail -> Failed, Agent Changes, |call| vec![Named::Lease(&call.lease)];
    "extend"            ExtendLease -> Extended, Agent Changes, |call| vec![Named::Lease(&call.lease)];
    "progress"          Progress -> Progressed, Agent Changes, |call| Named::came([&call.message]);
    "offer"             OfferCapability -> Offered, Agent Changes, |call| vec![Named::tier(call.tier)];
    "subscribe"         Subscribe -> Subscribed, Agent Shows, |call| call.message.iter().map(|id| Named::Ours(id)).collect();
    "narrow"            Narrow -> Narrowed, Agent Shows, |_| vec![];
    "look"              Look -> Looking, Person Shows, |_| vec![];
    "history"           ListHistory -> History, Agent Shows, |call| call.peer.iter().map(|peer| Named::Peer(peer)).collect();
    "inbox.list"        ListInbox -> Inbox, Agent Shows, |_| vec![];
    "inbox.follow"      FollowInbox -> Option<Inbox>, Agent Shows, |_| vec![];
    "inbox.aside"       ListAside -> SetAside, Person Shows, |_| vec![];
    "quarantine.list"   ListQuarantine -> Quarantine, Person Shows, |_| vec![];
    "quarantine.retry"  RetryMessage -> Retried, Person Changes, |_| vec![];
    "quarantine.drop"   DropMessage -> DroppedMessage, Person Changes, |_| vec![];
    "outbox.list"       ListOutbox -> Outbox, Agent Shows, |_| vec![];
    "message.status"    ShowMessage -> Outgoing, Agent Shows, |call| vec![Named::Ours(&call.message_id)];
    "message.find"      FindMessage -> FoundMessage, Agent Shows, |_| vec![];
    "handoff.send"      SendHandoff -> Sent, Agent Changes, |call| vec![
        Named::Peer(&call.peer),
        Named::tier(call.data_tier),
        Named::Authority(call.tier, call.under.as_deref()),
    ];
    "handoff.accept"    AcceptTask -> DecidedTask, Agent Changes, |call| vec![Named::Task(&call.task)];
    "handoff.decline"   DeclineTask -> DecidedTask, Agent Changes, |call| vec![Named::Task(&call.task)];
    "handoff.report"    ReportTask -> DecidedTask, Agent Changes, |call| vec![Named::Task(&call.task)];
    "handoff.list"      ListTasks -> Tasks, Agent Shows, |_| vec![];
    "handoff.show"      ShowTask -> ShownTask, Agent Shows, |call| vec![Named::Task(&call.task)];
    "alarms.list"       ListAlarms -> Alarms, Person Shows, |_| vec![];
    "alarms.clear"      ClearAlarms -> Alarms, Person Changes, |_| vec![];
    "attention.follow"  FollowAttention -> AttentionList, Person Shows, |_| vec![];
    "trust.pending"     ListPending -> Pending, Person Shows, |_| vec![];
    "trust.approve"     ApproveStranger -> StrangerDecided, Person Changes, |_| vec![];
    "trust.refuse"      RefuseStranger -> StrangerDecided, Person Changes, |_| vec![];
    "trust.revoke"      Withdraw -> Withdrawn, Person Changes, |_| vec![];
    "trust.revocation"  TakeRevocation -> Revoked, Person Changes, |_| vec![];
    "trust.replace-root" ReplaceRoot -> Bound, Person Changes, |_| vec![];
    "trust.list"        ListTrust -> Vec<TrustedPeer>, Person Shows, |_| vec![];
    "drafts.list"       ListDrafts -> Drafts, Person Shows, |_| vec![];
    "drafts.decide"     DecideDraft -> Decided, Person Changes, |_| vec![];
    "drafts.drop"       DropDraft -> Dropped, Person Changes, |_| vec![];
    "pause.tell"        TellPause -> Pausing, Person Changes, |_| vec![];
    "pause.show"        ShowPause -> Pausing, Person Shows, |_| vec![];
    "peer.add"          AddPeer -> Bound, Person Changes, |_| vec![];
    "peer.list"         ListPeers -> Vec<Peer>, Agent Shows, |_| vec![];
    "peer.show"         ShowPeer -> ShownPeer, Agent Shows, |call| vec![Named::Peer(&call.peer)];
    "card.show"         ShowCard -> ShownCard, Agent Shows, |call| call.peer.as_deref().map(Named::Peer).into_iter().collect();
    "policy.show"       ShowPolicy -> Policy, Person Shows, |_| vec![];
    "policy.check"      CheckPolicy -> Answered, Agent Shows, |call| vec![Named::Peer(&call.peer)];
    "keys.adopt"        AdoptKeys -> Adopted, Person Changes, |_| vec![];
    "reload"            Reload -> Reloaded, Person Changes, |_| vec![];
    "status"            ShowStatus -> Status, Agent Shows, |_| vec![];
    "carrier.attach"    AttachCarrier -> Attached, Carrier Changes, |_| vec![];
    "carrier.left"      ReportParcel -> ParcelReported, Carrier Changes, |_| vec![];
    "carrier.deliver"   DeliverMessages -> Delivered, Carrier Changes, |_| vec![];
    "carrier.poll"      MakePoll -> MadePoll, Carrier Changes, |call| vec![Named::Peer(&call.peer)];
    "carrier.routes"    ListRoutes -> CarrierRoutes, Carrier Shows, |_| vec![];
    "carrier.trust"     TakeTrust -> TrustTaken, Carrier Shows, |_| vec![];
    "carrier.transparency" FollowTransparency -> Transparency, Carrier Shows, |_| vec![];
    "carrier.metrics"   ShowMetrics -> Metrics, Carrier Shows, |_| vec![];
}

decides!(
    AddPeer,
    ApproveStranger,
    RefuseStranger,
    Withdraw,
    ReplaceRoot,
    ClearAlarms
);

/// Calls of earlier releases, each with what to call instead: programs that were written for them are told.
const GONE: [(&str, &str); 5] = [
    (
        "reply",
        "call respond with the request as message, and body or decline",
    ),
    ("inbox.acknowledge", "call acknowledge with messages"),
    (
        "inbox.start",
        "call receive, which begins a try of the next message under a lease",
    ),
    ("inbox.fail", "call fail with the lease of receive"),
    (
        "inbox.keep",
        "call acknowledge with the lease of receive, and keep",
    ),
];

impl Call {
    /// The line of the table for the method of that name.
    pub fn named(method: &str) -> Option<&'static Method> {
        Self::METHODS.iter().find(|known| known.name == method)
    }

    /// What a method that the table does not have is answered with: `call-gone` for one of an earlier release.
    pub fn unknown(method: &str) -> ApiError {
        match GONE.iter().find(|(name, _)| *name == method) {
            Some((name, instead)) => {
                let text = format!("{name} is no call any more; {instead}");
                ApiError::refused(Reason::CallGone, text)
            }
            None => ApiError::method_not_found(),
        }
    }
}

impl fmt::Debug for Call {
    /// Without the parameters, which may be sealed later.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({})", self.method())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            "attention.",
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
            assert!(Role::Person.may_use(method.whose));
        }
    }

    #[test]
    fn a_carrier_has_its_own_calls_and_nobody_elses() {
        for method in Call::METHODS {
            let is_own = method.name.starts_with("carrier.");
            assert_eq!(Role::Carrier.may_use(method.whose), is_own, "{method:?}");
            assert!(!(is_own && Role::Agent.may_use(method.whose)), "{method:?}");
        }
    }

    #[test]
    fn a_ceiling_is_held_against_every_call_that_names_something() {
        let (peer, id) = ("agent-bob", "0192");
        let name = json!({"from": peer, "message-id": id});
        let handoff = json!({"peer": peer, "goal": "", "tier": 2, "under": id, "data-tier": 3});
        let asked = vec![
            Named::Peer(peer),
            Named::Tier(3),
            Named::Authority(Some(2), Some(id)),
        ];
        let (came, task) = (Named::Came(Some(peer), id), json!({"task": id}));
        let naming = [
            (
                "send",
                json!({"peer": peer, "kind": "ping"}),
                vec![Named::Peer(peer), Named::Tier(1)],
            ),
            ("respond", json!({"message": name, "body": 1}), vec![came]),
            (
                "respond",
                json!({"message": {"message-id": id}, "decline": "no"}),
                vec![Named::Came(None, id)],
            ),
            (
                "respond",
                json!({"lease": id, "body": 1}),
                vec![Named::Lease(id)],
            ),
            ("acknowledge", json!({"lease": id}), vec![Named::Lease(id)]),
            (
                "acknowledge",
                json!({"messages": [name, name]}),
                vec![came, came],
            ),
            (
                "fail",
                json!({"lease": id, "reason": ""}),
                vec![Named::Lease(id)],
            ),
            (
                "extend",
                json!({"lease": id, "seconds": 1}),
                vec![Named::Lease(id)],
            ),
            (
                "progress",
                json!({"message": name, "state": "working"}),
                vec![came],
            ),
            (
                "offer",
                json!({"capability": "x", "tier": 4}),
                vec![Named::Tier(4)],
            ),
            ("subscribe", json!({"message": id}), vec![Named::Ours(id)]),
            ("history", json!({"peer": peer}), vec![Named::Peer(peer)]),
            (
                "message.status",
                json!({"message-id": id}),
                vec![Named::Ours(id)],
            ),
            ("handoff.send", handoff, asked),
            ("handoff.accept", task.clone(), vec![Named::Task(id)]),
            (
                "handoff.decline",
                json!({"task": id, "why": ""}),
                vec![Named::Task(id)],
            ),
            (
                "handoff.report",
                json!({"task": id, "state": "failed"}),
                vec![Named::Task(id)],
            ),
            ("handoff.show", task.clone(), vec![Named::Task(id)]),
            ("peer.show", json!({"peer": peer}), vec![Named::Peer(peer)]),
            ("card.show", json!({"peer": peer}), vec![Named::Peer(peer)]),
            (
                "policy.check",
                json!({"peer": peer, "tier": 1}),
                vec![Named::Peer(peer)],
            ),
        ];
        // These calls have nothing to check against the ceiling of their socket: each but the last shows or hands out only what
        // is within it.
        let within = [
            "receive",
            "inbox.list",
            "inbox.follow",
            "outbox.list",
            "message.find",
            "handoff.list",
            "peer.list",
            "status",
            // `narrow` lowers the ceiling of its own connection and can never raise it, so nothing it names needs a check.
            "narrow",
        ];
        for (method, params, names) in &naming {
            let call = Call::parse(method, params.clone()).unwrap();
            assert!(call.names() == *names, "{method}");
        }
        let named = naming.iter().map(|(method, ..)| *method);
        let thought_of: Vec<&str> = named.chain(within).collect();
        for method in Call::METHODS {
            let is_agents = method.whose == Role::Agent;
            assert_eq!(
                is_agents,
                thought_of.contains(&method.name),
                "{}",
                method.name
            );
        }
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

    #[test]
    fn a_call_that_is_gone_says_what_to_call_instead() {
        for (name, _) in GONE {
            assert_eq!(Call::named(name), None);
            let error = Call::parse(name, json!({"message-id": "0192"})).unwrap_err();
            assert!(error.is(&Reason::CallGone), "{name}");
            let (_, instead) = error.message.split_once("; call ").unwrap();
            let instead = instead.split([' ', ',']).next().unwrap();
            assert!(Call::named(instead).is_some(), "{name}: {instead}");
        }
    }
}
