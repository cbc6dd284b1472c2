//! The two ends of a connection: [`Nats`] to send and stop, [`NatsInbox`] to receive.

use std::time::Duration;

use async_nats::PublishErrorKind;
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};

use crate::backlog::{BacklogReader, backlog};
use crate::link::Supervisor;
use crate::live::{ConnectionState, LiveConnection};
use crate::outlet::Stop;
use crate::session::DRAIN_LIMIT;
use crate::{Arrival, Confirmation, ConnectionConfig, Error, Handle, Settlement};

/// What arrives. It must be read: when nobody does, messages are dropped and `Arrival::Gap` counts them.
/// Dropping it closes the connection.
#[derive(Debug)]
pub struct NatsInbox {
    arrivals: BacklogReader,
}

impl NatsInbox {
    /// The next arrival, or `None` after a drain. Cancel safe.
    pub async fn receive(&mut self) -> Option<Arrival> {
        self.arrivals.receive().await
    }

    /// Waits for one arrival, then takes with it what is ready, up to `max` in all, into `out`. Returns how
    /// many; 0 says that the connection was closed (or that `max` is 0). Cancel safe.
    pub async fn receive_many(&mut self, out: &mut Vec<Arrival>, max: usize) -> usize {
        self.arrivals.receive_many(out, max).await
    }
}

/// Sends over the connection and ends it. Clones share it; when the last one is dropped, the connection
/// closes without waiting for anything (see [`Nats::drain`]).
#[derive(Debug, Clone)]
pub struct Nats {
    link: watch::Receiver<ConnectionState>,
    stop: mpsc::Sender<Stop>,
    probes: mpsc::Sender<oneshot::Sender<()>>,
    max_bytes: usize,
}

impl Nats {
    /// Starts connecting in the background and returns at once: an agent starts without its server.
    /// The inbox first says `Disconnected`, then `Connected`; tries go on for ever with [`crate::Backoff`],
    /// and a refused login is an `Arrival::Refused`. Who needs the connection now waits for
    /// [`Nats::ready`].
    ///
    /// # Errors
    /// [`Error::Setting`] and [`Error::LoginFile`]: what no later try could mend.
    pub async fn connect(config: ConnectionConfig) -> Result<(Self, NatsInbox), Error> {
        // Check the settings before any task runs, so that a fault that no later try could mend is reported at once.
        config.options()?;
        let least = if config.mailbox.is_some() { PULLED } else { 1 };
        let (arrived, arrivals) = backlog(config.capacity.max(least), config.capacity_bytes);
        let (link_tx, link) = watch::channel(ConnectionState::Down(None));
        let (stop, stops) = mpsc::channel(1);
        let (probes, asked) = mpsc::channel(1);
        let max_bytes = config.max_bytes;
        let supervisor = Supervisor::new(config, link_tx, arrived, stops);
        tokio::spawn(answering(asked, supervisor.run()));
        Ok((
            Self {
                link,
                stop,
                probes,
                max_bytes,
            },
            NatsInbox { arrivals },
        ))
    }

    /// Waits until the connection is up.
    ///
    /// # Errors
    /// [`Error::LoginRefused`] and [`Error::Tls`] at once; after `within` whatever stood in the way.
    pub async fn ready(&self, within: Duration) -> Result<(), Error> {
        let mut link = self.link.clone();
        let settled = link.wait_for(|link| !link.may_come_up());
        if let Ok(Err(_)) = tokio::time::timeout(within, settled).await {
            return Err(Error::Closed);
        }
        self.link.borrow().live().map(drop)
    }

    /// Whether the connection is up, as far as this side knows: a server that went silent is noticed
    /// within 15 seconds.
    #[must_use]
    pub fn connected(&self) -> bool {
        matches!(*self.link.borrow(), ConnectionState::Up(_))
    }

