//! Where the checkpoint keys are: one Ed25519 key a month, which signs nothing but the checkpoints of
//! that month and is destroyed when the month is over.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::fs::OFlags;
use zeroize::Zeroizing;

use crate::error::{LogError, at};
use crate::file::{is_month, make_dir, sync_dir};
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

    /// The key of `month`, if it is there. What is left of a key half destroyed is none.
    pub(crate) fn read(&self, month: &str) -> Result<Option<CheckpointSecret>, LogError> {
        let path = self.path(month);
        let mut file = match open_nofollow(OpenOptions::new().read(true), &path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at(&path)(error)),
        };
        let facts = file.metadata().map_err(at(&path))?;
        if !facts.is_file() || facts.mode() & 0o077 != 0 {
            return Err(LogError::OpenKey(path));
        }
        let mut text = Zeroizing::new(String::with_capacity(TEXT));
        match (&mut file).take(TEXT as u64).read_to_string(&mut text) {
            Ok(_) => Ok(parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
            Err(error) => Err(at(&path)(error)),
        }
    }

    /// The key of `month`: the one that a start before a crash made, or a new one, durable.
    pub(crate) fn make(&mut self, month: &str) -> Result<CheckpointSecret, LogError> {
        make_dir(&self.dir)?;
        if let Some(made) = self.read(month)? {
            return Ok(made);
        }
        let path = self.path(month);
        let seed = (self.random)().map_err(at(&path))?;
        let secret = CheckpointSecret::from_seed(&seed)
            .map_err(|error| at(&path)(io::Error::other(error)))?;
        self.write(&path, &seed)?;
        Ok(secret)
    }

    /// Destroys every key but that of `month`. A file system that writes elsewhere than in place, as
    /// flash does, may keep the old bytes: nothing better can be asked of it here.
    pub(crate) fn destroy_all_but(&self, month: &str) -> Result<(), LogError> {
        let kept = self.path(month);
        let mut destroyed = false;
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(at(&self.dir))?,
        };
        for entry in entries {
            let path = entry.map_err(at(&self.dir))?.path();
            if is_key(&path) && path != kept {
                destroy(&path).map_err(at(&path))?;
                destroyed = true;
            }
        }
        if destroyed {
            sync_dir(&self.dir)
        } else {
            Ok(())
        }
    }

    /// Under another name first: a key is whole, or not there.
    fn write(&self, path: &Path, seed: &Zeroizing<[u8; 32]>) -> Result<(), LogError> {
        // The whole capacity at once: growing would leave copies of the secret behind.
        let mut text = Zeroizing::new(String::with_capacity(TEXT));
        HEXLOWER.encode_append(&seed[..], &mut text);
        text.push('\n');
        let new = path.with_extension("key.new");
        if let Err(error) = fs::remove_file(&new)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(at(&new)(error));
        }
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        open_nofollow(options, &new)
            .and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&new, path))
            .map_err(at(&new))?;
        sync_dir(&self.dir)
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
        .is_some_and(|(month, end)| is_month(month) && [SUFFIX, HALF_MADE].contains(&end))
}

fn destroy(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_file() {
        let mut file = open_nofollow(OpenOptions::new().write(true), path)?;
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(0);
        file.write_all(&vec![0; length.min(TEXT)])?;
        file.sync_all()?;
    }
    fs::remove_file(path)
}

fn open_nofollow(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Without blocking: a pipe in the place of a file would wait for a writer.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path)
}

const PREFIX: &str = "checkpoint-";
const SUFFIX: &str = ".key";
const HALF_MADE: &str = ".key.new";
/// 64 hexadecimal digits and a newline, and a byte to see that there is more.
const TEXT: usize = 66;
