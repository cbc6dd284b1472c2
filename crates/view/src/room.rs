//! The state that all pages share: the index, the logs, and who may come in.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use signet_audit::LogLine;
use signet_proto::ids::Digest;

use crate::ViewError;
use crate::daemon::Daemons;
use crate::index::{IndexChanges, IndexReader, IndexStore, IndexedLine};
use crate::proof::Proofs;
use crate::random::{is_same, secret};
use crate::settings::RoomSettings;
use crate::shared::{locked, now};

/// The room while it is open.
pub(crate) struct Room {
    pub(crate) settings: RoomSettings,
    pub(crate) store: IndexStore,
    pub(crate) changes: IndexChanges,
    pub(crate) proofs: Proofs,
    pub(crate) daemons: Daemons,
    /// The value of the cookie.
    cookie: String,
    /// The token that a form has to bring.
    pub(crate) token: String,
    tickets: Mutex<HashMap<String, Instant>>,
    /// Connections to the index that nobody uses now.
    idle: Mutex<Vec<IndexReader>>,
    /// When somebody last asked for something, in milliseconds since 1970.
    used: AtomicI64,
}

impl Room {
    /// Opens the room.
    ///
    /// # Errors
    /// Where the system gives no randomness.
    pub(crate) fn open(
        settings: RoomSettings,
        store: IndexStore,
        changes: IndexChanges,
    ) -> Result<Arc<Self>, ViewError> {
        Ok(Arc::new(Self {
            proofs: Proofs::new(&store),
            daemons: Daemons::default(),
            settings,
            store,
            changes,
            cookie: secret()?,
            token: secret()?,
            tickets: Mutex::default(),
            idle: Mutex::default(),
            used: AtomicI64::new(now()),
        }))
    }

    /// Lets `once` be good for one visit within so many seconds.
    pub(crate) fn admit(&self, once: String, seconds: u64) {
        let until = Instant::now() + Duration::from_secs(seconds.min(LONGEST_TICKET));
        let mut tickets = locked(&self.tickets);
        tickets.retain(|_, until| *until > Instant::now());
        if tickets.len() < MOST_TICKETS {
            tickets.insert(once, until);
        }
    }

    /// Takes a ticket, which is good once: the cookie for it.
    pub(crate) fn enter(&self, once: &str) -> Option<&str> {
        let until = locked(&self.tickets).remove(once)?;
        (until > Instant::now()).then_some(self.cookie.as_str())
    }

    /// Whether a request with this cookie is from a browser that entered.
    pub(crate) fn knows(&self, cookie: &str) -> bool {
        is_same(cookie, &self.cookie)
    }

    /// Notes that somebody uses the room.
    pub(crate) fn use_now(&self) {
        self.used.store(now(), Ordering::Relaxed);
    }

    /// How long nobody has used it.
    pub(crate) fn unused(&self) -> Duration {
        let since = now().saturating_sub(self.used.load(Ordering::Relaxed));
        Duration::from_millis(u64::try_from(since).unwrap_or_default())
    }

    /// Asks the index.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub(crate) fn ask<T>(
        &self,
        with: impl FnOnce(&IndexReader) -> Result<T, ViewError>,
    ) -> Result<T, ViewError> {
        let kept = locked(&self.idle).pop();
        let ask = match kept {
            Some(ask) => ask,
            None => IndexReader::open(&self.store)?,
        };
        let answer = with(&ask);
        let mut idle = locked(&self.idle);
        if idle.len() < MOST_IDLE {
            idle.push(ask);
        }
        answer
    }

    /// Reads a line from its log again.
    ///
    /// # Errors
    /// [`ViewError::Gone`] where another line stands there now.
    pub(crate) fn read(&self, ask: &IndexReader, line: &IndexedLine) -> Result<LogLine, ViewError> {
        let log = ask.logs()?.into_iter().find(|log| log.id == line.log());
        let (log, file) = log.zip(ask.file(line.place.file)?).ok_or(ViewError::Gone)?;
        let mut raw = vec![0; usize::try_from(line.place.length).unwrap_or_default()];
        // The file's name came from reading the log's folder, but somebody may have put a link or a pipe there since:
        // follow no link, and do not wait.
        let file = rustix::fs::open(
            log.dir.join(file),
            rustix::fs::OFlags::RDONLY
                .union(rustix::fs::OFlags::NOFOLLOW)
                .union(rustix::fs::OFlags::NONBLOCK),
            rustix::fs::Mode::empty(),
        );
        let file = File::from(file.map_err(|_| ViewError::Gone)?);
        file.read_exact_at(&mut raw, line.place.offset)
            .map_err(|_| ViewError::Gone)?;
        let hash = Digest::of(&[&raw]);
        if crate::index::short(&hash) != line.place.hash {
            return Err(ViewError::Gone);
        }
        LogLine::parse(raw).map_err(|_| ViewError::Gone)
    }
}

/// In seconds.
const LONGEST_TICKET: u64 = 600;
const MOST_TICKETS: usize = 64;
const MOST_IDLE: usize = 4;
