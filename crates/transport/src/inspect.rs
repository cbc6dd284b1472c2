//! Looks at a server as an agent sees it, beside the agent's own connection, and leaves nothing there.

mod inboxes;
mod servers;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::Event;
use async_nats::client::Client;

use crate::link::connect;
use crate::standing::{Absent, ask};
use crate::{ConnectionConfig, Error, Mailbox};

pub use inboxes::InboxAnswer;
pub use servers::{MailboxServers, Replica, ReplicaState, ServerFacts};

/// What a server lets an agent do, and what it keeps for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The address that answered.
    pub server: String,
    /// The server's version, in its own words.
    pub version: String,
    /// What else it says of itself.
    pub facts: ServerFacts,
    /// Why other servers of the settings let nobody in.
    pub closed: Vec<Error>,
    /// The subjects that the server refuses to this login, of those that an agent needs.
    pub refused: BTreeSet<String>,
    /// The inboxes of peers that were asked, and what came back.
    pub inboxes: Vec<(String, InboxAnswer)>,
    /// The mailbox; why there is none, where one was asked for.
    pub mailbox: Option<Result<HeldMail, NoMailbox>>,
    /// The stream that holds all mailboxes, where this login may look at it.
    pub stream: Option<StoreUse>,
    /// What the account may keep on disk, where the server sets a limit and this login may look at it.
    pub account: Option<StoreUse>,
}

/// What waits in a mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldMail {
    /// Messages that were not settled yet.
    pub messages: u64,
    /// So many fit in.
    pub most: u64,
    /// Whether a program reads it at this moment, this agent's own or another.
    pub is_read: bool,
    /// The servers that hold it.
    pub servers: MailboxServers,
}

/// Why there is no mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoMailbox {
    /// JetStream answers, and has none; in its words.
    NotMade(String),
    /// No JetStream answers: the server has none, or does not reach that of the domain.
    NoJetStream,
    /// No answer came in time: a cluster has no leader, or the login may not ask.
    Silence,
}

/// How full a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreUse {
    /// What it holds, in bytes.
    pub bytes: u64,
    /// What it can hold, in bytes.
    pub limit: u64,
}

/// Looks at the first server of `config` that answers, and whether it takes what goes to `inboxes`.
///
/// The server judges whether a login may publish before it looks at what is published. So a question
/// for a stream that does not exist stands in front of an inbox: a mailbox refuses it, and nothing is
/// kept. Inboxes are tried only where this agent has a mailbox itself: a peer without one would read
/// the question.
///
/// # Errors
/// Those of a connection, to the last of the servers.
pub async fn inspect(config: &ConnectionConfig, inboxes: &[String]) -> Result<Inspection, Error> {
    let refusals = Refusals::default();
    let (server, client) = reach(config, &refusals).await?;
    // Drop the subscription at once: it only serves to see whether the server refuses it.
    drop(client.subscribe(config.inbox.clone()).await);
    let mailbox = match &config.mailbox {
        Some(mailbox) => Some(held(&client, mailbox).await),
        None => None,
    };
    let inboxes = match mailbox {
        Some(Ok(_)) => inboxes::ask_all(&client, inboxes).await,
        _ => Vec::new(),
    };
    let stores = stores(&client, config.mailbox.as_ref());
    let ((stream, account), closed) = tokio::join!(stores, servers::closed(config, &server));
    Ok(Inspection {
        version: client.server_info().version,
        facts: ServerFacts::of(config, &server, &client),
        closed,
        refused: refusals.needed(config),
        server,
        inboxes,
        mailbox,
        stream,
        account,
    })
}

