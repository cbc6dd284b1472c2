//! HTTP as a carrier: what `carrier.sock` and other gateways exchange.
//!
//! ```text
//! POST /agent/<id>/inbox ─▶ framing ─▶ pace ─▶ verdict ─▶ queue ─▶ courier ─▶ carrier.deliver
//!                        ◀── 202, once the daemon has ruled
//! carrier.parcel ─▶ outbound ─▶ POST to the peer's gateway ─▶ carrier.left
//! carrier.poll ─▶ polls ─▶ POST to the peer's gateway, whose answer is what it keeps ─▶ carrier.deliver
//! ```
//!
//! The gateway verifies what comes (V01 to V07) against a snapshot of the trust store. Its verdict sheds load under
//! pressure and is counted; the daemon judges all of it from the beginning.

mod body_memory;
mod counts;
mod courier;
mod door;
pub(crate) mod framing;
mod lanes;
pub(crate) mod outbound;
mod pace;
mod poll_slots;
mod polls;
mod queue;
mod receive;
pub(crate) mod verdict;

pub(crate) mod link;

pub(crate) use courier::{cause, run};
pub(crate) use door::{HttpCarrier, decode, encode};
pub(crate) use receive::open_routes;
