//! `subscribe`: what moves in a conversation, or of a message of ours.

use serde_json::json;
use signet_api::Subscribe;
use signet_proto::ids::MessageId;

use crate::control::{ApiError, Notifier, Reply};
use crate::daemon::heart::Heart;
use crate::daemon::params::named;
use crate::effects::{Deed, Topic};

impl Heart {
    /// Tells the client what moves, from now on and for as long as it is there; first where the message is.
    pub(in crate::daemon) async fn subscribe(
        &mut self,
        asked: Result<Subscribe, ApiError>,
        reply: Reply,
        client: &Notifier,
    ) {
        let topic = match asked.and_then(|asked| topic(&asked)) {
            Ok(topic) => topic,
            Err(error) => return reply.send(Err(error)),
        };
        let mut shown = json!({});
        if let (Topic::Message(id), Some(members)) = (&topic, shown.as_object_mut()) {
            if let Some(out) = self.node.status(*id) {
                members.insert("state".into(), out.state.as_str().into());
            }
            if let Some(taken) = self.node.is_taken(*id) {
                members.insert("taken".into(), taken.into());
            }
        }
        let deeds = vec![
            Deed::Answer(reply, shown),
            Deed::Subscribe(client.clone(), topic),
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
