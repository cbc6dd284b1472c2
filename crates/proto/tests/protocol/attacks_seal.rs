//! Attacks on what is sealed, each test named after the attack.

use std::sync::Arc;

use serde_json::{Value, json};
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::entry::{Entry, Evidence};
use signet_proto::envelope::{Method, Unverified};
use signet_proto::headers::Tier;
use signet_proto::ids::{Digest, SessionId, Version};
use signet_proto::keys::SealKey;
use signet_proto::node::Sending;
use signet_proto::seal::{Sealed, plaintext};

use crate::forge::{self, box_under, read};
use crate::household::forger::{hear, name};
use crate::household::net::{Net, message_of};
use crate::household::sealing::{MARKER, secret, talking};
use crate::household::{identity, rng};

fn who(net: &Net, who: usize) -> Identity {
    let agent = net.agents[who].id();
    let principal = net.agents[who]
        .node
        .identity()
        .certificate
        .principal
        .clone();
    identity(agent.as_str(), principal.as_str())
}

fn key_of(net: &Net, who: usize) -> SealKey {
    net.agents[who].node.identity().keys.sealing_key
}

fn session(net: &Net, from: usize, to: usize) -> SessionId {
    let peer = net.agents[from].id();
    let standing = net.agents[to].node.standing(&peer, net.at(to).now);
    standing.session.unwrap()
}

/// A call in the session from one agent to another, well sealed and signed but for the changes to what
/// is sealed (first) and to what is signed (second).
fn forged(
    net: &Net,
    (from, to): (usize, usize),
    key: SealKey,
    inner: impl FnOnce(&mut Draft, &mut Stamp, &mut Identity),
    outer: impl FnOnce(&mut Value),
) -> Arc<[u8]> {
    let mut draft = Draft::call(
        Method::Notification,
        net.agents[to].id(),
        name(900),
        json!(MARKER),
    );
    draft.data_tier = Tier::Sensitive;
    let mut stamp = Stamp {
        now: net.at(0).now,
        session: Some(session(net, from, to)),
        sequence: Some(900),
        audit_head: None,
        version: Version::CURRENT,
    };
    let mut sealer = who(net, from);
    let good = draft.clone();
    let good = good
        .seal_and_sign(&sealer, stamp, key, &mut rng())
        .unwrap()
        .0;
    inner(&mut draft, &mut stamp, &mut sealer);
    let bad = draft
        .seal_and_sign(&sealer, stamp, key, &mut rng())
        .unwrap()
        .0;
    let mut value = read(good.bytes());
    value["params"]["sealed"] = read(bad.bytes())["params"]["sealed"].clone();
    outer(&mut value);
    forge::sign(value, &who(net, from).signing).into()
}

/// The reason for which `to` refuses, having acted on nothing and kept the box.
fn refusal(net: &mut Net, to: usize, bytes: &[u8]) -> Option<&'static str> {
    let waiting = net.agents[to].node.inbox().len();
    let (reason, _) = hear(net, to, bytes);
    if reason.is_some() {
        assert_eq!(net.agents[to].node.inbox().len(), waiting);
        let verdict = net.agents[to]
            .log
            .iter()
            .rev()
            .find_map(|(_, entry)| match entry {
                Entry::Message(verdict) if verdict.reason().is_some() => Some(verdict),
                _ => None,
            });
        let verdict = verdict.unwrap();
        assert!(verdict.copy.is_none(), "nothing was opened for anybody");
        if let Evidence::Whole(message) = &verdict.evidence {
            assert!(message.sealed.is_some(), "the box is evidence");
        }
    }
    reason
}

#[test]
fn an_honest_box_is_taken() {
    let mut net = talking();
    let bytes = forged(&net, (1, 0), key_of(&net, 0), |_, _, _| {}, |_| {});
    assert_eq!(refusal(&mut net, 0, &bytes), None);
    let item = net.agents[0].node.inbox().after(0).last().unwrap();
    assert_eq!(item.message.body(), None);
    let opened = net.agents[0].node.opened(&item.message).unwrap();
    assert_eq!(opened.body, Some(json!(MARKER)));
}

