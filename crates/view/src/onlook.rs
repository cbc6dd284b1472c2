//! Asking the daemons how they do, by connections that only look.
//!
//! A log does not say that its agent is away: so each daemon is asked for its status while somebody looks, and one that hangs up is
//! known at once. The launcher is told, and brings another connection when the daemon is back.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use signet_api::{Client, ClientError, ShowStatus, Status};
use signet_cord::{Cord, CordWord, ReconnectedHome};

use crate::ViewError;
use crate::daemon::DaemonSeen;
use crate::fault::at;
use crate::room::Room;

/// Follows a daemon by that connection until it hangs up.
///
/// # Errors
/// When the system gives no thread.
pub(crate) fn follow(
    room: &Arc<Room>,
    cord: &Arc<Cord>,
    home: String,
    connection: OwnedFd,
) -> Result<(), ViewError> {
    let (room, cord) = (Arc::clone(room), Arc::clone(cord));
    let named = thread::Builder::new().name("daemon".to_owned());
    let followed = named.spawn(move || {
        if let Ok(client) = Client::of_stream(UnixStream::from(connection), PROMPT) {
            ask_on(&room, &home, client);
        }
        tell(&room, &home, DaemonSeen::Away);
        // A launcher that is gone ends this program by itself.
        let _ = cord.send(&CordWord::Lost(ReconnectedHome { name: home }), None);
    });
    followed.map(drop).map_err(at(Path::new("a thread")))
}

/// Asks again and again, while somebody looks.
fn ask_on(room: &Room, home: &str, mut client: Client) {
    let mut is_first = true;
    loop {
        if is_first || room.unused() < LOOKED_AT {
            match client.call(&ShowStatus {}) {
                Ok(status) => tell(room, home, DaemonSeen::Answers(Box::new(shown(status)))),
                // It is there and gives no answer, being busy or about to stop: ask again at the next beat, and show that nobody
                // answers meanwhile.
                Err(
                    ClientError::TimedOut(_) | ClientError::Stopped(_) | ClientError::Refused(_),
                ) => {
                    tell(room, home, DaemonSeen::Away);
                }
                Err(_) => return,
            }
            is_first = false;
        }
        if client.hangs_up_within(BEAT) {
            return;
        }
    }
}

fn tell(room: &Room, home: &str, state: DaemonSeen) {
    if room.daemons.note(home, state) {
        room.changes.send_modify(|count| *count += 1);
    }
}

/// Without what changes with every line of the log: a page that shows none of it is not loaded anew for it.
fn shown(status: Status) -> Status {
    Status {
        inbox: 0,
        private: None,
        ..status
    }
}

/// How long a daemon may take to answer.
const PROMPT: Duration = Duration::from_secs(10);
/// Between two questions.
const BEAT: Duration = Duration::from_secs(3);
/// A page that was asked for within that time is still looked at: an open one asks more often.
const LOOKED_AT: Duration = Duration::from_secs(60);
