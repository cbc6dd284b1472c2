//! signet-text: what a terminal, a log and a shell may be given of a text,
//! and how many of something there are, in the same words everywhere.
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

mod count;
mod escape;
mod shell;

pub use count::{counted, counted_as, counted_doing};
pub use escape::{Marks, is_escaped, printable, visible, write_escaped};
pub use shell::{quoted, word};
