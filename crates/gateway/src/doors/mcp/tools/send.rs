//! `ask` and `tell`: what this agent says, and what becomes of it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use signet_api::{ClientError, Kind, Send, Sent, ShowMessage, State, WaitsFor, Whose};

use super::rest::{AskedBack, Rest, RestWatch};
use super::{Does, McpTool, ToolTurn, wait, with_data};
use crate::daemon::fresh_key;
use crate::doors::mcp::message::{ClientMessage, MessageName, View};
use crate::fault::{DoorError, NAME_ONE};

/// A request to another agent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    /// The agent-id of the agent to ask: list_agents has them.
    agent: String,
    /// What to ask: any JSON. Where a capability is named, it has to fit that capability's schema.
    body: Value,
    /// The capability that is asked for, by its name.
    capability: Option<String>,
    /// true: it is for the people of that agent, whatever capabilities the agent offers.
    #[serde(default)]
    for_people: bool,
    /// One line for the people who read the logs of both sides.
    summary: Option<String>,
    /// Data tier of what is said: 1 public (when absent), 2 household, 3 sensitive, 4 restricted. From 3 on it
    /// leaves sealed.
    #[schemars(range(min = 1, max = 4))]
    tier: Option<u8>,
    /// The conversation that it belongs to: 1 to 128 of A-Z a-z 0-9 . _ : - as you like.
    conversation: Option<String>,
    /// The message that it follows from, where you ask because another agent asked you.
    continues: Option<MessageName>,
    /// Seconds to wait for the answer: 45 when absent, 600 at most, 0 for not at all.
    #[schemars(range(max = 600))]
    wait_seconds: Option<u32>,
    /// Seconds that the request may wait and live: 72 hours when absent.
    expires_seconds: Option<u64>,
    /// Your own name for this request: the same call with the same key is never sent twice. One is made when absent.
    key: Option<String>,
}

/// Something to say to another agent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tell {
    /// The agent-id of the agent to tell: list_agents has them.
    agent: String,
    /// What to tell: any JSON.
    body: Value,
    /// The capability that it is for, by its name.
    capability: Option<String>,
    /// One line for the people who read the logs of both sides.
    summary: Option<String>,
    /// Data tier of what is said: 1 public (when absent), 2 household, 3 sensitive, 4 restricted.
    #[schemars(range(min = 1, max = 4))]
    tier: Option<u8>,
    /// The conversation that it belongs to.
    conversation: Option<String>,
    /// The message that it follows from, where you tell it because another agent asked you.
    continues: Option<MessageName>,
    /// Seconds to wait until the other side has it: 10 when absent, 600 at most.
    #[schemars(range(max = 600))]
    wait_seconds: Option<u32>,
    /// Seconds that it may wait and live: 72 hours when absent.
    expires_seconds: Option<u64>,
    /// Your own name for it: the same call with the same key is never sent twice. One is made when absent.
    key: Option<String>,
}

/// What became of a message so far.
#[derive(Serialize, JsonSchema)]
pub(super) struct MessageOutcome {
    /// Its name: what message_status takes.
    message_id: String,
    /// queued (still here), published (sent), received (the other side has it), answered, refused, expired, unknown.
    state: String,
    /// The task that it gives, where it is a handoff.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    /// Why it was refused, or where its end is unknown: the name of a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Whose refusal it is: peer or self.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_by: Option<String>,
    /// What the other side offers, where it never left because it named none of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    offers: Option<Vec<String>>,
    /// What keeps it here: approval, introduction, resume, clock, alarm, session or connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<String>,
    /// Whether the mailbox of the other side holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_mailbox: Option<bool>,
    /// The key of the call: repeating the call with it sends nothing twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The answer, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<ClientMessage>,
    /// What the other side asks for before it answers, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<AskedBack>,
    /// What you can do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<&'static str>,
}

