//! Proving logs from their files alone: the chain, the months, the checkpoints, the lines, every
//! signature, and the heads that the logs of peers remember.
//!
//! ```text
//! chain            an edit, a lost or moved line              not what is cut off or made anew to the end
//! own checkpoints  the same, made anew or cut off             not by whoever holds the month's key
//! heads at peers   any of it, up to what they have seen
//! ```

mod agreement;
mod authority;
mod batch;
mod block;
pub(crate) mod bundle;
mod decisions;
mod examine;
mod headline;
mod month;
mod parallel;
mod prove;
mod repeats;
mod report;
mod walk;
mod witness;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use agreement::{contradictions, forged_member, prove_parties};
pub(crate) use authority::{KnownTrust, OUT_OF_DATES, Worth, worth};
pub use bundle::BundleReport;
pub(crate) use examine::broken_chain;
pub(crate) use parallel::in_order;
pub use report::{LogFault, LogReport, VerifyReport, Witness, WrongClock};

use crate::claim::ClaimTeller;
use crate::error::{LogError, at};
use crate::file::{month_of, months};
use crate::read::{RawLine, RawLines};
use bundle::{is_bundle, prove_bundle, verify_bundle};
use signet_proto::ids::{AgentId, Digest};
use walk::Walk;
pub(crate) use witness::WitnessStatement;
use witness::{Testimony, WalkTelling};

/// How much is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Chain, months and checkpoints: the lines are what was written.
    Links,
    /// All of it: what was written agrees with itself, and every message is signed.
    Signatures,
}

/// What is wanted of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How much is proven.
    pub depth: Depth,
    /// So many findings of each log are told one by one; the others are counted.
    pub findings: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            depth: Depth::Signatures,
            findings: FINDINGS,
        }
    }
}

/// Tells how far verification is.
pub struct ProgressFn<'a> {
    done: u64,
    total: u64,
    tell: Box<dyn FnMut(u64, u64) + 'a>,
}

impl<'a> ProgressFn<'a> {
    /// `tell` gets the bytes that are done, and how many there are.
    pub fn new(tell: impl FnMut(u64, u64) + 'a) -> Self {
        Self {
            done: 0,
            total: 0,
            tell: Box::new(tell),
        }
    }

    fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        (self.tell)(self.done, self.total.max(self.done));
    }
}

impl std::fmt::Debug for ProgressFn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Progress({} of {})", self.done, self.total)
    }
}

/// Verifies logs to the full, given as directories or as files. Files of one directory are one log; a
/// directory without log files stands for the logs in the directories in it.
///
/// A bundle that [`export`](crate::export) wrote is proven from itself alone. When several logs are given, each is also held against the heads that the others remember of it.
///
/// Memory does not grow with the length of one log; of several, 32 bytes a line and 64 a message are
/// kept.
#[must_use]
pub fn verify(paths: &[PathBuf]) -> VerifyReport {
    verify_with(paths, Settings::default(), &mut ProgressFn::new(|_, _| {}))
}

/// Proves bundles that are at hand, each under a name that the report tells, and tells so many findings of each.
#[must_use]
pub fn verify_bundles(bundles: &[(PathBuf, Vec<u8>)], findings: usize) -> VerifyReport {
    let reports = bundles
        .iter()
        .map(|(name, bytes)| prove_bundle(name, bytes, findings));
    VerifyReport {
        bundles: reports.collect(),
        ..VerifyReport::default()
    }
}

/// Verifies as [`verify()`] does, but as `settings` say, and tells its progress.
#[must_use]
pub fn verify_with(
    paths: &[PathBuf],
    settings: Settings,
    progress: &mut ProgressFn<'_>,
) -> VerifyReport {
    // Report at least one finding: with a limit of 0, a log with faults would be reported as one that holds.
    let findings = settings.findings.max(1);
    let settings = Settings {
        findings,
        ..settings
    };
    let mut report = VerifyReport::default();
    let mut logs: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    let mut whole = HashSet::new();
    for path in paths {
        if is_bundle(path) {
            match verify_bundle(path, settings.findings) {
                Ok(bundle) => report.bundles.push(bundle),
                Err(error) => report.unreadable.push(error),
            }
            continue;
        }
        match log_files(path) {
            Ok(files) => files.into_iter().for_each(|file| {
                // Only a directory has to hold its log from the first line on: if files are named one by one, earlier
                // months may lie elsewhere.
                if path.is_dir() {
                    whole.insert(log_of(&file));
                }
                logs.entry(log_of(&file)).or_default().push(file);
            }),
            Err(error) => report.unreadable.push(error),
        }
    }
    for files in logs.values_mut() {
        files.sort_unstable();
        // A file may be given twice, by itself and by its directory: verify it once.
        files.dedup();
        let sizes = files.iter().filter_map(|file| fs::metadata(file).ok());
        progress.total += sizes.map(|facts| facts.len()).sum::<u64>();
    }
    let several = logs.len() > 1;
    let mut testimonies = Vec::new();
    for (name, files) in logs {
        let is_whole = whole.contains(&name);
        // Keep the hashes of all lines (a testimony) only if there are several logs: that costs 32 bytes a line, and only
        // another log asks for it.
        let telling = match several {
            true => WalkTelling::Testimony,
            false => WalkTelling::Nothing,
        };
        match Walk::over(name, &files, telling, settings, progress) {
            Ok((mut log, testimony)) => {
                if is_whole {
                    log.demand_beginning(&files);
                }
                report.logs.push(log);
                testimonies.extend(testimony.map(|testimony| (testimony, files)));
            }
            Err(error) => report.unreadable.push(error),
        }
    }
    // `hear` pairs reports and testimonies by their index, so there has to be one for each. A single log has no testimony.
    if testimonies.len() == report.logs.len() {
        hear(&mut report.logs, &testimonies);
    }
    report
}

