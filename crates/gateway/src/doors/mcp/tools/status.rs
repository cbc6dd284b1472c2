//! `agent_status`: who this agent is, and how its daemon does.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use signet_api::ShowStatus;

use super::{Does, McpTool, ToolTurn};
use crate::fault::DoorError;

/// No arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentStatus {}

/// How the daemon of this agent does.
#[derive(Serialize, JsonSchema)]
pub(super) struct DaemonStatus {
    /// The agent for which you act.
    agent: String,
    /// The person for whom that agent acts.
    principal: String,
    /// Whether the daemon is connected to its server; without, messages wait here.
    connected: bool,
    /// Whether the person has paused all their agents: nothing is sent or taken in.
    paused: bool,
    /// Whether the person took the certificate of this agent back.
    revoked: bool,
    /// Why the daemon refuses everything, while it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusing: Option<String>,
    /// How many messages wait in the inbox.
    inbox: usize,
    /// How many agents are known.
    agents: usize,
    /// The highest data tier that these tools send and show.
    highest_tier: u8,
    /// The release of the daemon.
    version: String,
}

impl McpTool for AgentStatus {
    const NAME: &'static str = "agent_status";
    const TITLE: &'static str = "How this agent does";
    const DESCRIPTION: &'static str = "Says which agent you act for, whether it is connected, and how many messages \
        wait in its inbox. Call it first, and when another tool reports that something is away.";
    const DOES: Does = Does::Looks;
    type Answer = DaemonStatus;

    async fn answer(self, turn: &ToolTurn<'_>) -> Result<DaemonStatus, DoorError> {
        let status = turn.daemon.call(&ShowStatus {}, Duration::ZERO).await?;
        Ok(DaemonStatus {
            agent: status.agent,
            principal: status.principal,
            connected: status.connected,
            paused: status.paused,
            revoked: status.revoked,
            refusing: status.refusing.map(|why| why.reason.as_str().to_owned()),
            inbox: status.inbox,
            agents: status.peers.len(),
            highest_tier: turn.tier,
            version: status.version,
        })
    }
}
