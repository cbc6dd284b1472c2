//! `read_inbox`, `answer`, `decline` and `acknowledge`: what came.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use signet_api::{Inbox, ListInbox, RequestName, Respond};

use super::{Does, McpTool, ToolTurn, with_data};
use crate::doors::mcp::message::{ClientMessage, MessageName, View};
use crate::fault::DoorError;

/// Which part of the inbox.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadInbox {
    /// Only what came after the message with this number; from the oldest on when absent.
    after: Option<u64>,
    /// At most so many: 20 when absent, 100 at most.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// Only from this agent.
    from: Option<String>,
    /// Only this message, with all that it says.
    message_id: Option<String>,
}

/// What waits, oldest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InboxPage {
    messages: Vec<Numbered>,
    /// How many wait in all, whoever they are from.
    waiting: usize,
    /// Whether more follow: call again with `after` of the last number.
    more: bool,
    /// The number up to which this looked.
    looked_up_to: u64,
}

/// A message with its number in the inbox.
#[derive(Serialize, JsonSchema)]
struct Numbered {
    /// Its number: rising.
    number: u64,
    #[serde(flatten)]
    message: ClientMessage,
}

/// An answer to a request in the inbox.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerRequest {
    /// The agent that asked.
    from: String,
    /// The message_id of its request.
    message_id: String,
    /// The answer: any JSON but null.
    body: Value,
    /// One line for the people who read the logs of both sides.
    summary: Option<String>,
}

/// A request that is not answered.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Decline {
    /// The agent that asked.
    from: String,
    /// The message_id of its request.
    message_id: String,
    /// Why, in words for whoever asked.
    why: String,
}

/// Messages that are read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TakeOut {
    /// Which: all of them leave the inbox, or none.
    #[schemars(length(min = 1, max = 1_000))]
    messages: Vec<MessageName>,
}

/// The answer is on its way.
#[derive(Serialize, JsonSchema)]
pub(super) struct SentAnswer {
    /// The name of the answer: what message_status takes.
    message_id: String,
}

/// They have left the inbox.
#[derive(Serialize, JsonSchema)]
pub(super) struct TakenOut {
    /// How many.
    acknowledged: usize,
}

impl McpTool for ReadInbox {
    const NAME: &'static str = "read_inbox";
    const TITLE: &'static str = "What came and waits";
    const DESCRIPTION: &'static str = with_data!(
        "Shows the messages that wait for this agent, oldest first, each with its verified sender. Reading changes \
         nothing: requests wait for answer or decline, everything else for acknowledge."
    );
    const DOES: Does = Does::Looks;
    type Answer = InboxPage;

    async fn answer(self, turn: &ToolTurn<'_>) -> Result<InboxPage, DoorError> {
        let limit = self.limit.unwrap_or(FEW).clamp(1, MOST);
        let view = match self.message_id {
            Some(_) => View::whole(turn.tier),
            None => View::listed(turn.tier),
        };
        let wanted = |message: &signet_api::Message| {
            self.from.as_ref().is_none_or(|from| *from == message.from)
                && self
                    .message_id
                    .as_ref()
                    .is_none_or(|id| *id == message.message_id)
        };
        waiting(turn, self.after.unwrap_or(0), limit, view, wanted).await
    }
}

impl McpTool for AnswerRequest {
    const NAME: &'static str = "answer";
    const TITLE: &'static str = "Answer a request";
    const DESCRIPTION: &'static str = "Answers a request that waits in the inbox; the answer is signed, and sealed where the request was. The request \
         leaves the inbox.";
    const DOES: Does = Does::Sends;
    type Answer = SentAnswer;

    async fn answer(self, turn: &ToolTurn<'_>) -> Result<SentAnswer, DoorError> {
        let answer = Respond {
            message: Some(request(self.from, self.message_id)),
            body: Some(self.body),
            summary: self.summary,
            ..Respond::default()
        };
        replied(turn, &answer).await
    }
}

impl McpTool for Decline {
    const NAME: &'static str = "decline";
    const TITLE: &'static str = "Decline a request";
    const DESCRIPTION: &'static str = "Refuses a request that waits in the inbox and says why. The request leaves the inbox, and whoever asked hears \
         of it.";
    const DOES: Does = Does::Sends;
    type Answer = SentAnswer;

    async fn answer(self, turn: &ToolTurn<'_>) -> Result<SentAnswer, DoorError> {
        let declined = Respond {
            message: Some(request(self.from, self.message_id)),
            decline: Some(self.why),
            ..Respond::default()
        };
        replied(turn, &declined).await
    }
}

impl McpTool for TakeOut {
    const NAME: &'static str = "acknowledge";
    const TITLE: &'static str = "Take messages out of the inbox";
    const DESCRIPTION: &'static str = "Says that messages are read: they leave the inbox, and nobody else sees them there. For what wants no answer; \
         a request waits for answer or decline.";
    const DOES: Does = Does::Settles;
    type Answer = TakenOut;

    async fn answer(self, turn: &ToolTurn<'_>) -> Result<TakenOut, DoorError> {
        let messages = self.messages.into_iter().map(Into::into).collect();
        let asked = signet_api::Acknowledge::of(messages);
        let done = turn.daemon.call(&asked, Duration::ZERO).await?;
        Ok(TakenOut {
            acknowledged: done.acknowledged,
        })
    }
}

fn request(from: String, message_id: String) -> RequestName {
    let from = Some(from);
    RequestName { from, message_id }
}

async fn replied(turn: &ToolTurn<'_>, answer: &Respond) -> Result<SentAnswer, DoorError> {
    let replied = turn.daemon.call(answer, Duration::ZERO).await?;
    Ok(SentAnswer {
        message_id: replied.message_id,
    })
}

/// What waits and is `wanted`, page by page until there is enough of it.
pub(crate) async fn waiting(
    turn: &ToolTurn<'_>,
    after: u64,
    limit: usize,
    view: View,
    wanted: impl Fn(&signet_api::Message) -> bool,
) -> Result<InboxPage, DoorError> {
    let mut shown = InboxPage {
        messages: Vec::new(),
        waiting: 0,
        more: false,
        looked_up_to: after,
    };
    loop {
        let asked = ListInbox {
            after: shown.looked_up_to,
            limit: None,
        };
        let Inbox { messages, waiting } = turn.daemon.call(&asked, Duration::ZERO).await?;
        shown.waiting = waiting;
        if messages.is_empty() {
            return Ok(shown);
        }
        for one in messages {
            // The page is full and another message is left. Whether the client wants that message or a later one is not
            // examined: so `more` says only that there may be more.
            if shown.messages.len() == limit {
                shown.more = true;
                return Ok(shown);
            }
            shown.looked_up_to = one.number;
            if wanted(&one.message) {
                let (number, message) = (one.number, view.message(one.message));
                shown.messages.push(Numbered { number, message });
            }
        }
    }
}

/// How many messages one call gives when nothing else is said, and at most.
const FEW: usize = 20;
const MOST: usize = 100;
