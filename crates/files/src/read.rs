//! The text of a file that says what a program does.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// Why the file is not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadFault {
    /// The system does not give it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Others may write it, and so change what the program does; its permission bits.
    #[error("it has mode {0:04o}: others may write it")]
    Writable(u32),
}

/// At most `most` bytes of a plain file, which must not be writable for those whose mode bits are `closed_to`.
///
/// # Errors
/// [`ReadFault`]; `Io` also where it is no plain file, or no UTF-8.
pub fn read(path: &Path, most: u64, closed_to: u32) -> Result<String, ReadFault> {
    let file = open_plain(path)?;
    // Ask the open file for its mode, not the path: after a look at the path, somebody could put another file there.
    let mode = file.metadata()?.mode() & 0o7777;
    if mode & closed_to != 0 {
        return Err(ReadFault::Writable(mode));
    }
    let mut text = String::new();
    file.take(most).read_to_string(&mut text)?;
    Ok(text)
}

/// Opens a plain file, or a link to one, without waiting for anybody: whoever opens a pipe to read it waits for its
/// writer, and a start or a request waits with them.
///
/// # Errors
/// What the system says; `InvalidInput` for a pipe, a device, a socket or a directory.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let no_wait = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(no_wait).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no plain file",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    /// What `open_plain` says of a path, or nothing, if it waits.
    fn said(path: &Path) -> Option<io::Result<File>> {
        let (told, heard) = channel();
        let path = path.to_owned();
        std::thread::spawn(move || told.send(open_plain(&path)));
        heard.recv_timeout(Duration::from_secs(20)).ok()
    }

    #[test]
    fn a_pipe_that_nobody_writes_into_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), dir.path()] {
            let error = said(path).unwrap().unwrap_err();
            assert_eq!(error.to_string(), "it is no plain file");
        }
        let error = said(&dir.path().join("nothing")).unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_link_to_a_plain_file_is_that_file() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            let mut text = String::new();
            let mut opened = said(path).unwrap().unwrap();
            opened.read_to_string(&mut text).unwrap();
            assert_eq!(text, "text");
        }
    }
}
