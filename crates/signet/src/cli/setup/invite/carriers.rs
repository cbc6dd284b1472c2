//! By which carriers a peer is reached that was accepted.

use signet_api::Reload;
use signet_proto::carrier::{KEPT_FOR_POLLS, MOST_ROUTES, Route};
use signet_proto::ids::AgentId;
use signet_proto::statement::Invitation;

use crate::cli::CliError;
use crate::cli::ask::daemon_at;
use crate::config::{Config, PeerCarriers, routes_of};
use crate::home::Home;

/// By which carriers the peer is reached, as a configuration writes them, where these are not NATS alone. Its own
/// order counts, but a NATS server that this agent does not use comes last.
pub(super) fn carriers_of(
    invitation: &Invitation,
    config: &Config,
    met: bool,
) -> Option<Vec<String>> {
    let uses_nats = !config.nats.servers.is_empty();
    let peer = &invitation.certificate.agent;
    let mut routes: Vec<String> = Vec::new();
    for reached in &invitation.reached {
        let texts = match reached.carrier.as_str() {
            "nats" if uses_nats => vec!["nats"],
            "http" => reached.addresses.iter().map(String::as_str).collect(),
            _ => continue,
        };
        for text in texts {
            let is_known = routes.iter().any(|known| known == text);
            // `routes_of` below refuses a list with an address twice, or with more than `MOST_ROUTES`. Leave out an address
            // that `Route::parse` does not understand: the other addresses are still good.
            if !is_known && routes.len() < MOST_ROUTES && Route::parse(text, peer).is_ok() {
                routes.push(text.to_owned());
            }
        }
    }
    if !met {
        routes.sort_by_key(|text| text == "nats");
    }
    let is_default = routes.iter().all(|text| text == "nats");
    (!is_default && routes_of(&routes, peer).is_ok()).then_some(routes)
}

/// Keeps where the peer is reached, and tells the daemon where one runs.
pub(super) fn keep(home: &Home, peer: &AgentId, carriers: &[String]) -> Result<(), CliError> {
    let config = Config::load(home)?;
    let dials_out = |addresses: &[String]| addresses == [KEPT_FOR_POLLS];
    let own = config.carrier_socket.as_ref();
    if own.is_none() {
        anstream::eprintln!(
            "Nothing carries HTTP here yet: set `socket` in [carrier-socket] of config.toml, and start signet gateway."
        );
    }
    if own.is_some_and(|own| dials_out(&own.addresses)) && dials_out(carriers) {
        anstream::eprintln!(
            "Both agents can only dial out, and nobody is there to be dialled: one of them needs an address."
        );
    }
    PeerCarriers::keep(home, peer, carriers.to_vec())?;
    // Tell the daemon only now that the carriers are in their file: it reads the file on this
    // reload, or else at its next start.
    if let Some(mut client) = daemon_at(&config.control_socket)? {
        client.call(&Reload {})?;
    }
    Ok(())
}
