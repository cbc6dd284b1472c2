//! Tokens that hold no more: what they began is settled, while the gateway runs and when it starts.

use std::sync::Arc;

use super::door::A2aDoor;
use crate::tokens::Holder;

/// Settles what is open of tokens that were revoked or have expired, now and whenever other tokens hold than before.
pub(super) async fn settle_ended(room: Arc<A2aDoor>) {
    let Some(tokens) = room.context.tokens.clone() else {
        return;
    };
    let mut changes = tokens.changes();
    loop {
        changes.borrow_and_update();
        for caller in room.store.callers().await.unwrap_or_default() {
            // End only the tasks whose token is gone for certain. While the token file cannot be read, `holder` returns
            // `Unsaid` and not `Ended`, so that no task is given up because of a broken file.
            if let Holder::Ended = tokens.holder(&caller) {
                for task in room.store.unsettled(caller).await.unwrap_or_default() {
                    room.end_with_token(task).await;
                }
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}
