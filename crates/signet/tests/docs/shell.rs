//! One shell for all transcripts of a document: what one command sets, the next ones see.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A shell in a directory of its own, with the binary under test as `signet`.
pub struct Shell {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    number: u32,
}

impl Shell {
    pub fn new(place: &Path, nats_url: &str) -> Self {
        let binary = Path::new(env!("CARGO_BIN_EXE_signet")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut child = Command::new("bash")
            .current_dir(place)
            .env("PATH", format!("{}:{path}", binary.display()))
            .env("NATS_URL", nats_url)
            .env("NO_COLOR", "1")
            .env("SIGNET_LOG", "error")
            .env_remove("SIGNET_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut shell = Self {
            child,
            input,
            lines: lines_of(output),
            number: 0,
        };
        shell.done(SOCAT);
        shell
    }

    /// Runs a command to its end; the lines that it said on either output.
    pub fn run(&mut self, command: &str) -> (Vec<String>, i32) {
        self.number += 1;
        let mark = format!("__the_end_{}", self.number);
        writeln!(
            self.input,
            "{{ {command}\n}} 2>&1 </dev/null; code=$?; echo; echo {mark} $code"
        )
        .unwrap();
        let mut said = Vec::new();
        let limit = Instant::now() + LONGEST;
        loop {
            let left = limit.saturating_duration_since(Instant::now());
            let line = self
                .lines
                .recv_timeout(left)
                .unwrap_or_else(|_| panic!("in vain: {command}: {said:?}"));
            if let Some(code) = line.strip_prefix(&mark) {
                // `run` prints an empty line before the mark, so that the mark begins a line even if the output has no
                // line feed at its end.
                if said.last().is_some_and(String::is_empty) {
                    said.pop();
                }
                return (said, code.trim().parse().unwrap());
            }
            said.push(line);
        }
    }

    /// The same for what has to end well.
    pub fn done(&mut self, command: &str) -> Vec<String> {
        let (said, code) = self.run(command);
        assert_eq!(code, 0, "{command}: {said:?}");
        said
    }

    /// Starts a command beside the others; the file that takes what it says.
    pub fn start(&mut self, command: &str) -> String {
        self.number += 1;
        let file = format!(".said-{}", self.number);
        writeln!(self.input, "{command} >{file} 2>&1 </dev/null &").unwrap();
        file
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Its own children by their ids, and it waits for them.
        let _ = writeln!(self.input, "kill $(jobs -p); wait; exit");
        let limit = Instant::now() + Duration::from_secs(20);
        while Instant::now() < limit {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
    }
}

fn lines_of(output: ChildStdout) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// `socat … UNIX-CONNECT:PATH`, where the machine has none: the lines of standard input to the socket, and
/// one answer.
const SOCAT: &str = r#"socat() { python3 -c '
import socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[-1].split(":", 1)[1])
link.sendall(sys.argv[1].encode() + b"\n")
print(link.makefile().readline(), end="")' "$(cat)" "$@"; }"#;
/// Far beyond what anything here takes.
const LONGEST: Duration = Duration::from_secs(90);
