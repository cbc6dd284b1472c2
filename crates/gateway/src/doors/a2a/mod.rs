//! A2A 1.0 and 0.3 on one endpoint: every trusted peer is an A2A agent.
//!
//! ```text
//! client ── POST ──▶ http ── frame, version ──▶ call ──▶ store: the task is written ──▶ door ── send ──▶ agent.sock
//!        ◀── JSON ── or ── stream: events by number ◀── store ◀── task: state machine ◀── follow ◀── moved, progress, answer
//! ```
//!
//! A message becomes a signed request to the agent behind the address. What its daemon and its agent tell of that becomes
//! states, artifacts and events of a task, which is written before anything leaves: whoever kills the gateway kills no task.
//! Identity is never a claim in a call: tasks belong to the token that made them.

mod call;
mod card;
pub(crate) mod clock;
mod door;
mod ended;
pub(crate) mod fault;
mod follow;
pub(crate) mod frame;
mod http;
mod offers;
mod open;
mod push;
mod remembered;
pub(crate) mod request;
mod sending;
mod start_warnings;
mod store;
mod stream;
mod task;
mod unnamed;
mod version;
pub(crate) mod words;

pub(crate) use door::A2aDoor;
pub(crate) use http::{Heard, answer, is_method, open_routes, routes, wrong_content};
pub(crate) use start_warnings::warn_at_start;
