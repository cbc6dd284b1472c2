//! signet-text: what a terminal and a log may be given of a stranger's text.
//!
//! The log, the command line, the handlers and the gateway all show texts that strangers wrote; they escape the same
//! characters, and only here is written which. The crate depends on nothing of the house, so that programs which hold no
//! key need not depend on one that does.
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

mod escape;

pub use escape::{printable, visible, write_escaped};
