//! The connection to `carrier.sock`: calls that do not wait for one another, and what the daemon tells.
//!
//! One carrier is one connection: when it ends, the daemon counts the carrier as down, and whoever waits for an answer hears
//! that there is none.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::lock::Locked as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde_json::{Map, Value, json};
use signet_api::{
    ApiError, CARRIER_PARCEL, CarriedParcel, ClientError, DeliverMessages, Notification,
    ReportParcel, Request,
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// A connection to the daemon, for as many calls at once as there are callers.
#[derive(Clone)]
pub(crate) struct CarrierConnection {
    lines: mpsc::Sender<String>,
    awaited: Awaited,
    last_id: Arc<AtomicU64>,
}

/// What the daemon tells, until the connection ends.
pub(crate) type Notifications = mpsc::UnboundedReceiver<Notification>;

/// Who waits for which answer, by the id of the call; `None` once the connection has ended.
type Awaited = Arc<Mutex<Option<HashMap<u64, oneshot::Sender<Result<Value, ApiError>>>>>>;

impl CarrierConnection {
    /// Connects to the socket.
    ///
    /// # Errors
    /// That nothing answers there.
    pub(crate) async fn open(socket: &Path) -> Result<(Self, Notifications), ClientError> {
        let stream = timeout(PROMPT, UnixStream::connect(socket)).await;
        let stream = stream.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let not_reachable = |source| ClientError::NotReachable {
            path: socket.to_owned(),
            source,
        };
        let (reader, writer) = stream.map_err(not_reachable)?.into_split();
        let (lines, to_write) = mpsc::channel(LINES);
        let (tell, told) = mpsc::unbounded_channel();
        let awaited: Awaited = Arc::new(Mutex::new(Some(HashMap::new())));
        tokio::spawn(converse(
            reader,
            writer,
            to_write,
            Arc::clone(&awaited),
            tell,
        ));
        let last_id = Arc::default();
        Ok((
            Self {
                lines,
                awaited,
                last_id,
            },
            told,
        ))
    }

    /// Whether anything may still be asked on it.
    pub(crate) fn is_open(&self) -> bool {
        let awaited = self.awaited.locked();
        awaited.is_some()
    }

    /// One call, answered within `patience`.
    ///
    /// # Errors
    /// The daemon's refusal, or that there is no answer.
    pub(crate) async fn call<R: Request>(
        &self,
        request: &R,
        patience: Duration,
    ) -> Result<R::Answer, ClientError> {
        let answer = timeout(patience, self.ask(R::METHOD, request)).await;
        let answer = answer.map_err(|_| ClientError::TimedOut(patience))??;
        serde_json::from_value(answer).map_err(|_| ClientError::Malformed)
    }

    async fn ask(
        &self,
        method: &str,
        params: &impl serde::Serialize,
    ) -> Result<Value, ClientError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let request = json!({ "jsonrpc": "2.0", "method": method, "params": params, "id": id });
        let (done, answer) = oneshot::channel();
        // Register the call before its line is sent: the answer may come before `send` returns.
        let waits = Waits::of(&self.awaited, id, done).ok_or(ClientError::Closed)?;
        let sent = self.lines.send(format!("{request}\n")).await;
        sent.map_err(|_| ClientError::Closed)?;
        let answer = answer.await.map_err(|_| ClientError::Closed);
        drop(waits);
        answer?.map_err(|error| match error.is_of_a_stop() {
            true => ClientError::Stopped(error),
            false => ClientError::Refused(error),
        })
    }
}

