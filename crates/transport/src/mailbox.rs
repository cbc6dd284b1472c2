//! One connection whose mail comes out of a JetStream mailbox: pulled in batches, each message with the
//! handle that settles it.
//!
//! The client library's pull stream is not used: docs/decisions/0013-our-own-reader-of-mailboxes.md says why.

mod looks;
mod readers;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio::task::unconstrained;
use tokio::time::{Instant, sleep_until};

use crate::confirm::ConfirmationTask;
use crate::drained::Drained;
use crate::handle::reply_of;
use crate::live::{ConnectionState, LiveConnection};
use crate::outlet::{Flow, GaveUp, Outlet, Stop};
use crate::pulls::{PullStatus, Pulls};
use crate::signals::Signals;
use crate::standing::{ConsumerInfo, ask};
use crate::{Arrival, Error, Handle, Mailbox, Settlement};

pub(crate) struct MailboxSession {
    live: LiveConnection,
    mailbox: Mailbox,
    /// Where pulled messages and the server's words about pulls come.
    inbox: String,
    pulled: Option<Subscriber>,
    signals: Arc<Signals>,
    outlet: Outlet,
    pulls: Pulls,
    heard: Instant,
    /// When the mailbox was there for certain.
    certain: Instant,
    drained: Drained,
    /// Whether a delivery passes more than one server on its way.
    in_cluster: bool,
    _listener: Option<ConfirmationTask>,
}

impl MailboxSession {
    /// Begins to read the mailbox that `standing` tells of.
    pub(crate) async fn open(
        live: LiveConnection,
        mailbox: Mailbox,
        standing: &ConsumerInfo,
        signals: Arc<Signals>,
        outlet: Outlet,
        listener: Option<ConfirmationTask>,
    ) -> Result<Self, String> {
        // Each connection has its own reply subject, so that answers to the pulls of a lost connection do not come here.
        let (inbox, now) = (live.client.new_inbox(), Instant::now());
        let pulled = live.client.subscribe(inbox.clone()).await;
        let pulled = pulled.map_err(|e| e.to_string())?;
        let missing = live.store.caution().begin(standing, now);
        live.store.readers().begin(standing, now);
        let in_cluster = mailbox.domain.is_some() || live.client.server_info().cluster.is_some();
        let session = Self {
            pulled: Some(pulled),
            drained: Drained::expected(standing, now),
            live,
            mailbox,
            inbox,
            signals,
            outlet,
            pulls: Pulls::new(now),
            heard: now,
            certain: now,
            in_cluster,
            _listener: listener,
        };
        // Ask for the missing messages before the first pull, so that they come before new messages. Where this connection does
        // not read, what is not settled is another's, which still works at it.
        if session.may_read() {
            session.ask_again(missing, standing.deliveries).await;
        }
        Ok(session)
    }

    pub(crate) fn live(&self) -> &LiveConnection {
        &self.live
    }

    pub(crate) fn stopped(&self) -> bool {
        self.pulled.is_none()
    }

    /// Until the connection is lost (`None`) or to be closed.
    pub(crate) async fn hand_over(
        &mut self,
        lost_before: bool,
        stops: &mut mpsc::Receiver<Stop>,
    ) -> Option<GaveUp> {
        let mut step = self.begin(lost_before).await;
        loop {
            match step {
                Flow::On | Flow::Returned => {}
                Flow::Lost => {
                    self.salvage().await;
                    return None;
                }
                Flow::Unwanted => return Some(GaveUp::Unwanted),
            }
            step = self.pull_if_room().await;
            if step != Flow::On {
                continue;
            }
            let silence = self.heard + SILENCE;
            let (look, reads) = (self.next_look_at_readers(), !self.stopped());
            // `biased` tries the arms in this order: so no flood of mail delays a stop, or the report of what the
            // server refused.
            step = tokio::select! {
                biased;
                stop = stops.recv() => match stop {
                    Some(Stop::Reading) => self.stop_reading().await,
                    Some(Stop::Closing(done)) => return Some(self.close(done).await),
                    None => return Some(GaveUp::Unwanted),
                },
                () = self.outlet.arrivals.closed() => return Some(GaveUp::Unwanted),
                () = self.signals.raised() => self.outlet.relay(&self.signals).await,
                message = next(&mut self.pulled) => match message {
                    Some(message) => self.deliver_ready(message).await,
                    None => Flow::Lost,
                },
                () = self.outlet.arrivals.room(), if self.waits_for_room() => Flow::On,
                () = sleep_until(self.pulls.next()), if self.waits_to_pull() => Flow::On,
                () = sleep_until(silence), if self.pulls.asked() > 0 => self.look_after().await,
                () = sleep_until(self.drained.next_look()), if self.waits_for_rest() => {
                    self.look_at_rest().await
                }
                () = sleep_until(look), if reads => {
                    self.look_at_readers().await
                }
            };
        }
    }

