//! Where the checkpoint keys are: one Ed25519 key a month, which signs nothing but the checkpoints of
//! that month and is destroyed when the month is over.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use zeroize::Zeroizing;

use crate::disk::Disk;
use crate::error::{LogError, at, unsynced};
use crate::file::{is_month, make_dir, refuse_open_dir, replace, sync_dir};
use crate::note::CheckpointSecret;

/// The directory of an agent's checkpoint keys, and where new ones come from.
pub struct CheckpointKeys {
    dir: PathBuf,
    random: Box<dyn FnMut() -> io::Result<Zeroizing<[u8; 32]>> + Send>,
}

impl CheckpointKeys {
    /// Keys in files `checkpoint-YYYY-MM.key` of `dir`, mode 0600. `random` gives 32 random bytes for
    /// each new one.
    pub fn new(
        dir: impl Into<PathBuf>,
        random: impl FnMut() -> io::Result<Zeroizing<[u8; 32]>> + Send + 'static,
    ) -> Self {
        Self {
            dir: dir.into(),
            random: Box::new(random),
        }
    }

    /// The key of `month`, if it is there. A file whose key was partly overwritten by zeros before a crash holds no
    /// key.
    pub(crate) fn read(
        &self,
        disk: &Disk,
        month: &str,
    ) -> Result<Option<CheckpointSecret>, LogError> {
        if self.dir.is_dir() {
            refuse_open_dir(&self.dir)?;
        }
        let path = self.path(month);
        let mut file = match disk.open(&path, OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at(&path)(error)),
        };
        let facts = file.metadata().map_err(at(&path))?;
        if facts.mode() & 0o077 != 0 {
            return Err(LogError::OpenKey(path));
        }
        // The buffer has its whole capacity from the beginning: a buffer that grows would leave a copy of the secret in memory.
        let mut text = Zeroizing::new(String::with_capacity(TEXT));
        match (&mut file).take(TEXT as u64).read_to_string(&mut text) {
            Ok(_) => Ok(parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
            Err(error) => Err(at(&path)(error)),
        }
    }

    /// The key of `month`: the one that a start before a crash made, or a new one, durable.
    pub(crate) fn make(&mut self, disk: &Disk, month: &str) -> Result<CheckpointSecret, LogError> {
        make_dir(disk, &self.dir)?;
        if let Some(made) = self.read(disk, month)? {
            // An earlier start may have made this key and died before the name of the key's file was durable: make it
            // durable now.
            sync_dir(disk, &self.dir)?;
            return Ok(made);
        }
        let path = self.path(month);
        let seed = (self.random)().map_err(at(&path))?;
        let secret = CheckpointSecret::from_seed(&seed)
            .map_err(|error| at(&path)(io::Error::other(error)))?;
        write(disk, &path, &seed)?;
        Ok(secret)
    }

    /// Overwrites and removes every key but that of `month`. On a disk that writes new bytes to another place than
    /// the old ones, as flash does, the old bytes may stay readable; a program cannot prevent that.
    pub(crate) fn destroy_all_but(&self, disk: &Disk, month: &str) -> Result<(), LogError> {
        let kept = self.path(month);
        let mut destroyed = false;
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(at(&self.dir))?,
        };
        for entry in entries {
            let path = entry.map_err(at(&self.dir))?.path();
            if is_key(&path) && path != kept {
                destroy(disk, &path)?;
                destroyed = true;
            }
        }
        if destroyed {
            sync_dir(disk, &self.dir)
        } else {
            Ok(())
        }
    }

    fn path(&self, month: &str) -> PathBuf {
        self.dir.join(format!("{PREFIX}{month}{SUFFIX}"))
    }
}

impl fmt::Debug for CheckpointKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointKeys")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

/// Writes a key under another name first, so that at its own name it is whole or not there.
fn write(disk: &Disk, path: &Path, seed: &Zeroizing<[u8; 32]>) -> Result<(), LogError> {
    // The text has its whole capacity from the beginning: a text that grows would leave copies of the secret in memory.
    let mut text = Zeroizing::new(String::with_capacity(TEXT));
    HEXLOWER.encode_append(&seed[..], &mut text);
    text.push('\n');
    replace(disk, path, &path.with_extension("key.new"), text.as_bytes()).map(drop)
}

fn parse(text: &str) -> Option<CheckpointSecret> {
    let mut seed = Zeroizing::new([0; 32]);
    let text = text.strip_suffix('\n').filter(|text| text.len() == 64)?;
    HEXLOWER.decode_mut(text.as_bytes(), &mut seed[..]).ok()?;
    CheckpointSecret::from_seed(&seed).ok()
}

