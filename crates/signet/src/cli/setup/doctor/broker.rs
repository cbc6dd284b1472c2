//! The NATS server: whether it answers, what it lets this agent do, and how full its store is.

use std::io;

use signet_api::{ListPeers, MailboxReaders};
use signet_audit::{counted, counted_doing};
use signet_proto::carrier::CarrierId;
use signet_proto::ids::AgentId;
use signet_transport::{Inspection, StoreUse, inspect};

use super::encryption::encryption;
use super::finding::{CheckResult, DoctorCheck};
use super::keeper::{next_for, next_for_mailbox};
use super::scene::Scene;
use super::{crossing, servers};
use crate::carrier::nats_config;
use crate::cli::setup::nats::mailboxes::{BrokerFault, wait_for};
use crate::config::Config;
use crate::hint::{DaemonKeeper, told_where};
use crate::render::inbox_subject;

/// The server, then what it allows and keeps.
pub(super) fn all(scene: &mut Scene) -> Vec<CheckResult> {
    if scene.config.nats.servers.is_empty() {
        return vec![without(scene)];
    }
    let servers = scene.config.nats.servers.join(" ");
    let check = DoctorCheck::of("broker", format!("the NATS server at {servers}"));
    match look(scene) {
        Err(found) => vec![found(check), encryption(&scene.config.nats, None)],
        Ok(seen) => {
            let is_connected = scene.status.as_ref().map(|status| status.connected);
            let found = match is_connected {
                Ok(false) => check.warning(
                    format!("{} answers, and the daemon is not connected to it", seen.server), 
                        "no message arrives or leaves until the daemon connects, at most half a minute after the server is back",
                        &told_where(scene.home.path()),
                ),
                _ if seen.version == PASSES_OVER && seen.mailbox.is_some() => check.warning(
                    format!("{} answers, nats-server {}", seen.server, seen.version),
                    "this version passes over mail that lies in a mailbox behind other mail; it arrives with its sender's next copy, \
                     about a minute late",
                    "install nats-server 2.10.26 or newer on the machine of that server, and start it anew",
                ),
                _ => check.well(format!("{} answers, nats-server {}", seen.server, seen.version)),
            };
            let mut findings = vec![
                found,
                encryption(&scene.config.nats, Some(&seen)),
                servers::cluster(scene, &seen),
                crossing::leaf(scene, &seen),
                servers::domain(scene, &seen),
                permissions(&seen),
            ];
            findings.extend(mailbox(scene, &seen));
            findings.extend([crossing::crossing(&seen), store(&seen)]);
            findings
        }
    }
}

/// An agent that uses no NATS server is carried by whatever program attaches to its carrier socket.
fn without(scene: &Scene) -> CheckResult {
    let check = DoctorCheck::of(
        "broker",
        "what carries messages, without a NATS server".to_owned(),
    );
    match scene.status.as_ref().map(|status| status.connected) {
        Ok(false) => check.warning(
            "nothing is attached to carrier.sock",
            "no message arrives or leaves",
            "signet gateway  # carries them",
        ),
        _ => {
            check.well("config.toml names no NATS server; programs at carrier.sock carry messages")
        }
    }
}

/// Its store takes a wrong message for the last one of a subject once the last one was removed; 2.10.24 and 2.10.26 do not.
const PASSES_OVER: &str = "2.10.25";

type Explain = Box<dyn FnOnce(DoctorCheck) -> CheckResult>;

fn look(scene: &mut Scene) -> Result<Inspection, Explain> {
    // If the peers cannot be listed, go on without their inboxes: the login is still tried at the agent's own inbox.
    let peers = scene.ask(ListPeers {}).unwrap_or_default();
    let routes = scene.config.carriers.routes();
    let peers = peers.iter().filter_map(|peer| peer.peer.parse().ok());
    let on_nats = |agent: &AgentId| {
        let routes = routes.of(agent);
        routes.iter().any(|route| route.carrier == CarrierId::NATS)
    };
    let inboxes: Vec<String> = peers
        .filter(on_nats)
        .map(|agent| inbox_subject(&agent))
        .collect();
    let config = match nats_config::of(&scene.config) {
        Ok(config) => config,
        Err(error) => {
            let means = "the daemon cannot log in";
            return Err(Box::new(move |check| {
                check.fault(&error, means, &error.next())
            }));
        }
    };
    let (home, settings) = (scene.home.clone(), scene.config.clone());
    wait_for(inspect(&config, &inboxes)).map_err(|fault| -> Explain {
        Box::new(move |check| match fault {
            BrokerFault::System(error) => {
                check.unknown(error, "the system is short of something", "try again")
            }
            BrokerFault::Server(error) => {
                let next = next_for(&home, &settings, &error);
                check.fault(
                    &error,
                    "no message arrives or leaves; what is sent waits here",
                    &next,
                )
            }
        })
    })
}

