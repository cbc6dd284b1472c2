//! How a database is opened: only where it is a plain file of this release or an older one, and so that one of a newer
//! release stays as it is.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use signet_proto::node::ROWS_VERSION;

use super::error::{StateError, damaged};

/// Whether there is a state. SQLite waits for a writer where a pipe stands in the place of one of its files.
pub(super) fn is_there(path: &Path) -> Result<bool, StateError> {
    for end in ["-wal", "-shm", "-journal", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        match fs::symlink_metadata(&name) {
            Ok(facts) if !facts.is_file() => return Err(StateError::NotPlain(name.into())),
            Ok(_) => {}
            Err(_) if end.is_empty() => return Ok(false),
            Err(_) => {}
        }
    }
    Ok(true)
}

/// Opens a database so that nothing beside it or in it is written, and what waits beside it is not read.
pub(super) fn open_untouched(path: &Path) -> Result<Connection, StateError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        .union(OpenFlags::SQLITE_OPEN_URI)
        .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);
    // Only a URI can say `immutable`, with which SQLite opens the file as one that nobody changes, and writes nothing beside
    // it.
    Connection::open_with_flags(uri(&below_its_folder(path)), flags).map_err(damaged)
}

/// SQLite says 0 of a database in which nothing was written yet.
pub(super) fn demand_present(version: u32) -> Result<(), StateError> {
    match version {
        ROWS_VERSION => Ok(()),
        0 => Err(StateError::Empty),
        _ => Err(StateError::Older),
    }
}

/// Refuses what a newer release left by a clean stop, before SQLite makes a file beside it.
pub(super) fn refuse_newer(path: &Path) -> Result<(), StateError> {
    match open_untouched(path).and_then(|db| version_of(&db, path)) {
        Err(newer @ StateError::Newer { .. }) => Err(newer),
        // Ignore any other fault here: it is reported when the file is opened for use.
        _ => Ok(()),
    }
}

/// The version of the rows, if this release can know it.
pub(super) fn version_of(db: &Connection, path: &Path) -> Result<u32, StateError> {
    let version = db.query_row("PRAGMA user_version", [], |row| row.get(0));
    match version.map_err(damaged)? {
        version if version > ROWS_VERSION => Err(StateError::Newer {
            path: path.to_owned(),
            version,
        }),
        version => Ok(version),
    }
}

/// SQLite follows no link on the whole way to a file. Which folder the home is, its person said: a link at the
/// place of the file itself is what would lead to somebody else's.
pub(super) fn below_its_folder(path: &Path) -> PathBuf {
    let folder = path.parent().map(fs::canonicalize).and_then(Result::ok);
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// SQLite's name for a file that does not change meanwhile.
fn uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            // Escape all other bytes: a question mark in a path would begin the parameters, and a percent sign an escape.
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri + "?immutable=1"
}

pub(super) const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);
