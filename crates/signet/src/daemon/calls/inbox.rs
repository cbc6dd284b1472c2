//! The inbox: listing what came.

use serde::Serialize;
use signet_api::{ApiError, FollowInbox, Inbox, ListAside, ListInbox, SetAside, Waiting};
use signet_proto::node::{Node, Turn};

use crate::reach::{Reach, Sees as _};
use crate::render::{self, RenderedMessage};

use super::listing::{MESSAGES, Written, page};
use super::serve::{Handled, Serve, paused, shown, to_text};
use super::{AnswerCall, Asker, Batch, DaemonState};
use crate::daemon::action::{Action, Follower};

impl AnswerCall for ListInbox {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let listed = list(&self, state, &asker.caller.reach);
        state.show_text(listed.and_then(|listed| to_text(&listed)), asker.reply)
    }
}

impl AnswerCall for FollowInbox {
    /// The journal keeps the order: what is listed now and what arrives later fit together.
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let (now, reach) = (state.at().now, &asker.caller.reach);
        // During a pause the listing is refused: answer without a listing, because the follower still has to hear what comes
        // after the pause.
        let listed = to_text(&list(&ListInbox::default(), state, reach).ok());
        let follower = Follower {
            notifier: asker.notifier,
            reach: reach.clone(),
        };
        let answer = Action::Answer(asker.reply, listed);
        Batch::doing(now, vec![Action::Follow(follower), answer])
    }
}

/// The listing of the messages that wait; each is rendered when it is written.
fn list<'a>(
    asked: &ListInbox,
    state: &'a DaemonState,
    reach: &'a Reach,
) -> Result<Inbox<impl Serialize + use<'a>>, ApiError> {
    let node = &state.node;
    // A listing shows the bodies of messages, so refuse it while the agents pause: `receive` holds the same messages back.
    if node.people().pausing().is_paused() {
        return Err(paused());
    }
    let items = node.inbox().after(asked.after);
    let items = items.filter(|item| reach.sees_message(&item.message));
    let items = items.map(|item| Waiting {
        number: item.number,
        message: RenderedMessage {
            opened: node.opened(&item.message),
            message: item.message,
        },
    });
    Ok(Inbox {
        messages: Written::of(page(items, asked.limit.unwrap_or(MESSAGES))),
        waiting: waiting(node, reach),
    })
}

/// What revoked agents sent and our agent had not taken: for the person.
impl Serve for ListAside {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        let items = turn.node().inbox().aside();
        let items = items.filter(|message| reach.sees_message(message));
        let items = items.skip(self.skip);
        let items =
            items.map(|message| render::item(message, turn.node().opened(message).as_ref()));
        shown(SetAside {
            messages: page(items, MESSAGES).collect(),
        })
    }
}

/// How many messages wait, of those that a socket reaches.
pub(super) fn waiting(node: &Node, reach: &Reach) -> usize {
    // For a caller who may see every message, take the count that the inbox keeps: counting anew would mean a look at each
    // message.
    if reach.sees_everything() {
        return node.inbox().len();
    }
    let seen = node.inbox().after(0);
    seen.filter(|item| reach.sees_message(&item.message))
        .count()
}
