//! The place for the demonstration's files.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use signet_driver::{DriverError, random};

/// A directory of its own, removed in the end: it holds the demonstration's secret keys.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Result<Self, DriverError> {
        let parent = std::env::temp_dir();
        let name: [u8; 8] = random().map_err(DriverError::io(&parent))?;
        let path = parent.join(format!("signet-demo-{}", HEXLOWER.encode(&name)));
        // Do not use `recursive`, which accepts an existing directory: secrets must not go into a directory of somebody else.
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(DriverError::io(&path))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Ignore a failure: the directory then stays among the system's temporary files, where nobody else can read it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
