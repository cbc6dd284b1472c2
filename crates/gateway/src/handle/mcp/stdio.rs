//! MCP over the standard input and output of a process: one message a line.

use std::ffi::OsStr;
use std::process::Stdio as Pipe;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};

use super::{greeted, greeting, pass_on};
use crate::handle::jsonrpc::{self, RpcAnswer};
use crate::handle::trace::Trace;
use crate::random::random;
use crate::say::say;
use signet_handlers::answer::{self, ANSWER};
use signet_handlers::{Attempt, Fault};
use signet_handlers::{Environment, ProcessGroup, look_up};

/// A server that is a command.
pub(crate) struct ServerStdio {
    command: Vec<String>,
    environment: Environment,
    session: Option<PipedSession>,
}

/// A process that was greeted. It ends, with all that it started, when this is dropped.
struct PipedSession {
    group: ProcessGroup,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// The id of the last request. Nobody guesses the next one: what was said before it is no answer to it.
    last: u64,
    /// The id of the request before.
    before: u64,
    /// How many calls were answered.
    answered: u64,
}

impl ServerStdio {
    pub(crate) const fn new(command: Vec<String>, environment: Environment) -> Self {
        Self {
            command,
            environment,
            session: None,
        }
    }

    /// Looks whether the server could be started.
    pub(super) fn look(&self) -> Result<(), Fault> {
        look_up(self.command.first().map_or(OsStr::new(""), OsStr::new))
    }

    /// Calls the tool. A session whose call failed, or was given up, is ended: what it says later would be taken for
    /// the answer to another message.
    pub(super) async fn call(
        &mut self,
        attempt: &Attempt<'_>,
        trace: &Trace,
        params: Value,
    ) -> Result<RpcAnswer, Fault> {
        // Take the session out, and put it back only after a good call: a call that fails or is cancelled then
        // ends its session.
        let kept = self.session.take().and_then(PipedSession::if_alive);
        let mut session = match kept {
            Some(session) => session,
            None => PipedSession::start(&self.command, &self.environment, attempt, trace).await?,
        };
        let called = session.ask(attempt, trace, "tools/call", params).await?;
        self.session = Some(session);
        Ok(called)
    }
}

impl PipedSession {
    async fn start(
        command: &[String],
        environment: &Environment,
        attempt: &Attempt<'_>,
        trace: &Trace,
    ) -> Result<Self, Fault> {
        let (program, arguments) = command.split_first().ok_or(NO_COMMAND)?;
        let mut command = Command::new(program);
        environment.pass_to(&mut command);
        let spawned = command
            .args(arguments)
            // Start the server in a process group of its own, so that the processes that it starts end with it.
            .process_group(0)
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            // Discard standard error: a server may log messages there, which belong neither on a terminal nor in systemd's
            // journal.
            .stderr(Pipe::null())
            .spawn();
        let child = spawned.map_err(|error| Fault::CannotStart(error.kind()))?;
        let mut group = ProcessGroup(child);
        let (stdin, stdout) = (group.0.stdin.take(), group.0.stdout.take());
        let mut session = Self {
            group,
            stdin: stdin.ok_or(Fault::Pipes)?,
            stdout: BufReader::new(stdout.ok_or(Fault::Pipes)?),
            last: 0,
            before: 0,
            answered: 0,
        };
        greeted(
            session
                .ask(attempt, trace, "initialize", greeting())
                .await?,
        )?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        session.write(attempt, trace, &ready).await?;
        Ok(session)
    }

    /// A server that ended between two messages is started anew, and costs no try.
    fn if_alive(mut self) -> Option<Self> {
        let runs = matches!(self.group.0.try_wait(), Ok(None));
        runs.then_some(self)
    }

