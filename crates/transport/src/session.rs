//! One connection from its subscription to its end.

use std::sync::Arc;
use std::time::Duration;

use async_nats::client::Client;
use async_nats::{Message, PublishError, Subscriber};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::{mpsc, watch};
use tokio::task::unconstrained;
use tokio::time::{Instant, sleep_until, timeout};

use crate::backlog::{Backlog, Offered};
use crate::link::{Link, Stop};
use crate::signals::Signals;
use crate::{Arrival, Error};

/// Where everything goes that a session learns.
#[derive(Clone)]
pub(crate) struct Outlet {
    pub(crate) arrivals: Backlog,
    pub(crate) link: Arc<watch::Sender<Link>>,
    pub(crate) max_bytes: usize,
}

impl Outlet {
    pub(crate) async fn send(&self, arrival: Arrival) -> Step {
        match self.arrivals.send(arrival).await {
            Offered::Unwanted => Step::Unwanted,
            _ => Step::On,
        }
    }
}

/// Why a connection is not restored.
pub(crate) enum End {
    Unwanted,
    Asked(Stop, Result<(), Error>),
}

impl End {
    pub(crate) fn asked(stop: Option<Stop>, outcome: Result<(), Error>) -> Self {
        stop.map_or(Self::Unwanted, |done| Self::Asked(done, outcome))
    }
}

/// What follows from one event.
#[derive(PartialEq, Eq)]
pub(crate) enum Step {
    On,
    Returned,
    Lost,
    Unwanted,
}

pub(crate) struct Session {
    client: Client,
    subscriber: Subscriber,
    signals: Arc<Signals>,
    inbox: String,
    outlet: Outlet,
    /// How the payload of every round trip of this session begins.
    mark: String,
    /// The payload of the newest.
    marker: Bytes,
    trips: u64,
    proved: bool,
    draining: bool,
    next_gap: Instant,
}

impl Session {
    /// Subscribes, and sends a round trip to prove it.
    pub(crate) async fn open(
        client: Client,
        signals: Arc<Signals>,
        inbox: String,
        outlet: Outlet,
    ) -> Result<Self, String> {
        let subscriber = client
            .subscribe(inbox.clone())
            .await
            .map_err(|e| e.to_string())?;
        let mark = format!("signet-transport round trip {}", client.new_inbox());
        let mut session = Self {
            client,
            subscriber,
            signals,
            inbox,
            outlet,
            mark,
            marker: Bytes::new(),
            trips: 0,
            proved: false,
            draining: false,
            next_gap: Instant::now(),
        };
        session.round_trip().await.map_err(|e| e.to_string())?;
        Ok(session)
    }

    pub(crate) fn proved(&self) -> bool {
        self.proved
    }

    /// Until the connection is lost (`None`) or to be closed.
    pub(crate) async fn hand_over(&mut self, stops: &mut mpsc::Receiver<Stop>) -> Option<End> {
        let proof = Instant::now() + PROOF_LIMIT;
        loop {
            let step = tokio::select! {
                biased;
                stop = stops.recv() => return Some(self.stop(stop).await),
                () = self.outlet.arrivals.closed() => return Some(End::Unwanted),
                () = self.signals.raised() => self.relay().await,
                () = sleep_until(self.next_gap), if self.signals.gap_open() => self.tell_gap().await,
                message = self.subscriber.next() => match message {
                    Some(message) => self.deliver_ready(message).await,
                    None => Step::Lost,
                },
                () = sleep_until(proof), if !self.proved => self.prove().await,
            };
            match step {
                Step::On | Step::Returned => {}
                Step::Lost => {
                    self.salvage().await;
                    return None;
                }
                Step::Unwanted => return Some(End::Unwanted),
            }
        }
    }

    /// The subscription is in effect (or the server will not let us prove it): say so.
    async fn prove(&mut self) -> Step {
        if std::mem::replace(&mut self.proved, true) {
            return Step::On;
        }
        self.outlet.link.send_replace(Link::Up(self.client.clone()));
        tracing::info!("connected to the NATS server");
        let step = self.outlet.send(Arrival::Connected).await;
        if self.signals.lost() {
            Step::Lost
        } else {
            step
        }
    }

    /// `message`, and behind it what is there already: asking for everything else before each one
    /// costs more than handing it over.
    async fn deliver_ready(&mut self, message: Message) -> Step {
        let mut step = self.deliver(message).await;
        for _ in 1..AT_ONCE {
            if step != Step::On {
                break;
            }
            match unconstrained(self.subscriber.next()).now_or_never() {
                Some(Some(message)) => step = self.deliver(message).await,
                Some(None) => step = Step::Lost,
                None => break,
            }
        }
        step
    }

