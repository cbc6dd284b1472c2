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

mod anchor;
mod bundle;
mod chain;
mod checkpoint;
mod claim;
mod custody;
mod disk;
mod error;
mod file;
mod file_identity;
mod filter;
mod frame;
mod judge;
mod keys;
mod known_tree;
mod log;
mod merkle;
mod month_file;
mod months;
mod newest_keys;
mod note;
mod open;
mod opening;
mod plain;
mod proof;
mod read;
mod readers;
mod reasons;
mod reconcile;
mod record;
mod repair;
mod reserved;
mod show;
mod tail;
mod unanswered;
mod unread;
mod verify;
mod wanted;

pub use anchor::forget_tree;
pub use bundle::{ExcerptSubject, ExportError, Exported, LogExcerpt, Span, export, export_excerpt};
pub use chain::{Head, LogPosition};
pub use checkpoint::CHECKPOINT_LINES;
pub use custody::Custody;
#[doc(hidden)]
pub use disk::{Faults, Operation};
pub use error::{LogError, RecordError, put_the_log_back};
pub use file::refuse_open_folders;
pub use file_identity::FileIdentity;
pub use filter::{Filter, UnknownVerdict, VerdictName};
pub use judge::{Outlook, foresee, hold_against_anchor};
pub use keys::CheckpointKeys;
pub use log::Log;
pub use months::inspect_months;
pub use open::Sight;
pub use opening::LogOpening;
pub use read::{LogLines, read, read_file, read_from};
pub use reasons::{Language, reason_in_words};
pub use reconcile::{Difference, DifferenceKind, Reconciliation, reconcile};
pub use record::{LogLine, MAX_LINE, Mark, kinds};
pub use reserved::Reserved;
pub use show::{body, describe, glimpse, is_without_words};
pub use signet_text::{counted, counted_doing, printable, quoted, visible, word};
pub use unanswered::AnsweredRequests;
pub use unread::UnreadMonth;
pub use verify::{
    BundleReport, Depth, LogFault, LogReport, ProgressFn, Settings, VerifyReport, Witness,
    WrongClock, log_files, verify, verify_bundles, verify_with,
};
pub use wanted::for_each_wanted;
