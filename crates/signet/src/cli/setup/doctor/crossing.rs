//! Whether messages get from here to the mailboxes of peers, on this server or beyond it.

use signet_audit::counted;
use signet_transport::{InboxAnswer, Inspection};

use super::finding::{CheckResult, DoctorCheck};
use super::keeper::{ServerKeeper, starts};
use super::scene::Scene;
use crate::cli::setup::nats::hub::line::HubAccess;
use crate::cli::setup::up::server::{HubState, OwnServer, too_old_for_leaf};
use crate::hint;

/// A login is told that its server is a leaf, and not whether the line to the hub stands. The log of the home's own server says
/// that.
pub(super) fn leaf(scene: &Scene, seen: &Inspection) -> CheckResult {
    let check = DoctorCheck::of("leaf", "whether the server is a leaf of a hub");
    let (home, config) = (&scene.home, &scene.config);
    let own = ServerKeeper::own(home, config);
    let hub = own.and_then(|own| Some((own.hub().ok()??, own)));
    let ill = hub.as_ref().and_then(|(hub, own)| of_own(scene, hub, own));
    if let Some((found, means, next)) = ill {
        return check.warning(found, means, &next);
    }
    if (seen.facts.is_leaf || hub.is_some())
        && let Some(found) = too_old_for_leaf(&seen.version)
    {
        return check.warning(
            found,
            "a message may be given up, and its sender says it again",
            "install nats-server 2.10 or newer on the machine of that server, and start it anew",
        );
    }
    match (hub, seen.facts.is_leaf, &seen.facts.cluster) {
        (Some((hub, own)), ..) if own.hub_state_now().is_some() => {
            check.well(format!("it is one {}, and the line stands", named(&hub)))
        }
        (Some(_), ..) | (None, true, _) => check.well(
            "it is one; whether its line to the hub stands is told to no login: `crossing` asks the peers",
        ),
        (None, false, Some(_)) => check.well("a server of a cluster does not say"),
        (None, false, None) => check.well("it is none"),
    }
}

fn named(hub: &HubAccess) -> String {
    format!("of the hub {}, as {}", hub.hub.address(), hub.household)
}

/// The fault of the line from the home's own server to its hub, by the server's log: what is found, what it means, what is next.
fn of_own(
    scene: &Scene,
    hub: &HubAccess,
    own: &OwnServer,
) -> Option<(String, &'static str, String)> {
    let config = &scene.config;
    let (found, next) = match own.hub_state_now()? {
        HubState::Connected if hub.replies == config.nats.reply_prefix => return None,
        HubState::Connected => {
            let wanted = hub.replies.as_str();
            return Some((
                format!(
                    "it is one {}, whose lists are for reply-prefix = \"{wanted}\", which config.toml does not have",
                    named(hub)
                ),
                "no mailbox of another household confirms this agent's messages",
                format!(
                    "write reply-prefix = \"{wanted}\" in [nats] of config.toml; then: signet down --keep-nats && {}",
                    starts(&scene.home)
                ),
            ));
        }
        HubState::Refused => (
            "the hub does not let this household in",
            "ask whoever keeps the hub whether it was started again since the line was made, and for another line".to_owned(),
        ),
        HubState::Unproved => (
            "what answers there does not prove by its certificate to be the hub",
            "ask whoever keeps the hub for the certificate, and for another line".to_owned(),
        ),
        HubState::Closed => (
            "the hub takes the connection, and it ends again",
            format!(
                "tail -n 20 {}  # says more; a nats-server of another version than the hub's may be the cause",
                hint::word(&own.log_file())
            ),
        ),
        HubState::Contested => (
            "the hub throws it out for another server that logs in as this household, and that one for it",
            "in the other home: their signet up --leave; its agents then come by their signet up --beside, or by \
             signet invite --login here. If nobody of the household has another, ask whoever keeps the hub for another line"
                .to_owned(),
        ),
        HubState::Nameless => (
            "this machine finds no address for the name of the hub",
            "wait, if this machine is off the network; else ask whoever keeps the hub for a line with another address".to_owned(),
        ),
        HubState::Away => (
            "the hub does not answer",
            "wait, or ask whoever keeps the hub; the server goes on trying".to_owned(),
        ),
    };
    Some((
        format!("it is one {}, and {found}", named(hub)),
        "messages between this household and others wait; mail within it goes on",
        next,
    ))
}

