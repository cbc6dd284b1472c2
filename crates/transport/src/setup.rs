//! Makes the mailboxes of a household: one stream that lists exactly the inboxes with a consumer, and one
//! durable consumer an agent. Run by a person with an administrator's login, never by a daemon.

mod copies;

use std::time::Duration;

use async_nats::client::Client;
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::{FromConsumer as _, pull};
use async_nats::jetstream::context::{CreateStreamError, GetStreamErrorKind};
use async_nats::jetstream::stream::{Config as Stream, ConsumerError, ConsumerErrorKind};
use futures_util::TryStreamExt;
use tokio::time::timeout;

use crate::link::connect;
use crate::refusal::{is_no_room, refused};
use crate::wanted::{
    AgentPlace, INBOX_BYTES, SettingDifference, StreamOptions, consumer, consumer_differences,
    room, stream, stream_differences,
};
use crate::{ConnectionConfig, Error};

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupReport {
    /// The address that answered.
    pub address: String,
    /// The server's version, in its own words.
    pub server: String,
    /// The room that the stream keeps for its mailboxes, in bytes; `None` where it has no limit.
    pub room: Option<u64>,
    /// The room that it would keep if it were made now, in bytes.
    pub usual_room: u64,
    /// On how many servers each mailbox is to lie.
    pub replicas: usize,
    /// Whether all of these have what is in it. Behind a change of their number they copy it first.
    pub is_copied: bool,
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
    pub done: SetupStep,
    /// Settings that the server has otherwise than asked.
    pub differences: Vec<SettingDifference>,
}

/// What was done about one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupStep {
    /// It was not there.
    Created,
    /// It was otherwise.
    Updated,
    /// It was as it should be.
    Kept,
}

/// Makes the stream and the consumers of `places`, or brings them in line. Nothing is removed: an agent that
/// is not named keeps its inbox. The places share one stream. Where the server takes no more mailboxes, those that were
/// made stay, and the stream does not take mail for the others.
///
/// # Errors
/// Those of a connection, to the last of the servers; [`Error::NoRoom`]; [`Error::NoCluster`] and
/// [`Error::NoPeers`] where the servers are too few for the replicas; [`Error::NoLeader`] while a cluster forms;
/// [`Error::TooManyMailboxes`]; [`Error::Setup`] with the server's words.
pub async fn set_up(
    config: &ConnectionConfig,
    places: &[AgentPlace],
    options: StreamOptions,
) -> Result<SetupReport, Error> {
    let (address, client) = reach(config).await?;
    let version = client.server_info().version;
    let Some(mailbox) = places.first().map(|place| &place.mailbox) else {
        return Err(failed("agents", "name at least one"));
    };
    let (context, stream) = (mailbox.context(client, LIMIT), mailbox.stream.clone());
    let (made, is, found) = make_stream(&context, &stream, places, options).await?;
    let usual = room(is.subjects.len(), INBOX_BYTES);
    let had = found.as_ref().map(|found| found.num_replicas);
    let is_copying = is.num_replicas > 1 && had != Some(is.num_replicas);
    let mut report = SetupReport {
        address,
        server: version,
        room: u64::try_from(is.max_bytes).ok(),
        usual_room: usual.unsigned_abs(),
        replicas: is.num_replicas,
        is_copied: true,
        inboxes: is.subjects,
        made: vec![made],
    };
    for (done, place) in places.iter().enumerate() {
        match make_consumer(&context, place).await {
            Ok(made) => report.made.push(made),
            Err(error) => {
                if matches!(error, Error::TooManyMailboxes { .. }) {
                    let made = places.get(..done).unwrap_or_default();
                    withdraw(&context, &stream, made, options, found.as_ref()).await;
                }
                return Err(error);
            }
        }
    }
    if is_copying {
        let copied = copies::made(&context, &stream, places, report.replicas);
        report.is_copied = timeout(COPIED, copied).await.is_ok();
    }
    Ok(report)
}

