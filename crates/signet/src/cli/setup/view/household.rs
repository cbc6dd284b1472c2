//! The homes that are shown, or logs alone, and how each is reached.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use signet_api::{Client, ClientError, Look};

use super::program::ViewEvent;
use crate::cli::CliError;
use crate::config::Config;
use crate::hint;
use crate::home::Home;
use crate::lock::refuse_foreign;

/// One home, or one log.
#[derive(Clone)]
pub(super) struct ViewedHome {
    /// The name in the pages: the last part of its path, and unlike the others.
    pub(super) name: String,
    /// The home; none of a log alone.
    pub(super) home: Option<Home>,
    /// The agent, of a home.
    pub(super) agent: Option<String>,
    /// The folder of its log.
    pub(super) log: PathBuf,
    /// Where its daemon listens.
    socket: Option<PathBuf>,
    /// Whether somebody tries to reach that daemon already.
    looked_for: Arc<AtomicBool>,
}

/// The homes and logs that were named; where none was, the home of this user.
pub(super) fn find(homes: Vec<PathBuf>, logs: &[PathBuf]) -> Result<Vec<ViewedHome>, CliError> {
    let named = match homes.is_empty() && logs.is_empty() {
        true => vec![Home::find(None)?],
        false => homes.into_iter().map(Home::at).collect(),
    };
    let mut found: Vec<ViewedHome> = Vec::new();
    for home in named {
        found.push(of_home(&home, &found)?);
    }
    for log in logs {
        let log = real_path(log)?;
        signet_audit::log_files(&log).map_err(|error| CliError::usage(&error, error.next()))?;
        found.push(ViewedHome {
            name: free_name(&log, &found),
            home: None,
            agent: None,
            log,
            socket: None,
            looked_for: Arc::default(),
        });
    }
    Ok(found)
}

fn of_home(home: &Home, before: &[ViewedHome]) -> Result<ViewedHome, CliError> {
    refuse_foreign(home)?;
    let config = Config::load(home)?;
    let path = real_path(home.path())?;
    if !config.audit_dir.exists() {
        let what = format!("{} has no log yet: the agent never ran", path.display());
        return Err(CliError::usage(what, hint::start()));
    }
    Ok(ViewedHome {
        name: free_name(&path, before),
        agent: Some(config.agent.agent.to_string()),
        log: real_path(&config.audit_dir)?,
        socket: Some(whole_path(&config.control_socket)?),
        looked_for: Arc::default(),
        home: Some(Home::at(path)),
    })
}

/// The folder where the room keeps what it searches in: made for this user alone.
pub(super) fn data_of(household: &[ViewedHome]) -> Result<PathBuf, CliError> {
    let own = household.first().and_then(|first| first.home.as_ref());
    let data = match own {
        Some(home) => home.join("view"),
        None => cache()?.join("signet").join("view"),
    };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&data);
    made.map_err(|error| CliError::file(&error, data.display(), hint::unreadable(&data)))?;
    Ok(data)
}

fn cache() -> Result<PathBuf, CliError> {
    let named = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    cache.filter(|path| path.is_absolute()).ok_or_else(|| {
        CliError::usage(
            "there is no folder for what the page keeps: neither XDG_CACHE_HOME nor HOME is set",
            "set HOME, and type it again",
        )
    })
}

impl ViewedHome {
    /// A connection to the daemon that only looks; `None` where none answers.
    ///
    /// # Errors
    /// When a daemon answers that cannot lower a connection: it is handed to nobody.
    pub(super) fn onlooker(&self) -> Result<Option<UnixStream>, CliError> {
        let Some(socket) = &self.socket else {
            return Ok(None);
        };
        match lowered(socket) {
            Ok(connection) => Ok(Some(connection)),
            Err(
                ClientError::NotReachable { .. } | ClientError::Closed | ClientError::Stopped(_),
            ) => Ok(None),
            Err(ClientError::Refused(_)) => Err(CliError::refused(
                format!(
                    "the daemon of {} is of an earlier release, and gives no connection that only looks",
                    self.name
                ),
                "restart the daemon with this release: signet down, then signet up",
            )),
            Err(error) => Err(error.into()),
        }
    }

    /// Tries until the daemon answers again, and tells when it does.
    pub(super) fn look_again(&self, tell: SyncSender<ViewEvent>) {
        let home = self.clone();
        // A viewed log without a home has no daemon to wait for. Start no second thread for a home: a captured reading
        // room may report a lost connection as often as it likes, and would fill the machine with threads.
        if home.socket.is_none() || home.looked_for.swap(true, Ordering::SeqCst) {
            return;
        }
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(PAUSE);
                if let Ok(Some(connection)) = home.onlooker() {
                    let name = home.name.clone();
                    home.looked_for.store(false, Ordering::SeqCst);
                    // The send fails only if this command ends meanwhile: then nobody needs the connection any more.
                    let _ = tell.send(ViewEvent::Connected(name, connection));
                    return;
                }
            }
        });
    }
}

/// The first call on the connection lowers it for good, before anybody else has it.
fn lowered(socket: &Path) -> Result<UnixStream, ClientError> {
    let mut client = Client::connect(socket, PROMPT)?;
    client.call(&Look {})?;
    client.into_stream()
}

/// The last part of a path, and a number where another home has that name.
fn free_name(path: &Path, before: &[ViewedHome]) -> String {
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    let is_free = |name: &str| before.iter().all(|home| home.name != name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let names = std::iter::once(name.to_string()).chain(numbered);
    // One of the names is always free, because `numbered` has more numbers than there are homes: so the
    // empty default is never used.
    { names }.find(|name| is_free(name)).unwrap_or_default()
}

/// The path from the root, without links: so the room is let into the folder itself.
fn real_path(path: &Path) -> Result<PathBuf, CliError> {
    let real = path.canonicalize();
    real.map_err(|error| {
        CliError::file(
            &error,
            format!("{}: {error}", path.display()),
            "name a home or a log that is there",
        )
    })
}

pub(super) fn whole_path(path: &Path) -> Result<PathBuf, CliError> {
    crate::cli::setup::gateway::whole_path(path)
}

/// How long a daemon may take to lower a connection.
const PROMPT: Duration = Duration::from_secs(10);
/// Between two looks for a daemon that is gone.
const PAUSE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn viewed(name: &str) -> ViewedHome {
        ViewedHome {
            name: name.to_owned(),
            home: None,
            agent: None,
            log: PathBuf::new(),
            socket: None,
            looked_for: Arc::default(),
        }
    }

    #[test]
    fn two_homes_of_one_name_are_told_apart() {
        let before = [viewed("alice"), viewed("alice-2")];
        assert_eq!(free_name(Path::new("/x/alice"), &before), "alice-3");
        assert_eq!(free_name(Path::new("/x/bob"), &before), "bob");
        assert_eq!(free_name(Path::new("/"), &[]), "/");
    }
}
