//! Where a conversation has been: so that an agent cannot forget to count its hops.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::envelope::Message;
use crate::headers::ConversationId;
use crate::ids::{AgentId, MessageId};
use crate::time::Timestamp;

use super::request::{Content, Continues, LocalError};
use super::{At, Node};

/// How many calls of one peer are remembered.
const STEPS: usize = 1_024;
/// How long a call can be named as the one that a new message continues.
const REMEMBERED: Duration = Duration::from_secs(72 * 3600);
/// Within this time a call in the conversation of a call that came counts as its continuation, said or
/// not. Agents that talk in a circle are faster; people who take turns are slower.
const LOOP: Duration = Duration::from_secs(60);

/// The calls that came from one peer lately, oldest first.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(super) struct Trail(VecDeque<Step>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Step {
    came: Timestamp,
    name: MessageId,
    conversation: Option<ConversationId>,
    hops: u8,
}

impl Trail {
    /// Remembers a call that was accepted.
    pub(super) fn note(&mut self, now: Timestamp, message: &Message) {
        let headers = &message.headers;
        let old = |step: &Step| now.since(step.came) >= REMEMBERED;
        while self.0.len() >= STEPS || self.0.front().is_some_and(old) {
            self.0.pop_front();
        }
        self.0.push_back(Step {
            came: now,
            name: headers.message_id,
            conversation: headers.conversation_id.clone(),
            hops: headers.hops,
        });
    }

    fn named(&self, name: MessageId) -> Option<&Step> {
        self.0.iter().rev().find(|step| step.name == name)
    }

    /// The most hops of what came in `conversation` just now.
    fn hops_in(&self, now: Timestamp, conversation: &ConversationId) -> u8 {
        let lately = self.0.iter().rev();
        let lately = lately.take_while(|step| now.since(step.came) < LOOP);
        let here = lately.filter(|step| step.conversation.as_ref() == Some(conversation));
        here.map(|step| step.hops).max().unwrap_or_default()
    }
}

impl Node {
    /// The conversation that a new call belongs to, and its hops: one more than those of the call that
    /// it continues, and of what came in its conversation just now.
    ///
    /// # Errors
    /// When it says that it continues a call that is not remembered.
    pub(super) fn trace(
        &self,
        at: At,
        content: &Content,
    ) -> Result<(Option<ConversationId>, u8), LocalError> {
        let said = content.continues.as_ref();
        let step = said.map(|said| self.continued(said)).transpose()?;
        let of_step = step.and_then(|step| step.conversation.clone());
        let conversation = content.conversation_id.clone().or(of_step);
        let here = conversation.as_ref().map_or(0, |conversation| {
            let trails = self.links.values().map(|link| &link.trail);
            let hops = trails.map(|trail| trail.hops_in(at.now, conversation));
            hops.max().unwrap_or_default()
        });
        let hops = here.max(step.map_or(0, |step| step.hops));
        Ok((conversation, hops.saturating_add(1)))
    }

    fn continued(&self, said: &Continues) -> Result<&Step, LocalError> {
        let asked = |peer: &AgentId| said.from.as_ref().is_none_or(|from| from == peer);
        let links = self.links.iter().filter(|(peer, _)| asked(peer));
        let mut steps = links.filter_map(|(_, link)| link.trail.named(said.message));
        match (steps.next(), steps.next()) {
            (Some(step), None) => Ok(step),
            (None, _) => Err(LocalError::NotRemembered(said.message)),
            (Some(_), Some(_)) => Err(LocalError::Ambiguous(said.message)),
        }
    }
}
