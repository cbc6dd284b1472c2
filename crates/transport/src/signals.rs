//! What the client library tells through its event callback, kept until the supervisor asks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_nats::{Event, ServerError};
use tokio::sync::{Notify, watch};

use crate::live::ConnectionState;
use crate::{Arrival, Error};

pub(crate) struct Signals {
    link: Arc<watch::Sender<ConnectionState>>,
    raised: Notify,
    lost: AtomicBool,
    dropped: AtomicU64,
    refused: Mutex<Vec<String>>,
}

impl Signals {
    pub(crate) fn new(link: Arc<watch::Sender<ConnectionState>>) -> Self {
        let (lost, dropped) = (AtomicBool::new(false), AtomicU64::new(0));
        Self {
            link,
            raised: Notify::new(),
            lost,
            dropped,
            refused: Mutex::default(),
        }
    }

    /// Takes one event without waiting: the library tells them one after the other.
    pub(crate) fn hear(&self, event: Event) {
        match event {
            Event::SlowConsumer(_) => self.dropped(),
            Event::ServerError(ServerError::SlowConsumer(_)) => {}
            Event::ServerError(error) => self.refuse(&error.to_string()),
            Event::Disconnected | Event::Closed => self.lose(),
            Event::Connected | Event::LameDuckMode | Event::Draining | Event::ClientError(_) => {
                return;
            }
        }
        self.raised.notify_one();
    }

    /// One message was dropped.
    pub(crate) fn dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits for something new.
    pub(crate) async fn raised(&self) {
        self.raised.notified().await;
    }

    pub(crate) fn lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    pub(crate) fn gap_open(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) > 0
    }

    /// What was dropped since the last call.
    pub(crate) fn take_gap(&self) -> Option<Arrival> {
        let at_least = self.dropped.swap(0, Ordering::Relaxed);
        (at_least > 0).then_some(Arrival::Gap(at_least))
    }

    /// What was refused since the last call.
    pub(crate) fn take_refusals(&self) -> Vec<Arrival> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.drain(..).map(Arrival::Refused).collect()
    }

    /// This connection is left, though it stands: there is something better.
    pub(crate) fn leave(&self) {
        self.lose();
        self.raised.notify_one();
    }

    /// This connection is over: what its client still reports is dropped.
    pub(crate) fn retire(&self) {
        self.lost.store(true, Ordering::Release);
    }

    fn refuse(&self, what: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < KEPT {
            refused.push(what.chars().take(TEXT).collect());
        }
    }

    /// Publishers are refused from this moment, even while the supervisor waits for a slow inbox.
    fn lose(&self) {
        if self.lost.swap(true, Ordering::AcqRel) {
            return;
        }
        // Set the link to `Down` only if it is up: `Closed` must not be undone, and a `Down` keeps the reason that it already
        // has.
        self.link.send_if_modified(|link| {
            let up = matches!(link, ConnectionState::Up(_));
            if up {
                *link = ConnectionState::Down(Some(Error::Disconnected));
            }
            up
        });
    }
}

/// Refusals kept between two looks: a server could repeat itself for ever.
const KEPT: usize = 32;
const TEXT: usize = 256;
