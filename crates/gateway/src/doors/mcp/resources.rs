//! Resources: agents, conversations and the inbox, each as one JSON document. Their names and addresses are ours;
//! what peers wrote stands in the documents, as in the results of tools.

use rmcp::model::{Annotations, Resource, ResourceTemplate, Role};

use crate::doors::mcp::message::View;
use crate::doors::mcp::tools::{
    Agent, Agents, ToolTurn, conversation, conversations, known, shown, shown_agent, waiting,
};
use crate::fault::DoorError;
use crate::shown::Shown;

/// What is always there.
pub(crate) fn all() -> Vec<Resource> {
    [
        (
            AGENTS,
            "agents",
            "Known agents",
            "The agents that are known, and the person behind each.",
        ),
        (
            CONVERSATIONS,
            "conversations",
            "Conversations",
            "The conversations of the newest thousand messages in tiers 1 and 2, newest first.",
        ),
        (
            INBOX,
            "inbox",
            "Inbox",
            "What waits for this agent, oldest first, twenty messages at most.",
        ),
    ]
    .map(|(uri, name, title, description)| {
        Resource::new(uri, name)
            .with_title(title)
            .with_description(description)
            .with_mime_type(JSON)
            .with_annotations(
                Annotations::default().with_audience(vec![Role::User, Role::Assistant]),
            )
    })
    .into()
}

/// What is there for each agent and each conversation.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    [
        (
            "signet://agents/{agent}",
            "agent",
            "One agent",
            "An agent with the capabilities that it offers.",
        ),
        (
            "signet://conversations/{conversation}",
            "conversation",
            "One conversation",
            "What was said in a conversation in tiers 1 and 2, newest first, a hundred messages at most.",
        ),
    ]
    .map(|(uri, name, title, description)| {
        ResourceTemplate::new(uri, name)
            .with_title(title)
            .with_description(description)
            .with_mime_type(JSON)
    })
    .into()
}

/// The document at `uri`.
///
/// # Errors
/// `resource-unknown`, or what the daemon says.
pub(crate) async fn read(uri: &str, turn: &ToolTurn<'_>) -> Result<Shown, DoorError> {
    if let Some(agent) = named(uri, "signet://agents/") {
        return shown(&shown_agent(turn.daemon, agent).await?);
    }
    if let Some(name) = named(uri, "signet://conversations/") {
        return shown(&conversation(turn, name).await?);
    }
    match uri {
        AGENTS => {
            let agents = known(turn.daemon).await?.into_iter();
            shown(&Agents {
                agents: agents.map(|peer| Agent::of(peer, None)).collect(),
            })
        }
        CONVERSATIONS => shown(&conversations(turn).await?),
        INBOX => shown(&waiting(turn, 0, 20, View::listed(turn.tier), |_| true).await?),
        _ => Err(DoorError::NoResource),
    }
}

/// The last part of an address: an id of the protocol, none of whose characters is written otherwise in one.
fn named(uri: &str, below: &str) -> Option<String> {
    let name = uri.strip_prefix(below)?;
    let known =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-');
    let fits = (1..=128).contains(&name.len()) && name.bytes().all(known);
    fits.then(|| name.to_owned())
}

pub(crate) const JSON: &str = "application/json";
const AGENTS: &str = "signet://agents";
const CONVERSATIONS: &str = "signet://conversations";
const INBOX: &str = "signet://inbox";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_what_stands_below_and_nothing_beside() {
        let below = "signet://agents/";
        assert_eq!(
            named("signet://agents/agent-bob", below).as_deref(),
            Some("agent-bob")
        );
        for odd in [
            "signet://agents/",
            "signet://agents/a/b",
            "signet://agents/../x",
            "signet://agents/%2e",
            "signet://agents",
            "file:///etc",
        ] {
            assert_eq!(named(odd, below), None, "{odd}");
        }
    }
}
