//! `signet digest`: what happened in a day, a week or a month, as a page that a person reads in a minute.
//!
//! It is made from the log alone, by the readers of `signet-audit`: no daemon is asked and no key is used, so what is sealed stays
//! sealed. The same log and the same days give the same bytes.

mod exchange;
mod kept;
mod page;
mod span;
mod told;
mod words;

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use signet_audit::{Depth, Language, ProgressFn, Settings, verify_with};
use signet_proto::time::Timestamp;

use super::export::log_of;
use super::{ended, print, unreadable};
use crate::cli::{CliError, Exit};
use crate::clock;
use page::DigestPage;
use span::{DigestSpan, NamedDay, NamedMonth};
use told::SpanTold;
use words::DigestText;

/// Tell what happened in a day, a week or a month.
///
/// The page says who said what and what came of it, what left at which tier, who was met and what was decided, what was refused and why, alarms,
/// what waits at the end of it, and whether the log holds: from the log alone, as plain text for a terminal or a mail. Sealed
/// texts stay sealed. Days are in UTC; the same log and the same days give the same text.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("span").args(["day", "week", "month", "since"]),
    after_help = "EXAMPLE:\n  signet digest\n  signet digest --day yesterday --lang de | mail -s 'Gestern' alice@example.org\n  signet digest --month 2026-02 --with from-bob/agent-bob-001"
)]
pub(crate) struct DigestArgs {
    /// A day: today, yesterday, or YYYY-MM-DD [default: today]
    #[arg(long, value_name = "DAY", value_parser = NamedDay::parse)]
    day: Option<NamedDay>,
    /// A week from Monday on: this, last, or a day in it
    #[arg(long, value_name = "WEEK", value_parser = NamedDay::parse_week)]
    week: Option<NamedDay>,
    /// A month: this, last, or YYYY-MM
    #[arg(long, value_name = "MONTH", value_parser = NamedMonth::parse)]
    month: Option<NamedMonth>,
    /// From this time (RFC 3339, UTC) on; a day, such as 2026-02-01, is its beginning
    #[arg(long, value_name = "TIME", value_parser = super::show::time)]
    since: Option<Timestamp>,
    /// … and before this time, or before this day [default: now]
    #[arg(long, value_name = "TIME", value_parser = super::show::time, requires = "since")]
    until: Option<Timestamp>,
    /// The language [default: en]
    #[arg(long, value_name = "LANG")]
    lang: Option<DigestLanguage>,
    /// The log of a peer, a directory: it confirms this one, and every signature is verified
    #[arg(long = "with", value_name = "PATH")]
    witnesses: Vec<PathBuf>,
    /// Verify every signature as signet audit verify does; without it chain, months and checkpoints alone, which is faster
    #[arg(long)]
    signatures: bool,
    /// The log, a directory [default: that of this home]
    #[arg(value_name = "PATH")]
    log: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DigestLanguage {
    /// English
    En,
    /// German
    De,
}

/// Performs `signet digest`.
pub(crate) fn run(args: DigestArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let span = span_of(&args, clock::now())?;
    let text = DigestText::of(match args.lang {
        None | Some(DigestLanguage::En) => Language::English,
        Some(DigestLanguage::De) => Language::German,
    });
    let log = args.log.map_or_else(|| log_of(home), Ok)?;
    let told = SpanTold::read(&log, span).map_err(unreadable)?;
    let depth = match args.signatures || !args.witnesses.is_empty() {
        true => Depth::Signatures,
        false => Depth::Links,
    };
    let settings = Settings {
        depth,
        ..Settings::default()
    };
    let mut paths = vec![log];
    paths.extend(args.witnesses);
    let proof = verify_with(&paths, settings, &mut ProgressFn::new(|_, _| {}));
    let verdict = match proof.is_tampered() || told.unreadable > 0 {
        true => Exit::Refused,
        false => Exit::Done,
    };
    match print(&DigestPage::of(&told, &proof, span, text)) {
        Ok(()) | Err(CliError::Unread) => {}
        Err(failure) => return Err(failure),
    }
    match proof.unreadable.into_iter().next() {
        Some(error) => Err(unreadable(error)),
        None => ended(verdict),
    }
}

fn span_of(args: &DigestArgs, now: Timestamp) -> Result<DigestSpan, CliError> {
    let span = match (&args.day, &args.week, &args.month, args.since) {
        (_, Some(week), _, _) => DigestSpan::of_week(*week, now),
        (_, _, Some(month), _) => DigestSpan::of_month(month, now),
        (_, _, _, Some(since)) => DigestSpan {
            since,
            until: args.until.unwrap_or(now),
        },
        (day, _, _, _) => DigestSpan::of_day(day.unwrap_or(NamedDay::Ago(0)), now),
    };
    match span.since < span.until {
        true => Ok(span),
        false => Err(CliError::usage(
            "the digest would end before it begins",
            "name an earlier --since or a later --until",
        )),
    }
}