async fn reach(config: &ConnectionConfig) -> Result<(String, Client), Error> {
    let mut failed = Error::Disconnected;
    for server in &config.servers {
        match connect(config.options()?, server).await {
            Ok(client) => return Ok((server.clone(), client)),
            Err(error) => failed = error,
        }
    }
    // If the settings name no server, the loop above tried none: then `options` returns the error that names the missing
    // setting.
    config.options()?;
    Err(failed)
}

/// What was done, how the stream is now, and how it was found.
async fn make_stream(
    context: &Context,
    name: &str,
    places: &[AgentPlace],
    options: StreamOptions,
) -> Result<(Made, Stream, Option<Stream>), Error> {
    let what = format!("stream {name}");
    let (found, holds, is_alone) = match context.get_stream(name).await {
        Ok(stream) => {
            let info = stream.cached_info();
            let is_alone = copies::stands_alone(info.cluster.as_ref());
            (Some(info.config.clone()), info.state.bytes, is_alone)
        }
        Err(error) if is_no_stream(&error.kind()) => (None, 0, false),
        Err(error) => return Err(refused(&what, 1, &error.kind(), error.to_string())),
    };
    let mut asked = stream(
        name,
        inboxes(found.as_ref(), places),
        options,
        found.as_ref(),
    );
    // A server that stands alone and is older than 2.11 promises replicas to a stream that is there, and at its next start throws
    // that stream away, since it cannot have them. So refuse them here, and take back those of a stream that was promised some.
    if is_alone {
        match options.replicas {
            Some(replicas) if replicas > 1 => return Err(Error::NoCluster { what, replicas }),
            _ => asked.num_replicas = 1,
        }
    }
    if options.mailbox_bytes.is_some()
        && u64::try_from(asked.max_bytes).is_ok_and(|room| room < holds)
    {
        let reason = format!(
            "it holds {} MiB of mail, and would have room for {} MiB",
            holds.div_ceil(1 << 20),
            asked.max_bytes >> 20
        );
        return Err(failed(&what, &reason));
    }
    let (done, mut is) = match put_stream(context, &asked, found.as_ref()).await {
        Ok(made) => made,
        Err(error) if is_no_room(&error.kind()) => {
            return Err(no_room(context, what, &asked, found.as_ref(), &error).await);
        }
        Err(error) => {
            let (replicas, reason) = (asked.num_replicas, error.to_string());
            return Err(refused(&what, replicas, &error.kind(), reason));
        }
    };
    let differences = stream_differences(&asked, &is);
    is.subjects = asked.subjects;
    let made = Made {
        what,
        done,
        differences,
    };
    Ok((made, is, found))
}

/// Takes back the inboxes that the stream got just now and that nobody can read, so that it confirms no mail for them: the
/// stream then lists what `found` does, and the places `made`.
async fn withdraw(
    context: &Context,
    name: &str,
    made: &[AgentPlace],
    options: StreamOptions,
    found: Option<&Stream>,
) {
    let subjects = inboxes(found, made);
    // A stream without a subject would take one that bears its own name.
    if !subjects.is_empty() {
        let asked = stream(name, subjects, options, found);
        // If this fails as well, the person still has to hear of the limit, which is what they can act on.
        let _ = context.update_stream(&asked).await;
    }
}

/// Makes the stream, or brings the one that is there in line.
async fn put_stream(
    context: &Context,
    asked: &Stream,
    found: Option<&Stream>,
) -> Result<(SetupStep, Stream), CreateStreamError> {
    match found {
        None => context
            .create_stream(asked)
            .await
            .map(|made| (SetupStep::Created, made.cached_info().config.clone())),
        Some(is) if stream_differences(asked, is).is_empty() => Ok((SetupStep::Kept, is.clone())),
        Some(is) => context.update_stream(asked).await.map(|made| {
            // A server that does not know a setting ignores it and answers with the old configuration: then do not report an
            // update.
            let same = stream_differences(&made.config, is).is_empty();
            let done = match same {
                true => SetupStep::Kept,
                false => SetupStep::Updated,
            };
            (done, made.config)
        }),
    }
}

