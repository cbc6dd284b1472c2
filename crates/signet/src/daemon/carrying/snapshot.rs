//! `carrier.trust`: the trust store as whoever verifies messages elsewhere needs it, made anew only when it changed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use signet_api::TrustTaken;
use signet_json::canonical;
use signet_proto::ids::Digest;
use signet_proto::trust::TrustView;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::send;
use crate::control::ReplySender;

/// What was last taken of the views that workers verify by.
pub(super) struct Snapshots {
    views: watch::Receiver<TrustView>,
    last: Arc<Mutex<Option<TakenTrust>>>,
}

#[derive(Clone)]
struct TakenTrust {
    view: TrustView,
    epoch: String,
    snapshot: Value,
}

impl Snapshots {
    pub(super) fn of(views: watch::Receiver<TrustView>) -> Self {
        Self {
            views,
            last: Arc::default(),
        }
    }

    /// Answers with the present one, beside the event loop; where the caller has it, with the next that comes
    /// within `wait`.
    pub(super) fn take(&self, known: Option<String>, wait: Duration, reply: ReplySender) {
        let (mut views, last) = (self.views.clone(), Arc::clone(&self.last));
        let until = Instant::now() + wait;
        tokio::spawn(async move {
            loop {
                // Mark the trust view as seen before its snapshot is compared with the caller's: a change from here on ends the
                // wait below at once.
                let view = views.borrow_and_update().clone();
                let taken = present(&last, view);
                let is_known = known.as_ref() == Some(&taken.epoch);
                let changed =
                    is_known && matches!(timeout_at(until, views.changed()).await, Ok(Ok(())));
                // Not every change of trust shows in the snapshot: compare once more, since the caller may have the newest
                // snapshot already.
                if changed && !reply.is_closed() {
                    continue;
                }
                let answer = TrustTaken {
                    epoch: taken.epoch,
                    snapshot: (!is_known).then_some(taken.snapshot),
                };
                return send(reply, Ok(answer));
            }
        });
    }
}

fn present(last: &Mutex<Option<TakenTrust>>, view: TrustView) -> TakenTrust {
    // Hold the lock while the snapshot is made: a second caller waits for that snapshot, and does not make it again.
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(taken) = last.as_ref().filter(|taken| taken.view.is_same(&view)) {
        return taken.clone();
    }
    let snapshot = view.to_snapshot();
    let epoch = Digest::of(&[&canonical(&snapshot)]).to_string();
    let taken = TakenTrust {
        view,
        epoch,
        snapshot,
    };
    *last = Some(taken.clone());
    taken
}
