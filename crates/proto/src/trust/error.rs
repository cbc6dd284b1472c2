//! Why a binding was refused.

use crate::ids::{AgentId, PrincipalId};

/// A binding was refused because it contradicts what stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// The agent-id is this agent's own.
    #[error("{0} is this agent itself; a peer has another agent-id")]
    Myself(AgentId),
    /// The agent-id belongs to another principal.
    #[error(
        "{0} is already known as another principal's; compare the words of both root keys with their persons"
    )]
    Taken(AgentId),
    /// The principal is pinned with another root key.
    #[error(
        "{0} is already known with another root key; compare the words with the person before anything else"
    )]
    RootChanged(PrincipalId),
    /// A higher serial is known.
    #[error("a certificate of {0} with a higher serial is already known; ask for the newest")]
    Older(AgentId),
    /// The root key revoked it.
    #[error(
        "this certificate of {0} was revoked by its own root key; ask its person for a new one"
    )]
    Revoked(AgentId),
}

impl BindError {
    /// The stable name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Myself(_) => "reflected",
            Self::Taken(_) => "agent-id-taken",
            Self::RootChanged(_) => "root-changed",
            Self::Older(_) => "serial-rolled-back",
            Self::Revoked(_) => "certificate-revoked",
        }
    }
}
