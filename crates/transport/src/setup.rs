//! Makes the mailboxes of a household: one stream that lists exactly the inboxes with a consumer, and one
//! durable consumer an agent. Run by a person with an administrator's login, never by a daemon.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, ReplayPolicy, pull};
use async_nats::jetstream::context::{ContextBuilder, GetStreamErrorKind};
use async_nats::jetstream::stream::{
    Config as Stream, ConsumerErrorKind, DiscardPolicy, RetentionPolicy, StorageType,
};

use crate::link::connect;
use crate::{Config, Error, Mailbox};

/// One agent's place in the household.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its inbox subject.
    pub inbox: String,
    /// Its mailbox.
    pub mailbox: Mailbox,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The server's version, in its own words.
    pub server: String,
    /// Every inbox of the stream, also those of agents that were set up earlier.
    pub inboxes: Vec<String>,
    /// The stream first, then the consumers.
    pub made: Vec<Made>,
}

/// One thing on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What it is: `stream AGENT_INBOX`.
    pub what: String,
    /// What was done about it.
    pub done: Done,
    /// Settings that the server has otherwise than asked.
    pub differences: Vec<Difference>,
}

/// What was done about one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It was not there.
    Created,
    /// It was otherwise.
    Updated,
    /// It was as it should be.
    Kept,
}

/// A setting that the server did not take as it was asked. Servers ignore options that they do not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its name in the server's configuration.
    pub setting: &'static str,
    /// What was asked for.
    pub asked: String,
    /// What the server says it is.
    pub is: String,
}

/// Makes the stream and the consumers of `places`, or brings them in line. Nothing is removed: an agent that
/// is not named keeps its inbox. The places share one stream.
///
/// # Errors
/// Those of a connection, and [`Error::Setup`] with the server's words.
pub async fn set_up(config: &Config, places: &[Place]) -> Result<Report, Error> {
    let server = config.servers.first().cloned().unwrap_or_default();
    let client = connect(config.options()?, &server).await?;
    let version = client.server_info().version;
    let context = ContextBuilder::new().timeout(LIMIT).build(client);
    let Some(stream) = places.first().map(|place| place.mailbox.stream.clone()) else {
        return Err(failed("agents", "name at least one"));
    };
    let (made, inboxes) = make_stream(&context, &stream, places).await?;
    let mut report = Report {
        server: version,
        inboxes,
        made: vec![made],
    };
    for place in places {
        report.made.push(make_consumer(&context, place).await?);
    }
    Ok(report)
}

async fn make_stream(
    context: &Context,
    name: &str,
    places: &[Place],
) -> Result<(Made, Vec<String>), Error> {
    let what = format!("stream {name}");
    let fail = |error: &dyn std::fmt::Display| failed(&what, &error.to_string());
    let found = match context.get_stream(name).await {
        Ok(stream) => Some(stream.cached_info().config.clone()),
        Err(error) if is_no_stream(&error.kind()) => None,
        Err(error) => return Err(fail(&error)),
    };
    let known = found.as_ref().map(|config| config.subjects.clone());
    let mut subjects = known.unwrap_or_default();
    // Under a wildcard an invented inbox could fill the stream.
    subjects.retain(|subject| !subject.contains(['*', '>']));
    subjects.extend(places.iter().map(|place| place.inbox.clone()));
    subjects.sort_unstable();
    subjects.dedup();
    let asked = stream(name, subjects.clone());
    let (done, is) = match found {
        None => (
            Done::Created,
            context
                .create_stream(&asked)
                .await
                .map(|made| made.cached_info().config.clone())
                .map_err(|e| fail(&e))?,
        ),
        Some(is) if stream_differences(&asked, &is).is_empty() => (Done::Kept, is),
        Some(_) => (
            Done::Updated,
            context
                .update_stream(&asked)
                .await
                .map_err(|e| fail(&e))?
                .config,
        ),
    };
    let differences = stream_differences(&asked, &is);
    let made = Made {
        what,
        done,
        differences,
    };
    Ok((made, subjects))
}

async fn make_consumer(context: &Context, place: &Place) -> Result<Made, Error> {
    let (name, stream) = (&place.mailbox.consumer, &place.mailbox.stream);
    let what = format!("consumer {name}");
    let fail = |error: &dyn std::fmt::Display| failed(&what, &error.to_string());
    let asked = consumer(place);
    let found = match context
        .get_consumer_from_stream::<pull::Config, _, _>(name, stream)
        .await
    {
        Ok(consumer) => consumer_config(&consumer),
        Err(error) if is_no_consumer(&error.kind()) => None,
        Err(error) => return Err(fail(&error)),
    };
    let made = |done, is: &pull::Config| Made {
        what: what.clone(),
        done,
        differences: consumer_differences(&asked, is),
    };
    if let Some(is) = &found
        && consumer_differences(&asked, is).is_empty()
    {
        return Ok(made(Done::Kept, is));
    }
    let created = context
        .create_consumer_on_stream(asked.clone(), stream)
        .await;
    let created = created.map_err(|error| fail(&error))?;
    let is = consumer_config(&created).ok_or_else(|| fail(&"the server echoed a push consumer"))?;
    let done = if found.is_some() {
        Done::Updated
    } else {
        Done::Created
    };
    Ok(made(done, &is))
}

