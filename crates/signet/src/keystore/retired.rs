//! Secrets that newer ones have followed, and how long they are kept.
//!
//! ```text
//! keys/sealing-SERIAL.until-TIME.pem   opens what was sealed before; destroyed at TIME
//! keys/signing-SERIAL.until-TIME.pem   signs receipts in the sessions that it opened; likewise
//! keys/audit-SERIAL.pem                opens old lines of the log; the person's to keep
//! keys/control-SERIAL.pem, root-SERIAL.pem   the person's, good for nothing any more
//! ```
//!
//! SERIAL is that of the statement or certificate that named the key, TIME in seconds since 1970.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use signet_proto::certificate::SEALING_AFTER;
use signet_proto::session::{SESSION_LIFE, WINDOW_LIFE};
use signet_proto::time::Timestamp;

use super::{AUDIT, CONTROL, KeystoreError, ROOT, SEALING, SIGNING, disk};
use crate::files::private::at;
use crate::home::Home;
use crate::lock::HomeLock;

/// A secret that a newer one has followed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetiredKey {
    /// What it was: `sealing`, `signing`, `audit`, `control` or `root`.
    pub kind: &'static str,
    /// The serial of what named it.
    pub serial: u64,
    /// When it is destroyed; `None` is for the person to say.
    pub until: Option<Timestamp>,
    /// Where it is.
    pub path: PathBuf,
}

/// The kept secrets of `home`, oldest first within a kind.
///
/// # Errors
/// When the directory cannot be read.
pub fn kept(home: &Home) -> Result<Vec<RetiredKey>, KeystoreError> {
    let directory = home.join("keys");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&directory).map_err(at(&directory))? {
        let name = entry.map_err(at(&directory))?.file_name();
        let parts = name.to_str().and_then(parse);
        found.extend(parts.map(|(kind, serial, until)| RetiredKey {
            kind,
            serial,
            until,
            path: directory.join(&name),
        }));
    }
    found.sort();
    Ok(found)
}

/// Destroys the kept secrets whose time is over at `now`, and says which. Only who holds the lock
/// of the home may.
///
/// # Errors
/// When one cannot be destroyed; the others then wait for the next time.
pub fn destroy_overdue(lock: &HomeLock, now: Timestamp) -> Result<Vec<RetiredKey>, KeystoreError> {
    let mut over = kept(lock.home())?;
    over.retain(|kept| kept.until.is_some_and(|until| until < now));
    for kept in &over {
        disk::destroy(&kept.path)?;
    }
    Ok(over)
}

/// Gives the secret in the key file `name` the name under which it is kept, beside its old one.
pub(super) fn keep(
    home: &Home,
    name: &str,
    serial: u64,
    until: Option<Timestamp>,
) -> Result<(), KeystoreError> {
    let Some((kind, _)) = KINDS.iter().find(|(_, file)| *file == name) else {
        return Ok(());
    };
    // A change that was interrupted may have kept the old secret already, so do not keep it twice. Compare serials and not
    // names: the name holds a time, which is another one when the change is resumed.
    let known = |kept: &RetiredKey| kept.kind == *kind && kept.serial == serial;
    if kept(home)?.iter().any(known) || !exists(home, name)? {
        return Ok(());
    }
    let seconds = until.map(|until| until.as_millis() / 1000);
    let until = seconds.map_or_else(String::new, |seconds| format!(".until-{seconds}"));
    let kept = home.key_file(&format!("{kind}-{serial}{until}.pem"));
    disk::link(&home.key_file(name), &kept)?;
    Ok(disk::sync_beside(&kept)?)
}

/// How long a sealing secret is kept whose statement ends at `not_after`.
pub(super) fn sealing_until(not_after: Timestamp) -> Timestamp {
    not_after.saturating_add(SEALING_AFTER)
}

/// How long a signing key is kept that is followed at `now`: until the windows of the last session
/// that it can have opened are over.
pub(super) fn signing_until(now: Timestamp) -> Timestamp {
    now.saturating_add(SESSION_LIFE)
        .saturating_add(WINDOW_LIFE)
        .saturating_add(ROUNDED)
}

fn exists(home: &Home, name: &str) -> Result<bool, KeystoreError> {
    let path = home.key_file(name);
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(at(&path)(error).into()),
    }
}

fn parse(name: &str) -> Option<(&'static str, u64, Option<Timestamp>)> {
    let (kind, rest) = name.strip_suffix(".pem")?.split_once('-')?;
    let (kind, _) = KINDS.iter().find(|(known, _)| *known == kind)?;
    let (serial, until) = match rest.split_once(".until-") {
        Some((serial, seconds)) => (serial, Some(seconds.parse::<i64>().ok()?)),
        None => (rest, None),
    };
    let until = until.map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000)));
    Some((kind, serial.parse().ok()?, until))
}

const KINDS: [(&str, &str); 5] = [
    ("sealing", SEALING),
    ("signing", SIGNING),
    ("audit", AUDIT),
    ("control", CONTROL),
    ("root", ROOT),
];
/// Added to a time that becomes a file's name: the name holds whole seconds, so the time is cut off.
const ROUNDED: Duration = Duration::from_secs(1);
