//! One try of a handler that a file describes.

use std::path::Path;

use serde_json::{Value, json};
use signet_api::Message;
use signet_gateway::handle::{Handlers, Trace};
use signet_handlers::{Attempt, Done, Fault, Handler};

/// What came of a try, in a form that a test can print.
#[derive(Debug, PartialEq)]
pub enum Came {
    Answer(Value),
    Declined(String),
    Unfinished(String, Value),
    Nothing,
    /// The fault, as the log has it.
    Fault(String),
    /// The same, of an answer that no message holds.
    Unsendable(String),
}

impl Came {
    #[track_caller]
    pub fn answer(self) -> Value {
        match self {
            Self::Answer(body) => body,
            other => panic!("no answer: {other:?}"),
        }
    }

    #[track_caller]
    pub fn declined(self) -> String {
        match self {
            Self::Declined(text) | Self::Unfinished(text, _) => text,
            other => panic!("not declined: {other:?}"),
        }
    }

    #[track_caller]
    pub fn fault(self) -> String {
        match self {
            Self::Fault(fault) | Self::Unsendable(fault) => fault,
            other => panic!("no fault: {other:?}"),
        }
    }
}

/// One `[[handler]]` that handles `test.cap`.
pub struct Trial {
    handler: Box<dyn Handler>,
    timeout: std::time::Duration,
    runtime: tokio::runtime::Runtime,
}

impl Trial {
    pub fn new(section: &str) -> Self {
        Self::traced(section, &Trace::off())
    }

    pub fn traced(section: &str, trace: &Trace) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self::within(dir.path(), section, trace)
    }

    pub fn within(dir: &Path, section: &str, trace: &Trace) -> Self {
        let path = dir.join("handlers.toml");
        let text = format!("[[handler]]\ncapability = \"test.cap\"\n{section}\n");
        std::fs::write(&path, text).unwrap();
        let handlers = Handlers::load(&path).unwrap_or_else(|fault| panic!("{fault}"));
        let section = handlers.get("test.cap").unwrap();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Self {
            handler: section.handler(trace),
            timeout: section.timeout(),
            runtime: runtime.enable_all().build().unwrap(),
        }
    }

    /// The fault of an answer that was heard, and that no message holds.
    #[track_caller]
    pub fn unsendable(&mut self, body: Value) -> String {
        match self.ask(body) {
            Came::Unsendable(fault) => fault,
            other => panic!("not of the answer: {other:?}"),
        }
    }

    pub fn ask(&mut self, body: Value) -> Came {
        self.hand(&message(body))
    }

    pub fn hand(&mut self, message: &Message) -> Came {
        let key = format!("{}/{}", message.from, message.message_id);
        let attempt = Attempt {
            key: &key,
            tries: 1,
            message,
            teller: None,
        };
        let (handler, timeout) = (&mut self.handler, self.timeout);
        let tried = self.runtime.block_on(async {
            let tried = tokio::time::timeout(timeout, handler.handle(&attempt)).await;
            tried.unwrap_or(Err(Fault::TimedOut))
        });
        match tried {
            Ok(Done::Answer(body)) => Came::Answer(body),
            Ok(Done::Declined(text)) => Came::Declined(text),
            Ok(Done::Unfinished { text, body }) => Came::Unfinished(text, body),
            Ok(Done::Nothing) => Came::Nothing,
            Err(fault @ Fault::Unsendable(_)) => Came::Unsendable(fault.to_string()),
            Err(fault) => Came::Fault(fault.to_string()),
        }
    }
}

/// A request of tier 1.
pub fn message(body: Value) -> Message {
    let message = json!({
        "from": "agent-alice-001", "principal": "alice",
        "message-id": "01a1fe09-6436-70fa-9d7f-bbebac17c158", "type": "request",
        "timestamp": "2026-11-22T15:01:00.127Z", "expires-at": "2026-11-25T15:01:00.127Z",
        "data-tier": 1, "hops": 1, "capability": "test.cap", "conversation-id": "dinner", "body": body,
    });
    serde_json::from_value(message).unwrap()
}

pub const KEY: &str = "agent-alice-001/01a1fe09-6436-70fa-9d7f-bbebac17c158";
