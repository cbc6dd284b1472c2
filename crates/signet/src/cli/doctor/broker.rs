//! The NATS server: whether it answers, what it lets this agent do, and how full its store is.

use std::io;

use signet_api::ListPeers;
use signet_transport::{Config as NatsConfig, Error, Inspection, StoreUse, inspect};

use super::finding::{Check, Finding};
use super::scene::Scene;
use crate::config::Config;
use crate::daemon::{next_for_nats, transport};
use crate::render::inbox_subject;

/// The server, then what it allows and keeps.
pub(super) fn all(scene: &mut Scene) -> Vec<Finding> {
    if scene.config.nats.servers.is_empty() {
        return vec![without(scene)];
    }
    let servers = scene.config.nats.servers.join(" ");
    let check = Check::of("broker", format!("the NATS server at {servers}"));
    match look(scene) {
        Err(found) => vec![found(check)],
        Ok(seen) => {
            let is_connected = scene.status.as_ref().map(|status| status.connected);
            let found = match is_connected {
                Ok(false) => check.warning(
                    format!("{} answers, and the daemon is not connected to it", seen.server),
                    (
                        "no message arrives or leaves until the daemon connects, at most half a minute after the server is back",
                        "signet status in a minute; then look at what the daemon says: journalctl --user -u signet",
                    ),
                ),
                _ => check.well(format!("{} answers, nats-server {}", seen.server, seen.version)),
            };
            let mut findings = vec![found, permissions(&seen)];
            findings.extend(mailbox(scene, &seen));
            findings.push(store(&seen));
            findings
        }
    }
}

/// An agent that uses no NATS server is carried by whatever program attaches to its carrier socket.
fn without(scene: &Scene) -> Finding {
    let check = Check::of(
        "broker",
        "what carries messages, without a NATS server".to_owned(),
    );
    match scene.status.as_ref().map(|status| status.connected) {
        Ok(false) => check.warning(
            "nothing is attached to carrier.sock",
            (
                "no message arrives or leaves",
                "start the program that carries them: signet gateway",
            ),
        ),
        _ => {
            check.well("config.toml names no NATS server; programs at carrier.sock carry messages")
        }
    }
}

type Found = Box<dyn FnOnce(Check) -> Finding>;

fn look(scene: &mut Scene) -> Result<Inspection, Found> {
    let peers = scene.ask(ListPeers {}).unwrap_or_default();
    let inboxes = peers.iter().filter_map(|peer| peer.peer.parse().ok());
    let inboxes: Vec<String> = inboxes.map(|agent| inbox_subject(&agent)).collect();
    let config = match transport(&scene.config) {
        Ok(config) => config,
        Err(error) => {
            let means = "the daemon cannot log in";
            return Err(Box::new(move |check| {
                check.fault(&error, (means, &error.next()))
            }));
        }
    };
    inspect_by(&config, &inboxes).map_err(|unseen| -> Found {
        Box::new(move |check| match unseen {
            Unseen::System(error) => {
                check.unknown(error, ("the system is short of something", "try again"))
            }
            Unseen::Server(error) => unreachable(check, &error),
        })
    })
}

/// Why nothing was seen of the server.
pub(in crate::cli) enum Unseen {
    /// It cannot be reached, or does not let this agent in.
    Server(Error),
    /// This process could not ask it.
    System(io::Error),
}

/// What the server that the configuration names says to the login of its agent.
pub(in crate::cli) fn inspected(config: &Config) -> Result<Inspection, Unseen> {
    let config = transport(config).map_err(|error| Unseen::System(io::Error::other(error)))?;
    inspect_by(&config, &[])
}

fn inspect_by(config: &NatsConfig, inboxes: &[String]) -> Result<Inspection, Unseen> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let asked = inspect(config, inboxes);
    let seen = runtime.map_err(Unseen::System)?.block_on(asked);
    seen.map_err(Unseen::Server)
}

fn unreachable(check: Check, error: &Error) -> Finding {
    let means = "no message arrives or leaves; what is sent waits here";
    check.fault(error, (means, next_for(error)))
}

/// What to do about a server that does not let this agent in.
pub(in crate::cli) fn next_for(error: &Error) -> &'static str {
    match error {
        Error::Unreachable { .. } => {
            "start the server, or correct `servers` in [nats] of config.toml or the variable NATS_URL"
        }
        Error::LoginRefused { .. } => {
            "signet nats key prints the name that the server's configuration has to hold: signet nats config"
        }
        Error::Tls { .. } => "correct `ca` in [nats.tls] of config.toml",
        error => next_for_nats(error),
    }
}

fn permissions(seen: &Inspection) -> Finding {
    let check = Check::of("permissions", "what the server lets this login do");
    let refused: Vec<&str> = seen.refused.iter().map(String::as_str).collect();
    match refused.is_empty() {
        true => check.well(format!(
            "its own inbox is open to it, and the inboxes of {} peers",
            seen.tried
        )),
        false => check.fault(
            format!("the server refuses {}", refused.join(" ")),
            (
                "messages there never arrive, and nobody but this server knows",
                "write the server's configuration anew, with this agent in it: signet nats config",
            ),
        ),
    }
}

fn mailbox(scene: &Scene, seen: &Inspection) -> Vec<Finding> {
    let check = Check::of("mailbox", "where mail waits while the daemon is away");
    let agent = &scene.config.agent.agent;
    let held = match &seen.mailbox {
        None => return vec![check.well("none is wanted: mailbox = \"core\" in config.toml")],
        Some(Err(why)) => {
            let next = format!("signet nats setup {agent}, with an administrator's login");
            let means = "senders keep what is sent while this daemon is away, and must be up when it is back";
            return vec![check.fault(format!("there is none: {why}"), (means, &next))];
        }
        Some(Ok(held)) => held,
    };
    let found = format!("{} messages of {} wait", held.messages, held.most);
    let found = match fills(held.messages, held.most) {
        true => check.warning(
            found,
            (
                "a full mailbox takes nothing, and senders keep what they send",
                "start the daemon of this agent: signet run",
            ),
        ),
        false => check.well(found),
    };
    vec![found]
}

fn store(seen: &Inspection) -> Finding {
    let check = Check::of("store", "the room that the server has for mailboxes");
    let stores = [
        ("the stream of the mailboxes", seen.stream),
        ("JetStream's disk for this account", seen.account),
    ];
    let known = stores
        .into_iter()
        .filter_map(|(what, store)| Some((what, store?)));
    let fullest = known
        .max_by_key(|(_, store)| u128::from(store.bytes) * 1000 / u128::from(store.limit.max(1)));
    match fullest {
        None => check.well("the server sets no limit, or tells it to administrators alone"),
        Some((what, StoreUse { bytes, limit })) => {
            let found = format!("{what} holds {} of {} KiB", bytes >> 10, limit >> 10);
            let next = "let the agents whose mail waits run, or give the server more: max_file_store, then signet nats setup";
            match fills(bytes, limit) {
                true => check.fault(
                    found,
                    ("when it is full the server takes no mail for anybody", next),
                ),
                false => check.well(found),
            }
        }
    }
}

/// Above nine tenths.
fn fills(used: u64, limit: u64) -> bool {
    u128::from(used) * 10 > u128::from(limit) * 9
}
