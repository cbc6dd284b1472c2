//! The one owner of the node: every input, call and timer passes here, in one order.

use std::sync::Arc;
use std::time::Duration;

use signet_audit::Head;
use signet_proto::entry::Entry;
use signet_proto::node::{At, Effect, Node, Outcome};
use signet_proto::time::Timestamp;
use signet_transport::{Arrival, Nats};
use tokio::sync::{mpsc, watch};
use tracing::{error, info, warn};

use crate::clock;
use crate::control::Call;
use crate::effects::Deed;
use crate::lock::HomeLock;

use super::intake::Taken;
use super::journal::{Group, Journal};

/// The longest sleep: the clock may be set while we sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// How often keys are looked after.
const UPKEEP: Duration = Duration::from_secs(3600);
/// How long a clean stop waits for what is under way.
const DRAIN: Duration = Duration::from_secs(6);

/// The node and its ways out.
pub(super) struct Heart {
    pub(super) node: Node,
    pub(super) nats: Nats,
    pub(super) head: watch::Receiver<Option<Head>>,
    pub(super) full: watch::Receiver<Option<Timestamp>>,
    groups: mpsc::Sender<Group>,
    pub(super) lock: Arc<HomeLock>,
    stopped: bool,
}

impl Heart {
    /// A heart that writes to `journal`.
    pub(super) fn new(node: Node, journal: &Journal, nats: Nats, lock: Arc<HomeLock>) -> Self {
        let (head, groups) = (journal.head.clone(), journal.groups.clone());
        Self {
            node,
            nats,
            head,
            full: journal.full.clone(),
            groups,
            lock,
            stopped: false,
        }
    }

    /// Performs again what the log shows unfinished.
    pub(super) async fn resume(&mut self) {
        self.node.handle_disconnected();
        let at = self.at();
        let outcome = self.node.resume(at);
        self.write(at.now, vec![outcome], Vec::new()).await;
    }

    /// Beats until `stop`, then drains what is under way.
    pub(super) async fn run(
        &mut self,
        mut taken: mpsc::Receiver<Taken>,
        mut calls: mpsc::Receiver<Call>,
        stop: impl Future<Output = ()>,
    ) {
        tokio::pin!(stop);
        let mut upkeep = tokio::time::interval(UPKEEP);
        while !self.stopped {
            let wake = self.sleep();
            // What the node would make of more, no line could hold: it stays where it is.
            let has_room = !self.is_refusing();
            tokio::select! {
                () = &mut stop => break,
                next = taken.recv(), if has_room => match next {
                    Some(next) => self.take(next).await,
                    None => break,
                },
                Some(call) = calls.recv() => self.call(call).await,
                _ = upkeep.tick(), if has_room => self.keep_keys().await,
                () = self.groups.closed() => self.give_up(),
                () = wake, if has_room => self.tick().await,
                _ = self.full.changed() => {}
            }
        }
        self.drain(taken).await;
    }

    /// The disk is full: nothing may be taken in, and nothing that is said would be durable.
    pub(super) fn is_refusing(&self) -> bool {
        self.full.borrow().is_some()
    }

    pub(super) fn at(&self) -> At {
        At {
            now: clock::now(),
            head: self.head.borrow().map(|head| head.hash),
        }
    }

    /// Hands outcomes to the journal: entries first, then what they allow.
    pub(super) async fn write(
        &mut self,
        now: Timestamp,
        outcomes: Vec<Outcome>,
        before: Vec<Deed>,
    ) {
        let mut group = Group {
            now,
            entries: Vec::new(),
            deeds: before,
        };
        for outcome in outcomes {
            group.entries.extend(outcome.entries);
            group
                .deeds
                .extend(outcome.effects.into_iter().map(Deed::Effect));
        }
        if group.entries.is_empty() && group.deeds.is_empty() {
            return;
        }
        if self.groups.send(group).await.is_err() {
            self.give_up();
        }
    }

    /// Nothing may happen that the log does not hold: stop, and let the next start repair it.
    fn give_up(&mut self) {
        error!("the log cannot be written; stopping");
        self.stopped = true;
    }

    async fn take(&mut self, taken: Taken) {
        match taken {
            Taken::Messages(judged, permit) => {
                let Ok(judged) = judged.await else { return };
                let at = self.at();
                let outcomes = judged
                    .into_iter()
                    .map(|judged| self.node.handle_inbound(at, judged))
                    .collect();
                self.write(at.now, outcomes, Vec::new()).await;
                drop(permit);
                self.tick_if_due().await;
            }
            Taken::Event(event) => self.note(event).await,
        }
    }

    async fn note(&mut self, event: Arrival) {
        let at = self.at();
        let outcome = match event {
            Arrival::Connected => {
                info!("connected");
                self.node.handle_connected(at)
            }
            Arrival::Disconnected => {
                self.node.handle_disconnected();
                warn!("disconnected; trying again");
                return;
            }
            Arrival::Gap { at_least } => {
                let cause = format!(
                    "slow consumer: at least {at_least} messages were dropped before they were read"
                );
                Outcome {
                    entries: vec![Entry::Gap { cause }],
                    effects: Vec::new(),
                }
            }
            Arrival::Refused { what } => {
                warn!(%what, "the server refused");
                return;
            }
            _ => return,
        };
        self.write(at.now, vec![outcome], Vec::new()).await;
    }

    async fn tick_if_due(&mut self) {
        if self
            .node
            .poll_timeout()
            .is_some_and(|due| due <= clock::now())
        {
            self.tick().await;
        }
    }

    async fn tick(&mut self) {
        let at = self.at();
        let outcome = self.node.handle_timeout(at);
        self.write(at.now, vec![outcome], Vec::new()).await;
    }

    fn sleep(&self) -> tokio::time::Sleep {
        let due = self
            .node
            .poll_timeout()
            .map_or(LONGEST_SLEEP, |due| due.since(clock::now()));
        // A millisecond at least: times are whole milliseconds, and a timer must not spin.
        tokio::time::sleep(due.clamp(Duration::from_millis(1), LONGEST_SLEEP))
    }

    /// A clean stop: the subscription ends, what had arrived is judged and logged, what was counted
    /// is written.
    async fn drain(&mut self, mut taken: mpsc::Receiver<Taken>) {
        if self.stopped || self.is_refusing() {
            return;
        }
        let nats = self.nats.clone();
        let drained = tokio::spawn(nats.drain());
        let rest = async {
            while let Some(next) = taken.recv().await {
                if let Taken::Messages(..) = next {
                    self.take(next).await;
                }
            }
        };
        if tokio::time::timeout(DRAIN, rest).await.is_err() {
            warn!("not everything under way was read before the stop");
        }
        if let Ok(Err(error)) = drained.await {
            info!(%error, "the connection was not drained");
        }
        let at = self.at();
        let outcome = self.node.handle_stop();
        self.write(at.now, vec![outcome], Vec::new()).await;
    }
}

/// Whether an effect is one that a caller waits for.
pub(super) fn is_publish(effect: &Effect) -> bool {
    matches!(effect, Effect::Publish(_))
}
