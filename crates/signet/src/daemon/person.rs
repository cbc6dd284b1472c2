//! What the person is told while the daemon runs, by the command of `[notify]` and in the line for the service
//! manager, and when to count again what stands.

use signet_api::AttentionKind;
use signet_proto::node::Node;
use signet_proto::time::Timestamp;
use tokio::time::{Duration, Instant};

use crate::attention::{self, NotifyHook, StandingCounts};
use crate::config::NotifyCommand;

use super::action::Action;

/// The time between two counts of what stands.
const APART: Duration = Duration::from_secs(1);

/// What the person was told of, and when the things that wait for the person are counted again.
pub(super) struct Person {
    hook: NotifyHook,
    /// Which certificate, and how many of the days before its end had passed, when its end was last told of.
    told_of_end: Option<(u64, usize)>,
    counts: StandingCounts,
    counted: Instant,
    /// When to count again, where the number may have changed.
    recount: Option<Instant>,
}

impl Person {
    pub(super) fn new(hook: NotifyHook) -> Self {
        let now = Instant::now();
        Self {
            hook,
            told_of_end: None,
            counts: StandingCounts::default(),
            counted: now,
            recount: Some(now),
        }
    }

    /// How the command of `[notify]` does.
    pub(super) fn notify(&self) -> Option<signet_api::NotifyState> {
        self.hook.state()
    }

    /// A start tells nothing anew: the command hears once of each kind what still stands. What was durable and not
    /// told when the daemon before was killed is in it.
    pub(super) fn tell_what_stands(&self, node: &Node, now: Timestamp) {
        for attention in attention::standing(node, now) {
            // Leave out the end of the certificate: `tell_of_end`, which every start calls, tells of that.
            if attention.kind != AttentionKind::Certificate {
                self.hook.tell(attention);
            }
        }
    }

    /// Takes another command into use; it hears first what stands.
    pub(super) fn take_command(&self, command: Option<NotifyCommand>, node: &Node, now: Timestamp) {
        self.hook.set(command);
        for attention in attention::standing(node, now) {
            self.hook.tell(attention);
        }
    }

    /// That our certificate ends soon: at a start, and as each of the days before its end passes.
    pub(super) fn tell_of_end(&mut self, node: &Node, now: Timestamp) -> Option<Action> {
        let certificate = &node.identity().certificate;
        let passed = attention::steps_passed(certificate.not_after.since(now));
        let told = (certificate.serial, passed);
        let before = self.told_of_end.replace(told);
        self.note_change();
        if before == Some(told) {
            return None;
        }
        let mut attention = attention::certificate(node, now)?;
        attention.still = before.is_none();
        Some(Action::Tell(Box::new(attention), None))
    }

    /// What stands may have changed. It is counted once a second at most, however many lines are written.
    pub(super) fn note_change(&mut self) {
        let next = self.counted + APART;
        self.recount.get_or_insert(next);
    }

    /// When the things that wait for the person are counted again.
    pub(super) const fn next_count(&self) -> Option<Instant> {
        self.recount
    }

    /// How much stands, as it was counted a second ago at most.
    pub(super) fn counted(&mut self, node: &Node, at: Timestamp) -> StandingCounts {
        let now = Instant::now();
        if self.recount.is_some_and(|due| due <= now) {
            self.counts = StandingCounts::of(node, at);
            (self.counted, self.recount) = (now, None);
        }
        self.counts
    }
}
