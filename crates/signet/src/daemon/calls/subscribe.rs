//! `subscribe`: what moves in a conversation, or of a message of ours.

use signet_api::{ApiError, Subscribe, Subscribed};
use signet_proto::ids::MessageId;

use crate::render;

use super::serve::{named, text_of};
use super::{AnswerCall, Asker, Batch, DaemonState};
use crate::daemon::action::{Action, Follower, Topic};

impl AnswerCall for Subscribe {
    /// Tells the client what moves, from now on and for as long as it is there; first where the message is.
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let topic = match topic(&self) {
            Ok(topic) => topic,
            Err(error) => return state.refuse(asker.reply, error),
        };
        let node = &state.node;
        let shown = match &topic {
            Topic::Message(id) => Subscribed {
                state: node.sent().status(*id).map(|out| render::state(&out.state)),
                taken: node.sent().is_taken(*id),
            },
            Topic::Conversation(_) => Subscribed::default(),
        };
        let client = Follower {
            notifier: asker.notifier,
            reach: asker.caller.reach.clone(),
        };
        let answer = Action::Answer(asker.reply, text_of::<Self>(&shown));
        Batch::doing(
            state.at().now,
            vec![answer, Action::Subscribe(client, topic)],
        )
    }
}

fn topic(asked: &Subscribe) -> Result<Topic, ApiError> {
    match (&asked.conversation, &asked.message) {
        (Some(name), None) => Ok(Topic::Conversation(named("conversation", name)?)),
        (None, Some(id)) => Ok(Topic::Message(named::<MessageId>("message", id)?)),
        _ => Err(ApiError::invalid_params(
            "give conversation or message, one of them",
        )),
    }
}
