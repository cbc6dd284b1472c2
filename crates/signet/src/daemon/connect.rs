//! What the configuration says of the way to others: which carriers, and how to reach them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use signet_proto::carrier::{CarrierId, Routes};
use tracing::warn;

use crate::carrier::{self, Carrier, CarrierSet, Foreign, Reading, nats_config};
use crate::config::Config;
use crate::render;

use super::DaemonError;

/// The carriers of a daemon.
pub(super) struct Connected {
    pub(super) carriers: CarrierSet,
    pub(super) readings: Vec<Reading>,
    /// The carriers that programs attach to.
    pub(super) foreign: BTreeMap<CarrierId, Foreign>,
    /// By which carriers and addresses each peer is reached.
    pub(super) routes: Routes,
    /// What the daemon is to be connected with, in words.
    pub(super) servers: String,
}

/// The carriers that the configuration names.
pub(super) async fn connect(config: &Config) -> Result<Connected, DaemonError> {
    let (mut all, mut readings): (Vec<(CarrierId, Box<dyn Carrier>)>, _) = (Vec::new(), Vec::new());
    if !config.nats.servers.is_empty() {
        let (nats, source) = carrier::nats(nats_config::of(config)?).await?;
        readings.push(Reading {
            id: CarrierId::NATS,
            address: render::inbox_subject(&config.agent.agent),
            source,
        });
        all.push((CarrierId::NATS, nats));
    }
    let mut foreign = BTreeMap::new();
    if let Some(socket) = &config.carrier_socket {
        let reach = Arc::new(socket.reach.clone());
        for id in &socket.carriers {
            let (carrier, reading) = carrier::foreign(id.clone(), &config.agent.agent, &reach);
            readings.push(reading);
            all.push((id.clone(), Box::new(carrier.clone())));
            foreign.insert(id.clone(), carrier);
        }
    }
    Ok(Connected {
        carriers: CarrierSet::of(all),
        readings,
        foreign,
        routes: config.carriers.routes(),
        servers: servers_of(config),
    })
}

/// What the configuration connects with, in words, and without a login that does not belong there.
fn servers_of(config: &Config) -> String {
    if config.nats.servers.is_empty() {
        return "program at carrier.sock".to_owned();
    }
    // Cut a login such as `user:password@` off the URL. Look for the last `@`, because a password may hold one itself.
    let bare = |url: &String| match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => url.clone(),
    };
    let servers: Vec<String> = config.nats.servers.iter().map(bare).collect();
    format!("NATS server at {}", servers.join(", "))
}

/// Tells the terminal after a while that no server answers: an agent starts without it.
pub(super) async fn warn_without_a_server(carriers: CarrierSet) {
    if let Err(error) = carriers.ready(FIRST_CONNECTION).await {
        warn!(%error, "no carrier is up yet; trying again");
    }
}

/// How long a start waits for the first connection before it warns.
const FIRST_CONNECTION: Duration = Duration::from_secs(5);
