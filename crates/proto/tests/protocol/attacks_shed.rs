//! While strangers' budget is spent, what names no peer is only counted. Nothing that a peer sent
//! may be taken for a stranger's, however it is spelt.

use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore as _, SeedableRng as _};
use signet_proto::entry::Entry;
use signet_proto::envelope::Method;
use signet_proto::ids::Digest;
use signet_proto::node::{Judged, LineAllowance, Sending};

use crate::household::forger::{call, hear, talking};
use crate::household::net::{Net, message_of, resign};
use crate::household::{Agent, at, identity, published};

/// Bob's notification to Alice, with names and quotation marks where they confuse.
fn confusing(net: &Net) -> Vec<u8> {
    call(net, Method::Notification, 1, |draft, _| {
        draft.summary = Some(r#"\"agent-id":"agent-mallory"} "agent-id"#.to_owned());
        draft.body = Some(serde_json::json!({
            "agent-id": "agent-mallory", "a": "agent-id", "b": ["agent-id", "\"agent-id"],
            "headers": {"agent-id": "agent-mallory"}, "": "\\", "z\"": "\\\"",
        }));
    })
    .to_vec()
}

/// The same document otherwise spelt: white space between tokens, escapes inside strings.
fn spelt(bytes: &[u8], rng: &mut ChaCha20Rng, escapes: bool) -> Vec<u8> {
    let (mut out, mut inside, mut escaped) = (Vec::new(), false, false);
    for byte in bytes {
        let chance = rng.next_u32();
        if escaped {
            out.push(*byte);
            escaped = false;
        } else if *byte == b'"' {
            inside = !inside;
            out.push(*byte);
        } else if inside && *byte == b'\\' {
            (escaped, inside) = (true, true);
            out.push(*byte);
        } else if inside && escapes && byte.is_ascii() && chance.is_multiple_of(7) {
            out.extend(format!("\\u{byte:04x}").bytes());
        } else {
            out.push(*byte);
        }
        let between = !inside && matches!(byte, b'"' | b':' | b',' | b'{' | b'}' | b'[' | b']');
        if between && chance.is_multiple_of(3) {
            out.push(b" \t\n\r"[chance as usize / 3 % 4]);
        }
    }
    out
}

fn told<T: std::fmt::Debug>(what: T) -> String {
    format!("{what:?}")
}

#[test]
fn what_a_peer_sent_is_never_shed_however_it_is_spelt() {
    let net = talking();
    let (alice, mut rng) = (&net.agents[0].node, ChaCha20Rng::seed_from_u64(7));
    let bytes = confusing(&net);
    let plain = message_of(&bytes);
    for round in 0..2_000 {
        let variant = spelt(&bytes, &mut rng, round % 2 == 0);
        let judged = Judged::of_peers(&variant, alice.trust());
        assert!(
            !judged.is_strangers(),
            "{}",
            String::from_utf8_lossy(&variant)
        );
        assert_eq!(message_of(&variant), plain, "the variants are the message");
    }
}

#[test]
fn every_message_of_a_conversation_is_judged_as_without_a_flood() {
    let mut net = talking();
    net.ask(0, 1);
    net.ask(1, 0);
    net.run_for(10_000);
    assert!(net.sent.len() > 10);
    for (_, from, bytes) in &net.sent {
        let view = net.agents[1 - from].node.trust();
        let judged = Judged::of_peers(bytes, view);
        assert!(!judged.is_strangers());
        assert_eq!(told(judged), told(Judged::of(bytes, view)));
    }
}

#[test]
fn a_forged_message_in_a_peers_name_is_refused_as_without_a_flood() {
    let net = talking();
    let mut bytes = confusing(&net);
    let last = bytes.iter().rposition(|byte| *byte == b'"').unwrap();
    bytes[last - 3] = if bytes[last - 3] == b'A' { b'B' } else { b'A' };
    let view = net.agents[0].node.trust();
    assert_eq!(
        told(Judged::of_peers(&bytes, view)),
        told(Judged::of(&bytes, view))
    );
}

#[test]
fn a_strangers_announce_is_counted_unread_with_the_hash_of_its_bytes() {
    let mut net = talking();
    let before = net.agents[0].log.len();
    let announce = announce(&net);
    let escaped = String::from_utf8(announce.clone()).unwrap();
    // An escape, or a peer's name in another place, passes the cheap look at the bytes. The parser then finds that the
    // sender is a stranger: the bytes are counted, and no verdict is made.
    let quoting = escaped.replacen('{', r#"{"agent-id":"agent-bob","#, 1);
    let escaped = escaped.replacen("1.0.0", "\\u0031.0.0", 1);
    let inputs = [announce, escaped.into_bytes(), quoting.into_bytes()];
    let mut hash = Digest([0; 32]);
    for bytes in inputs.iter().map(|bytes| &bytes[..]).chain([&b"\xff"[..]]) {
        let at = net.at(0);
        let judged = Judged::of_peers(bytes, net.agents[0].node.trust());
        assert!(judged.is_strangers());
        let outcome = net.agents[0].node.turn(at).handle_inbound(judged);
        assert!(outcome.entries.is_empty() && outcome.effects.is_empty());
        hash = Digest::of(&[hash.as_bytes(), Digest::of(&[bytes]).as_bytes()]);
    }
    net.now += 1_000;
    net.run_for(0);
    let lines = &net.agents[0].log[before..];
    let flood = lines.iter().find_map(|(_, entry)| match entry {
        Entry::Flood(flood) => Some(*flood),
        _ => None,
    });
    let flood = flood.expect("a flood line");
    assert_eq!((flood.count, flood.hash), (4, hash));
    assert_eq!(
        net.agents[0].node.people().pending(net.at(0).now).count(),
        0
    );
    assert!(
        hear(&mut net, 0, &inputs[0]).0.is_some(),
        "in quiet it has a line"
    );
    assert_eq!(
        net.agents[0].node.people().pending(net.at(0).now).count(),
        1
    );
}

#[test]
fn an_allowance_is_a_thousand_at_once_and_a_hundred_a_second() {
    let mut allowance = LineAllowance::default();
    let spend = |allowance: &mut LineAllowance, ms: i64| {
        (0..5_000).filter(|_| allowance.spend(at(ms).now)).count()
    };
    assert_eq!(spend(&mut allowance, 0), 1_000);
    assert_eq!(allowance.left(at(0).now), 0);
    assert_eq!(spend(&mut allowance, 1_000), 100);
    assert_eq!(spend(&mut allowance, 1_010), 1);
    assert_eq!(
        spend(&mut allowance, 500),
        0,
        "a clock set back earns nothing"
    );
    assert_eq!(spend(&mut allowance, 3_600_000), 1_000);
}

fn announce(net: &Net) -> Vec<u8> {
    let mut mallory = Agent::new("agent-mallory", "mallory");
    mallory.knows(&net.agents[0]);
    let alice = net.agents[0].id();
    let outcome = mallory
        .node
        .turn(net.at(0))
        .sent()
        .send(&alice, Sending::Ping)
        .unwrap()
        .outcome;
    let announce = message_of(&published(&outcome.effects)[0].1);
    let now = net.at(0).now;
    resign(
        &identity("agent-mallory", "mallory"),
        &announce,
        |_, stamp| {
            stamp.now = now;
        },
    )
    .to_vec()
}
