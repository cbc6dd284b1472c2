//! One struct a state, named by what it awaits.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::established::{Established, Last, established};
use super::flight::{Flight, Opening, TakenFlight, Transcript, choice_in, versions_in};
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
    pub(super) verify: TakenFlight,
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
    pub(super) announce: TakenFlight,
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
    pub(super) capability: TakenFlight,
    pub(super) opening: Opening,
    pub(super) transcript: Transcript,
    pub(super) choice: Version,
}

impl AwaitVerify {
    pub(super) fn admit(&self, message: &Message, flight: &Flight) -> Result<(), Reason> {
        flight.admit_offer(message)?;
        flight.admit_transcript(Transcript::start().with(&self.announce))?;
        let mine = self.announce.body().and_then(versions_in);
        let mine = mine.ok_or(Reason::InvalidShape)?;
        match (best_common(&mine, flight.versions()?), flight.choice) {
            // The peer has to choose the newest version that both sides have. Without a common version it has to choose none
            // (`best` and `choice` are `None`): take that flight too, since it ends the handshake.
            (best, choice) if best == choice => Ok(()),
            (None, Some(_)) => Err(Reason::VersionUnsupported),
            _ => Err(Reason::VersionDowngrade),
        }
    }

    pub(super) fn take(self, verify: TakenFlight, now: Timestamp) -> AwaitTrust {
        let transcript = Transcript::start().with(&self.announce);
        AwaitTrust {
            transcript: transcript.with(&verify.message),
            choice: verify.flight.choice,
            verify,
            capability: None,
            retry: Retry::from(now),
        }
    }
}

impl AwaitTrust {
    pub(super) fn admit(&self, flight: &Flight) -> Result<(), Reason> {
        // Refuse a flight 4 that comes before our flight 3 has gone out: it cannot be an answer to our flight 3.
        if self.capability.is_none() {
            return Err(Reason::HandshakeUnexpected);
        }
        flight.admit_transcript(self.transcript)?;
        flight.admit_capabilities()?;
        flight.admit_same_credentials(&self.verify.flight)
    }

    pub(super) fn sent(mut self, capability: &Arc<Message>, now: Timestamp) -> Self {
        self.transcript = self.transcript.with(capability);
        self.capability = Some(Arc::clone(capability));
        self.retry = Retry::until(now, START_AGAIN);
        self
    }

    pub(super) fn finish(self, trust: TakenFlight) -> Option<Established> {
        let mine = self.capability?;
        if !trust.flight.is_granted {
            return None;
        }
        let last = Last {
            flight: mine,
            answers: self.verify.message.hash(),
            granted: trust.flight,
        };
        established(
            Role::Initiator,
            self.choice?,
            self.transcript.with(&trust.message),
            last,
            &trust.message,
            self.verify.flight.opening(),
        )
    }
}

impl AwaitCapability {
    pub(super) fn of(announce: TakenFlight, written: Timestamp) -> Self {
        let transcript = Transcript::start().with(&announce.message);
        let signed = announce.message.headers.timestamp;
        // After our clock was put back, `written` (the log's time) may lie in the future. Cap it by the announce's own
        // timestamp and the tolerance, so that the handshake does not stay half open for too long.
        let latest = signed.saturating_add(CLOCK_TOLERANCE);
        Self {
            announce,
            transcript,
            verify: None,
            choice: None,
            since: written.min(latest),
        }
    }

    /// The versions that the peer offers.
    pub fn offered(&self) -> &[Version] {
        self.announce.flight.versions().unwrap_or_default()
    }

    pub(super) fn admit(&self, flight: &Flight) -> Result<(), Reason> {
        // Refuse a flight 3 if our flight 2 has not gone out, or named no common version: in neither case can the peer have
        // answered our flight 2.
        if self.verify.is_none() || self.choice.is_none() {
            return Err(Reason::HandshakeUnexpected);
        }
        flight.admit_transcript(self.transcript)?;
        flight.admit_capabilities()?;
        flight.admit_same_credentials(&self.announce.flight)
    }

    pub(super) fn sent(mut self, verify: &Arc<Message>) -> Self {
        self.transcript = self.transcript.with(verify);
        self.choice = verify.body().and_then(choice_in);
        self.verify = Some(Arc::clone(verify));
        self
    }

    pub(super) fn take(self, capability: TakenFlight) -> Option<Granting> {
        Some(Granting {
            opening: self.announce.flight.opening(),
            transcript: self.transcript.with(&capability.message),
            capability,
            choice: self.choice?,
        })
    }
}

impl Granting {
    pub(super) fn finish(self, trust: &Arc<Message>) -> Option<Established> {
        let decision = trust.body()?.get("decision")?;
        if decision.as_str() != Some("granted") {
            return None;
        }
        let last = Last {
            flight: Arc::clone(trust),
            answers: self.capability.message.hash(),
            granted: self.capability.flight,
        };
        established(
            Role::Responder,
            self.choice,
            self.transcript.with(trust),
            last,
            trust,
            self.opening,
        )
    }
}
