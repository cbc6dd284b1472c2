//! The state on disk: what the node remembers, as rows in SQLite, and how far in the log they go.
//!
//! ```text
//! event loop ── Snapshot ──▶ journal ── position, durable ──▶ keeper ── changed rows ──▶ state.db
//! start:        rows of state.db ──▶ Node::restore ──▶ lines of the log behind them ──▶ Node::recall
//! ```
//!
//! The log is the truth, and this is a projection of it: a start that cannot use it reads the whole
//! log instead and makes it anew. No secret and nothing of tiers 3 and 4 in clear stands in it.

mod each_row;
mod error;
mod keeper;
mod open;
mod rows;
mod store;

pub use error::StateError;
pub use keeper::{Keeper, StateSnapshot, offer};
pub use store::StateStore;