/// What the server that the configuration names says to the login of its agent.
pub(crate) fn inspected(config: &Config) -> Result<Inspection, BrokerFault> {
    let config = nats_config::of(config);
    let config = config.map_err(|error| BrokerFault::System(io::Error::other(error)))?;
    wait_for(inspect(&config, &[]))
}

fn permissions(seen: &Inspection) -> CheckResult {
    let check = DoctorCheck::of("permissions", "what the server lets this login do");
    let refused: Vec<&str> = seen.refused.iter().map(String::as_str).collect();
    match refused.is_empty() {
        true => check.well(format!(
            "its own inbox is open to it, and the inboxes of {}",
            counted(seen.inboxes.len() as u64, "peer")
        )),
        false => check.fault(
            format!("the server refuses {}", refused.join(" ")), 
                "messages there never arrive, and nobody but this server knows",
                "signet nats config --help  # write the server's configuration anew, with this agent in it",
        ),
    }
}

fn mailbox(scene: &Scene, seen: &Inspection) -> Vec<CheckResult> {
    let check = DoctorCheck::of("mailbox", "where mail waits while the daemon is away");
    let held = match &seen.mailbox {
        None => return vec![check.well("none is wanted: mailbox = \"core\" in config.toml")],
        Some(Err(why)) => {
            let setup = match &scene.config.nats.domain {
                Some(domain) if seen.facts.domain.as_ref() != Some(domain) => format!(
                    "whoever keeps the JetStream domain {domain} makes it, by their signet nats setup {}",
                    scene.config.agent.agent
                ),
                _ => next_for_mailbox(&scene.home, &scene.config),
            };
            let (found, next) = servers::none(scene, seen, why, &setup);
            let means = "senders keep what is sent while this daemon is away, and must be up when it is back";
            return vec![check.fault(found, means, &next)];
        }
        Some(Ok(held)) => held,
    };
    let found = format!(
        "{} of {} at most",
        counted_doing(held.messages, "message", "waits"),
        held.most
    );
    let found = match fills(held.messages, held.most) {
        true => check.warning(
            found,
            "a full mailbox takes nothing, and senders keep what they send",
            &DaemonKeeper::of(scene.home.path()).start(),
        ),
        false => check.well(found),
    };
    let readers = scene.status.as_ref().map(|status| status.mailbox_readers);
    vec![
        found,
        servers::replicas(scene, seen, held),
        reader(readers.ok(), held.is_read),
    ]
}

/// The finding about programs that take mail out of the mailbox; `readers` is the word of the daemon, where one runs.
fn reader(readers: Option<MailboxReaders>, is_read: bool) -> CheckResult {
    let check = DoctorCheck::of("reader", "who takes mail out of the mailbox");
    match readers {
        None if is_read => check.fault(
            "a program takes mail, and no daemon of this home answers",
            "mail for this agent goes to another daemon of the same agent-id, to a thief, who cannot read what is sealed, or for \
             some seconds to this home's own daemon, which hangs or was just killed",
            LOGINS,
        ),
        None => check.well("nobody, as no daemon of this home answers"),
        Some(MailboxReaders::Own) => check.well("the daemon of this home alone"),
        Some(MailboxReaders::Both) => check.fault(
            "the daemon of this home and another program",
            "a part of the mail goes there, and comes here late, when its senders send it again",
            LOGINS,
        ),
        Some(MailboxReaders::Other) => check.fault(
            "another program; the daemon of this home waits until that ends",
            "no mail comes here; senders keep it, unless the other program takes it",
            LOGINS,
        ),
    }
}

fn store(seen: &Inspection) -> CheckResult {
    let check = DoctorCheck::of("store", "the room that the server has for mailboxes");
    let stores = [
        ("the stream of the mailboxes", seen.stream),
        ("JetStream's disk for this account", seen.account),
    ];
    let known = stores
        .into_iter()
        .filter_map(|(what, store)| Some((what, store?)));
    // Find the store that is fullest for its limit, in thousandths and not in bytes, because the limits differ. Count in 128
    // bits: a thousand times the bytes may be more than 64 bits hold.
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
                    "when it is full the server takes no mail for anybody",
                    next,
                ),
                false => check.well(found),
            }
        }
    }
}

/// Without logins a server lets every program on its network read every mailbox.
const LOGINS: &str = "signet nats config --help  # logins, with which each agent reads its own mailbox alone; until then stop the other program; if it is another agent of the same id, one of both needs another id";

/// Above nine tenths.
fn fills(used: u64, limit: u64) -> bool {
    u128::from(used) * 10 > u128::from(limit) * 9
}
