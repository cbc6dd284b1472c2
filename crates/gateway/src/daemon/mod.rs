//! The daemon of the agent, by its socket: a connection for each call, so that a daemon that was away is there
//! again for the next one, and a call that nobody waits for any more ends with its connection. Calls of the gateway's own
//! find the connections of those before, which are kept for some seconds.

mod search;
mod slots;
mod waits;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use signet_api::{Ceiling, ClientError, Narrow, Notification, Request, ShowStatus};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout};

use crate::fault::DoorError;
use crate::lock::Locked as _;
use crate::scope::Caller;
pub(crate) use search::READING;
pub(crate) use slots::Lasting;
use slots::{CallSlot, CallSlots};
pub(crate) use waits::fresh_key;

/// Where the daemon listens, and how many calls are under way; perhaps as one caller may use it.
pub(crate) struct Daemon {
    shared: Arc<DaemonShared>,
    whose: OnBehalf,
}

struct DaemonShared {
    socket: PathBuf,
    places: CallSlots,
    /// Whether the socket has shown that it is the agent's.
    is_agents: AtomicBool,
    /// Connections that nobody uses.
    idle: Mutex<Vec<IdleLink>>,
}

/// For whom a connection was made. The daemon never widens a connection again, so one is used only for the same caller and
/// scope.
#[derive(Clone, PartialEq, Eq)]
struct OnBehalf {
    /// The caller of the listener; the gateway itself has no name.
    caller: Arc<str>,
    /// What every connection is narrowed to first; nothing for a scope as wide as the socket's.
    scope: Option<Narrow>,
}

struct IdleLink {
    since: Instant,
    whose: OnBehalf,
    stream: BufReader<UnixStream>,
}

impl Daemon {
    pub(crate) fn at(socket: &Path) -> Self {
        Self {
            shared: Arc::new(DaemonShared {
                socket: socket.to_owned(),
                places: CallSlots::new(),
                is_agents: AtomicBool::new(false),
                idle: Mutex::default(),
            }),
            whose: OnBehalf {
                caller: "".into(),
                scope: None,
            },
        }
    }

    /// The same daemon as that caller may use it: the daemon itself holds every call against the caller's scope, and no
    /// caller takes the places of all others.
    pub(crate) fn narrowed(&self, caller: &Caller) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            whose: OnBehalf {
                caller: Arc::clone(&caller.name),
                scope: narrow(&caller.scope),
            },
        }
    }

    /// One call, which may wait `wait` for others besides.
    ///
    /// # Errors
    /// The daemon's refusal, that there is no answer, or `busy`.
    pub(crate) async fn call<R: Request>(
        &self,
        request: &R,
        wait: Duration,
    ) -> Result<R::Answer, DoorError> {
        let answer = self.raw(R::METHOD, request, wait).await?;
        Ok(serde_json::from_value(answer).map_err(|_| ClientError::Malformed)?)
    }

    /// The same, with the answer as the daemon gives it.
    ///
    /// # Errors
    /// The same.
    pub(crate) async fn raw(
        &self,
        method: &str,
        params: &impl serde::Serialize,
        wait: Duration,
    ) -> Result<Value, DoorError> {
        let (lasting, patience) = match wait.is_zero() {
            true => (Lasting::AtOnce, LINE),
            false => (Lasting::AWhile, wait.max(LINE)),
        };
        let places = &self.shared.places;
        let place = places.take(&self.whose.caller, lasting, patience).await?;
        self.asked(method, params, wait, place).await
    }

    /// One call that has its place.
    async fn asked(
        &self,
        method: &str,
        params: &impl serde::Serialize,
        wait: Duration,
        place: CallSlot,
    ) -> Result<Value, DoorError> {
        let mut link = match self.shared.idle(&self.whose) {
            Some(stream) => DaemonConnection::over(stream, Some(place)),
            None => self.begin(Some(place)).await?,
        };
        let answer = link.raw(method, params, wait).await;
        // Keep the connection for another call only if the daemon has answered or refused: after any other error the answer may
        // still arrive, and the next call would take it for its own.
        if matches!(
            answer,
            Ok(_) | Err(DoorError::Daemon(ClientError::Refused(_)))
        ) {
            self.shared.keep(link, &self.whose);
        }
        answer
    }

    /// A connection for several calls, or to be told what moves.
    ///
    /// # Errors
    /// `daemon-away`; `busy`; `persons-socket` for one that lets its callers decide.
    pub(crate) async fn link(&self, lasting: Lasting) -> Result<DaemonConnection, DoorError> {
        let places = &self.shared.places;
        let place = places.take(&self.whose.caller, lasting, LINE).await?;
        self.begin(Some(place)).await
    }

    /// A connection for something that may be left out, such as progress; `None` unless more than half of the slots are
    /// free.
    pub(crate) async fn spare_link(&self) -> Option<DaemonConnection> {
        let places = &self.shared.places;
        let place = places.take_spare(&self.whose.caller, Lasting::AsLongAsItsLink)?;
        self.begin(Some(place)).await.ok()
    }

    /// The gateway's own connection, on which it follows the messages of A2A. It takes no caller's slot.
    ///
    /// # Errors
    /// The same.
    pub(crate) async fn own_link(&self) -> Result<DaemonConnection, DoorError> {
        self.begin(None).await
    }

    async fn begin(&self, place: Option<CallSlot>) -> Result<DaemonConnection, DoorError> {
        let shared = &self.shared;
        let stream = timeout(PROMPT, UnixStream::connect(&shared.socket));
        let stream = stream
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let stream = stream.map_err(|source| ClientError::NotReachable {
            path: shared.socket.clone(),
            source,
        })?;
        let mut link = DaemonConnection::over(BufReader::new(stream), place);
        // `is_agents` remembers that the socket is an agent's, which saves later connections the call below. Two connections
        // that make the call at the same time get the same answer, so `Relaxed` is enough.
        if !shared.is_agents.load(Ordering::Relaxed) {
            let status = link.call(&ShowStatus {}, PROMPT).await?;
            // The daemon sends `private` only on the person's socket. The gateway refuses to use that socket, because a
            // program that calls through the gateway could then decide for the person.
            if status.private.is_some() {
                return Err(DoorError::PersonsSocket);
            }
            shared.is_agents.store(true, Ordering::Relaxed);
        }
        // Narrow the connection to the token's scope before the caller gets it: otherwise a call could go beyond that scope.
        if let Some(scope) = &self.whose.scope {
            link.call(scope, PROMPT).await?;
        }
        Ok(link)
    }
}

