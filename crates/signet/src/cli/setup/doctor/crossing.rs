//! Whether messages get from here to the mailboxes of peers, on this server or beyond it.

use signet_audit::counted;
use signet_transport::{InboxAnswer, Inspection};

use super::finding::{CheckResult, DoctorCheck};
use super::keeper::{ServerKeeper, starts};
use super::scene::Scene;
use crate::cli::setup::nats::hub::line::HubAccess;
use crate::cli::setup::up::server::{HubState, too_old_for_leaf};

/// A login is told that its server is a leaf, and not whether the line to the hub stands. The log of the home's own server says
/// that.
pub(super) fn leaf(scene: &Scene, seen: &Inspection) -> CheckResult {
    let check = DoctorCheck::of("leaf", "whether the server is a leaf of a hub");
    let (home, config) = (&scene.home, &scene.config);
    let own = ServerKeeper::own(home, config);
    let hub = own.and_then(|own| Some((own.hub().ok()??, own)));
    if (seen.facts.is_leaf || hub.is_some())
        && let Some(found) = too_old_for_leaf(&seen.version)
    {
        return check.warning(
            found,
            "a message may be given up, and its sender says it again",
            NEWER,
        );
    }
    if let Some((access, own)) = hub {
        return of_own(check, scene, &access, own.hub_state_now());
    }
    match (seen.facts.is_leaf, &seen.facts.cluster) {
        (true, _) => check.well(
            "it is one; whether its line to the hub stands is told to no login: `crossing` asks the peers",
        ),
        (false, Some(_)) => check.well("a server of a cluster does not say"),
        (false, None) => check.well("it is none"),
    }
}

/// The line of the home's own server to its hub, by the server's log.
fn of_own(check: DoctorCheck, scene: &Scene, access: &HubAccess, state: HubState) -> CheckResult {
    let config = &scene.config;
    let of = format!(
        "of the hub {}, as {}",
        access.hub.address(),
        access.household
    );
    let (found, next) = match state {
        HubState::Connected
            if access.replies != config.nats.reply_prefix && !access.replies.is_default() =>
        {
            return check.warning(
                format!("it is one {of}, whose lists are for the reply prefix of two tokens, which config.toml does not name"),
                "no mailbox of another household confirms this agent's messages",
                &format!("write reply-prefix = \"two-tokens\" in [nats] of config.toml; then: signet down --keep-nats && {}", starts(&scene.home)),
            );
        }
        HubState::Connected => return check.well(format!("it is one {of}, and the line stands")),
        HubState::Refused => (
            "the hub does not let this household in",
            "ask whoever keeps the hub whether it was started again since the line was made, and for another line",
        ),
        HubState::Unproved => (
            "what answers there does not prove by its certificate to be the hub",
            "ask whoever keeps the hub for the certificate, and for another line",
        ),
        HubState::Closed => (
            "the hub takes the connection, and it ends again",
            "look into nats/server.log of this home; a nats-server of another version than the hub's may be the cause",
        ),
        HubState::Away => (
            "the hub does not answer",
            "wait, or ask whoever keeps the hub; the server goes on trying",
        ),
    };
    check.warning(
        format!("it is one {of}, and {found}"),
        "messages between this household and others wait; mail within it goes on",
        next,
    )
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
        return check.advice(
            format!("no mailbox answers for {}, though somebody listens there; {answer}", listed(&silent)),
            "their daemons read without a mailbox; or a hub between does not let the word of the mailbox back to this agent, which \
             is sent for as _INBOX_… and never comes",
            "ask their person for: signet doctor  # a hub's lists are in docs/scale.md",
        );
    }
    match count {
        0 => check.well("no peer was asked"),
        _ => check.well(answer),
    }
}

/// The step for the persons of these peers.
fn told_to(agents: &[&str]) -> String {
    let agents = agents.iter().take(NAMED).copied().collect::<Vec<_>>();
    format!(
        "ask their person whether the server there runs, and to make the mailbox if there is none, by `nats setup {}`",
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

const NEWER: &str =
    "install nats-server 2.10 or newer on the machine of that server, and start it anew";
/// So many peers are named.
const NAMED: usize = 8;
