//! `attention.follow`: what the person should see, as it stands and as it comes.

use signet_api::{AttentionList, FollowAttention};

use crate::attention;

use super::serve::text_of;
use super::{AnswerCall, Asker, Batch, DaemonState};
use crate::daemon::action::Action;

impl AnswerCall for FollowAttention {
    /// The journal keeps the order: what stands now and what comes later fit together.
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let now = state.at().now;
        let stands = AttentionList {
            attention: attention::standing(&state.node, now),
        };
        let answer = Action::Answer(asker.reply, text_of::<Self>(&stands));
        Batch::doing(now, vec![Action::Attend(asker.notifier), answer])
    }
}
