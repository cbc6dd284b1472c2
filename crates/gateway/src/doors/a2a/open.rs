//! How the door of A2A begins: its file is opened, and what was under way when the process ended goes on.

use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::{Semaphore, mpsc};

use super::door::A2aDoor;
use super::ended::settle_ended;
use super::follow::follow;
use super::push::Pushing;
use super::remembered::{CardDates, PeersOffers};
use super::sending::resume;
use super::store::{Store, StoreError, StoreLimits};
use crate::context::Context;

impl A2aDoor {
    /// Opens the door, and goes on with what was under way when the process ended.
    ///
    /// # Errors
    /// Where the file of the tasks cannot be used.
    pub(crate) fn open(context: &Arc<Context>) -> Result<Arc<Self>, StoreError> {
        let section = &context.config.a2a;
        let limits = StoreLimits {
            tasks: section.tasks,
            open: section.tasks.min(OPEN_MAX),
            bytes: BYTES_MAX,
        };
        let store = Store::open(&section.state(&context.config.beside), limits)?;
        let (wants, more) = mpsc::unbounded_channel();
        let room = Arc::new(Self {
            context: Arc::clone(context),
            store,
            streams: Arc::new(Semaphore::new(section.streams)),
            follow: wants,
            pushing: Pushing::default(),
            agent: OnceLock::new(),
            card: Mutex::default(),
            offered: PeersOffers::default(),
            lines: Mutex::default(),
            changes: CardDates::default(),
        });
        context.spawn(follow(Arc::clone(&room), more));
        context.spawn(resume(Arc::clone(&room)));
        context.spawn(settle_ended(Arc::clone(&room)));
        Ok(room)
    }
}

/// Messages of which something may still come: each is asked about when a connection is made.
const OPEN_MAX: usize = 2_000;
const BYTES_MAX: u64 = 256 << 20;