/// Gives each parcel that the daemon hands out to `carry`, with how many are under way already, and reports whether the other
/// side has it. Parcels do not wait for one another. Ends with the connection.
pub(crate) async fn carry_parcels<F: Future<Output = Result<bool, ClientError>>>(
    link: &CarrierConnection,
    carrier: &str,
    mut told: Notifications,
    carry: impl Fn(CarriedParcel, usize) -> F,
) -> ClientError {
    let report = async |id, carried: F| {
        let report = ReportParcel {
            carrier: carrier.to_owned(),
            id,
            held: carried.await?,
        };
        match link.call(&report, RULING).await {
            // The daemon may have given the parcel up meanwhile (`known` is false), or refuse the report. Neither is a fault of
            // the connection, so go on.
            Ok(_) | Err(ClientError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    };
    let mut under_way = FuturesUnordered::new();
    loop {
        tokio::select! {
            told = told.recv() => match told {
                Some(told) if told.method == CARRIER_PARCEL => {
                    let Ok(parcel) = serde_json::from_value::<CarriedParcel>(told.params) else {
                        return ClientError::Malformed;
                    };
                    let id = parcel.id;
                    under_way.push(report(id, carry(parcel, under_way.len())));
                }
                Some(_) => {}
                None => return ClientError::Closed,
            },
            Some(reported) = under_way.next() => {
                if let Err(error) = reported {
                    return error;
                }
            }
        }
    }
}

/// Hands in these messages by that carrier, without waiting.
pub(crate) fn delivery(carrier: &str, messages: Vec<String>) -> DeliverMessages {
    DeliverMessages {
        carrier: carrier.to_owned(),
        messages,
        ..DeliverMessages::default()
    }
}

/// Takes its entry back when nobody waits for the answer any more.
struct Waits<'a>(&'a Awaited, u64);

impl<'a> Waits<'a> {
    fn of(
        awaited: &'a Awaited,
        id: u64,
        done: oneshot::Sender<Result<Value, ApiError>>,
    ) -> Option<Self> {
        let mut all = awaited.locked();
        all.as_mut()?.insert(id, done);
        Some(Self(awaited, id))
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut all = self.0.locked();
        all.as_mut().and_then(|all| all.remove(&self.1));
    }
}

/// Moves lines both ways until either side goes.
async fn converse(
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    to_write: mpsc::Receiver<String>,
    awaited: Awaited,
    tell: mpsc::UnboundedSender<Notification>,
) {
    tokio::select! {
        () = write(writer, to_write) => {}
        () = read(reader, &awaited, &tell) => {}
        // The receiver of notifications was dropped, so nobody uses this connection any more: end it.
        () = tell.closed() => {}
    }
    let mut all = awaited.locked();
    // Dropping the table of the waiting calls drops the sender of each, which tells the call that no answer comes.
    *all = None;
}

async fn write(mut writer: OwnedWriteHalf, mut lines: mpsc::Receiver<String>) {
    while let Some(line) = lines.recv().await {
        if writer.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(
    reader: OwnedReadHalf,
    awaited: &Awaited,
    tell: &mpsc::UnboundedSender<Notification>,
) {
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        let read = (&mut reader)
            .take(LONGEST)
            .read_until(b'\n', &mut line)
            .await;
        // A line without a line feed was cut off, by the end of the connection or at the limit. Its rest never comes, so do not
        // parse it, and end the connection.
        let is_whole = matches!(read, Ok(1..)) && line.last() == Some(&b'\n');
        let Some(message) = is_whole
            .then(|| serde_json::from_slice(&line).ok())
            .flatten()
        else {
            return;
        };
        if !take(message, awaited, tell) {
            return;
        }
    }
}

/// Gives one line to whoever waits for it; false when it is none of the daemon's.
fn take(
    mut line: Map<String, Value>,
    awaited: &Awaited,
    tell: &mpsc::UnboundedSender<Notification>,
) -> bool {
    if let Some(Value::String(method)) = line.remove("method") {
        let params = line.remove("params").unwrap_or_default();
        return tell.send(Notification { method, params }).is_ok();
    }
    let answer = match (line.remove("result"), line.remove("error")) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => match serde_json::from_value(error) {
            Ok(error) => Err(error),
            Err(_) => return false,
        },
        _ => return false,
    };
    let Some(id) = line.get("id").and_then(Value::as_u64) else {
        return false;
    };
    let mut all = awaited.locked();
    let waiting = all.as_mut().and_then(|all| all.remove(&id));
    // The future that waits for this answer may have been dropped: then nobody is left to take the answer.
    waiting.map(|waiting| waiting.send(answer).is_ok());
    true
}

/// How long the daemon may take to be connected to.
const PROMPT: Duration = Duration::from_secs(10);
/// How long the daemon may take to rule: a slow disk is slow.
pub(crate) const RULING: Duration = Duration::from_secs(30);
/// Lines that wait to be written.
const LINES: usize = 64;
/// The longest line: what a channel missed, and a trust store of thousands of peers, fit.
const LONGEST: u64 = 64 << 20;
