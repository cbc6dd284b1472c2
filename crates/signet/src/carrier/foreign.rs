//! A foreign carrier behind the seam: whatever program attaches to it at `carrier.sock` takes what is to leave
//! and hands in what came. HTTP and Discord are carried so, by a process that holds no key.
//!
//! ```text
//! publish ─▶ queue ─▶ the holder (64 parcels at most) ─▶ carrier.left ─▶ held, or not
//!        └─▶ kept, for a peer that can only dial out ─▶ the answer to its poll
//! carrier.deliver ─▶ intake … ruled ─▶ settle ─▶ the answer to the call
//! ```
//!
//! Nothing here waits: a message for which there is no room is refused, and the ledger sends it again.

mod batch;
mod outgoing_parcels;
mod poll_boxes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use signet_api::{Delivered, KEPT_FOR_POLLS};
use signet_proto::carrier::{CarrierId, Parcel};
use signet_proto::envelope::MAX_MESSAGE;
use signet_proto::ids::{AgentId, MessageId};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::{Carrier, CarrierError, CarrierSource, News, Reading, Settling, Ticket};
use crate::control::Notifier;
use crate::reach::Reach;
use batch::{DeliveredBatch, DeliveredMessage};
use outgoing_parcels::{ForeignState, Queued};
use poll_boxes::PollBoxes;

/// A foreign carrier, as the calls of its socket reach it.
#[derive(Clone)]
pub struct Foreign(Arc<SharedForeign>);

struct SharedForeign {
    id: CarrierId,
    /// How far whoever attaches reaches: nothing else leaves by it.
    reach: Arc<Reach>,
    news: mpsc::UnboundedSender<News>,
    /// Messages, and their KiB, that may be handed in and not yet ruled.
    room: Arc<Semaphore>,
    kib: Arc<Semaphore>,
    up: watch::Sender<bool>,
    state: Mutex<ForeignState>,
    kept: Arc<PollBoxes>,
}

/// The error of a second `attach`: another connection carries this carrier already.
#[derive(Debug)]
pub struct AlreadyAttached;

/// Why nothing of a delivery was taken.
#[derive(Debug)]
pub enum NotTaken {
    /// No program is attached that could carry a message.
    Detached,
    /// As many messages have been handed in as the daemon judges at one time.
    Busy,
}

/// A carrier of that name; whoever attaches reaches as far as its socket.
pub fn foreign(id: CarrierId, agent: &AgentId, reach: &Arc<Reach>) -> (Foreign, Reading) {
    // The channel needs no bound of its own: each message in it holds a permit of `room`, which counts
    // messages, and permits of `kib`, which count kibibytes. All other news is rare: a program connects once a
    // second at most (`FLAPPING`).
    let (news, posted) = mpsc::unbounded_channel();
    let shared = SharedForeign {
        id: id.clone(),
        reach: Arc::clone(reach),
        news,
        room: Arc::new(Semaphore::new(MESSAGES)),
        kib: Arc::new(Semaphore::new(KIB)),
        up: watch::Sender::new(false),
        state: Mutex::default(),
        kept: Arc::default(),
    };
    let reading = Reading {
        id,
        address: agent.to_string(),
        source: Box::new(ForeignSource(posted)),
    };
    (Foreign(Arc::new(shared)), reading)
}

impl Foreign {
    /// From now on the client carries it, until it is gone. A client that attaches and goes over and over counts as up
    /// once a second at most, since each time a carrier comes up every peer is spoken to.
    ///
    /// # Errors
    /// Another connection carries it.
    pub fn attach(&self, client: Notifier) -> Result<(), AlreadyAttached> {
        let mut state = self.0.state();
        match &state.holder {
            // The connection that holds the carrier attaches again: change nothing, so that its
            // parcels under way are not given up.
            Some(holder) if holder.program() == client.program() => return Ok(()),
            Some(holder) if !holder.is_closed() => return Err(AlreadyAttached),
            _ => {}
        }
        state.end();
        state.holder = Some(client.clone());
        let from = state.last_up.map(|last| last + FLAPPING);
        // The earlier program's connection is gone, but `fall`, which reports that, does nothing once another program holds
        // the carrier: report the disconnection here instead.
        if self.0.up.send_replace(false) {
            let _ = self.0.news.send(News::Disconnected);
        }
        drop(state);
        tokio::spawn(hold(Arc::clone(&self.0), client, from));
        Ok(())
    }

    /// Whether a program is attached that carries messages.
    pub fn is_attached(&self) -> bool {
        let state = self.0.state();
        state
            .holder
            .as_ref()
            .is_some_and(|holder| !holder.is_closed())
    }

