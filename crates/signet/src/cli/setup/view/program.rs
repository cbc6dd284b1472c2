//! A program beside this one, started with its end of a cord as standard input and nothing of this process's environment.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use serde::Serialize;
use signet_cord::{Cord, CordError, CordWord};

use crate::cli::{CliError, setup::gateway};

/// Which of the two it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewProgram {
    Room,
    Desk,
}

/// An event while the page is open.
pub(super) enum ViewEvent {
    /// A program says something.
    Said(ViewProgram, CordWord),
    /// A program has ended.
    Gone(ViewProgram),
    /// A daemon answers again, by a connection that only looks.
    Connected(String, UnixStream),
    /// The person wants the page once more.
    Enter,
}

/// A program that runs.
pub(super) struct Started {
    program: ViewProgram,
    cord: Cord,
    child: Child,
    ready: Receiver<()>,
}

impl ViewProgram {
    const fn name(self) -> &'static str {
        match self {
            Self::Room => "signet-view",
            Self::Desk => "signet-desk",
        }
    }

    /// Whether it lies beside this program.
    pub(super) fn is_there(self) -> Result<bool, CliError> {
        Ok(self.file()?.is_file())
    }

    fn file(self) -> Result<PathBuf, CliError> {
        Ok(gateway::this_program()?.with_file_name(self.name()))
    }

    /// That it ended without a word.
    pub(super) fn ended(self) -> CliError {
        let what = format!("{} has ended; what it says stands above", self.name());
        CliError::refused(what, "signet view  # opens it anew")
    }
}

impl Started {
    /// Starts it, and hears what it says.
    pub(super) fn start(
        program: ViewProgram,
        words: &[&str],
        tell: SyncSender<ViewEvent>,
    ) -> Result<Self, CliError> {
        let file = program.file()?;
        if !file.is_file() {
            let what = format!("there is no {}, which makes the pages", file.display());
            return Err(CliError::usage(what, INSTALL_IT));
        }
        let (cord, end) = Cord::pair().map_err(|error| broken(program, &error))?;
        let mut command = Command::new(&file);
        // This process's environment may hold secrets, and neither the reading room nor the desk needs any of it.
        command.args(words).env_clear();
        command.stdin(Stdio::from(end)).stdout(Stdio::null());
        let child = command.spawn().map_err(|error| {
            let what = format!("{} cannot be started: {error}", file.display());
            CliError::usage(what, INSTALL_IT)
        })?;
        // Drop the command here: it still holds the program's end of the cord. While this process holds that end open,
        // the cord would not end with the program, and `hear` would wait for ever.
        drop(command);
        let (said_ready, ready) = sync_channel(1);
        let heard = cord.try_clone().map_err(|error| broken(program, &error))?;
        std::thread::spawn(move || hear(program, &heard, &tell, &said_ready));
        Ok(Self {
            program,
            cord,
            child,
            ready,
        })
    }

    /// Says one word.
    pub(super) fn say(&self, word: &impl Serialize) -> Result<(), CliError> {
        let said = self.cord.send(word, None);
        said.map_err(|error| broken(self.program, &error))
    }

    /// Says one word, with the socket that belongs to it.
    pub(super) fn hand_over(
        &self,
        word: &impl Serialize,
        along: impl AsFd,
    ) -> Result<(), CliError> {
        let said = self.cord.send(word, Some(along.as_fd()));
        said.map_err(|error| broken(self.program, &error))
    }

    /// Waits until it serves.
    pub(super) fn wait_until_ready(&self) -> Result<(), CliError> {
        match self.ready.recv_timeout(READY) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.program.ended()),
        }
    }

    /// Lets it end: it does so by itself when the cord does, and is killed where it hangs.
    pub(super) fn end(mut self) {
        drop(self.cord);
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(20));
        }
        // `Child::kill` sends nothing to a program that has ended, whose process number may belong
        // to another program by now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Removes what the room keeps in that folder.
pub(super) fn forget(data: &Path) -> Result<(), CliError> {
    let mut command = Command::new(ViewProgram::Room.file()?);
    command.arg("--forget").arg("--data").arg(data).env_clear();
    Err(gateway::take_over(command))
}

/// Hears a program until it is gone. A word that is none is passed over: the room is not believed.
fn hear(program: ViewProgram, cord: &Cord, tell: &SyncSender<ViewEvent>, ready: &SyncSender<()>) {
    loop {
        match cord.receive_word::<CordWord>() {
            // `try_send` and not `send`: a program that says `Ready` a second time finds the channel's one place taken,
            // and must not hold up this thread.
            Ok(Some(CordWord::Ready {})) => drop(ready.try_send(())),
            // Drop the word if the channel is full: a reading room that says the same again and again then loses only
            // its own words, and fills no memory.
            Ok(Some(word)) => drop(tell.try_send(ViewEvent::Said(program, word))),
            Err(CordError::Malformed | CordError::TooLong) => {}
            Ok(None) | Err(CordError::Io(_)) => {
                // The send fails only if this command ends meanwhile: then nobody needs to hear
                // that the program is gone.
                let _ = tell.send(ViewEvent::Gone(program));
                return;
            }
        }
    }
}

fn broken(program: ViewProgram, error: &CordError) -> CliError {
    let what = format!("{}: {error}", program.name());
    CliError::refused(
        what,
        "signet view  # opens it anew; what the program says stands above",
    )
}

const INSTALL_IT: &str = "install it beside signet: make install brings all of them";
/// How long a program may take until it serves.
const READY: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(5);
