//! How far a long verification is: one line on a terminal, and nothing anywhere else.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

/// A bar on standard error.
pub(super) struct Bar {
    is_wanted: bool,
    is_drawn: bool,
    next: Instant,
}

impl Bar {
    /// A bar that is drawn only once the work has taken a while.
    pub(super) fn new() -> Self {
        Self {
            is_wanted: stderr().is_terminal(),
            is_drawn: false,
            next: Instant::now() + EVERY,
        }
    }

    /// Shows that `done` of `total` bytes are read.
    pub(super) fn draw(&mut self, done: u64, total: u64) {
        if !self.is_wanted || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + EVERY;
        self.is_drawn = true;
        let share = done.saturating_mul(WIDTH) / total.max(1);
        let full = usize::try_from(share.min(WIDTH)).unwrap_or_default();
        let (full, empty) = ("#".repeat(full), " ".repeat(WIDTH as usize - full));
        let (done, total) = (done / MIB, total / MIB);
        // The bar is only for show: if the terminal is gone, the verification goes on.
        let _ = write!(stderr(), "\r[{full}{empty}] {done} of {total} MiB");
    }

    /// Takes the bar away.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            let _ = write!(stderr(), "\r{}\r", " ".repeat(LINE));
        }
    }
}

const EVERY: Duration = Duration::from_millis(200);
const WIDTH: u64 = 40;
/// More columns than the bar and its numbers take.
const LINE: usize = 79;
const MIB: u64 = 1024 * 1024;
