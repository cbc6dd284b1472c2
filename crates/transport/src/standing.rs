//! How a mailbox stands, by the server's word.

use std::time::Duration;

use async_nats::client::Client;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::stream::ConsumerErrorKind;
use tokio::time::{Instant, sleep};

use crate::Mailbox;

/// A consumer's numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConsumerInfo {
    /// When it was made, in nanoseconds since 1970.
    pub(crate) created: i128,
    /// Whether it lies on several servers.
    pub(crate) is_replicated: bool,
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

impl ConsumerInfo {
    /// Whether it tells of the consumer that was made then.
    ///
    /// Each server of a cluster makes its copy of a consumer at its own time, and one of 2.10 or older that was started since tells
    /// that time where it leads.
    pub(crate) fn is_of(&self, created: i128) -> bool {
        let spread = if self.is_replicated { COPIES } else { 0 };
        self.created.abs_diff(created) <= spread
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The server has no such mailbox, and says so.
    Missing(String),
    /// Nobody answers for JetStream: the server has none, or does not reach that of the domain; the words of that.
    NoJetStream(String),
    /// It does not say.
    Silent,
}

/// Asks the server, and again while it is silent: a cluster without a leader drops the question and answers none of them later.
/// The answer comes behind everything that was sent before.
pub(crate) async fn ask(client: &Client, mailbox: &Mailbox) -> Result<ConsumerInfo, Absent> {
    let mut answer = Err(Absent::Silent);
    for (number, limit) in LIMITS.into_iter().enumerate() {
        if number > 0 {
            // A cluster that says at once that it has no leader is not asked without a pause.
            sleep(PAUSE).await;
        }
        answer = ask_once(client, mailbox, limit).await;
        if answer != Err(Absent::Silent) {
            break;
        }
    }
    answer
}

/// The same, and as long as a cluster may take to choose a leader: until then neither a mailbox nor its absence is certain.
/// A daemon that took the inbox itself meanwhile would read each message once more when the mailbox is back.
pub(crate) async fn ask_patiently(
    client: &Client,
    mailbox: &Mailbox,
) -> Result<ConsumerInfo, Absent> {
    let limit = Instant::now() + DOUBT;
    loop {
        let answer = ask(client, mailbox).await;
        let is_cluster = client.server_info().cluster.is_some();
        if answer != Err(Absent::Silent) || !is_cluster || Instant::now() >= limit {
            return answer;
        }
    }
}

async fn ask_once(
    client: &Client,
    mailbox: &Mailbox,
    limit: Duration,
) -> Result<ConsumerInfo, Absent> {
    let context = mailbox.context(client.clone(), limit);
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
        ConsumerErrorKind::JetStream(error)
            if error.error_code() == ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT =>
        {
            Absent::NoJetStream(error.to_string())
        }
        ConsumerErrorKind::Request => Absent::NoJetStream(error.to_string()),
        _ => Absent::Missing(error.to_string()),
    })?;
    let info = found.cached_info();
    Ok(ConsumerInfo {
        created: info.created.unix_timestamp_nanos(),
        is_replicated: { info.cluster.as_ref() }
            .is_some_and(|cluster| !cluster.replicas.is_empty()),
        fresh: info.num_pending,
        unsettled: info.num_ack_pending,
        pulls: info.num_waiting,
        deliveries: info.delivered.consumer_sequence,
        delivered: info.delivered.stream_sequence,
        settled: info.ack_floor.stream_sequence,
    })
}

/// Within how many nanoseconds the servers of a cluster make their copies of a consumer, by clocks of their own. One that was made
/// anew so soon is noticed by its numbers.
const COPIES: u128 = 10_000_000_000;
/// For how long no server need know the mailbox: a cluster may be moving it to another server.
pub(crate) const DOUBT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(250);
/// How long each answer is waited for: five seconds together.
const LIMITS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(2),
];
