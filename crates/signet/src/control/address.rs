//! Where a socket of the daemon is, whose it is, and what stands in its way.

use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use signet_api::Role;

use super::caller::SocketCaller;
use crate::config::Access;
use crate::hint;

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

/// A socket cannot be made.
#[derive(Debug, thiserror::Error)]
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

impl Address {
    pub(super) fn failed(&self, source: io::Error) -> ServerError {
        ServerError::Io {
            role: self.caller.role,
            path: self.path.clone(),
            source,
        }
    }

    pub(super) fn without_group(&self, name: &str) -> ServerError {
        ServerError::NoGroup {
            role: self.caller.role,
            name: name.to_owned(),
        }
    }
}

pub(super) fn remove_stale(address: &Address) -> Result<(), ServerError> {
    let path = &address.path;
    let failed = |source| address.failed(source);
    // Do not follow a link: the socket that it leads to is not this daemon's to remove.
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
    // Connect in a thread: connecting waits while the listener's queue is full, and the
    // standard library knows no timeout for it.
    let probe = std::thread::Builder::new().spawn(move || {
        let connected = std::os::unix::net::UnixStream::connect(at);
        // Ignore a failed send: where connecting took longer than [`PROBE`], nobody waits for the answer any more.
        let _ = told.send(connected.map(drop));
    });
    // Without a thread nothing is known: treat the socket as live, because removing it would cut off a daemon that runs.
    let answer = probe.ok().map(|_| answer.recv_timeout(PROBE));
    !matches!(answer, Some(Ok(Err(error))) if error.kind() == io::ErrorKind::ConnectionRefused)
}

const PROBE: Duration = Duration::from_secs(1);

/// The person's socket is called after what it is for.
pub(super) const fn name_of(role: Role) -> &'static str {
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
