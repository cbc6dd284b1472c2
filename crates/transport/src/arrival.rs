//! What comes out of a connection, and what is said about it.

use std::sync::Arc;

use bytes::Bytes;

use crate::{Handle, Readership};

/// One thing that came from the connection, in the order in which it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A message of at most `max_bytes`.
    Message {
        /// Its payload.
        bytes: Bytes,
        /// The subject it was sent to.
        subject: Arc<str>,
        /// What the mailbox waits for, by [`crate::Nats::settle`]; none on core NATS.
        handle: Option<Handle>,
    },
    /// A message over `max_bytes`: nothing was done with it but this.
    Oversized {
        /// Its length in bytes.
        length: usize,
        /// Its first KiB.
        head: Bytes,
        /// As above.
        handle: Option<Handle>,
    },
    /// Too much waited to be read, and messages were dropped. Their senders hold them until a receipt.
    /// A mailbox drops nothing: what is not read waits there.
    Gap(u64),
    /// The connection is up: what is sent to us from now on arrives.
    Connected,
    /// After [`Arrival::Connected`], when a mailbox was asked for and there is none: the inbox is read as on
    /// core NATS until there is one, which is looked for every 30 seconds at least.
    NoMailbox(String),
    /// Another program reads the mailbox as well, or does no more. Told when it changes; without a word this
    /// connection reads alone.
    Readers(Readership),
    /// Everything that waited in the mailbox when the connection came up has been handed over. Once a
    /// connection; on core NATS at once, since nothing waits there.
    Drained,
    /// The broker lost what it had stored: the mailbox was made anew, or its stream counts from a lower
    /// number. What was confirmed before may never arrive.
    StoreLost,
    /// There is no connection. It is being restored; on core NATS what is sent to us meanwhile is lost.
    Disconnected,
    /// The server refused something: the login, a subscription, a publish. It says so in its own words,
    /// some time after the call that it concerns.
    Refused(String),
    /// The answer to [`crate::Nats::stop_reading`]: nothing more arrives.
    Stopped,
}
