//! `reload`: the configuration, read anew by a call of the person's.

use signet_api::{ApiError, Reason, Reload};

use super::{AnswerCall, Asker, Batch, DaemonState};

impl AnswerCall for Reload {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let now = state.at().now;
        let reloaded = state.reload(now).map_err(|error| {
            let text = format!("{error}; the configuration before it stays in force");
            ApiError::refused(Reason::ConfigUnusable, text).with_next(error.next())
        });
        state.answer::<Self>(now, reloaded, asker.reply, None)
    }
}
