//! The one table of methods: what each is, in which version it came, what its body has to fit, where it is kept.

use std::str::FromStr;

use crate::headers::MessageType;
use crate::ids::Version;
use crate::reject::Reason;
use crate::words::words;

macro_rules! methods {
    ($( $method:ident $name:literal $type:ident $class:ident $since:ident $form:ident$(($schema:literal))?, $kept:ident $text:literal; )*) => {
        /// The methods of signet/1.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method {
            $( #[doc = concat!("`", $name, "`: ", $text)] $method, )*
        }

        impl Method {
            /// Every method, in the order of the table.
            pub const ALL: &'static [Self] = &[ $( Self::$method, )* ];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$method => $name, )* }
            }

            /// The `message-type` that goes with it.
            pub const fn message_type(self) -> MessageType {
                match self { $( Self::$method => MessageType::$type, )* }
            }

            /// What it is for.
            pub const fn class(self) -> Class {
                match self { $( Self::$method => Class::$class, )* }
            }

            /// The lowest version of a session in which it may be said.
            pub const fn since(self) -> Version {
                match self { $( Self::$method => Version::$since, )* }
            }

            /// Which schema its body has to fit, and when.
            pub const fn body(self) -> BodyForm {
                match self { $( Self::$method => BodyForm::$form$(($schema))?, )* }
            }

            /// The schemas of the bodies, in the order of the table: the name and the text of each.
            pub(crate) const BODIES: &'static [(&'static str, &'static str)] = &[ $( $(
                ($schema, include_str!(concat!("../../../schemas/", $schema, ".schema.json"))),
            )? )* ];

            /// Where it is kept when it was accepted.
            pub const fn kept(self) -> KeptIn {
                match self { $( Self::$method => KeptIn::$kept, )* }
            }

            /// One sentence: what it says.
            pub const fn text(self) -> &'static str {
                match self { $( Self::$method => $text, )* }
            }
        }
    };
}

// Columns: variant; name on the wire; message-type; class; first version that has the method; form of the body; where a
// recipient keeps the message; its meaning for people.
methods! {
    Request      "agent.request"      Request      Application CURRENT  Free,                  Inbox     "Asks for an answer, perhaps for a capability.";
    Notification "agent.notification" Notification Application CURRENT  Free,                  Inbox     "Tells something that wants no answer.";
    Handoff      "agent.handoff"      Handoff      Application CURRENT  Sealable("handoff"),   Inbox     "Hands a task over, within limits.";
    Progress     "agent.progress"     Notification Application PROGRESS Sealable("progress"),  Request   "Says how a request goes; it settles nothing.";
    Offer        "agent.offer"        Notification Control     PROGRESS Clear("offer"),        Offers    "Says which capabilities changed.";
    Receipt      "agent.receipt"      Notification Control     CURRENT  Clear("receipt"),      Receipts  "Says what is durable with its recipient.";
    Poll         "agent.poll"         Notification Control     CURRENT  Clear("poll"),         Nowhere   "Asks for what is kept for an agent that can only dial out.";
    Revoke       "agent.revoke"       Notification Control     CURRENT  Clear("revoke"),       Orders    "Takes a certificate back.";
    Pause        "agent.pause"        Notification Control     CURRENT  Clear("pause"),        Orders    "A person has their agents be still.";
    Resume       "agent.resume"       Notification Control     CURRENT  Clear("pause"),        Orders    "A person lets their agents go on.";
    Announce     "agent.announce"     Notification Control     CURRENT  Clear("announce"),     Handshake "Flight 1 of a handshake.";
    Verify       "agent.verify"       Notification Control     CURRENT  Clear("verify"),       Handshake "Flight 2 of a handshake.";
    Capability   "agent.capability"   Notification Control     CURRENT  Clear("capability"),   Handshake "Flight 3 of a handshake.";
    Trust        "agent.trust"        Notification Control     CURRENT  Clear("trust"),        Handshake "Flight 4 of a handshake.";
}

impl Method {
    /// Whether it is one of the four flights.
    pub const fn is_handshake(self) -> bool {
        matches!(self.kept(), KeptIn::Handshake)
    }

    /// Whether the call carries an `id` and wants an answer.
    pub const fn is_call(self) -> bool {
        self.message_type().is_answered()
    }

    /// Whether the log has a line of it.
    pub const fn leaves_a_line(self) -> bool {
        !matches!(self.kept(), KeptIn::Nowhere)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Reason> {
        let mut all = Self::ALL.iter().copied();
        all.find(|method| method.as_str() == text)
            .ok_or(Reason::MethodNotFound)
    }
}

impl FromStr for Method {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        Self::parse(text)
    }
}

/// Which schema the body of a call has to fit, by the schema's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyForm {
    /// None: agents agree about it, or a capability has a schema of its own.
    Free,
    /// Never sealed: it fits before anything else is looked at (check V03).
    Clear(&'static str),
    /// Perhaps sealed: it fits when it was opened (check V12).
    Sealable(&'static str),
}

impl BodyForm {
    /// The schema's name, where there is one.
    pub const fn schema(self) -> Option<&'static str> {
        match self {
            Self::Free => None,
            Self::Clear(name) | Self::Sealable(name) => Some(name),
        }
    }
}

/// Where a call is kept that was accepted: it decides how the call is judged, paid, carried and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptIn {
    /// In the agent's inbox, until the agent takes it; pings beside it, until the daemon has answered.
    Inbox,
    /// With the request of ours that it belongs to.
    Request,
    /// With what its sender offers.
    Offers,
    /// In its session, whose ledger and window it settles.
    Receipts,
    /// With the people whose signed order it is.
    Orders,
    /// In the handshake with its sender.
    Handshake,
    /// Nowhere, not even in the log: it is served once.
    Nowhere,
}

words! {
    /// What a message is for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Class {
        /// Agents say it to each other: requests, answers, progress, notifications, handoffs and reports of tasks.
        Application "application",
        /// The protocol needs it: flights of the handshake, offers, receipts, polls, and people's signed orders.
        Control "control",
    }
}
