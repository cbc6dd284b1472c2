//! Progress on requests, both ways: what our agent tells whoever asked, and what becomes of what a peer
//! tells us. It settles nothing: a request stays open until it is answered.

use serde::{Deserialize, Serialize};

use crate::draft::Draft;
use crate::entry::Tried;
use crate::envelope::{Form, Message, Method};
use crate::headers::Tier;
use crate::ids::{AgentId, MessageId, Version};
use crate::progress::{Progress, ProgressState};
use crate::time::Timestamp;

use crate::node::{LocalError, Outcome};

use crate::node::turn::SentDoor;

/// The newest that a peer told of a request of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progressed {
    /// When the peer signed it.
    pub since: Timestamp,
    /// The message that told it.
    pub message_id: MessageId,
    /// How careful whoever hears of it has to be: it may be above the tier of the request.
    pub tier: Tier,
    /// How the request is doing; `None` where that came sealed.
    pub state: Option<ProgressState>,
    /// For people; `None` where there is none, or it came sealed.
    pub note: Option<String>,
}

impl SentDoor<'_, '_> {
    /// Tells whoever asked how their request is doing. `from` is needed where two peers used the same
    /// message-id.
    ///
    /// # Errors
    /// When no such request waits in the inbox, there is no session of version 1.1.0 with its sender now,
    /// our person would have to approve it first, or it does not fit.
    pub fn progress(
        &mut self,
        from: Option<&AgentId>,
        request: MessageId,
        progress: &Progress,
    ) -> Result<(MessageId, Outcome), LocalError> {
        let id = self.tell_progress(from, request, progress)?;
        Ok((id, self.turn.take()))
    }

    /// As [`SentDoor::progress`], within what else is done.
    pub(in crate::node) fn tell_progress(
        &mut self,
        from: Option<&AgentId>,
        request: MessageId,
        progress: &Progress,
    ) -> Result<MessageId, LocalError> {
        self.turn.node.judge(self.turn.at.now).may_speak()?;
        let request = self.turn.node.inbox.request(from, request)?;
        let draft = self.progress_draft(&request, progress)?;
        let (id, tried) = (draft.message_id, Tried::of(&draft));
        let peer = draft.recipient.clone();
        let told = self.leave_now(draft);
        self.turn.me().note_attempt(&peer, tried, told)?;
        let request = request.headers.message_id;
        self.turn.node.inbox.note_told(&peer, request);
        Ok(id)
    }

    fn progress_draft(
        &mut self,
        request: &Message,
        progress: &Progress,
    ) -> Result<Draft, LocalError> {
        let body = progress.to_value();
        // Check the body as the peer will check it: our own agent has to hear of a fault, and not the peer.
        Progress::parse(&body).map_err(LocalError::Message)?;
        let id = self.turn.node.ids.fresh(self.turn.at.now);
        let form = Form::Call(Method::Progress);
        Ok(Draft::answer(form, request, id, Some(body)))
    }

    /// Tells whoever asked that a person has to look at their request, where there is a session for it.
    pub(in crate::node) fn tell_that_a_person_decides(&mut self, request: &Message) {
        if request.form != Form::Call(Method::Request)
            || self.turn.node.judge(self.turn.at.now).may_speak().is_err()
        {
            return;
        }
        let progress = Progress::waiting_for_a_person();
        if let Ok(draft) = self.progress_draft(request, &progress) {
            // Drop progress that cannot leave now: the answer will come all the same, or a failure if the person drops the
            // request from the quarantine.
            let _ = self.leave_now(draft);
        }
    }

    /// Signs and sends. What cannot leave now is of no use later, and does not wait.
    fn leave_now(&mut self, draft: Draft) -> Result<(), LocalError> {
        let (peer, now) = (&draft.recipient, self.turn.at.now);
        let slot = self.turn.node.sent().slot(now, peer);
        let slot = slot.ok_or_else(|| LocalError::NoSession(peer.clone()))?;
        if slot.version() < Version::PROGRESS {
            return Err(LocalError::VersionInsufficient(peer.clone()));
        }
        self.turn.peers().permit_sending(&draft)?;
        if self.turn.node.sent().approval_root(&draft)?.is_some() {
            return Err(LocalError::ApprovalNeeded(draft.data_tier));
        }
        self.put_out(draft, slot).map_err(LocalError::Message)
    }
}
