//! `signet audit export`: what was said with one peer, for somebody else to verify.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use signet_audit::{ExportError, Exported, Span, counted, export};
use signet_proto::ids::AgentId;
use signet_proto::time::Timestamp;

use super::{tell, unreadable};
use crate::cli::CliError;
use crate::config::Config;
use crate::home::Home;

/// See `signet audit export --help`.
#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// With whom it was said.
    #[arg(long, value_name = "AGENT-ID")]
    peer: AgentId,
    /// The first day (YYYY-MM-DD, UTC) or moment (RFC 3339, UTC).
    #[arg(long, value_name = "DATE", value_parser = first_moment)]
    from: Timestamp,
    /// The last day, or the moment after the last.
    #[arg(long, value_name = "DATE", value_parser = moment_after)]
    to: Timestamp,
    /// A new file for the bundle [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The log, a directory [default: that of this home]
    #[arg(value_name = "PATH")]
    log: Option<PathBuf>,
}

pub(super) fn run(args: ExportArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let log = args.log.map_or_else(|| log_of(home), Ok)?;
    let span = Span {
        peer: args.peer,
        from: args.from,
        to: args.to,
    };
    let exported = match &args.output {
        Some(path) => write_new(path, |out| export(&log, &span, out)),
        None => print_all(&log, &span),
    };
    let Exported {
        lines, left_out, ..
    } = exported.map_err(|error| not_exported(error, args.output.as_deref(), &log))?;
    tell(&format!("{} with {}", counted(lines, "line"), span.peer));
    if left_out > 0 {
        tell(&format!(
            "not in it, being newer than the last checkpoint: {}; the next comes within a minute",
            counted(left_out, "line")
        ));
    }
    Ok(())
}

/// The log of the home's agent.
pub(super) fn log_of(home: Option<PathBuf>) -> Result<PathBuf, CliError> {
    Ok(Config::load(&Home::find(home)?)?.audit_dir)
}

pub(super) fn not_exported(error: ExportError, output: Option<&Path>, log: &Path) -> CliError {
    match (error, output) {
        (ExportError::Write(error), None) => CliError::output(error),
        (ExportError::Write(source), Some(path)) => {
            let what = format!("{}: {source}", path.display());
            CliError::file(&source, what, "name a new file with --output")
        }
        (ExportError::Log(error), _) => unreadable(error),
        (error @ ExportError::DoesNotHold, _) => {
            let next = format!("see where: signet audit verify {}", log.display());
            CliError::refused(error, next)
        }
        (error @ ExportError::Nothing(..), _) => {
            let next = "widen --from and --to, or wait a minute for the next checkpoint";
            CliError::usage(error, next)
        }
        (error @ ExportError::Unknown, _) => {
            let next = "see what there is: signet audit show --id ID; or name the log with --log";
            CliError::usage(error, next)
        }
        (error @ ExportError::SeveralPeers(_), _) => {
            CliError::usage(error, "name one of them with --peer")
        }
        (error, _) => CliError::usage(error, "give all months of the log"),
    }
}

fn print_all(log: &Path, span: &Span) -> Result<Exported, ExportError> {
    let mut out = anstream::stdout().lock();
    let exported = export(log, span, &mut out)?;
    out.flush()?;
    Ok(exported)
}

/// Writes into a new file: one that is there already is not overwritten, and half of one is removed.
pub(super) fn write_new<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, ExportError>,
) -> Result<T, ExportError> {
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create_new(true)
        // The export holds message bodies in clear, up to tier 2: so only the owner may read it.
        .mode(0o600)
        .open(path)?;
    let mut out = BufWriter::new(file);
    let written = write(&mut out).and_then(|written| {
        out.flush()?;
        out.get_ref().sync_all()?;
        Ok(written)
    });
    if written.is_err() {
        // This function has made the file, so it may remove it. An error of the removal is ignored: the error that is returned
        // says why there is no such file.
        let _ = std::fs::remove_file(path);
    }
    written
}

pub(super) fn first_moment(text: &str) -> Result<Timestamp, &'static str> {
    day(text).or_else(|| text.parse().ok()).ok_or(NO_DATE)
}

pub(super) fn moment_after(text: &str) -> Result<Timestamp, &'static str> {
    let after = day(text).map(|day| day.saturating_add(DAY));
    after.or_else(|| text.parse().ok()).ok_or(NO_DATE)
}

/// The beginning of a day that is written as YYYY-MM-DD.
pub(super) fn day(text: &str) -> Option<Timestamp> {
    let is_day = text.len() == "YYYY-MM-DD".len();
    is_day.then(|| format!("{text}T00:00:00.000Z").parse().ok())?
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const NO_DATE: &str = "not a date; use YYYY-MM-DD, or a time such as 2026-02-01T09:00:00Z";
