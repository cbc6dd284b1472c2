//! The clock of one daemon, moved by libfaketime while it runs. What counts time without a date
//! (CLOCK_MONOTONIC) goes on as it does when somebody sets a real clock.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The library, where the distribution's package puts it; see scripts/faketime.
pub(crate) fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten();
    let folders = folders.map(|entry| entry.path()).chain(["/usr/lib".into()]);
    let mut files = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
    files.find(|file| file.is_file())
}

/// A clock, as a file that says by how much it is wrong.
pub(crate) struct Clock {
    file: PathBuf,
}

impl Clock {
    pub(crate) fn right(file: PathBuf) -> Self {
        let clock = Self { file };
        clock.set(0);
        clock
    }

    /// From now on it is so many seconds ahead of the true time; below zero it is behind.
    pub(crate) fn set(&self, seconds: i64) {
        let next = self.file.with_extension("next");
        std::fs::write(&next, format!("{seconds:+}\n")).unwrap();
        std::fs::rename(next, &self.file).unwrap();
    }

    /// Has a command go by this clock.
    pub(crate) fn rule(&self, library: &Path, command: &mut Command) {
        command
            .env("LD_PRELOAD", library)
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("FAKETIME_DONT_RESET", "1");
    }
}