    async fn begin(&mut self, lost_before: bool) -> Flow {
        self.outlet
            .link
            .send_replace(ConnectionState::Up(self.live.clone()));
        tracing::info!("connected to the NATS server; the mail comes out of the mailbox");
        let mut step = self.outlet.send(Arrival::Connected).await;
        if lost_before && step == Flow::On {
            step = self.outlet.send(Arrival::StoreLost).await;
        }
        if step == Flow::On {
            step = self.tell_drained().await;
        }
        // Look whether the connection was lost before it was marked as up: at that time `signals` could not mark it as down.
        if self.signals.lost() {
            Flow::Lost
        } else {
            step
        }
    }

    fn wants_more(&self) -> bool {
        self.may_read() && self.pulls.asked() <= self.batch() / 2
    }

    fn batch(&self) -> usize {
        let careful = self.live.store.caution().is_on(Instant::now());
        if careful { 1 } else { BATCH }
    }

    fn waits_for_rest(&self) -> bool {
        self.may_read() && self.drained.wants_a_look()
    }

    fn waits_to_pull(&self) -> bool {
        self.wants_more() && !self.waits_for_room()
    }

    fn waits_for_room(&self) -> bool {
        self.wants_more() && !self.outlet.arrivals.has_room(2 * BATCH)
    }

    /// Asks for the next batch when most of the last has come and there is room for it: what is not asked
    /// for waits at the broker, in any number.
    async fn pull_if_room(&mut self) -> Flow {
        let now = Instant::now();
        if !self.waits_to_pull() || now < self.pulls.next() {
            return Flow::On;
        }
        let batch = self.batch();
        let request = format!(
            "{{\"batch\":{batch},\"max_bytes\":{BATCH_BYTES},\"expires\":{},\"idle_heartbeat\":{}}}",
            EXPIRES.as_nanos(),
            HEARTBEAT.as_nanos()
        );
        let subject = self.mailbox.api("CONSUMER.MSG.NEXT");
        let client = &self.live.client;
        let sent = client.publish_with_reply(subject, self.inbox.clone(), Bytes::from(request));
        if sent.await.is_err() {
            return Flow::Lost;
        }
        // Measure the server's silence from this pull on: without an open pull the server owes no sign of life.
        if self.pulls.asked() == 0 {
            self.heard = now;
        }
        self.pulls.sent(batch, now);
        self.live.store.readers().pulled(now, EXPIRES);
        Flow::On
    }

    /// Asks again for mail that was delivered to the lost connection: it comes at once instead of after 30 s. Among
    /// these numbers are messages of others, and some that are settled; the server passes over them.
    async fn ask_again(&self, numbers: Range<u64>, last: u64) {
        if numbers.is_empty() {
            return;
        }
        tracing::debug!(?numbers, "mail was lost with the connection; asking again");
        let like = self.live.store.caution().like();
        for number in numbers {
            let reply = reply_of(&self.mailbox, like.as_ref(), number, last);
            let payload = Settlement::Nak(Duration::ZERO).payload();
            if self.live.client.publish(reply, payload).await.is_err() {
                return;
            }
        }
    }

    /// `message`, and behind it what is there already.
    async fn deliver_ready(&mut self, message: Message) -> Flow {
        let mut step = self.deliver(message).await;
        for _ in 1..AT_ONCE {
            if step != Flow::On {
                return step;
            }
            match ready(&mut self.pulled) {
                Some(Some(message)) => step = self.deliver(message).await,
                Some(None) => step = Flow::Lost,
                None => break,
            }
        }
        if step == Flow::On {
            self.tell_drained().await
        } else {
            step
        }
    }

