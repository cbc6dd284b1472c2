//! What the person decides: whom the agent trusts, what leaves it, and the keys that say so.

pub(super) mod alarms;
pub(super) mod control_key;
pub(super) mod decisions;
pub(super) mod drafts;
pub(super) mod key;
pub(super) mod pause;
pub(super) mod peer;
pub(super) mod policy;
pub(super) mod trust;
pub(super) mod watch;
