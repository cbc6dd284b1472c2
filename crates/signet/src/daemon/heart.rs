//! The one owner of the node: every input, call and timer passes here, in one order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use signet_api::ApiError;
use signet_audit::{Head, counted};
use signet_proto::carrier::CarrierId;
use signet_proto::entry::{Alarm, Direction, Entry};
use signet_proto::node::{At, Effect, Node, Outcome};
use signet_proto::time::Timestamp;
use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::attention::NotifyHook;
use crate::carrier::{Carriers, News, Settled};
use crate::clock;
use crate::config::Config;
use crate::control::{RawCall, Reply};
use crate::effects::{Deed, Handed};
use crate::hint::typed;
use crate::lock::HomeLock;
use crate::manager::Manager;

use super::agent::Agents;
use super::carrying::Carrying;
use super::condition::Condition;
use super::decision::Decisions;
use super::intake::Taken;
use super::journal::{Group, Journal};
use super::told::Person;
use super::watchdog::Probe;

/// The longest sleep: the clock may be set while we sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// So many lines, or as many as there are rows, lie between two snapshots of the state.
const SNAPSHOT: u64 = 10_000;
/// How often keys are looked after.
const UPKEEP: Duration = Duration::from_secs(3600);
/// How long a clean stop waits for what is under way.
const DRAIN: Duration = Duration::from_secs(6);

/// The node and its ways out.
pub(super) struct Heart {
    pub(super) node: Node,
    pub(super) carriers: Carriers,
    pub(super) head: watch::Receiver<Option<Head>>,
    pub(super) full: watch::Receiver<Option<Timestamp>>,
    groups: mpsc::Sender<Group>,
    handed: mpsc::Receiver<Vec<Handed>>,
    pub(super) lock: Arc<HomeLock>,
    /// Lines since the last snapshot.
    since: u64,
    /// How many rows it had: a large state is written more rarely.
    rows: Arc<AtomicU64>,
    /// What is wrong with finished months of the log, as it is found.
    faults: mpsc::Receiver<String>,
    pub(super) log_fault: Option<String>,
    /// Which carriers are up.
    pub(super) connected: BTreeSet<CarrierId>,
    /// What is to be up, in words.
    pub(super) ways: String,
    /// The carriers whose server answers and refuses the agent's login.
    pub(super) login_refused: BTreeSet<CarrierId>,
    /// The configuration that is in force.
    pub(super) config: Config,
    /// Why the one that was read since is not.
    pub(super) config_fault: Option<String>,
    pub(super) manager: Manager,
    /// What the service manager was told of how the daemon does.
    pub(super) told: Option<Condition>,
    /// The agent's programs.
    pub(super) agents: Agents,
    /// The foreign carriers.
    pub(super) carrying: Carrying,
    /// What the person has to sign.
    pub(super) decisions: Decisions,
    /// What the person was told.
    pub(super) person: Person,
    stopped: bool,
}

/// What the event loop is asked from outside, besides what arrives.
pub(super) struct Asked {
    /// The calls of all sockets.
    pub(super) calls: mpsc::Receiver<RawCall>,
    /// SIGHUP: the configuration is to be read anew.
    pub(super) hangups: Signal,
    /// The watchdog.
    pub(super) probes: mpsc::Receiver<Probe>,
}

impl Heart {
    /// A heart that writes to `journal`.
    pub(super) fn new(
        node: Node,
        journal: &Journal,
        (carriers, handed, carrying): (Carriers, mpsc::Receiver<Vec<Handed>>, Carrying),
        lock: Arc<HomeLock>,
        (since, rows): (u64, Arc<AtomicU64>),
        faults: mpsc::Receiver<String>,
        (config, ways, manager, hook): (Config, String, Manager, NotifyHook),
    ) -> Self {
        let (head, groups) = (journal.head.clone(), journal.groups.clone());
        Self {
            node,
            carriers,
            head,
            full: journal.full.clone(),
            groups,
            handed,
            lock,
            since,
            rows,
            faults,
            decisions: Decisions::new(config.people_sign, clock::now()),
            log_fault: None,
            connected: BTreeSet::new(),
            login_refused: BTreeSet::new(),
            ways,
            config,
            config_fault: None,
            manager,
            told: None,
            agents: Agents::new(),
            carrying,
            person: Person::new(hook),
            stopped: false,
        }
    }

    /// Performs again what the log shows unfinished.
    pub(super) async fn resume(&mut self) {
        for carrier in self.carriers.ids() {
            self.node.handle_disconnected(carrier);
        }
        let at = self.at();
        let outcome = self.node.resume(at);
        self.write(at.now, vec![outcome], Vec::new()).await;
        self.tell_what_stands(at.now);
    }

