//! What a connection does about another reader of its mailbox.

use async_nats::Subscriber;
use futures_util::{FutureExt, StreamExt};
use tokio::task::unconstrained;
use tokio::time::Instant;

use super::{EXPIRES, MailboxSession};
use crate::drained::Drained;
use crate::outlet::Flow;
use crate::standing::{Absent, ask};
use crate::{Arrival, Readership, Settlement};

impl MailboxSession {
    /// Whether this connection reads, and is not to wait for another reader.
    pub(super) fn may_read(&self) -> bool {
        !self.stopped() && self.live.store.readers().may_read()
    }

    pub(super) fn next_look_at_readers(&self) -> Instant {
        self.live.store.readers().next_look(Instant::now())
    }

    /// Asks the server how many pulls stand.
    pub(super) async fn look_at_readers(&mut self) -> Flow {
        let own = self.pulls.open(EXPIRES, Instant::now());
        let standing = match ask(&self.live.client, &self.mailbox).await {
            Ok(standing) if standing.is_of(self.drained.created()) => standing,
            Err(Absent::Silent) => {
                self.live.store.readers().postpone(Instant::now());
                return self.doubt();
            }
            Ok(_) | Err(Absent::Missing(_) | Absent::NoJetStream(_)) => return Flow::Lost,
        };
        let now = Instant::now();
        self.certain = now;
        let did_read = self.may_read();
        let told = self.live.store.readers().looked(&standing, own, now);
        match (did_read, self.may_read()) {
            (true, false) if self.step_back().await == Flow::Lost => return Flow::Lost,
            (false, true) => self.drained = Drained::expected(&standing, now),
            _ => {}
        }
        let step = match told {
            Some(readers) => self.tell_readers(readers).await,
            None => Flow::On,
        };
        if step == Flow::On {
            self.tell_drained().await
        } else {
            step
        }
    }

    pub(super) async fn tell_readers(&mut self, readers: Readership) -> Flow {
        self.outlet.send(Arrival::Readers(readers)).await
    }

    /// Ends the pulls that stand: a server forgets those whose subject nobody listens to.
    async fn step_back(&mut self) -> Flow {
        if let Some(pulled) = self.pulled.take() {
            self.give_back(pulled).await;
        }
        self.inbox = self.live.client.new_inbox();
        match self.live.client.subscribe(self.inbox.clone()).await {
            Ok(pulled) => {
                self.pulled = Some(pulled);
                Flow::On
            }
            Err(_) => Flow::Lost,
        }
    }

    /// Gives deliveries that were not handed over back to the mailbox at once: who reads next does not wait for them.
    pub(super) async fn give_back(&mut self, mut pulled: Subscriber) {
        // If this fails the connection is gone, and the mailbox keeps the messages that were still to come.
        let _ = pulled.unsubscribe().await;
        while let Some(Some(message)) = unconstrained(pulled.next()).now_or_never() {
            if let Some(reply) = message.reply
                // Give back only deliveries: the server's notices about pulls have no such reply subject.
                && reply.starts_with("$JS.ACK.")
            {
                let later = Settlement::Nak(std::time::Duration::ZERO).payload();
                let _ = self.live.client.publish(reply, later).await;
            }
        }
        self.pulls.forget();
    }
}