fn is_key(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let rest = name.and_then(|name| name.strip_prefix(PREFIX));
    rest.and_then(|rest| rest.split_at_checked(7))
        // A half-made file counts as a key too: a start that died while it made a key may have left the whole secret in that
        // file.
        .is_some_and(|(month, end)| is_month(month) && [SUFFIX, HALF_MADE].contains(&end))
}

fn destroy(disk: &Disk, path: &Path) -> Result<(), LogError> {
    // Overwrite plain files only: a link is just removed, since it may lead to any file of this user.
    if path.symlink_metadata().map_err(at(path))?.is_file() {
        let file = disk.open(path, OpenOptions::new().write(true));
        let file = file.map_err(at(path))?;
        let length = file.metadata().map_err(at(path))?.len();
        // Write no more zeros than a key has bytes: somebody may have put a huge file under this name.
        let zeros = vec![0; usize::try_from(length).unwrap_or(0).min(TEXT)];
        disk.write(&file, path, &zeros).map_err(at(path))?;
        // Sync the zeros before the file is removed: the system need not write the contents of a removed file to the disk.
        disk.sync_all(&file, path).map_err(unsynced(path))?;
    }
    disk.remove(path).map_err(at(path))
}

const PREFIX: &str = "checkpoint-";
const SUFFIX: &str = ".key";
const HALF_MADE: &str = ".key.new";
/// 64 hexadecimal digits and a newline, and a byte to see that there is more.
const TEXT: usize = 66;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn keys(dir: &Path) -> CheckpointKeys {
        CheckpointKeys::new(dir, || Ok(Zeroizing::new([7; 32])))
    }

    #[test]
    fn keys_that_are_over_are_overwritten_and_removed_and_nothing_else_is() {
        let (home, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        let dir = home.path().join("keys");
        let mut keys = keys(&dir);
        keys.destroy_all_but(&disk, "2026-02").unwrap();
        for month in ["2026-01", "2026-02"] {
            keys.make(&disk, month).unwrap();
        }
        let place = |name: &str| fs::write(dir.join(name), "half").unwrap();
        let kept = [
            "checkpoint-2026-13.key",
            "checkpoint-2026-01.key.bak",
            "checkpoint-2026-01",
            "notes",
        ];
        kept.into_iter().for_each(place);
        place("checkpoint-2026-03.key.new");
        // A second hard link keeps a removed key file's bytes readable: the key must have been overwritten with zeros before.
        let other_name = home.path().join("other-name");
        fs::hard_link(dir.join("checkpoint-2026-01.key"), &other_name).unwrap();
        keys.destroy_all_but(&disk, "2026-02").unwrap();
        assert_eq!(fs::read(other_name).unwrap(), [0; 65]);
        let mut left: Vec<_> = fs::read_dir(&dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        let mut expected = [&kept[..], &["checkpoint-2026-02.key"]].concat();
        expected.sort_unstable();
        assert_eq!(left, expected);
    }

    #[test]
    fn a_folder_of_keys_that_cannot_be_read_is_not_taken_for_none() {
        let (home, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        let dir = home.path().join("keys");
        fs::write(&dir, "no folder").unwrap();
        let refused = keys(&dir).destroy_all_but(&disk, "2026-02");
        assert!(matches!(refused, Err(LogError::Io { .. })), "{refused:?}");
        let refused = keys(&dir).read(&disk, "2026-02").map(drop);
        assert!(matches!(refused, Err(LogError::Io { .. })), "{refused:?}");
    }

    #[test]
    fn only_a_whole_key_that_its_owner_alone_reads_is_one() {
        let (home, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        let dir = home.path().join("keys");
        let public = keys(&dir).make(&disk, "2026-02").unwrap().public().clone();
        let path = dir.join("checkpoint-2026-02.key");
        let text = fs::read(&path).unwrap();
        let read = || {
            keys(&dir)
                .read(&disk, "2026-02")
                .map(|key| key.map(|key| key.public().clone()))
        };
        assert_eq!(read().unwrap(), Some(public.clone()));
        assert!(keys(&dir).read(&disk, "2026-03").unwrap().is_none());
        let again = keys(&dir).make(&disk, "2026-02").unwrap();
        assert_eq!(*again.public(), public, "what a start before a crash made");
        for mode in [0o640, 0o604, 0o620, 0o601] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(read(), Err(LogError::OpenKey(_))), "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let zeroed = [&[0; 9], &text[9..]].concat();
        let other = [&b"g"[..], &text[1..]].concat();
        let longer = [&text[..], b"0"].concat();
        for bytes in [
            &text[..64],
            &text[1..],
            &zeroed,
            &other,
            &longer,
            b"\xff\xfe",
            b"",
        ] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(read().unwrap(), None, "{bytes:?}");
        }
    }
}