    /// Beats until `stop`, then drains what is under way.
    pub(super) async fn run(
        &mut self,
        mut taken: mpsc::Receiver<Taken>,
        asked: Asked,
        stop: impl Future<Output = ()>,
    ) {
        let Asked {
            mut calls,
            mut hangups,
            mut probes,
        } = asked;
        tokio::pin!(stop);
        let mut upkeep = tokio::time::interval(UPKEEP);
        while !self.stopped {
            let wake = self.sleep();
            // What the node would make of more, no line could hold: it stays where it is.
            let has_room = !self.is_refusing();
            if has_room {
                self.serve_consumers().await;
            }
            self.tell_manager();
            let wait_over = sleep_until(self.agents.next_end());
            let recount = sleep_until(self.person.recount.filter(|_| self.manager.listens()));
            tokio::select! {
                () = &mut stop => break,
                next = taken.recv(), if has_room => match next {
                    Some(next) => self.take(next).await,
                    None => break,
                },
                Some(call) = calls.recv() => self.call(call).await,
                Some(probe) = probes.recv() => self.pass_on(probe).await,
                Some(()) = hangups.recv(), if has_room => self.reload_by_signal().await,
                Some(handed) = self.handed.recv() => self.note_handed(handed),
                Some(what) = self.faults.recv(), if has_room => self.note_log_fault(what).await,
                Some(gone) = self.agents.next_gone(), if has_room => self.end_program(gone).await,
                () = wait_over, if has_room => {}
                () = recount => {}
                _ = upkeep.tick(), if has_room => self.keep_keys().await,
                () = self.groups.closed() => self.give_up(),
                () = wake, if has_room => self.tick().await,
                _ = self.full.changed() => {}
            }
        }
        self.manager.stopping();
        // Who asks from now on hears at once that nothing is done any more.
        drop((calls, probes));
        self.drain(taken).await;
    }

    /// The event loop lives; whether the log's thread does, that is asked next.
    async fn pass_on(&mut self, probe: Probe) {
        let asking = Group::asking(self.at().now, probe);
        if self.groups.send(asking).await.is_err() {
            self.give_up();
        }
    }

    /// The disk is full: nothing may be taken in, and nothing that is said would be durable.
    pub(super) fn is_refusing(&self) -> bool {
        self.full.borrow().is_some()
    }

