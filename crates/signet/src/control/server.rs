//! The daemon's end of its sockets: one server for each role.

use std::future::Future;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use signet_api::Role;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection::{self, ClientLimits, RawCall, SocketCaller};
use super::slots::{SocketSlot, SocketSlots};
use crate::config::Access;
use crate::group;
use crate::hint;
use crate::lock::HomeLock;

/// Where a server listens, and for whom.
#[derive(Clone, Debug)]
pub struct Address {
    /// The path of the socket.
    pub path: PathBuf,
    /// Who may open it.
    pub access: Access,
    /// Who its callers are.
    pub caller: SocketCaller,
}

/// A listening socket. Dropping it removes the socket file.
#[derive(Debug)]
pub struct ControlServer {
    listener: UnixListener,
    address: Address,
    group: u32,
    limits: ClientLimits,
}

/// A socket cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Something else stands at its path.
    #[error("{} is in the way of the {} socket, and is not a socket", path.display(), name_of(*role))]
    InTheWay {
        /// Whose socket it would be.
        role: Role,
        /// The path.
        path: PathBuf,
    },
    /// Another process listens there.
    #[error("{}: another process listens there already", path.display())]
    Taken {
        /// Whose socket it would be.
        role: Role,
        /// The path.
        path: PathBuf,
    },
    /// Nobody made its group.
    #[error("the {} socket: there is no group {name:?} in /etc/group", name_of(*role))]
    NoGroup {
        /// Whose socket it would be.
        role: Role,
        /// The group.
        name: String,
    },
    /// The operating system refused.
    #[error("the {} socket {}: {source}", name_of(*role), path.display())]
    Io {
        /// Whose socket it would be.
        role: Role,
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
            Self::InTheWay { role, path } => {
                let section = section_of(*role);
                hint::away(
                    path,
                    &format!("or set `socket` in {section} of config.toml"),
                )
            }
            Self::Taken { role, path } => {
                let section = section_of(*role);
                format!(
                    "ss -xlp src {}  # who it is; stop it, or set `socket` in {section} of config.toml",
                    hint::word(path)
                )
            }
            Self::NoGroup { role, name } => {
                let section = section_of(*role);
                let made = hint::as_root(&format!("groupadd {name}"));
                format!("{made}  # or correct `group` in {section} of config.toml")
            }
            Self::Io { role, .. } => {
                let section = section_of(*role);
                format!(
                    "set `socket` in {section} of config.toml to a path you may write to, and `group` to one you are in"
                )
            }
        }
    }
}

impl ControlServer {
    /// Listens there. A socket that a dead daemon left is replaced: who holds the lock of the home knows
    /// that it is dead.
    ///
    /// # Errors
    /// When something other than a socket is in the way, or the system refuses.
    pub fn bind(address: Address, _lock: &HomeLock) -> Result<Self, ServerError> {
        remove_stale(&address)?;
        let failed = |source| address.failed(source);
        let path = &address.path;
        let listener = UnixListener::bind(path).map_err(failed)?;
        // The group first: until then only the daemon's own user may open it.
        let mode = std::fs::Permissions::from_mode(address.access.mode);
        if let Some(name) = &address.access.group {
            let group = group::number_of(name).ok_or_else(|| address.without_group(name))?;
            // A directory with the setgid bit has given it its group already, where the daemon may not.
            if std::fs::metadata(path).map_err(failed)?.gid() != group {
                chown(path, None, Some(group)).map_err(failed)?;
            }
        }
        std::fs::set_permissions(path, mode).map_err(failed)?;
        let group = std::fs::metadata(path).map_err(failed)?.gid();
        Ok(Self {
            listener,
            address,
            group,
            limits: LIMITS,
        })
    }

