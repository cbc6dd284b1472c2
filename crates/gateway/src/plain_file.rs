//! Files that a person names or wrote. Only a plain file is read: opening a pipe waits until somebody writes to it, and the start
//! of the gateway, or a request, would wait with it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::de::DeserializeOwned;
use signet_text::twice;

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

/// Why a file that says who is let in, or what is run, is not read.
#[derive(Debug)]
pub(crate) enum UnreadFile {
    /// What the system says, or that it is no plain file.
    Io(io::Error),
    /// Everybody may write it.
    Open,
}

/// The text of a plain file that not everybody may write.
pub(crate) fn read_own(path: &Path) -> Result<String, UnreadFile> {
    let mut file = open(path).map_err(UnreadFile::Io)?;
    if file.metadata().map_err(UnreadFile::Io)?.mode() & 0o002 != 0 {
        return Err(UnreadFile::Open);
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(UnreadFile::Io)?;
    Ok(text)
}

/// Reads TOML.
///
/// # Errors
/// Where in the text the first fault is, and what is wrong; of what stands twice, where it stands first.
pub(crate) fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, (usize, String)> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let is_twice = error.message().contains("duplicate key");
        let twice = is_twice.then(|| twice(text, at)).flatten();
        let what = twice.map_or_else(|| error.message().to_owned(), |twice| twice.what());
        (at, what)
    })
}

/// The line, from 1 on, in which that byte of a text stands.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
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
