//! From the carriers to verified inputs: workers parse and verify in parallel, and hand over in
//! the order of arrival.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use signet_proto::carrier::CarrierId;
use signet_proto::node::{Judged, LineAllowance, OpenInput};
use signet_proto::trust::TrustView;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;

use crate::carrier::{News, Reading, Ticket};
use crate::clock;

use super::meters::Meters;

/// How many arrivals one worker takes at once.
const CHUNK: usize = 64;
/// From how many messages on a chunk is judged by a task of its own.
const SPAWNED: usize = 8;
/// How many chunks may be under way.
const CHUNKS: usize = 8;
/// How many bytes may be under way, in KiB: whoever sends large messages waits, and nobody's memory
/// pays for it.
const KIB_UNDER_WAY: usize = 8 * 1024;

/// What the intake hands to the event loop.
#[derive(Debug)]
pub(super) enum IntakeItem {
    /// Messages that a carrier brought, each with what the carrier waits for.
    Messages(CarrierId, Judging, OwnedSemaphorePermit),
    /// Something happened to a carrier.
    News(CarrierId, News),
}

/// Messages that are judged, or are being judged by a worker.
#[derive(Debug)]
pub(super) enum Judging {
    Done(Vec<(Judged, Option<Ticket>)>),
    UnderWay(JoinHandle<Vec<(Judged, Option<Ticket>)>>),
}

impl Judging {
    /// Waits until all are judged; `None` when the runtime ends before.
    pub(super) async fn done(self) -> Option<Vec<(Judged, Option<Ticket>)>> {
        match self {
            Self::Done(judged) => Some(judged),
            Self::UnderWay(judged) => judged.await.ok(),
        }
    }
}

/// Starts the intake. It ends when nothing more is read of any carrier, and holds each until its connection
/// ends. What comes by one carrier keeps its order.
pub(super) fn start(
    readings: Vec<Reading>,
    view: watch::Receiver<TrustView>,
    meters: Arc<Meters>,
) -> mpsc::Receiver<IntakeItem> {
    let (taken, waiting) = mpsc::channel(CHUNKS);
    let workers = Workers {
        view,
        under_way: Arc::new(Semaphore::new(KIB_UNDER_WAY)),
        allowance: Arc::default(),
        meters,
        taken,
    };
    for reading in readings {
        let workers = workers.clone();
        tokio::spawn(async move {
            let mut reading = reading;
            run(&mut reading, workers).await;
            // The source is kept until it ends: dropping it would close the connection by which taken messages are
            // still settled.
            let mut rest = Vec::new();
            while reading.source.receive_many(&mut rest, CHUNK).await > 0 {
                rest.clear();
            }
        });
    }
    waiting
}

async fn run(reading: &mut Reading, workers: Workers) {
    let mut news = Vec::with_capacity(CHUNK);
    while reading.source.receive_many(&mut news, CHUNK).await > 0 {
        let mut chunk = Vec::with_capacity(news.len());
        for news in news.drain(..) {
            match RawArrival::of(news, &reading.address) {
                Ok(raw) => chunk.push(raw),
                Err(news) => {
                    // Hand over the messages before this news. `Drained` tells the node that the messages of a carrier were
                    // all read: if it overtook some, the node would miss receipts among them, and give up messages of ours.
                    let messages = std::mem::take(&mut chunk);
                    let sent = workers.hand_over(&reading.id, messages).await;
                    if !sent || matches!(news, News::Stopped) {
                        return;
                    }
                    let told = IntakeItem::News(reading.id.clone(), news);
                    if workers.taken.send(told).await.is_err() {
                        return;
                    }
                }
            }
        }
        if !workers.hand_over(&reading.id, chunk).await {
            return;
        }
    }
}

/// What the intake needs to judge a chunk, whatever carrier brought it.
#[derive(Clone)]
struct Workers {
    view: watch::Receiver<TrustView>,
    under_way: Arc<Semaphore>,
    /// How many messages of strangers may still cost a line. The node keeps the same count and decides; this one spares the
    /// workers signatures that the node would not look at.
    allowance: Arc<Mutex<LineAllowance>>,
    meters: Arc<Meters>,
    taken: mpsc::Sender<IntakeItem>,
}