    /// The first message of any kind proves the subscription; our own round trip goes no further.
    async fn deliver(&mut self, message: Message) -> Step {
        if self.prove().await == Step::Unwanted {
            return Step::Unwanted;
        }
        if message.payload.starts_with(self.mark.as_bytes()) {
            return if message.payload == self.marker {
                Step::Returned
            } else {
                Step::On
            };
        }
        let message = cap(message, self.outlet.max_bytes);
        if self.draining {
            return self.outlet.send(message).await;
        }
        self.offer(message)
    }

    /// Never waits: what is not taken out of the subscription at once would be held by it, in any size.
    fn offer(&self, message: Arrival) -> Step {
        match self.outlet.arrivals.offer(message) {
            Offered::Taken => Step::On,
            Offered::Full => {
                self.signals.dropped();
                Step::On
            }
            Offered::Unwanted => Step::Unwanted,
        }
    }

    async fn relay(&self) -> Step {
        for arrival in self.signals.take_refusals() {
            if self.outlet.send(arrival).await == Step::Unwanted {
                return Step::Unwanted;
            }
        }
        if self.signals.lost() {
            Step::Lost
        } else {
            Step::On
        }
    }

    /// One gap a second at most: in a flood every message could be one.
    async fn tell_gap(&mut self) -> Step {
        self.next_gap = Instant::now() + GAP_EVERY;
        match self.signals.take_gap() {
            Some(gap) => self.outlet.send(gap).await,
            None => Step::On,
        }
    }

    /// What had arrived before the connection went down is not lost with it.
    async fn salvage(&mut self) {
        self.signals.retire();
        self.outlet.link.send_replace(Link::Down(None));
        while let Some(Some(message)) = unconstrained(self.subscriber.next()).now_or_never() {
            if !message.payload.starts_with(self.mark.as_bytes()) {
                self.outlet.send(cap(message, self.outlet.max_bytes)).await;
            }
        }
        self.relay().await;
        self.tell_gap().await;
    }

    async fn stop(&mut self, stop: Option<Stop>) -> End {
        self.outlet.link.send_replace(Link::Closed);
        if stop.is_none() {
            return End::Unwanted;
        }
        let drained = timeout(DRAIN_LIMIT, self.drain())
            .await
            .unwrap_or(Err(Error::Undrained));
        self.tell_gap().await;
        self.signals.retire();
        End::asked(stop, drained)
    }

    /// Everything published stands before the marker on its way to the server, everything that was under
    /// way to us before it on its way back. A full subscription can drop a marker: hence the repeats.
    async fn drain(&mut self) -> Result<(), Error> {
        (self.proved, self.draining) = (true, true);
        self.round_trip().await.map_err(|_| Error::Disconnected)?;
        let mut again = Instant::now() + MARKER_REPEAT;
        loop {
            let step = tokio::select! {
                message = self.subscriber.next() => match message {
                    Some(message) => self.deliver(message).await,
                    None => Step::Lost,
                },
                () = sleep_until(again) => {
                    again = Instant::now() + MARKER_REPEAT;
                    self.round_trip().await.map_or(Step::Lost, |()| Step::On)
                }
            };
            match step {
                Step::Returned => return Ok(()),
                Step::Unwanted => return Err(Error::Closed),
                Step::Lost => return Err(Error::Disconnected),
                Step::On => {}
            }
        }
    }

    /// Sends a message to our own inbox. When it is back, the server has taken everything sent before it,
    /// and the subscription works: the client library's `flush` proves neither.
    async fn round_trip(&mut self) -> Result<(), PublishError> {
        self.trips += 1;
        self.marker = Bytes::from(format!("{} {}", self.mark, self.trips));
        self.client
            .publish(self.inbox.clone(), self.marker.clone())
            .await
    }
}

fn cap(message: Message, max_bytes: usize) -> Arrival {
    let Message {
        payload, subject, ..
    } = message;
    if payload.len() <= max_bytes {
        return Arrival::Message {
            bytes: payload,
            subject: subject.to_string(),
        };
    }
    let head = payload.get(..HEAD).unwrap_or(&payload);
    Arrival::Oversized {
        length: payload.len(),
        head: Bytes::copy_from_slice(head),
    }
}

/// How long a drain may take.
pub(crate) const DRAIN_LIMIT: Duration = Duration::from_secs(5);
/// A server that does not let us send to our own inbox never returns the round trip.
const PROOF_LIMIT: Duration = Duration::from_secs(1);
const MARKER_REPEAT: Duration = Duration::from_millis(500);
/// Messages handed over before anything else is looked at.
const AT_ONCE: usize = 1_024;
const GAP_EVERY: Duration = Duration::from_secs(1);
const HEAD: usize = 1024;
