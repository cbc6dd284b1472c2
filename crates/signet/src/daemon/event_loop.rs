//! The one owner of the node: every input, call and timer passes here, in one order.
//!
//! It composes the parts of [`DaemonState`] and hands what they make to the journal; it decides nothing itself.

use std::time::Duration;

use signet_audit::{LogError, counted};
use signet_proto::carrier::CarrierId;
use signet_proto::entry::Alarm;
use signet_proto::node::{At, Judged, Outcome, Wanted};
use signet_proto::time::Timestamp;
use tokio::signal::unix::Signal;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{error, warn};

use crate::carrier::{News, Settling, Ticket};
use crate::clock;
use crate::control::RawCall;
use crate::manager::Manager;

use super::action::{Action, CarrierReport};
use super::batch::{Appender, Batch, JournalEnded};
use super::calls;
use super::condition::StatusLine;
use super::daemon_state::DaemonState;
use super::intake::IntakeItem;
use super::months::MonthFault;
use super::watchdog::Probe;

/// The longest sleep: the clock may be set while we sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// How often keys are looked after.
const UPKEEP: Duration = Duration::from_secs(3600);
/// How long a clean stop waits for what is under way.
const DRAIN: Duration = Duration::from_secs(6);

/// The node with its parts, and the one way out.
pub(super) struct EventLoop {
    pub(super) state: DaemonState,
    pub(super) journal: Appender,
    pub(super) manager: Manager,
    pub(super) status: StatusLine,
    /// The log cannot be written any more.
    pub(super) stopped: bool,
}

/// Everything that the event loop waits for, besides the time.
pub(super) struct Inputs {
    /// Messages that the carriers brought.
    pub(super) taken: mpsc::Receiver<IntakeItem>,
    /// The calls of all sockets.
    pub(super) calls: mpsc::Receiver<RawCall>,
    /// SIGHUP: the configuration is to be read anew.
    pub(super) hangups: Signal,
    /// The watchdog.
    pub(super) probes: mpsc::Receiver<Probe>,
    /// What carriers say of messages of ours.
    pub(super) reports: mpsc::Receiver<Vec<CarrierReport>>,
    /// What is wrong with months of the log, as it is found.
    pub(super) faults: mpsc::Receiver<MonthFault>,
}

impl EventLoop {
    /// Performs again what the log shows unfinished.
    pub(super) async fn resume(&mut self) {
        let at = self.at();
        let outcome = self.state.node.turn(at).resume();
        self.write(Batch::of(at.now, outcome)).await;
        self.state.person.tell_what_stands(&self.state.node, at.now);
        self.tell_manager();
    }

    /// Goes on until `stop`, then drains what is under way.
    ///
    /// # Errors
    /// Why a start that reads the whole newest month of the log at once would have been refused.
    pub(super) async fn run(
        mut self,
        mut inputs: Inputs,
        stop: impl Future<Output = ()>,
    ) -> Result<(), LogError> {
        tokio::pin!(stop);
        let mut proved = Ok(());
        let mut upkeep = tokio::time::interval(UPKEEP);
        while !self.stopped {
            let wake = self.sleep();
            // While the disk is full, no line can be written: hold back every branch below that may write one.
            let has_room = !self.is_refusing();
            if has_room {
                self.serve_consumers().await;
            }
            self.tell_manager();
            let wait_over = sleep_until(self.state.consumers.next_end());
            let next_count = self.state.person.next_count();
            // The things that wait for the person are counted for the status line only: do not wake up to count where no
            // service manager reads that line.
            let recount = sleep_until(next_count.filter(|_| self.status.is_read()));
            tokio::select! {
                () = &mut stop => break,
                next = inputs.taken.recv(), if has_room => match next {
                    Some(next) => self.take(next).await,
                    None => break,
                },
                // Take calls on a full disk too: `status` has to say what is wrong, and every other call is refused.
                Some(call) = inputs.calls.recv() => self.call(call).await,
                // Pass the watchdog's probe on even while the disk is full: without an answer to it, the service manager would
                // end a daemon that only waits for room.
                Some(probe) = inputs.probes.recv() => self.pass_on(probe).await,
                Some(()) = inputs.hangups.recv(), if has_room => self.reload().await,
                // Carriers report whether they hold our messages. No line of the log records that, so a full disk does not hold
                // the reports back.
                Some(reports) = inputs.reports.recv() => self.note_reports(reports),
                Some(fault) = inputs.faults.recv(), if has_room => match fault {
                    MonthFault::Finished(what) => self.note_log_fault(what).await,
                    MonthFault::Newest(error) => {
                        error!(%error, "the log is not what this agent wrote; stopping");
                        proved = Err(error);
                        break;
                    }
                },
                Some(gone) = self.state.consumers.next_gone(), if has_room => self.end_program(gone).await,
                // The bodies of this branch and the next are empty: the loop's next round ends the waits that are over, and
                // counts anew what waits for the person.
                () = wait_over, if has_room => {}
                () = recount => {}
                // The first tick comes at once: each start renews the keys that are due, and tells when the certificate ends
                // soon.
                _ = upkeep.tick(), if has_room => self.renew_keys().await,
                () = self.journal.closed() => self.heed(Err(JournalEnded)),
                () = wake, if has_room => self.tick().await,
                () = self.state.log.room_changed() => {}
            }
        }
        self.manager.stopping();
        // Close these channels before `drain`, which takes a while: a caller that comes meanwhile hears at once that the daemon
        // stops, and the watchdog's task ends.
        drop((inputs.calls, inputs.probes));
        self.drain(inputs.taken).await;
        proved
    }

