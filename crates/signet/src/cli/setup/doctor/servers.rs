//! The servers behind the one that answered: its cluster, the copies of the mailbox, and the JetStream domain.

use std::fmt::Write as _;

use signet_audit::counted;
use signet_transport::{HeldMail, Inspection, MailboxServers, NoMailbox, Replica, ReplicaState};

use super::encryption::place;
use super::finding::{CheckResult, DoctorCheck};
use super::keeper::{ServerKeeper, next_for};
use super::scene::Scene;

/// The other servers that the daemon may go to when this one fails.
pub(super) fn cluster(scene: &Scene, seen: &Inspection) -> CheckResult {
    let check = DoctorCheck::of(
        "cluster",
        "the servers that a daemon goes to when this one fails",
    );
    let nats = &scene.config.nats;
    if let Some(error) = seen.closed.first() {
        let next = next_for(&scene.home, &scene.config, error);
        let all: Vec<String> = seen
            .closed
            .iter()
            .take(NAMED)
            .map(ToString::to_string)
            .collect();
        return check.warning(
            all.join("; "),
            "a daemon that is connected to another of its servers cannot change over when that one fails",
            &next,
        );
    }
    let told = &seen.facts.told;
    let Some(cluster) = &seen.facts.cluster else {
        return check.well("the server says of no cluster that it belongs to it");
    };
    let named = counted(nats.servers.len() as u64, "server");
    let all = format!(
        "{} is of the cluster {cluster}; config.toml names {named}, and the server tells of {}",
        seen.facts.name,
        counted(told.len() as u64, "other")
    );
    if nats.servers.len() > 1 || told.is_empty() {
        return check.well(all);
    }
    let means = match nats.discovers_servers {
        true => "a daemon that starts while this server is away knows of no other",
        false => {
            "when this server fails the daemon goes to no other, since `discover` is false in [nats] of config.toml"
        }
    };
    let servers: Vec<&String> = nats.servers.iter().chain(told).collect();
    let next = match place() {
        "the variable NATS_URL" => format!("name all in {}, with commas", place()),
        _ => format!(
            "write servers = {servers:?} in [nats] of config.toml, and start the daemon anew"
        ),
    };
    check.warning(all, means, &next)
}

/// On how many servers the mailbox lies, and how its copies do.
pub(super) fn replicas(scene: &Scene, seen: &Inspection, held: &HeldMail) -> CheckResult {
    let check = DoctorCheck::of("replicas", "the servers on which the mailbox lies");
    let servers = &held.servers;
    // Of a domain's servers the consumer alone tells; the one that answered may stand alone.
    let cluster = match &scene.config.nats.domain {
        Some(_) => &servers.cluster,
        None => &seen.facts.cluster,
    };
    let Some(cluster) = cluster else {
        return check.well("one server, which stands alone");
    };
    let leader = servers.leader.as_deref().unwrap_or("nobody");
    if servers.replicas.is_empty() {
        let setup = ServerKeeper::Other.mailbox(&scene.config);
        return check.warning(
            format!("it lies on {leader} alone, in the cluster {cluster}"),
            "while that server is away no mail is kept or read here, though the others run",
            &setup.replacen("nats setup", "nats setup --replicas 3", 1),
        );
    }
    let found = told(servers, leader);
    let mut away = servers.replicas.iter().filter(|one| is_away(one));
    let behind = servers
        .replicas
        .iter()
        .find(|one| one.state == ReplicaState::Behind);
    match (away.next(), behind) {
        (Some(one), _) => check.warning(
            found,
            "when most of the servers are away, no mail is kept or read until they are back",
            &format!("start nats-server on {} again, or see why the others do not reach it", one.name),
        ),
        (None, Some(one)) => check.warning(
            found,
            "a server that is behind cannot take over; replace or restart no other until it has caught up",
            &format!("signet doctor  # again in a minute; if it stays so, the log of nats-server on {} says why", one.name),
        ),
        (None, None) => check.well(found),
    }
}

fn is_away(replica: &Replica) -> bool {
    matches!(replica.state, ReplicaState::Away(_))
}

