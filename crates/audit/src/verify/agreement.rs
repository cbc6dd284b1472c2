//! Whether the frame of a line and what it says around a message agree with the signed message in it.

use signet_json::{Limits, Map, Value, parse};
use signet_proto::entry::{Direction, Evidence, HandoffLine, Ruling, TaskChange, Verdict};
use signet_proto::envelope::{MAX_MESSAGE, Message};
use signet_proto::ids::AgentId;

use crate::record::LogLine;

/// Names the member in which the line differs from what a log would write for it.
pub(crate) fn forged_member(line: &LogLine) -> Option<String> {
    let expected = line.rewrite();
    // Compare the bytes first: most lines are as expected. Only for a forged line is it worth parsing both texts, to name the
    // member that differs.
    if expected == line.raw {
        return None;
    }
    let (found, expected) = (members(&line.raw), members(&expected));
    let changed = expected
        .iter()
        .find(|(name, value)| found.get(*name) != Some(value));
    let added = found.keys().find(|name| !expected.contains_key(*name));
    Some(match (changed, added) {
        (Some((name, _)), _) => format!("`{name}` is not what the rest of the line says"),
        (None, Some(name)) => format!("`{name}` is a member that no log writes"),
        (None, None) => "the line is spelt otherwise than a log writes it".to_owned(),
    })
}

/// What contradicts itself in a verdict, the signature aside. `me` is unknown when the log's first
/// file was not given.
pub(crate) fn contradictions(verdict: &Verdict, me: Option<&AgentId>) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut demand = |holds: bool, what| found.extend((!holds).then_some(what));
    let is_in = verdict.direction == Direction::In;
    match verdict.ruling {
        Ruling::Accepted => demand(is_in, "`accepted` is only for what came in"),
        Ruling::Sent => demand(!is_in, "`sent` is only for what went out"),
        Ruling::Rejected(_) => {}
    }
    match &verdict.evidence {
        Evidence::Whole(message) => {
            demand(
                message.hash() == verdict.hash,
                "`sha256` is not the hash of the message inside",
            );
            demand(
                is_length_of(verdict, message),
                "`bytes` cannot be the length of the message inside",
            );
            demand(
                is_party(verdict, message, me),
                "the message inside is not between this agent and the line's peer",
            );
        }
        Evidence::Headers(_) | Evidence::Withheld(..) | Evidence::Copy(_) | Evidence::Raw(..) => {
            demand(
                matches!(verdict.ruling, Ruling::Rejected(_)),
                "the message is accepted or sent, and yet it is not inside",
            )
        }
    }
    demand(
        verdict.copy.is_none() || may_have_copy(verdict),
        "a `copy` stands only beside a sealed message that was accepted or sent",
    );
    found
}

/// Whether the last mandate of an offer is between the line's two agents.
pub(crate) fn prove_parties(line: &HandoffLine, me: Option<&AgentId>) -> Result<(), &'static str> {
    let TaskChange::Offered(offered) = &line.change else {
        return Ok(());
    };
    let last = offered.chain.last();
    let (from, to, peer) = (Some(&last.from), Some(&last.to), Some(&line.peer));
    let ours = match line.direction {
        Direction::In => peer == from && (me.is_none() || me == to),
        Direction::Out => peer == to && (me.is_none() || me == from),
    };
    ours.then_some(())
        .ok_or("the last mandate is not between this agent and the line's peer")
}

fn may_have_copy(verdict: &Verdict) -> bool {
    let sealed = verdict
        .message()
        .is_some_and(|message| message.sealed.is_some());
    sealed && !matches!(verdict.ruling, Ruling::Rejected(_))
}

/// Whether `bytes` can be the length of the message. A message of our own is canonical, and has one length; one that
/// came may be spelt otherwise, so its length is only held against the bounds.
fn is_length_of(verdict: &Verdict, message: &Message) -> bool {
    match verdict.direction {
        Direction::Out => verdict.bytes == message.canonical().len() as u64,
        Direction::In => (1..=MAX_MESSAGE as u64).contains(&verdict.bytes),
    }
}

fn is_party(verdict: &Verdict, message: &Message, me: Option<&AgentId>) -> bool {
    let headers = &message.headers;
    let (ours, theirs) = match verdict.direction {
        Direction::In => (&headers.recipient_id, &headers.agent_id),
        Direction::Out => (&headers.agent_id, &headers.recipient_id),
    };
    // `me != theirs`: no agent sends a message to itself (V06), so a line that says so is forged.
    me.is_none_or(|me| me == ours && me != theirs)
}

fn members(raw: &[u8]) -> Map<String, Value> {
    match parse(raw, Limits::LINE) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}
