//! Files that a person names: only a plain one is read. Whoever opens a pipe to read it waits for its writer, and a start
//! or a request waits with them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a plain file, or a link to one, without waiting for anybody.
///
/// # Errors
/// What the system says, or that it is a pipe, a device, a socket or a directory.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let no_wait = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(no_wait)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no plain file")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    /// What `open` says of a path, or nothing, if it waits.
    fn said(path: &Path) -> Option<io::Result<File>> {
        let (told, heard) = channel();
        let path = path.to_owned();
        std::thread::spawn(move || told.send(open(&path)));
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
