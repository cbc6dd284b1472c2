//! The files of a log directory: their names, and what it takes to make them durable.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use signet_proto::ids::Digest;

use crate::disk::Disk;
use crate::error::{LogError, at, unsynced};
use crate::plain;

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

/// The files of checkpoints in a directory.
pub(crate) fn checkpoint_files(dir: &Path) -> Result<Vec<PathBuf>, LogError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(at(dir))? {
        let path = entry.map_err(at(dir))?.path();
        let is_one = path.extension().is_some_and(|end| end == "checkpoints")
            && month_of(&path.with_extension("jsonl")).is_some();
        files.extend(is_one.then_some(path));
    }
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
        let is_one = entry.file_name().to_str().is_some_and(is_torn);
        files.extend(is_one.then(|| entry.path()));
    }
    files.sort_unstable();
    Ok(files)
}

/// Makes the directory and those above it, for their owner alone, and their names durable.
pub(crate) fn make_dir(disk: &Disk, dir: &Path) -> Result<(), LogError> {
    if dir.is_dir() {
        return refuse_open_dir(dir);
    }
    let is_made = |above: &&Path| !above.as_os_str().is_empty() && !above.is_dir();
    let made: Vec<_> = dir.ancestors().take_while(is_made).collect();
    disk.make_dir(dir).map_err(at(dir))?;
    // Sync the folder above each new directory: otherwise a power cut may lose a directory's name, and with it the durable
    // lines below.
    made.iter().try_for_each(|made| {
        let parent = made.parent().filter(|above| !above.as_os_str().is_empty());
        sync_dir(disk, parent.unwrap_or(Path::new(".")))
    })
}

/// Who may write in the directory of a log or of its keys can put any file there, or take it away.
///
/// # Errors
/// [`LogError::OpenFolder`], or the system refuses.
pub(crate) fn refuse_open_dir(dir: &Path) -> Result<(), LogError> {
    let mode = dir.metadata().map_err(at(dir))?.mode() & 0o7777;
    match mode & OTHERS_WRITE {
        0 => Ok(()),
        _ => Err(LogError::OpenFolder {
            path: dir.to_owned(),
            mode,
        }),
    }
}

/// The folder of a log and the one above it, as a start asks of them.
///
/// # Errors
/// [`LogError::OpenFolder`], [`LogError::OpenFolderAbove`], or the system refuses.
pub fn refuse_open_folders(dir: &Path) -> Result<(), LogError> {
    refuse_open_dir(dir)?;
    refuse_open_folder_above(dir)
}

/// Another folder can be put in the log's place by everybody who may write in the folder above. A sticky folder,
/// such as `/tmp`, lets nobody move what is another's.
fn refuse_open_folder_above(dir: &Path) -> Result<(), LogError> {
    let real = dir.canonicalize().map_err(at(dir))?;
    // If the log's folder is a link, somebody could exchange either the link or the folder that it leads to: check the
    // folder above each of the two.
    for path in [dir.parent(), real.parent()].into_iter().flatten() {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let facts = path.metadata().map_err(at(path))?;
        let mode = facts.mode() & 0o7777;
        if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
            return Err(LogError::OpenFolderAbove {
                path: path.to_owned(),
                mode,
                is_ours: facts.uid() == rustix::process::geteuid().as_raw(),
            });
        }
    }
    Ok(())
}

/// Takes the directory for one writer, until the file is dropped or the process dies.
pub(crate) fn lock_dir(disk: &Disk, dir: &Path) -> Result<File, LogError> {
    // Lock the directory itself: a separate lock file could be removed and made again while a writer still runs.
    let lock = disk.open_dir(dir).map_err(at(dir))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(LogError::Held(dir.to_owned())),
        Err(TryLockError::Error(source)) => Err(at(dir)(source)),
    }
}

/// Makes the names in a directory durable. An fsync that failed is not tried again, since a second one would not
/// tell of the loss.
pub(crate) fn sync_dir(disk: &Disk, dir: &Path) -> Result<(), LogError> {
    disk.sync_dir(dir).map_err(unsynced(dir))
}

