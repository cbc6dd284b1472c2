//! From the transport to verified inputs: workers parse and verify in parallel, and hand over in
//! the order of arrival.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use signet_proto::node::{Allowance, Judged};
use signet_proto::trust::TrustView;
use signet_transport::{Arrival, Handle, Inbox};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;

use crate::clock;

/// How many arrivals one worker takes at once.
const CHUNK: usize = 64;
/// How many chunks may be under way.
const CHUNKS: usize = 8;
/// How many bytes may be under way, in KiB: whoever sends large messages waits, and nobody's memory
/// pays for it.
const KIB_UNDER_WAY: usize = 8 * 1024;

/// What the intake hands to the heart.
#[derive(Debug)]
pub(super) enum Taken {
    /// Messages, being verified, each with what the mailbox waits for.
    Messages(
        JoinHandle<Vec<(Judged, Option<Handle>)>>,
        OwnedSemaphorePermit,
    ),
    /// Something happened to the connection.
    Event(Arrival),
}

/// Starts the intake. It ends when nothing more is read, and holds the inbox until the connection ends.
pub(super) fn start(
    inbox: Inbox,
    subject: String,
    view: watch::Receiver<TrustView>,
) -> mpsc::Receiver<Taken> {
    let (taken, waiting) = mpsc::channel(CHUNKS);
    tokio::spawn(async move {
        let mut inbox = inbox;
        run(&mut inbox, subject, view, taken).await;
        // Whoever drops the inbox closes the connection, and what was taken is still to be settled.
        while inbox.receive().await.is_some() {}
    });
    waiting
}

async fn run(
    inbox: &mut Inbox,
    subject: String,
    view: watch::Receiver<TrustView>,
    taken: mpsc::Sender<Taken>,
) {
    let workers = Workers {
        view,
        under_way: Arc::new(Semaphore::new(KIB_UNDER_WAY)),
        allowance: Arc::default(),
        taken,
    };
    let mut arrivals = Vec::with_capacity(CHUNK);
    while inbox.receive_many(&mut arrivals, CHUNK).await > 0 {
        let mut chunk = Vec::with_capacity(arrivals.len());
        for arrival in arrivals.drain(..) {
            match Raw::of(arrival, &subject) {
                Ok(raw) => chunk.push(raw),
                Err(event) => {
                    let messages = std::mem::take(&mut chunk);
                    let sent = workers.hand_over(messages).await;
                    if !sent || event == Arrival::Stopped {
                        return;
                    }
                    if workers.taken.send(Taken::Event(event)).await.is_err() {
                        return;
                    }
                }
            }
        }
        if !workers.hand_over(chunk).await {
            return;
        }
    }
}

/// What every chunk is judged with.
struct Workers {
    view: watch::Receiver<TrustView>,
    under_way: Arc<Semaphore>,
    /// Kept beside the node's own, which has the last word: here it says what need not be looked at.
    allowance: Arc<Mutex<Allowance>>,
    taken: mpsc::Sender<Taken>,
}

impl Workers {
    async fn hand_over(&self, chunk: Vec<Raw>) -> bool {
        if chunk.is_empty() {
            return true;
        }
        let kib: usize = chunk.iter().map(|raw| raw.bytes.len() / 1024 + 1).sum();
        let kib = u32::try_from(kib.min(KIB_UNDER_WAY)).unwrap_or(u32::MAX);
        let Ok(permit) = Arc::clone(&self.under_way).acquire_many_owned(kib).await else {
            return false;
        };
        let (view, allowance) = (self.view.borrow().clone(), Arc::clone(&self.allowance));
        let judged = tokio::spawn(async move { judge(chunk, &view, &allowance) });
        self.taken
            .send(Taken::Messages(judged, permit))
            .await
            .is_ok()
    }
}

/// Strangers are judged as long as they may cost lines; then only what may be a peer's is.
fn judge(
    chunk: Vec<Raw>,
    view: &TrustView,
    allowance: &Mutex<Allowance>,
) -> Vec<(Judged, Option<Handle>)> {
    let allowance = || allowance.lock().unwrap_or_else(PoisonError::into_inner);
    let mut left = allowance().left(clock::now());
    let judge = |mut raw: Raw| {
        let handle = raw.handle.take();
        let judged = raw.judge(view, left > 0);
        if judged.is_strangers() && left > 0 {
            let spent = allowance().spend(clock::now());
            left = if spent { left - 1 } else { 0 };
        }
        (judged, handle)
    };
    chunk.into_iter().map(judge).collect()
}

/// One input as the transport gave it.
struct Raw {
    bytes: Bytes,
    kind: Kind,
    handle: Option<Handle>,
}

enum Kind {
    Whole,
    Misplaced,
    Oversized(u64),
}

impl Raw {
    fn of(arrival: Arrival, expected: &str) -> Result<Self, Arrival> {
        let (bytes, kind, handle) = match arrival {
            Arrival::Message {
                bytes,
                subject,
                handle,
            } if subject == expected => (bytes, Kind::Whole, handle),
            Arrival::Message { bytes, handle, .. } => (bytes, Kind::Misplaced, handle),
            Arrival::Oversized {
                length,
                head,
                handle,
            } => {
                let length = u64::try_from(length).unwrap_or(u64::MAX);
                (head, Kind::Oversized(length), handle)
            }
            event => return Err(event),
        };
        Ok(Self {
            bytes,
            kind,
            handle,
        })
    }

    fn judge(self, view: &TrustView, strangers: bool) -> Judged {
        match self.kind {
            Kind::Whole if strangers => Judged::of(&self.bytes, view),
            Kind::Whole => Judged::of_peers(&self.bytes, view),
            Kind::Misplaced => Judged::misplaced(&self.bytes),
            Kind::Oversized(length) => Judged::oversized(length, &self.bytes),
        }
    }
}
