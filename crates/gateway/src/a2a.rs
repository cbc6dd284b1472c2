//! A2A 1.0 and 0.3 on one endpoint: every trusted peer is an A2A agent.
//!
//! ```text
//! client ── POST ──▶ http ── frame, version ──▶ call ──▶ store: the task is written ──▶ room ── send ──▶ agent.sock
//!        ◀── JSON ── or ── stream: events by number ◀── store ◀── task: state machine ◀── follow ◀── moved, progress, answer
//! ```
//!
//! A message becomes a signed request to the agent behind the address. What its daemon and its agent tell of that becomes
//! states, artifacts and events of a task, which is written before anything leaves: whoever kills the gateway kills no task.
//! Identity is never a claim in a call: tasks belong to the token that made them.

mod body;
mod call;
mod card;
mod clock;
mod fault;
mod follow;
mod frame;
mod http;
mod model;
mod push;
mod read;
mod room;
mod section;
mod store;
mod stream;
mod task;
mod unnamed;
mod v03;
mod version;

pub(crate) use http::{Heard, answer, is_method, open_routes, routes, wrong_content};
pub(crate) use room::Room;
pub(crate) use section::Section;
