//! The calls of an agent that works off what came: it receives under a lease, answers, tells how it goes,
//! offers what it can do while it is there, and follows what moves.

pub(super) mod history;
mod narrow;
mod offers;
mod receive;
mod subscribe;
mod words;

use std::collections::BTreeSet;

use signet_proto::node::{Program, Supply, Wanted};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::control::{Notifier, Reply};

pub(super) use narrow::narrowed;

/// Who of the agent's programs is there, and what they wait for.
pub(super) struct Agents {
    waiting: Vec<WaitingConsumer>,
    /// What the node could hand out when it was last asked.
    supply: Supply,
    /// The connections whose end is awaited.
    watched: BTreeSet<u64>,
    gone: mpsc::UnboundedSender<u64>,
    ended: mpsc::UnboundedReceiver<u64>,
}

/// A consumer that waits for what comes.
struct WaitingConsumer {
    wanted: Wanted,
    limit: usize,
    until: Instant,
    reply: Reply,
}

impl Agents {
    pub(super) fn new() -> Self {
        let (gone, ended) = mpsc::unbounded_channel();
        Self {
            waiting: Vec::new(),
            supply: Supply::default(),
            watched: BTreeSet::new(),
            gone,
            ended,
        }
    }

    /// A connection whose leases and offers are to end has gone.
    pub(super) async fn next_gone(&mut self) -> Option<u64> {
        self.ended.recv().await
    }

    /// When the wait of the first of those who wait is over.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.waiting.iter().map(|waiting| waiting.until).min()
    }

    /// Hears when the client has gone: it holds a lease, or offers something.
    fn watch(&mut self, client: &Notifier) -> Program {
        let program = client.program();
        if self.watched.insert(program.connection) {
            let (client, gone) = (client.clone(), self.gone.clone());
            // While this holds its queue, its place counts as that of one who listens.
            tokio::spawn(async move {
                client.closed().await;
                // The daemon may have stopped meanwhile.
                let _ = gone.send(program.connection);
            });
        }
        program
    }
}
