//! The inbox: listing, answering and acknowledging what came.

use signet_api::{
    Acknowledge, Acknowledged, ApiError, Inbox, ListAside, ListInbox, Replied, Reply, SetAside,
    Waiting,
};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{At, Content, Node};

use crate::render;

use super::listing::{MESSAGES, page};
use super::serve::{Done, Serve, maybe_named, named, paused, refused, shown};
use crate::reach::Reach;

impl Serve for ListInbox {
    fn serve(self, node: &mut Node, _: At, reach: &Reach) -> Result<Done<Self>, ApiError> {
        if node.pausing().is_paused() {
            return Err(paused());
        }
        let items = node.inbox().after(self.after);
        let items = items.filter(|item| reach.sees_message(&item.message));
        let items = items.map(|item| Waiting {
            number: item.number,
            message: render::item(&item.message, node.opened(&item.message).as_ref()),
        });
        let messages = page(items, self.limit.unwrap_or(MESSAGES));
        shown(Inbox {
            messages,
            waiting: waiting(node, reach),
        })
    }
}

/// What revoked agents sent and our agent had not taken: for the person.
impl Serve for ListAside {
    fn serve(self, node: &mut Node, _: At, _: &Reach) -> Result<Done<Self>, ApiError> {
        let items = node.inbox().aside().skip(self.skip);
        let items = items.map(|message| render::item(message, node.opened(message).as_ref()));
        shown(SetAside {
            messages: page(items, MESSAGES),
        })
    }
}

impl Serve for Acknowledge {
    fn serve(self, node: &mut Node, at: At, _: &Reach) -> Result<Done<Self>, ApiError> {
        let names = self.messages.iter().map(parse_name);
        let names = names.collect::<Result<Vec<_>, ApiError>>()?;
        let outcome = node.handle_acknowledge(at, &names).map_err(refused)?;
        let acknowledged = names.len();
        Ok((Acknowledged { acknowledged }, outcome))
    }
}

impl Serve for Reply {
    fn serve(self, node: &mut Node, at: At, _: &Reach) -> Result<Done<Self>, ApiError> {
        let request = named::<MessageId>("message-id", &self.message_id)?;
        let from = maybe_named::<AgentId>("from", self.from.as_deref())?;
        let replied = match (self.body, self.decline) {
            (body, Some(text)) => {
                node.handle_decline_request(at, from.as_ref(), request, (text, body))
            }
            (Some(body), None) => {
                let content = Content {
                    body,
                    summary: self.summary,
                    ..Content::default()
                };
                node.handle_reply(at, from.as_ref(), request, Ok(content))
            }
            (None, None) => {
                let fault = "give body or decline, one of them";
                return Err(ApiError::invalid_params(fault));
            }
        };
        let (message_id, outcome) = replied.map_err(refused)?;
        let message_id = message_id.to_string();
        Ok((Replied { message_id }, outcome))
    }

    fn makes(answer: &Replied) -> Option<&str> {
        Some(&answer.message_id)
    }
}

/// How many messages wait, of those that a socket reaches.
pub(super) fn waiting(node: &Node, reach: &Reach) -> usize {
    if reach.is_everything() {
        return node.inbox().len();
    }
    let seen = node.inbox().after(0);
    seen.filter(|item| reach.sees_message(&item.message))
        .count()
}

fn parse_name(name: &signet_api::Name) -> Result<(AgentId, MessageId), ApiError> {
    Ok((
        named("from", &name.from)?,
        named("message-id", &name.message_id)?,
    ))
}
