//! Leases of callers. The daemon ends a lease with its connection, and a request of HTTP is over with its answer: the
//! connection of a `receive` stays until its leases are settled, have ended, or their token is gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use signet_api::{Acknowledge, ApiError, Call, Received, Respond};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::daemon::DaemonConnection;
use crate::lock::Locked as _;
use crate::scope::Caller;

/// The leases that are kept, each with whose it is and until when.
#[derive(Clone, Default)]
pub(super) struct CallerLeases(Arc<Mutex<HashMap<String, KeptLease>>>);

struct KeptLease {
    caller: Arc<str>,
    until: watch::Sender<Instant>,
}

impl CallerLeases {
    /// Whether that caller may receive more.
    pub(super) fn admit(&self, caller: &Arc<str>) -> Result<(), ApiError> {
        let held = self.lock(|kept| kept.values().filter(|kept| kept.caller == *caller).count());
        match held < MOST {
            true => Ok(()),
            false => {
                let text = "this token holds too many leases; nothing more is handed out to it";
                let refusal = ApiError::refused("too-many-leases", text);
                Err(refusal
                    .with_next("respond to what was received, acknowledge it or let it fail"))
            }
        }
    }

    /// Keeps `link` for what was received, and lets go of what is settled.
    pub(super) fn follow(
        &self,
        caller: &Caller,
        call: &Call,
        answer: &Value,
        link: Option<DaemonConnection>,
    ) {
        match call {
            Call::Receive(receive) => {
                let received = serde_json::from_value::<Received>(answer.clone());
                let (Ok(received), Some(link)) = (received, link) else {
                    return;
                };
                // The daemon ends a lease with the connection that got it: keep that connection until the last lease
                // of this answer is settled.
                let link = Arc::new(link);
                let life = of_seconds(receive.lease.unwrap_or(LEASE));
                for message in received.messages {
                    self.keep(caller, message.lease, life, Arc::clone(&link));
                }
            }
            Call::ExtendLease(extend) => self.lock(|kept| {
                if let Some(kept) = kept.get(&extend.lease) {
                    kept.until
                        .send_replace(Instant::now() + of_seconds(extend.seconds));
                }
            }),
            Call::Fail(settled) => self.settle(&settled.lease),
            Call::Acknowledge(Acknowledge { lease, .. }) | Call::Respond(Respond { lease, .. }) => {
                if let Some(lease) = lease {
                    self.settle(lease);
                }
            }
            _ => {}
        }
    }

    fn keep(&self, caller: &Caller, lease: String, life: Duration, link: Arc<DaemonConnection>) {
        let (until, mut ends) = watch::channel(Instant::now() + life);
        let kept = KeptLease {
            caller: Arc::clone(&caller.name),
            until,
        };
        self.lock(|all| all.insert(lease.clone(), kept));
        let (leases, gone) = (self.clone(), caller.gone.clone());
        tokio::spawn(async move {
            loop {
                let end = *ends.borrow_and_update();
                tokio::select! {
                    () = sleep_until(end) => break,
                    () = gone.cancelled() => break,
                    // An error means that `settle` has dropped the sender: the lease is settled, so stop waiting.
                    changed = ends.changed() => if changed.is_err() { break },
                }
            }
            leases.settle(&lease);
            drop(link);
        });
    }

    fn settle(&self, lease: &str) {
        drop(self.lock(|kept| kept.remove(lease)));
    }

    fn lock<T>(&self, done: impl FnOnce(&mut HashMap<String, KeptLease>) -> T) -> T {
        done(&mut self.0.locked())
    }
}

fn of_seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).map_or(Duration::ZERO, |life| life.min(LONGEST))
}

/// So many leases of one token: its other calls need places, too.
const MOST: usize = 12;
/// Seconds, where the call says none.
const LEASE: f64 = 60.0;
const LONGEST: Duration = Duration::from_secs(24 * 3600);
