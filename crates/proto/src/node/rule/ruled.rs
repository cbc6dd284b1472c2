//! What is known of a message behind checks V08 to V12: only here is one made that may have an effect.

use std::sync::Arc;

use signet_json::Value;
use zeroize::Zeroizing;

use crate::entry::Entry;
use crate::envelope::Message;
use crate::reject::Reason;
use crate::seal::Opened;
use crate::verify::Payload;

/// What a box held, and its bytes.
pub(in crate::node) type Unsealed = (Opened, Zeroizing<Vec<u8>>);

/// A message as its recipient reads it: in clear, or opened. Most rules need nothing of its body, whose tree is made for
/// the first one that does.
#[derive(Clone, Copy)]
pub(in crate::node) struct Readable<'a> {
    message: &'a Message,
    unsealed: Option<&'a Unsealed>,
}

impl<'a> Readable<'a> {
    pub(super) fn of(message: &'a Message, unsealed: Option<&'a Unsealed>) -> Self {
        Self { message, unsealed }
    }

    pub(in crate::node) fn message(self) -> &'a Message {
        self.message
    }

    /// What it carries.
    pub(in crate::node) fn body(self) -> Option<&'a Value> {
        match self.unsealed {
            Some((opened, _)) => opened.body.as_ref(),
            None => self.message.body(),
        }
    }
}

/// A message that passed every check. Only `Judge::rule` makes it: no other place can fill in what was sealed.
#[derive(Debug)]
pub(in crate::node) struct Ruled {
    pub(in crate::node) message: Arc<Message>,
    pub(in crate::node) payload: Payload,
    /// The line of a task that goes before the message's own.
    pub(in crate::node) task: Option<Entry>,
    pub(super) unsealed: Option<Unsealed>,
}

impl Ruled {
    /// The bytes of what was sealed, for the copy in the log.
    pub(in crate::node) fn plaintext(&self) -> Option<&[u8]> {
        self.unsealed
            .as_ref()
            .map(|(_, plaintext)| plaintext.as_slice())
    }
}

/// A message that is its sender's, and fails one of the checks.
#[derive(Debug)]
pub(in crate::node) struct Rejected {
    pub(in crate::node) message: Arc<Message>,
    pub(in crate::node) fault: Fault,
}

/// Why a message is refused, and where exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::node) struct Fault {
    pub(in crate::node) reason: Reason,
    pub(in crate::node) detail: Option<String>,
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        let detail = None;
        Self { reason, detail }
    }
}

/// A message that was verified, fresh in its session, and allowed: **the only thing that an effect
/// of an inbound message can carry**. Only [`Node`](crate::node::Node) makes it.
#[derive(Clone, Debug)]
pub struct Accepted {
    message: Arc<Message>,
    opened: Option<Arc<Opened>>,
}

impl Accepted {
    /// A message that was ruled on just now.
    pub(in crate::node) fn of(ruled: Ruled) -> Self {
        Self {
            message: ruled.message,
            // Keep only the parsed content: the bytes of the plaintext are dropped here, and dropping wipes them from memory.
            opened: ruled.unsealed.map(|(opened, _)| Arc::new(opened)),
        }
    }

    /// A message that was ruled on before: what the inbox holds since, and nothing else.
    pub(in crate::node) fn kept(message: Arc<Message>, opened: Option<Opened>) -> Self {
        let opened = opened.map(Arc::new);
        Self { message, opened }
    }

    /// What it says.
    pub fn message(&self) -> &Arc<Message> {
        &self.message
    }

    /// What was sealed in it.
    pub fn opened(&self) -> Option<&Opened> {
        self.opened.as_deref()
    }
}
