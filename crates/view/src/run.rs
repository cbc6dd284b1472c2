//! From a start to the end: what is opened before the cage shuts, the cage, and the threads behind it.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use signet_cord::{Cord, CordError, CordWord, ProgramEnd, ToRoom};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::ViewError;
use crate::cage;
use crate::daemon::DaemonSeen;
use crate::days::DAY;
use crate::fault::at;
use crate::index::{self, IndexStore};
use crate::onlook;
use crate::random::{self, secret};
use crate::room::Room;
use crate::settings::{RoomSettings, ShownHome};
use crate::shared::now;
use crate::web;

/// The settings of a run without a launcher.
pub(crate) struct Alone {
    pub(crate) logs: Vec<PathBuf>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) is_unconfined: bool,
    pub(crate) forgets: bool,
}

/// Shows logs by themselves.
///
/// # Errors
/// The file or address that could not be opened, and what to do.
pub(crate) fn alone(wanted: Alone) -> Result<(), ViewError> {
    let data = match wanted.data {
        Some(data) => data,
        None => own_folder()?,
    };
    if wanted.forgets {
        IndexStore::open(&data)?.forget()?;
        say(&format!("the index in {} is removed", data.display()));
        return Ok(());
    }
    let mut homes = Vec::new();
    for dir in &wanted.logs {
        homes.extend(logs_in(dir)?);
    }
    let (socket, host) = listen()?;
    let settings = RoomSettings {
        homes,
        data,
        secret: secret()?,
        host: host.clone(),
        desk: None,
        idle: UNUSED,
    };
    let once = secret()?;
    let opened = open(settings, wanted.is_unconfined)?;
    opened.room.admit(once.clone(), ONCE);
    say(&format!(
        "open this address in your browser within a minute; it is good once:\n  http://{host}/o/{once}"
    ));
    serve(opened, socket, None)
}

/// Shows what the launcher names.
///
/// # Errors
/// As [`alone`], or where the launcher's word cannot be read.
pub(crate) fn by_cord(is_unconfined: bool) -> Result<(), ViewError> {
    let cord = Cord::of_stdin().map_err(unheard)?;
    let (mut homes, mut data, mut tickets) = (Vec::new(), None, Vec::new());
    let (mut connections, mut away) = (Vec::new(), Vec::new());
    let mut listens = None;
    let mut wanted = usize::MAX;
    // Read until all homes are named. A launcher that does not say how many there are sends its first ticket only after
    // them.
    while listens.is_none() || homes.len() < wanted && tickets.is_empty() {
        let Some((said, brought)) = cord.receive().map_err(unheard)? else {
            return Ok(());
        };
        match said {
            ToRoom::Listen(at) => {
                wanted = at.homes.unwrap_or(usize::MAX);
                listens = Some((listener(brought)?, at));
            }
            ToRoom::Home(home) => {
                data.get_or_insert(home.data);
                match (brought, home.agent) {
                    (Some(connection), _) => connections.push((home.name.clone(), connection)),
                    (None, Some(_)) => away.push(home.name.clone()),
                    // A log alone has no daemon.
                    (None, None) => {}
                }
                homes.push(ShownHome {
                    name: home.name,
                    log: home.log,
                });
            }
            ToRoom::Ticket(ticket) => tickets.push((ticket.once, ticket.seconds)),
            ToRoom::Connection(home) => {
                connections.extend(brought.map(|connection| (home.name, connection)));
            }
        }
    }
    let (Some((socket, at)), Some(data)) = (listens, data) else {
        return Err(ViewError::Cord("it names no home".to_owned()));
    };
    let settings = RoomSettings {
        homes,
        data,
        secret: at.secret,
        host: at.host,
        desk: at.desk,
        idle: at.idle.map_or(UNUSED, Duration::from_secs),
    };
    let opened = open(settings, is_unconfined)?;
    for (once, seconds) in tickets {
        opened.room.admit(once, seconds);
    }
    for home in away {
        opened.room.daemons.note(&home, DaemonSeen::Away);
    }
    let cord = Arc::new(cord);
    for (home, connection) in connections {
        onlook::follow(&opened.room, &cord, home, connection)?;
    }
    serve(opened, socket, Some(cord))
}

