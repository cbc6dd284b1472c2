//! The daemon of the agent, by its socket: a connection for each call, so that a daemon that was away is there
//! again for the next one, and a call that nobody waits for any more ends with its connection. Calls of the gateway's own
//! find the connections of those before, which are kept for some seconds.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use signet_api::{ApiError, ClientError, Narrow, Notification, Request, ShowStatus};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::context::{Caller, Scope};
use crate::fault::Fault;

/// Where the daemon listens, and how many calls are under way; perhaps as one caller may use it.
pub(crate) struct Daemon {
    shared: Arc<Shared>,
    narrowed: Option<Narrowed>,
}

struct Shared {
    socket: PathBuf,
    places: Arc<Semaphore>,
    /// The places of each caller.
    of_callers: Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
    /// Whether the socket has shown that it is the agent's.
    is_agents: AtomicBool,
    /// Connections that nobody uses, and since when.
    idle: Mutex<Vec<(Instant, BufReader<UnixStream>)>>,
}

struct Narrowed {
    /// What every connection is narrowed to first; nothing for a scope as wide as the socket's.
    scope: Option<Narrow>,
    places: Arc<Semaphore>,
}

impl Daemon {
    pub(crate) fn at(socket: &Path) -> Self {
        Self {
            shared: Arc::new(Shared {
                socket: socket.to_owned(),
                places: Arc::new(Semaphore::new(PLACES)),
                of_callers: Mutex::default(),
                is_agents: AtomicBool::new(false),
                idle: Mutex::default(),
            }),
            narrowed: None,
        }
    }

    /// The same daemon as that caller may use it: the daemon itself holds every call against the caller's scope, and no
    /// caller takes the places of all others.
    pub(crate) fn narrowed(&self, caller: &Caller) -> Self {
        let mut places = self
            .shared
            .of_callers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let places = places.entry(Arc::clone(&caller.name));
        let places = places.or_insert_with(|| Arc::new(Semaphore::new(PLACES_OF_ONE)));
        Self {
            shared: Arc::clone(&self.shared),
            narrowed: Some(Narrowed {
                scope: narrow(&caller.scope),
                places: Arc::clone(places),
            }),
        }
    }

    /// One call, which may wait `wait` for others besides.
    ///
    /// # Errors
    /// The daemon's refusal, or that there is no answer.
    pub(crate) async fn call<R: Request>(
        &self,
        request: &R,
        wait: Duration,
    ) -> Result<R::Answer, Fault> {
        let mut link = match self.narrowed {
            // Whose connection it was, the daemon would not forget.
            Some(_) => self.link().await?,
            None => self.kept_link().await?,
        };
        let answer = link.call(request, PROMPT + wait).await;
        let is_whole = matches!(answer, Ok(_) | Err(Fault::Daemon(ClientError::Refused(_))));
        if is_whole && self.narrowed.is_none() {
            self.shared.keep(link);
        }
        answer
    }

    /// The connection of a call before, where the daemon has neither closed it nor said more on it.
    async fn kept_link(&self) -> Result<Link, Fault> {
        let place = place(&self.shared.places).await?;
        match self.shared.idle() {
            Some(stream) => Ok(Link::over(stream, (None, place))),
            None => {
                drop(place);
                self.link().await
            }
        }
    }

    /// A connection for several calls, or to be told what moves.
    ///
    /// # Errors
    /// `daemon-away`; `persons-socket` for one that lets its callers decide.
    pub(crate) async fn link(&self) -> Result<Link, Fault> {
        let own = match &self.narrowed {
            Some(narrowed) => Some(place(&narrowed.places).await?),
            None => None,
        };
        let shared = &self.shared;
        let places = (own, place(&shared.places).await?);
        let stream = timeout(PROMPT, UnixStream::connect(&shared.socket));
        let stream = stream
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let stream = stream.map_err(|source| ClientError::NotReachable {
            path: shared.socket.clone(),
            source,
        })?;
        let mut link = Link::over(BufReader::new(stream), places);
        if !shared.is_agents.load(Ordering::Relaxed) {
            let status = link.call(&ShowStatus {}, PROMPT).await?;
            // Only the person is told what is theirs alone.
            if status.private.is_some() {
                return Err(Fault::PersonsSocket);
            }
            shared.is_agents.store(true, Ordering::Relaxed);
        }
        if let Some(scope) = self.narrowed.as_ref().and_then(|own| own.scope.as_ref()) {
            link.call(scope, PROMPT).await?;
        }
        Ok(link)
    }
}

