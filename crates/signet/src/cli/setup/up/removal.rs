//! Files and directories that go, and links of which nothing but the link goes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::cli::CliError;
use crate::hint;

/// The entries of a directory; none of one that is not there.
pub(super) fn entries(directory: &Path) -> Result<Vec<PathBuf>, CliError> {
    let read = match std::fs::read_dir(directory) {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unremoved(directory, &error)),
    };
    let mut found: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    found.sort();
    Ok(found)
}

/// Removes a file or a directory with all in it; a link goes, and nothing behind it.
pub(super) fn remove(path: &Path) -> Result<(), CliError> {
    let removed = match path.symlink_metadata() {
        Ok(facts) if facts.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unremoved(path, &error)),
        _ => Ok(()),
    }
}

fn unremoved(path: &Path, error: &std::io::Error) -> CliError {
    let what = format!("{} is still there: {error}", path.display());
    CliError::file(error, what, hint::unreadable(path))
}