impl DaemonShared {
    /// A connection of an earlier call for the same caller and scope, if the daemon has neither closed it nor said more on
    /// it.
    fn idle(&self, whose: &OnBehalf) -> Option<BufReader<UnixStream>> {
        let mut idle = self.idle.locked();
        idle.retain(|kept| {
            let more = kept.stream.get_ref().try_read(&mut [0]);
            kept.since.elapsed() < KEPT
                && more.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        });
        let newest = idle.iter().rposition(|kept| kept.whose == *whose)?;
        Some(idle.remove(newest).stream)
    }

    fn keep(&self, link: DaemonConnection, whose: &OnBehalf) {
        // Unread bytes or notifications would come before the answer to the next call: do not keep such a connection.
        let is_clean =
            link.begun.is_empty() && link.told.is_empty() && link.stream.buffer().is_empty();
        let mut idle = self.idle.locked();
        if is_clean {
            if idle.len() >= MOST_KEPT {
                idle.remove(0);
            }
            idle.push(IdleLink {
                since: Instant::now(),
                whose: whose.clone(),
                stream: link.stream,
            });
        }
    }
}

fn narrow(scope: &Ceiling) -> Option<Narrow> {
    let peers = scope.peers.as_ref();
    (*scope != Ceiling::default()).then(|| Narrow {
        peers: peers.map(|peers| peers.iter().cloned().collect()),
        tier: scope.tier,
        read: !scope.may_send(),
    })
}

/// A connection to the daemon.
pub(crate) struct DaemonConnection {
    stream: BufReader<UnixStream>,
    /// The part of a line that was read so far: a wait that is given up in the middle of a line loses nothing.
    begun: Vec<u8>,
    last_id: u64,
    /// What came while an answer was awaited.
    told: VecDeque<Notification>,
    _place: Option<CallSlot>,
}

impl DaemonConnection {
    fn over(stream: BufReader<UnixStream>, place: Option<CallSlot>) -> Self {
        Self {
            stream,
            begun: Vec::new(),
            last_id: 0,
            told: VecDeque::new(),
            _place: place,
        }
    }