/// The inboxes of the stream, and those of `places`.
fn inboxes(found: Option<&Stream>, places: &[AgentPlace]) -> Vec<String> {
    let mut subjects = found.map_or_else(Vec::new, |config| config.subjects.clone());
    // Drop subjects with a wildcard: under a wildcard, invented inboxes could fill the stream.
    subjects.retain(|subject| !subject.contains(['*', '>']));
    subjects.extend(places.iter().map(|place| place.inbox.clone()));
    subjects.sort_unstable();
    subjects.dedup();
    subjects
}

/// What there is to say about a store that does not have what `asked` wants beyond what the stream has.
async fn no_room(
    context: &Context,
    what: String,
    asked: &Stream,
    found: Option<&Stream>,
    error: &CreateStreamError,
) -> Error {
    let bytes = |signed: i64| u64::try_from(signed).unwrap_or(0);
    // Old servers do not say how much storage an account has reserved: add up the limits of its streams instead.
    let streams: Result<Vec<_>, _> = context.streams().try_collect().await;
    let reserved = streams.ok().map(|streams| {
        let each = streams.iter().map(|stream| bytes(stream.config.max_bytes));
        each.sum()
    });
    // The account's limit only makes the error clearer, so a login that may not ask for it gets the error without the limit.
    let account = context.query_account().await.ok();
    let limit = account.and_then(|account| account.limits.max_storage);
    Error::NoRoom {
        what,
        reason: error.to_string(),
        mailboxes: asked.subjects.len(),
        wanted: bytes(asked.max_bytes),
        has: bytes(found.map_or(0, |found| found.max_bytes)),
        reserved,
        limit: limit.map(bytes),
    }
}

async fn make_consumer(context: &Context, place: &AgentPlace) -> Result<Made, Error> {
    let (name, stream) = (&place.mailbox.consumer, &place.mailbox.stream);
    let what = format!("consumer {name}");
    let look = async || {
        context
            .get_consumer_from_stream::<pull::Config, _, _>(name, stream)
            .await
    };
    let found = match answered(look).await {
        Ok(consumer) => consumer_config(&consumer),
        Err(error) if is_no_consumer(&error.kind()) => None,
        Err(error) => return Err(refused(&what, 1, &error.kind(), error.to_string())),
    };
    let asked = consumer(place, found.as_ref());
    let made = |done, is: &pull::Config| Made {
        what: what.clone(),
        done,
        differences: consumer_differences(&asked, is),
    };
    if let Some(is) = &found
        && consumer_differences(&asked, is).is_empty()
    {
        return Ok(made(SetupStep::Kept, is));
    }
    let create = async || {
        context
            .create_consumer_on_stream(asked.clone(), stream)
            .await
    };
    let created = answered(create)
        .await
        .map_err(|error| refused(&what, 1, &error.kind(), error.to_string()))?;
    let is = consumer_config(&created)
        .ok_or_else(|| failed(&what, "the server echoed a push consumer"))?;
    let done = if found.is_some() {
        SetupStep::Updated
    } else {
        SetupStep::Created
    };
    Ok(made(done, &is))
}

/// Asks again where nobody answered: behind a change of a stream's replicas, nats-server 2.9 leaves questions about its
/// consumers without an answer until the servers have agreed anew.
async fn answered<T>(ask: impl AsyncFn() -> Result<T, ConsumerError>) -> Result<T, ConsumerError> {
    for _ in 1..ASKED {
        match ask().await {
            Err(error) if error.kind() == ConsumerErrorKind::TimedOut => {}
            answer => return answer,
        }
    }
    ask().await
}

fn consumer_config(
    consumer: &async_nats::jetstream::consumer::Consumer<pull::Config>,
) -> Option<pull::Config> {
    pull::Config::try_from_consumer_config(consumer.cached_info().config.clone()).ok()
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
/// How long the servers of a cluster may take to copy what is in the mailboxes before the report says that they still do.
const COPIED: Duration = Duration::from_secs(60);
/// How often a question about a consumer is asked, for [`LIMIT`] each time.
const ASKED: u32 = 3;
