//! What goes to and fro between a handler and its agent, for the person who looks: off until somebody switches it on.
//!
//! The switch is the file itself: while it is there, what is said is added to it, so that `signet handler trace on` needs
//! no word with the process that handles. Nothing of tier 3 or 4 is written, and nothing of what HTTP carries in its head,
//! where tokens are.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use rustix::fs::OFlags;
use serde_json::json;
use signet_text::visible;

use signet_handlers::Attempt;

/// Where what is said goes.
#[derive(Clone, Debug)]
pub struct Trace(Sink);

#[derive(Clone, Debug)]
enum Sink {
    Off,
    File(PathBuf),
    Print,
}

/// A trace cannot be switched or shown.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}; name another place with --trace, or see to the rights of the directory", path.display())]
pub struct TraceFault {
    path: PathBuf,
    source: io::Error,
}

impl TraceFault {
    /// What the system said.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl Trace {
    /// Nothing is written.
    pub const fn off() -> Self {
        Self(Sink::Off)
    }

    /// Added to this file while it is there.
    pub const fn file(path: PathBuf) -> Self {
        Self(Sink::File(path))
    }

    /// Printed.
    pub const fn print() -> Self {
        Self(Sink::Print)
    }

    /// From now on the processes that handle by this file say what they hear.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn switch_on(path: &Path) -> Result<(), TraceFault> {
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let opened = options.custom_flags(no_follow()).open(path);
        opened.map(drop).map_err(|source| fault(path, source))
    }

    /// No more; what was written goes as well.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn switch_off(path: &Path) -> Result<(), TraceFault> {
        match std::fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(fault(path, source)),
            _ => Ok(()),
        }
    }

    /// Writes what was traced, each line harmless for a terminal. False where tracing is off.
    ///
    /// # Errors
    /// When the file cannot be read, or `out` not be written.
    pub fn show(path: &Path, out: &mut dyn Write) -> Result<bool, TraceFault> {
        let mut options = OpenOptions::new();
        let opened = options.read(true).custom_flags(no_follow()).open(path);
        let file = match opened {
            Ok(file) => file,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(fault(path, source)),
        };
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(|source| fault(path, source))?;
            let line = String::from_utf8_lossy(&line);
            writeln!(out, "{}", visible(&line)).map_err(|source| fault(path, source))?;
        }
        Ok(true)
    }

    /// What goes to the agent.
    pub(crate) fn sent(&self, attempt: &Attempt<'_>, text: &[u8]) {
        self.say(attempt, "sent", text);
    }

    /// What comes from it, before it is judged.
    pub(crate) fn heard(&self, attempt: &Attempt<'_>, text: &[u8]) {
        self.say(attempt, "heard", text);
    }

    /// A trace that cannot be written keeps nobody from handling.
    fn say(&self, attempt: &Attempt<'_>, way: &str, text: &[u8]) {
        if attempt.message.data_tier > HIGHEST_TIER {
            return;
        }
        let text = text.get(..LONGEST_TEXT).unwrap_or(text);
        let text = String::from_utf8_lossy(text);
        match &self.0 {
            Sink::Off => {}
            Sink::Print => drop(writeln!(
                io::stdout(),
                "{way}: {}",
                visible(text.trim_end())
            )),
            Sink::File(path) => {
                let line = json!({
                    "at": now().to_rfc3339_opts(SecondsFormat::Millis, true),
                    "capability": attempt.message.capability, "key": attempt.key, "text": text, "way": way,
                });
                let line = format!("{}\n", visible(&line.to_string()));
                drop(append(path, line.as_bytes()));
            }
        }
    }
}

fn append(path: &Path, line: &[u8]) -> io::Result<()> {
    // Do not create the file: tracing is on only while the file exists, and deleting the file switches it off.
    let mut options = OpenOptions::new();
    let opened = options.append(true).custom_flags(no_follow()).open(path);
    let mut file: File = opened?;
    let metadata = file.metadata()?;
    match metadata.is_file() && metadata.len() < LONGEST_FILE {
        true => file.write_all(line),
        false => Ok(()),
    }
}

fn now() -> DateTime<Utc> {
    SystemTime::now().into()
}

fn fault(path: &Path, source: io::Error) -> TraceFault {
    TraceFault {
        path: path.to_owned(),
        source,
    }
}

/// No symbolic link is followed: whoever may write the directory could otherwise lead the trace into another file.
fn no_follow() -> i32 {
    // Without NONBLOCK, opening a named pipe in place of the file would wait for a reader: with NONBLOCK, `open` fails at once.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    i32::try_from(flags).unwrap_or_default()
}

/// Sensitive and restricted data stand in no file that the daemon does not keep.
const HIGHEST_TIER: u8 = 2;
/// One text, and all of them.
const LONGEST_TEXT: usize = 64 * 1024;
const LONGEST_FILE: u64 = 16 * 1024 * 1024;
