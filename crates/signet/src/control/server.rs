//! The daemon's end of its sockets: one server for each role.

use std::future::Future;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::address::{Address, ServerError, name_of, remove_stale};
use super::caller::SocketCaller;
use super::connection::{self, ClientLimits, RawCall};
use super::slots::{SocketSlot, SocketSlots};
use crate::group;
use crate::lock::HomeLock;

/// A listening socket. Dropping it removes the socket file.
#[derive(Debug)]
pub struct ControlServer {
    listener: UnixListener,
    address: Address,
    group: u32,
    limits: ClientLimits,
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
        // Set the group before the mode: the other way round, the socket would be open to the wrong group for a moment.
        let mode = std::fs::Permissions::from_mode(address.access.mode);
        if let Some(name) = &address.access.group {
            let group = group::number_of(name).ok_or_else(|| address.without_group(name))?;
            // Change the group only where it differs: a directory with the setgid bit has already
            // given the socket its group, and in a sandbox the daemon may not change a group.
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
                // Collect the tasks that have ended: otherwise the set would grow with every client that ever came.
                Some(_) = clients.join_next() => continue,
                accepted = self.accept(&line) => accepted,
            };
            match accepted {
                Ok((stream, in_line)) if self.is_allowed(&stream) => {
                    let places = Arc::clone(&places);
                    let (calls, stopped) = (calls.clone(), stopped.clone());
                    let (caller, limits) = (self.address.caller.clone(), self.limits);
                    clients.spawn(async move {
                        // Wait for a free place in the client's own task: waiting in this loop would keep later
                        // clients from being accepted.
                        let seat = Seat::take(places, &stream, stopped.clone()).await;
                        drop(in_line);
                        if let Some(seat) = seat {
                            serve_client(stream, caller, calls, limits, stopped, seat).await;
                        }
                    });
                }
                Ok(_) => {}
                Err(error) => {
                    // The daemon may be out of file descriptors. Accepting again at once would fail as well, over and over, so
                    // pause first.
                    tracing::warn!(%error, "a socket cannot accept");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        // Drop the listening socket first, which removes its file: then nobody can connect while the present clients finish.
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
            // A sandbox (`ProtectProc=`) may hide the groups of another user's process. If only members of the group can open
            // the socket, admit the process: it has opened the socket, so it must be a member.
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
        // Ignore an error: the next start replaces a socket file that is left behind.
        let _ = std::fs::remove_file(&self.address.path);
    }
}

async fn serve_client(
    stream: UnixStream,
    caller: SocketCaller,
    calls: mpsc::Sender<RawCall>,
    limits: ClientLimits,
    stop: watch::Receiver<bool>,
    seat: Seat,
) {
    let served = connection::serve(stream, caller, calls, limits, stop, &seat.place);
    if let Err(ended) = served.await {
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