/// The answers from the inboxes of the peers that NATS carries to.
pub(super) fn crossing(seen: &Inspection) -> CheckResult {
    let check = DoctorCheck::of(
        "crossing",
        "whether the mailboxes of peers answer from here",
    );
    // A server that refuses the question leaves it without an answer: `permissions` says so.
    let answers = seen
        .inboxes
        .iter()
        .filter(|(inbox, _)| !seen.refused.contains(inbox));
    let of = |wanted: InboxAnswer| {
        let those = answers.clone().filter(move |(_, answer)| *answer == wanted);
        those.map(|(inbox, _)| agent(inbox)).collect::<Vec<_>>()
    };
    let (nobody, silent) = (of(InboxAnswer::Nobody), of(InboxAnswer::Silence));
    let count = of(InboxAnswer::Mailbox).len();
    let answer = match count {
        0 => "no other peer's mailbox answers".to_owned(),
        _ => format!("the mailboxes of {} answer", counted(count as u64, "peer")),
    };
    if !nobody.is_empty() {
        let found = format!("nobody is there for {}; {answer}", listed(&nobody));
        return match (seen.facts.is_leaf, count) {
            (true, 0) => check.warning(
                found,
                "messages to them wait here: the hub is away or does not let this server in, or all their households are away",
                "see that the hub runs, and what the log of this server says of its `remotes`",
            ),
            (true, _) => check.warning(
                found,
                "messages to them wait here: their household's server is away, or is not let in by the hub, or has no mailbox for them",
                &told_to(&nobody),
            ),
            (false, _) => check.warning(
                found,
                "what is sent to them while their daemons are away waits here, and this daemon must be up when they are back",
                &told_to(&nobody),
            ),
        };
    }
    if !silent.is_empty() {
        let found = format!(
            "no mailbox answers for {}, though somebody listens there; {answer}",
            listed(&silent)
        );
        return without_answer(check, found, count == 0 && seen.facts.is_leaf);
    }
    match count {
        0 => check.well("no peer was asked"),
        _ => check.well(answer),
    }
}

/// Somebody listens, and no mailbox answers; `is_all` says that none does of those beyond the hub.
fn without_answer(check: DoctorCheck, found: String, is_all: bool) -> CheckResult {
    match is_all {
        true => check.warning(
            found,
            "messages to them wait here: the hub hangs, or the servers of their households do; or a hub between does not let the \
             word of their mailboxes back to this agent; or their daemons read without a mailbox",
            "see that the hub runs and answers; the lists of a hub are in docs/scale.md",
        ),
        false => check.advice(
            found,
            "their daemons read without a mailbox; or a hub between does not let the word of the mailbox back to this agent, which \
             is sent for as _INBOX_… and never comes",
            "ask their person what their signet doctor says; the lists of a hub are in docs/scale.md",
        ),
    }
}

/// The step for the persons of these peers.
fn told_to(agents: &[&str]) -> String {
    let agents = agents.iter().take(NAMED).copied().collect::<Vec<_>>();
    format!(
        "ask their person whether the server there runs, and to make the mailbox if there is none, by their signet nats setup {}",
        agents.join(" ")
    )
}

/// The agent of `agent.ID.inbox`.
fn agent(inbox: &str) -> &str {
    inbox.split('.').nth(1).unwrap_or_default()
}

fn listed(agents: &[&str]) -> String {
    let some = agents.iter().take(NAMED).copied().collect::<Vec<_>>();
    let more = agents.len() - some.len();
    match more {
        0 => some.join(" "),
        _ => format!("{} and {more} more", some.join(" ")),
    }
}

/// So many peers are named.
const NAMED: usize = 8;
