//! What the daemon's log is told of each try, and what a try that ended well brings about.

use std::collections::HashSet;

use serde_json::{Value, json};
use signet_api::Reason;
use signet_proto::json::{self, Limits};

use crate::cli::Failure;
use crate::cli::ask::{acknowledge, text};
use crate::control::{Client, ClientError};

/// How many handled messages that stay in the inbox are remembered: more than it holds.
const KEPT: usize = 50_000;
/// The request wants no answer of this try any more.
const SETTLED: [&str; 2] = ["not-waiting", "answer-waits"];

/// Who sent a message, and its message-id.
pub(super) type Name = (String, String);

/// How a try begins.
pub(super) enum Start {
    /// As the try of this number, of so many.
    Try(u64, u64),
    /// Not at all: the tries were used up, and it is in the quarantine.
    SetAside,
    /// Not at all: somebody else has answered or taken it.
    Gone,
    /// Not now: the person's agents pause.
    Paused(ClientError),
}

/// One run's tries, told to the daemon.
pub(super) struct Tries {
    pub(super) client: Client,
    /// What is handled and stays in the inbox, for an answer.
    kept: HashSet<Name>,
}

impl Tries {
    pub(super) fn new(client: Client) -> Self {
        let kept = HashSet::new();
        Self { client, kept }
    }

    /// Whether this run has handled a message that still waits.
    pub(super) fn has_kept(&self, name: &Name) -> bool {
        self.kept.contains(name)
    }

    /// A try begins: its line is durable when this returns.
    pub(super) fn start(&mut self, name: &Name) -> Result<Start, Failure> {
        let started = match self.client.raw("inbox.start", &params(name)) {
            Err(error) if is_refused(&error, "not-waiting") => return Ok(Start::Gone),
            Err(error) if is_refused(&error, "paused") => return Ok(Start::Paused(error)),
            started => started?,
        };
        let number = |name: &str| started.get(name).and_then(Value::as_u64);
        Ok(match (number("try"), number("of")) {
            (Some(number), Some(of)) => Start::Try(number, of),
            _ => Start::SetAside,
        })
    }

    /// A try ended well, with that output. Returns why it failed after all, when it did.
    pub(super) fn conclude(
        &mut self,
        message: &Value,
        name: &Name,
        output: &[u8],
    ) -> Result<Option<String>, Failure> {
        match text(message, "type") {
            "request" if !output.trim_ascii().is_empty() => self.answer(name, output),
            "request" | "handoff" => self.keep(name).map(|()| None),
            _ => acknowledge(&mut self.client, message).map(|()| None),
        }
    }

    /// A try failed. Returns whether the message is in the quarantine now; `None` when it is gone.
    pub(super) fn fail(&mut self, name: &Name, reason: &str) -> Result<Option<bool>, Failure> {
        let failed = json!({"from": name.0, "message-id": name.1, "reason": reason});
        match self.client.raw("inbox.fail", &failed) {
            Ok(failed) => Ok(failed.get("quarantined").and_then(Value::as_bool)),
            Err(ClientError::Refused(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A message that still waits is handled: its tries are forgotten.
    pub(super) fn keep(&mut self, name: &Name) -> Result<(), Failure> {
        match self.client.raw("inbox.keep", &params(name)) {
            Ok(_) => {
                if self.kept.len() >= KEPT {
                    self.kept.clear();
                }
                self.kept.insert(name.clone());
                Ok(())
            }
            // It is answered, by this try or by a person.
            Err(ClientError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn answer(&mut self, name: &Name, output: &[u8]) -> Result<Option<String>, Failure> {
        let Ok(body) = json::parse(output, Limits::MESSAGE) else {
            return Ok(Some("its answer is not JSON".to_owned()));
        };
        let reply = json!({"message-id": name.1, "from": name.0, "body": body});
        match self.client.raw("reply", &reply) {
            Ok(_) => {}
            Err(error) if SETTLED.iter().any(|reason| is_refused(&error, reason)) => {}
            Err(ClientError::Refused(refusal)) => {
                let reason = refusal.reason().map_or("invalid", Reason::as_str);
                return Ok(Some(format!("its answer was refused: {reason}")));
            }
            Err(error) => return Err(error.into()),
        }
        // An answer that waits for a person's approval leaves the request where it is.
        self.keep(name).map(|()| None)
    }
}

pub(super) fn name_of(message: &Value) -> Name {
    let member = |name| text(message, name).to_owned();
    (member("from"), member("message-id"))
}

pub(super) fn is_refused(error: &ClientError, name: &str) -> bool {
    let ClientError::Refused(refusal) = error else {
        return false;
    };
    refusal
        .reason()
        .is_some_and(|reason| reason.as_str() == name)
}

fn params((from, message_id): &Name) -> Value {
    json!({"from": from, "message-id": message_id})
}