#[test]
fn bob_seals_alice_s_words_for_carol_as_if_they_were_meant_for_her() {
    let mut net = talking();
    let alice = who(&net, 0);
    // Bob seals for Carol the plaintext that he has of Alice. It names her as its author and him as its reader, and so
    // does not fit the headers.
    let to_bob = net.agents[1].id();
    let bytes = forged(
        &net,
        (1, 2),
        key_of(&net, 2),
        |draft, _, sealer| {
            draft.recipient = to_bob;
            *sealer = alice;
        },
        |_| {},
    );
    assert_eq!(refusal(&mut net, 2, &bytes), Some("seal-mismatch"));
}

#[test]
fn bob_keeps_his_own_name_and_only_the_reader_is_another() {
    let mut net = talking();
    let alice = net.agents[0].id();
    let bytes = forged(
        &net,
        (1, 2),
        key_of(&net, 2),
        |draft, _, _| draft.recipient = alice,
        |_| {},
    );
    assert_eq!(refusal(&mut net, 2, &bytes), Some("seal-mismatch"));
}

#[test]
fn bob_forwards_alice_s_box_unopened() {
    let mut net = talking();
    net.send(0, 1, Sending::Notification(secret()));
    let (_, _, bytes) = net.sent.last().cloned().unwrap();
    let sealed = read(&bytes)["params"]["sealed"].clone();
    let forward = |value: &mut Value| value["params"]["sealed"] = sealed;
    let bytes = forged(&net, (1, 2), key_of(&net, 2), |_, _, _| {}, forward);
    assert_eq!(refusal(&mut net, 2, &bytes), Some("unsealable"));
}

#[test]
fn the_signature_is_stripped_and_the_box_signed_by_another() {
    let mut net = talking();
    net.send(0, 1, Sending::Notification(secret()));
    let (_, _, bytes) = net.sent.last().cloned().unwrap();
    // Carol has overheard the message and sends it as her own: message-id and box are Alice's, session and number
    // Carol's.
    let overheard = read(&bytes);
    let take = |value: &mut Value| {
        value["params"]["sealed"] = overheard["params"]["sealed"].clone();
        let id = overheard["params"]["headers"]["message-id"].clone();
        value["params"]["headers"]["message-id"] = id;
    };
    let bytes = forged(&net, (2, 1), key_of(&net, 1), |_, _, _| {}, take);
    assert_eq!(refusal(&mut net, 1, &bytes), Some("seal-mismatch"));
}

#[test]
fn the_tier_outside_is_lower_than_the_one_inside() {
    let mut net = talking();
    let key = key_of(&net, 0);
    let bytes = forged(
        &net,
        (1, 0),
        key,
        |draft, _, _| draft.data_tier = Tier::Restricted,
        |_| {},
    );
    assert_eq!(refusal(&mut net, 0, &bytes), Some("seal-mismatch"));
}

#[test]
fn a_secret_in_a_tier_that_keeps_none() {
    for tier in [1, 2] {
        let mut net = talking();
        let bob = who(&net, 1);
        let place = Some((session(&net, 1, 0), 900));
        let mut value = forge::in_session(&bob, "agent-alice", Method::Request, "m", 10_000, place);
        forge::headers(&mut value).insert("data-tier".into(), tier.into());
        // The members in the box fit the headers: only the tier is wrong, because tiers 1 and 2 have no box.
        let message = Unverified::parse(&forge::sign(value.clone(), &bob.signing)).unwrap();
        let bytes = plaintext(&message.claims().headers, None, Some(&json!(1))).unwrap();
        let sealed = Sealed::seal(key_of(&net, 0), &bytes, &mut rng()).unwrap();
        let envelope = forge::envelope(&mut value);
        envelope.remove("body");
        envelope.remove("summary");
        envelope.insert("sealed".into(), sealed.to_value());
        let bytes = forge::sign(value, &bob.signing);
        assert_eq!(
            refusal(&mut net, 0, &bytes),
            Some("seal-mismatch"),
            "tier {tier}"
        );
    }
}

#[test]
fn a_box_for_another_key_under_our_key_s_name() {
    let mut net = talking();
    let ours = key_of(&net, 0).to_string();
    let rename = |value: &mut Value| value["params"]["sealed"]["to"] = ours.into();
    let bytes = forged(&net, (1, 0), key_of(&net, 2), |_, _, _| {}, rename);
    assert_eq!(refusal(&mut net, 0, &bytes), Some("unsealable"));
}