    /// The holder says what became of a parcel. Says whether it was under way.
    pub fn left(&self, id: u64, held: bool) -> bool {
        let mut state = self.0.state();
        let Some(parcel) = state.under_way.remove(&id) else {
            return false;
        };
        state.under_way_bytes = state.under_way_bytes.saturating_sub(parcel.bytes);
        // Ignore a failed send: the task that published the parcel may have ended, and then nobody waits for this report.
        let _ = parcel.held.send(held);
        state.hand_out(&self.0.id);
        true
    }

    /// Takes messages in that were sent to `address`, all of them or none. `done` hears of it when all are
    /// ruled and durable; it is dropped unheard when the daemon stops before that.
    ///
    /// # Errors
    /// Nobody is attached, or too much is under way.
    pub fn deliver(
        &self,
        address: &str,
        messages: Vec<Vec<u8>>,
        wait: Duration,
        done: impl FnOnce(Delivered) + Send + 'static,
    ) -> Result<(), NotTaken> {
        if !self.is_attached() {
            return Err(NotTaken::Detached);
        }
        let shared = &self.0;
        let batch = DeliveredBatch::of(messages.len(), Arc::clone(&shared.kept), wait, done);
        let mut news = Vec::with_capacity(messages.len());
        for bytes in messages {
            let kib = u32::try_from(bytes.len() / 1024 + 1).unwrap_or(u32::MAX);
            let room = Arc::clone(&shared.room).try_acquire_owned();
            let kib = Arc::clone(&shared.kib).try_acquire_many_owned(kib);
            let (Ok(room), Ok(kib)) = (room, kib) else {
                return Err(NotTaken::Busy);
            };
            let delivery = DeliveredMessage::new(Arc::clone(&batch), [room, kib]);
            news.push(message(bytes, address, Ticket::of(delivery)));
        }
        // Send only now that there is room for all messages: the answer to the call could not say that a part of them was
        // taken.
        for news in news {
            // This fails only if the daemon stops and the receiver is gone. The batch is then dropped with its `done`,
            // and `done` with the caller's reply: a reply that is dropped tells the caller that the daemon stops.
            let _ = shared.news.send(news);
        }
        Ok(())
    }
}

fn message(bytes: Vec<u8>, address: &str, ticket: Ticket) -> News {
    let length = bytes.len();
    let mut bytes = Bytes::from(bytes);
    if length > MAX_MESSAGE {
        bytes.truncate(HEAD);
        return News::Oversized {
            length,
            head: bytes,
            ticket: Some(ticket),
        };
    }
    News::Message {
        bytes,
        address: address.into(),
        ticket: Some(ticket),
    }
}

/// Serves one attached program, from its `attach` to its end.
async fn hold(shared: Arc<SharedForeign>, client: Notifier, from: Option<Instant>) {
    let life = async {
        sleep_until(from).await;
        shared.rise(&client);
        tokio::time::sleep(READ_BY_THEN).await;
        shared.call_read(&client);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = client.closed() => {}
        () = life => {}
    }
    shared.fall(&client);
}

async fn sleep_until(from: Option<Instant>) {
    if let Some(from) = from {
        tokio::time::sleep_until(from).await;
    }
}

impl SharedForeign {
    fn state(&self) -> MutexGuard<'_, ForeignState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the carrier as up, unless another connection carries it by now.
    fn rise(&self, client: &Notifier) {
        let mut state = self.state();
        if state.is_held_by(client) {
            state.last_up = Some(Instant::now());
            self.up.send_replace(true);
            let _ = self.news.send(News::Connected);
        }
    }

    /// Says that all mail which waited has been read, once [`READ_BY_THEN`] is over: no client is asked whether it has
    /// handed in everything, since it could say so and keep some back.
    fn call_read(&self, client: &Notifier) {
        if self.state().is_held_by(client) {
            let _ = self.news.send(News::Drained);
        }
    }

    fn fall(&self, client: &Notifier) {
        let mut state = self.state();
        if state.is_held_by(client) {
            state.holder = None;
            state.end();
            if self.up.send_replace(false) {
                let _ = self.news.send(News::Disconnected);
            }
        }
    }