    /// What the server says of a pull comes on the subject of the pull, and what it delivers with the reply
    /// subject of a delivery: nobody else can send either.
    async fn deliver(&mut self, mut message: Message) -> Flow {
        self.heard = Instant::now();
        if message.subject.as_str() == self.inbox {
            return self.hear(&message).await;
        }
        let reply = message.reply.take();
        let era = self.live.store.era();
        let Some(delivery) = reply.and_then(|reply| Handle::parse(reply, &self.mailbox, era))
        else {
            return Flow::On;
        };
        self.pulls.brought();
        self.certain = self.heard;
        self.live.store.caution().came(&delivery);
        self.drained.came(delivery.sequence);
        let mut step = Flow::On;
        let readers = self
            .live
            .store
            .readers()
            .came(delivery.number, self.in_cluster, self.heard);
        if let Some(readers) = readers {
            step = self.tell_readers(readers).await;
        }
        if step != Flow::On {
            return step;
        }
        let message = self.outlet.cap(message, Some(delivery.handle));
        self.outlet.send(message).await
    }

    async fn hear(&mut self, message: &Message) -> Flow {
        // Ignore a message without a status, which is not the server's: anybody who may publish to the reply prefix can
        // send one.
        let Some(said) = PullStatus::read(message) else {
            return Flow::On;
        };
        let (status, words) = (message.status, message.description.as_deref());
        let left = match said {
            PullStatus::Stands => {
                self.pulls.stands();
                self.certain = self.heard;
                return Flow::On;
            }
            PullStatus::Gone => {
                tracing::warn!(?words, "the mailbox is gone");
                return Flow::Lost;
            }
            PullStatus::Over(left) => left,
            PullStatus::Nobody if self.look_after().await == Flow::On => None,
            PullStatus::Nobody => {
                tracing::warn!("the mailbox is gone");
                return Flow::Lost;
            }
        };
        if self.pulls.over(left, Instant::now()) {
            tracing::warn!(
                ?status,
                ?words,
                "the NATS server ends every pull at once: no mail comes"
            );
        }
        Flow::On
    }

    /// What had arrived before the connection went down is not lost with it.
    async fn salvage(&mut self) {
        self.signals.retire();
        self.outlet.link.send_replace(ConnectionState::Down(None));
        while let Some(Some(message)) = ready(&mut self.pulled) {
            if message.subject.as_str() != self.inbox {
                self.deliver(message).await;
            }
        }
        self.outlet.relay(&self.signals).await;
    }

    /// What is not handed over is left to the mailbox, and at once: a next start does not wait for it.
    async fn stop_reading(&mut self) -> Flow {
        if let Some(pulled) = self.pulled.take() {
            self.give_back(pulled).await;
        }
        self.outlet.send(Arrival::Stopped).await
    }

    /// The answer to a question behind everything published says that the server has it all.
    async fn close(&mut self, done: tokio::sync::oneshot::Sender<Result<(), Error>>) -> GaveUp {
        self.outlet.link.send_replace(ConnectionState::Closed);
        let asked = ask(&self.live.client, &self.mailbox).await;
        self.signals.retire();
        GaveUp::Asked(done, asked.map(drop).map_err(|_| Error::Undrained))
    }
}

async fn next(pulled: &mut Option<Subscriber>) -> Option<Message> {
    match pulled {
        Some(pulled) => pulled.next().await,
        None => std::future::pending().await,
    }
}

fn ready(pulled: &mut Option<Subscriber>) -> Option<Option<Message>> {
    unconstrained(pulled.as_mut()?.next()).now_or_never()
}

/// How many messages one pull asks for.
const BATCH: usize = 256;
/// How many bytes: what is asked for is held somewhere on our side when it comes.
const BATCH_BYTES: usize = 8 << 20;
/// How long a pull lasts. Where a line went silent, or somebody else listens for its answers, the server goes on giving
/// mail to a pull of a connection that is gone: not for longer than this, and a start waits for its end.
const EXPIRES: Duration = Duration::from_secs(8);
/// How often the server shows that a pull still stands.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// After two missing signs of life the mailbox is looked after: a server that hands the mailbox to another one takes
/// a pull and says nothing.
const SILENCE: Duration = Duration::from_secs(5);
/// Messages handed over before anything else is looked at.
const AT_ONCE: usize = 1_024;
