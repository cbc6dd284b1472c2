//! The five agents: their keys are made once a process, and every seed uses them.

use std::sync::OnceLock;

use signet_proto::certificate::{Certificate, ControlCertificate, KeyStatement};
use signet_proto::draft::Identity;
use signet_proto::headers::{Layers, Tier};
use signet_proto::ids::Digest;
use signet_proto::keys::SealSecret;
use signet_proto::node::Node;
use signet_proto::policy::{Capability, Policy};
use zeroize::Zeroizing;

use crate::household;
use crate::papers::Papers;

pub const NAMES: [&str; 5] = ["alice", "bob", "carol", "dave", "erin"];

struct Issued {
    certificate: Certificate,
    keys: KeyStatement,
    control: Option<ControlCertificate>,
}

fn papers(who: usize) -> &'static Issued {
    static PAPERS: OnceLock<Vec<Issued>> = OnceLock::new();
    let all = PAPERS.get_or_init(|| {
        let made = NAMES.iter().map(|name| {
            let identity = household::identity(&format!("agent-{name}"), name);
            Issued {
                certificate: identity.certificate,
                keys: identity.keys,
                control: identity.control,
            }
        });
        made.collect()
    });
    &all[who]
}

pub fn certificate(who: usize) -> &'static Certificate {
    &papers(who).certificate
}

pub fn identity(who: usize) -> Identity {
    let papers = papers(who);
    let agent = papers.certificate.agent.as_str();
    let secret = Digest::of(&[b"sealing", agent.as_bytes()]).0;
    Identity {
        certificate: papers.certificate.clone(),
        keys: papers.keys.clone(),
        signing: household::key(&format!("signing key 1 of {agent}")),
        former: Vec::new(),
        layers: Layers::of(&[0, 1, 2, 3]),
        secrets: vec![SealSecret::of(Zeroizing::new(secret))],
        control: papers.control.clone(),
    }
}

/// Everybody takes `door.open`, and nobody `mail.send`.
fn policy() -> Policy {
    Policy {
        capabilities: vec![Capability::new(
            "door.open".parse().unwrap(),
            Tier::Restricted,
        )],
        ..Policy::default()
    }
}

/// A node that knows nobody yet; `life` counts its starts.
pub fn node(who: usize, papers: Papers, seed: u64, life: u32) -> Node {
    Node::new(papers.identity(who), policy(), random(who, seed, life))
}

/// A node that knows what its rows say.
pub fn restored(
    who: usize,
    papers: Papers,
    seed: u64,
    life: u32,
    rows: impl Iterator<Item = (String, String, String)>,
) -> Node {
    Node::restore(
        papers.identity(who),
        policy(),
        random(who, seed, life),
        rows,
    )
    .unwrap()
}

fn random(who: usize, seed: u64, life: u32) -> [u8; 32] {
    let seed = [seed.to_be_bytes(), u64::from(life).to_be_bytes()].concat();
    Digest::of(&[NAMES[who].as_bytes(), &seed]).0
}
