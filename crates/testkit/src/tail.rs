//! Lines that a daemon has written since the last look, read from its file: that costs the daemon nothing, and little of the
//! cores that it is measured on.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use memchr::memmem;
use serde_json::Value;

/// The end of a log.
pub struct LogTail {
    log: File,
    unread: Vec<u8>,
    last: u64,
}

/// What the log says was taken.
pub struct AcceptedLine {
    pub count: usize,
    pub gaps: usize,
}

impl LogTail {
    /// Of the newest file in that directory, from its end on.
    pub fn of(audit: &Path) -> Self {
        let files = std::fs::read_dir(audit).unwrap();
        let files = files.map(|entry| entry.unwrap().path());
        let newest = files
            .filter(|file| file.extension().is_some_and(|end| end == "jsonl"))
            .max();
        let mut log = File::open(newest.unwrap()).unwrap();
        log.read_to_end(&mut Vec::new()).unwrap();
        Self {
            log,
            unread: Vec::new(),
            last: 0,
        }
    }

    /// The lines since the last look.
    pub fn written(&mut self) -> Vec<Value> {
        self.log.read_to_end(&mut self.unread).unwrap();
        let Some(end) = self.unread.iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        // The daemon may have written only part of the last line: keep that part until the rest comes.
        let rest = self.unread.split_off(end + 1);
        let whole = std::mem::replace(&mut self.unread, rest);
        let lines = whole
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    /// What was accepted since the last look, in the same way but cheaper.
    pub fn accepted(&mut self) -> AcceptedLine {
        let mut accepted = AcceptedLine { count: 0, gaps: 0 };
        self.log.read_to_end(&mut self.unread).unwrap();
        let Some(end) = self.unread.iter().rposition(|byte| *byte == b'\n') else {
            return accepted;
        };
        for line in self.unread[..end].split(|byte| *byte == b'\n') {
            // Search only the first 220 bytes of a line, where its kind and verdict are: a message's own text might contain the
            // same words.
            let start = &line[..line.len().min(220)];
            let has = |part: &str| memmem::find(start, part.as_bytes()).is_some();
            accepted.gaps += usize::from(has("\"kind\":\"gap\""));
            if has("\"dir\":\"in\",\"verdict\":\"accepted\"") {
                accepted.count += 1;
                self.last = number(start);
            }
        }
        self.unread.drain(..=end);
        accepted
    }

    /// The number of the newest line that [`LogTail::accepted`] has counted.
    pub fn last(&self) -> u64 {
        self.last
    }
}

/// The number of a line, which stands behind the version and `seq`.
fn number(line: &[u8]) -> u64 {
    let after = line.split(|byte| *byte == b':').nth(2).unwrap();
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit());
    let digits: Vec<u8> = digits.copied().collect();
    std::str::from_utf8(&digits).unwrap().parse().unwrap()
}
