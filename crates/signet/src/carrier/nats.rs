//! NATS behind the seam: the transport's own words, said in those of every carrier.

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use signet_api::MailboxReaders;
use signet_proto::carrier::Parcel;
use signet_proto::node::Disposition;
use signet_transport::{
    Arrival, ConnectionConfig, Error, Handle, Nats, NatsInbox, Settlement, Storage,
};
use std::sync::Arc;
use std::time::Duration;
use tracing::debug;

use super::{Carrier, CarrierError, CarrierSource, News, Settling, Ticket};

/// Starts connecting, and returns at once.
///
/// # Errors
/// Settings that no later try could mend.
pub async fn nats(
    config: ConnectionConfig,
) -> Result<(Box<dyn Carrier>, Box<dyn CarrierSource>), Error> {
    let (nats, inbox) = Nats::connect(config).await?;
    let source = NatsSource {
        inbox,
        arrivals: Vec::new(),
    };
    Ok((Box::new(nats), Box::new(source)))
}

/// The source of a NATS connection: its arrivals become the news of every carrier.
struct NatsSource {
    inbox: NatsInbox,
    // Empty between two calls; its room is used again by the next one, which comes with every few messages.
    arrivals: Vec<Arrival>,
}

impl Carrier for Nats {
    fn publish<'p>(
        &'p self,
        parcel: &'p Parcel,
    ) -> BoxFuture<'p, Result<BoxFuture<'static, bool>, CarrierError>> {
        let address = parcel.address().to_owned();
        // The parcel's bytes stay in memory for the next try, so share them with the publisher instead of copying them.
        let bytes = Bytes::from_owner(Arc::clone(parcel.bytes()));
        let published = async move {
            let confirmation = Self::publish(self, address, bytes).await?;
            let held = confirmation.wait().map(|storage| {
                let held = matches!(storage, Storage::Stored { .. });
                if !held {
                    debug!(?storage, "no mailbox holds it");
                }
                held
            });
            Ok(held.boxed())
        };
        published.boxed()
    }

    fn settle(&self, settled: Vec<(Ticket, Settling)>) -> BoxFuture<'_, Result<(), CarrierError>> {
        let said = settled.into_iter().map(|(ticket, settled)| {
            let handle: Handle = ticket.into_meaning()?;
            Some((handle, settlement_of(settled.ruled)))
        });
        let said: Option<Vec<_>> = said.collect();
        let told = async move {
            match said {
                Some(said) => Ok(self.settle_all(said).await?),
                None => Err(CarrierError("another carrier's ticket".to_owned())),
            }
        };
        told.boxed()
    }

    fn is_connected(&self) -> bool {
        self.connected()
    }

    fn has_mailbox(&self) -> bool {
        Self::has_mailbox(self)
    }

    fn ready(&self, within: Duration) -> BoxFuture<'_, Result<(), CarrierError>> {
        async move { Ok(Self::ready(self, within).await?) }.boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), CarrierError>> {
        async move { Ok(Self::probe(self).await?) }.boxed()
    }

    fn stop_reading(&self) -> BoxFuture<'_, Result<(), CarrierError>> {
        async move { Ok(Self::stop_reading(self).await?) }.boxed()
    }

    fn drain(&self) -> BoxFuture<'_, Result<(), CarrierError>> {
        async move { Ok(Self::drain(self.clone()).await?) }.boxed()
    }
}

impl CarrierSource for NatsSource {
    fn receive_many<'s>(&'s mut self, out: &'s mut Vec<News>, max: usize) -> BoxFuture<'s, usize> {
        let received = async move {
            let count = self.inbox.receive_many(&mut self.arrivals, max).await;
            out.extend(self.arrivals.drain(..).map(news));
            count
        };
        received.boxed()
    }
}

/// A mailbox makes a difference between what is taken and what can never be.
const fn settlement_of(ruled: Disposition) -> Settlement {
    match ruled {
        Disposition::Accepted => Settlement::Ack,
        // `Term` tells NATS to forget the message. After a `Nak` NATS would bring it again and again, and a
        // refused message would be refused each time. A message that was only counted goes out again from its
        // sender, which got no receipt.
        Disposition::Refused | Disposition::Counted => Settlement::Term,
    }
}

fn news(arrival: Arrival) -> News {
    match arrival {
        Arrival::Message {
            bytes,
            subject,
            handle,
        } => News::Message {
            bytes,
            address: subject,
            ticket: handle.map(Ticket::of),
        },
        Arrival::Oversized {
            length,
            head,
            handle,
        } => News::Oversized {
            length,
            head,
            ticket: handle.map(Ticket::of),
        },
        Arrival::Gap(at_least) => News::Gap(at_least),
        Arrival::Connected => News::Connected,
        Arrival::NoMailbox(why) => News::NoMailbox(why),
        Arrival::Readers(readers) => News::Readers(match readers {
            signet_transport::Readership::Own => MailboxReaders::Own,
            signet_transport::Readership::Other => MailboxReaders::Other,
            signet_transport::Readership::Both => MailboxReaders::Both,
        }),
        Arrival::Drained => News::Drained,
        Arrival::StoreLost => News::StoreLost,
        Arrival::Disconnected => News::Disconnected,
        Arrival::Refused(what) => News::Refused(what),
        Arrival::Stopped => News::Stopped,
    }
}

impl From<Error> for CarrierError {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}
