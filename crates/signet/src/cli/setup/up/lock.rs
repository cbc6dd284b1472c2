//! One `signet up`, `down` or `invite --login` at a time in a home: two would start two servers and write one
//! configuration.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use crate::cli::CliError;
use crate::disk_space;
use crate::hint;
use crate::home::Home;
use crate::lock::refuse_open;

/// Held until it is dropped, or its process ends.
pub(crate) struct UpLock(#[allow(dead_code)] File);

impl UpLock {
    /// Waits for its turn. A home in which others may write is refused, before anything of it is changed.
    pub(crate) fn acquire(home: &Home) -> Result<Self, CliError> {
        refuse_open(home)?;
        let path = home.join(FILE);
        let failed = |error: std::io::Error| {
            let next = match disk_space::is_full(&error) {
                true => disk_space::make_room(&path),
                false if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    hint::unreadable(&path)
                }
                false => "name the home of an agent with --home, as its owner".to_owned(),
            };
            CliError::file(&error, format!("{}: {error}", path.display()), next)
        };
        let mut options = OpenOptions::new();
        let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
        options
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags);
        let file = options.open(&path).map_err(failed)?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if start.elapsed() > PATIENCE => {
                    let what = format!(
                        "another signet up or down is at work in {}",
                        home.path().display()
                    );
                    return Err(CliError::refused(what, "wait for its end, then try again"));
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

const FILE: &str = "up.lock";
/// How long a command waits for another one; none of them takes so long, even on a slow machine.
const PATIENCE: Duration = Duration::from_secs(90);