impl McpTool for Ask {
    const NAME: &'static str = "ask";
    const TITLE: &'static str = "Ask another agent";
    const DESCRIPTION: &'static str = with_data!(
        "Sends a signed request to another agent and waits for its answer, or until the other side asks something itself. \
         Where no answer comes in time, `state` and `next` say how to look for it later; the request goes on meanwhile."
    );
    const DOES: Does = Does::Sends;
    type Answer = MessageOutcome;

    async fn answer(self, turn: &ToolTurn<'_>) -> Result<MessageOutcome, DoorError> {
        let waits = wait(self.wait_seconds, 45);
        let call = Send {
            capability: self.capability,
            for_people: self.for_people,
            summary: self.summary,
            data_tier: self.tier,
            conversation_id: self.conversation,
            life: self.expires_seconds,
            key: Some(key(self.key)?),
            ..continued(
                Send::new(self.agent, Kind::Request, self.body),
                self.continues,
            )
        };
        sent(turn, call, waits).await
    }
}

impl McpTool for Tell {
    const NAME: &'static str = "tell";
    const TITLE: &'static str = "Tell another agent something";
    const DESCRIPTION: &'static str = with_data!(
        "Sends a signed message to another agent that wants no answer, and says whether it has arrived."
    );
    const DOES: Does = Does::Sends;
    type Answer = MessageOutcome;

    async fn answer(self, turn: &ToolTurn<'_>) -> Result<MessageOutcome, DoorError> {
        let waits = wait(self.wait_seconds, 10);
        let call = Send {
            capability: self.capability,
            summary: self.summary,
            data_tier: self.tier,
            conversation_id: self.conversation,
            life: self.expires_seconds,
            key: Some(key(self.key)?),
            ..continued(
                Send::new(self.agent, Kind::Notification, self.body),
                self.continues,
            )
        };
        sent(turn, call, waits).await
    }
}

/// Sends, and tells the client meanwhile how it goes where it wants that.
async fn sent(
    turn: &ToolTurn<'_>,
    call: Send,
    waits: Duration,
) -> Result<MessageOutcome, DoorError> {
    turn.admit_tier(call.data_tier)?;
    let key = call.key.clone();
    if waits.is_zero() || call.kind != Kind::Request {
        let sent = read(turn.daemon.send(&waiting(&call, waits)).await?)?;
        let now = as_it_is_now(turn, sent).await?;
        return Ok(MessageOutcome {
            key,
            ..MessageOutcome::of(turn, now, None)
        });
    }
    // The other agent may ask something before it answers. Watch for that before the request is sent: otherwise a question that
    // comes back at once would not count as new.
    let watch = RestWatch::of(turn, &call).await?;
    // Send without a wait first, to learn the id by which the message is followed. The second call below
    // has the same key, so the daemon does not send the message twice.
    let begun = turn.daemon.call(&call, Duration::ZERO).await?;
    let waiting = waiting(&call, waits);
    let telling = async {
        match &turn.progress {
            Some(progress) => progress.follow(turn.daemon, &begun.message_id, waits).await,
            None => std::future::pending().await,
        }
    };
    let (sent, rest) = tokio::select! {
        sent = turn.daemon.send(&waiting) => (read(sent?)?, None),
        rest = watch.rests(turn, &begun.message_id) => (begun.clone(), Some(rest)),
        // `telling` reports progress, and never ends by itself: this arm only keeps it going while the others wait.
        () = telling => (begun.clone(), None),
    };
    Ok(MessageOutcome {
        key,
        ..MessageOutcome::of(turn, as_it_is_now(turn, sent).await?, rest)
    })
}

/// Where the wait was over, the daemon has told where the message was when it began.
pub(super) async fn as_it_is_now(turn: &ToolTurn<'_>, sent: Sent) -> Result<Sent, DoorError> {
    if !matches!(sent.state, State::Queued | State::Published) {
        return Ok(sent);
    }
    let now = turn.daemon.as_it_is_now(sent).await?;
    if now.state != State::Refused || now.offers.is_some() {
        return Ok(now);
    }
    let message_id = now.message_id.clone();
    let shown = ShowMessage { message_id };
    Ok(Sent {
        offers: turn.daemon.call(&shown, Duration::ZERO).await?.offers,
        ..now
    })
}

/// What the daemon said of a message.
pub(super) fn read(sent: Value) -> Result<Sent, DoorError> {
    Ok(serde_json::from_value(sent).map_err(|_| ClientError::Malformed)?)
}

