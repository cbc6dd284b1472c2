//! One client of the control socket, served by one task.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde_json::value::RawValue;
use signet_api::rpc::{self, Asked, Id, Incoming, Item};
use signet_api::{ApiError, Params};
use signet_proto::node::Program;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use super::caller::{Narrowing, SocketCaller};
use super::reply::{CallAnswer, ReplySender};
use super::slots::SocketSlot;

/// What a client asks of the daemon: its parameters are not read yet.
pub struct RawCall {
    /// The method that the client calls.
    pub method: String,
    /// An array or an object; `null` when the client sent none.
    pub params: Params,
    /// Who asks.
    pub caller: SocketCaller,
    /// Takes the answer. It may come late; the client may be gone by then.
    pub reply: ReplySender,
    /// Tells the same client more, for as long as it stays.
    pub notifier: Notifier,
    /// How far its connection is narrowed.
    pub narrowing: Narrowing,
}

impl fmt::Debug for RawCall {
    /// Without the parameters: they may be words that leave this daemon sealed only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawCall({})", self.method)
    }
}

/// Sends notifications to one client, and never waits for it.
#[derive(Clone, Debug)]
pub struct Notifier {
    queue: mpsc::Sender<String>,
    overflow: Arc<Notify>,
    program: Program,
}

/// The client is gone, or was too slow and is being closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone, or too slow to be told more; it can connect again")]
pub struct ClientGone;

impl Notifier {
    /// Queues one notification. A client whose queue is full is closed: what it missed it can ask
    /// for again.
    ///
    /// # Errors
    /// When the client is gone or is closed now.
    pub fn notify(&self, method: &str, params: &RawValue) -> Result<(), ClientGone> {
        self.queue
            .try_send(rpc::notification(method, params))
            .map_err(|error| {
                if matches!(error, mpsc::error::TrySendError::Full(_)) {
                    self.overflow.notify_one();
                }
                ClientGone
            })
    }

    /// Whose connection it is.
    pub const fn program(&self) -> Program {
        self.program
    }

    /// Whether the client is gone.
    pub fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    /// Resolves when the client is gone.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }
}

/// How many connections there have been.
static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// How much one client may ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientLimits {
    /// Bytes of one line.
    pub(super) line: usize,
    /// Lines that wait for their answers.
    pub(super) in_flight: usize,
    /// Notifications that wait to be read.
    pub(super) queue: usize,
    /// How long a client may take to read what is written to it.
    pub(super) write: Duration,
    /// How long a client may take to send its first line.
    pub(super) first_line: Duration,
}

/// Why a connection ended before the client closed it.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionEnd {
    #[error("the client's line is too long")]
    LongLine,
    #[error("the client sent nothing")]
    Silent,
    #[error("the client does not read")]
    NotReading,
    #[error("its place was needed for another client")]
    PlaceNeeded,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Serves one client until it has gone and is answered, or `stop` is set and it is answered.
pub(super) async fn serve(
    stream: UnixStream,
    caller: SocketCaller,
    calls: mpsc::Sender<RawCall>,
    limits: ClientLimits,
    stop: watch::Receiver<bool>,
    place: &SocketSlot,
) -> Result<(), ConnectionEnd> {
    let program = Program {
        connection: CONNECTIONS.fetch_add(1, Ordering::Relaxed),
        // The kernel knows the user at the other end of every connected unix socket. If it does not say, serve no client: the
        // user decides whose programs may take over an offer.
        user: stream.peer_cred()?.uid(),
    };
    let (reader, writer) = stream.into_split();
    let (queue, notes) = mpsc::channel(limits.queue);
    place.tells_by(queue.downgrade());
    let overflow = Arc::new(Notify::new());
    let notifier = Notifier {
        queue,
        overflow: Arc::clone(&overflow),
        program,
    };
    let lines = LineReader {
        reader,
        buffer: BytesMut::new(),
        scanned: 0,
        limit: limits.line,
    };
    let mut connection = ClientConnection {
        writer,
        calls,
        caller,
        notifier,
        narrowing: Narrowing::default(),
        limits,
        place,
    };
    tokio::select! {
        ended = connection.converse(lines, notes, stop) => return ended,
        // Watch here for a full queue of notifications, and not in `converse`: `converse` may be stuck in a write to the
        // very client that reads nothing.
        () = overflow.notified() => return Err(ConnectionEnd::NotReading),
        () = place.is_needed() => {}
    }
    connection.say_that_the_place_is_needed();
    Err(ConnectionEnd::PlaceNeeded)
}

struct ClientConnection<'a> {
    writer: OwnedWriteHalf,
    calls: mpsc::Sender<RawCall>,
    caller: SocketCaller,
    notifier: Notifier,
    narrowing: Narrowing,
    limits: ClientLimits,
    place: &'a SocketSlot,
}

