//! Whether messages get from here to the mailboxes of peers, on this server or beyond it.

use signet_audit::counted;
use signet_transport::{InboxAnswer, Inspection};

use super::finding::{CheckResult, DoctorCheck};

/// A login is told that its server is a leaf, and not whether the line to the hub stands.
pub(super) fn leaf(seen: &Inspection) -> CheckResult {
    let check = DoctorCheck::of("leaf", "whether the server is a leaf of a hub");
    match (seen.facts.is_leaf, &seen.facts.cluster) {
        (true, _) => check.well(
            "it is one; whether its line to the hub stands is told to no login: `crossing` asks the peers",
        ),
        (false, Some(_)) => check.well("a server of a cluster does not say"),
        (false, None) => check.well("it is none"),
    }
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

/// So many peers are named.
const NAMED: usize = 8;
