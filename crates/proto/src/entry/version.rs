//! The versions of a log's lines (docs/protocol.md, section 12).

/// How a line says what it remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineVersion {
    /// As signet wrote lines up to release 1: what a message says stands in the message alone.
    V1,
    /// What a reader asks for stands at the top of the line too.
    V2,
}

impl LineVersion {
    /// The version that is written.
    pub const CURRENT: Self = Self::V2;

    /// As the line's `v` names it.
    pub const fn number(self) -> u64 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    /// The version of that number, if this release knows it.
    pub const fn of(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::V1),
            2 => Some(Self::V2),
            _ => None,
        }
    }

    /// The name of the member that holds a message-id.
    pub(super) const fn message_id(self) -> &'static str {
        match self {
            Self::V1 => "message-id",
            Self::V2 => "id",
        }
    }
}
