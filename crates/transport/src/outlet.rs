//! What the two kinds of sessions share: where everything goes that they learn, and how they end.

use std::sync::Arc;

use async_nats::Message;
use bytes::Bytes;
use tokio::sync::{oneshot, watch};

use crate::backlog::{Backlog, BacklogResult};
use crate::live::ConnectionState;
use crate::signals::Signals;
use crate::{Arrival, Error, Handle};

/// Where everything goes that a session learns.
#[derive(Clone)]
pub(crate) struct Outlet {
    pub(crate) arrivals: Backlog,
    pub(crate) link: Arc<watch::Sender<ConnectionState>>,
    /// The subject of our own inbox.
    pub(crate) inbox: Arc<str>,
    pub(crate) max_bytes: usize,
}

impl Outlet {
    pub(crate) async fn send(&self, arrival: Arrival) -> Flow {
        match self.arrivals.send(arrival).await {
            BacklogResult::Unwanted => Flow::Unwanted,
            BacklogResult::Taken | BacklogResult::Full => Flow::On,
        }
    }

    /// What the server refused goes on, and a lost connection is noticed.
    pub(crate) async fn relay(&self, signals: &Signals) -> Flow {
        for arrival in signals.take_refusals() {
            if self.send(arrival).await == Flow::Unwanted {
                return Flow::Unwanted;
            }
        }
        if signals.lost() { Flow::Lost } else { Flow::On }
    }

    /// A NATS message as an arrival of at most `max_bytes`.
    pub(crate) fn cap(&self, message: Message, handle: Option<Handle>) -> Arrival {
        let Message {
            payload, subject, ..
        } = message;
        if payload.len() <= self.max_bytes {
            return Arrival::Message {
                bytes: payload,
                subject: self.name(&subject),
                handle,
            };
        }
        let head = payload.get(..HEAD).unwrap_or(&payload);
        Arrival::Oversized {
            length: payload.len(),
            // Copy the first bytes of the message: a slice would share the payload's memory, and keep all of the message there.
            head: Bytes::copy_from_slice(head),
            handle,
        }
    }

    /// Nearly every message is sent to our own inbox: all of those share one name.
    fn name(&self, subject: &str) -> Arc<str> {
        if *subject == *self.inbox {
            Arc::clone(&self.inbox)
        } else {
            subject.into()
        }
    }
}

/// What the supervisor is asked.
#[derive(Debug)]
pub(crate) enum Stop {
    /// To hand over no more, and go on sending.
    Reading,
    /// To end the connection, and carry the outcome back.
    Closing(oneshot::Sender<Result<(), Error>>),
}

/// Why a connection is not restored.
pub(crate) enum GaveUp {
    Unwanted,
    Asked(oneshot::Sender<Result<(), Error>>, Result<(), Error>),
}

/// What follows from one event.
#[derive(PartialEq, Eq)]
pub(crate) enum Flow {
    On,
    Returned,
    Lost,
    Unwanted,
}

const HEAD: usize = 1024;
