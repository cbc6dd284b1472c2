//! Where an agent's mail lies, and how JetStream is asked about it.

use std::time::Duration;

use async_nats::client::Client;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;

/// The durable pull consumer that an agent's mail is read from, and the stream that keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// The stream.
    pub stream: String,
    /// The consumer.
    pub consumer: String,
    /// The JetStream domain that the stream lies in, where it is not that of the server which is connected to: a leaf
    /// server that keeps no mail itself, whose hub does.
    pub domain: Option<String>,
}

impl Mailbox {
    /// The mailbox of an agent in the household's stream.
    #[must_use]
    pub fn of(agent: &str) -> Self {
        Self {
            stream: STREAM.to_owned(),
            consumer: agent.to_owned(),
            domain: None,
        }
    }

    /// The same in that JetStream domain; `None` is that of the server which is connected to.
    #[must_use]
    pub fn in_domain(self, domain: Option<String>) -> Self {
        Self { domain, ..self }
    }

    /// Asks JetStream about this mailbox, and waits so long for an answer.
    pub(crate) fn context(&self, client: Client, limit: Duration) -> Context {
        let builder = ContextBuilder::new().timeout(limit);
        match &self.domain {
            Some(domain) => builder.domain(domain).build(client),
            None => builder.build(client),
        }
    }

    /// How the subjects of questions to JetStream begin.
    pub(crate) fn prefix(&self) -> String {
        match &self.domain {
            Some(domain) => format!("$JS.{domain}.API"),
            None => "$JS.API".to_owned(),
        }
    }

    /// The subject that asks JetStream for `verb` about this mailbox.
    pub(crate) fn api(&self, verb: &str) -> String {
        format!("{}.{verb}.{}.{}", self.prefix(), self.stream, self.consumer)
    }
}

/// The stream of every mailbox of a household.
pub const STREAM: &str = "AGENT_INBOX";
