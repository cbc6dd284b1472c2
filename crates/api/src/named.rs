//! What a call names, as far as the ceiling of a socket is held against it.

use crate::Name;

/// Something that a call names. The table of calls says it of each, so that no call passes a ceiling unasked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Named<'a> {
    /// An agent.
    Peer(&'a str),
    /// The data tier of what is to be sent or offered.
    Tier(u8),
    /// A message that came: of whom, where the call says it, and its message-id.
    Came(Option<&'a str>, &'a str),
    /// A message that was handed out under a lease.
    Lease(&'a str),
    /// A message of ours.
    Ours(&'a str),
    /// A task.
    Task(&'a str),
    /// The tier of what the holder of a new task may say, and the task that it is handed on from.
    Authority(Option<u8>, Option<&'a str>),
}

impl<'a> Named<'a> {
    /// The data tier of a message; 1 when the call does not say it.
    pub(crate) fn tier(tier: Option<u8>) -> Self {
        Self::Tier(tier.unwrap_or(1))
    }

    /// What was handed out, where the call names a lease.
    pub(crate) fn lease(lease: &'a Option<String>) -> Option<Self> {
        lease.as_deref().map(Self::Lease)
    }

    /// Messages that came, by their names.
    pub(crate) fn came(names: impl IntoIterator<Item = &'a Name>) -> Vec<Self> {
        let came = |name: &'a Name| Self::Came(Some(&name.from), &name.message_id);
        names.into_iter().map(came).collect()
    }
}
