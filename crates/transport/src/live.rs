//! The connection as those see it who send.

use std::sync::Arc;

use async_nats::client::Client;

use crate::Error;
use crate::confirm::Confirmations;
use crate::store::MailboxStore;

/// What is known of the connection.
#[derive(Debug)]
pub(crate) enum ConnectionState {
    /// Being restored; the error of the last try.
    Down(Option<Error>),
    Up(LiveConnection),
    Closed,
}

impl ConnectionState {
    pub(crate) fn live(&self) -> Result<&LiveConnection, Error> {
        match self {
            Self::Up(live) => Ok(live),
            Self::Down(why) => Err(why.clone().unwrap_or(Error::Disconnected)),
            Self::Closed => Err(Error::Closed),
        }
    }

    /// Whether waiting is sensible: a refused login or certificate needs a person.
    pub(crate) fn may_come_up(&self) -> bool {
        matches!(self, Self::Down(why) if !why.as_ref().is_some_and(Error::needs_a_person))
    }
}

/// A connection that is up, for those who send on it.
#[derive(Debug, Clone)]
pub(crate) struct LiveConnection {
    pub(crate) client: Client,
    /// Where a mailbox was asked for.
    pub(crate) confirmations: Option<Arc<Confirmations>>,
    pub(crate) store: Arc<MailboxStore>,
    /// Whether our own mail comes out of one.
    pub(crate) has_mailbox: bool,
}
