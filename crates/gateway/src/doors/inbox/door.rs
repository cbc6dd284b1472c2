//! What the parts of the HTTP carrier share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use data_encoding::BASE64URL_NOPAD;
use signet_proto::trust::TrustView;
use tokio::sync::Semaphore;

use super::body_memory::BodyMemory;
use super::counts::Counts;
use super::lanes::Lanes;
use super::pace::AddressPace;
use super::poll_slots::PollSlots;
use super::queue::Queue;
use crate::config::carriers::InboxSection;
use crate::context::Context;

/// The HTTP carrier of one agent.
pub(crate) struct HttpCarrier {
    pub(crate) context: Arc<Context>,
    pub(crate) section: InboxSection,
    /// `carrier.sock`.
    pub(crate) socket: PathBuf,
    pub(crate) queue: Queue,
    pub(crate) pace: Mutex<AddressPace>,
    /// Where bodies are read.
    pub(crate) body_memory: BodyMemory,
    pub(crate) counts: Counts,
    pub(crate) lanes: Lanes,
    /// Threads that verify at once.
    pub(crate) judges: Semaphore,
    /// Polls that wait.
    pub(crate) poll_slots: PollSlots,
    view: RwLock<Option<Arc<TrustView>>>,
    is_up: AtomicBool,
}

impl HttpCarrier {
    pub(crate) fn of(context: &Arc<Context>, section: &InboxSection, socket: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::clone(context),
            queue: Queue::of(section.queue_bytes),
            pace: Mutex::new(AddressPace::per_minute(section.envelopes_per_minute)),
            body_memory: BodyMemory::of(DESK),
            counts: Counts::default(),
            lanes: Lanes::default(),
            judges: Semaphore::new(JUDGES),
            poll_slots: PollSlots::at(&socket, context.config.limits.connections),
            view: RwLock::default(),
            is_up: AtomicBool::new(false),
            section: section.clone(),
            socket,
        })
    }

    /// The newest snapshot of the trust store, while the daemon takes what comes.
    pub(crate) fn view(&self) -> Option<Arc<TrustView>> {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        view.clone().filter(|_| self.is_up.load(Ordering::Acquire))
    }

    /// Verifies by this snapshot from now on, and by the tables of keys that there are.
    pub(crate) fn see(&self, view: TrustView) {
        let mut known = self.view.write().unwrap_or_else(PoisonError::into_inner);
        // Key tables are expensive to build, so the new snapshot takes over the tables of the snapshot before.
        let before = known.as_ref().map(|before| Arc::clone(before.tables()));
        let tables = before.unwrap_or_else(|| Arc::clone(view.tables()));
        *known = Some(Arc::new(view.with_tables(tables)));
        self.is_up.store(true, Ordering::Release);
    }

    /// The daemon is away: nothing is taken until it is back.
    pub(crate) fn lose(&self) {
        self.is_up.store(false, Ordering::Release);
        self.queue.give_up();
    }
}

/// Bytes as the daemon's socket has them.
pub(crate) fn encode(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

/// The bytes of what the daemon says.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64URL_NOPAD.decode(text.as_bytes()).ok()
}

const JUDGES: usize = 4;
/// Bytes of bodies that are being read at once.
const DESK: usize = 32 << 20;