impl ClientConnection<'_> {
    async fn converse(
        &mut self,
        mut lines: LineReader,
        mut notes: mpsc::Receiver<String>,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), ConnectionEnd> {
        let mut answers = FuturesUnordered::new();
        let silence = sleep(self.limits.first_line);
        tokio::pin!(silence);
        let (mut listening, mut heard) = (true, false);
        while listening || !answers.is_empty() {
            self.place.waits_for(answers.len());
            tokio::select! {
                line = lines.next(), if listening && answers.len() < self.limits.in_flight => match line {
                    Ok(Some(line)) => {
                        heard = true;
                        // Count the call before it is handed over, which may take a while:
                        // otherwise the client would look idle, and could be disconnected.
                        self.place.waits_for(answers.len() + 1);
                        answers.push(self.submit(&line).await);
                    }
                    Ok(None) if self.is_hung_up().await => return Ok(()),
                    Ok(None) => listening = false,
                    Err(ConnectionEnd::LongLine) => return self.refuse_long_line().await,
                    Err(ended) => return Err(ended),
                },
                Some(answer) = answers.next() => self.write_some(answer).await?,
                Some(note) = notes.recv() => self.write_some(Some(note)).await?,
                _ = stop.changed(), if listening => listening = false,
                () = &mut silence, if !heard => return Err(ConnectionEnd::Silent),
            }
        }
        Ok(())
    }

    /// Hands the calls of one line over, in their order; the future gives the answer.
    async fn submit(&self, line: &[u8]) -> impl Future<Output = Option<String>> + use<> {
        let (items, is_batch) = match rpc::read(line, BATCH_MAX) {
            Ok(Incoming::One(item)) => (vec![item], false),
            Ok(Incoming::Batch(items)) => (items, true),
            Err(error) => (vec![Item::Faulty(Id::null(), error)], false),
        };
        let mut pending = Vec::with_capacity(items.len());
        // Submit the calls of a batch one after the other, so that the node gets them in order; await their answers together.
        for item in items {
            pending.push(self.submit_item(item).await);
        }
        async move {
            let answers: Vec<String> = join_all(pending).await.into_iter().flatten().collect();
            if is_batch {
                rpc::batch(&answers)
            } else {
                answers.into_iter().next()
            }
        }
    }

    async fn submit_item(&self, item: Item) -> impl Future<Output = Option<String>> + use<> {
        let (id, pending) = match item {
            Item::Ignored => (None, PendingCall::Known(ApiError::invalid_request())),
            Item::Faulty(id, error) => (Some(id), PendingCall::Known(error)),
            Item::Call(Asked { method, params, id }) => {
                let (reply, answer) = ReplySender::new();
                let call = RawCall {
                    method,
                    params,
                    caller: self.caller.clone(),
                    reply,
                    notifier: self.notifier.clone(),
                    narrowing: self.narrowing.clone(),
                };
                // Where the daemon takes no more calls, `send` drops the call with its `reply`:
                // the dropped reply answers that the daemon stops.
                drop(self.calls.send(call).await);
                (id, PendingCall::Called(answer))
            }
        };
        async move {
            // A call without an id is a notification, which gets no answer.
            let id = id?;
            let result = match pending {
                PendingCall::Known(error) => Err(error),
                PendingCall::Called(answer) => answer
                    .await
                    .unwrap_or_else(|_| Err(ApiError::outcome_unknown(None))),
            };
            Some(id.answer(&result))
        }
    }

    async fn write_some(&mut self, line: Option<String>) -> Result<(), ConnectionEnd> {
        let Some(mut line) = line else { return Ok(()) };
        line.push('\n');
        match timeout(self.limits.write, self.writer.write_all(line.as_bytes())).await {
            Ok(written) => Ok(written?),
            Err(_) => Err(ConnectionEnd::NotReading),
        }
    }

    async fn refuse_long_line(&mut self) -> Result<(), ConnectionEnd> {
        let fault = format!("send lines of at most {} bytes", self.limits.line);
        let error = ApiError::invalid_request().with_fault(fault);
        self.write_some(Some(Id::null().refusal(&error))).await?;
        Err(ConnectionEnd::LongLine)
    }

    /// Writes one line without waiting for the client; one that does not read it sees the connection end.
    fn say_that_the_place_is_needed(&self) {
        let error = ApiError::place_needed();
        let line = format!("{}\n", Id::null().refusal(&error));
        // The client has to leave at once and may be one that does not read: so do not wait for it here.
        let _ = self.writer.try_write(line.as_bytes());
    }

    /// Whether the client has closed both directions, and not only said that it is done asking.
    async fn is_hung_up(&self) -> bool {
        self.writer
            .ready(Interest::WRITABLE)
            .await
            .is_ok_and(|ready| ready.is_write_closed())
    }
}

enum PendingCall {
    Known(ApiError),
    Called(oneshot::Receiver<CallAnswer>),
}

/// Calls in one line, so that a line of a megabyte cannot ask for an answer of many.
pub(super) const BATCH_MAX: usize = 1000;

/// The lines of a stream. The future of [`LineReader::next`] may be dropped without losing anything.
struct LineReader {
    reader: OwnedReadHalf,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line feed.
    scanned: usize,
    limit: usize,
}

impl LineReader {
    /// The next line without its line feed; `None` at the end. What has no line feed is no line.
    async fn next(&mut self) -> Result<Option<BytesMut>, ConnectionEnd> {
        loop {
            let fresh = self.buffer.iter().skip(self.scanned);
            if let Some(offset) = fresh.clone().position(|byte| *byte == b'\n') {
                let mut line = self.buffer.split_to(self.scanned + offset + 1);
                self.scanned = 0;
                line.truncate(line.len().saturating_sub(1));
                return if line.len() > self.limit {
                    Err(ConnectionEnd::LongLine)
                } else {
                    Ok(Some(line))
                };
            }
            // Next time, search only the new bytes for the line's end: otherwise the whole line would be searched for each byte
            // of a client that sends it byte by byte.
            self.scanned = self.buffer.len();
            // Check the limit before more is read: a line without an end must not fill the memory.
            if self.scanned > self.limit {
                return Err(ConnectionEnd::LongLine);
            }
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}
