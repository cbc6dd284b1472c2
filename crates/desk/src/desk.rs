//! The state that the whole program shares: where it listens, who is in, which homes it decides in, and which forms are out.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use signet::cli::PersonsHome;
use signet_cord::{DeskHome, ListenAt};

use crate::DeskError;
use crate::forms::Forms;
use crate::session::DeskSessions;
use crate::wishes::Wishes;

/// The desk.
pub(crate) struct Desk {
    /// Address and port, as browsers write them in `Host`.
    pub(crate) host: String,
    /// The same, as the kernel knows it.
    pub(crate) here: SocketAddr,
    /// The segment of the path below which everything stands.
    pub(crate) path: String,
    pub(crate) sessions: DeskSessions,
    pub(crate) forms: Forms,
    pub(crate) wishes: Wishes,
    homes: RwLock<Vec<Arc<HomeAtDesk>>>,
    used: Mutex<Instant>,
    /// How long it may lie unused.
    idle: Duration,
}

/// A home, and who decides in it.
pub(crate) struct HomeAtDesk {
    pub(crate) name: String,
    pub(crate) person: PersonsHome,
}

impl Desk {
    pub(crate) fn new(listen: &ListenAt) -> Result<Self, DeskError> {
        let here = listen.host.parse().map_err(|_| DeskError::NoListener)?;
        let idle = listen.idle.map_or(IDLE, Duration::from_secs);
        Ok(Self {
            host: listen.host.clone(),
            here,
            path: listen.secret.clone(),
            sessions: DeskSessions::new(&listen.secret),
            forms: Forms::default(),
            wishes: Wishes::default(),
            homes: RwLock::default(),
            used: Mutex::new(Instant::now()),
            idle,
        })
    }

    /// The page below the secret path.
    pub(crate) fn inside(&self, page: &str) -> String {
        format!("/s/{}/{page}", self.path)
    }

    /// Takes a home to the desk.
    pub(crate) fn seat(&self, home: DeskHome) {
        let person = PersonsHome::new(home.home, home.key, home.audit_key);
        let name = home.name;
        let mut homes = self.homes.write().unwrap_or_else(PoisonError::into_inner);
        homes.push(Arc::new(HomeAtDesk { name, person }));
    }

    /// Every home, in the order in which they were named.
    pub(crate) fn homes(&self) -> Vec<Arc<HomeAtDesk>> {
        let homes = self.homes.read().unwrap_or_else(PoisonError::into_inner);
        homes.clone()
    }

    /// The home of that name.
    pub(crate) fn home(&self, name: &str) -> Result<Arc<HomeAtDesk>, DeskError> {
        let homes = self.homes();
        let found = homes.into_iter().find(|home| home.name == name);
        found.ok_or(DeskError::UnknownHome)
    }

    /// Somebody who is in has asked for something.
    pub(crate) fn note_use(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// How long nobody has to have asked for anything from now on, before the desk is idle; zero when it is.
    pub(crate) fn until_idle(&self) -> Duration {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.idle.saturating_sub(used.elapsed())
    }
}

/// Without a request of somebody who is in.
const IDLE: Duration = Duration::from_secs(30 * 60);