struct OpenedRoom {
    room: Arc<Room>,
    store: IndexStore,
    runtime: Runtime,
}

/// Opens the index, makes the runtime, and shuts the cage: the process has one thread until then.
fn open(settings: RoomSettings, is_unconfined: bool) -> Result<OpenedRoom, ViewError> {
    let store = IndexStore::open(&settings.data)?;
    // The runtime makes a socket pair for signals, which the cage would not let it.
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(READERS)
        .thread_keep_alive(Duration::from_secs(60))
        .build();
    let runtime = runtime.map_err(at(Path::new("the runtime")))?;
    let logs: Vec<&Path> = settings
        .homes
        .iter()
        .map(|home| home.log.as_path())
        .collect();
    if !is_unconfined {
        cage::shut(&logs, &settings.data)?;
    }
    let (changes, _) = watch::channel(0);
    let room = Room::open(settings, store.clone(), Arc::new(changes))?;
    Ok(OpenedRoom {
        room,
        store,
        runtime,
    })
}

/// Follows the logs and serves the pages until nobody uses them.
fn serve(
    opened: OpenedRoom,
    socket: TcpListener,
    cord: Option<Arc<Cord>>,
) -> Result<(), ViewError> {
    let OpenedRoom {
        room,
        store,
        runtime,
    } = opened;
    let logs: Vec<PathBuf> = room
        .settings
        .homes
        .iter()
        .map(|home| home.log.clone())
        .collect();
    let followed = Arc::clone(&room);
    // Keep one receiver until the end: without any, the thread that follows the logs would take the room for closed.
    let listens = room.changes.subscribe();
    let asked = Arc::clone(&room);
    thread::spawn(move || look_first(&asked));
    let follows = thread::Builder::new().name("index".to_owned());
    let follows = follows.spawn(move || {
        while let Err(error) = index::follow(&store, &logs, &followed.changes) {
            complain(&error);
            thread::sleep(RETRY);
        }
    });
    follows.map_err(at(Path::new("a thread")))?;
    if let Some(cord) = &cord {
        let _ = cord.send(&CordWord::Ready {}, None);
        hear(Arc::clone(cord), Arc::clone(&room));
    }
    let served = runtime.block_on(web::serve(socket, Arc::clone(&room)));
    drop(listens);
    if let Some(cord) = &cord {
        let reason = "idle".to_owned();
        // If the launcher is gone this fails, and there is nobody left to tell.
        let _ = cord.send(&CordWord::End(ProgramEnd { reason }), None);
    }
    runtime.shutdown_timeout(GRACE);
    served
}

/// Looks at the proof of logs that are short, where nobody has for a day: that of a long one takes a minute of processor
/// time, and is made when the person asks for it.
fn look_first(room: &Room) {
    let size = |home: &ShownHome| {
        let files = signet_audit::log_files(&home.log).unwrap_or_default();
        let sizes = files.iter().filter_map(|file| file.metadata().ok());
        sizes.map(|facts| facts.len()).sum::<u64>()
    };
    if room.settings.homes.iter().map(size).sum::<u64>() > SHORT {
        return;
    }
    let mut wait = Duration::from_millis(100);
    while wait < RETRY {
        thread::sleep(wait);
        wait *= 2;
        let Ok(logs) = room.ask(|ask| ask.logs()) else {
            continue;
        };
        if logs.is_empty() || logs.iter().any(|log| log.top == 0) {
            continue;
        }
        let since = now().saturating_sub(DAY);
        let is_old = |id| !matches!(room.ask(|ask| ask.proof(id)), Ok(Some((at, _))) if at > since);
        if logs.iter().any(|log| is_old(log.id)) {
            room.proofs.look(logs, &room.changes);
        }
        return;
    }
}

