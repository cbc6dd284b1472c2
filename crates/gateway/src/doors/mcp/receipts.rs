//! Answers leave the inbox when the client has them, and no sooner: an answer that a tool shows is acknowledged
//! after its line was written. What was cancelled, or could not be written, is in the inbox still.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::RequestId;
use signet_api::{Acknowledge, Name};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::daemon::Daemon;
use crate::lock::Locked as _;

/// Which messages stand in which result that is not written yet.
#[derive(Clone)]
pub(crate) struct Receipts {
    unwritten: Arc<Mutex<HashMap<RequestId, Vec<Name>>>>,
    written: UnboundedSender<Vec<Name>>,
}

impl Receipts {
    /// The receipts, and where the names of what was written come out.
    pub(crate) fn new() -> (Self, UnboundedReceiver<Vec<Name>>) {
        let (written, wrote) = unbounded_channel();
        let unwritten = Arc::default();
        (Self { unwritten, written }, wrote)
    }

    /// The result for `id` shows `names`.
    pub(crate) fn expect(&self, id: RequestId, names: Vec<Name>) {
        let mut unwritten = self.unwritten.locked();
        match names.is_empty() {
            // This result shows no answer. A client may use an id again, so forget the answers of an earlier request with this
            // id: otherwise this result would acknowledge them.
            true => drop(unwritten.remove(&id)),
            false => drop(unwritten.insert(id, names)),
        }
    }

    /// The result for `id` was written.
    pub(crate) fn written(&self, id: &RequestId) {
        let mut unwritten = self.unwritten.locked();
        if let Some(names) = unwritten.remove(id) {
            // If the task that acknowledges has ended, this send fails, and the answers stay in the inbox.
            let _ = self.written.send(names);
        }
    }
}

/// What the answer to one request shows, and the inbox need not keep: in the extensions of the request.
#[derive(Clone, Default)]
pub(crate) struct HandedOver(Arc<Mutex<Vec<Name>>>);

impl HandedOver {
    /// The answer shows these.
    pub(crate) fn add(&self, names: Vec<Name>) {
        let mut all = self.0.locked();
        all.extend(names);
    }

    pub(crate) fn is_empty(&self) -> bool {
        let all = self.0.locked();
        all.is_empty()
    }

    pub(crate) fn take(&self) -> Vec<Name> {
        std::mem::take(&mut *self.0.locked())
    }
}

/// Acknowledges what was written, until nothing more can be.
pub(crate) async fn acknowledge(daemon: Arc<Daemon>, mut wrote: UnboundedReceiver<Vec<Name>>) {
    while let Some(messages) = wrote.recv().await {
        // The error is ignored: either somebody else has already taken the answer, or the daemon is away, and will show
        // the answer again.
        let _ = daemon
            .call(&Acknowledge::of(messages), Duration::ZERO)
            .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(id: &str) -> Vec<Name> {
        vec![Name {
            from: "agent-bob".to_owned(),
            message_id: id.to_owned(),
        }]
    }

    #[test]
    fn only_what_was_written_is_acknowledged_and_once() {
        let (receipts, mut wrote) = Receipts::new();
        let (one, two) = (RequestId::Number(1), RequestId::Number(2));
        receipts.expect(one.clone(), name("a"));
        receipts.expect(two.clone(), name("b"));
        receipts.written(&two);
        receipts.written(&two);
        assert_eq!(wrote.try_recv().ok(), Some(name("b")));
        assert!(wrote.try_recv().is_err());
        // Request 1 was cancelled, and the client uses its id again for a call that shows no answer: so the answer of the
        // cancelled request must not be acknowledged.
        receipts.expect(one.clone(), Vec::new());
        receipts.written(&one);
        assert!(wrote.try_recv().is_err());
    }
}
