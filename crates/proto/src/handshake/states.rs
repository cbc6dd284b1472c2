//! One struct a state, named by what it awaits.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::body::{Body, Opening, Transcript};
use super::established::{Established, Last, established};
use super::{Retry, Role, START_AGAIN, best_common};
use crate::envelope::Message;
use crate::ids::Version;
use crate::reject::Reason;
use crate::time::{CLOCK_TOLERANCE, Timestamp};

/// The initiator's state after flight 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AwaitVerify {
    #[serde(with = "crate::stored")]
    pub(super) announce: Arc<Message>,
    /// When to send flight 1 again.
    pub retry: Retry,
}

/// The initiator's state from flight 2 on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AwaitTrust {
    #[serde(with = "crate::stored")]
    pub(super) verify: Arc<Message>,
    pub(super) transcript: Transcript,
    pub(super) choice: Option<Version>,
    #[serde(with = "crate::stored")]
    pub(super) capability: Option<Arc<Message>>,
    /// When to send flight 3 again.
    pub retry: Retry,
}

/// The responder's state from flight 1 on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AwaitCapability {
    #[serde(with = "crate::stored")]
    pub(super) announce: Arc<Message>,
    pub(super) transcript: Transcript,
    #[serde(with = "crate::stored")]
    pub(super) verify: Option<Arc<Message>>,
    pub(super) choice: Option<Version>,
    pub(super) since: Timestamp,
}

/// The responder's state from flight 3 on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Granting {
    #[serde(with = "crate::stored")]
    pub(super) capability: Arc<Message>,
    pub(super) opening: Opening,
    pub(super) transcript: Transcript,
    pub(super) choice: Version,
}

impl AwaitVerify {
    pub(super) fn admit(&self, flight: &Message, body: &Body<'_>) -> Result<(), Reason> {
        body.admit_offer(flight)?;
        body.admit_transcript(Transcript::start().with(&self.announce))?;
        let mine = Body::of(&self.announce)?.versions()?;
        match (best_common(&mine, &body.versions()?), body.choice()) {
            (best, choice) if best == choice => Ok(()),
            (None, Some(_)) => Err(Reason::VersionUnsupported),
            _ => Err(Reason::VersionDowngrade),
        }
    }

    pub(super) fn take(self, verify: &Arc<Message>, now: Timestamp) -> AwaitTrust {
        AwaitTrust {
            transcript: Transcript::start().with(&self.announce).with(verify),
            choice: Body::of(verify).ok().and_then(|body| body.choice()),
            verify: Arc::clone(verify),
            capability: None,
            retry: Retry::from(now),
        }
    }
}

impl AwaitTrust {
    /// Whether the peer chose a version, so that flight 3 may follow.
    pub fn choice(&self) -> Option<Version> {
        self.choice
    }

    pub(super) fn admit(&self, body: &Body<'_>) -> Result<(), Reason> {
        if self.capability.is_none() {
            return Err(Reason::HandshakeUnexpected);
        }
        body.admit_transcript(self.transcript)?;
        body.admit_capabilities()?;
        body.admit_same_credentials(&self.verify)
    }

    pub(super) fn sent(mut self, capability: &Arc<Message>, now: Timestamp) -> Self {
        self.transcript = self.transcript.with(capability);
        self.capability = Some(Arc::clone(capability));
        self.retry = Retry::until(now, START_AGAIN);
        self
    }

    pub(super) fn finish(self, trust: &Arc<Message>) -> Option<Established> {
        let mine = self.capability?;
        let opening = Body::of(&self.verify).ok()?.opening();
        let theirs = Body::of(trust).ok()?;
        if theirs.text("decision") != Some("granted") {
            return None;
        }
        let last = Last {
            flight: mine,
            answers: self.verify.hash(),
            granted: Arc::clone(trust),
        };
        established(
            Role::Initiator,
            self.choice?,
            self.transcript.with(trust),
            &last,
            trust,
            opening,
        )
    }
}

impl AwaitCapability {
    pub(super) fn of(announce: &Arc<Message>, written: Timestamp) -> Self {
        let transcript = Transcript::start().with(announce);
        // The log's time runs ahead of a clock that was put back; an announce was signed just now.
        let latest = announce.headers.timestamp.saturating_add(CLOCK_TOLERANCE);
        Self {
            announce: Arc::clone(announce),
            transcript,
            verify: None,
            choice: None,
            since: written.min(latest),
        }
    }

    /// The versions that the peer offers.
    pub fn offered(&self) -> Vec<Version> {
        Body::of(&self.announce)
            .and_then(|body| body.versions())
            .unwrap_or_default()
    }

    pub(super) fn admit(&self, body: &Body<'_>) -> Result<(), Reason> {
        if self.verify.is_none() || self.choice.is_none() {
            return Err(Reason::HandshakeUnexpected);
        }
        body.admit_transcript(self.transcript)?;
        body.admit_capabilities()?;
        body.admit_same_credentials(&self.announce)
    }

    pub(super) fn sent(mut self, verify: &Arc<Message>) -> Self {
        self.transcript = self.transcript.with(verify);
        self.choice = Body::of(verify).ok().and_then(|body| body.choice());
        self.verify = Some(Arc::clone(verify));
        self
    }

    pub(super) fn take(self, capability: &Arc<Message>) -> Option<Granting> {
        Some(Granting {
            opening: Body::of(&self.announce).ok()?.opening(),
            transcript: self.transcript.with(capability),
            capability: Arc::clone(capability),
            choice: self.choice?,
        })
    }
}

impl Granting {
    pub(super) fn finish(self, trust: &Arc<Message>) -> Option<Established> {
        if Body::of(trust).ok()?.text("decision") != Some("granted") {
            return None;
        }
        let answers = self.capability.hash();
        let last = Last {
            flight: Arc::clone(trust),
            answers,
            granted: Arc::clone(&self.capability),
        };
        established(
            Role::Responder,
            self.choice,
            self.transcript.with(trust),
            &last,
            trust,
            self.opening,
        )
    }
}
