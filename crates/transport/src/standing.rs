//! How a mailbox stands, by the server's word.

use std::time::Duration;

use async_nats::client::Client;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::ConsumerErrorKind;

use crate::Mailbox;

/// A consumer's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConsumerInfo {
    /// When it was made, in nanoseconds since 1970.
    pub(crate) created: i128,
    /// How many messages were never delivered.
    pub(crate) fresh: u64,
    /// How many were delivered and not settled.
    pub(crate) unsettled: usize,
    /// How many pulls stand.
    pub(crate) pulls: usize,
    /// How many deliveries there were, of messages that came again too.
    pub(crate) deliveries: u64,
    /// The highest stream sequence that was delivered.
    pub(crate) delivered: u64,
    /// Everything up to this stream sequence is settled.
    pub(crate) settled: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The server has no such mailbox, and says so.
    Missing(String),
    /// It does not say.
    Silent,
}

/// Asks the server. The answer comes behind everything that was sent before.
pub(crate) async fn ask(client: &Client, mailbox: &Mailbox) -> Result<ConsumerInfo, Absent> {
    let context = ContextBuilder::new().timeout(LIMIT).build(client.clone());
    let (stream, consumer) = (mailbox.stream.as_str(), mailbox.consumer.as_str());
    let asked = context.get_consumer_from_stream::<pull::Config, _, _>(consumer, stream);
    let found = asked.await.map_err(|error| match error.kind() {
        ConsumerErrorKind::TimedOut => Absent::Silent,
        // A cluster that is electing a leader cannot say whether the consumer exists: treat that as no answer.
        ConsumerErrorKind::JetStream(error)
            if error.error_code() == ErrorCode::CLUSTER_NOT_AVAILABLE =>
        {
            Absent::Silent
        }
        _ => Absent::Missing(error.to_string()),
    })?;
    let info = found.cached_info();
    Ok(ConsumerInfo {
        created: info.created.unix_timestamp_nanos(),
        fresh: info.num_pending,
        unsettled: info.num_ack_pending,
        pulls: info.num_waiting,
        deliveries: info.delivered.consumer_sequence,
        delivered: info.delivered.stream_sequence,
        settled: info.ack_floor.stream_sequence,
    })
}

const LIMIT: Duration = Duration::from_secs(5);