/// Hears the launcher, and ends with it.
fn hear(cord: Arc<Cord>, room: Arc<Room>) {
    thread::spawn(move || {
        loop {
            match cord.receive() {
                Ok(Some((ToRoom::Ticket(ticket), _))) => room.admit(ticket.once, ticket.seconds),
                Ok(Some((ToRoom::Connection(home), Some(connection)))) => {
                    if let Err(error) = onlook::follow(&room, &cord, home.name, connection) {
                        complain(&error);
                    }
                }
                Ok(Some(_)) => {}
                Err(error @ CordError::Malformed) => complain(&unheard(error)),
                Ok(None) | Err(_) => break,
            }
        }
        // The launcher is gone, and with it whoever wanted to look.
        std::process::exit(0);
    });
}

/// The listener that came with a word.
fn listener(brought: Option<OwnedFd>) -> Result<TcpListener, ViewError> {
    let missing = || ViewError::Cord("it brings no listener".to_owned());
    brought.map(TcpListener::from).ok_or_else(missing)
}

fn unheard(error: CordError) -> ViewError {
    ViewError::Cord(error.to_string())
}

/// The logs in a folder: its own, or those of the folders in it.
fn logs_in(dir: &Path) -> Result<Vec<ShownHome>, ViewError> {
    let dir = std::fs::canonicalize(dir).map_err(at(dir))?;
    let files = signet_audit::log_files(&dir).map_err(|source| ViewError::Log {
        path: dir.clone(),
        source,
    })?;
    let mut folders: Vec<PathBuf> = files
        .iter()
        .filter_map(|file| file.parent().map(Path::to_owned))
        .collect();
    folders.dedup();
    Ok(folders
        .into_iter()
        .map(|log| ShownHome {
            name: log
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            log,
        })
        .collect())
}

/// The folder of the index where none is named.
fn own_folder() -> Result<PathBuf, ViewError> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|path| Path::new(path).is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.map(PathBuf::from).or_else(home);
    let missing = std::io::Error::other("neither XDG_CACHE_HOME nor HOME is set");
    cache
        .map(|cache| cache.join("signet").join("view"))
        .ok_or_else(|| at(Path::new("the folder of the index"))(missing))
}

/// Listens at an address of 127.0.0.0/8 that nobody can foretell: another user's program that listens on one port of
/// 127.0.0.1 is not there.
fn listen() -> Result<(TcpListener, String), ViewError> {
    let mut fault = None;
    for _ in 0..TRIES {
        // The last number is odd: neither a network's own address nor that of all in it.
        let [second, third, fourth] = random::bytes()?;
        let address = Ipv4Addr::new(127, second, third, (fourth | 1) & 0x7f);
        match TcpListener::bind(SocketAddrV4::new(address, 0)) {
            Ok(socket) => {
                let host = socket.local_addr().map_err(at(Path::new("the listener")))?;
                return Ok((socket, host.to_string()));
            }
            Err(error) => fault = Some((address, error)),
        }
    }
    let (address, source) =
        fault.unwrap_or((Ipv4Addr::LOCALHOST, std::io::Error::other("no address")));
    Err(ViewError::Listen {
        address: address.to_string(),
        source,
    })
}

fn say(what: &str) {
    // A closed standard output is no reason to end.
    let _ = writeln!(std::io::stdout(), "{what}");
}

fn complain(error: &ViewError) {
    let said = signet_text::visible(&error.to_string()).into_owned();
    let _ = writeln!(std::io::stderr(), "error: {said}\n  next: {}", error.next());
}

/// In seconds: how long a one-time address is good.
const ONCE: u64 = 60;
const TRIES: usize = 8;
/// The room ends after so long without use.
const UNUSED: Duration = Duration::from_secs(30 * 60);
/// In bytes: logs that are proved in some seconds.
const SHORT: u64 = 64 * 1024 * 1024;
/// Threads that read the index and the logs for pages.
const READERS: usize = 4;
const RETRY: Duration = Duration::from_secs(5);
const GRACE: Duration = Duration::from_secs(1);
