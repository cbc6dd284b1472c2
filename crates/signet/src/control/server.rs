//! The daemon's end of the control socket.

use std::future::Future;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection::{self, Limits, RawCall};
use super::places::{Place, Places};
use crate::lock::HomeLock;

/// The listening control socket. Dropping it removes the socket file.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    group: u32,
    limits: Limits,
}

/// The control socket cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Something else stands at its path.
    #[error("{} is in the way of the control socket, and is not a socket", path.display())]
    InTheWay {
        /// The path.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("the control socket {}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ServerError {
    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            Self::InTheWay { path } => {
                format!("move {} away, or set `socket` in [control]", path.display())
            }
            Self::Io { .. } => {
                "set `socket` in [control] of config.toml to a path you may write to".to_owned()
            }
        }
    }
}

impl Server {
    /// Listens at `path` with mode 0660. A socket that a dead daemon left there is replaced: who
    /// holds the lock of the home knows that it is dead.
    ///
    /// # Errors
    /// When something other than a socket is in the way, or the system refuses.
    pub fn bind(path: &Path, _lock: &HomeLock) -> Result<Self, ServerError> {
        remove_stale(path)?;
        let failed = |source| ServerError::Io {
            path: path.to_owned(),
            source,
        };
        let listener = UnixListener::bind(path).map_err(failed)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660)).map_err(failed)?;
        let group = std::fs::metadata(path).map_err(failed)?.gid();
        Ok(Self {
            listener,
            path: path.to_owned(),
            group,
            limits: LIMITS,
        })
    }

    /// Serves clients until `stop` resolves; then accepts nobody, takes no more calls, and gives
    /// the calls that wait two seconds for their answers.
    pub async fn serve(self, calls: mpsc::Sender<RawCall>, stop: impl Future<Output = ()>) {
        let (stopping, stopped) = watch::channel(false);
        let mut clients = JoinSet::new();
        let places = Arc::new(Places::new(CLIENTS));
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                Some(_) = clients.join_next() => continue,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if self.is_allowed(&stream) => {
                    let seat = Seat::take(&places, &stream);
                    let (calls, stopped) = (calls.clone(), stopped.clone());
                    clients.spawn(serve_client(stream, calls, self.limits, stopped, seat));
                }
                Ok(_) => {}
                Err(error) => {
                    // Out of file descriptors: accepting again at once would only spin.
                    tracing::warn!(%error, "control socket: cannot accept");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop((self, calls));
        stopping.send_replace(true);
        let _ = timeout(GRACE, clients.join_all()).await;
    }

    #[cfg(test)]
    pub(super) fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The daemon's own user, root, and members of the socket's group.
    fn is_allowed(&self, stream: &UnixStream) -> bool {
        let Ok(peer) = stream.peer_cred() else {
            tracing::warn!("control socket: a client without credentials refused");
            return false;
        };
        let me = rustix::process::geteuid().as_raw();
        let groups = || peer.pid().map(supplementary_groups).unwrap_or_default();
        let allowed =
            is_own(peer.uid(), me) || peer.gid() == self.group || groups().contains(&self.group);
        if !allowed {
            tracing::warn!(
                uid = peer.uid(),
                gid = peer.gid(),
                "control socket: a client of another user refused"
            );
        }
        allowed
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What cannot be removed is replaced at the next start.
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn serve_client(
    stream: UnixStream,
    calls: mpsc::Sender<RawCall>,
    limits: Limits,
    stop: watch::Receiver<bool>,
    seat: Seat,
) {
    if let Err(ended) = connection::serve(stream, calls, limits, stop, &seat.place).await {
        tracing::debug!(%ended, "control socket: connection closed");
    }
}

/// A place, free again when dropped.
struct Seat {
    places: Arc<Places>,
    place: Arc<Place>,
}

impl Seat {
    fn take(places: &Arc<Places>, stream: &UnixStream) -> Self {
        let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
        let (place, is_full) = places.take(process);
        if is_full {
            tracing::debug!(
                most = CLIENTS,
                "control socket: a place was freed for another client"
            );
        }
        Self {
            places: Arc::clone(places),
            place,
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.places.free(&self.place);
    }
}

fn remove_stale(path: &Path) -> Result<(), ServerError> {
    let failed = |source| ServerError::Io {
        path: path.to_owned(),
        source,
    };
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(facts) if facts.file_type().is_socket() => std::fs::remove_file(path).map_err(failed),
        Ok(_) => Err(ServerError::InTheWay {
            path: path.to_owned(),
        }),
    }
}

/// Whether a user is the daemon's own, or root.
fn is_own(user: u32, me: u32) -> bool {
    user == me || user == ROOT
}

/// The supplementary groups of a process, which the credentials of a socket do not name. The mode
/// of the socket file has let only members in already.
fn supplementary_groups(pid: i32) -> Vec<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let groups = status.lines().find_map(|line| line.strip_prefix("Groups:"));
    groups
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|group| group.parse().ok())
        .collect()
}

pub(super) const CLIENTS: usize = 64;
pub(super) const LIMITS: Limits = Limits {
    line: 1 << 20,
    in_flight: 16,
    queue: 256,
    write: Duration::from_secs(5),
    first_line: Duration::from_secs(30),
};
const GRACE: Duration = Duration::from_secs(2);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const ROOT: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_daemons_user_and_root_are_its_own() {
        assert!(is_own(1000, 1000) && is_own(0, 1000) && is_own(0, 0));
        assert!(!is_own(1001, 1000) && !is_own(1000, 0));
    }

    #[test]
    fn the_supplementary_groups_are_those_of_the_system() {
        let known: Vec<u32> = rustix::process::getgroups()
            .unwrap()
            .iter()
            .map(|group| group.as_raw())
            .collect();
        let pid = i32::try_from(std::process::id()).unwrap();
        let mut read = supplementary_groups(pid);
        read.sort_unstable();
        let mut known = known;
        known.sort_unstable();
        assert_eq!(read, known);
        assert!(supplementary_groups(-1).is_empty());
    }
}
