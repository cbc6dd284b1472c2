//! What an agent says and hears: messages, tasks, and the programs that handle them.

pub(super) mod handle;
pub(super) mod handler;
pub(super) mod handoff;
pub(super) mod inbox;
pub(super) mod message_status;
pub(super) mod outbox;
pub(super) mod ping;
pub(super) mod quarantine;
pub(super) mod reply;
pub(super) mod send;
