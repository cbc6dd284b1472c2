//! Going on with a log as it grows, file after file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use signet_audit::{LogError, LogLine, LogLines, log_files, read_file};

/// A place in the files that a path stands for.
pub(super) struct Cursor {
    path: PathBuf,
    finished: BTreeSet<PathBuf>,
    current: Option<(PathBuf, LogLines)>,
}

impl Cursor {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            finished: BTreeSet::new(),
            current: None,
        }
    }

    /// The next line, or what is wrong with it; `None` when there is none yet.
    pub(super) fn next_line(&mut self) -> Result<Option<Result<LogLine, LogError>>, LogError> {
        loop {
            if let Some(next) = self.next_in_file()? {
                return Ok(Some(next));
            }
            let Some(follower) = self.follower()? else {
                return Ok(None);
            };
            // Read this file once more: before the writer began the next file, it may have added lines here, and the
            // cursor would pass over them.
            if let Some(next) = self.next_in_file()? {
                return Ok(Some(next));
            }
            let lines = read_file(&follower)?;
            let finished = self.current.replace((follower, lines));
            self.finished.extend(finished.map(|(path, _)| path));
        }
    }

    fn next_in_file(&mut self) -> Result<Option<Result<LogLine, LogError>>, LogError> {
        match self.current.as_mut().and_then(|(_, lines)| lines.next()) {
            Some(Err(error @ (LogError::Io { .. } | LogError::Newer { .. }))) => Err(error),
            next => Ok(next),
        }
    }

    /// The file after the one being read.
    fn follower(&self) -> Result<Option<PathBuf>, LogError> {
        let current = self.current.as_ref().map(|(path, _)| path.as_path());
        let is_new = |path: &Path| current != Some(path) && !self.finished.contains(path);
        Ok(log_files(&self.path)?.into_iter().find(|path| is_new(path)))
    }
}
