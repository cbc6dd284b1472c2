//! One message to handle, and what a handler makes of it.

use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use signet_api::{Leased, Message};

use crate::{Fault, Teller};

/// What a worker handles messages with. Each worker has one of its own, which may keep a process or a session between
/// messages.
///
/// The worker ends a try that takes too long by dropping the future: what the try holds has to end with it.
pub trait Handler {
    /// Tries to handle one message.
    fn handle<'a>(&'a mut self, attempt: &'a Attempt<'a>) -> Trying<'a>;

    /// Looks whether a try could begin at all, before a message is taken for it.
    ///
    /// # Errors
    /// `CannotStart` for a command that is not there.
    fn look(&self) -> Result<(), Fault> {
        Ok(())
    }
}

/// A try that is under way.
pub type Trying<'a> = LocalBoxFuture<'a, Result<Done, Fault>>;

/// One try of one message.
#[derive(Clone, Copy)]
pub struct Attempt<'a> {
    /// The idempotency key: the same whenever this message comes again, and never that of another peer's message.
    pub key: &'a str,
    /// Which try this is, from 1 on.
    pub tries: u8,
    /// The message.
    pub message: &'a Message,
    /// Who passes on how it goes; nobody where nobody asked.
    pub teller: Option<&'a Teller>,
}

/// How a try ended that did not fail.
#[derive(Clone, PartialEq)]
pub enum Done {
    /// The answer to a request.
    Answer(Value),
    /// A request is declined: the words that its sender reads.
    Declined(String),
    /// The other side's task ended without an answer, or rests until it is told more.
    Unfinished {
        /// The words that the sender reads.
        text: String,
        /// The same for programs (docs/protocol.md, section 9): the state of the task, and its words in parts.
        body: Value,
    },
    /// There is no answer: a request stays for somebody else's, what wants none leaves the inbox.
    Nothing,
}

impl<'a> Attempt<'a> {
    /// The try that a lease is for.
    pub fn of(leased: &'a Leased, teller: &'a Teller) -> Self {
        Self {
            key: &leased.key,
            tries: leased.tries,
            message: &leased.message,
            teller: leased.message.is_request().then_some(teller),
        }
    }

    /// Says how it goes, in one line of the other side's words.
    pub fn tell(&self, note: String) {
        if let Some(teller) = self.teller {
            teller.tell(note);
        }
    }

    /// Shows a piece of what the answer will be, as a part of A2A 1.0. `name` tells of which of several results.
    pub fn show(&self, part: Value, name: Option<String>) {
        if let Some(teller) = self.teller {
            teller.show(part, name);
        }
    }

    /// What the message says; null where it says nothing.
    pub fn body(&self) -> &'a Value {
        self.message.body.as_ref().unwrap_or(&Value::Null)
    }
}
