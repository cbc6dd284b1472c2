//! signet-audit appends verdicts to the chained log and proves the log (docs/protocol.md, Audit log).
//!
//! ```text
//! Entry ──append──▶ group ──commit (one write, fdatasync)──▶ inter-agent-YYYY-MM.jsonl
//!                                                                 │ sha256 of each line
//!                                        verify ◀── read ◀────────┘ stands as prev in the next
//! ```
//!
//! `signet_proto::entry::Entry` knows the members of a line; this crate owns what is around them:
//! `v`, `seq`, `ts`, `prev`, the chain, the months, the files and the escapes. It knows no transport,
//! does not interpret bodies and reads no clock: the present is an argument.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod bundle;
mod chain;
mod checkpoint;
mod disk;
mod error;
mod escape;
mod file;
mod filter;
mod keys;
mod log;
mod mend;
mod merkle;
mod note;
mod open;
mod plain;
mod read;
mod reconcile;
mod record;
mod reserved;
mod show;
mod tail;
mod tape;
mod verify;

pub use bundle::{BundleReport, ExportError, Exported, Span, export};
pub use chain::{Head, Position};
pub use checkpoint::CHECKPOINT_LINES;
#[doc(hidden)]
pub use disk::{Faults, Operation};
pub use error::LogError;
pub use escape::{printable, visible};
pub use filter::{Filter, UnknownVerdict, VerdictName};
pub use keys::CheckpointKeys;
pub use log::Log;
pub use open::Sight;
pub use read::{Lines, read, read_file, read_from};
pub use reconcile::{Difference, DifferenceKind, Reconciliation, reconcile};
pub use record::{Line, MAX_LINE, Mark, RecordError};
pub use reserved::{Carrier, Reserved};
pub use show::{body, describe};
pub use verify::{
    Depth, Fault, LogReport, Progress, Report, Settings, Witness, WrongClock, log_files, verify,
    verify_with,
};
