//! One record for each kind of thing that the person should see: checked ids, and sentences of our own.

use signet_api::{Attention, AttentionKind};
use signet_audit::counted;
use signet_proto::certificate::Certificate;
use signet_proto::entry::Alarm;
use signet_proto::ids::{AgentId, Digest, KeyId, MessageId};
use signet_proto::node::Node;
use signet_proto::time::Timestamp;

use super::{DAY, ENDS_SOON};

/// That our certificate ends soon, or has ended.
pub(crate) fn certificate(node: &Node, now: Timestamp) -> Option<Attention> {
    let certificate = &node.identity().certificate;
    let (ends, left) = (certificate.not_after, certificate.not_after.since(now));
    if left >= ENDS_SOON {
        return None;
    }
    let text = match (ends <= now, left.as_secs() / DAY) {
        (true, _) => format!(
            "the certificate of this agent ended {ends}: nothing is signed, and all that is sent waits"
        ),
        (false, days) => format!(
            "the certificate of this agent ends {ends}, in {}; from then on nothing is signed, and all that \
             is sent waits",
            counted(days, "day")
        ),
    };
    let serial = certificate.serial.to_string();
    Some(Attention {
        text,
        next: "signet key rotate signing".to_owned(),
        ..record(node, AttentionKind::Certificate, now, &[&serial])
    })
}

pub(super) fn introduction(node: &Node, claimed: &Certificate, since: Timestamp) -> Attention {
    let root = claimed.root.id().to_string();
    let text = format!(
        "the stranger {}, who says that it acts for {}, waits for an introduction; nobody has verified either name",
        claimed.agent, claimed.principal
    );
    let kind = AttentionKind::Introduction;
    Attention {
        peer: Some(claimed.agent.to_string()),
        principal: Some(claimed.principal.to_string()),
        text,
        next: PENDING.to_owned(),
        ..record(node, kind, since, &[claimed.agent.as_str(), &root])
    }
}

pub(super) fn changed_root(
    node: &Node,
    claimed: Option<&Certificate>,
    root: KeyId,
    since: Timestamp,
) -> Attention {
    Attention {
        alarm: Some(ROOT_CHANGED.to_owned()),
        peer: claimed.map(|claimed| claimed.agent.to_string()),
        principal: claimed.map(|claimed| claimed.principal.to_string()),
        text: "somebody uses the name of a person you know with another root key; nothing was accepted: ask that \
               person"
            .to_owned(),
        next: PENDING.to_owned(),
        ..record(node, AttentionKind::Alarm, since, &[ROOT_CHANGED, &root.to_string()])
    }
}

pub(super) fn alarm(node: &Node, what: Alarm, peer: &AgentId, since: Timestamp) -> Attention {
    let subject = [what.as_str(), peer.as_str()];
    let record = record(node, AttentionKind::Alarm, since, &subject);
    Attention {
        alarm: Some(what.as_str().to_owned()),
        text: node.alarms().text(node.context(), what, peer),
        next: "signet alarms".to_owned(),
        ..about(node, peer, record)
    }
}

pub(super) fn draft(node: &Node, peer: &AgentId, message_id: MessageId) -> Attention {
    let name = message_id.to_string();
    let record = record(node, AttentionKind::Draft, made_at(message_id), &[&name]);
    Attention {
        text: format!("a message to {peer} waits for your approval"),
        next: "signet drafts".to_owned(),
        ..about(node, peer, record)
    }
}

pub(super) fn quarantined(
    node: &Node,
    peer: &AgentId,
    message_id: MessageId,
    since: Timestamp,
) -> Attention {
    let subject = [peer.as_str(), &message_id.to_string()];
    let record = record(node, AttentionKind::Quarantine, since, &subject);
    Attention {
        text: format!(
            "the handling of a message of {peer} failed five times; it waits for your decision"
        ),
        next: "signet quarantine list".to_owned(),
        ..about(node, peer, record)
    }
}

/// A record that names nobody yet. `subject` is what its id stands for.
fn record(node: &Node, kind: AttentionKind, since: Timestamp, subject: &[&str]) -> Attention {
    let since = since.to_string();
    // No id and no name has a space in it, so different subjects never join to the same text, and never get the same record id.
    let mut named = [kind.as_str(), &subject.join(" ")].join(" ");
    // The id of a certificate's record has no time in it: a later reminder then has the same id, and replaces the earlier one
    // instead of standing beside it.
    if kind != AttentionKind::Certificate {
        named = format!("{named} {since}");
    }
    let id: String = Digest::of(&[named.as_bytes()]).to_hex();
    Attention {
        version: VERSION,
        kind,
        time: since,
        agent: node.identity().agent().to_string(),
        id: Some(id.chars().take(ID_DIGITS).collect()),
        alarm: None,
        peer: None,
        principal: None,
        verified: false,
        count: 1,
        still: false,
        text: String::new(),
        next: String::new(),
    }
}

/// The same about `peer`, as a trusted certificate names it, or as somebody does.
fn about(node: &Node, peer: &AgentId, record: Attention) -> Attention {
    let own = &node.identity().certificate;
    let trusted = node.trust().trusted(peer);
    let principal = match own.agent == *peer {
        true => Some(&own.principal),
        false => trusted.and_then(|trusted| trusted.principal()),
    };
    Attention {
        peer: Some(peer.to_string()),
        principal: principal.map(ToString::to_string),
        verified: principal.is_some(),
        ..record
    }
}

/// When we made a message: its id says it (RFC 9562, version 7).
pub(crate) fn made_at(message_id: MessageId) -> Timestamp {
    let bytes = message_id.as_bytes().iter().take(6);
    let millis = bytes.fold(0, |millis: i64, byte| (millis << 8) | i64::from(*byte));
    Timestamp::from_millis(millis)
}

/// The form of the records.
const VERSION: u8 = 1;
const ID_DIGITS: usize = 16;
const ROOT_CHANGED: &str = "root-changed";
const PENDING: &str = "signet trust pending";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_ours_says_when_it_was_made() {
        let id = MessageId::from_parts(1_764_000_000_123, [7; 10]);
        assert_eq!(made_at(id).as_millis(), 1_764_000_000_123);
    }
}
