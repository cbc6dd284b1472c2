//! What a server says of itself, and which servers hold a mailbox.

use std::time::Duration;

use async_nats::client::Client;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::stream::{ClusterInfo, PeerInfo};
use futures_util::future::join_all;
use tokio::time::sleep;

use super::LIMIT;
use crate::link::connect;
use crate::servers::ServerPool;
use crate::{ConnectionConfig, Error, Mailbox};

/// What a server says of itself to every client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// Its name.
    pub name: String,
    /// The cluster that it belongs to.
    pub cluster: Option<String>,
    /// Whether it dials another server as its leaf. A leaf that belongs to a cluster does not say so.
    pub is_leaf: bool,
    /// The JetStream domain that it has itself.
    pub domain: Option<String>,
    /// Whether it has JetStream.
    pub has_jetstream: bool,
    /// Whether it demands TLS of its clients.
    pub demands_tls: bool,
    /// The addresses of its cluster that it tells clients of, without those that the settings name.
    pub told: Vec<String>,
}

/// The servers that hold a mailbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailboxServers {
    /// The cluster that they belong to; none for a server that stands alone.
    pub cluster: Option<String>,
    /// The one that leads.
    pub leader: Option<String>,
    /// The others.
    pub replicas: Vec<Replica>,
}

/// A server that holds a copy of a mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// Its name.
    pub name: String,
    /// How its copy does.
    pub state: ReplicaState,
}

/// How a copy does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaState {
    /// It has everything.
    Current,
    /// Its server is there, and the copy has not caught up.
    Behind,
    /// Its server was not heard of for so long, by the one that leads; `None` is as long as that one has led.
    Away(Option<Duration>),
}

impl ServerFacts {
    pub(super) fn of(config: &ConnectionConfig, server: &str, client: &Client) -> Self {
        let info = client.server_info();
        let mut pool = ServerPool::new(config.servers.clone());
        pool.learn(server, &info.connect_urls);
        // A server that is a leaf and in no cluster says its own name in the place of the cluster's.
        let is_leaf = info.cluster.as_ref() == Some(&info.server_name);
        Self {
            cluster: info.cluster.filter(|_| !is_leaf).map(short),
            is_leaf,
            name: short(info.server_name),
            domain: info.domain.map(short),
            has_jetstream: info.jetstream,
            demands_tls: info.tls_required,
            told: pool.told(),
        }
    }
}

impl MailboxServers {
    /// `None` where the server does not answer.
    pub(super) async fn of(client: &Client, mailbox: &Mailbox) -> Option<Self> {
        let first = Self::ask(client, mailbox).await?;
        // A copy is behind for a moment whenever something is stored, and a new leader hears of all others within a second:
        // look again before it counts.
        let is_doubtful = |one: &Replica| match one.state {
            ReplicaState::Behind | ReplicaState::Away(None) => true,
            ReplicaState::Current | ReplicaState::Away(Some(_)) => false,
        };
        match first.replicas.iter().any(is_doubtful) {
            true => {
                sleep(PAUSE).await;
                Some(Self::ask(client, mailbox).await.unwrap_or(first))
            }
            false => Some(first),
        }
    }

    async fn ask(client: &Client, mailbox: &Mailbox) -> Option<Self> {
        let context = mailbox.context(client.clone(), LIMIT);
        let (stream, consumer) = (mailbox.stream.as_str(), mailbox.consumer.as_str());
        let asked = context.get_consumer_from_stream::<pull::Config, _, _>(consumer, stream);
        let found = asked.await.ok()?;
        Some(Self::read(found.cached_info().cluster.as_ref()))
    }

    fn read(cluster: Option<&ClusterInfo>) -> Self {
        let Some(cluster) = cluster else {
            return Self::default();
        };
        let replicas = cluster.replicas.iter().take(REPLICAS).map(Replica::read);
        Self {
            cluster: cluster
                .name
                .clone()
                .filter(|name| !name.is_empty())
                .map(short),
            leader: cluster
                .leader
                .clone()
                .filter(|name| !name.is_empty())
                .map(short),
            replicas: replicas.collect(),
        }
    }
}

impl Replica {
    fn read(peer: &PeerInfo) -> Self {
        let silent = Some(peer.active).filter(|silent| !silent.is_zero());
        let state = match silent {
            Some(silent) if peer.offline || silent > SILENT => ReplicaState::Away(Some(silent)),
            _ if peer.current => ReplicaState::Current,
            Some(_) => ReplicaState::Behind,
            None => ReplicaState::Away(None),
        };
        Self {
            name: short(peer.name.clone()),
            state,
        }
    }
}

/// Why others of the servers that the settings name let nobody in, beside the one that answered.
pub(super) async fn closed(config: &ConnectionConfig, answered: &str) -> Vec<Error> {
    let others = config.servers.iter().filter(|one| *one != answered);
    let tried = others.take(OTHERS).map(|server| async move {
        let client = connect(config.options()?, server).await?;
        // Leave at once: this connection only serves to see whether the server lets it in.
        let _ = client.drain().await;
        Ok(())
    });
    let tried = join_all(tried).await;
    tried.into_iter().filter_map(Result::err).collect()
}

/// A name as a server may have one; an invented one of any length would fill a page.
fn short(mut name: String) -> String {
    if let Some((end, _)) = name.char_indices().nth(NAME) {
        name.truncate(end);
    }
    name
}

/// Servers of a cluster hear of each other every second.
const SILENT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1_500);
/// A stream has at most five copies.
const REPLICAS: usize = 16;
/// So many further servers of the settings are tried.
const OTHERS: usize = 16;
const NAME: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_whose_server_is_silent_is_away_and_one_that_lags_is_behind() {
        let state = |current, offline, active: u64| {
            let peer = PeerInfo {
                name: "n2".to_owned(),
                current,
                offline,
                active: Duration::from_millis(active),
                ..PeerInfo::default()
            };
            Replica::read(&peer).state
        };
        assert_eq!(state(true, false, 900), ReplicaState::Current);
        assert_eq!(state(false, false, 900), ReplicaState::Behind);
        // One that was killed while it led: the next leader has never heard of it.
        assert_eq!(state(false, false, 0), ReplicaState::Away(None));
        assert_eq!(state(false, true, 0), ReplicaState::Away(None));
        let silent = Some(Duration::from_secs(6));
        // For ten seconds a server that was killed still counts as current.
        assert_eq!(state(true, false, 6_000), ReplicaState::Away(silent));
        assert_eq!(state(false, true, 6_000), ReplicaState::Away(silent));
    }

    #[test]
    fn a_hostile_server_fills_no_page_with_names_and_copies() {
        let peer = PeerInfo {
            name: "é".repeat(1 << 20),
            ..PeerInfo::default()
        };
        let told = ClusterInfo {
            name: Some("c".repeat(1 << 20)),
            leader: Some(String::new()),
            replicas: vec![peer; 10_000],
            ..ClusterInfo::default()
        };
        let read = MailboxServers::read(Some(&told));
        assert_eq!(read.replicas.len(), REPLICAS);
        assert_eq!(read.cluster.unwrap_or_default().chars().count(), NAME);
        assert_eq!(read.replicas[0].name.chars().count(), NAME);
        assert_eq!(read.leader, None);
    }
}
