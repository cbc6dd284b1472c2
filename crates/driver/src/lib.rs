//! Drives a household from outside: a NATS server of its own, the program `signet` on one home after the other, daemons
//! as processes, and a hand that puts anything on the bus.
//!
//! The demonstration and the tests of whole daemons stand on it. It knows the program and not its code: nothing here
//! depends on the crate `signet`. Nothing here is a test either, so what does not happen is an error.
//!
//! ```text
//! NatsServer  a server on a free port      Signet     the program on one home: its commands, its daemon
//! Process     a child that ends with us    Publisher  the NATS protocol by hand
//! kept        what lies in a home's keys, as a thief reads it
//! ```
#![forbid(unsafe_code)]

mod bus;
mod fresh;
pub mod kept;
mod process;
mod server;
mod signet;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use signet_api::ClientError;

pub use bus::Publisher;
pub use fresh::{now, random};
pub use process::{Process, send_signal};
pub use server::{MAILBOXES, NatsServer, find_nats_server};
pub use signet::Signet;

/// Something did not go as it was driven.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// No broker on this machine.
    #[error(
        "no nats-server found in $NATS_SERVER, beside this program, in PATH, /usr/sbin or .tools"
    )]
    NoServer,
    /// A process could not be started, or ended early or badly.
    #[error("{what}: {why}")]
    Process {
        /// Which.
        what: String,
        /// Why.
        why: String,
    },
    /// A file.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A daemon did not do as it was asked.
    #[error("a daemon: {0}")]
    Daemon(#[from] ClientError),
    /// The connection to the NATS server broke, or the server refused what it was sent.
    #[error("the nats-server: {0}")]
    Bus(io::Error),
    /// A file in a home's `keys` does not hold what it should.
    #[error("{} is not {what}", path.display())]
    Kept {
        /// Which.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// Something that was waited for did not happen.
    #[error("this did not happen: {0}")]
    Late(String),
}

impl DriverError {
    /// An error of the file at `path`.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Far beyond what a start of a server or of a daemon takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Polls until there is something, for as long as `patience` lasts.
///
/// # Errors
/// `Late`, or the first error of `poll`.
pub fn wait_for<T, E: From<DriverError>>(
    what: &str,
    patience: Duration,
    mut poll: impl FnMut() -> Result<Option<T>, E>,
) -> Result<T, E> {
    let start = Instant::now();
    loop {
        if let Some(found) = poll()? {
            return Ok(found);
        }
        if start.elapsed() >= patience {
            return Err(DriverError::Late(what.to_owned()).into());
        }
        std::thread::sleep(PAUSE);
    }
}

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(2);
