//! Looks for one message in what the daemon has: page by page through the inbox, then in the newest part of the log.

use std::time::Duration;

use signet_api::{ListHistory, ListInbox, Message};

use super::{DaemonConnection, PROMPT};
use crate::fault::DoorError;

impl DaemonConnection {
    /// The first message in the inbox that is wanted.
    ///
    /// # Errors
    /// What the daemon says, or that it does not answer.
    pub(crate) async fn find_in_inbox(
        &mut self,
        is_wanted: impl Fn(&Message) -> bool,
    ) -> Result<Option<Message>, DoorError> {
        let mut asked = ListInbox::default();
        loop {
            let page = self.call(&asked, PROMPT).await?;
            let Some(last) = page.messages.last() else {
                return Ok(None);
            };
            asked.after = last.number;
            let mut messages = page.messages.into_iter().map(|waiting| waiting.message);
            if let Some(came) = messages.find(&is_wanted) {
                return Ok(Some(came));
            }
        }
    }

    /// The answer to a message of this agent: from the inbox or, where somebody has taken it out, from the log.
    ///
    /// # Errors
    /// The same.
    pub(crate) async fn answer_to(
        &mut self,
        message_id: &str,
    ) -> Result<Option<Message>, DoorError> {
        let is_answer = |came: &Message| came.in_reply_to.as_deref() == Some(message_id);
        if let Some(came) = self.find_in_inbox(is_answer).await? {
            return Ok(Some(came));
        }
        let history = ListHistory {
            limit: Some(NEWEST),
            ..ListHistory::default()
        };
        let said = self.call(&history, PROMPT + READING).await?;
        let mut messages = said.messages.into_iter().map(|said| said.message);
        Ok(messages.find(is_answer))
    }
}

/// Messages of the log that are looked through: as many as the daemon gives at once.
const NEWEST: usize = 1_000;
/// How long the daemon may take besides to read its log: others may be reading it.
pub(crate) const READING: Duration = Duration::from_secs(60);
