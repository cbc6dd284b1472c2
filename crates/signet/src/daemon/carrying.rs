//! The calls of foreign carriers: what is handed in goes the way of every message, and what is to leave goes to
//! whoever is attached. None of them touches trust, keys, the inbox or another carrier.

mod snapshot;
mod transparency;

use std::collections::BTreeMap;
use std::time::Duration;

use signet_api::{ApiError, AttachCarrier, KEPT_FOR_POLLS, Reason, Request as _};
use signet_proto::carrier::{CarrierId, Routes};
use signet_proto::ids::AgentId;
use signet_proto::trust::TrustView;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::carrier::Foreign;
use crate::config::Config;
use crate::control::ReplySender;

use super::calls::serve::{named, to_text};
use snapshot::Snapshots;
pub(super) use transparency::{TransparencyReader, TransparencyView};

/// What the daemon holds of its foreign carriers.
pub(super) struct Carrying {
    foreign: BTreeMap<CarrierId, Foreign>,
    /// By which carriers and addresses each peer is reached.
    routes: Routes,
    /// Whether this agent can only dial out.
    dials_out: bool,
    snapshots: Snapshots,
    reader: TransparencyReader,
    /// When a poll was last made for a peer.
    polled: BTreeMap<AgentId, Instant>,
}

impl Carrying {
    pub(super) fn new(
        foreign: BTreeMap<CarrierId, Foreign>,
        routes: Routes,
        config: &Config,
        views: watch::Receiver<TrustView>,
    ) -> Self {
        let own = config.carrier_socket.as_ref();
        Self {
            foreign,
            routes,
            dials_out: own.is_some_and(|own| own.addresses == [KEPT_FOR_POLLS]),
            snapshots: Snapshots::of(views),
            reader: TransparencyReader::default(),
            polled: BTreeMap::new(),
        }
    }

    /// Peers are found there from now on.
    pub(super) fn set_routes(&mut self, routes: Routes) {
        self.routes = routes;
    }

    /// Whether this agent can only dial out.
    pub(super) const fn dials_out(&self) -> bool {
        self.dials_out
    }

    /// What was said between agents, read out of the log.
    pub(super) const fn transparency(&self) -> &TransparencyReader {
        &self.reader
    }

    /// Answers with the trust store, as [`Snapshots::take`].
    pub(super) fn take_trust(&self, known: Option<String>, wait: Duration, reply: ReplySender) {
        self.snapshots.take(known, wait, reply);
    }

    /// Whether a poll was made for that peer within [`POLL_PACE`].
    pub(super) fn was_polled_just_now(&self, peer: &AgentId) -> bool {
        let last = self.polled.get(peer);
        last.is_some_and(|last| last.elapsed() < POLL_PACE)
    }

    /// A poll was made for that peer.
    pub(super) fn note_poll(&mut self, peer: AgentId) {
        self.polled.insert(peer, Instant::now());
    }

    /// The carrier of that name.
    ///
    /// # Errors
    /// `carrier-unknown`.
    pub(super) fn find(&self, name: &str) -> Result<(&CarrierId, &Foreign), ApiError> {
        let id: CarrierId = named("carrier", name)?;
        let found = self.foreign.get_key_value(&id);
        found.ok_or_else(|| {
            let text = format!(
                "this daemon has no carrier {id} for whoever attaches; `carriers` in [carrier-socket] of \
                 config.toml names those that it has"
            );
            ApiError::refused(Reason::CarrierUnknown, text)
        })
    }

    /// The same, where a connection carries it.
    ///
    /// # Errors
    /// `carrier-detached` as well.
    pub(super) fn attached(&self, name: &str) -> Result<(&CarrierId, &Foreign), ApiError> {
        let (id, foreign) = self.find(name)?;
        match foreign.is_attached() {
            true => Ok((id, foreign)),
            false => Err(detached(id)),
        }
    }

    /// The peer's address on that carrier.
    pub(super) fn address(&self, carrier: &CarrierId, peer: &AgentId) -> Option<String> {
        let routes = self.routes.of(peer);
        let route = routes.iter().find(|route| route.carrier == *carrier)?;
        Some(route.address.clone())
    }
}

pub(super) fn send<T: serde::Serialize>(reply: ReplySender, answer: Result<T, ApiError>) {
    reply.send(answer.and_then(|answer| to_text(&answer)));
}

pub(super) fn detached(id: &CarrierId) -> ApiError {
    let text = format!(
        "no connection carries {id}; attach one with {}",
        AttachCarrier::METHOD
    );
    ApiError::refused(Reason::CarrierDetached, text)
}

/// The least time between two polls of a peer.
const POLL_PACE: Duration = Duration::from_millis(100);