#[test]
fn a_box_for_our_key_under_another_key_s_name() {
    let mut net = talking();
    let theirs = key_of(&net, 2).to_string();
    let rename = |value: &mut Value| value["params"]["sealed"]["to"] = theirs.into();
    let bytes = forged(&net, (1, 0), key_of(&net, 0), |_, _, _| {}, rename);
    assert_eq!(refusal(&mut net, 0, &bytes), Some("unsealable"));
}

#[test]
fn a_box_under_an_ephemeral_key_of_low_order_that_anybody_on_the_way_can_open() {
    let mut net = talking();
    let message = forged(&net, (1, 0), key_of(&net, 0), |_, _, _| {}, |_| {});
    let plain = plaintext(&message_of(&message).headers, None, Some(&json!(1))).unwrap();
    let alice = &who(&net, 0).secrets[0];
    for low_order in [[0; 32], {
        let mut one = [0; 32];
        one[0] = 1;
        one
    }] {
        let sealed = box_under(low_order, alice, &plain);
        let text = data_encoding::BASE64URL_NOPAD.encode(&sealed);
        let mut value = read(&message);
        value["params"]["sealed"]["box"] = text.into();
        value["params"]["headers"]["message-id"] = name(u64::from(low_order[0])).to_string().into();
        value["params"]["headers"]["sequence"] = (901 + u64::from(low_order[0])).into();
        let bytes = forge::sign(value, &who(&net, 1).signing);
        assert_eq!(refusal(&mut net, 0, &bytes), Some("unsealable"));
    }
}

#[test]
fn a_box_of_another_session() {
    let mut net = talking();
    let earlier = |_: &mut Draft, stamp: &mut Stamp, _: &mut Identity| {
        stamp.session = Some(SessionId(Digest([9; 32])));
    };
    let bytes = forged(&net, (1, 0), key_of(&net, 0), earlier, |_| {});
    assert_eq!(refusal(&mut net, 0, &bytes), Some("seal-mismatch"));
}

#[test]
fn a_box_of_another_message() {
    let mut net = talking();
    let renamed = |draft: &mut Draft, _: &mut Stamp, _: &mut Identity| draft.message_id = name(1);
    let bytes = forged(&net, (1, 0), key_of(&net, 0), renamed, |_| {});
    assert_eq!(refusal(&mut net, 0, &bytes), Some("seal-mismatch"));
}

#[test]
fn a_box_with_nothing_inside() {
    let mut net = talking();
    // A node seals no call without a body, so the plaintext is sealed by hand.
    let good = forged(&net, (1, 0), key_of(&net, 0), |_, _, _| {}, |_| {});
    let headers = message_of(&good).headers;
    let plain = plaintext(&headers, Some("only a summary"), None).unwrap();
    let sealed = Sealed::seal(key_of(&net, 0), &plain, &mut rng()).unwrap();
    let mut value = read(&good);
    value["params"]["sealed"] = sealed.to_value();
    let bytes = forge::sign(value, &who(&net, 1).signing);
    assert_eq!(refusal(&mut net, 0, &bytes), Some("seal-mismatch"));
}

#[test]
fn a_summary_or_a_body_in_clear_beside_the_box() {
    let mut net = talking();
    for name in ["summary", "body"] {
        let add = |value: &mut Value| value["params"][name] = "in clear".into();
        let bytes = forged(&net, (1, 0), key_of(&net, 0), |_, _, _| {}, add);
        assert_eq!(hear(&mut net, 0, &bytes).0, Some("invalid-shape"), "{name}");
    }
}

#[test]
fn a_receipt_that_nobody_else_can_read() {
    let mut net = talking();
    let method = |value: &mut Value| {
        value["method"] = "agent.receipt".into();
        forge::headers(value).remove("sequence");
    };
    let bytes = forged(&net, (1, 0), key_of(&net, 0), |_, _, _| {}, method);
    assert_eq!(hear(&mut net, 0, &bytes).0, Some("invalid-shape"));
}