    async fn ask(
        &mut self,
        attempt: &Attempt<'_>,
        trace: &Trace,
        method: &str,
        params: Value,
    ) -> Result<RpcAnswer, Fault> {
        (self.before, self.last) = (self.last, new_id(self.last));
        let request = json!({
            "jsonrpc": "2.0", "id": self.last, "method": method, "params": params,
        });
        self.write(attempt, trace, &request).await?;
        let mut room = ANSWER.bytes;
        for _ in 0..MOST_LINES {
            let line = self.line(room).await?;
            // All lines up to the answer share one limit, so a server that talks without an end is cut off.
            room = room.saturating_sub(line.len());
            trace.heard(attempt, &line);
            let value = answer::read(&line, ANSWER)?;
            if let Some(method) = value.get("method") {
                pass_on(attempt, &value);
                self.refuse(attempt, trace, method, value.get("id")).await?;
                continue;
            }
            match value.get("id").and_then(Value::as_u64) {
                Some(id) if id == self.before && self.answered > 0 => say(ANOTHER),
                // This answers neither this call nor the one before: the server may have written it before this call
                // was made, so skip it. Before the first answer to a tool call, another id is an error (below): the
                // server may copy no id at all, and skipping would wait in vain.
                Some(id) if id != self.last && self.answered > 1 => say(UNASKED),
                _ => {
                    let called = jsonrpc::answer(value, &json!(self.last))?;
                    self.answered += 1;
                    return Ok(called);
                }
            }
        }
        Err(Fault::Flood(ANSWER.bytes / 1024))
    }

    /// Answers what the server asks of us: a ping with an empty result, everything else with an error, because nothing else
    /// was offered to it.
    async fn refuse(
        &mut self,
        attempt: &Attempt<'_>,
        trace: &Trace,
        method: &Value,
        id: Option<&Value>,
    ) -> Result<(), Fault> {
        // Without an id (a text or a number) the message is a notification, which gets no answer.
        let Some(id) = id.filter(|id| id.is_string() || id.is_number()) else {
            return Ok(());
        };
        let answer = match method.as_str() {
            Some("ping") => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
            _ => json!({
                "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "Method not found" },
            }),
        };
        self.write(attempt, trace, &answer).await
    }

    async fn write(
        &mut self,
        attempt: &Attempt<'_>,
        trace: &Trace,
        value: &Value,
    ) -> Result<(), Fault> {
        let line = format!("{value}\n");
        trace.sent(attempt, line.trim_end().as_bytes());
        let written = self.stdin.write_all(line.as_bytes()).await;
        written.map_err(|_| Fault::CutShort)
    }

    async fn line(&mut self, room: usize) -> Result<Vec<u8>, Fault> {
        let mut line = Vec::new();
        // Read one byte more than is allowed: this byte shows that the line is too long.
        let mut bounded = (&mut self.stdout).take(room as u64 + 1);
        let read = bounded.read_until(b'\n', &mut line).await;
        read.map_err(|_| Fault::Pipes)?;
        match line.last() {
            Some(b'\n') => Ok(line),
            _ if line.len() > room => Err(Fault::Flood(ANSWER.bytes / 1024)),
            _ => Err(Fault::CutShort),
        }
    }
}

/// An id that is not `last`, and small enough for every JSON reader.
fn new_id(last: u64) -> u64 {
    let id = random().map(|bytes| (u64::from_le_bytes(bytes) & LARGEST_ID).max(1));
    id.filter(|id| *id != last)
        .unwrap_or_else(|| last.wrapping_add(1))
}

/// JSON readers of many languages hold 53 bits.
const LARGEST_ID: u64 = (1 << 53) - 1;
/// What a server may say before its answer: progress and its own log among them.
const MOST_LINES: usize = 10_000;
const NO_COMMAND: Fault = Fault::CannotStart(std::io::ErrorKind::InvalidInput);
const ANOTHER: &str =
    "answered-twice: an MCP server answered a call a second time; the first answer counts";
const UNASKED: &str =
    "answered-unasked: an MCP server answered a call that was not made; nothing of it is taken";
