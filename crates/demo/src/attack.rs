//! A stranger on the same broker.

use std::time::Duration;

use signet_driver::{Publisher, now, random};
use signet_proto::certificate::{Certificate, CertificateRequest, KEYS_LIFE, KeyStatement};
use signet_proto::draft::{Identity, Signed};
use signet_proto::headers::Layers;
use signet_proto::ids::{AgentId, Digest, Version};
use signet_proto::keys::{SealKey, SigningKey};
use signet_proto::node::{At, Effect, Node, Sending};
use signet_proto::policy::Policy;
use zeroize::Zeroizing;

use crate::converse::WEEK;
use crate::household::Household;
use crate::member::Member;
use crate::{DemoError, expect, method_of, step};

/// What somebody tries who can publish on the broker.
pub(crate) fn attack(house: &Household, attacker: &mut Attacker) -> Result<(), DemoError> {
    let Household {
        alice, bob, helper, ..
    } = house;
    let request = alice.sent_message(|line| method_of(line) == Some("agent.request"))?;
    let mut refused = |member: &Member, bytes: &[u8], reason: &str, what: &str| {
        refused(member, reason, what, || attacker.publish(&member.id, bytes))
    };
    let impostor = impostor(&alice.id, &bob.id)?;
    refused(
        bob,
        &impostor,
        "root-changed",
        "an impostor announces itself as alice's agent",
    )?;
    let tampered = String::from_utf8_lossy(&request)
        .replace(WEEK, "2026-W08")
        .into_bytes();
    refused(
        bob,
        &tampered,
        "signature-invalid",
        "alice's request with one digit changed",
    )?;
    refused(bob, &request, "duplicate", "alice's request once more")?;
    refused(
        helper,
        &request,
        "wrong-recipient",
        "alice's request redirected to another agent",
    )?;
    Ok(())
}

/// Sends what is refused for that reason, and reaches no agent; `send` gives the hash of the message.
pub(crate) fn refused(
    member: &Member,
    reason: &str,
    what: &str,
    send: impl FnOnce() -> Result<String, DemoError>,
) -> Result<(), DemoError> {
    let before = member.inbox()?;
    let found = member.refusal_of(send)?;
    expect(found == reason, &format!("{what}: {reason}, not {found}"))?;
    expect(
        member.inbox()? == before,
        "nothing that was refused reaches the agent",
    )?;
    step(&format!("{what}: refused ({reason}), logged"))?;
    Ok(())
}

/// Somebody who can publish, and has no key of the household.
pub(crate) struct Attacker(Publisher);

impl Attacker {
    pub(crate) fn connect(port: u16) -> Result<Self, DemoError> {
        Ok(Self(Publisher::connect(port)?))
    }

    /// Puts bytes into an agent's inbox; gives their hash, as a log names it.
    pub(crate) fn publish(&mut self, agent: &str, bytes: &[u8]) -> Result<String, DemoError> {
        self.0.put(&format!("agent.{agent}.inbox"), bytes)?;
        self.0.flush()?;
        Ok(Digest::of(&[bytes]).to_hex())
    }
}

/// An announce, flawless but for one thing: the root key is the impostor's own.
fn impostor(agent: &str, victim: &str) -> Result<Vec<u8>, DemoError> {
    let now = now();
    let agent: AgentId = agent.parse().map_err(|error| missed(&error))?;
    let victim: AgentId = victim.parse().map_err(|error| missed(&error))?;
    let (root, signing) = (fresh_key()?, fresh_key()?);
    let request = |agent: &AgentId, principal: &str, key: &SigningKey| {
        Ok::<_, DemoError>(CertificateRequest {
            agent: agent.clone(),
            principal: principal.parse().map_err(|error| missed(&error))?,
            signing_key: key.public().clone(),
            layers: Layers::of(&[0, 1, 2, 3]),
            versions: vec![Version::CURRENT],
            // The serial is higher than any real one, so that the certificate is refused for its root key and not as an older
            // one.
            serial: 1_000,
            not_before: now.saturating_sub(Duration::from_secs(60)),
            not_after: now.saturating_add(Duration::from_secs(3600)),
            next_root: Digest::of(&[b"none"]),
        })
    };
    let certificate = request(&agent, "alice", &signing)?
        .sign(&root)
        .map_err(|error| missed(&error))?;
    let other = fresh_key()?;
    // The impostor's node has to know its victim to write an announce. Any key will do for the victim, since an announce does
    // not use the victim's key.
    let known = request(&victim, "bob", &other)?
        .sign(&other)
        .map_err(|error| missed(&error))?;
    let sealing = SealKey::of_secret(&random().map_err(|error| missed(&error))?);
    let keys = KeyStatement::sign(&agent, sealing, 1, now.saturating_add(KEYS_LIFE), &signing);
    let layers = certificate.layers;
    let identity = Identity {
        certificate,
        keys: keys.map_err(|error| missed(&error))?,
        signing,
        layers,
        former: Vec::new(),
        secrets: Vec::new(),
        control: None,
    };
    announce_as(identity, &known)
}

/// The first flight of whoever holds the keys of `identity`, to a peer.
pub(crate) fn announce_as(identity: Identity, peer: &Certificate) -> Result<Vec<u8>, DemoError> {
    let seed = random().map_err(|error| missed(&error))?;
    let mut node = Node::new(identity, Policy::default(), seed);
    let at = At {
        now: now(),
        // This node makes a single message and is then dropped, so its running time may stay 0.
        elapsed: Duration::ZERO,
        head: None,
    };
    let mut turn = node.turn(at);
    let bound = turn.people().bind(peer);
    bound.map_err(|error| missed(&error))?;
    let sent = turn.sent().send(&peer.agent, Sending::Ping);
    let outcome = sent.map_err(|error| missed(&error))?.outcome;
    let announce = outcome.effects.iter().find_map(|effect| match effect {
        Effect::Publish(signed) => Some(Signed::bytes(signed).to_vec()),
        _ => None,
    });
    announce.ok_or_else(|| DemoError::Missed("an announce is signed".into()))
}

fn fresh_key() -> Result<SigningKey, DemoError> {
    let seed = Zeroizing::new(random().map_err(|error| missed(&error))?);
    SigningKey::from_seed(&seed).map_err(|error| missed(&error))
}

fn missed(error: &dyn std::fmt::Display) -> DemoError {
    DemoError::Missed(format!("the attack is made: {error}"))
}
