//! From [`Verified`](crate::verify::Verified) to [`Ruled`](ruled::Ruled): checks V08 to V12, and what may be made of a
//! message that passes them.
//!
//! ```text
//! Verified ─ Judge::rule ─▶ Ruled { message, payload, opened, task } ─▶ line ─▶ Accepted
//!                      └─▶ Rejected { message, fault }
//! ```

pub(super) mod judge;
pub(super) mod permission;
pub(super) mod ruled;
