//! One task owns the connection: it connects, hands over while a session lasts, and begins again.
//!
//! The client library's own reconnecting is not used: after a disconnect it would take 2,048 publishes
//! that go nowhere, then block, and a refused login would loop unseen. Each client here lives for one
//! connection.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::client::Client;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::backlog::{Backlog, BacklogResult};
use crate::connection::Connection;
use crate::live::ConnectionState;
use crate::outlet::{GaveUp, Outlet, Stop};
use crate::servers::ServerPool;
use crate::signals::Signals;
use crate::store::MailboxStore;
use crate::{Arrival, Backoff, ConnectionConfig, Error};

pub(crate) struct Supervisor {
    config: ConnectionConfig,
    outlet: Outlet,
    store: Arc<MailboxStore>,
    stops: mpsc::Receiver<Stop>,
    backoff: Backoff,
    /// When the last connection was lost.
    lost: Instant,
    servers: ServerPool,
}

impl Supervisor {
    pub(crate) fn new(
        config: ConnectionConfig,
        link: watch::Sender<ConnectionState>,
        arrivals: Backlog,
        stops: mpsc::Receiver<Stop>,
    ) -> Self {
        let outlet = Outlet {
            arrivals,
            link: Arc::new(link),
            inbox: config.inbox.as_str().into(),
            max_bytes: config.max_bytes,
        };
        Self {
            servers: ServerPool::new(config.servers.clone()),
            config,
            outlet,
            store: Arc::default(),
            stops,
            backoff: Backoff::new(),
            lost: Instant::now(),
        }
    }

    pub(crate) async fn run(mut self) {
        let end = self.keep_connected().await;
        // Close the link before the inbox ends: the answer to a message that is published in between would come when nobody
        // can receive it.
        self.outlet.link.send_replace(ConnectionState::Closed);
        drop(self.outlet);
        if let GaveUp::Asked(done, outcome) = end {
            // The task that asked for the end may have stopped waiting: it does not matter that the sending then fails.
            let _ = done.send(outcome);
        }
    }

    async fn keep_connected(&mut self) -> GaveUp {
        loop {
            if self.outlet.arrivals.send(Arrival::Disconnected).await == BacklogResult::Unwanted {
                return GaveUp::Unwanted;
            }
            let (server, mut connection) = match self.restore().await {
                Ok(connected) => connected,
                Err(end) => return end,
            };
            self.learn(&server, &connection);
            if let Some(end) = connection.hand_over(&mut self.stops).await {
                return end;
            }
            if connection.stopped() {
                return self.closed().await;
            }
            // Reset the pause only if the connection has worked: a server that accepts logins and nothing more is tried
            // ever more slowly.
            if connection.proved() {
                self.backoff.reset();
            }
            // Servers that joined the cluster while this connection lasted are known as well.
            self.learn(&server, &connection);
            self.lost = Instant::now();
            tracing::warn!("lost the connection to the NATS server");
        }
    }

    /// Tries until there is a connection, or nobody wants one any more.
    async fn restore(&mut self) -> Result<(String, Connection), GaveUp> {
        let mut told = ReportedFaults::default();
        loop {
            let wait = self.wait();
            tokio::select! {
                biased;
                stop = self.stops.recv() => return Err(self.stop(stop).await),
                () = self.outlet.arrivals.closed() => return Err(GaveUp::Unwanted),
                () = sleep(wait) => {}
            }
            let server = self.servers.take();
            let attempt = attempt(&self.config, &self.store, &self.outlet, &server);
            let connected = tokio::select! {
                biased;
                stop = self.stops.recv() => return Err(self.stop(stop).await),
                connected = attempt => connected,
            };
            match connected {
                Ok(connection) => return Ok((server, connection)),
                Err(error) => self.report(server, error, &mut told).await,
            }
        }
    }