    /// Resolves when the task that owns the connection has answered: it is there, and not stuck within a step. What
    /// it waits for, such as a server or somebody who reads the inbox, is no fault of it.
    ///
    /// # Errors
    /// [`Error::Closed`] when there is no such task any more.
    pub async fn probe(&self) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        let asked = self.probes.send(answer).await;
        asked.map_err(|_| Error::Closed)?;
        answered.await.map_err(|_| Error::Closed)
    }

    /// Whether our mail comes out of a mailbox at this moment.
    #[must_use]
    pub fn has_mailbox(&self) -> bool {
        matches!(&*self.link.borrow(), ConnectionState::Up(live) if live.has_mailbox)
    }

    /// Hands `bytes` to the connection. `Ok` promises nothing: they may be lost with the connection, and
    /// the server may refuse them, which comes as `Arrival::Refused`. Whether the peer's mailbox holds them is
    /// told by the [`Confirmation`], where this side was given a mailbox. Waits while the connection is slower
    /// than its users, and no longer than it lives.
    ///
    /// # Errors
    /// [`Error::Disconnected`] at once when it is down; [`Error::TooLarge`], [`Error::Subject`],
    /// [`Error::Closed`].
    pub async fn publish(&self, subject: String, bytes: Bytes) -> Result<Confirmation, Error> {
        let LiveConnection {
            client,
            confirmations,
            ..
        } = self.live()?;
        // Hold to the smaller of two limits: the server would end the connection over a message that is larger than it allows.
        let limit = self.max_bytes.min(client.max_payload());
        let length = bytes.len();
        if length > limit {
            return Err(Error::TooLarge { length, limit });
        }
        if !publishable(&subject) {
            return Err(Error::Subject { subject });
        }
        // Expect the confirmation before the message is sent: it may be back before `publish` returns.
        let expected = confirmations.and_then(|confirmations| confirmations.expect(&subject));
        let (sent, confirmation) = match expected {
            Some((reply, confirmation)) => {
                let sent = client.publish_with_reply(subject.clone(), reply, bytes);
                (self.while_up(sent).await?, confirmation)
            }
            None => {
                let sent = client.publish(subject.clone(), bytes);
                (self.while_up(sent).await?, Confirmation::never())
            }
        };
        sent.map(|()| confirmation).map_err(|e| match e.kind() {
            PublishErrorKind::InvalidSubject => Error::Subject { subject },
            PublishErrorKind::MaxPayloadExceeded => Error::TooLarge { length, limit },
            PublishErrorKind::Send => Error::Disconnected,
        })
    }

    /// Tells the broker what became of a message, as [`Nats::settle_all`] does.
    ///
    /// # Errors
    /// As [`Nats::settle_all`].
    pub async fn settle(&self, handle: &Handle, settlement: Settlement) -> Result<(), Error> {
        self.settle_all([(handle.clone(), settlement)]).await
    }

    /// Tells the broker what became of messages. `Ok` says that the words stand in the connection's queue; if one of
    /// them is lost, its message comes again.
    ///
    /// # Errors
    /// [`Error::Stale`] when a handle is of a store that was lost meanwhile: the others are told;
    /// [`Error::Disconnected`], [`Error::Closed`].
    pub async fn settle_all(
        &self,
        settled: impl IntoIterator<Item = (Handle, Settlement)>,
    ) -> Result<(), Error> {
        let live = self.live()?;
        let era = live.store.era();
        let told = async {
            let mut outcome = Ok(());
            for (handle, settlement) in settled {
                // If the store was lost after this delivery, the new store numbers its messages from the beginning. Refuse the
                // settlement: it would settle another message.
                if handle.era() != era {
                    outcome = Err(Error::Stale);
                    continue;
                }
                let told = live
                    .client
                    .publish(handle.into_reply(), settlement.payload());
                told.await.map_err(|_| Error::Disconnected)?;
            }
            outcome
        };
        self.while_up(told).await?
    }

    /// Waits until what was published before has been given to the socket. That is not yet the server:
    /// only [`Nats::drain`] waits for it.
    ///
    /// # Errors
    /// [`Error::Disconnected`] when the connection is, or went, down; [`Error::Closed`].
    pub async fn flush(&self) -> Result<(), Error> {
        let live = self.live()?;
        self.while_up(live.client.flush())
            .await?
            .map_err(|_| Error::Disconnected)
    }

    /// The first half of a clean stop: hands over what is under way, then [`Arrival::Stopped`]. What comes
    /// later stays in the mailbox, or is lost on core NATS. Sending and settling go on until
    /// [`Nats::drain`]; the inbox is to be read until it ends.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub async fn stop_reading(&self) -> Result<(), Error> {
        let asked = self.stop.send(Stop::Reading).await;
        asked.map_err(|_| Error::Closed)
    }

    /// A clean stop. Refuses further publishes; sends a round trip behind everything published before;
    /// keeps handing what arrives to the inbox until it is back; then closes the connection, and the inbox
    /// ends once read. Read the inbox meanwhile.
    ///
    /// # Errors
    /// [`Error::Disconnected`] when the connection was down; [`Error::Undrained`] when the round trip was
    /// not back within 5 seconds. The connection is closed in either case (as soon as the inbox is read or
    /// dropped).
    pub async fn drain(self) -> Result<(), Error> {
        let (done, outcome) = oneshot::channel();
        let stop = self.stop.send(Stop::Closing(done)).await;
        stop.map_err(|_| Error::Closed)?;
        // The session gives up by itself after DRAIN_LIMIT. Wait GRACE longer, so that its answer still arrives.
        match tokio::time::timeout(DRAIN_LIMIT + GRACE, outcome).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(Error::Undrained),
        }
    }

    fn live(&self) -> Result<LiveConnection, Error> {
        match &*self.link.borrow() {
            ConnectionState::Up(live) => Ok(live.clone()),
            ConnectionState::Down(_) => Err(Error::Disconnected),
            ConnectionState::Closed => Err(Error::Closed),
        }
    }

    /// `work`, unless the connection goes down first.
    async fn while_up<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let mut link = self.link.clone();
        // While the client's queue is full, a publish waits for room. On a lost connection no room ever comes, so stop waiting
        // when the link goes down.
        tokio::select! {
            biased;
            done = work => Ok(done),
            _ = link.wait_for(|link| matches!(link, ConnectionState::Down(_))) => Err(Error::Disconnected),
        }
    }
}

fn publishable(subject: &str) -> bool {
    let part = |part: &str| !matches!(part, "" | "*" | ">");
    subject.split('.').all(part)
}

/// Runs the supervisor, and answers in the same task who asks whether that task lives.
async fn answering(mut probes: mpsc::Receiver<oneshot::Sender<()>>, run: impl Future<Output = ()>) {
    let mut run = std::pin::pin!(run);
    loop {
        tokio::select! {
            () = &mut run => return,
            // The caller that asked whether this task lives may have stopped waiting: it does not matter that the sending then
            // fails.
            Some(probe) = probes.recv() => drop(probe.send(())),
        }
    }
}

const GRACE: Duration = Duration::from_secs(1);
/// A mailbox is read in batches, and two of them may be under way.
const PULLED: usize = 1_024;
