//! Progress on requests, both ways: what our agent tells whoever asked, and what becomes of what a peer
//! tells us. It settles nothing: a request stays open until it is answered.

use serde::{Deserialize, Serialize};

use crate::draft::Draft;
use crate::entry::Tried;
use crate::envelope::{Form, Message, Method};
use crate::ids::{AgentId, MessageId, Version};
use crate::progress::{Progress, ProgressState};
use crate::time::Timestamp;

use super::request::LocalError;
use super::turn::Turn;
use super::{At, Node, Outcome};

/// The newest that a peer told of a request of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progressed {
    /// When the peer signed it.
    pub since: Timestamp,
    /// The message that told it.
    pub message_id: MessageId,
    /// How the request is doing; `None` where that came sealed.
    pub state: Option<ProgressState>,
    /// For people; `None` where there is none, or it came sealed.
    pub note: Option<String>,
}

impl Node {
    /// Tells whoever asked how their request is doing. `from` is needed where two peers used the same
    /// message-id.
    ///
    /// # Errors
    /// When no such request waits in the inbox, there is no session of version 1.1.0 with its sender now,
    /// our person would have to approve it first, or it does not fit.
    pub fn handle_progress(
        &mut self,
        at: At,
        from: Option<&AgentId>,
        request: MessageId,
        progress: &Progress,
    ) -> Result<(MessageId, Outcome), LocalError> {
        let mut turn = self.turn(at);
        let id = turn.progress(from, request, progress)?;
        Ok((id, turn.out))
    }
}

impl Turn<'_> {
    /// As [`Node::handle_progress`].
    pub(super) fn progress(
        &mut self,
        from: Option<&AgentId>,
        request: MessageId,
        progress: &Progress,
    ) -> Result<MessageId, LocalError> {
        self.node.judge(self.at.now).may_speak()?;
        let request = self.node.inbox.request(from, request)?;
        let draft = self.progress_draft(&request, progress)?;
        let (id, tried) = (draft.message_id, Tried::of(&draft));
        let peer = draft.recipient.clone();
        let told = self.tell_progress(draft);
        self.me().note_attempt(&peer, tried, told)?;
        self.node.inbox.note_told(&peer, request.headers.message_id);
        Ok(id)
    }

    fn progress_draft(
        &mut self,
        request: &Message,
        progress: &Progress,
    ) -> Result<Draft, LocalError> {
        let body = progress.to_value();
        Progress::parse(&body).map_err(LocalError::Message)?;
        let id = self.node.ids.fresh(self.at.now);
        let form = Form::Call(Method::Progress);
        Ok(Draft::answer(form, request, id, Some(body)))
    }

    /// Tells whoever asked that a person has to look at their request, where there is a session for it.
    pub(super) fn tell_that_a_person_decides(&mut self, request: &Message) {
        if request.form != Form::Call(Method::Request)
            || self.node.judge(self.at.now).may_speak().is_err()
        {
            return;
        }
        let progress = Progress::waiting_for_a_person();
        if let Ok(draft) = self.progress_draft(request, &progress) {
            // The answer will come all the same, or the refusal of a person who gives the request up.
            let _ = self.tell_progress(draft);
        }
    }

    /// Signs and sends. What cannot leave now is of no use later, and does not wait.
    fn tell_progress(&mut self, draft: Draft) -> Result<(), LocalError> {
        let peer = draft.recipient.clone();
        let slot = self.node.slot(self.at, &peer);
        let (stamp, to) = slot.ok_or_else(|| LocalError::NoSession(peer.clone()))?;
        if stamp.version < Version::PROGRESS {
            return Err(LocalError::VersionInsufficient(peer));
        }
        self.peers().permit_sending(&draft)?;
        if self.node.approval_root(&draft)?.is_some() {
            return Err(LocalError::ApprovalNeeded(draft.data_tier));
        }
        let (signed, copy) = draft
            .seal_and_sign(self.node.me.identity(), stamp, to, self.node.ids.rng())
            .map_err(LocalError::Message)?;
        self.node.peers.count_own(self.at.now, &peer, true);
        self.write_sealed(signed, copy);
        Ok(())
    }
}
