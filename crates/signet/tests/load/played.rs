//! Many agents in this process, each a real node with keys and sessions of its own, behind one connection to the server.

use std::collections::HashMap;
use std::time::Duration;

use async_nats::{Client, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use signet::clock;
use signet_proto::certificate::{Certificate, CertificateRequest, KEYS_LIFE, KeyStatement};
use signet_proto::draft::Identity;
use signet_proto::headers::Layers;
use signet_proto::ids::{AgentId, Digest, Version};
use signet_proto::keys::{SealSecret, SigningKey};
use signet_proto::node::{Content, Judged, Node, Sending};
use signet_proto::policy::Policy;
use tokio::time::{Instant, timeout};
use zeroize::Zeroizing;

use crate::common::Daemon;
use crate::common::peer::{at, published};

/// So many shake hands with the host at one time: it refuses those beyond 64 as `handshake-busy`.
pub const TOGETHER: usize = 50;
/// Handshakes of [`TOGETHER`] agents take no longer, also on a machine that does other things.
const PATIENCE: Duration = Duration::from_secs(120);

/// Agents that know one host.
pub struct PlayedAgents {
    nodes: HashMap<String, Node>,
    nats: Client,
    heard: Subscriber,
    host: AgentId,
}

/// A node that knows `host`, and whose certificate `host` has taken.
pub fn acquainted(name: &str, host: &mut Daemon) -> Node {
    let identity = identity(name);
    let certificate = identity.certificate.to_value();
    host.call(
        "peer.add",
        &serde_json::json!({ "certificate": certificate }),
    );
    let mut node = Node::new(
        identity,
        Policy::default(),
        Digest::of(&[name.as_bytes()]).0,
    );
    let other = signet_driver::kept::certificate(&host.home.dir).unwrap();
    drop(node.turn(at()).people().bind(&other).unwrap());
    node
}

impl PlayedAgents {
    pub async fn connect(host: &Daemon, url: &str) -> Self {
        let nats = async_nats::connect(url).await.unwrap();
        let heard = nats.subscribe("agent.*.inbox").await.unwrap();
        nats.flush().await.unwrap();
        Self {
            nodes: HashMap::new(),
            nats,
            heard,
            host: host.home.agent.parse().unwrap(),
        }
    }

    /// So many more agents make a session with the host, and each says one thing in it.
    pub async fn meet(&mut self, host: &mut Daemon, count: usize) {
        let first = self.nodes.len();
        let names: Vec<String> = (first..first + count)
            .map(|number| format!("agent-played-{number}"))
            .collect();
        for names in names.chunks(TOGETHER) {
            for name in names {
                let mut node = acquainted(name, host);
                let said = node.turn(at()).sent().send(&self.host, greeting());
                self.publish(published(said.unwrap().outcome)).await;
                self.nodes.insert(name.clone(), node);
            }
            self.settle(names).await;
            host.empty_inbox();
        }
    }

    /// Hears until the host has confirmed what these agents said.
    async fn settle(&mut self, names: &[String]) {
        let limit = Instant::now() + PATIENCE;
        let mut open: Vec<&String> = names.iter().collect();
        while !open.is_empty() {
            assert!(Instant::now() < limit, "{} are not bound", open.len());
            let heard = timeout(Duration::from_millis(200), self.heard.next()).await;
            if let Ok(message) = heard {
                let message = message.unwrap();
                let name = message.subject.split('.').nth(1).unwrap();
                // The host's own inbox is heard as well.
                let Some(node) = self.nodes.get_mut(name) else {
                    continue;
                };
                let judged = Judged::of(&message.payload, node.trust());
                let answers = published(node.turn(at()).handle_inbound(judged));
                self.publish(answers).await;
            }
            let (nodes, host) = (&self.nodes, &self.host);
            open.retain(|name| {
                let standing = nodes[*name].standing(host, clock::now());
                standing.session.is_none() || standing.drafts > 0 || standing.unconfirmed > 0
            });
        }
    }

    async fn publish(&self, messages: Vec<Bytes>) {
        for bytes in messages {
            let subject = format!("agent.{}.inbox", self.host);
            self.nats.publish(subject, bytes).await.unwrap();
        }
    }
}

/// Each talks in a conversation of its own, as agents of different households do.
fn greeting() -> Sending {
    Sending::Notification(Content {
        body: serde_json::json!("hello"),
        ..Content::default()
    })
}

/// The keys of an agent, whose person has the same name.
fn identity(name: &str) -> Identity {
    let secret = |what: &str| Zeroizing::new(Digest::of(&[what.as_bytes(), name.as_bytes()]).0);
    let key = |what: &str| SigningKey::from_seed(&secret(what)).unwrap();
    let (agent, signing, now): (AgentId, _, _) =
        (name.parse().unwrap(), key("signing"), clock::now());
    let layers = Layers::of(&[0, 1, 2, 3]);
    let request = CertificateRequest {
        agent: agent.clone(),
        principal: name.parse().unwrap(),
        signing_key: signing.public().clone(),
        layers,
        versions: Version::SPOKEN.to_vec(),
        serial: 1,
        not_before: now.saturating_sub(Duration::from_secs(600)),
        not_after: now.saturating_add(Duration::from_secs(365 * 24 * 3600)),
        next_root: Digest::of(&[key("next root").public().as_bytes()]),
    };
    let certificate: Certificate = request.sign(&key("root")).unwrap();
    let seal = SealSecret::of(secret("seal"));
    let until = now.saturating_add(KEYS_LIFE);
    let keys = KeyStatement::sign(&agent, seal.public(), 1, until, &signing).unwrap();
    Identity {
        certificate,
        keys,
        signing,
        former: Vec::new(),
        layers,
        secrets: vec![seal],
        control: None,
    }
}
