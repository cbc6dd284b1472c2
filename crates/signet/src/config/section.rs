//! What the sections of `config.toml` have in common: where a fault stands, and the numbers in them.

use std::path::PathBuf;

use signet_files::{TomlFile, Within};
use signet_proto::headers::Tier;
use signet_proto::policy::MOST_PER_MINUTE;

use super::ConfigError;
use crate::home::Home;

/// A data tier.
pub(super) type WrittenTier = Within<Tier, 1, { Tier::Restricted as i64 }>;
/// So many messages a minute.
pub(super) type PerMinute = Within<u32, 1, { MOST_PER_MINUTE as i64 }>;

/// The file, and the home at which its relative paths start.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a TomlFile<'a>,
    pub(super) home: &'a Home,
}

impl Source<'_> {
    /// The error that `fault` is wrong with the value at a path such as `nats.creds`.
    pub(super) fn bad(&self, path: &str, fault: &str) -> ConfigError {
        self.file.fault(path, fault).into()
    }

    /// Where a path of the file is.
    pub(super) fn path(&self, written: &str) -> PathBuf {
        self.home.join(written)
    }
}