fn told(servers: &MailboxServers, leader: &str) -> String {
    let mut text = format!("{leader} leads");
    for Replica { name, state } in &servers.replicas {
        // Writing to a String cannot fail.
        let _ = match state {
            ReplicaState::Current => write!(text, "; {name} is current"),
            ReplicaState::Behind => write!(text, "; {name} is behind"),
            ReplicaState::Away(Some(silent)) => {
                write!(text, "; {name} is away, silent for {} s", silent.as_secs())
            }
            ReplicaState::Away(None) => {
                write!(text, "; {name} is away, not heard of since {leader} leads")
            }
        };
    }
    text
}

/// Whether the mailbox is looked for in the right JetStream domain.
pub(super) fn domain(scene: &Scene, seen: &Inspection) -> CheckResult {
    let check = DoctorCheck::of(
        "domain",
        "the JetStream domain in which the mailbox is looked for",
    );
    let (facts, held) = (&seen.facts, &seen.mailbox);
    match (&scene.config.nats.domain, held) {
        (None, Some(Err(NoMailbox::NoJetStream))) => {
            let next = match facts.is_leaf {
                true => {
                    "write domain = \"NAME\" in [nats] of config.toml: NAME stands as `domain` in the hub's jetstream block; or give \
                     this server a jetstream block of its own"
                }
                false => "give the server a jetstream block: signet nats config prints one",
            };
            let of = match facts.is_leaf {
                true => "the server is a leaf of a hub and has no JetStream, and config.toml names no domain",
                false => "the server has no JetStream for this login, and config.toml names no domain",
            };
            check.fault(of, NOWHERE, next)
        }
        (None, _) => check.well(facts.domain.as_ref().map_or_else(
            || "that of the server, which has no name".to_owned(),
            |domain| format!("that of the server, {domain}"),
        )),
        (Some(domain), held) if facts.domain.as_ref() == Some(domain) => {
            let found = format!("config.toml names {domain}, which is the domain of this server itself");
            let next = "take the line `domain` out of [nats] of config.toml, and start the daemon anew";
            match held {
                Some(Err(_)) => check.fault(
                    found,
                    "logins are mostly permitted to ask a server by its own name for it, $JS.API, and not by that of the domain",
                    next,
                ),
                _ => check.advice(found, "it works, and is not needed", next),
            }
        }
        (Some(domain), Some(Err(NoMailbox::NoJetStream | NoMailbox::Silence))) => check.fault(
            format!("nobody answers for the domain {domain}"),
            NOWHERE,
            &format!(
                "see that the server with `domain: \"{domain}\"` in its jetstream block runs and is called so, and that the line of {} \
                 to it stands",
                facts.name
            ),
        ),
        (Some(domain), _) => check.well(format!("{domain}, beyond the server that answered")),
    }
}

/// The finding about a mailbox that is not there, and the next step.
pub(super) fn none(
    scene: &Scene,
    seen: &Inspection,
    why: &NoMailbox,
    setup: &str,
) -> (String, String) {
    let see = "do what the check `domain` says";
    match (why, &seen.facts.cluster) {
        (NoMailbox::NotMade(why), _) => (format!("there is none: {why}"), setup.to_owned()),
        (NoMailbox::NoJetStream, _) => (
            "there is none: no JetStream answers".to_owned(),
            see.to_owned(),
        ),
        (NoMailbox::Silence, _) if scene.config.nats.domain.is_some() => {
            ("nobody answers for it".to_owned(), see.to_owned())
        }
        (NoMailbox::Silence, Some(cluster)) if seen.refused.is_empty() => (
            format!(
                "the cluster {cluster} does not answer for it: it has no leader, or most of its servers are away"
            ),
            "start the servers of the cluster that are away; two of three have to be up".to_owned(),
        ),
        (NoMailbox::Silence, _) => (
            "there is none: the server does not answer a question about it".to_owned(),
            setup.to_owned(),
        ),
    }
}

/// So many servers that let nobody in are named.
const NAMED: usize = 3;
const NOWHERE: &str =
    "no mail is kept for this agent: senders keep it, and must be up when this daemon is back";
