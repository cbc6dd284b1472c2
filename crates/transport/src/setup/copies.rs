//! The copies of the mailboxes on the servers of a cluster.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::stream::ClusterInfo;
use tokio::time::sleep;

use crate::wanted::AgentPlace;

/// Whether the server that keeps the stream is of no cluster: it then tells of itself as the leader, and names no cluster.
pub(super) fn stands_alone(cluster: Option<&ClusterInfo>) -> bool {
    let name = cluster.and_then(|cluster| cluster.name.as_ref());
    name.is_none_or(String::is_empty)
}

/// Waits until the stream and the consumers of `places` have so many copies, and each of these is current.
pub(super) async fn made(context: &Context, stream: &str, places: &[AgentPlace], replicas: usize) {
    while !has_stream(context, stream, replicas).await {
        sleep(PAUSE).await;
    }
    for place in places {
        while !has_consumer(context, place, replicas).await {
            sleep(PAUSE).await;
        }
    }
}

async fn has_stream(context: &Context, stream: &str, replicas: usize) -> bool {
    let found = context.get_stream(stream).await;
    found.is_ok_and(|found| is_whole(found.cached_info().cluster.as_ref(), replicas))
}

async fn has_consumer(context: &Context, place: &AgentPlace, replicas: usize) -> bool {
    let (name, stream) = (&place.mailbox.consumer, &place.mailbox.stream);
    let asked = context.get_consumer_from_stream::<pull::Config, _, _>(name, stream);
    let found = asked.await;
    found.is_ok_and(|found| is_whole(found.cached_info().cluster.as_ref(), replicas))
}

/// The leader is not among the replicas that it tells of.
fn is_whole(cluster: Option<&ClusterInfo>, replicas: usize) -> bool {
    cluster.is_some_and(|cluster| {
        let current = cluster.replicas.iter().filter(|peer| peer.current).count();
        current + 1 >= replicas
    })
}

const PAUSE: Duration = Duration::from_millis(250);
