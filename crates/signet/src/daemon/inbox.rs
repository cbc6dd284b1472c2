//! The inbox: listing what came.

use signet_api::{ApiError, Inbox, ListAside, ListInbox, SetAside, Waiting};
use signet_proto::node::{At, Node};

use crate::render;

use super::listing::{MESSAGES, page};
use super::serve::{Done, Serve, paused, shown};
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

/// How many messages wait, of those that a socket reaches.
pub(super) fn waiting(node: &Node, reach: &Reach) -> usize {
    if reach.is_everything() {
        return node.inbox().len();
    }
    let seen = node.inbox().after(0);
    seen.filter(|item| reach.sees_message(&item.message))
        .count()
}
