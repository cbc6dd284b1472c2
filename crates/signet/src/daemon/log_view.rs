//! How the log stands, for everybody but its writer: the newest durable line, a full disk, damage that was found.

use signet_audit::Head;
use signet_proto::node::At;
use signet_proto::time::Timestamp;
use tokio::sync::watch;

use crate::clock;

/// How the log stands, as the event loop sees it.
#[derive(Clone, Debug)]
pub(super) struct LogView {
    head: watch::Receiver<Option<Head>>,
    full: watch::Receiver<Option<Timestamp>>,
    /// The damage that somebody did to the log, as far as it was found.
    fault: Option<String>,
}

impl LogView {
    /// From the channels in which the thread of the log tells of its newest durable line, and of a full disk.
    pub(super) const fn new(
        head: watch::Receiver<Option<Head>>,
        full: watch::Receiver<Option<Timestamp>>,
    ) -> Self {
        Self {
            head,
            full,
            fault: None,
        }
    }

    /// The same, with the damage that the start found in the log.
    pub(super) fn with_fault(&self, fault: Option<String>) -> Self {
        Self {
            fault,
            ..self.clone()
        }
    }

    /// The newest durable line.
    pub(super) fn head(&self) -> Option<Head> {
        *self.head.borrow()
    }

    /// The head of the log as a channel, for whoever waits for the next.
    pub(super) fn heads(&self) -> watch::Receiver<Option<Head>> {
        self.head.clone()
    }

    /// Since when the disk is full, while it is: nothing may be taken in, and nothing that is said would be durable.
    pub(super) fn full_since(&self) -> Option<Timestamp> {
        *self.full.borrow()
    }

    /// The damage that somebody did to the log, in words.
    pub(super) fn fault(&self) -> Option<&String> {
        self.fault.as_ref()
    }

    /// Somebody changed the log.
    pub(super) fn note_fault(&mut self, what: String) {
        self.fault = Some(what);
    }

    /// Resolves when the disk is full, or is not any more.
    pub(super) async fn room_changed(&mut self) {
        // Where the journal has ended, wait for ever: the event loop hears of that end from `journal.closed()`.
        if self.full.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The present moment, and the newest durable line.
    pub(super) fn at(&self) -> At {
        At {
            now: clock::now(),
            elapsed: clock::elapsed(),
            head: self.head().map(|head| head.hash),
        }
    }
}
