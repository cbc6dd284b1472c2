//! signet-files: how files that people write are read, and how a file is replaced.
//!
//! `config.toml`, `gateway.toml`, `handlers.toml` and the file of the tokens are opened by [`read()`] and understood by
//! [`TomlFile`]: a section is a struct of serde's, and every fault has its line, its key and what to do. [`replace`] puts a new file into the place of
//! an old one, so that a crash leaves one of them, whole. The log's own files are not replaced here: `signet-audit` does
//! that through its `Disk`, with which tests let each step fail.
//!
//! The crate depends on nothing of the house: the daemon and the gateway, which share no code otherwise, both use it.
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

mod fault;
mod keys;
mod read;
mod replace;
mod settings;
mod syntax;
mod table;

pub use fault::SettingFault;
pub use read::{ReadFault, open_plain, read};
pub use replace::{replace, sync_folder_of};
pub use settings::{TomlFile, Within};
pub use table::TomlTable;