    fn at(&self) -> At {
        self.state.at()
    }

    /// The disk is full: nothing may be taken in, and nothing that is said would be durable.
    fn is_refusing(&self) -> bool {
        self.state.log.full_since().is_some()
    }

    /// The one way out: lines first, then what they allow.
    async fn write(&mut self, batch: Batch) {
        let written = self.journal.append(&self.state.node, batch).await;
        if let Ok(true) = written {
            self.state.person.note_change();
        }
        self.heed(written.map(drop));
    }

    /// Stops the event loop where the journal has ended: without a log nothing may be done, and the next start
    /// repairs it.
    fn heed(&mut self, written: Result<(), JournalEnded>) {
        if let Err(JournalEnded) = written {
            error!("the log cannot be written; stopping");
            self.stopped = true;
        }
    }

    async fn take(&mut self, taken: IntakeItem) {
        match taken {
            IntakeItem::Messages(carrier, judging, permit) => {
                let Some(judged) = judging.done().await else {
                    return;
                };
                self.take_messages(carrier, judged).await;
                // The permit counts these messages against the limit on memory: release it only now that they are handed to the
                // journal.
                drop(permit);
                let at = self.at();
                // Do here what is due: while messages come without a pause, the loop's own timer
                // starts again each round and never fires.
                let due = self.state.node.poll_timeout(at);
                if due.is_some_and(|due| due <= at.now) {
                    self.tick().await;
                }
            }
            IntakeItem::News(carrier, news) => {
                let (at, node) = (self.at(), &mut self.state.node);
                let outcome = match &news {
                    News::Connected => node.turn(at).carriers().connected(&carrier),
                    News::Drained => node.turn(at).carriers().drained(&carrier),
                    News::StoreLost => node.turn(at).carriers().mailbox_lost(&carrier),
                    News::Gap(at_least) => node.turn(at).handle_gap(dropped(*at_least)),
                    // A lost connection needs no line in the log: no start has to know which carriers were connected before.
                    News::Disconnected => {
                        node.handle_disconnected(&carrier, at.elapsed);
                        Outcome::default()
                    }
                    News::NoMailbox { .. }
                    | News::Readers(_)
                    | News::Refused { .. }
                    | News::Message { .. }
                    | News::Oversized { .. }
                    | News::Stopped => Outcome::default(),
                };
                self.state.connections.note(carrier, news);
                self.write(Batch::of(at.now, outcome)).await;
            }
        }
    }

    async fn take_messages(&mut self, carrier: CarrierId, judged: Vec<(Judged, Option<Ticket>)>) {
        let at = self.at();
        let (mut outcomes, mut settled) = (Vec::with_capacity(judged.len()), Vec::new());
        for (judged, ticket) in judged {
            let began = clock::elapsed();
            let mut outcome = self.state.node.turn(at).handle_inbound(judged);
            let took = clock::elapsed().saturating_sub(began);
            self.state.meters.judge.note(took);
            let polled = outcome.polled.take();
            let ruled = outcome.ruled.map(|ruled| Settling { ruled, polled });
            settled.extend(ticket.zip(ruled));
            outcomes.push(outcome);
        }
        let mut batch = Batch::all(at.now, outcomes);
        // Settle only after the node's effects, our receipts among them: if the daemon crashes in between, the carrier brings
        // its messages again, and the node recognises them.
        if !settled.is_empty() {
            batch.after.push(Action::Settle(carrier, settled));
        }
        self.write(batch).await;
    }

    async fn call(&mut self, call: RawCall) {
        let batch = calls::call(&mut self.state, call);
        self.write(batch).await;
    }

    async fn serve_consumers(&mut self) {
        let (at, node) = (self.at(), &mut self.state.node);
        let supply = node.inbox().supply(node.people().pausing().is_paused());
        let next = |wanted: &mut Wanted| node.turn(at).leases().receive(wanted);
        let batch = self.state.consumers.serve(supply, at.now, next);
        self.write(batch).await;
    }

    /// A program has gone: what it held goes to the next, and what it offered ends if it does not come back.
    async fn end_program(&mut self, connection: u64) {
        self.state.consumers.forget(connection);
        let (at, node) = (self.at(), &mut self.state.node);
        let held = node.turn(at).leases().consumer_gone(connection);
        let offered = node.turn(at).offers().end(connection);
        self.write(Batch::all(at.now, vec![held, offered])).await;
    }

