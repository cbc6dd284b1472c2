//! Where an agent that streams nothing says that its task has moved: a listener for its push notifications.
//!
//! ```text
//! agent ── POST, X-A2A-Notification-Token ──▶ PushListener ── wakes ──▶ the try that gave it that token ── tasks/get ──▶ agent
//! ```
//!
//! A push is a bell and nothing more: what it says is not read, and how the task is the agent is asked at its own address.
//! So whoever guesses the address of the listener, and not a token of 128 bits, changes nothing.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OnceCell, Semaphore};
use tokio::time::timeout;

use crate::lock::Locked as _;
use crate::random::random;
use crate::say::say;

/// The listener of one handler, which all its workers share. It is bound when the first of them needs it.
#[derive(Debug)]
pub(crate) struct PushListener {
    listen: SocketAddr,
    /// Where the agent reaches it, when that is another address.
    url: Option<String>,
    bound: OnceCell<Option<String>>,
    waiting: Arc<Bells>,
}

/// Who waits, by the tokens that were given out.
type Bells = Mutex<HashMap<String, Arc<Notify>>>;

/// One try that waits for its bell.
pub(super) struct Bell {
    token: String,
    url: String,
    rung: Arc<Notify>,
    waiting: Arc<Bells>,
}

impl PushListener {
    pub(crate) fn new(listen: SocketAddr, url: Option<String>) -> Self {
        Self {
            listen,
            url,
            bound: OnceCell::new(),
            waiting: Arc::default(),
        }
    }

    /// A bell for one try; `None` where nobody can listen, or the system has no randomness: then the agent is asked.
    pub(super) async fn bell(&self) -> Option<Bell> {
        let url = self.bound.get_or_init(|| self.bind()).await.clone()?;
        let (token, rung) = (token()?, Arc::<Notify>::default());
        self.waiting
            .locked()
            .insert(token.clone(), Arc::clone(&rung));
        Some(Bell {
            token,
            url,
            rung,
            waiting: Arc::clone(&self.waiting),
        })
    }

    async fn bind(&self) -> Option<String> {
        let bound = TcpListener::bind(self.listen).await;
        let bound = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
        match bound {
            Ok((address, listener)) => {
                tokio::spawn(accept(listener, Arc::clone(&self.waiting)));
                Some(
                    self.url
                        .clone()
                        .unwrap_or_else(|| format!("http://{address}/")),
                )
            }
            Err(error) => {
                let listen = self.listen;
                say(&format!(
                    "{listen}: {error}; its agent is asked every second instead; name another address as `push`"
                ));
                None
            }
        }
    }
}

impl Bell {
    /// The configuration by which the agent rings it.
    pub(super) fn config(&self) -> Value {
        json!({ "url": self.url, "token": self.token })
    }

    pub(super) async fn rung(&self) {
        self.rung.notified().await;
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.waiting.locked().remove(&self.token);
    }
}

async fn accept(listener: TcpListener, waiting: Arc<Bells>) {
    let places = Arc::new(Semaphore::new(PLACES));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let waiting = Arc::clone(&waiting);
                tokio::spawn(async move {
                    // A push that is too slow or breaks off is ignored: the handler also asks the agent from time to time,
                    // so no push is needed.
                    let _ = timeout(PATIENCE, answer(stream, &waiting)).await;
                    drop(place);
                });
            }
            // `accept` fails mostly because the process is out of file descriptors: the next try would fail as well, so wait a
            // moment.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// One request, and the status that it gets.
async fn answer(mut stream: TcpStream, waiting: &Bells) -> std::io::Result<()> {
    let (mut got, mut piece) = (Vec::new(), [0; 4096]);
    let end = loop {
        let length = stream.read(&mut piece).await?;
        got.extend_from_slice(piece.get(..length).unwrap_or_default());
        match got.windows(4).position(|four| four == b"\r\n\r\n") {
            Some(end) => break end,
            None if length == 0 || got.len() > LONGEST_HEAD => return Ok(()),
            None => {}
        }
    };
    let asked = PushHead::read(&String::from_utf8_lossy(got.get(..end).unwrap_or_default()));
    let mut left = asked
        .length
        .saturating_sub(got.len().saturating_sub(end + 4));
    // Read the rest of the body before answering: an agent may read the answer only after it has sent everything. A body above
    // `LARGEST` is refused unread.
    while left > 0 && asked.length <= LARGEST {
        match stream.read(&mut piece).await? {
            0 => break,
            length => left = left.saturating_sub(length),
        }
    }
    let text = format!(
        "HTTP/1.1 {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        asked.status(waiting)
    );
    stream.write_all(text.as_bytes()).await
}

/// The head of a request, as much of it as counts.
struct PushHead {
    is_post: bool,
    token: Option<String>,
    length: usize,
}

impl PushHead {
    fn read(head: &str) -> Self {
        let mut lines = head.split("\r\n");
        let is_post = lines.next().is_some_and(|line| line.starts_with("POST "));
        let (mut tokens, mut length) = (Vec::new(), 0);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            match name.to_ascii_lowercase().as_str() {
                "x-a2a-notification-token" => tokens.push(value.trim().to_owned()),
                // A length that is not a number counts as too large, so that the push is refused.
                "content-length" => length = value.trim().parse().unwrap_or(usize::MAX),
                _ => {}
            }
        }
        // Of two tokens nobody can say which was meant, so they count as none.
        let token = tokens.pop().filter(|_| tokens.is_empty());
        Self {
            is_post,
            token,
            length,
        }
    }

    /// Rings, where the token is one that was given out.
    fn status(&self, waiting: &Bells) -> &'static str {
        if !self.is_post {
            return "405 Method Not Allowed\r\nallow: POST";
        }
        if self.length > LARGEST {
            return "413 Content Too Large";
        }
        let rung = self.token.as_ref();
        match rung.and_then(|token| waiting.locked().get(token).cloned()) {
            Some(rung) => {
                // `notify_one` leaves a permit: a push that comes while the agent is being asked is not lost.
                rung.notify_one();
                "204 No Content"
            }
            None => "401 Unauthorized",
        }
    }
}

/// 128 bits that nobody guesses.
fn token() -> Option<String> {
    random::<16>().map(|bytes| HEXLOWER.encode(&bytes))
}

/// Pushes that are read at once.
const PLACES: usize = 64;
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_HEAD: usize = 16 * 1024;
const LARGEST: usize = 2 * 1024 * 1024;