/// Puts a new file with these bytes into the place of the one at `path`: the bytes are durable before the file
/// gets that name. Until then it stands at `new`, where an earlier try that a crash ended may have left one.
pub(crate) fn replace(
    disk: &Disk,
    path: &Path,
    new: &Path,
    bytes: &[u8],
) -> Result<File, LogError> {
    remove_left(disk, new)?;
    let file = disk.create_with(new, File::options().write(true));
    let file = file.map_err(at(new))?;
    disk.write_at(&file, new, 0, bytes).map_err(at(new))?;
    disk.sync_all(&file, new).map_err(unsynced(new))?;
    disk.rename(new, path).map_err(at(new))?;
    sync_dir(disk, path.parent().unwrap_or(Path::new(".")))?;
    Ok(file)
}

/// Removes what an earlier try may have left at `path`, where a new file is about to be made.
pub(crate) fn remove_left(disk: &Disk, path: &Path) -> Result<(), LogError> {
    // `symlink_metadata` does not follow a link. `exists` would call a dangling link absent, and creating the new file
    // would then fail.
    let removed = fs::symlink_metadata(path).and_then(|_| disk.remove(path));
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

/// Moves the bytes of `path` from `start` on into a file of their own, durable before they go.
/// A file that nothing is left of goes too.
pub(crate) fn set_aside(disk: &Disk, path: &Path, start: u64, seq: u64) -> Result<(), LogError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let log = disk
        .open(path, File::options().read(true).write(true))
        .map_err(at(path))?;
    if log.metadata().map_err(at(path))?.len() > start {
        let (torn, name) = create_torn(disk, path, seq)?;
        let len = log.metadata().map_err(at(path))?.len();
        copy(disk, &log, path, &torn, &name, start..len)?;
        sync_dir(disk, dir)?;
        disk.truncate(&log, path, start).map_err(at(path))?;
        disk.sync_all(&log, path).map_err(unsynced(path))?;
    }
    if start == 0 {
        disk.remove(path).map_err(at(path))?;
        sync_dir(disk, dir)?;
    }
    Ok(())
}

/// Copies a stretch of the file `from` at `path` to the end of the file `to` at `name`, and waits until the disk has
/// it.
pub(crate) fn copy(
    disk: &Disk,
    from: &File,
    path: &Path,
    to: &File,
    name: &Path,
    stretch: Range<u64>,
) -> Result<(), LogError> {
    let mut at_byte = stretch.start;
    let mut chunk = Vec::new();
    while at_byte < stretch.end {
        let len = (stretch.end - at_byte).min(CHUNK);
        chunk.resize(usize::try_from(len).unwrap_or(0), 0);
        from.read_exact_at(&mut chunk, at_byte).map_err(at(path))?;
        disk.write(to, name, &chunk).map_err(at(name))?;
        at_byte += len;
    }
    disk.sync_all(to, name).map_err(unsynced(name))
}

/// Makes the file for torn bytes, under a name that no earlier one has: what was set aside before is evidence, and
/// is not overwritten.
fn create_torn(disk: &Disk, path: &Path, seq: u64) -> Result<(File, PathBuf), LogError> {
    let mut name = path.with_extension(format!("torn-{seq}"));
    for number in 2.. {
        match disk.create(&name) {
            Ok(file) => return Ok((file, name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < TORN_TRIES => {}
            Err(error) => return Err(at(&name)(error)),
        }
        name = path.with_extension(format!("torn-{seq}-{number}"));
    }
    // This line is never reached, since `2..` has no end: the loop is left only by `return`.
    Err(LogError::Stopped)
}

/// Length and SHA-256 of a file, with flat memory.
pub(crate) fn measure(path: &Path) -> Result<(u64, Digest), LogError> {
    let mut file = plain::read(path).map_err(at(path))?;
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
/// The mode bits by which others than the owner write.
const OTHERS_WRITE: u32 = 0o022;
/// The mode bit by which only its owner moves or removes what lies in a folder.
const STICKY: u32 = 0o1000;
const TORN: &str = ".torn-";
const TORN_TRIES: u32 = 1000;
/// Copied at once.
const CHUNK: u64 = 1024 * 1024;
