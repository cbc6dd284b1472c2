//! What `signet trust` tells a person: who waits for an introduction, and what became of a decision.

use std::fmt::Write as _;

use signet_api::{Bound, Pending, Revoked, StrangerDecided, Trust, TrustedPeer, Withdrawn};

use crate::cli::print::or_dash;
use crate::cli::visible_lines;
use crate::hint::typed;

/// Who waits for a decision, with the words to compare and what to type.
pub(super) fn pending(waiting: &Pending) -> String {
    let mut page = String::new();
    for one in &waiting.pending {
        let (agent, root) = (&one.agent, &one.root);
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "{agent} says that it acts for \"{}\"; nobody has verified either name (since {})\n  \
               its root key reads: {}\n  \
               ask that person, by telephone or face to face, to read out the words of their own agent: signet status\n    \
               the same words:  {}\n    any other words: {}\n",
            one.principal,
            one.since,
            one.fingerprint,
            typed(&format!("signet trust approve {agent} --root {root}")),
            typed(&format!("signet trust refuse {agent} --root {root}")),
        );
    }
    for one in &waiting.root_alarms {
        let _ = write!(
            page,
            "ALARM, {}: somebody uses the name of a person you know with another root key, {}\n  \
               nothing was accepted; ask the person, by telephone or face to face\n    \
               a new key of theirs: {}\n    \
               not their key:       somebody pretends to be them; there is nothing to do here\n",
            one.since,
            one.root,
            typed("signet trust replace-root THEIR-NEW-CERTIFICATE.json"),
        );
    }
    match page.is_empty() {
        true => "nobody waits for your decision\n".to_owned(),
        false => visible_lines(&page),
    }
}

/// A stranger is trusted from now on.
pub(super) fn approved(decided: &StrangerDecided) -> String {
    let agent = &decided.agent;
    format!(
        "{agent} is trusted; its root key reads: {}\n  what waits for it leaves as soon as its person trusts you too\n  \
           to take the trust back: {}\n",
        or_dash(decided.fingerprint.as_deref()),
        typed(&format!("signet trust withdraw {agent}")),
    )
}

/// A stranger stays one.
pub(super) fn refused(decided: &StrangerDecided) -> String {
    format!(
        "{} is refused under this root key, and you are not asked about it again\n  \
           if you change your mind: {}\n",
        decided.agent,
        typed("signet peer add THEIR-CERTIFICATE.json"),
    )
}

/// The trust in an agent is taken back, here alone.
pub(super) fn withdrawn(withdrawn: &Withdrawn) -> String {
    let peer = &withdrawn.peer;
    format!(
        "{peer} is trusted no more\n  messages to it that ended: {}; messages of its that your agent no longer gets: {}\n  \
           to read those: {}\n  to trust it again: {}\n",
        withdrawn.ended,
        withdrawn.set_aside,
        typed("signet inbox --set-aside"),
        typed(&format!("signet trust approve {peer}")),
    )
}

/// The page for a person's root key that took back the certificates of that person's agent.
pub(super) fn revoked(revoked: &Revoked) -> String {
    let for_how_long = match revoked.changed {
        true => ", for good",
        false => ", as was known already",
    };
    format!(
        "{} of {}: certificates up to serial {} are revoked{for_how_long}\n",
        revoked.agent, revoked.principal, revoked.serial,
    )
}

/// The page for a person who goes on with another root key.
pub(super) fn replaced(bound: &Bound) -> String {
    let person = &bound.principal;
    format!(
        "{person} goes on with the root key that reads: {}\n  \
           {} is trusted under it; every other agent of {person} must be added again: {}\n",
        bound.fingerprint,
        bound.peer,
        typed("signet peer add FILE"),
    )
}

/// Every agent that is or was trusted.
pub(super) fn list(known: &[TrustedPeer]) -> String {
    let mut page = String::new();
    for TrustedPeer { peer, trust } in known {
        let agent = &peer.peer;
        let next = match trust {
            Trust::Trusted => format!("signet trust withdraw {agent}"),
            Trust::Withdrawn => format!("signet trust approve {agent}"),
            Trust::Revoked => {
                "ask its person for a new certificate, then signet peer add FILE".to_owned()
            }
        };
        let _ = write!(
            page,
            "{agent} of {}: {}, serial {}, until {}\n  {}\n  next: {next}\n",
            or_dash(peer.principal.as_deref()),
            trust.as_str(),
            peer.serial.unwrap_or_default(),
            or_dash(peer.not_after.as_deref()),
            or_dash(peer.fingerprint.as_deref()),
        );
    }
    match page.is_empty() {
        true => "nobody is known yet\n  next: signet trust pending  # or signet peer add FILE\n"
            .to_owned(),
        false => visible_lines(&page),
    }
}
