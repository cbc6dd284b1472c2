//! Proving a log from its files alone: the chain, the months, the lines, every signature.
//!
//! What it cannot see: lines cut off at the end, and a log written anew from some line on. For those
//! compare the head with one that a peer or a checkpoint remembers.

mod agreement;
mod authority;
mod report;
mod walk;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub use report::{Fault, LogReport, Report};

use crate::error::LogError;
use crate::file::{month_of, months};
use walk::Walk;

/// Verifies logs, given as directories or as files. Files of one directory are one log; a directory
/// without log files stands for the logs in the directories in it.
///
/// Memory does not grow with the length of a log.
#[must_use]
pub fn verify(paths: &[PathBuf]) -> Report {
    let mut report = Report::default();
    let mut logs: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for path in paths {
        match log_files(path) {
            Ok(files) => files.into_iter().for_each(|file| {
                logs.entry(log_of(&file)).or_default().push(file);
            }),
            Err(error) => report.unreadable.push(error),
        }
    }
    for (name, mut files) in logs {
        files.sort_unstable();
        files.dedup();
        match Walk::over(name, &files) {
            Ok(log) => report.logs.push(log),
            Err(error) => report.unreadable.push(error),
        }
    }
    report
}

/// The log files that a path stands for, oldest first: itself, those in it, or those in the
/// directories in it.
///
/// # Errors
/// [`LogError::NoLog`] when there is none, or the system's refusal.
pub fn log_files(path: &Path) -> Result<Vec<PathBuf>, LogError> {
    if !path.is_dir() {
        let file = fs::metadata(path).map(|_| path.to_owned());
        return file.map(|file| vec![file]).map_err(crate::error::at(path));
    }
    let mut files = months(path)?;
    if files.is_empty() {
        for entry in fs::read_dir(path).map_err(crate::error::at(path))? {
            let inner = entry.map_err(crate::error::at(path))?.path();
            if inner.is_dir() {
                files.extend(months(&inner)?);
            }
        }
        files.sort_unstable();
    }
    if files.is_empty() {
        Err(LogError::NoLog(path.to_owned()))
    } else {
        Ok(files)
    }
}

/// What a file is part of: its directory when it is named as a month, else only itself.
fn log_of(file: &Path) -> PathBuf {
    let dir = file.parent().filter(|_| month_of(file).is_some());
    match dir {
        Some(dir) if dir.as_os_str().is_empty() => PathBuf::from("."),
        Some(dir) => dir.to_owned(),
        None => file.to_owned(),
    }
}
