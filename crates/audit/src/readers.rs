//! Who may read a log besides its owner: a group, and nothing else of the home.
//!
//! A directory with the setgid bit gives its group to what is made in it. So a writer that a sandbox keeps from
//! chown(2), and from naming that bit in a chmod(2), still makes files of the right group and mode.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, fchown};
use std::path::Path;

use crate::error::LogError;

/// A group that may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Readers {
    /// The number of the group; without one, whichever group the directory gives to its files.
    pub(crate) group: Option<u32>,
}

impl Readers {
    /// Lets the group into the directory, and to the files that are in it.
    pub(crate) fn admit(self, dir: &Path) -> Result<(), LogError> {
        let refused = |path: &Path| {
            let path = path.to_owned();
            move |source| LogError::NotShared { path, source }
        };
        let facts = dir.metadata().map_err(refused(dir))?;
        if let Some(group) = self.missing(&facts) {
            chown(dir, None, Some(group)).map_err(refused(dir))?;
        }
        grant(&facts, ENTERS, |mode| fs::set_permissions(dir, mode)).map_err(refused(dir))?;
        self.admit_through(dir.parent(), &facts)?;
        for entry in fs::read_dir(dir).map_err(refused(dir))? {
            let path = entry.map_err(refused(dir))?.path();
            let facts = path.symlink_metadata().map_err(refused(&path))?;
            // Let the group read plain files only: through a link the rights of a file outside of the log would be changed.
            if facts.is_file() {
                if let Some(group) = self.missing(&facts) {
                    chown(&path, None, Some(group)).map_err(refused(&path))?;
                }
                grant(&facts, READS, |mode| fs::set_permissions(&path, mode))
                    .map_err(refused(&path))?;
            }
        }
        Ok(())
    }

    /// Lets the group pass the folder above, where both have the same owner. The group may pass it, and not list what else
    /// is in it.
    fn admit_through(self, above: Option<&Path>, below: &Metadata) -> Result<(), LogError> {
        let Some(above) = above.filter(|above| !above.as_os_str().is_empty()) else {
            return Ok(());
        };
        let refused = |source| LogError::NotShared {
            path: above.to_owned(),
            source,
        };
        let facts = above.metadata().map_err(refused)?;
        if facts.uid() != below.uid() {
            return Ok(());
        }
        if let Some(group) = self.missing(&facts) {
            chown(above, None, Some(group)).map_err(refused)?;
        }
        grant(&facts, PASSES, |mode| fs::set_permissions(above, mode)).map_err(refused)
    }

    /// Lets the group read a file that was just made.
    pub(crate) fn admit_to(self, file: &File) -> io::Result<()> {
        let facts = file.metadata()?;
        if let Some(group) = self.missing(&facts) {
            fchown(file, None, Some(group))?;
        }
        grant(&facts, READS, |mode| file.set_permissions(mode))
    }

    /// The group, where it is not the one that the file has.
    fn missing(self, facts: &Metadata) -> Option<u32> {
        self.group.filter(|group| *group != facts.gid())
    }
}

/// Sets bits of a mode where they are not set.
fn grant(
    facts: &Metadata,
    bits: u32,
    set: impl FnOnce(Permissions) -> io::Result<()>,
) -> io::Result<()> {
    let mode = facts.mode() & 0o7777;
    match mode & bits == bits {
        true => Ok(()),
        false => set(Permissions::from_mode(mode | bits)),
    }
}

/// What a group needs to read a directory.
const ENTERS: u32 = 0o050;
/// What a group needs to pass a directory.
const PASSES: u32 = 0o010;
/// What a group needs to read a file.
const READS: u32 = 0o040;