    /// Serves clients until `stop` resolves; then accepts nobody, takes no more calls, and gives
    /// the calls that wait two seconds for their answers.
    pub async fn serve(self, calls: mpsc::Sender<RawCall>, stop: impl Future<Output = ()>) {
        let (stopping, stopped) = watch::channel(false);
        let mut clients = JoinSet::new();
        let places = Arc::new(SocketSlots::new(CLIENTS));
        let line = Arc::new(Semaphore::new(WAITING));
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                Some(_) = clients.join_next() => continue,
                accepted = self.accept(&line) => accepted,
            };
            match accepted {
                Ok((stream, in_line)) if self.is_allowed(&stream) => {
                    let places = Arc::clone(&places);
                    let (calls, stopped) = (calls.clone(), stopped.clone());
                    let (caller, limits) = (self.address.caller.clone(), self.limits);
                    clients.spawn(async move {
                        let seat = Seat::take(places, &stream, stopped.clone()).await;
                        drop(in_line);
                        if let Some(seat) = seat {
                            serve_client((stream, caller), calls, limits, stopped, seat).await;
                        }
                    });
                }
                Ok(_) => {}
                Err(error) => {
                    // Out of file descriptors: accepting again at once would only spin.
                    tracing::warn!(%error, "a socket cannot accept");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop((self, calls));
        stopping.send_replace(true);
        let _ = timeout(GRACE, clients.join_all()).await;
    }

    /// The next client, and its place in the line of those that wait for a place. When the line is full, the
    /// system keeps clients waiting.
    async fn accept(
        &self,
        line: &Arc<Semaphore>,
    ) -> io::Result<(UnixStream, Option<OwnedSemaphorePermit>)> {
        let in_line = Arc::clone(line).acquire_owned().await.ok();
        let (stream, _) = self.listener.accept().await?;
        Ok((stream, in_line))
    }

    #[cfg(test)]
    pub(super) fn with_limits(mut self, limits: ClientLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The daemon's own user, root, and members of the socket's group.
    fn is_allowed(&self, stream: &UnixStream) -> bool {
        let Ok(peer) = stream.peer_cred() else {
            tracing::warn!("a client without credentials refused");
            return false;
        };
        let me = rustix::process::geteuid().as_raw();
        let is_member = || match peer.pid().and_then(supplementary_groups) {
            Some(groups) => groups.contains(&self.group),
            // A sandbox may hide the processes of others (`ProtectProc=`).
            None => self.is_for_members_alone(),
        };
        let allowed = is_own(peer.uid(), me) || peer.gid() == self.group || is_member();
        if !allowed {
            tracing::warn!(
                socket = name_of(self.address.caller.role),
                uid = peer.uid(),
                gid = peer.gid(),
                "a client of another user refused"
            );
        }
        allowed
    }
}

impl ControlServer {
    /// Whether the kernel lets only the owner, root and members of the group connect: it asks for the right to
    /// write to the socket's file.
    fn is_for_members_alone(&self) -> bool {
        let facts = std::fs::metadata(&self.address.path);
        facts.is_ok_and(|facts| facts.mode() & 0o007 == 0 && facts.gid() == self.group)
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        // What cannot be removed is replaced at the next start.
        let _ = std::fs::remove_file(&self.address.path);
    }
}

impl Address {
    fn failed(&self, source: io::Error) -> ServerError {
        ServerError::Io {
            role: self.caller.role,
            path: self.path.clone(),
            source,
        }
    }

    fn without_group(&self, name: &str) -> ServerError {
        ServerError::NoGroup {
            role: self.caller.role,
            name: name.to_owned(),
        }
    }
}

async fn serve_client(
    (stream, caller): (UnixStream, SocketCaller),
    calls: mpsc::Sender<RawCall>,
    limits: ClientLimits,
    stop: watch::Receiver<bool>,
    seat: Seat,
) {
    if let Err(ended) = connection::serve((stream, caller), calls, limits, stop, &seat.place).await
    {
        tracing::debug!(%ended, "connection closed");
    }
}

/// A place, free again when dropped.
struct Seat {
    places: Arc<SocketSlots>,
    place: Arc<SocketSlot>,
}

impl Seat {
    /// Waits for a place; none when the server stops before there is one.
    async fn take(
        places: Arc<SocketSlots>,
        stream: &UnixStream,
        mut stop: watch::Receiver<bool>,
    ) -> Option<Self> {
        let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
        let (place, is_full) = tokio::select! {
            taken = places.take(process) => taken,
            _ = stop.changed() => return None,
        };
        if is_full {
            tracing::debug!(most = CLIENTS, "a place was freed for another client");
        }
        Some(Self { places, place })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.places.free(&self.place);
    }
}

fn remove_stale(address: &Address) -> Result<(), ServerError> {
    let path = &address.path;
    let failed = |source| address.failed(source);
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(facts) if facts.file_type().is_socket() && is_live(path) => Err(ServerError::Taken {
            role: address.caller.role,
            path: path.clone(),
        }),
        Ok(facts) if facts.file_type().is_socket() => std::fs::remove_file(path).map_err(failed),
        Ok(_) => Err(ServerError::InTheWay {
            role: address.caller.role,
            path: path.clone(),
        }),
    }
}

/// Whether somebody listens: only of a socket without any listener the system says that it refuses. One whose
/// listener takes nobody in, so that connecting waits, is live.
fn is_live(path: &Path) -> bool {
    let (told, answer) = std::sync::mpsc::channel();
    let at = path.to_owned();
    let probe = std::thread::Builder::new().spawn(move || {
        let connected = std::os::unix::net::UnixStream::connect(at);
        // Nobody hears it any more when it took too long.
        let _ = told.send(connected.map(drop));
    });
    let answer = probe.ok().map(|_| answer.recv_timeout(PROBE));
    !matches!(answer, Some(Ok(Err(error))) if error.kind() == io::ErrorKind::ConnectionRefused)
}

const PROBE: Duration = Duration::from_secs(1);

/// The person's socket is called after what it is for.
const fn name_of(role: Role) -> &'static str {
    match role {
        Role::Person => "control",
        Role::Agent => "agent",
        Role::Carrier => "carrier",
    }
}

const fn section_of(role: Role) -> &'static str {
    match role {
        Role::Person => "[control]",
        Role::Agent => "[agent-socket]",
        Role::Carrier => "[carrier-socket]",
    }
}

/// Whether a user is the daemon's own, or root.
fn is_own(user: u32, me: u32) -> bool {
    user == me || user == ROOT
}

/// The supplementary groups of a process, which the credentials of a socket do not name; `None` where the
/// process cannot be seen. The mode of the socket file has let only members in already.
fn supplementary_groups(pid: i32) -> Option<Vec<u32>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let groups = status
        .lines()
        .find_map(|line| line.strip_prefix("Groups:"))?;
    let groups = groups.split_whitespace();
    Some(groups.filter_map(|group| group.parse().ok()).collect())
}

pub(super) const CLIENTS: usize = 64;
/// How many clients wait for a place; more wait in the system's own line.
const WAITING: usize = 256;
pub(super) const LIMITS: ClientLimits = ClientLimits {
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
        let mut read = supplementary_groups(pid).unwrap();
        read.sort_unstable();
        let mut known = known;
        known.sort_unstable();
        assert_eq!(read, known);
        assert!(supplementary_groups(-1).is_none());
    }
}
