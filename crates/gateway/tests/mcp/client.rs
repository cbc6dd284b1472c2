//! A client of MCP by hand: it writes lines, reads lines, and holds every result against its schema.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use signet_testkit::{Home, PATIENCE, eventually};

/// A gateway that runs, and the client's two ends.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
    /// What came and was no answer.
    pub(crate) told: Vec<Value>,
    /// Answers that came before they were asked for.
    early: Vec<Value>,
    tools: Vec<Value>,
}

impl Client {
    /// `signet mcp` for that home, which has said hello.
    pub(crate) fn of(home: &Home) -> Self {
        Self::with(home, &[])
    }

    /// The same with more arguments.
    pub(crate) fn with(home: &Home, more: &[&str]) -> Self {
        let mut client = Self::run(home.command(&[&["mcp"], more].concat()));
        client.hello("2025-11-25");
        client
    }

    pub(crate) fn run(mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::inherit()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines() {
                // The test has ended and dropped the receiver: stop reading.
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            last_id: 0,
            told: Vec::new(),
            early: Vec::new(),
            tools: Vec::new(),
        }
    }

    pub(crate) fn hello(&mut self, version: &str) -> Value {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let hello = self.request("initialize", params)["result"].clone();
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let listed = self.request("tools/list", json!({}));
        self.tools = listed["result"]["tools"].as_array().unwrap().clone();
        hello
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn write_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn write(&mut self, message: &Value) {
        self.write_raw(format!("{message}\n").as_bytes());
    }

    /// Sends a request and does not wait; its id.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn begin_tool(&mut self, name: &str, arguments: Value) -> u64 {
        self.begin("tools/call", json!({"name": name, "arguments": arguments}))
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// The response to that request.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        if let Some(at) = self.early.iter().position(|early| early["id"] == id) {
            return self.early.remove(at);
        }
        loop {
            let message = self.next();
            match (&message["id"], message.get("method")) {
                (_, Some(_)) | (Value::Null, None) => self.told.push(message),
                (there, None) if *there == id => return message,
                _ => self.early.push(message),
            }
        }
    }

    /// The next line, which no terminal would obey.
    pub(crate) fn next(&mut self) -> Value {
        let line = self
            .lines
            .recv_timeout(PATIENCE)
            .expect("the gateway says something");
        assert_harmless(&line);
        serde_json::from_str(&line).expect(&line)
    }

    /// Whether nothing comes for a while.
    pub(crate) fn is_silent(&mut self, time: Duration) -> bool {
        self.lines.recv_timeout(time).is_err()
    }

    /// The result of a tool, its structured content, which fits its schema and is the same as its text.
    pub(crate) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.begin_tool(name, arguments);
        self.shown(name, id)
    }

    pub(crate) fn shown(&mut self, name: &str, id: u64) -> Value {
        let response = self.answer(id);
        let result = &response["result"];
        assert_eq!(result["isError"], false, "{name}: {response}");
        let shown = &result["structuredContent"];
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), shown);
        let tool = self.tools.iter().find(|tool| tool["name"] == name).unwrap();
        let fits = jsonschema::validate(&tool["outputSchema"], shown);
        assert!(fits.is_ok(), "{name}: {}: {shown}", fits.unwrap_err());
        shown.clone()
    }

    /// The error of a tool that does not do what it is asked.
    pub(crate) fn refused(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.begin_tool(name, arguments);
        let response = self.answer(id);
        let result = &response["result"];
        assert_eq!(result["isError"], true, "{name}: {response}");
        assert!(result.get("structuredContent").is_none());
        let text = result["content"][0]["text"].as_str().unwrap();
        let shown: Value = serde_json::from_str(text).unwrap();
        for part in ["name", "message", "next"] {
            assert!(shown["error"][part].is_string(), "{shown}");
        }
        shown["error"].clone()
    }

    pub(crate) fn tools(&self) -> &[Value] {
        &self.tools
    }

    /// The end of its input; how it ended.
    pub(crate) fn close(mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.ended()
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        eventually("the gateway ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Nothing that drives a terminal, turns a line around, or is there without being seen.
fn assert_harmless(line: &str) {
    let hidden = |next: char| {
        next.is_control()
            || matches!(next, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
            || ('\u{e0000}'..='\u{e0fff}').contains(&next)
    };
    assert!(!line.contains(hidden), "{}", line.escape_unicode());
}

/// Every text in `value` that stands outside the members called `untrusted`.
pub(crate) fn trusted(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(trusted).collect(),
        Value::Object(members) => {
            let own = members.iter().filter(|(name, _)| *name != "untrusted");
            own.flat_map(|(name, value)| [vec![name.clone()], trusted(value)].concat())
                .collect()
        }
        _ => Vec::new(),
    }
}
