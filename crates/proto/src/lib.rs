//! The signet/1 wire protocol without clock, randomness or IO: time and random bytes are arguments.
//!
//! Everything that comes from outside enters through [`json::parse`]; its identifiers and times
//! become the types of [`ids`] and [`time`] once, at the boundary, and are never looked at again.

#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

pub mod ids;
pub mod json;
pub mod time;