fn waiting(call: &Send, waits: Duration) -> Send {
    Send {
        wait: waits.as_secs_f64(),
        ..call.clone()
    }
}

fn continued(call: Send, continues: Option<MessageName>) -> Send {
    let (from, message) = continues.map(|name| (name.from, name.message_id)).unzip();
    Send {
        continues: message,
        continues_from: from,
        ..call
    }
}

impl MessageOutcome {
    /// What the daemon says of it; the answer is handed over. `rest`: why no answer comes for now.
    pub(super) fn of(turn: &ToolTurn<'_>, sent: Sent, rest: Option<Rest>) -> Self {
        let answer = sent.answer.map(|answer| shown_answer(turn, answer));
        let (question, waits) = match rest.filter(|_| answer.is_none()) {
            None => (None, None),
            Some(rest) => (rest.shown(turn), Some(rest.next())),
        };
        let needs = sent.offers.is_some().then_some(NAME_ONE);
        let waits = waits.or(needs);
        Self {
            next: waits.or_else(|| next(sent.state, sent.waits_for, answer.is_some())),
            question,
            message_id: sent.message_id,
            state: sent.state.as_str().to_owned(),
            task: sent.task,
            reason: sent.reason,
            refused_by: sent.by.map(|whose| match whose {
                Whose::Peer => "peer".to_owned(),
                Whose::Own => "self".to_owned(),
            }),
            offers: sent.offers,
            waits_for: sent.waits_for.map(|what| what.as_str().to_owned()),
            in_mailbox: sent.stored,
            key: None,
            answer,
        }
    }
}

/// An answer that is shown leaves the inbox; one that is withheld stays there for the person.
fn shown_answer(turn: &ToolTurn<'_>, answer: signet_api::Message) -> ClientMessage {
    let name = answer.name();
    let shown = View::whole(turn.tier).message(answer);
    if shown.withheld.is_none() {
        turn.hand_over(name);
    }
    shown
}

/// What a client can do next: sentences of ours.
pub(super) fn next(
    state: State,
    waits_for: Option<WaitsFor>,
    has_answer: bool,
) -> Option<&'static str> {
    let for_people = matches!(
        waits_for,
        Some(
            WaitsFor::Approval
                | WaitsFor::Introduction
                | WaitsFor::Resume
                | WaitsFor::Alarm
                | WaitsFor::Clock
        )
    );
    match state {
        State::Answered if has_answer => None,
        State::Answered => {
            Some("it is answered: message_status shows the answer, unless its person has taken it")
        }
        State::Queued if for_people => Some(
            "it waits here until people have decided (signet drafts); message_status says where it is",
        ),
        State::Queued | State::Published => {
            Some("it is under way and goes on by itself; message_status says where it is")
        }
        State::Received => Some(
            "the other side has it; message_status with wait_seconds waits for an answer, which also comes into read_inbox",
        ),
        State::Refused => {
            Some("correct what the reason says, or leave it; the same call will be refused again")
        }
        State::Expired | State::Unknown => {
            Some("the other side may have it all the same; ask its person before you repeat it")
        }
    }
}

/// The caller's own key, or a new one: a call whose answer is lost can be repeated.
fn key(given: Option<String>) -> Result<String, DoorError> {
    given.map_or_else(|| fresh_key("mcp"), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_the_callers_stays_and_two_new_ones_differ() {
        assert_eq!(key(Some("mine".to_owned())).unwrap(), "mine");
        let (one, two) = (key(None).unwrap(), key(None).unwrap());
        assert!(one != two && one.len() == 36 && one.starts_with("mcp-"));
    }

    #[test]
    fn whatever_is_not_answered_says_what_to_do() {
        use State::{Answered, Expired, Published, Queued, Received, Refused, Unknown};
        for state in [
            Queued, Published, Received, Answered, Refused, Expired, Unknown,
        ] {
            assert!(next(state, None, false).is_some());
        }
        assert_eq!(next(Answered, None, true), None);
        assert!(
            next(Queued, Some(WaitsFor::Approval), false)
                .unwrap()
                .contains("people")
        );
    }
}
