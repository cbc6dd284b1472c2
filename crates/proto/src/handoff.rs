//! Handoffs: work passed from agent to agent, with an authority that only ever narrows
//! (docs/protocol.md, Handoff).
//!
//! ```text
//! alice ──Mandate──▶ bob ──Mandate──▶ carol        each signed by its giver, each within the one before
//!         offered ─▶ accepted ─▶ working ─▶ completed · failed · returned
//!                └─▶ declined
//! ```
//!
//! A [`Mandate`] says who gives what to whom, and for how long. A [`Chain`] of them proves, to an
//! agent that knows only the principals' root keys, that the work came down step by step and that no
//! step gave more than it had. What the work is stands in the message's body, [`Offering`], and may be
//! sealed; nothing here needs it.

mod authority;
mod body;
mod chain;
mod mandate;
mod state;

pub use authority::{Authority, Limits, Overstep};
pub use body::{Offering, Report, accepted_body, is_acceptance};
pub use chain::{Chain, Link};
pub use mandate::{Mandate, MandateRequest};
pub use state::TaskState;

use std::time::Duration;

use crate::ids::MessageId;

/// The name of a task: a UUID version 7, as message-ids are. It is the conversation-id of all that
/// belongs to it.
pub type TaskId = MessageId;

/// The longest time from a mandate's issue to its end.
pub const LONGEST_MANDATE: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many mandates a chain may have.
pub const LONGEST_CHAIN: usize = 8;
/// How many capabilities a mandate may name.
pub const MOST_CAPABILITIES: usize = 64;
/// The longest goal, in characters.
pub const LONGEST_GOAL: usize = 2_000;
/// The longest note in a report, in characters.
pub const LONGEST_NOTE: usize = 500;
/// How long a mandate lasts when its giver does not say.
pub const MANDATE_LIFE: Duration = Duration::from_secs(24 * 3600);
