//! What the daemon's log is told of each try, and what a try that ended well brings about.

use std::collections::HashSet;

use signet_api::{FailTry, KeepMessage, Message, Name, Reason, Reply, StartTry};
use signet_json::Limits;

use crate::cli::Failure;
use crate::cli::ask::acknowledge;
use crate::control::{Client, ClientError};

/// How many handled messages that stay in the inbox are remembered: more than it holds.
const KEPT: usize = 50_000;
/// The request wants no answer of this try any more.
const SETTLED: [Reason; 2] = [Reason::NotWaiting, Reason::AnswerWaits];

/// How a try begins.
pub(super) enum Start {
    /// As the try of this number, of so many.
    Try(u8, u8),
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
        let Name { from, message_id } = name.clone();
        let started = match self.client.call(&StartTry { from, message_id }) {
            Err(error) if is_refused(&error, &Reason::NotWaiting) => return Ok(Start::Gone),
            Err(error) if is_refused(&error, &Reason::Paused) => return Ok(Start::Paused(error)),
            started => started?,
        };
        Ok(match started.number {
            Some(number) => Start::Try(number, started.of),
            None => Start::SetAside,
        })
    }

    /// A try ended well, with that output. Returns why it failed after all, when it did.
    pub(super) fn conclude(
        &mut self,
        message: &Message,
        output: &[u8],
    ) -> Result<Option<String>, Failure> {
        let (name, asks) = (message.name(), message.is_request());
        if asks && !output.trim_ascii().is_empty() {
            return self.answer(&name, output);
        }
        match asks || message.is_handoff() {
            true => self.keep(&name)?,
            false => acknowledge(&mut self.client, message)?,
        }
        Ok(None)
    }

    /// A try failed. Returns whether the message is in the quarantine now; `None` when it is gone.
    pub(super) fn fail(&mut self, name: &Name, reason: &str) -> Result<Option<bool>, Failure> {
        let failed = FailTry {
            from: name.from.clone(),
            message_id: name.message_id.clone(),
            reason: reason.to_owned(),
        };
        match self.client.call(&failed) {
            Ok(failed) => Ok(Some(failed.quarantined)),
            Err(ClientError::Refused(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A message that still waits is handled: its tries are forgotten.
    pub(super) fn keep(&mut self, name: &Name) -> Result<(), Failure> {
        let Name { from, message_id } = name.clone();
        match self.client.call(&KeepMessage { from, message_id }) {
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
        let Ok(body) = signet_json::parse(output, Limits::MESSAGE) else {
            return Ok(Some("its answer is not JSON".to_owned()));
        };
        let reply = Reply {
            message_id: name.message_id.clone(),
            from: Some(name.from.clone()),
            body: Some(body),
            ..Reply::default()
        };
        match self.client.call(&reply) {
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

pub(super) fn is_refused(error: &ClientError, reason: &Reason) -> bool {
    matches!(error, ClientError::Refused(refusal) if refusal.is(reason))
}