    /// The event loop lives; whether the log's thread does, that is asked next.
    async fn pass_on(&mut self, probe: Probe) {
        let asked = self.journal.pass_on(self.at().now, probe).await;
        self.heed(asked);
    }

    /// Passes on what carriers report of messages of ours: a hint for listeners, which no line of the log records.
    fn note_reports(&mut self, reports: Vec<CarrierReport>) {
        let at = self.at();
        let node = &mut self.state.node;
        for report in reports {
            let (carrier, peer) = (report.carrier, report.peer);
            match report.stored {
                true => node
                    .turn(at)
                    .carriers()
                    .stored(&carrier, &peer, report.message_id),
                false => node.handle_unconfirmed(&carrier, &peer, report.message_id),
            }
        }
    }

    /// Somebody changed a finished month: people hear of it, and the agent goes on.
    async fn note_log_fault(&mut self, what: String) {
        error!(%what, "a finished month of the log is not what was written");
        self.state.log.note_fault(what);
        let at = self.at();
        let outcome = self
            .state
            .node
            .turn(at)
            .alarms()
            .ring_own(Alarm::LogChanged);
        self.write(Batch::of(at.now, outcome)).await;
    }

    /// SIGHUP.
    async fn reload(&mut self) {
        self.manager.reloading();
        let now = self.at().now;
        // A configuration that cannot be used changes nothing: `state.reload` has written its fault to the daemon's log, and
        // the status line shows it.
        if let Ok((_, outcome)) = self.state.reload(now) {
            self.write(Batch::of(now, outcome)).await;
        }
        self.tell_manager();
        // Say READY after a refused configuration too: systemd holds a reload for unfinished until READY comes.
        self.manager.ready();
    }

    async fn renew_keys(&mut self) {
        let at = self.at();
        match self.state.keys.renew(self.state.node.identity(), at.now) {
            Ok(keys) => {
                let outcome = self.state.use_keys(at.now, keys);
                self.write(Batch::of(at.now, outcome)).await;
            }
            Err(error) => {
                error!(%error, "the monthly keys cannot be renewed; trying again in an hour");
            }
        }
        self.tell_of_end(at.now).await;
    }

    async fn tell_of_end(&mut self, now: Timestamp) {
        let told = self.state.person.tell_of_end(&self.state.node, now);
        if let Some(told) = told {
            self.write(Batch::doing(now, vec![told])).await;
        }
    }

    async fn tick(&mut self) {
        let at = self.at();
        // Look first whether the clock was put back: `handle_timeout` notes the present time, and `was_put_back` would say no
        // after that.
        let put_back = self.state.node.clock().was_put_back(at.now);
        let outcome = self.state.node.turn(at).handle_timeout();
        self.write(Batch::of(at.now, outcome)).await;
        if put_back {
            warn!(now = %at.now, "the clock was put back; going on by it as it is now");
            self.renew_keys().await;
        }
    }

    fn sleep(&self) -> tokio::time::Sleep {
        let at = self.at();
        let due = self.state.node.poll_timeout(at);
        let due = due.map_or(LONGEST_SLEEP, |due| due.since(at.now));
        // Sleep a millisecond at least: times are whole milliseconds, and a shorter sleep would make this loop spin.
        tokio::time::sleep(due.clamp(Duration::from_millis(1), LONGEST_SLEEP))
    }

    /// Tells the service manager how the daemon does.
    fn tell_manager(&mut self) {
        if self.status.is_read() {
            let condition = self.state.condition();
            self.status
                .tell(condition, self.state.connections.servers());
        }
    }

    /// A clean stop: nothing more is read, what had arrived is judged and logged, what was counted is
    /// written. What was taken is settled, and what is allowed goes out, before the connection ends.
    async fn drain(&mut self, mut taken: mpsc::Receiver<IntakeItem>) {
        // No line can be written: messages that were not taken stay with the carriers or senders, who bring them again.
        if self.stopped || self.is_refusing() {
            return;
        }
        self.state.connections.stop_reading().await;
        let rest = async {
            while let Some(next) = taken.recv().await {
                if let IntakeItem::Messages(..) = next {
                    self.take(next).await;
                }
            }
        };
        if tokio::time::timeout(DRAIN, rest).await.is_err() {
            warn!("not everything under way was read before the stop");
        }
        let outcome = self.state.node.handle_stop();
        // Write the whole state now: the next start would otherwise have to read every line after the last snapshot again.
        self.journal.write_state_next();
        self.write(Batch::of(self.at().now, outcome)).await;
    }
}

/// The cause of a gap of so many messages.
fn dropped(at_least: u64) -> String {
    let messages = counted(at_least, "message");
    format!("slow consumer: dropped before they were read: at least {messages}")
}

/// Sleeps until `end`, or for ever where there is none.
async fn sleep_until(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}
