//! One task owns the connection: it connects, hands over while a session lasts, and begins again.
//!
//! The client library's own reconnecting is not used: after a disconnect it would take 2,048 publishes
//! that go nowhere, then block, and a refused login would loop unseen. Each client here lives for one
//! connection.

use std::sync::Arc;
use std::time::Duration;

use async_nats::client::Client;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::backlog::{Backlog, Offered};
use crate::session::{End, Outlet, Session};
use crate::signals::Signals;
use crate::{Arrival, Backoff, Config, Error};

/// What is known of the connection.
#[derive(Debug)]
pub(crate) enum Link {
    /// Being restored; the error of the last try.
    Down(Option<Error>),
    Up(Client),
    Closed,
}

impl Link {
    pub(crate) fn client(&self) -> Result<&Client, Error> {
        match self {
            Self::Up(client) => Ok(client),
            Self::Down(why) => Err(why.clone().unwrap_or(Error::Disconnected)),
            Self::Closed => Err(Error::Closed),
        }
    }

    /// Whether waiting is sensible: a refused login or certificate needs a person.
    pub(crate) fn may_come_up(&self) -> bool {
        matches!(self, Self::Down(why) if !why.as_ref().is_some_and(Error::needs_a_person))
    }
}

/// Asks the supervisor to drain, and carries the outcome back.
pub(crate) type Stop = oneshot::Sender<Result<(), Error>>;

pub(crate) struct Supervisor {
    config: Config,
    outlet: Outlet,
    stops: mpsc::Receiver<Stop>,
    backoff: Backoff,
    tries: usize,
}

impl Supervisor {
    pub(crate) fn new(
        config: Config,
        link: watch::Sender<Link>,
        arrivals: Backlog,
        stops: mpsc::Receiver<Stop>,
    ) -> Self {
        let outlet = Outlet {
            arrivals,
            link: Arc::new(link),
            max_bytes: config.max_bytes,
        };
        Self {
            config,
            outlet,
            stops,
            backoff: Backoff::new(),
            tries: 0,
        }
    }

    pub(crate) async fn run(mut self) {
        let end = self.keep_connected().await;
        self.outlet.link.send_replace(Link::Closed);
        drop(self.outlet);
        if let End::Asked(done, outcome) = end {
            // Who asked may have given up waiting.
            let _ = done.send(outcome);
        }
    }

    async fn keep_connected(&mut self) -> End {
        loop {
            if self.outlet.arrivals.send(Arrival::Disconnected).await == Offered::Unwanted {
                return End::Unwanted;
            }
            let mut session = match self.restore().await {
                Ok(session) => session,
                Err(end) => return end,
            };
            if let Some(end) = session.hand_over(&mut self.stops).await {
                return end;
            }
            if session.proved() {
                self.backoff.reset();
            }
            tracing::warn!("lost the connection to the NATS server");
        }
    }

    /// Tries until there is a connection, or nobody wants one any more.
    async fn restore(&mut self) -> Result<Session, End> {
        let mut told = None;
        loop {
            let wait = self.wait();
            tokio::select! {
                biased;
                stop = self.stops.recv() => {
                    return Err(End::asked(stop, Err(Error::Disconnected)));
                }
                () = self.outlet.arrivals.closed() => return Err(End::Unwanted),
                () = sleep(wait) => {}
            }
            match self.attempt().await {
                Ok(session) => return Ok(session),
                Err(error) => self.report(error, &mut told).await,
            }
        }
    }

    /// The very first try goes out at once.
    fn wait(&mut self) -> Duration {
        if self.tries == 0 {
            Duration::ZERO
        } else {
            self.backoff.wait()
        }
    }

    async fn attempt(&mut self) -> Result<Session, Error> {
        let servers = &self.config.servers;
        let server = servers
            .get(self.tries % servers.len().max(1))
            .cloned()
            .unwrap_or_default();
        self.tries = self.tries.wrapping_add(1);
        let signals = Arc::new(Signals::new(Arc::clone(&self.outlet.link)));
        let heard = Arc::clone(&signals);
        let options = self
            .config
            .options()?
            .max_reconnects(1)
            .event_callback(move |event| {
                heard.hear(event);
                std::future::ready(())
            });
        let client = match timeout(CONNECT_LIMIT, options.connect(server.as_str())).await {
            Ok(connected) => connected.map_err(|e| Error::from_connect(server.clone(), &e))?,
            Err(_) => {
                return Err(Error::Unreachable {
                    server,
                    reason: "timed out".into(),
                });
            }
        };
        let session = Session::open(
            client,
            signals,
            self.config.inbox.clone(),
            self.outlet.clone(),
        );
        session
            .await
            .map_err(|reason| Error::Unreachable { server, reason })
    }

    /// Each trouble is told once, not at every try.
    async fn report(&self, error: Error, told: &mut Option<Error>) {
        self.outlet
            .link
            .send_replace(Link::Down(Some(error.clone())));
        if told.as_ref() == Some(&error) {
            return;
        }
        tracing::warn!("{error}");
        if matches!(error, Error::LoginRefused { .. }) {
            self.outlet
                .send(Arrival::Refused {
                    what: error.to_string(),
                })
                .await;
        }
        *told = Some(error);
    }
}

/// Name resolution included, which the client library leaves unbounded.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