fn consumer_config(
    consumer: &async_nats::jetstream::consumer::Consumer<pull::Config>,
) -> Option<pull::Config> {
    use async_nats::jetstream::consumer::FromConsumer as _;
    pull::Config::try_from_consumer_config(consumer.cached_info().config.clone()).ok()
}

/// How many messages one inbox holds: its share of [`INBOX_BYTES`], each of the largest size and what the
/// server keeps beside it.
pub(crate) const INBOX_MESSAGES: i64 = 4_000;
/// The share of one inbox.
const INBOX_BYTES: i64 = 1 << 30;

/// A full inbox refuses, and leaves every other its share; nobody removes mail but its reader.
fn stream(name: &str, subjects: Vec<String>) -> Stream {
    let inboxes = i64::try_from(subjects.len()).unwrap_or(i64::MAX);
    Stream {
        name: name.to_owned(),
        subjects,
        storage: StorageType::File,
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        max_messages_per_subject: INBOX_MESSAGES,
        max_messages: -1,
        max_consumers: -1,
        max_bytes: inboxes.saturating_mul(INBOX_BYTES),
        max_age: Duration::from_secs(30 * 24 * 3600),
        max_message_size: 256 * 1024,
        num_replicas: 1,
        deny_delete: true,
        deny_purge: true,
        // Nobody sends a `Nats-Msg-Id`, and nobody may suppress another's message by one for long.
        duplicate_window: Duration::from_millis(100),
        ..Stream::default()
    }
}

fn consumer(place: &Place) -> pull::Config {
    let backoff = [30, 60, 5 * 60, 30 * 60].map(Duration::from_secs);
    pull::Config {
        durable_name: Some(place.mailbox.consumer.clone()),
        name: Some(place.mailbox.consumer.clone()),
        filter_subject: place.inbox.clone(),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        replay_policy: ReplayPolicy::Instant,
        ack_wait: Duration::from_secs(30),
        backoff: backoff.to_vec(),
        max_deliver: 10,
        max_ack_pending: 1024,
        max_waiting: 512,
        ..pull::Config::default()
    }
}

macro_rules! differences {
    ($asked:expr, $is:expr, $($field:ident as $name:literal),* $(,)?) => {{
        let mut differences = Vec::new();
        $(if $asked.$field != $is.$field {
            differences.push(Difference {
                setting: $name,
                asked: format!("{:?}", $asked.$field),
                is: format!("{:?}", $is.$field),
            });
        })*
        differences
    }};
}

fn stream_differences(asked: &Stream, is: &Stream) -> Vec<Difference> {
    let mut is = is.clone();
    is.subjects.sort_unstable();
    differences!(
        asked, is,
        subjects as "subjects",
        storage as "storage",
        retention as "retention",
        discard as "discard",
        discard_new_per_subject as "discard_new_per_subject",
        max_messages_per_subject as "max_msgs_per_subject",
        max_messages as "max_msgs",
        max_consumers as "max_consumers",
        max_bytes as "max_bytes",
        max_age as "max_age",
        max_message_size as "max_msg_size",
        num_replicas as "num_replicas",
        no_ack as "no_ack",
        sealed as "sealed",
        deny_delete as "deny_delete",
        deny_purge as "deny_purge",
        allow_rollup as "allow_rollup_hdrs",
        allow_direct as "allow_direct",
        duplicate_window as "duplicate_window",
        republish as "republish",
        mirror as "mirror",
        sources as "sources",
        subject_transform as "subject_transform",
    )
}

fn consumer_differences(asked: &pull::Config, is: &pull::Config) -> Vec<Difference> {
    differences!(
        asked, is,
        durable_name as "durable_name",
        filter_subject as "filter_subject",
        filter_subjects as "filter_subjects",
        deliver_policy as "deliver_policy",
        ack_policy as "ack_policy",
        replay_policy as "replay_policy",
        backoff as "backoff",
        max_deliver as "max_deliver",
        max_ack_pending as "max_ack_pending",
        headers_only as "headers_only",
        max_batch as "max_batch",
        max_bytes as "max_bytes",
        inactive_threshold as "inactive_threshold",
        memory_storage as "mem_storage",
    )
}

fn is_no_stream(kind: &GetStreamErrorKind) -> bool {
    matches!(kind, GetStreamErrorKind::JetStream(error) if error.code() == 404)
}

fn is_no_consumer(kind: &ConsumerErrorKind) -> bool {
    matches!(kind, ConsumerErrorKind::JetStream(error) if error.code() == 404)
}

fn failed(what: &str, reason: &str) -> Error {
    Error::Setup {
        what: what.to_owned(),
        reason: reason.to_owned(),
    }
}

const LIMIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_inbox_leaves_every_other_its_share() {
        let inboxes = ["agent.alpha.inbox", "agent.beta.inbox", "agent.gamma.inbox"];
        let stream = stream("AGENT_INBOX", inboxes.map(str::to_owned).to_vec());
        let largest = i64::from(stream.max_message_size);
        assert!(stream.discard_new_per_subject);
        assert!(stream.max_messages_per_subject * largest < INBOX_BYTES);
        assert_eq!(stream.max_bytes, 3 * INBOX_BYTES);
    }
}