async fn reach(config: &ConnectionConfig, refusals: &Refusals) -> Result<(String, Client), Error> {
    let mut failed = Error::Disconnected;
    for server in &config.servers {
        let refusals = refusals.clone();
        let options = config.options()?.event_callback(move |event| {
            refusals.hear(&event);
            std::future::ready(())
        });
        match connect(options, server).await {
            Ok(client) => return Ok((server.clone(), client)),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

async fn held(client: &Client, mailbox: &Mailbox) -> Result<HeldMail, NoMailbox> {
    let standing = ask(client, mailbox).await.map_err(|absent| match absent {
        Absent::Missing(why) => NoMailbox::NotMade(why),
        Absent::NoJetStream(_) => NoMailbox::NoJetStream,
        Absent::Silent => NoMailbox::Silence,
    })?;
    let unsettled = u64::try_from(standing.unsettled).unwrap_or(u64::MAX);
    let servers = MailboxServers::of(client, mailbox).await;
    Ok(HeldMail {
        messages: standing.fresh.saturating_add(unsettled),
        most: crate::wanted::INBOX_MESSAGES.unsigned_abs(),
        is_read: standing.pulls > 0,
        servers: servers.unwrap_or_default(),
    })
}

/// The answers to these questions come after every refusal of what was sent before them, so all refusals are known by then.
async fn stores(
    client: &Client,
    mailbox: Option<&Mailbox>,
) -> (Option<StoreUse>, Option<StoreUse>) {
    let Some(mailbox) = mailbox else {
        // Give the server time to refuse the subscription: without a mailbox there is no other request to wait for.
        tokio::time::sleep(REFUSAL).await;
        return (None, None);
    };
    let context = mailbox.context(client.clone(), LIMIT);
    let (stream, account) =
        tokio::join!(context.get_stream(&mailbox.stream), context.query_account());
    let stream = stream.ok().and_then(|stream| {
        let info = stream.cached_info();
        store(info.state.bytes, info.config.max_bytes)
    });
    let account = account.ok();
    let account = account.and_then(|account| store(account.storage, account.limits.max_storage?));
    (stream, account)
}

/// `None` where there is no limit.
fn store(bytes: u64, limit: i64) -> Option<StoreUse> {
    let limit = u64::try_from(limit).ok().filter(|limit| *limit > 0)?;
    Some(StoreUse { bytes, limit })
}

/// What the server refused, in the order of its words.
#[derive(Clone, Default)]
struct Refusals(Arc<Mutex<Vec<String>>>);

impl Refusals {
    fn hear(&self, event: &Event) {
        let Event::ServerError(error) = event else {
            return;
        };
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < 2 * INBOXES
            && let Some(subject) = subject(&error.to_string())
        {
            refused.push(subject);
        }
    }

    /// Without the questions that only an administrator may ask.
    fn needed(&self, config: &ConnectionConfig) -> BTreeSet<String> {
        let refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let spared = |subject: &str| {
            config.mailbox.as_ref().is_some_and(|mailbox| {
                let api = mailbox.prefix();
                let stream = &mailbox.stream;
                [format!("{api}.INFO"), format!("{api}.STREAM.INFO.{stream}")]
                    .contains(&subject.to_owned())
            })
        };
        let refused = refused.iter().filter(|subject| !spared(subject));
        refused.cloned().collect()
    }
}

/// The subject in `Permissions Violation for Publish to "agent.beta.inbox"`.
fn subject(said: &str) -> Option<String> {
    if !said.to_ascii_lowercase().contains("permissions violation") {
        return None;
    }
    let subject = said.split('"').nth(1)?;
    Some(subject.chars().take(SUBJECT).collect())
}

/// So many inboxes are tried.
const INBOXES: usize = 64;
const SUBJECT: usize = 256;
/// A login that may not ask gets no answer.
const LIMIT: Duration = Duration::from_secs(2);
const REFUSAL: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_is_taken_out_of_the_servers_words() {
        let words = "nats: Permissions Violation for Publish to \"agent.beta.inbox\"";
        assert_eq!(subject(words).as_deref(), Some("agent.beta.inbox"));
        let words =
            "nats: permissions violation for subscription to \"agent.a.inbox\" using queue \"q\"";
        assert_eq!(subject(words).as_deref(), Some("agent.a.inbox"));
        assert_eq!(subject("nats: maximum connections exceeded"), None);
    }
}
