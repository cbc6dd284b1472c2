//! Bundles as they come: files, and bytes that are at hand.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use signet_json::{Limits, parse};

use super::{BUNDLE, BundleReader, BundleReport};
use crate::error::LogError;
use crate::plain;
use crate::read::{RawLine, RawLines};
use crate::record::MAX_LINE;

/// Whether the file says of itself that it is a bundle.
pub(in crate::verify) fn is_bundle(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = plain::read(path).and_then(|file| file.take(HEADER).read_to_end(&mut start));
    let first = start
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let kind = parse(first, Limits::LINE).ok();
    let kind = kind.and_then(|header| {
        header
            .get("kind")
            .and_then(Value::as_str)
            .map(str::to_owned)
    });
    read.is_ok() && kind.as_deref() == Some(BUNDLE)
}

/// Proves a bundle.
pub(in crate::verify) fn verify_bundle(path: &Path, most: usize) -> Result<BundleReport, LogError> {
    let mut lines = RawLines::open(path)?;
    let mut reader = BundleReader::new(path, most);
    loop {
        match lines.next_line()? {
            RawLine::Whole(raw) => {
                reader.place = lines.number;
                reader.take(raw);
            }
            RawLine::TooLong => {
                reader.place = lines.number;
                reader.fault(TOO_LONG);
            }
            RawLine::Torn(_) => {
                reader.fault(TORN);
                break;
            }
            RawLine::End => break,
        }
    }
    Ok(reader.conclude())
}

/// Proves a bundle that is at hand, as [`verify_bundle`] does.
pub(in crate::verify) fn prove_bundle(name: &Path, bytes: &[u8], most: usize) -> BundleReport {
    let mut reader = BundleReader::new(name, most);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.split_last() {
            Some((b'\n', line)) if line.len() > MAX_LINE => {
                reader.place += 1;
                reader.fault(TOO_LONG);
            }
            Some((b'\n', line)) => {
                reader.place += 1;
                reader.take(line.to_vec());
            }
            _ => reader.fault(TORN),
        }
    }
    reader.conclude()
}

const TOO_LONG: &str = "the line is over 2 MiB";
const TORN: &str = "the bundle ends within a line: part of it is missing";

/// More than the first line of a bundle needs.
const HEADER: u64 = 4096;
const _: () = assert!(HEADER < MAX_LINE as u64);
