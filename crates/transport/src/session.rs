//! One connection from its subscription to its end.

use std::sync::Arc;
use std::time::Duration;

use async_nats::header::NATS_EXPECTED_STREAM;
use async_nats::{HeaderMap, Message, PublishError, Subscriber};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::unconstrained;
use tokio::time::{Instant, sleep_until, timeout};

use crate::backlog::BacklogResult;
use crate::confirm::ConfirmationTask;
use crate::live::{ConnectionState, LiveConnection};
use crate::outlet::{Flow, GaveUp, Outlet, Stop};
use crate::signals::Signals;
use crate::{Arrival, Error};

pub(crate) struct NatsSession {
    live: LiveConnection,
    /// Why there is no mailbox, where one was asked for.
    without: Option<String>,
    subscriber: Subscriber,
    signals: Arc<Signals>,
    inbox: String,
    outlet: Outlet,
    /// How the payload of every round trip of ours begins, those of former connections included.
    mark: String,
    /// The payload of the newest.
    marker: Bytes,
    proved: bool,
    draining: bool,
    stopped: bool,
    next_gap: Instant,
    _listener: Option<ConfirmationTask>,
}

impl NatsSession {
    /// Subscribes, and sends a round trip to prove it.
    pub(crate) async fn open(
        live: LiveConnection,
        without: Option<String>,
        signals: Arc<Signals>,
        inbox: String,
        outlet: Outlet,
        listener: Option<ConfirmationTask>,
    ) -> Result<Self, String> {
        let client = &live.client;
        let subscriber = client
            .subscribe(inbox.clone())
            .await
            .map_err(|e| e.to_string())?;
        let mark = format!("signet-transport round trip {}", live.store.mark(client));
        let mut session = Self {
            live,
            without,
            subscriber,
            signals,
            inbox,
            outlet,
            mark,
            marker: Bytes::new(),
            proved: false,
            draining: false,
            stopped: false,
            next_gap: Instant::now(),
            _listener: listener,
        };
        session.round_trip().await.map_err(|e| e.to_string())?;
        Ok(session)
    }

    pub(crate) fn proved(&self) -> bool {
        self.proved
    }

