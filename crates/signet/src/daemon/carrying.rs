//! The calls of foreign carriers: what is handed in goes the way of every message, and what is to leave goes to
//! whoever is attached. None of them touches trust, keys, the inbox or another carrier.

mod calls;
mod snapshot;
mod transparency;

use std::collections::BTreeMap;

use signet_api::{ApiError, AttachCarrier, KEPT_FOR_POLLS, Reason, Request as _};
use signet_proto::carrier::{CarrierId, Routes};
use signet_proto::ids::AgentId;
use signet_proto::trust::TrustView;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::carrier::Foreign;
use crate::control::Reply;

use super::serve::{named, to_value};
use snapshot::Snapshots;
use transparency::Reader;

/// What the daemon holds of its foreign carriers.
pub(super) struct Carrying {
    foreign: BTreeMap<CarrierId, Foreign>,
    /// Where peers are found.
    pub(super) routes: Routes,
    /// Whether this agent can only dial out.
    dials_out: bool,
    snapshots: Snapshots,
    reader: Reader,
    /// When a poll was last made for a peer.
    polled: BTreeMap<AgentId, Instant>,
}

impl Carrying {
    pub(super) fn new(
        foreign: BTreeMap<CarrierId, Foreign>,
        (routes, dials_out): (Routes, bool),
        views: watch::Receiver<TrustView>,
    ) -> Self {
        Self {
            foreign,
            routes,
            dials_out,
            snapshots: Snapshots::of(views),
            reader: Reader::default(),
            polled: BTreeMap::new(),
        }
    }

    fn find(&self, name: &str) -> Result<(&CarrierId, &Foreign), ApiError> {
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

    fn attached(&self, name: &str) -> Result<(&CarrierId, &Foreign), ApiError> {
        let (id, foreign) = self.find(name)?;
        match foreign.is_attached() {
            true => Ok((id, foreign)),
            false => Err(detached(id)),
        }
    }

    fn address(&self, carrier: &CarrierId, peer: &AgentId) -> Option<String> {
        let routes = self.routes.of(peer);
        let route = routes.iter().find(|route| route.carrier == *carrier)?;
        Some(route.address.clone())
    }
}

fn send<T: serde::Serialize>(reply: Reply, answer: Result<T, ApiError>) {
    reply.send(answer.and_then(|answer| to_value(&answer)));
}

fn detached(id: &CarrierId) -> ApiError {
    let text = format!(
        "no connection carries {id}; attach one with {}",
        AttachCarrier::METHOD
    );
    ApiError::refused(Reason::CarrierDetached, text)
}

/// Whether an agent of these addresses can only dial out.
pub(super) fn dials_out(addresses: &[String]) -> bool {
    addresses == [KEPT_FOR_POLLS]
}
