//! signet-proto decides, from bytes and a time, what a message means and what may be done about it.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod certificate;
pub mod entry;
pub mod envelope;
pub mod headers;
pub mod ids;
pub mod json;
pub mod keys;
pub mod reject;
pub mod schema;
pub mod time;
pub mod trust;
pub mod verify;