    pub(crate) fn live(&self) -> &LiveConnection {
        &self.live
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Until the connection is lost (`None`) or to be closed.
    pub(crate) async fn hand_over(&mut self, stops: &mut mpsc::Receiver<Stop>) -> Option<GaveUp> {
        let proof = Instant::now() + PROOF_LIMIT;
        loop {
            let step = tokio::select! {
                biased;
                stop = stops.recv() => match stop {
                    Some(Stop::Reading) => self.stop_reading().await,
                    Some(Stop::Closing(done)) => return Some(self.close(done).await),
                    None => return Some(GaveUp::Unwanted),
                },
                () = self.outlet.arrivals.closed() => return Some(GaveUp::Unwanted),
                () = self.signals.raised() => self.outlet.relay(&self.signals).await,
                () = sleep_until(self.next_gap), if self.signals.gap_open() => self.tell_gap().await,
                message = self.subscriber.next() => match message {
                    Some(message) => self.deliver_ready(message).await,
                    None => Flow::Lost,
                },
                () = sleep_until(proof), if !self.proved => self.prove().await,
            };
            match step {
                Flow::On | Flow::Returned => {}
                Flow::Lost => {
                    self.salvage().await;
                    return None;
                }
                Flow::Unwanted => return Some(GaveUp::Unwanted),
            }
        }
    }

    /// The subscription is in effect (or the server will not let us prove it): say so.
    async fn prove(&mut self) -> Flow {
        if std::mem::replace(&mut self.proved, true) {
            return Flow::On;
        }
        self.outlet
            .link
            .send_replace(ConnectionState::Up(self.live.clone()));
        tracing::info!("connected to the NATS server");
        let why = self.without.clone();
        let news = [Some(Arrival::Connected), why.map(Arrival::NoMailbox)];
        let mut step = Flow::On;
        for arrival in news.into_iter().flatten().chain([Arrival::Drained]) {
            if step == Flow::On {
                step = self.outlet.send(arrival).await;
            }
        }
        // Look whether the connection was lost before it was marked as up: at that time `signals` could not mark it as down.
        if self.signals.lost() {
            Flow::Lost
        } else {
            step
        }
    }

    /// `message`, and behind it what is there already: asking for everything else before each one
    /// costs more than handing it over.
    async fn deliver_ready(&mut self, message: Message) -> Flow {
        let mut step = self.deliver(message).await;
        for _ in 1..AT_ONCE {
            if step != Flow::On {
                break;
            }
            // `unconstrained`: once the task's budget is used up, tokio would otherwise report no message although some wait.
            match unconstrained(self.subscriber.next()).now_or_never() {
                Some(Some(message)) => step = self.deliver(message).await,
                Some(None) => step = Flow::Lost,
                None => break,
            }
        }
        step
    }

    /// The first message of any kind proves the subscription; our own round trip goes no further.
    async fn deliver(&mut self, message: Message) -> Flow {
        if self.prove().await == Flow::Unwanted {
            return Flow::Unwanted;
        }
        // A message with our mark is a round trip and no mail. A round trip of an earlier connection may come late: drop it.
        if message.payload.starts_with(self.mark.as_bytes()) {
            return if message.payload == self.marker {
                Flow::Returned
            } else {
                Flow::On
            };
        }
        let message = self.outlet.cap(message, None);
        // While the session drains, wait for room instead of dropping a message: a stop promises to hand over all of them.
        if self.draining {
            return self.outlet.send(message).await;
        }
        self.offer(message)
    }

    /// Never waits: what is not taken out of the subscription at once would be held by it, in any size.
    fn offer(&self, message: Arrival) -> Flow {
        match self.outlet.arrivals.offer(message) {
            BacklogResult::Taken => Flow::On,
            BacklogResult::Full => {
                self.signals.dropped();
                Flow::On
            }
            BacklogResult::Unwanted => Flow::Unwanted,
        }
    }

    /// One gap a second at most: in a flood every message could be one.
    async fn tell_gap(&mut self) -> Flow {
        self.next_gap = Instant::now() + GAP_EVERY;
        match self.signals.take_gap() {
            Some(gap) => self.outlet.send(gap).await,
            None => Flow::On,
        }
    }

    /// What had arrived before the connection went down is not lost with it.
    async fn salvage(&mut self) {
        self.signals.retire();
        self.outlet.link.send_replace(ConnectionState::Down(None));
        while let Some(Some(message)) = unconstrained(self.subscriber.next()).now_or_never() {
            if !message.payload.starts_with(self.mark.as_bytes()) {
                self.outlet.send(self.outlet.cap(message, None)).await;
            }
        }
        self.outlet.relay(&self.signals).await;
        self.tell_gap().await;
    }

    /// Hands over what is under way to us, then says that this was all.
    async fn stop_reading(&mut self) -> Flow {
        // Ignore a drain that failed or took too long: what has not come by then is lost, because core NATS keeps no messages.
        let _ = timeout(DRAIN_LIMIT, self.drain()).await;
        self.tell_gap().await;
        self.stopped = true;
        self.outlet.send(Arrival::Stopped).await
    }

    async fn close(&mut self, done: oneshot::Sender<Result<(), Error>>) -> GaveUp {
        self.outlet.link.send_replace(ConnectionState::Closed);
        let drained = timeout(DRAIN_LIMIT, self.drain())
            .await
            .unwrap_or(Err(Error::Undrained));
        self.tell_gap().await;
        self.signals.retire();
        GaveUp::Asked(done, drained)
    }

    /// Everything published stands before the marker on its way to the server, everything that was under
    /// way to us before it on its way back. A full subscription can drop a marker: hence the repeats.
    async fn drain(&mut self) -> Result<(), Error> {
        // Count the session as proved: otherwise the first message of a new connection would still report `Connected`
        // and set the link to `Up`, although the caller has asked for a stop.
        (self.proved, self.draining) = (true, true);
        self.round_trip().await.map_err(|_| Error::Disconnected)?;
        let mut again = Instant::now() + MARKER_REPEAT;
        loop {
            let step = tokio::select! {
                message = self.subscriber.next() => match message {
                    Some(message) => self.deliver(message).await,
                    None => Flow::Lost,
                },
                () = sleep_until(again) => {
                    again = Instant::now() + MARKER_REPEAT;
                    self.round_trip().await.map_or(Flow::Lost, |()| Flow::On)
                }
            };
            match step {
                Flow::Returned => return Ok(()),
                Flow::Unwanted => return Err(Error::Closed),
                Flow::Lost => return Err(Error::Disconnected),
                Flow::On => {}
            }
        }
    }

    /// Sends a message to our own inbox. When it is back, the server has taken everything sent before it,
    /// and the subscription works: the client library's `flush` proves neither. No stream stores it that
    /// takes the inbox meanwhile: it would come again as somebody's mail.
    async fn round_trip(&mut self) -> Result<(), PublishError> {
        let trip = self.live.store.next_trip();
        self.marker = Bytes::from(format!("{} {trip}", self.mark));
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_STREAM, NO_STREAM);
        let client = &self.live.client;
        let sent = client.publish_with_headers(self.inbox.clone(), headers, self.marker.clone());
        sent.await
    }
}

/// A stream refuses a message that is for another, and no stream's name has a point.
const NO_STREAM: &str = "none.at.all";
/// How long a drain may take.
pub(crate) const DRAIN_LIMIT: Duration = Duration::from_secs(5);
/// A server that does not let us send to our own inbox never returns the round trip.
const PROOF_LIMIT: Duration = Duration::from_secs(1);
const MARKER_REPEAT: Duration = Duration::from_millis(500);
/// Messages handed over before anything else is looked at.
const AT_ONCE: usize = 1_024;
const GAP_EVERY: Duration = Duration::from_secs(1);
