//! A new connection finds out what kind it is: one that reads a mailbox, or the inbox itself.

use std::sync::Arc;
use std::time::Duration;

use async_nats::client::Client;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::confirm::{ConfirmationTask, Confirmations};
use crate::live::LiveConnection;
use crate::mailbox::MailboxSession;
use crate::outlet::{GaveUp, Outlet, Stop};
use crate::session::NatsSession;
use crate::signals::Signals;
use crate::standing::{Absent, ask, ask_patiently};
use crate::store::MailboxStore;
use crate::{ConnectionConfig, Mailbox};

pub(crate) enum Connection {
    /// The inbox is subscribed; the task looks for the mailbox that is missing.
    Core {
        session: Box<NatsSession>,
        _lookout: Option<Lookout>,
    },
    /// The mailbox is read; whether it was made anew since the last connection.
    Mailbox(Box<MailboxSession>, bool),
}

/// Ends its task with itself.
pub(crate) struct Lookout(JoinHandle<()>);

impl Drop for Lookout {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    pub(crate) async fn open(
        client: Client,
        config: &ConnectionConfig,
        store: &Arc<MailboxStore>,
        signals: Arc<Signals>,
        outlet: Outlet,
    ) -> Result<Self, String> {
        let mut live = LiveConnection {
            client,
            confirmations: None,
            store: Arc::clone(store),
            has_mailbox: false,
        };
        let inbox = config.inbox.clone();
        let Some(mailbox) = config.mailbox.clone() else {
            let session = NatsSession::open(live, None, signals, inbox, outlet, None);
            return Ok(Self::core(session.await?, None));
        };
        // Listen for confirmations before the link is up: already the first message that is sent waits for its confirmation.
        let listener = listen(&mut live, &mailbox, &outlet).await?;
        let why = match ask_patiently(&live.client, &mailbox).await {
            Ok(standing) => {
                live.has_mailbox = true;
                let lost = store.is_lost_by(&standing);
                let session =
                    MailboxSession::open(live, mailbox, &standing, signals, outlet, listener);
                return Ok(Self::Mailbox(Box::new(session.await?), lost));
            }
            Err(Absent::Missing(why) | Absent::NoJetStream(why)) => why,
            Err(Absent::Silent) => "the server does not answer for it".to_owned(),
        };
        let lookout = Lookout::start(live.client.clone(), mailbox, Arc::clone(&signals));
        let session = NatsSession::open(live, Some(why), signals, inbox, outlet, listener);
        Ok(Self::core(session.await?, Some(lookout)))
    }

    fn core(session: NatsSession, lookout: Option<Lookout>) -> Self {
        Self::Core {
            session: Box::new(session),
            _lookout: lookout,
        }
    }

    /// Until the connection is lost (`None`) or to be closed.
    pub(crate) async fn hand_over(&mut self, stops: &mut mpsc::Receiver<Stop>) -> Option<GaveUp> {
        match self {
            Self::Core { session, .. } => session.hand_over(stops).await,
            Self::Mailbox(session, lost) => session.hand_over(*lost, stops).await,
        }
    }

    /// The servers of the cluster, as the one that it is connected to tells: `host:port` each.
    pub(crate) fn cluster(&self) -> Vec<String> {
        let live = match self {
            Self::Core { session, .. } => session.live(),
            Self::Mailbox(session, _) => session.live(),
        };
        live.client.server_info().connect_urls
    }

    /// Whether it was good for anything.
    pub(crate) fn proved(&self) -> bool {
        match self {
            Self::Core { session, .. } => session.proved(),
            Self::Mailbox(..) => true,
        }
    }

    /// Whether nothing is to be handed over any more.
    pub(crate) fn stopped(&self) -> bool {
        match self {
            Self::Core { session, .. } => session.stopped(),
            Self::Mailbox(session, _) => session.stopped(),
        }
    }
}

impl Lookout {
    fn start(client: Client, mailbox: Mailbox, signals: Arc<Signals>) -> Self {
        Self(tokio::spawn(async move {
            let mut wait = FIRST_LOOK;
            while ask(&client, &mailbox).await.is_err() {
                sleep(wait).await;
                wait = (wait * 2).min(LAST_LOOK);
            }
            tracing::info!("there is a mailbox now");
            signals.leave();
        }))
    }
}

async fn listen(
    live: &mut LiveConnection,
    mailbox: &Mailbox,
    outlet: &Outlet,
) -> Result<Option<ConfirmationTask>, String> {
    let (stream, store) = (mailbox.stream.clone(), Arc::clone(&live.store));
    let listening = Confirmations::listen(&live.client, stream, store, outlet.arrivals.clone());
    let (confirmations, listener) = listening.await?;
    live.confirmations = Some(confirmations);
    Ok(Some(listener))
}

/// A broker that has just started may not have its mailboxes yet.
const FIRST_LOOK: Duration = Duration::from_secs(1);
const LAST_LOOK: Duration = Duration::from_secs(30);