/// The files of the one log at `path`, and its name; `None` for a bundle and for several logs.
///
/// # Errors
/// As for [`log_files`].
pub(crate) fn one_log(path: &Path) -> Result<Option<(PathBuf, Vec<PathBuf>)>, LogError> {
    if is_bundle(path) {
        return Ok(None);
    }
    let files = log_files(path)?;
    let name = files.first().map(|file| log_of(file));
    let name = name.filter(|name| files.iter().all(|file| log_of(file) == *name));
    Ok(name.map(|name| (name, files)))
}

/// Verifies one log to the full, and tells on the way what its lines say.
///
/// # Errors
/// What cannot be read.
pub(crate) fn verify_telling(
    path: &Path,
    files: &[PathBuf],
    teller: ClaimTeller,
) -> Result<LogReport, LogError> {
    let name = files.first().map(|file| log_of(file)).unwrap_or_default();
    let mut progress = ProgressFn::new(|_, _| {});
    let telling = WalkTelling::Claims(teller);
    let (mut log, _) = Walk::over(name, files, telling, Settings::default(), &mut progress)?;
    if path.is_dir() {
        log.demand_beginning(files);
    }
    Ok(log)
}

/// Holds every log against all others.
fn hear(logs: &mut [LogReport], testimonies: &[(Testimony, Vec<PathBuf>)]) {
    for (index, (log, (ours, files))) in logs.iter_mut().zip(testimonies).enumerate() {
        let others = testimonies.iter().enumerate();
        for (_, (other, their_files)) in others.filter(|(other, _)| *other != index) {
            if let Some(seq) = ours.differs_from(other) {
                log.accuse(files, seq, their_files);
            }
            let mut statement = ours.ask(other, &HashSet::new());
            if statement.unknown_count > 0 {
                // The other log may name lines that were added after this log was read: ask again with those lines.
                statement = ours.ask(other, &grown(files, log.lines));
            }
            hear_one(log, files, other.agent.as_ref(), statement);
        }
    }
}

/// Takes into the report of a log what the log of `witness` says of it.
pub(crate) fn hear_one(
    log: &mut LogReport,
    files: &[PathBuf],
    witness: Option<&AgentId>,
    statement: WitnessStatement,
) {
    let witness = witness.map_or("?", AgentId::as_str);
    if statement.unknown_count > 0 {
        log.refute(files, witness, &statement.unknown, statement.unknown_count);
    }
    log.witnesses.extend(statement.confirmed);
}

/// The hashes of the lines behind the first `known` of a log.
pub(crate) fn grown(files: &[PathBuf], known: u64) -> HashSet<Digest> {
    let mut hashes = HashSet::new();
    let mut left = known;
    for file in files {
        let Ok(mut lines) = RawLines::open(file) else {
            continue;
        };
        while let Ok(line @ (RawLine::Whole(_) | RawLine::TooLong)) = lines.next_line() {
            match line {
                RawLine::Whole(raw) if left == 0 => drop(hashes.insert(Digest::of(&[&raw]))),
                RawLine::Whole(_) | RawLine::TooLong | RawLine::Torn(_) | RawLine::End => {
                    left = left.saturating_sub(1)
                }
            }
        }
    }
    hashes
}

/// The log files that a path stands for, oldest first: itself, those in it, or those in the
/// directories in it.
///
/// # Errors
/// [`LogError::NoLog`] when there is none, or the system's refusal.
pub fn log_files(path: &Path) -> Result<Vec<PathBuf>, LogError> {
    if !path.is_dir() {
        let file = fs::metadata(path).map(|_| path.to_owned());
        return file.map(|file| vec![file]).map_err(at(path));
    }
    let mut files = months(path)?;
    if files.is_empty() {
        for entry in fs::read_dir(path).map_err(at(path))? {
            let inner = entry.map_err(at(path))?.path();
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

/// How many findings of a log are told one by one where the caller does not say.
const FINDINGS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_s_file_belongs_to_the_log_of_its_folder_and_any_other_to_none() {
        for (file, log) in [
            ("inter-agent-2026-02.jsonl", "."),
            ("./inter-agent-2026-02.jsonl", "."),
            ("audit/inter-agent-2026-02.jsonl", "audit"),
            ("/var/audit/inter-agent-2026-02.jsonl", "/var/audit"),
            ("audit/copy.jsonl", "audit/copy.jsonl"),
            ("copy.jsonl", "copy.jsonl"),
        ] {
            assert_eq!(log_of(Path::new(file)), Path::new(log), "{file}");
        }
    }
}
