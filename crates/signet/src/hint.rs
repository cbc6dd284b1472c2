//! The one place that makes hints: what a person types next, as it runs where they are.
//!
//! A hint that begins with a command is a line for a shell: what explains it stands behind ` # `. Texts name commands
//! briefly (`signet status`); [`typed`] puts in the program's path where PATH has none, the home where one was named,
//! and the user where the home is somebody else's. How the daemon of the home is started, [`start`] says.

mod daemon;
mod process;
mod user;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub(crate) use daemon::{DaemonKeeper, told_where};
use process::ProcessContext;
pub(crate) use signet_audit::{quoted, word};
pub(crate) use user::{as_root, kept_from_root, name_of};
use user::{me, owner_of};

/// Where this process was started, for every hint that it prints.
static PLACE: OnceLock<ProcessContext> = OnceLock::new();

/// Says where hints of this process are read: `home` is the option `--home`, `verbs` are the commands of the program
/// with their subcommands. Without it, as in a library, texts stay as they are.
pub(crate) fn read_at(home: Option<PathBuf>, verbs: Vec<String>) {
    // The result is ignored: `PLACE` is set once, and a second call in the same process changes nothing.
    let _ = PLACE.set(ProcessContext::of_process(home, verbs));
}

/// The text with each command of this program as it can be typed here.
pub(crate) fn typed(text: &str) -> String {
    PLACE
        .get()
        .map_or_else(|| text.to_owned(), |place| place.typed(text))
}

/// Does what [`typed`] does to each line of a page that says what to do next.
pub(crate) fn typed_lines(page: &str) -> String {
    let is_next = |line: &str| {
        let line = line.trim_start();
        line.starts_with("next: ") || line.starts_with("next  ")
    };
    page.split_inclusive('\n')
        .map(|line| match is_next(line) {
            true => typed(line),
            false => line.to_owned(),
        })
        .collect()
}

/// What starts the daemon of the home of this process, as it was run before.
pub(crate) fn start() -> String {
    let daemon = PLACE.get().map(ProcessContext::daemon);
    daemon.unwrap_or_default().start()
}

/// What the program that takes the place of this one needs for its own hints, as variables of its environment.
pub(crate) fn handed_over() -> Vec<(&'static str, String)> {
    let Some((before, after)) = PLACE.get().and_then(ProcessContext::around) else {
        return Vec::new();
    };
    vec![
        ("SIGNET_HINT_BEFORE", before),
        ("SIGNET_HINT_AFTER", after),
        ("SIGNET_HINT_START", typed(&start())),
    ]
}

/// The same command, run by the user of that number.
pub(crate) fn again_as(user: u32) -> String {
    let again = PLACE.get().map(|place| place.again_as(user));
    again.unwrap_or_else(|| "run it as the owner of the home".to_owned())
}

/// Moves what stands in the way at `path` aside; `words` say what else there is to know.
pub(crate) fn away(path: &Path, words: &str) -> String {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".away");
    format!("mv {} {}  # {words}", word(path), word(Path::new(&aside)))
}

/// What to do about a path that is not this user's to read: the home is its owner's to use, and a single file in it may
/// be given back to the owner of the home.
pub(crate) fn unreadable(path: &Path) -> String {
    let place = PLACE.get();
    if let Some(owner) = place.and_then(ProcessContext::owner) {
        return again_as(owner);
    }
    match owner_of(path).filter(|owner| *owner != me()) {
        Some(_) => as_root(&format!("chown \"$(id -un)\" {}", word(path))),
        None => format!("ls -ld {}  # only its owner may use it", word(path)),
    }
}
