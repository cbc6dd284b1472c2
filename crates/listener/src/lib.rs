//! A listener for HTTP/1.1 that nobody can fill: connections within bounds (`accept`, `slots`, `write_timeout`), bodies that are
//! read whole within bounds (`body`), and what a request's head says in one voice (`head`).
//!
//! ```text
//! accept ── TLS, where there is any ── hyper ── the router of whoever listens ── body::whole ── its pages and doors
//! ```
//!
//! Whom it serves, and what a refusal says, is for the program that listens: the gateway knows tokens, reading room and desk know
//! sessions, and this crate knows neither.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod accept;
mod body;
mod head;
mod slots;
mod write_timeout;

pub use accept::{Accept, ConnectionLimits, NoTls, Remote, Secures};
pub use body::{Bodies, BodyFault, discard, discard_up_to, whole};
pub use head::{host_of, is_json, media_type, name_of_host, only};
pub use slots::{ConnectionActivity, RequestUnderWay};