    pub(super) fn at(&self) -> At {
        At {
            now: clock::now(),
            elapsed: clock::elapsed(),
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
        let group = self.group_of(now, outcomes, before);
        self.append(group).await;
    }

    /// Refuses a call; what our agent tried is durable before it hears of it.
    pub(super) async fn refuse(&mut self, reply: Reply, error: ApiError) {
        let at = self.at();
        let attempts = self.node.refused_attempts(at);
        if attempts.entries.is_empty() {
            return reply.send(Err(error));
        }
        let refused = vec![Deed::Answer(reply, Err(error))];
        self.write(at.now, vec![attempts], refused).await;
    }

    fn group_of(&self, now: Timestamp, outcomes: Vec<Outcome>, before: Vec<Deed>) -> Group {
        let mut group = Group {
            now,
            entries: Vec::new(),
            carried: BTreeMap::new(),
            deeds: before,
            snapshot: None,
            probe: None,
        };
        for outcome in outcomes {
            let place = outcome.entries.iter().position(is_arrival);
            let place = place.map(|place| group.entries.len() + place);
            group.carried.extend(place.zip(outcome.carrier));
            group.entries.extend(outcome.entries);
            let deeds = outcome.effects.into_iter();
            let deeds = deeds.map(|effect| self.deed_of(now, effect));
            group.deeds.extend(deeds);
        }
        group
    }

    async fn append(&mut self, mut group: Group) {
        self.since = self.since.saturating_add(group.entries.len() as u64);
        if self.since >= SNAPSHOT.max(self.rows.load(Ordering::Relaxed)) {
            self.since = 0;
            group.snapshot = Some(Box::new(self.node.snapshot(group.now)));
        }
        let empty = group.entries.is_empty() && group.deeds.is_empty();
        if empty && group.snapshot.is_none() {
            return;
        }
        if group.entries.iter().any(|entry| !is_arrival(entry)) {
            self.person.note_change();
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
            Taken::Messages(carrier, judged, permit) => {
                let Ok(judged) = judged.await else { return };
                let at = self.at();
                let (mut outcomes, mut settled) = (Vec::with_capacity(judged.len()), Vec::new());
                for (judged, ticket) in judged {
                    let mut outcome = self.node.handle_inbound(at, judged);
                    let polled = outcome.polled.take();
                    let ruled = outcome.ruled.map(|ruled| Settled { ruled, polled });
                    settled.extend(ticket.zip(ruled));
                    outcomes.push(outcome);
                }
                let mut group = self.group_of(at.now, outcomes, Vec::new());
                if !settled.is_empty() {
                    group.deeds.push(Deed::Settle(carrier, settled));
                }
                self.append(group).await;
                drop(permit);
                self.tick_if_due().await;
            }
            Taken::News(carrier, news) => self.note(carrier, news).await,
        }
    }

    async fn note(&mut self, carrier: CarrierId, news: News) {
        let at = self.at();
        let outcome = match news {
            News::Connected => {
                info!(%carrier, "connected");
                self.login_refused.remove(&carrier);
                let outcome = self.node.handle_connected(at, &carrier);
                self.connected.insert(carrier);
                outcome
            }
            News::Disconnected => {
                self.node.handle_disconnected(&carrier);
                self.login_refused.remove(&carrier);
                // At the start there is nothing to lose yet.
                if self.connected.remove(&carrier) {
                    warn!(%carrier, "disconnected; trying again");
                }
                return;
            }
            News::Drained => self.node.handle_drained(at, &carrier),
            News::StoreLost => {
                warn!(%carrier, "the NATS server lost its mailboxes; what has no receipt is sent again");
                self.node.handle_mailbox_lost(at, &carrier)
            }
            News::NoMailbox { why } => {
                warn!(
                    why,
                    "no mailbox: what is sent here while this agent is away is kept by its sender alone; \
                     next: {}",
                    typed("signet doctor  # says who makes it, signet up or signet nats setup")
                );
                return;
            }
            News::Gap { at_least } => {
                let cause = format!(
                    "slow consumer: dropped before they were read: at least {}",
                    counted(at_least, "message")
                );
                self.node.handle_gap(at, cause)
            }
            News::Refused { what } => {
                warn!(%carrier, %what, "the server refused");
                // Before there is a connection it refuses nothing but the login.
                if !self.connected.contains(&carrier) {
                    self.login_refused.insert(carrier);
                }
                return;
            }
            News::Message { .. } | News::Oversized { .. } | News::Stopped => return,
        };
        self.write(at.now, vec![outcome], Vec::new()).await;
    }

    fn note_handed(&mut self, handed: Vec<Handed>) {
        let at = self.at();
        for handed in handed {
            let (carrier, peer, message_id) = (handed.carrier, handed.peer, handed.message_id);
            match handed.stored {
                true => self.node.handle_stored(at, &carrier, &peer, message_id),
                false => self.node.handle_unconfirmed(&carrier, &peer, message_id),
            }
        }
    }

    /// Somebody changed a finished month: people hear of it, and the agent goes on.
    async fn note_log_fault(&mut self, what: String) {
        error!(%what, "a finished month of the log is not what was written");
        self.log_fault = Some(what);
        let at = self.at();
        let outcome = self.node.handle_own_alarm(at, Alarm::LogChanged);
        self.write(at.now, vec![outcome], Vec::new()).await;
    }

    async fn tick_if_due(&mut self) {
        let at = self.at();
        if self.node.poll_timeout(at).is_some_and(|due| due <= at.now) {
            self.tick().await;
        }
    }

    async fn tick(&mut self) {
        let at = self.at();
        let put_back = self.node.was_put_back(at.now);
        let outcome = self.node.handle_timeout(at);
        self.write(at.now, vec![outcome], Vec::new()).await;
        if put_back {
            warn!(now = %at.now, "the clock was put back; going on by it as it is now");
            self.keep_keys().await;
        }
    }

    fn sleep(&self) -> tokio::time::Sleep {
        let at = self.at();
        let due = self.node.poll_timeout(at);
        let due = due.map_or(LONGEST_SLEEP, |due| due.since(at.now));
        // A millisecond at least: times are whole milliseconds, and a timer must not spin.
        tokio::time::sleep(due.clamp(Duration::from_millis(1), LONGEST_SLEEP))
    }

    /// A clean stop: nothing more is read, what had arrived is judged and logged, what was counted is
    /// written. What was taken is settled, and what is allowed goes out, before the connection ends.
    async fn drain(&mut self, mut taken: mpsc::Receiver<Taken>) {
        if self.stopped || self.is_refusing() {
            return;
        }
        for (carrier, error) in self.carriers.stop_reading().await {
            info!(%carrier, %error, "the connection was gone before the stop");
        }
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
        let at = self.at();
        let outcome = self.node.handle_stop();
        // The next start has nothing to read but the state.
        self.since = u64::MAX;
        self.write(at.now, vec![outcome], Vec::new()).await;
    }
}

/// For ever where there is nothing to wait for.
async fn sleep_until(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// Whether a line is of a message that came.
fn is_arrival(entry: &Entry) -> bool {
    matches!(entry, Entry::Message(verdict) if verdict.direction == Direction::In)
}

/// Whether an effect is one that a caller waits for.
pub(super) fn is_publish(effect: &Effect) -> bool {
    matches!(effect, Effect::Publish(_))
}
