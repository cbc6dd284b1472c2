//! `keys.adopt`: takes what a command has staged into use, and answers when the announces are durable.

use signet_api::{AdoptKeys, Adopted, ApiError, Reason};

use super::{AnswerCall, Asker, Batch, DaemonState};

impl AnswerCall for AdoptKeys {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let now = state.at().now;
        let adopted = state.keys.adopt(state.node.identity(), now);
        let adopted = adopted.map(|(adopted, keys)| {
            let answer = Adopted {
                adopted,
                serial: keys.certificate.serial,
                keys_serial: keys.statement.serial,
            };
            (answer, state.use_keys(now, keys))
        });
        let adopted = adopted.map_err(|error| {
            ApiError::refused(Reason::KeysRefused, error.to_string()).with_next(error.next())
        });
        state.answer::<Self>(now, adopted, asker.reply, None)
    }
}
