//! What is signed besides certificates: by a person revocations, approvals, pause and resume, decisions of
//! trust; by an agent invitations.
//!
//! Each is a JSON object with a `signature` member over the rest, under a first line of its own
//! ([`Purpose`](crate::keys::Purpose)). A revocation is the root key's, an invitation the agent's; the others are
//! the control key's, and say nothing without the control certificate that names it. What each says is a table of its
//! file; how all are read, signed and verified stands in `said.rs`.

mod approval;
mod decision;
mod invitation;
mod pause;
mod revocation;

pub use approval::{Approval, Decision};
pub use decision::{Asked, DecisionStatement, LIFE as DECISION_LIFE};
pub use invitation::{Invitation, InvitationError, Reached};
pub use pause::PauseStatement;
pub use revocation::Revocation;
