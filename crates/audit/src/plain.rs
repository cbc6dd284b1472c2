//! A log is made of plain files: nothing else is opened, and no link is followed.
//!
//! A pipe or a device never ends, and a link leads a writer to somebody's file. Whoever can write in the
//! log's folder could put either there.

use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// Something that is no plain file stands where one belongs.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it is {0}")]
pub(crate) struct NotPlain(pub(crate) &'static str);

/// Opens a plain file as `options` say. [`NotPlain`] is inside the error when it is anything else.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // Without NONBLOCK the opening of a pipe would wait for a process at its other end. Without NOCTTY a terminal at
    // this path could become the controlling terminal of this process.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    match options.clone().custom_flags(flags).open(path) {
        // Ask the open file for its type, not the path: by now another file may be at the path.
        Ok(file) => match other_than_plain(file.metadata()?.file_type()) {
            None => Ok(file),
            Some(what) => Err(io::Error::other(what)),
        },
        Err(error) => {
            let found = path.symlink_metadata().ok();
            let what = found.and_then(|facts| other_than_plain(facts.file_type()));
            Err(what.map_or(error, io::Error::other))
        }
    }
}

/// Opens a plain file for reading.
pub(crate) fn read(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true))
}

fn other_than_plain(found: FileType) -> Option<NotPlain> {
    Some(NotPlain(if found.is_file() {
        return None;
    } else if found.is_symlink() {
        "a symbolic link"
    } else if found.is_dir() {
        "a directory"
    } else if found.is_fifo() {
        "a pipe"
    } else if found.is_socket() {
        "a socket"
    } else {
        "a device"
    }))
}
