//! The files of a log directory: their names, their rights, what it takes to make them durable.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;
use sha2::{Digest as _, Sha256};
use signet_proto::ids::Digest;

use crate::error::{LogError, at};

/// The name of a month's file; `month` is `YYYY-MM`.
pub(crate) fn month_name(month: &str) -> String {
    format!("{PREFIX}{month}{SUFFIX}")
}

/// The month that a file name speaks of, if it is that of a log file.
pub(crate) fn month_of(path: &Path) -> Option<&str> {
    let month = path
        .file_name()?
        .to_str()?
        .strip_prefix(PREFIX)?
        .strip_suffix(SUFFIX)?;
    is_month(month).then_some(month)
}

/// The log files of a directory, oldest first.
pub(crate) fn months(dir: &Path) -> Result<Vec<PathBuf>, LogError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(at(dir))? {
        let path = entry.map_err(at(dir))?.path();
        files.extend(month_of(&path).is_some().then_some(path));
    }
    files.sort_unstable();
    Ok(files)
}

/// The files that hold torn bytes set aside where line `seq` belongs, by name.
pub(crate) fn torn_files(dir: &Path, seq: u64) -> Result<Vec<PathBuf>, LogError> {
    let (whole, numbered) = (format!("{TORN}{seq}"), format!("{TORN}{seq}-"));
    let is_torn = |name: &str| {
        let rest = name
            .strip_prefix(PREFIX)
            .filter(|rest| rest.get(..7).is_some_and(is_month));
        rest.and_then(|rest| rest.get(7..))
            .is_some_and(|rest| rest == whole || rest.starts_with(&numbered))
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(at(dir))? {
        let entry = entry.map_err(at(dir))?;
        files.extend(
            entry
                .file_name()
                .to_str()
                .is_some_and(is_torn)
                .then(|| entry.path()),
        );
    }
    files.sort_unstable();
    Ok(files)
}

/// Makes the directory, for its owner alone, and its name durable.
pub(crate) fn make_dir(dir: &Path) -> Result<(), LogError> {
    if dir.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(at(dir))?;
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    sync_dir(parent.unwrap_or(Path::new(".")))
}

/// Takes the directory for one writer, until the file is dropped or the process dies.
pub(crate) fn lock_dir(dir: &Path) -> Result<File, LogError> {
    let lock = File::open(dir).map_err(at(dir))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(LogError::Held(dir.to_owned())),
        Err(TryLockError::Error(source)) => Err(at(dir)(source)),
    }
}

/// Makes a file that must not exist yet, and its name durable.
pub(crate) fn create(path: &Path) -> Result<File, LogError> {
    let file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(at(path))?;
    sync_dir(path.parent().unwrap_or(Path::new(".")))?;
    Ok(file)
}

pub(crate) fn open_append(path: &Path) -> Result<File, LogError> {
    OpenOptions::new().append(true).open(path).map_err(at(path))
}

pub(crate) fn sync_dir(dir: &Path) -> Result<(), LogError> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(at(dir))
}

/// Moves the bytes of `path` from `start` on into a file of their own, durable before they go.
/// A file that nothing is left of goes too.
pub(crate) fn set_aside(path: &Path, start: u64, seq: u64) -> Result<(), LogError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut log = File::options()
        .read(true)
        .write(true)
        .open(path)
        .map_err(at(path))?;
    if log.metadata().map_err(at(path))?.len() > start {
        copy_aside(&mut log, start, path, seq)?;
        sync_dir(dir)?;
        log.set_len(start)
            .and_then(|()| log.sync_all())
            .map_err(at(path))?;
    }
    if start == 0 {
        fs::remove_file(path).map_err(at(path))?;
        sync_dir(dir)?;
    }
    Ok(())
}

fn copy_aside(log: &mut File, start: u64, path: &Path, seq: u64) -> Result<(), LogError> {
    let (mut torn, name) = create_torn(path, seq)?;
    log.seek(SeekFrom::Start(start)).map_err(at(path))?;
    io::copy(log, &mut torn)
        .and_then(|_| torn.sync_all())
        .map_err(at(&name))
}

/// A new name each time: a crash may come between any two steps, and evidence is not overwritten.
fn create_torn(path: &Path, seq: u64) -> Result<(File, PathBuf), LogError> {
    let mut name = path.with_extension(format!("torn-{seq}"));
    for number in 2.. {
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&name)
        {
            Ok(file) => return Ok((file, name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < TORN_TRIES => {}
            Err(error) => return Err(at(&name)(error)),
        }
        name = path.with_extension(format!("torn-{seq}-{number}"));
    }
    Err(LogError::Stopped)
}

/// Length and SHA-256 of a file, with flat memory.
pub(crate) fn measure(path: &Path) -> Result<(u64, Digest), LogError> {
    let mut file = File::open(path).map_err(at(path))?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut chunk).map_err(at(path))?;
        let Some(read @ [_, ..]) = chunk.get(..read) else {
            break;
        };
        hash.update(read);
        bytes += read.len() as u64;
    }
    Ok((bytes, Digest(hash.finalize().into())))
}

/// A month's file open for appending, with room reserved ahead of its end.
#[derive(Debug)]
pub(crate) struct Tape {
    pub(crate) path: PathBuf,
    file: File,
    len: u64,
    reserved: u64,
}

impl Tape {
    pub(crate) fn new(path: PathBuf, file: File) -> Result<Self, LogError> {
        let len = file.metadata().map_err(at(&path))?.len();
        Ok(Self {
            path,
            file,
            len,
            reserved: 0,
        })
    }

    /// Writes `bytes` at the end in one go and waits until the disk has them.
    pub(crate) fn write_durably(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        self.reserve(bytes.len() as u64);
        self.file
            .write_all(bytes)
            .and_then(|()| self.file.sync_data())
            .map_err(at(&self.path))?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Best effort: a file system without it writes all the same.
    fn reserve(&mut self, more: u64) {
        let needed = self.len.saturating_add(more);
        if needed <= self.reserved {
            return;
        }
        let ahead = more.saturating_add(RESERVED);
        self.reserved =
            match rustix::fs::fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.len, ahead) {
                Ok(()) => self.len.saturating_add(ahead),
                Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => u64::MAX,
                Err(_) => needed,
            };
    }
}

/// Whether `text` is `YYYY-MM`.
pub(crate) fn is_month(text: &str) -> bool {
    let shape = text.len() == 7
        && text
            .bytes()
            .zip(*b"0000-00")
            .all(|(byte, model)| match model {
                b'0' => byte.is_ascii_digit(),
                mark => byte == mark,
            });
    shape
        && matches!(
            text.get(5..).and_then(|month| month.parse().ok()),
            Some(1_u8..=12)
        )
}

const PREFIX: &str = "inter-agent-";
const SUFFIX: &str = ".jsonl";
const TORN: &str = ".torn-";
const TORN_TRIES: u32 = 1000;
/// Reserved beyond the end, so that a full disk shows before it tears a line.
const RESERVED: u64 = 4 * 1024 * 1024;
