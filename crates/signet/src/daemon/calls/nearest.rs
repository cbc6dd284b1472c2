//! Agents by their names as people and models type them: a name that nobody has is a slip first, where it looks like
//! one that is known.

use signet_api::{ApiError, Reason};
use signet_proto::ids::AgentId;
use signet_proto::node::{LocalError, Node};

use super::serve::{named, refused};
use crate::reach::Reach;

/// Reads the name of a peer. A text that can be no name, such as one in capitals, may still look like one.
///
/// # Errors
/// The form of a name, or which known one is meant.
pub(super) fn peer_named(node: &Node, reach: &Reach, text: &str) -> Result<AgentId, ApiError> {
    named("peer", text).map_err(|unfit| match known_near(node, reach, text) {
        Some(near) => mistyped(text, near, &format!("write {near}")),
        None => unfit,
    })
}

/// A refusal of the node as a caller hears it: of a peer that nobody knows with the one that is meant.
pub(super) fn refused_of(node: &Node, reach: &Reach, error: LocalError) -> ApiError {
    let near = match &error {
        // Suggest nothing for this agent's own name: names of one household are often alike, and this name is not misspelt.
        LocalError::PeerUnknown(agent) if agent != node.identity().agent() => {
            let near = known_near(node, reach, agent.as_str());
            near.map(|near| mistyped(agent.as_str(), near, &format!("write {near}")))
        }
        _ => None,
    };
    near.unwrap_or_else(|| refused(error))
}

/// Why nothing waits for somebody new under a name that looks like a known one.
pub(super) fn refused_to_introduce(node: &Node, reach: &Reach, peer: &AgentId) -> Option<ApiError> {
    let near = known_near(node, reach, peer.as_str())?;
    let next = format!(
        "write {near}; if {peer} is somebody else, whom nobody has introduced yet, add --introduce"
    );
    Some(mistyped(peer.as_str(), near, &next))
}

/// The known agent that a name looks like, of those that the caller has to do with.
pub(super) fn known_near<'a>(node: &'a Node, reach: &Reach, name: &str) -> Option<&'a str> {
    let peers = node.trust().peers().map(|(agent, _)| agent);
    // Suggest only agents that the caller's limits let it know: a suggestion must not reveal any other agent.
    let known = peers.filter(|agent| reach.knows(agent));
    // A known name is not misspelt, even where its agent is no longer trusted: suggest no other agent for it.
    nearest(name, known.map(AgentId::as_str)).filter(|near| *near != name)
}

fn mistyped(name: &str, near: &str, next: &str) -> ApiError {
    let text = format!("no agent {name} is known; did you mean {near}?");
    let refusal = ApiError::refused(Reason::PeerResembles, text).with_next(next);
    refusal.with(|refusal| refusal.did_you_mean = Some(near.to_owned()))
}

/// The known id that an unknown one resembles most.
fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // No agent-id is longer than `LONGEST`, and comparing a longer text would only take time.
    if unknown.len() > LONGEST {
        return None;
    }
    let unknown = unknown.trim().to_lowercase();
    let near = known.filter(|known| resembles(&unknown, known));
    near.min_by_key(|known| strsim::damerau_levenshtein(&unknown, known))
}

/// One slip of the keyboard, or two in a long id; or a part was left out at one end.
fn resembles(unknown: &str, known: &str) -> bool {
    let slips = strsim::damerau_levenshtein(unknown, known);
    let (shorter, longer) = match unknown.len() <= known.len() {
        true => (unknown.len(), known.len()),
        false => (known.len(), unknown.len()),
    };
    let most = match (shorter, longer) {
        // Allow no slip between two names of one or two letters each: with one slip, nearly every such name resembles every
        // other.
        (_, ..3) => 0,
        (..12, _) => 1,
        _ => 2,
    };
    let begins = known.strip_prefix(unknown);
    let ends = known.strip_suffix(unknown);
    slips <= most
        || begins.is_some_and(|rest| rest.starts_with('-'))
        || ends.is_some_and(|rest| rest.ends_with('-'))
}

const LONGEST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_resembles_and_another_name_does_not() {
        let known = || ["agent-bob-001", "agent-alice-001", "agent-bo"].into_iter();
        for (slip, meant) in [
            ("agent-bob-01", "agent-bob-001"),
            ("agent-bbo-001", "agent-bob-001"),
            ("agent-bob-002", "agent-bob-001"),
            ("agetn-bob-0001", "agent-bob-001"),
            ("bob-001", "agent-bob-001"),
            ("agent-bob", "agent-bo"),
            ("agent-alice", "agent-alice-001"),
            ("agent-allice-01", "agent-alice-001"),
            ("Agent-Alice-001", "agent-alice-001"),
        ] {
            assert_eq!(nearest(slip, known()), Some(meant), "{slip}");
        }
        for other in ["agent-carol-001", "agent-eve", "a", "agent-clive-007"] {
            assert_eq!(nearest(other, known()), None, "{other}");
        }
        assert_eq!(nearest("agent-bob-01", std::iter::empty()), None);
    }

    #[test]
    fn a_short_name_is_known_by_one_slip_from_three_letters_on() {
        let known = || ["bob", "al", "alice"].into_iter();
        for (slip, meant) in [
            ("bobb", "bob"),
            ("bo", "bob"),
            ("ali", "al"),
            ("bbo", "bob"),
            ("BOB", "bob"),
            ("Bobb", "bob"),
            ("alcie", "alice"),
            ("AL", "al"),
        ] {
            assert_eq!(nearest(slip, known()), Some(meant), "{slip}");
        }
        for other in ["eve", "la", "a", "carol", &"bob".repeat(100)] {
            assert_eq!(nearest(other, known()), None, "{other}");
        }
    }
}
