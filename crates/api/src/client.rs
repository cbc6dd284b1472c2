//! A program's end of a socket of the daemon: one call after the other, blocking.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Map, Value, json};

use crate::{ATTENTION, ApiError, Attention, FollowAttention, FollowInbox, Message, Request};

/// A connection to the daemon.
#[derive(Debug)]
pub struct Client {
    /// Where it connects again; none where the connection was handed over.
    path: Option<PathBuf>,
    stream: BufReader<UnixStream>,
    /// Whether the daemon was asked to tell more on this connection: another one would not hear it.
    listens: bool,
    timeout: Duration,
    last_id: u64,
    waiting: VecDeque<Notification>,
}

/// What the daemon tells without being asked again.
#[derive(Clone, PartialEq)]
pub struct Notification {
    /// What it is.
    pub method: String,
    /// The rest of it.
    pub params: Value,
}

quiet!(Notification);

impl Notification {
    /// The message that arrived; `None` where it tells of something else.
    ///
    /// # Errors
    /// `Malformed` for one that is no message.
    pub fn into_message(self) -> Option<Result<Message, ClientError>> {
        let arrived = self.method == "inbox.message";
        let message = || serde_json::from_value(self.params).map_err(|_| ClientError::Malformed);
        arrived.then(message)
    }

    /// What the person should see; `None` where it tells of something else.
    ///
    /// # Errors
    /// `Malformed` for one that is no such record.
    pub fn into_attention(self) -> Option<Result<Attention, ClientError>> {
        let is_one = self.method == ATTENTION;
        let attention = || serde_json::from_value(self.params).map_err(|_| ClientError::Malformed);
        is_one.then(attention)
    }
}

/// The daemon could not be asked, or answered with an error.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens.
    #[error("no daemon answers at {}: {source}", path.display())]
    NotReachable {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The daemon closed the connection.
    #[error("the daemon closed the connection")]
    Closed,
    /// No answer in time.
    #[error("the daemon did not answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    /// What came back is not JSON-RPC, or not an answer to what was asked.
    #[error("what answers there does not speak JSON-RPC")]
    Malformed,
    /// The daemon's own error.
    #[error(transparent)]
    Refused(ApiError),
    /// The daemon stops: it did not do what was asked, or nobody knows whether it did.
    #[error(transparent)]
    Stopped(ApiError),
    /// The connection broke.
    #[error("the connection to the daemon broke: {0}")]
    Io(io::Error),
}

impl Client {
    /// Connects to the daemon at `path`; `timeout` is for each call.
    ///
    /// # Errors
    /// `NotReachable`.
    pub fn connect(path: &Path, timeout: Duration) -> Result<Self, ClientError> {
        Ok(Self {
            stream: connect(path, timeout)?,
            path: Some(path.to_owned()),
            listens: false,
            timeout,
            last_id: 0,
            waiting: VecDeque::new(),
        })
    }

    /// A connection that another program made and handed over; it is never made again. `timeout` is for each call.
    ///
    /// # Errors
    /// `Io` where the system sets no time for what is written.
    pub fn of_stream(stream: UnixStream, timeout: Duration) -> Result<Self, ClientError> {
        let timed = stream.set_write_timeout(Some(timeout.max(SHORTEST)));
        timed.map_err(ClientError::Io)?;
        Ok(Self {
            path: None,
            stream: BufReader::new(stream),
            listens: false,
            timeout,
            last_id: 0,
            waiting: VecDeque::new(),
        })
    }

    /// Allows the calls from now on another time.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Asks the daemon and waits for its answer.
    ///
    /// # Errors
    /// `Refused` with the daemon's own error; every other one says that there is no answer.
    pub fn call<R: Request>(&mut self, request: &R) -> Result<R::Answer, ClientError> {
        let params = serde_json::to_value(request).map_err(|_| ClientError::Malformed)?;
        let answer = self.raw(R::METHOD, &params)?;
        serde_json::from_value(answer).map_err(|_| ClientError::Malformed)
    }

