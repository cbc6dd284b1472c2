//! The messages that one call handed in, kept until the node has ruled on each.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use signet_api::Delivered;
use signet_proto::ids::encode_base64url;
use signet_proto::node::{Disposition, Polled};
use tokio::sync::OwnedSemaphorePermit;

use super::poll_boxes::PollBoxes;
use crate::carrier::Settling;

type OnDelivered = Box<dyn FnOnce(Delivered) + Send>;

/// The messages of one call.
pub(super) struct DeliveredBatch {
    counting: Mutex<Counting>,
    kept: Arc<PollBoxes>,
    /// How long a poll waits for something to be kept.
    wait: Duration,
}

struct Counting {
    left: usize,
    counted: Delivered,
    polled: Option<Polled>,
    done: Option<OnDelivered>,
}

/// One of them, and the room that it takes while it is under way.
pub(super) struct DeliveredMessage {
    batch: Arc<DeliveredBatch>,
    _room: [OwnedSemaphorePermit; 2],
}

impl DeliveredBatch {
    pub(super) fn of(
        left: usize,
        kept: Arc<PollBoxes>,
        wait: Duration,
        done: impl FnOnce(Delivered) + Send + 'static,
    ) -> Arc<Self> {
        let counting = Counting {
            left,
            counted: Delivered::default(),
            polled: None,
            done: Some(Box::new(done)),
        };
        let counting = Mutex::new(counting);
        Arc::new(Self {
            counting,
            kept,
            wait,
        })
    }

    fn note(&self, settled: Settling) {
        let mut counting = self.counting.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = &mut counting.counted;
        *match settled.ruled {
            Disposition::Accepted => &mut counted.accepted,
            Disposition::Refused => &mut counted.refused,
            Disposition::Counted => &mut counted.counted,
        } += 1;
        // A poll asks for the messages that are kept for its sender. The answer to a call has room for one list of them, so
        // only the first poll of the batch is answered: a gateway delivers each poll by a call of its own.
        if counting.polled.is_none() {
            counting.polled = settled.polled;
        }
        counting.left = counting.left.saturating_sub(1);
        if counting.left > 0 {
            return;
        }
        let (polled, counted) = (
            counting.polled.take(),
            std::mem::take(&mut counting.counted),
        );
        let Some(done) = counting.done.take() else {
            return;
        };
        // Release the lock before `done` runs: `done` is the caller's, and may take long.
        drop(counting);
        match polled {
            None => done(counted),
            Some(polled) => self.answer(polled, counted, done),
        }
    }

    fn answer(&self, polled: Polled, counted: Delivered, done: OnDelivered) {
        let (kept, wait) = (Arc::clone(&self.kept), self.wait);
        tokio::spawn(async move {
            let letters = kept.give(&polled, wait).await;
            let letters = letters.iter().map(|bytes| encode_base64url(bytes));
            done(Delivered {
                kept: Some(letters.collect()),
                ..counted
            });
        });
    }
}

impl DeliveredMessage {
    pub(super) fn new(batch: Arc<DeliveredBatch>, room: [OwnedSemaphorePermit; 2]) -> Self {
        Self { batch, _room: room }
    }

    pub(super) fn settle(&self, settled: Settling) {
        self.batch.note(settled);
    }
}
