//! What the service manager that started the daemon is told (sd_notify(3)): readiness, a status in plain words,
//! that the configuration is read anew, that the daemon lives, that it stops. Without a service manager nobody
//! is told anything.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::PathBuf;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::debug;

/// The service manager. Clones tell the same one, in one order.
#[derive(Clone, Debug, Default)]
pub struct Manager {
    words: Option<mpsc::Sender<Word>>,
    watchdog: Option<Duration>,
}

#[derive(Debug)]
enum Word {
    Say(String),
    /// Answered when everything before it was said.
    Flush(oneshot::Sender<()>),
}

impl Manager {
    /// The one that the environment names: `NOTIFY_SOCKET`, and `WATCHDOG_USEC` where it waits for beats.
    /// Within a runtime.
    pub fn of_environment() -> Self {
        let socket = std::env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty());
        match socket {
            Some(socket) => Self::at(socket.into(), sd_notify::watchdog_enabled()),
            None => Self::default(),
        }
    }

    /// The one that listens at `socket`, and waits for a beat in each `watchdog`. Within a runtime.
    pub fn at(socket: PathBuf, watchdog: Option<Duration>) -> Self {
        let (words, waiting) = mpsc::channel(WAITING);
        tokio::spawn(say_all(socket, waiting));
        Self {
            words: Some(words),
            watchdog: watchdog.filter(|span| !span.is_zero()),
        }
    }

    /// Whether anybody listens.
    pub fn listens(&self) -> bool {
        self.words.is_some()
    }

    /// How long the service manager waits for a beat; `None` where it does not.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// The start, or the reading of the configuration, is over.
    pub fn ready(&self) {
        self.tell(&[NotifyState::Ready]);
    }

    /// How the daemon does, in words that somebody reads in `systemctl status`.
    pub fn status(&self, words: &str) {
        let words: String = words.chars().map(on_one_line).collect();
        self.tell(&[NotifyState::Status(&words)]);
    }

    /// The start takes as long as it takes: it waits for something, and not for itself.
    pub fn wait_longer(&self, span: Duration) {
        let span = u32::try_from(span.as_micros()).unwrap_or(u32::MAX);
        self.tell(&[NotifyState::ExtendTimeoutUsec(span)]);
    }

    /// The configuration is read anew; [`Manager::ready`] ends that.
    pub fn reloading(&self) {
        // From release 253 on systemd refuses `RELOADING=1` without `MONOTONIC_USEC=`.
        if let Ok(now) = NotifyState::monotonic_usec_now() {
            self.tell(&[NotifyState::Reloading, now]);
        }
    }

    /// A clean stop has begun.
    pub fn stopping(&self) {
        self.tell(&[NotifyState::Stopping]);
    }

    /// Every part of the daemon lives.
    pub fn beat(&self) {
        self.tell(&[NotifyState::Watchdog]);
    }

    /// Waits until what was told has been said.
    pub async fn flush(&self) {
        let Some(words) = &self.words else { return };
        let (done, said) = oneshot::channel();
        if words.send(Word::Flush(done)).await.is_ok() {
            let _ = said.await;
        }
    }

    /// The event loop waits for nobody here: a service manager that takes nothing in is told less.
    fn tell(&self, states: &[NotifyState<'_>]) {
        let Some(words) = &self.words else { return };
        let lines: Vec<String> = states.iter().map(ToString::to_string).collect();
        // Send lines that belong together in one datagram: systemd refuses `RELOADING=1` unless its time
        // comes in the same datagram.
        if words.try_send(Word::Say(lines.join("\n"))).is_err() {
            debug!("the service manager takes nothing in");
        }
    }
}

async fn say_all(socket: PathBuf, mut words: mpsc::Receiver<Word>) {
    while let Some(word) = words.recv().await {
        match word {
            Word::Say(text) => match timeout(PATIENCE, say(socket.as_os_str(), &text)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => debug!(%error, "the service manager cannot be told"),
                Err(_) => debug!("the service manager takes nothing in"),
            },
            Word::Flush(done) => drop(done.send(())),
        }
    }
}

async fn say(socket: &OsStr, text: &str) -> io::Result<()> {
    let address = match socket.as_bytes() {
        // In a container the socket may be an abstract one: NOTIFY_SOCKET then has an `@` in the place of
        // the name's leading zero byte.
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    // Open a new socket for each message: a manager that was started again listens at the same path with another socket.
    let datagrams = UnixDatagram::unbound()?;
    datagrams.connect_addr(&address)?;
    datagrams.set_nonblocking(true)?;
    let datagrams = tokio::net::UnixDatagram::from_std(datagrams)?;
    datagrams.send(text.as_bytes()).await.map(drop)
}

/// Control characters become spaces: a line feed in the text would begin another assignment, such as `MAINPID=1`, which
/// the service manager obeys.
fn on_one_line(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

/// How many words may wait.
const WAITING: usize = 64;
/// How long one word may take.
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(dir: &tempfile::TempDir) -> (UnixDatagram, PathBuf) {
        let path = dir.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let patience = Some(Duration::from_secs(30));
        socket.set_read_timeout(patience).unwrap();
        (socket, path)
    }

    fn heard(socket: &UnixDatagram) -> String {
        let mut text = [0; 4096];
        let length = socket.recv(&mut text).unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap()
    }

    #[tokio::test]
    async fn words_come_in_the_order_in_which_they_were_told() {
        let dir = tempfile::tempdir().unwrap();
        let (socket, path) = listener(&dir);
        let manager = Manager::at(path, None);
        manager.status("one");
        manager.clone().ready();
        manager.reloading();
        manager.stopping();
        manager.flush().await;
        assert_eq!(heard(&socket), "STATUS=one");
        assert_eq!(heard(&socket), "READY=1");
        let reloading = heard(&socket);
        let (word, time) = reloading.split_once('\n').unwrap();
        assert_eq!(word, "RELOADING=1");
        let time = time.strip_prefix("MONOTONIC_USEC=").unwrap();
        assert!(time.parse::<u64>().unwrap() > 0);
        assert_eq!(heard(&socket), "STOPPING=1");
    }

    /// The text of a fault in a configuration quotes the file, which may hold a line feed.
    #[tokio::test]
    async fn a_line_feed_in_a_status_makes_no_word_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let (socket, path) = listener(&dir);
        let manager = Manager::at(path, None);
        manager.status("unknown key \"\nMAINPID=1\r\nWATCHDOG=trigger\"");
        manager.flush().await;
        let said = heard(&socket);
        assert_eq!(said.lines().count(), 1, "{said:?}");
        assert!(said.starts_with("STATUS=unknown key"));
    }

    #[tokio::test]
    async fn an_abstract_socket_is_told_as_one_with_a_path() {
        let name = format!("signet-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        let manager = Manager::at(format!("@{name}").into(), None);
        manager.ready();
        manager.flush().await;
        assert_eq!(heard(&socket), "READY=1");
    }

    #[tokio::test]
    async fn nobody_waits_for_a_service_manager_that_is_gone_or_reads_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let gone = Manager::at(dir.path().join("nobody"), None);
        gone.ready();
        gone.flush().await;
        let (_silent, path) = listener(&dir);
        let manager = Manager::at(path, None);
        let begun = std::time::Instant::now();
        for _ in 0..10_000 {
            manager.beat();
        }
        assert!(begun.elapsed() < Duration::from_secs(5));
        Manager::default().flush().await;
    }
}