impl Workers {
    async fn hand_over(&self, carrier: &CarrierId, chunk: Vec<RawArrival>) -> bool {
        if chunk.is_empty() {
            return true;
        }
        let kib: usize = chunk.iter().map(|raw| raw.bytes.len() / 1024 + 1).sum();
        // `under_way` has KIB_UNDER_WAY permits in all: ask for no more, because a larger chunk would wait for ever.
        let kib = u32::try_from(kib.min(KIB_UNDER_WAY)).unwrap_or(u32::MAX);
        let Ok(permit) = Arc::clone(&self.under_way).acquire_many_owned(kib).await else {
            return false;
        };
        // Clone the trust view instead of borrowing it: a borrow would block the task that publishes the next view.
        let (view, allowance) = (self.view.borrow().clone(), Arc::clone(&self.allowance));
        let (by, meters) = (carrier.clone(), Arc::clone(&self.meters));
        // Judge a few messages right here where nothing is queued before them: to wake a worker for them would take longer.
        let is_alone = chunk.len() < SPAWNED && self.taken.capacity() == CHUNKS;
        let work = move || judge(chunk, &by, &view, &allowance, &meters);
        let judging = match is_alone {
            true => Judging::Done(work()),
            false => Judging::UnderWay(tokio::spawn(async move { work() })),
        };
        let messages = IntakeItem::Messages(carrier.clone(), judging, permit);
        self.taken.send(messages).await.is_ok()
    }
}

/// Judges each message of a chunk: those of strangers only as long as they may cost a line, then those alone that a peer may
/// have sent. The last step of their signatures is one for the whole chunk.
fn judge(
    chunk: Vec<RawArrival>,
    by: &CarrierId,
    view: &TrustView,
    allowance: &Mutex<LineAllowance>,
    meters: &Meters,
) -> Vec<(Judged, Option<Ticket>)> {
    // Ignore that a panic elsewhere poisoned the lock: it guards one count, which is valid at every moment.
    let allowance = || allowance.lock().unwrap_or_else(PoisonError::into_inner);
    let mut left = allowance().left(clock::now());
    let (mut begun, mut took) = (
        Vec::with_capacity(chunk.len()),
        Vec::with_capacity(chunk.len()),
    );
    let mut strangers = 0;
    for raw in &chunk {
        let start = clock::elapsed();
        let input = raw.begin(view, left > 0);
        took.push(clock::elapsed().saturating_sub(start));
        if input.is_strangers() && left > 0 {
            // Other workers spend from the same allowance for strangers meanwhile, so the `left` that was read above may be too
            // high: ask the allowance itself.
            let spent = allowance().spend(clock::now());
            left = if spent { left - 1 } else { 0 };
        }
        strangers += usize::from(input.is_strangers());
        begun.push(input);
    }
    let start = clock::elapsed();
    let judged = OpenInput::settle(begun, view);
    let share = clock::elapsed().saturating_sub(start)
        / u32::try_from(took.len().max(1)).unwrap_or(u32::MAX);
    for time in took {
        meters.verify.note(time + share);
    }
    // A forger who used a peer's name is known for a stranger only now.
    let all = judged.iter().filter(|judged| judged.is_strangers()).count();
    for _ in strangers..all {
        allowance().spend(clock::now());
    }
    let tickets = chunk.into_iter().map(|raw| raw.ticket);
    let judged = judged.into_iter().map(|judged| judged.by(by.clone()));
    judged.zip(tickets).collect()
}

/// One input as its carrier gave it.
struct RawArrival {
    bytes: Bytes,
    kind: ArrivalKind,
    ticket: Option<Ticket>,
}

enum ArrivalKind {
    Whole,
    Misplaced,
    Oversized(u64),
}

impl RawArrival {
    fn of(news: News, expected: &str) -> Result<Self, News> {
        let (bytes, kind, ticket) = match news {
            News::Message {
                bytes,
                address,
                ticket,
            } if *address == *expected => (bytes, ArrivalKind::Whole, ticket),
            News::Message { bytes, ticket, .. } => (bytes, ArrivalKind::Misplaced, ticket),
            News::Oversized {
                length,
                head,
                ticket,
            } => {
                // The conversion never fails where a pointer has 64 bits at most.
                let length = u64::try_from(length).unwrap_or(u64::MAX);
                (head, ArrivalKind::Oversized(length), ticket)
            }
            news => return Err(news),
        };
        Ok(Self {
            bytes,
            kind,
            ticket,
        })
    }

    fn begin(&self, view: &TrustView, strangers: bool) -> OpenInput<'_> {
        match self.kind {
            ArrivalKind::Whole if strangers => OpenInput::of(&self.bytes, view),
            ArrivalKind::Whole => OpenInput::of_peers(&self.bytes, view),
            ArrivalKind::Misplaced => OpenInput::misplaced(&self.bytes),
            ArrivalKind::Oversized(length) => OpenInput::oversized(length, &self.bytes),
        }
    }
}

#[cfg(test)]
mod tests;
