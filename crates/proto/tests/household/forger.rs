//! Bob with his own keys and no manners: messages that his node would never send.

use std::sync::Arc;

use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::envelope::Method;
use signet_proto::ids::{MessageId, SessionId, Version};
use signet_proto::node::Effect;
use signet_proto::receipt::Receipt;
use signet_proto::time::Timestamp;

use super::net::Net;
use super::{START, alice_and_bob, identity};

/// Alice's and Bob's agents (0 and 1) with a session that stands, 10 s after the start.
pub fn talking() -> Net {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(0, 1);
    net.run_for(10_000);
    net
}

pub fn bob() -> Identity {
    identity("agent-bob", "bob")
}

pub fn name(n: u64) -> MessageId {
    let mut random = [9; 10];
    random[2..].copy_from_slice(&n.to_be_bytes());
    MessageId::from_parts(START as u64, random)
}

pub fn session_of(net: &Net) -> SessionId {
    let bob = net.agents[1].id();
    let standing = net.agents[0].node.standing(&bob, net.at(0).now);
    standing.session.unwrap()
}

/// A call of Bob to Alice in their session, well-formed but for the changes.
pub fn call(
    net: &Net,
    method: Method,
    sequence: u64,
    change: impl FnOnce(&mut Draft, &mut Stamp),
) -> Arc<[u8]> {
    let body = serde_json::json!({"n": sequence});
    let mut draft = Draft::call(method, net.agents[0].id(), name(sequence), body);
    let mut stamp = Stamp {
        now: net.at(0).now,
        session: Some(session_of(net)),
        sequence: Some(sequence),
        audit_head: None,
        version: Version::CURRENT,
    };
    change(&mut draft, &mut stamp);
    Arc::clone(draft.sign(&bob(), stamp).unwrap().bytes())
}

pub fn receipt(net: &Net, n: u64, now: Timestamp, receipt: &Receipt) -> Arc<[u8]> {
    call(net, Method::Receipt, n, |draft, stamp| {
        draft.body = Some(receipt.to_value());
        draft.message_id = name(1 << 40 | n);
        stamp.sequence = None;
        stamp.now = now;
    })
}

/// What an agent makes of bytes: the reason of a refusal, and what it does.
pub fn hear(net: &mut Net, who: usize, bytes: &[u8]) -> (Option<&'static str>, Vec<Effect>) {
    let at = net.at(who);
    let before = net.agents[who].refusals().len();
    let effects = net.agents[who].hear(at, bytes);
    let reason = net.agents[who].refusals().get(before).copied();
    (reason, effects)
}

/// The reason for which Alice refuses; `None` when she does not.
pub fn refusal(net: &mut Net, bytes: &[u8]) -> Option<&'static str> {
    let (reason, effects) = hear(net, 0, bytes);
    let acted = effects
        .iter()
        .any(|effect| matches!(effect, Effect::Deliver(_) | Effect::Answer(_)));
    assert!(
        reason.is_none() || !acted,
        "refused, and acted all the same"
    );
    reason
}
