//! What happened in a run: a hash of all of it, and its last lines for whoever has to find out why.

use std::collections::VecDeque;
use std::fmt::Write as _;

/// How many lines a failure shows.
const SHOWN: usize = 60;

/// A running hash (FNV-1a) over every line, and the last lines themselves.
pub struct Trace {
    hash: u64,
    count: u64,
    last: VecDeque<String>,
    loud: bool,
}

impl Trace {
    pub fn new(loud: bool) -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            count: 0,
            last: VecDeque::new(),
            loud,
        }
    }

    pub fn note(&mut self, now: i64, line: std::fmt::Arguments<'_>) {
        let mut text = format!("{:>11.3}  ", now as f64 / 1000.0);
        let _ = text.write_fmt(line);
        for byte in text.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self.count += 1;
        if self.loud {
            println!("{text}");
        }
        self.last.push_back(text);
        if self.last.len() > SHOWN {
            self.last.pop_front();
        }
    }

    /// Two runs with the same value were the same run.
    pub fn digest(&self) -> (u64, u64) {
        (self.count, self.hash)
    }

    pub fn tail(&self) -> String {
        self.last.iter().cloned().collect::<Vec<_>>().join("\n")
    }
}

/// `note!(world, "alice {} …", x)`.
#[macro_export]
macro_rules! note {
    ($world:expr, $($words:tt)*) => {
        $world.trace.note($world.now, format_args!($($words)*))
    };
}
