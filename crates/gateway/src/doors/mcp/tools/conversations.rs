//! `search_conversations`: what was said, out of the agent's own log, in tiers 1 and 2.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use signet_api::{ListHistory, Said};

use super::{Does, McpTool, ToolTurn, with_data};
use crate::daemon::READING;
use crate::doors::mcp::message::{ClientMessage, View};
use crate::fault::DoorError;

/// What to look for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchConversations {
    /// A text that stands in the summary or the body, whatever its case; everything when absent.
    text: Option<String>,
    /// Only with this agent.
    agent: Option<String>,
    /// Only in this conversation.
    conversation: Option<String>,
    /// Only what is older than this line: the `older_than` of an earlier result.
    older_than: Option<u64>,
    /// At most so many: 20 when absent, 100 at most.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

/// What was found, newest first. What travelled sealed is not in it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Found {
    messages: Vec<SearchHit>,
    /// Whether there may be more: call again with this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    older_than: Option<u64>,
}

/// A message that came or went.
#[derive(Serialize, JsonSchema)]
struct SearchHit {
    /// The line of this agent's log that tells of it.
    line: u64,
    /// in or out.
    direction: String,
    /// For whom it is.
    to: String,
    #[serde(flatten)]
    message: ClientMessage,
}

impl McpTool for SearchConversations {
    const NAME: &'static str = "search_conversations";
    const TITLE: &'static str = "Search one's own conversations";
    const DESCRIPTION: &'static str = with_data!(
        "Finds messages that this agent sent and received in the last two months, newest first: by text, agent or \
         conversation. What travelled sealed (tiers 3 and 4) is not among them."
    );
    const DOES: Does = Does::Looks;
    type Answer = Found;

    async fn answer(self, turn: &ToolTurn<'_>) -> Result<Found, DoorError> {
        let text = self.text.map(|text| text.to_lowercase());
        let limit = self.limit.unwrap_or(FEW).clamp(1, MOST);
        let asked = ListHistory {
            peer: self.agent,
            conversation: self.conversation,
            before: self.older_than,
            limit: Some(PAGE),
        };
        search(turn, asked, text.as_deref(), limit).await
    }
}

async fn search(
    turn: &ToolTurn<'_>,
    mut asked: ListHistory,
    text: Option<&str>,
    limit: usize,
) -> Result<Found, DoorError> {
    let mut messages = Vec::new();
    for _ in 0..PAGES {
        let page = turn.daemon.call(&asked, READING).await?;
        if page.messages.is_empty() {
            return Ok(Found {
                messages,
                older_than: None,
            });
        }
        for said in page.messages {
            // The page is full, so this message is left for the next page. That page begins below `before`, the line of the log
            // of the last message that was examined.
            if messages.len() == limit {
                return Ok(Found {
                    messages,
                    older_than: asked.before,
                });
            }
            asked.before = Some(said.line);
            // The daemon returns messages up to tier 2, but this client may be limited to tier 1. Without a text to search for,
            // every message within the client's tier is a hit.
            if said.message.data_tier <= turn.tier && text.is_none_or(|text| says(&said, text)) {
                messages.push(SearchHit::of(turn, said));
            }
        }
    }
    Ok(Found {
        messages,
        older_than: asked.before,
    })
}

fn says(said: &Said, text: &str) -> bool {
    let message = &said.message;
    let summary = message
        .summary
        .as_ref()
        .map(|summary| summary.to_lowercase());
    let body = message.body.as_ref().map(|body| match body {
        serde_json::Value::String(body) => body.to_lowercase(),
        other => other.to_string().to_lowercase(),
    });
    [summary, body]
        .into_iter()
        .flatten()
        .any(|said| said.contains(text))
}

impl SearchHit {
    fn of(turn: &ToolTurn<'_>, said: Said) -> Self {
        Self {
            line: said.line,
            direction: said.direction,
            to: said.to,
            message: View::listed(turn.tier).message(said.message),
        }
    }
}

/// The conversations of the newest messages.
#[derive(Serialize)]
pub(crate) struct Conversations {
    conversations: Vec<Conversation>,
}

/// One of them.
#[derive(Serialize)]
struct Conversation {
    conversation: String,
    agents: BTreeSet<String>,
    messages: usize,
    last_at: String,
}

/// Which conversations there are, the newest first.
pub(crate) async fn conversations(turn: &ToolTurn<'_>) -> Result<Conversations, DoorError> {
    let asked = ListHistory {
        limit: Some(1_000),
        ..ListHistory::default()
    };
    let page = turn.daemon.call(&asked, READING).await?;
    let mut conversations: Vec<Conversation> = Vec::new();
    for said in page.messages {
        let Some(name) = said.message.conversation_id else {
            continue;
        };
        let other = match said.direction.as_str() {
            "out" => said.to,
            _ => said.message.from,
        };
        match conversations
            .iter_mut()
            .find(|known| known.conversation == name)
        {
            Some(known) => {
                known.messages += 1;
                known.agents.insert(other);
            }
            // The messages come newest first, so the first one seen of a conversation is its latest.
            None => conversations.push(Conversation {
                conversation: name,
                agents: BTreeSet::from([other]),
                messages: 1,
                last_at: said.message.timestamp,
            }),
        }
    }
    Ok(Conversations { conversations })
}

/// What was said in one.
pub(crate) async fn conversation(turn: &ToolTurn<'_>, name: String) -> Result<Found, DoorError> {
    let asked = ListHistory {
        conversation: Some(name),
        limit: Some(PAGE),
        ..ListHistory::default()
    };
    search(turn, asked, None, MOST).await
}

/// How many messages one call gives when nothing else is said, and at most.
const FEW: usize = 20;
const MOST: usize = 100;
/// How many are asked for at once, and how often: a text that stands nowhere does not keep the log busy for long.
const PAGE: usize = 500;
const PAGES: usize = 10;
