//! `subscribe`: what moves in a conversation, or of a message of ours.

use signet_api::{ApiError, Subscribe, Subscribed};
use signet_proto::ids::MessageId;

use crate::control::{Caller, Notifier, Reply};
use crate::daemon::heart::Heart;
use crate::daemon::serve::{named, value_of};
use crate::effects::{Deed, Follower, Topic};
use crate::render;

impl Heart {
    /// Tells the client what moves, from now on and for as long as it is there; first where the message is.
    pub(in crate::daemon) async fn subscribe(
        &mut self,
        asked: &Subscribe,
        caller: &Caller,
        reply: Reply,
        notifier: Notifier,
    ) {
        let topic = match topic(asked) {
            Ok(topic) => topic,
            Err(error) => return reply.send(Err(error)),
        };
        let shown = match &topic {
            Topic::Message(id) => Subscribed {
                state: self.node.status(*id).map(|out| render::state(&out.state)),
                taken: self.node.is_taken(*id),
            },
            Topic::Conversation(_) => Subscribed::default(),
        };
        let client = Follower {
            notifier,
            reach: caller.reach.clone(),
        };
        let deeds = vec![
            Deed::Answer(reply, value_of::<Subscribe>(&shown)),
            Deed::Subscribe(client, topic),
        ];
        let now = self.at().now;
        self.write(now, Vec::new(), deeds).await;
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
