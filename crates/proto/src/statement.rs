//! What a person signs besides certificates: revocations, approvals, pause and resume, decisions of trust.
//!
//! Each is a JSON object with a `signature` member over the rest, under a first line of its own
//! ([`Purpose`](crate::keys::Purpose)). A revocation is the root key's; the others are the control
//! key's, and say nothing without the control certificate that names it.

mod approval;
mod decision;
mod pause;
mod revocation;

pub use approval::{Approval, Decision};
pub use decision::{Asked, DecisionStatement, LIFE as DECISION_LIFE};
pub use pause::PauseStatement;
pub use revocation::Revocation;
