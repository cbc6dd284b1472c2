//! Where a message of ours is: one word, and why; and what it waits for.

use serde::{Deserialize, Serialize};

use crate::reject::CAPABILITY_NEEDED;
use crate::words::words;

/// Where a message of ours is. It moves only forward: from the network's doubt to the peer's word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It waits: for a session, for a person, for room, or for the connection.
    Queued,
    /// It was handed to the network; no receipt has come.
    Published,
    /// Its life ended and no receipt came: the peer may have it all the same.
    Expired,
    /// Nobody can say: its session was lost before a receipt came.
    Unknown(Lost),
    /// The peer has it, durably.
    Received,
    /// The peer's agent answered it.
    Answered,
    /// The peer refused it, and named this reason; [`DOES_NOT_FIT`] where what it named is none that a peer
    /// can give.
    ///
    /// [`DOES_NOT_FIT`]: crate::reject::DOES_NOT_FIT
    Refused(String),
    /// Our own side ended it, for this reason.
    RefusedHere(String),
}

words! {
    /// Why nobody can say where a message is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Lost {
        /// One side was put back to an older copy of its log: what its receipts say counts no more.
        RestoredBackup "restored-backup",
        /// The peer holds the session no more.
        SessionLost "session-lost",
    }
}

impl State {
    /// The one word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Published => "published",
            Self::Expired => "expired",
            Self::Unknown(_) => "unknown",
            Self::Received => "received",
            Self::Answered => "answered",
            Self::Refused(_) | Self::RefusedHere(_) => "refused",
        }
    }

    /// The reason of a refusal, or of not knowing, by its stable name.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Refused(reason) | Self::RefusedHere(reason) => Some(reason),
            Self::Unknown(lost) => Some(lost.as_str()),
            Self::Queued | Self::Published | Self::Expired | Self::Received | Self::Answered => {
                None
            }
        }
    }

    /// Whether it never left because it named none of several capabilities.
    pub fn needs_capability(&self) -> bool {
        matches!(self, Self::RefusedHere(reason) if reason == CAPABILITY_NEEDED)
    }

    /// Whether nothing can follow but a better answer to the same question.
    pub const fn is_settled(&self) -> bool {
        !matches!(self, Self::Queued | Self::Published)
    }

    /// What the peer says outranks what we guess; among equals the first stands.
    pub(super) const fn outranks(&self, before: &Self) -> bool {
        self.rank() > before.rank()
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Queued => 0,
            Self::Published => 1,
            Self::Expired | Self::Unknown(_) => 2,
            Self::Received => 3,
            Self::Answered | Self::Refused(_) | Self::RefusedHere(_) => 4,
        }
    }
}

/// What has to happen before a draft leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Our person's approval.
    Approval,
    /// That our person and the peer's approve each other.
    Introduction,
    /// That our person lets their agents go on.
    Resume,
    /// That our clock stands within the dates of our certificate: outside of them nothing is signed.
    Clock,
    /// That our person sees to an alarm: another copy of us seems to run ([`super::SentView::held_by`]).
    Alarm,
    /// A session, or room in it.
    Session,
    /// A sign of life of the peer: nobody has confirmed what went to it before. It is signed, and no draft any more.
    Peer,
}
