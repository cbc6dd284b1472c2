//! What can be wrong with a configuration.

use std::io;
use std::path::{Path, PathBuf};

use signet_files::SettingFault;

use crate::files::private::PrivateError;
use crate::hint;

/// The configuration cannot be used. No text of it repeats a value.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A key or a value is wrong.
    #[error("config.toml {0}")]
    Setting(#[from] SettingFault),
    /// A socket cannot be made there.
    #[error("the socket {} is {length} bytes long, and the system allows 107", path.display())]
    SocketPath {
        /// The socket.
        path: PathBuf,
        /// The length of its path in bytes.
        length: usize,
    },
    /// Others could change what this agent does.
    #[error("{} has mode {mode:04o}: others than its owner may change it", path.display())]
    Writable {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// What was kept of invitations cannot be used.
    #[error("{}: {fault}", path.display())]
    Carriers {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: String,
    },
    /// A secret file that the configuration names.
    #[error(transparent)]
    Secret(#[from] PrivateError),
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ConfigError {
    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            Self::Setting(fault) => fault.next.clone(),
            Self::SocketPath { .. } => {
                "use a shorter --home, or set `socket` in [control], [agent-socket] or [carrier-socket] to a shorter path".to_owned()
            }
            Self::Carriers { path, .. } => format!(
                "correct it, or remove {} and accept the invitations anew",
                path.display()
            ),
            Self::Writable { path, .. } => format!("chmod 600 {}", hint::word(path)),
            Self::Secret(PrivateError::Io { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                "put the file there, or correct its path in config.toml".to_owned()
            }
            Self::Secret(error) => error.next(),
            Self::Io { path, source } if source.kind() == io::ErrorKind::NotFound => {
                absent(path)
            }
            Self::Io { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                hint::unreadable(path)
            }
            Self::Io { path, .. } => format!("ls -ld {}", hint::word(path)),
        }
    }
}

/// What to do about a file that is not there: a home that lost one is not made anew.
fn absent(path: &Path) -> String {
    if path.symlink_metadata().is_ok() {
        return format!(
            "ls -l {}  # a link to a file that is not there: put that file back, or a right link here",
            hint::word(path)
        );
    }
    let is_of_home = path.file_name().is_some_and(|name| name == CONFIG_FILE);
    let next = match (is_of_home, path.with_file_name("keys").is_dir()) {
        (true, true) => {
            "the home is there: put its config.toml back, with `agent` and `principal` in [agent]"
        }
        (true, false) => "signet up --help  # makes a home; --home names another one",
        (false, _) => "put the file there, or correct its path in config.toml",
    };
    next.to_owned()
}

const CONFIG_FILE: &str = "config.toml";