    /// One call, answered within `patience`.
    ///
    /// # Errors
    /// The daemon's refusal, or that there is no answer.
    pub(crate) async fn call<R: Request>(
        &mut self,
        request: &R,
        patience: Duration,
    ) -> Result<R::Answer, DoorError> {
        let answer = timeout(patience, self.ask(R::METHOD, request));
        let answer = answer
            .await
            .map_err(|_| ClientError::TimedOut(patience))??;
        Ok(serde_json::from_value(answer).map_err(|_| ClientError::Malformed)?)
    }

    /// One call as the daemon answers it, which may wait `wait` for others besides.
    ///
    /// # Errors
    /// The daemon's refusal, or that there is no answer.
    pub(crate) async fn raw(
        &mut self,
        method: &str,
        params: &impl serde::Serialize,
        wait: Duration,
    ) -> Result<Value, DoorError> {
        let patience = PROMPT + wait;
        let answer = timeout(patience, self.ask(method, params));
        let answer = answer.await;
        Ok(answer.map_err(|_| ClientError::TimedOut(patience))??)
    }

    /// What the daemon tells next, however long that takes. Nothing is lost where the wait is given up.
    ///
    /// # Errors
    /// That the connection ended.
    pub(crate) async fn told(&mut self) -> Result<Notification, ClientError> {
        loop {
            if let Some(told) = self.told.pop_front() {
                return Ok(told);
            }
            let message = self.read().await?;
            self.told.extend(Notification::of(&message));
        }
    }

    async fn ask(
        &mut self,
        method: &str,
        params: &impl serde::Serialize,
    ) -> Result<Value, ClientError> {
        self.last_id += 1;
        let request =
            json!({ "jsonrpc": "2.0", "method": method, "params": params, "id": self.last_id });
        let sent = self
            .stream
            .write_all(format!("{request}\n").as_bytes())
            .await;
        // A daemon with no room for this connection says so in an answer, and closes the connection without reading the
        // request. Writing the request may then fail: so look for an answer all the same, and prefer it to that error.
        match (self.answer().await, sent) {
            (Err(ClientError::Closed), Err(error)) => Err(ClientError::of_connection(error)),
            (answer, _) => answer,
        }
    }

    async fn answer(&mut self) -> Result<Value, ClientError> {
        loop {
            let mut message = self.read().await?;
            if let Some(told) = Notification::of(&message) {
                self.told.push_back(told);
                continue;
            }
            let id = message.get("id");
            // A daemon that refuses a request before reading it does not know the request's id, and JSON-RPC 2.0 then writes
            // `null`: so an answer with the id `null` is for this request, too.
            let is_mine = id.is_some_and(|id| id.is_null() || *id == self.last_id);
            return match (is_mine, message.remove("result"), message.remove("error")) {
                (true, Some(result), None) => Ok(result),
                (true, None, Some(error)) => Err(ClientError::of_answer(error)),
                _ => Err(ClientError::Malformed),
            };
        }
    }

    async fn read(&mut self) -> Result<Map<String, Value>, ClientError> {
        // `begun` holds the beginning of a line whose reading was cancelled before: subtract it, because the
        // limit is for a whole line.
        let room = ANSWER_MAX.saturating_sub(self.begun.len() as u64);
        let read = (&mut self.stream)
            .take(room)
            .read_until(b'\n', &mut self.begun)
            .await;
        read.map_err(ClientError::of_connection)?;
        let line = std::mem::take(&mut self.begun);
        match line.len() {
            0 => Err(ClientError::Closed),
            _ if line.last() != Some(&b'\n') => match line.len() as u64 >= ANSWER_MAX {
                true => Err(ClientError::Malformed),
                false => Err(ClientError::Closed),
            },
            _ => serde_json::from_slice(&line).map_err(|_| ClientError::Malformed),
        }
    }
}

/// How long a call waits in line for its place, where it does not wait for others besides.
const LINE: Duration = Duration::from_secs(10);
/// How long an unused connection is kept, and how many: the daemon serves 64 in all, other programs' among them.
const KEPT: Duration = Duration::from_secs(5);
const MOST_KEPT: usize = 4;
/// How long the daemon may take for a call that waits for nobody: long enough for a slow disk.
const PROMPT: Duration = Duration::from_secs(30);
/// An inbox full of the largest messages fits.
const ANSWER_MAX: u64 = 64 << 20;
