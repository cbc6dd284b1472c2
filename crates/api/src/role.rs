//! Who calls.

use serde::{Deserialize, Serialize};

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
