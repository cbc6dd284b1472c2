//! Which carriers are up, and what each says of itself.

use std::collections::{BTreeMap, BTreeSet};

use signet_api::MailboxReaders;
use signet_proto::carrier::CarrierId;
use tracing::{info, warn};

use crate::carrier::{CarrierSet, News};
use crate::hint::typed;

/// The connections of all carriers.
pub(super) struct Connections {
    carriers: CarrierSet,
    up: BTreeSet<CarrierId>,
    /// The carriers whose server answers and refuses the agent's login.
    login_refused: BTreeSet<CarrierId>,
    /// The readers of this agent's mailboxes, by carrier, once a carrier has told of them.
    readers: BTreeMap<CarrierId, MailboxReaders>,
    /// The servers that the daemon is to be connected with, in words.
    servers: String,
}

impl Connections {
    /// Connections of which none is up yet; `servers` names what is to be.
    pub(super) fn new(carriers: CarrierSet, servers: String) -> Self {
        Self {
            carriers,
            up: BTreeSet::new(),
            login_refused: BTreeSet::new(),
            readers: BTreeMap::new(),
            servers,
        }
    }

    /// Whether any carrier can be handed a message now.
    pub(super) fn is_any_connected(&self) -> bool {
        self.carriers.is_any_connected()
    }

    /// Each carrier by its name, and whether it is up.
    pub(super) fn states(&self) -> impl Iterator<Item = (&CarrierId, bool)> {
        self.carriers.states()
    }

    /// Whether any carrier keeps mail for this agent.
    pub(super) fn has_mailbox(&self) -> bool {
        self.carriers.has_mailbox()
    }

    /// Whether any carrier has said that it is up.
    pub(super) fn is_up(&self) -> bool {
        !self.up.is_empty()
    }

    /// Whether a server answers and refuses the agent's login.
    pub(super) fn is_login_refused(&self) -> bool {
        !self.login_refused.is_empty()
    }

    /// The readers of this agent's mailboxes: the worst that any carrier has told.
    pub(super) fn readers(&self) -> MailboxReaders {
        self.readers.values().max().copied().unwrap_or_default()
    }

    /// The servers that the daemon is to be connected with, in words.
    pub(super) fn servers(&self) -> &str {
        &self.servers
    }

    /// Notes the news that a carrier gives of itself.
    pub(super) fn note(&mut self, carrier: CarrierId, news: News) {
        match news {
            News::Connected => {
                info!(%carrier, "connected");
                self.login_refused.remove(&carrier);
                self.up.insert(carrier);
            }
            News::Disconnected => {
                self.login_refused.remove(&carrier);
                // Warn only where a connection was lost: a carrier also says `Disconnected` before its first connection, and
                // when its server no longer refuses the login.
                if self.up.remove(&carrier) {
                    warn!(%carrier, "disconnected; trying again");
                }
            }
            News::StoreLost => {
                warn!(%carrier, "the NATS server lost its mailboxes; what has no receipt is sent again");
            }
            News::NoMailbox(why) => {
                warn!(
                    why,
                    "no mailbox: what is sent here while this agent is away is kept by its sender alone; \
                     next: {}",
                    typed("signet doctor  # says who makes it, signet up or signet nats setup")
                );
            }
            News::Readers(readers) => {
                match readers {
                    MailboxReaders::Own => {
                        info!(%carrier, "this daemon alone reads the mailbox again")
                    }
                    MailboxReaders::Other => warn!(
                        %carrier,
                        "another program reads the mailbox of this agent; this daemon reads when that ends; next: {}",
                        typed(WHO_READS)
                    ),
                    MailboxReaders::Both => warn!(
                        %carrier,
                        "another program takes mail out of the mailbox of this agent; its senders send it again; next: {}",
                        typed(WHO_READS)
                    ),
                }
                self.readers.insert(carrier, readers);
            }
            News::Refused(what) => {
                warn!(%carrier, %what, "the server refused");
                // Before a carrier is connected, the server has decided about the login only: a refusal at that point is one of
                // the login.
                if !self.up.contains(&carrier) {
                    self.login_refused.insert(carrier);
                }
            }
            News::Drained
            | News::Gap { .. }
            | News::Message { .. }
            | News::Oversized { .. }
            | News::Stopped => {}
        }
    }

    /// The first half of a clean stop: nothing more is read.
    pub(super) async fn stop_reading(&self) {
        for (carrier, error) in self.carriers.stop_reading().await {
            info!(%carrier, %error, "the connection was gone before the stop");
        }
    }
}

const WHO_READS: &str = "signet doctor  # says what another reader means, and what to do";
