//! Which conversation of the agent's a message belongs to, and which of its tasks waits there for more.

use std::collections::VecDeque;
use std::sync::Mutex;

use data_encoding::HEXLOWER;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::lock::Locked as _;
use signet_handlers::Attempt;

/// The name of a message's conversation, for its agent: a hash of the peer that the daemon verified and of the name that the
/// peer chose, so that no peer gets into another's. None where the message belongs to no conversation.
pub(super) fn of(attempt: &Attempt<'_>) -> Option<String> {
    let message = attempt.message;
    let conversation = message.conversation_id.as_ref()?;
    let hash = Sha256::digest(json!([message.from, conversation]).to_string());
    let mut name = HEXLOWER.encode(&hash);
    name.truncate(32);
    Some(name)
}

/// The agent's tasks that wait for more, the newest of each context. They are memory: after a start the agent hears a new
/// message of the same context.
#[derive(Debug, Default)]
pub(crate) struct Resting(Mutex<VecDeque<(String, String)>>);

impl Resting {
    /// The task that the message goes on with.
    pub(super) fn of(&self, attempt: &Attempt<'_>) -> Option<String> {
        let context = of(attempt)?;
        let all = self.0.locked();
        let found = all.iter().find(|(known, _)| *known == context);
        found.map(|(_, id)| id.clone())
    }

    /// The message is handled, and left that task waiting, or none.
    pub(super) fn note(&self, attempt: &Attempt<'_>, id: Option<String>) {
        let Some(context) = of(attempt) else { return };
        let mut all = self.0.locked();
        all.retain(|(known, _)| *known != context);
        if let Some(id) = id {
            all.push_back((context, id));
        }
        if all.len() > MOST {
            all.pop_front();
        }
    }

    /// The agent knows the task no more. Says whether one was known here.
    pub(super) fn forget(&self, attempt: &Attempt<'_>) -> bool {
        let was_known = self.of(attempt).is_some();
        self.note(attempt, None);
        was_known
    }
}

/// How many tasks of one handler may wait for more; the oldest gives way.
const MOST: usize = 1_000;
