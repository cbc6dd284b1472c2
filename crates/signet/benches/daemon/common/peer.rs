//! The other side: a real node with a real session, in this process, so that it can sign ahead.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::json;
use signet::config::Config;
use signet::lock::HomeLock;
use signet::memory::Memory;
use signet::{clock, render};
use signet_proto::ids::{AgentId, Digest};
use signet_proto::node::{At, Content, Effect, Judged, Node, Outcome, Sending};
use signet_transport::{Arrival, Mailbox, Nats, NatsInbox, Settlement};

use signet_testkit::Home;

use super::Daemon;
use super::daemon::place;

/// How far the sender runs ahead of the log: far less than the daemon lets wait, so that
/// core NATS drops nothing.
pub const AHEAD: usize = 1_024;

pub struct Peer {
    pub node: Node,
    nats: Nats,
    inbox: NatsInbox,
    to: AgentId,
}

/// One measured round.
pub struct Round {
    pub elapsed: Duration,
    /// The daemon's CPU time in nanoseconds a message.
    pub cpu: f64,
    pub gaps: usize,
}

/// The node of `home`, with its log, as a daemon opens them.
pub fn open(home: &Home) -> (Memory, HomeLock) {
    let home = place(home);
    let lock = HomeLock::acquire(&home).unwrap();
    let memory = Memory::open(&lock, &Config::load(&home).unwrap()).unwrap();
    (memory, lock)
}

pub fn at() -> At {
    At {
        now: clock::now(),
        elapsed: clock::elapsed(),
        head: Some(Digest([7; 32])),
    }
}

/// A notification that makes a message of about 850 bytes.
pub fn notification() -> Sending {
    Sending::Notification(Content {
        summary: Some("The plumber comes on Thursday".into()),
        body: json!({"event": "appointment", "who": "plumber", "when": "2026-02-12T09:30:00+01:00",
            "where": {"street": "Lindenweg 4", "floor": 2}, "notes": ["bring the key", "ask about the boiler"]}),
        conversation_id: Some("household-2026-02".parse().unwrap()),
        ..Content::default()
    })
}

pub fn published(outcome: Outcome) -> Vec<Bytes> {
    let bytes = |effect| match effect {
        Effect::Publish(signed) => Some(Bytes::copy_from_slice(signed.bytes())),
        _ => None,
    };
    outcome.effects.into_iter().filter_map(bytes).collect()
}

impl Peer {
    pub async fn connect(node: Node, to: AgentId, url: &str) -> Self {
        Self::with(node, to, url, false).await
    }

    /// As a daemon with a mailbox: it reads that, and asks for confirmations.
    pub async fn with_mailbox(node: Node, to: AgentId, url: &str) -> Self {
        Self::with(node, to, url, true).await
    }

    async fn with(node: Node, to: AgentId, url: &str, mailbox: bool) -> Self {
        let me = node.identity().agent().clone();
        let subject = render::inbox_subject(&me);
        let servers = vec![url.to_owned()];
        let mut config =
            signet_transport::ConnectionConfig::new(servers, subject, format!("_INBOX_{me}"));
        config.mailbox = mailbox.then(|| Mailbox::of(me.as_str()));
        let (nats, inbox) = Nats::connect(config).await.unwrap();
        nats.ready(Duration::from_secs(5)).await.unwrap();
        Self {
            node,
            nats,
            inbox,
            to,
        }
    }

    /// Does the handshake and gets a first message through.
    pub async fn meet(&mut self) {
        for bytes in self.sign(1) {
            self.publish(bytes).await;
        }
        self.settle().await;
    }

    /// Signs `count` messages, without sending them.
    pub fn sign(&mut self, count: usize) -> Vec<Bytes> {
        let to = self.to.clone();
        let sign = |_| {
            published(
                self.node
                    .turn(at())
                    .sent()
                    .send(&to, notification())
                    .unwrap()
                    .outcome,
            )
        };
        (0..count).flat_map(sign).collect()
    }

    /// Hears receipts until nothing of ours is open.
    pub async fn settle(&mut self) {
        let limit = Instant::now() + Duration::from_secs(15);
        loop {
            let standing = self.node.standing(&self.to, clock::now());
            if standing.session.is_some() && standing.drafts == 0 && standing.unconfirmed == 0 {
                return;
            }
            assert!(Instant::now() < limit, "no receipt: {standing:?}");
            let heard =
                tokio::time::timeout(Duration::from_millis(200), self.inbox.receive()).await;
            if let Ok(Some(Arrival::Message { bytes, handle, .. })) = heard {
                if let Some(handle) = handle {
                    self.nats.settle(&handle, Settlement::Ack).await.unwrap();
                }
                let judged = Judged::of(&bytes, self.node.trust());
                for bytes in published(self.node.turn(at()).handle_inbound(judged)) {
                    self.publish(bytes).await;
                }
            }
        }
    }

    /// Sends `count` messages as fast as the daemon takes them, until all are durable.
    pub async fn round(&mut self, daemon: &mut Daemon, count: usize) -> Round {
        self.paced(daemon, count, f64::INFINITY).await
    }

    /// The same, of `rate` messages a second at most.
    pub async fn paced(&mut self, daemon: &mut Daemon, count: usize, rate: f64) -> Round {
        let messages = self.sign(count);
        daemon.accepted();
        let (mut sent, mut taken, mut gaps) = (0, 0, 0);
        let (cpu, start) = (daemon.home.cpu(), Instant::now());
        while taken < count {
            let due = (rate * start.elapsed().as_secs_f64()) as usize;
            while sent < count.min(taken + AHEAD).min(due) {
                self.publish(messages[sent].clone()).await;
                sent += 1;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            let accepted = daemon.accepted();
            taken += accepted.count;
            gaps += accepted.gaps;
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "{taken} of {count} arrived, {gaps} gaps"
            );
        }
        while !daemon.is_durable() {}
        let round = Round {
            elapsed: start.elapsed(),
            cpu: (daemon.home.cpu() - cpu) / count as f64,
            gaps,
        };
        self.settle().await;
        round
    }

    pub async fn publish(&self, bytes: Bytes) {
        self.publish_to(&self.to, bytes).await;
    }

    /// Sends to another agent's inbox, and asks for a confirmation where this peer has a mailbox.
    pub async fn publish_to(&self, agent: &AgentId, bytes: Bytes) {
        let subject = render::inbox_subject(agent);
        self.nats.publish(subject, bytes).await.unwrap();
    }
}