    /// The same for a call whose name and parameters no type holds together: for tests, and for tools that
    /// pass on what they are given.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn raw(&mut self, method: &str, params: &Value) -> Result<Value, ClientError> {
        // Connect again if the daemon has hung up since the last call: it closes idle connections when it needs room for other
        // clients.
        if self.last_id > 0 && !self.listens && self.hangs_up_within(Duration::ZERO) {
            let path = self.path.as_ref().ok_or(ClientError::Closed)?;
            self.stream = connect(path, self.timeout)?;
        }
        // Set `listens` before the call is sent, not after its answer: the daemon may obey the call although its answer
        // comes too late. Notifications then come on this connection, and connecting anew would lose them.
        self.listens |= [FollowInbox::METHOD, FollowAttention::METHOD].contains(&method);
        self.last_id += 1;
        let request =
            json!({ "jsonrpc": "2.0", "method": method, "params": params, "id": self.last_id });
        let line = format!("{request}\n");
        let sent = self.stream.get_mut().write_all(line.as_bytes());
        let deadline = Instant::now() + self.timeout;
        // A daemon that has no room for another client may say so and close before it has read the request: return that
        // answer, not the failed write.
        if let Err(error) = sent {
            return self.answer(deadline).and(Err(self.broken(error)));
        }
        self.answer(deadline)
    }

    /// The connection itself, to be handed to another program: nothing is under way on it.
    ///
    /// # Errors
    /// `Closed` when the daemon has said more than it was asked.
    pub fn into_stream(self) -> Result<UnixStream, ClientError> {
        if !self.stream.buffer().is_empty() {
            return Err(ClientError::Closed);
        }
        let stream = self.stream.into_inner();
        // Take off the timeouts that this client set for its own calls: the program that gets the connection decides
        // how long it waits.
        let untimed = stream.set_read_timeout(None);
        let untimed = untimed.and_then(|()| stream.set_write_timeout(None));
        untimed.map_err(ClientError::Io)?;
        Ok(stream)
    }

    /// What the daemon tells from now on, until the connection ends. Waits without limit.
    pub fn notifications(&mut self) -> impl Iterator<Item = Result<Notification, ClientError>> {
        std::iter::from_fn(|| match self.next_notification() {
            Err(ClientError::Closed) => None,
            other => Some(other),
        })
    }

    /// Whether the daemon has hung up, or does so within that time. What it said last is of no use any more.
    pub fn hangs_up_within(&self, time: Duration) -> bool {
        // Without flags poll(2) reports only a hang-up or an error, and not data that waits to be read.
        let mut watched = [PollFd::new(self.stream.get_ref(), PollFlags::empty())];
        // A time that poll(2) cannot count is as good as none.
        let time = Timespec::try_from(time).unwrap_or_default();
        poll(&mut watched, Some(&time)).is_ok_and(|told| told > 0)
    }

    fn next_notification(&mut self) -> Result<Notification, ClientError> {
        if let Some(notification) = self.waiting.pop_front() {
            return Ok(notification);
        }
        loop {
            let message = self.read(None)?;
            if let Some(notification) = Notification::of(&message) {
                return Ok(notification);
            }
        }
    }

    fn answer(&mut self, deadline: Instant) -> Result<Value, ClientError> {
        loop {
            let mut message = self.read(Some(deadline))?;
            if let Some(notification) = Notification::of(&message) {
                self.waiting.push_back(notification);
                continue;
            }
            // If the daemon could not read our request, its answer has the id `null`, and is meant for us as well.
            let is_mine = message
                .get("id")
                .is_some_and(|id| id.is_null() || *id == self.last_id);
            match (is_mine, message.remove("result"), message.remove("error")) {
                (true, Some(result), None) => return Ok(result),
                (true, None, Some(error)) => return Err(ClientError::of_answer(error)),
                // Skip the late answer to an earlier call, which this side gave up when its time was over.
                (false, ..) => {}
                _ => return Err(ClientError::Malformed),
            }
        }
    }

    fn read(&mut self, deadline: Option<Instant>) -> Result<Map<String, Value>, ClientError> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(ClientError::TimedOut(self.timeout));
            }
            let timeout = left.map(|left| left.max(SHORTEST));
            self.stream
                .get_ref()
                .set_read_timeout(timeout)
                .map_err(ClientError::Io)?;
            // Read at most `ANSWER_MAX` bytes of a line: a program in the daemon's place might send one without end.
            let room = ANSWER_MAX.saturating_sub(line.len() as u64);
            match self.stream.by_ref().take(room).read_until(b'\n', &mut line) {
                Ok(0) if room == 0 => return Err(ClientError::Malformed),
                Ok(0) => return Err(ClientError::Closed),
                Ok(_) => {}
                Err(error) => return Err(self.broken(error)),
            }
        }
        serde_json::from_slice(&line).map_err(|_| ClientError::Malformed)
    }

    fn broken(&self, error: io::Error) -> ClientError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                ClientError::TimedOut(self.timeout)
            }
            _ => ClientError::of_connection(error),
        }
    }
}

fn connect(path: &Path, timeout: Duration) -> Result<BufReader<UnixStream>, ClientError> {
    let unreachable = |source| ClientError::NotReachable {
        path: path.to_owned(),
        source,
    };
    let stream = UnixStream::connect(path).map_err(unreachable)?;
    stream
        // Without a timeout, a daemon that reads nothing would block its caller for ever.
        .set_write_timeout(Some(timeout.max(SHORTEST)))
        .map_err(unreachable)?;
    Ok(BufReader::new(stream))
}

impl Notification {
    /// The notification in a line of the daemon; `None` where the line is an answer.
    pub fn of(message: &Map<String, Value>) -> Option<Self> {
        Some(Self {
            method: message.get("method")?.as_str()?.to_owned(),
            params: message.get("params").cloned().unwrap_or_default(),
        })
    }
}

impl ClientError {
    /// The refusal in the member `error` of an answer.
    pub fn of_answer(error: Value) -> Self {
        match serde_json::from_value::<ApiError>(error) {
            Ok(error) if error.is_of_a_stop() => Self::Stopped(error),
            Ok(error) => Self::Refused(error),
            Err(_) => Self::Malformed,
        }
    }

    /// The error for a connection that the system refused or cut.
    pub fn of_connection(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

/// A timeout of zero would mean none.
const SHORTEST: Duration = Duration::from_millis(1);
/// An inbox full of the largest messages fits.
const ANSWER_MAX: u64 = 64 << 20;