impl Shared {
    fn idle(&self) -> Option<BufReader<UnixStream>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(since, _)| since.elapsed() < KEPT);
        std::iter::from_fn(|| idle.pop())
            .map(|(_, stream)| stream)
            .find(|stream| {
                let more = stream.get_ref().try_read(&mut [0]);
                more.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
            })
    }

    fn keep(&self, link: Link) {
        let is_clean =
            link.begun.is_empty() && link.told.is_empty() && link.stream.buffer().is_empty();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if is_clean && idle.len() < MOST_KEPT {
            idle.push((Instant::now(), link.stream));
        }
    }
}

/// Nobody closes them.
async fn place(places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Fault> {
    let place = Arc::clone(places).acquire_owned().await;
    place.map_err(|_| Fault::Own("the places are closed"))
}

fn narrow(scope: &Scope) -> Option<Narrow> {
    let peers = scope.peers.as_ref();
    (*scope != Scope::default()).then(|| Narrow {
        peers: peers.map(|peers| peers.iter().cloned().collect()),
        tier: scope.tier,
        read: !scope.may_send(),
    })
}

/// A connection to the daemon.
pub(crate) struct Link {
    stream: BufReader<UnixStream>,
    /// What of a line is read: waiting for the rest of it may be given up and begun again.
    begun: Vec<u8>,
    last_id: u64,
    /// What came while an answer was awaited.
    told: VecDeque<Notification>,
    _places: Places,
}

/// That of a caller of the listener, and one of all.
type Places = (Option<OwnedSemaphorePermit>, OwnedSemaphorePermit);

impl Link {
    fn over(stream: BufReader<UnixStream>, places: Places) -> Self {
        Self {
            stream,
            begun: Vec::new(),
            last_id: 0,
            told: VecDeque::new(),
            _places: places,
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
    ) -> Result<R::Answer, Fault> {
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
    ) -> Result<Value, Fault> {
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
            self.told.extend(notification(&message));
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
        // A daemon that has no room says so, and may close before it has read the request.
        match (self.answer().await, sent) {
            (Err(ClientError::Closed), Err(error)) => Err(broken(error)),
            (answer, _) => answer,
        }
    }

    async fn answer(&mut self) -> Result<Value, ClientError> {
        loop {
            let mut message = self.read().await?;
            if let Some(told) = notification(&message) {
                self.told.push_back(told);
                continue;
            }
            let id = message.get("id");
            let is_mine = id.is_some_and(|id| id.is_null() || *id == self.last_id);
            return match (is_mine, message.remove("result"), message.remove("error")) {
                (true, Some(result), None) => Ok(result),
                (true, None, Some(error)) => Err(refusal(error)),
                _ => Err(ClientError::Malformed),
            };
        }
    }

    async fn read(&mut self) -> Result<Map<String, Value>, ClientError> {
        let room = ANSWER_MAX.saturating_sub(self.begun.len() as u64);
        let read = (&mut self.stream)
            .take(room)
            .read_until(b'\n', &mut self.begun)
            .await;
        read.map_err(broken)?;
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

fn notification(message: &Map<String, Value>) -> Option<Notification> {
    Some(Notification {
        method: message.get("method")?.as_str()?.to_owned(),
        params: message.get("params").cloned().unwrap_or_default(),
    })
}

fn refusal(error: Value) -> ClientError {
    match serde_json::from_value::<ApiError>(error) {
        Ok(error) if error.is_of_a_stop() => ClientError::Stopped(error),
        Ok(error) => ClientError::Refused(error),
        Err(_) => ClientError::Malformed,
    }
}

fn broken(error: io::Error) -> ClientError {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => ClientError::Closed,
        _ => ClientError::Io(error),
    }
}

/// So many calls are under way at once; more wait for their turn. The daemon keeps places for others.
const PLACES: usize = 32;
/// Of those, one caller of the listener has so many.
const PLACES_OF_ONE: usize = 20;
/// How long a connection is kept that nobody uses, and how many: the places of the daemon are for others, too.
const KEPT: Duration = Duration::from_secs(5);
const MOST_KEPT: usize = 4;
/// How long the daemon may take for what is its own to do: a slow disk is slow.
const PROMPT: Duration = Duration::from_secs(30);
/// An inbox full of the largest messages fits.
const ANSWER_MAX: u64 = 64 << 20;
