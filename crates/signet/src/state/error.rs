//! Why the state cannot be used: whether its rows are lost, or may be sound another time.

use std::path::PathBuf;

use signet_proto::node::ROWS_VERSION;

/// The state cannot be used, or not be written. The log has everything.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// There is none yet.
    #[error("there is no state yet")]
    Missing,
    /// Nothing was written to it that reached the disk.
    #[error(
        "the state is empty: what was written to it never reached the disk, as after a power cut"
    )]
    Empty,
    /// In the place of one of its files stands something that never ends, or leads elsewhere.
    #[error("{}: it is no plain file, and the state is made of plain files", .0.display())]
    NotPlain(PathBuf),
    /// An earlier release wrote it.
    #[error("the state was written by an earlier release")]
    Older,
    /// A later release wrote it: what this one made of it would lack what that one knows.
    #[error(
        "{}: the state is of version {version}, from a newer signet; this one reads version {ROWS_VERSION}", path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// Of another agent.
    #[error("the state is another agent's")]
    OtherAgent,
    /// It is no database, or a damaged one.
    #[error("the state is damaged: {0}")]
    Damaged(String),
    /// Its rows go to a line that the log does not have.
    #[error("the state does not fit the log")]
    Unfit,
    /// A row cannot be read.
    #[error(transparent)]
    Row(#[from] signet_proto::node::RestoreError),
    /// There is no room to open it or to write it.
    #[error("the disk is full where the state is")]
    Full,
    /// The database or the system, which may be sound another time.
    #[error("the state cannot be read or written: {0}")]
    Refused(String),
}

impl StateError {
    /// Whether the rows are of no use, so that they are made again; else they may be sound another time.
    pub const fn is_lost(&self) -> bool {
        !matches!(
            self,
            Self::Full | Self::Refused(_) | Self::Newer { .. } | Self::NotPlain(_)
        )
    }
}

/// What the disk or the system refuses is no damage: the rows may be sound.
pub(super) fn damaged(error: rusqlite::Error) -> StateError {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory, PermissionDenied,
        ReadOnly, SystemIoFailure,
    };
    match error.sqlite_error_code() {
        Some(DiskFull) => StateError::Full,
        Some(SystemIoFailure) if NO_ROOM.contains(&extended(&error)) => StateError::Full,
        Some(
            CannotOpen | DatabaseBusy | DatabaseLocked | OutOfMemory | PermissionDenied | ReadOnly
            | SystemIoFailure,
        ) => StateError::Refused(error.to_string()),
        _ => StateError::Damaged(error.to_string()),
    }
}

fn extended(error: &rusqlite::Error) -> i32 {
    let error = error.sqlite_error();
    error.map_or(0, |error| error.extended_code)
}

/// The shared memory beside the database could not be made or grown (SQLITE_IOERR_SHMOPEN,
/// SQLITE_IOERR_SHMSIZE), or a write found no room (SQLITE_IOERR_WRITE).
const NO_ROOM: [i32; 3] = [4618, 4874, 778];

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn said(extended: i32) -> StateError {
        damaged(rusqlite::Error::SqliteFailure(
            ffi::Error::new(extended),
            None,
        ))
    }

    #[test]
    fn a_full_or_refusing_disk_is_no_damage_and_costs_no_rows() {
        for full in [ffi::SQLITE_FULL, 4618, 4874, 778] {
            assert!(matches!(said(full), StateError::Full), "{full}");
        }
        for refused in [ffi::SQLITE_IOERR, ffi::SQLITE_CANTOPEN, ffi::SQLITE_BUSY] {
            assert!(matches!(said(refused), StateError::Refused(_)), "{refused}");
        }
        for lost in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB, ffi::SQLITE_ERROR] {
            assert!(said(lost).is_lost(), "{lost}");
        }
    }
}