    fn take(&self, parcel: &Parcel) -> Result<BoxFuture<'static, bool>, CarrierError> {
        // The daemon itself checks what the program may carry, before the program sees the message: the program is not trusted
        // to keep to its limits.
        let message = parcel.message();
        if !self
            .reach
            .sees(parcel.recipient(), message.headers.data_tier.into())
        {
            let text = "it goes beyond what [carrier-socket] of config.toml allows";
            return Err(CarrierError(text.to_owned()));
        }
        if parcel.address() == KEPT_FOR_POLLS {
            self.kept.put(message);
            return Ok(ready(true).boxed());
        }
        let mut state = self.state();
        if !*self.up.borrow() {
            return Err(CarrierError(format!("nobody carries {}", self.id)));
        }
        let bytes = parcel.bytes().len();
        // Call `hand_out` before the queue is measured: it gives up parcels that the program did not report in time, and hands
        // out queued ones in their place.
        state.hand_out(&self.id);
        if state.queue.len() >= QUEUE || state.queued_bytes + bytes > QUEUE_BYTES {
            return Err(CarrierError(format!(
                "too much waits for whoever carries {}",
                self.id
            )));
        }
        let (held, answer) = oneshot::channel();
        state.queued_bytes += bytes;
        let parcel = parcel.clone();
        state.queue.push_back(Queued { parcel, held });
        state.hand_out(&self.id);
        // A dropped sender means that the program has gone or never reported: count the message as not stored.
        Ok(answer.map(|held| held.unwrap_or(false)).boxed())
    }
}

impl Carrier for Foreign {
    fn publish<'p>(
        &'p self,
        parcel: &'p Parcel,
    ) -> BoxFuture<'p, Result<BoxFuture<'static, bool>, CarrierError>> {
        ready(self.0.take(parcel)).boxed()
    }

    fn settle(&self, settled: Vec<(Ticket, Settling)>) -> BoxFuture<'_, Result<(), CarrierError>> {
        for (ticket, settled) in settled {
            match ticket.meaning::<DeliveredMessage>() {
                Some(delivery) => delivery.settle(settled),
                None => {
                    let another = CarrierError("another carrier's ticket".to_owned());
                    return ready(Err(another)).boxed();
                }
            }
        }
        ready(Ok(())).boxed()
    }

    fn forget(&self, peer: &AgentId, message_id: MessageId) {
        self.0.kept.forget(peer, message_id);
    }

    fn is_connected(&self) -> bool {
        *self.0.up.borrow()
    }

    fn has_mailbox(&self) -> bool {
        false
    }

    fn ready(&self, within: Duration) -> BoxFuture<'_, Result<(), CarrierError>> {
        let mut up = self.0.up.subscribe();
        let id = self.0.id.clone();
        let waited = async move {
            let waited = tokio::time::timeout(within, up.wait_for(|up| *up)).await;
            match waited {
                Ok(Ok(_)) => Ok(()),
                _ => Err(CarrierError(format!("nobody carries {id} yet"))),
            }
        };
        waited.boxed()
    }

    // The watchdog asks here whether a task of the daemon hangs. A program outside of the daemon carries these messages, so no
    // task of the daemon can hang over them: always answer yes.
    fn probe(&self) -> BoxFuture<'_, Result<(), CarrierError>> {
        ready(Ok(())).boxed()
    }

    fn stop_reading(&self) -> BoxFuture<'_, Result<(), CarrierError>> {
        let sent = self.0.news.send(News::Stopped);
        ready(sent.map_err(|_| CarrierError("nothing is read of it".to_owned()))).boxed()
    }

    fn drain(&self) -> BoxFuture<'_, Result<(), CarrierError>> {
        self.0.state().end();
        ready(Ok(())).boxed()
    }
}

/// What programs handed in, in the order in which they did.
struct ForeignSource(mpsc::UnboundedReceiver<News>);

impl CarrierSource for ForeignSource {
    fn receive_many<'s>(&'s mut self, out: &'s mut Vec<News>, max: usize) -> BoxFuture<'s, usize> {
        let received = async move {
            let count = self.0.recv_many(out, max).await;
            // Close the receiving end after a stop: the senders live as long as the daemon, so without this the channel
            // would never end, and its reader would wait on.
            let stopped = out.iter().any(|news| matches!(news, News::Stopped));
            if stopped {
                self.0.close();
            }
            count
        };
        received.boxed()
    }
}

/// How many messages may be handed in and not yet ruled, and their KiB.
const MESSAGES: usize = 512;
const KIB: usize = 8 * 1024;
/// How many parcels may wait for the holder, and their bytes.
const QUEUE: usize = 1_024;
const QUEUE_BYTES: usize = 16 * 1024 * 1024;
const FLAPPING: Duration = Duration::from_secs(1);
/// How long after a client attached whatever waited at peers for this agent counts as read: by then it had the time to
/// come.
const READ_BY_THEN: Duration = Duration::from_secs(90);
/// How many bytes are kept of a message that is too large to take.
const HEAD: usize = 1_024;

#[cfg(test)]
mod tests;
