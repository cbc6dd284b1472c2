//! The addresses of an invitation, and those of this home.

use signet_proto::statement::Invitation;

use crate::cli::CliError;
use crate::cli::setup::up::config::servers_of;
use crate::config::Config;
use crate::home::Home;

/// Where the agent of `home` is reached, as it is written down: NATS_URL is this shell's, and no word of the agent's.
pub(super) fn addresses_of(home: &Home, config: &Config) -> Result<Vec<String>, CliError> {
    Ok(servers_of(home)?.unwrap_or_else(|| config.nats.servers.clone()))
}

pub(super) fn nats_of(invitation: &Invitation) -> Vec<&str> {
    let nats = invitation
        .reached
        .iter()
        .filter(|reached| reached.carrier == "nats");
    nats.flat_map(|reached| reached.addresses.iter().map(String::as_str))
        .collect()
}

pub(super) fn meets(invitation: &Invitation, own: &[String]) -> bool {
    nats_of(invitation)
        .iter()
        .any(|address| own.iter().any(|ours| ours == address))
}

/// Whether that address leads to this machine alone, wherever it is used.
pub(super) fn is_loopback(address: &str) -> bool {
    let host = host_of(address);
    let ip = host.parse::<std::net::IpAddr>();
    // The addresses 0.0.0.0 and :: are meant for servers. A client that dials one of them reaches
    // its own machine, so here they count as loopback.
    host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
}

fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.split_once('/').map_or(rest, |(host, _)| host);
    let host = rest.rsplit_once(':').map_or(rest, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_this_machine_reaches_is_told_from_what_others_reach() {
        for own in [
            "nats://127.0.0.1:4222",
            "nats://localhost:1",
            "tls://[::1]:4222",
            "ws://localhost/nats",
            "wss://127.0.0.1:443/nats",
        ] {
            assert!(is_loopback(own), "{own}");
        }
        for reached in [
            "nats://house.example:4222",
            "nats://192.0.2.1:4222",
            "tls://[2001:db8::1]:4222",
            "wss://house.example/nats",
        ] {
            assert!(!is_loopback(reached), "{reached}");
        }
    }
}
