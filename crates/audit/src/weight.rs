//! What a line needs, besides its place in the chain, before a start may obey it.

use signet_proto::entry::{Entry, Evidence};

/// How much rests on a line that bears no signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Nothing: the line is inert, or bears a signature of its own.
    #[default]
    Light,
    /// The agent's memory: its home has to vouch for the line.
    Anchored,
    /// A person's word: a checkpoint follows at once, too.
    Decision,
}

impl Weight {
    /// Of a line that says this. A kind that is not known here moves who knows what.
    pub(crate) fn of(entry: &Entry) -> Self {
        match entry {
            Entry::Message(verdict) => match &verdict.evidence {
                // Of these the signature is not kept.
                Evidence::Headers(_) | Evidence::Withheld(..) => Self::Anchored,
                _ => Self::Light,
            },
            Entry::Genesis(_) | Entry::Flood(_) | Entry::Gap { .. } | Entry::Rebuilt { .. } => {
                Self::Light
            }
            Entry::Trust(..)
            | Entry::Revoked(_)
            | Entry::Approval(_)
            | Entry::Pause(_)
            | Entry::Alarm(_)
            | Entry::Loss { .. } => Self::Decision,
            _ => Self::Anchored,
        }
    }
}
