//! How a connection looks after its mailbox: whether it is still there, and whether all that waited has come.

use tokio::time::Instant;

use super::MailboxSession;
use crate::Arrival;
use crate::outlet::Flow;
use crate::standing::{Absent, DOUBT, ask};

impl MailboxSession {
    /// Neither mail nor a sign of life for long: is the mailbox still there?
    pub(super) async fn look_after(&mut self) -> Flow {
        self.pulls.forget();
        self.heard = Instant::now();
        match ask(&self.live.client, &self.mailbox).await {
            // Go on only with the same mailbox: another creation time says that it was made anew. Then this connection counts
            // as lost, and the next connect reports the lost store.
            Ok(standing) if standing.is_of(self.drained.created()) => {
                self.certain = Instant::now();
                Flow::On
            }
            Err(Absent::Silent) => self.doubt(),
            Ok(_) | Err(Absent::Missing(_) | Absent::NoJetStream(_)) => Flow::Lost,
        }
    }

    /// Nobody says whether the mailbox is there: in a cluster it may be on its way to another server.
    pub(super) fn doubt(&self) -> Flow {
        if self.certain.elapsed() < DOUBT {
            Flow::On
        } else {
            Flow::Lost
        }
    }

    pub(super) async fn look_at_rest(&mut self) -> Flow {
        match ask(&self.live.client, &self.mailbox).await {
            Ok(standing) => self.drained.look(&standing, Instant::now()),
            Err(Absent::Silent) => {
                self.drained.postpone(Instant::now());
                return self.doubt();
            }
            Err(Absent::Missing(_) | Absent::NoJetStream(_)) => return Flow::Lost,
        }
        self.tell_drained().await
    }

    pub(super) async fn tell_drained(&mut self) -> Flow {
        if self.may_read() && self.drained.is_now() {
            self.outlet.send(Arrival::Drained).await
        } else {
            Flow::On
        }
    }
}
