//! What the person is told while the daemon runs: by followers, by the journal and by the command of `[notify]`.

use signet_api::{AttentionList, FollowAttention};
use signet_proto::node::Effect;
use signet_proto::time::Timestamp;
use tokio::time::Instant;

use crate::attention::{self, Counts};
use crate::config::NotifyCommand;
use crate::control::{Notifier, Reply};
use crate::effects::Deed;

use super::heart::Heart;
use super::serve::value_of;

impl Heart {
    /// A start tells nothing anew: the command hears once of each kind what still stands. What was durable and not
    /// told when the daemon before was killed is in it.
    pub(super) fn tell_what_stands(&self, now: Timestamp) {
        for attention in attention::standing(&self.node, now) {
            // Told by `tell_of_end`, which comes with each start.
            if attention.kind != signet_api::AttentionKind::Certificate {
                self.person.hook.tell(attention);
            }
        }
    }

    /// Takes another command into use; it hears first what stands.
    pub(super) fn take_command(&mut self, command: Option<NotifyCommand>, now: Timestamp) {
        if self.config.notify != command {
            self.config.notify.clone_from(&command);
            self.person.hook.set(command);
            for attention in attention::standing(&self.node, now) {
                self.person.hook.tell(attention);
            }
        }
    }

    /// Tells that our certificate ends soon: at a start, and as each of the days before its end passes.
    pub(super) async fn tell_of_end(&mut self, now: Timestamp) {
        let certificate = &self.node.identity().certificate;
        let passed = attention::steps_passed(certificate.not_after.since(now));
        let told = (certificate.serial, passed);
        let before = self.person.told_of_end.replace(told);
        self.person.note_change();
        if before == Some(told) {
            return;
        }
        if let Some(mut attention) = attention::certificate(&self.node, now) {
            attention.still = before.is_none();
            let deed = Deed::Tell(Box::new(attention), None);
            self.write(now, Vec::new(), vec![deed]).await;
        }
    }

    /// An effect as a deed: a notice for the person is told to everybody who listens for them.
    pub(super) fn deed_of(&self, now: Timestamp, effect: Effect) -> Deed {
        let Effect::Notice(notice) = effect else {
            return Deed::Effect(effect);
        };
        match attention::of_notice(&self.node, now, &notice) {
            Some(attention) => Deed::Tell(Box::new(attention), Some(notice)),
            None => Deed::Effect(Effect::Notice(notice)),
        }
    }

    /// The journal keeps the order: what stands now and what comes later fit together.
    pub(super) async fn attend(&mut self, reply: Reply, follower: Notifier) {
        let now = self.at().now;
        let stands = AttentionList {
            attention: attention::standing(&self.node, now),
        };
        let answer = Deed::Answer(reply, value_of::<FollowAttention>(&stands));
        let deeds = vec![Deed::Attend(follower), answer];
        self.write(now, Vec::new(), deeds).await;
    }

    /// How much stands, as it was counted a second ago at most.
    pub(super) fn counted(&mut self) -> Counts {
        let now = Instant::now();
        if self.person.recount.is_some_and(|due| due <= now) {
            self.person.counts = Counts::of(&self.node, self.at().now);
            (self.person.counted, self.person.recount) = (now, None);
        }
        self.person.counts
    }
}