    /// Nothing is read any more, and there is no connection to send over: only the end is waited for.
    async fn stop(&mut self, stop: Option<Stop>) -> GaveUp {
        match stop {
            Some(Stop::Closing(done)) => GaveUp::Asked(done, Err(Error::Disconnected)),
            Some(Stop::Reading) => {
                self.outlet.send(Arrival::Stopped).await;
                self.closed().await
            }
            None => GaveUp::Unwanted,
        }
    }

    async fn closed(&mut self) -> GaveUp {
        loop {
            tokio::select! {
                () = self.outlet.arrivals.closed() => return GaveUp::Unwanted,
                stop = self.stops.recv() => match stop {
                    Some(Stop::Closing(done)) => return GaveUp::Asked(done, Err(Error::Disconnected)),
                    Some(Stop::Reading) => {}
                    None => return GaveUp::Unwanted,
                },
            }
        }
    }

    /// The very first try goes out at once.
    fn wait(&mut self) -> Duration {
        match self.servers.is_fresh() {
            true => Duration::ZERO,
            false if self.lost.elapsed() < SHORT => self.backoff.wait().min(SOON),
            false => self.backoff.wait(),
        }
    }

    fn learn(&mut self, server: &str, connection: &Connection) {
        if self.config.discovers_servers {
            self.servers.learn(server, &connection.cluster());
        }
    }

    /// Each trouble of each server is told once, not at every try.
    async fn report(&self, server: String, error: Error, told: &mut ReportedFaults) {
        self.outlet
            .link
            .send_replace(ConnectionState::Down(Some(error.clone())));
        if told.errors.values().any(|before| *before == error) {
            return;
        }
        tracing::warn!("{error}");
        let is_refused = matches!(error, Error::LoginRefused { .. });
        if is_refused {
            let what = error.to_string();
            self.outlet.send(Arrival::Refused(what)).await;
        } else if told.is_refused {
            // The trouble is no longer a refused login: `Disconnected` takes back the refused login that was reported before.
            self.outlet.send(Arrival::Disconnected).await;
        }
        told.is_refused = is_refused;
        told.errors.insert(server, error);
    }
}

/// The troubles with servers that were told since the connection was lost.
#[derive(Default)]
struct ReportedFaults {
    /// The newest trouble of each server.
    errors: HashMap<String, Error>,
    /// Whether the last that was said is a refused login.
    is_refused: bool,
}

/// One try, which a stop may end at any place.
async fn attempt(
    config: &ConnectionConfig,
    store: &Arc<MailboxStore>,
    outlet: &Outlet,
    server: &str,
) -> Result<Connection, Error> {
    let signals = Arc::new(Signals::new(Arc::clone(&outlet.link)));
    let heard = Arc::clone(&signals);
    let options = config
        .options()?
        // Allow as few reconnects as the client library can: this task itself connects anew. The library takes 0 as
        // "without limit", so 1 is the least.
        .max_reconnects(1)
        .event_callback(move |event| {
            heard.hear(event);
            std::future::ready(())
        });
    let client = connect(options, server).await?;
    let opened = Connection::open(client, config, store, signals, outlet.clone());
    opened.await.map_err(|reason| Error::Unreachable {
        server: server.to_owned(),
        reason,
    })
}

/// One connection to one server.
pub(crate) async fn connect(
    options: async_nats::ConnectOptions,
    server: &str,
) -> Result<Client, Error> {
    let unreachable = || Error::Unreachable {
        server: server.to_owned(),
        reason: "timed out".into(),
    };
    match timeout(CONNECT_LIMIT, options.connect(server)).await {
        Ok(connected) => connected.map_err(|e| Error::from_connect(server.to_owned(), &e)),
        Err(_) => Err(unreachable()),
    }
}

/// A line that was cut for seconds does not keep the mail waiting for as long again: until it was down for so long, a
/// try follows within so long.
const SHORT: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(2);
/// Name resolution included, which the client library leaves unbounded.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
