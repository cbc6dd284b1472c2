//! The strict parser and the canonical form. A binary of its own: `make test` builds it with each of the features that
//! others could give to `serde_json`, which have to change nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod attacks;
mod reader;
mod samples;
