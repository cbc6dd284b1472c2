//! The person's keys go from a home to a place of theirs: copied, synced, read back and compared, and only then removed.
//!
//! ```text
//! DIR/NAME   made whole, under its own name      ─┐
//! DIR/NAME   read back from the disk, compared    ├─ for all of them, before the first is removed
//! keys/NAME  ──▶ keys/.stashed-NAME  ──▶ compared once more ──▶ destroyed
//! ```
//!
//! A kill anywhere leaves each key in the home, at DIR, or at both; the same command goes on from there. A change of keys that
//! another process makes meanwhile puts its new key at `keys/NAME`, and what is destroyed has another name by then.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use zeroize::Zeroizing;

use super::{
    AUDIT, CONTROL, CONTROL_CERTIFICATE, KeystoreError, NEXT_ROOT, ROOT, disk, is_waiting, kept,
};
use crate::files::private::{self, PrivateError, at};
use crate::home::Home;

/// The keys were not moved. Each is where it was, or at both places.
#[derive(Debug, thiserror::Error)]
pub enum StashError {
    /// A key of the home, or its copy, could not be read or written.
    #[error(transparent)]
    Keys(#[from] KeystoreError),
    /// No key of a person's lies in the home.
    #[error("no key of a person's lies in {}", .0.display())]
    Nothing(PathBuf),
    /// The place is no directory.
    #[error("{} is no directory", .0.display())]
    NoDirectory(PathBuf),
    /// The place is within the home.
    #[error("{} lies within the home", .0.display())]
    Within(PathBuf),
    /// The place, or a directory above it, is somebody else's to change.
    #[error("{} is somebody else's to write: mode {mode:04o}, user {owner}", path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// The user id of its owner.
        owner: u32,
    },
    /// Another key, or something else, has the name there.
    #[error("{} is there already, and is not a copy of this key", .0.display())]
    Other(PathBuf),
    /// The file at both places is the same one: a link.
    #[error("{} is the very file in the home, by another name", .0.display())]
    SameFile(PathBuf),
    /// A change of keys was interrupted.
    #[error("a change of keys was interrupted, and may need these keys")]
    Unfinished,
}

/// A key that is to be moved.
struct PersonsKey {
    /// Where it lies in the home.
    from: PathBuf,
    /// Its name at the new place.
    name: String,
    secret: Zeroizing<String>,
}

/// Moves the person's keys of `home` into the directory `to`, and gives their names.
///
/// # Errors
/// Says what is in the way. No key is removed before all of them are safe at the new place.
pub fn stash(home: &Home, to: &Path) -> Result<Vec<String>, StashError> {
    if is_waiting(home) {
        return Err(StashError::Unfinished);
    }
    refuse_place(home, to)?;
    finish_removals(home)?;
    let keys = persons_keys(home)?;
    if keys.is_empty() {
        return Err(StashError::Nothing(home.join("keys")));
    }
    // Look at every name before the first copy is made: a stick that holds another person's keys is left as it is.
    for key in &keys {
        is_copied(key, to)?;
    }
    for key in &keys {
        if !is_copied(key, to)? {
            disk::create_whole(&to.join(&key.name), key.secret.as_bytes())?;
        }
    }
    carry_certificate(home, to)?;
    for key in &keys {
        if !is_copied(key, to)? {
            return Err(StashError::Other(to.join(&key.name)));
        }
    }
    for key in &keys {
        remove(home, key, to)?;
    }
    Ok(keys.into_iter().map(|key| key.name).collect())
}

/// Every key of the person's in the home, and what an earlier run had begun to remove.
fn persons_keys(home: &Home) -> Result<Vec<PersonsKey>, KeystoreError> {
    let mut found = Vec::new();
    let old = kept(home)?.into_iter();
    let old = old.filter(|old| OLD_KINDS.contains(&old.kind));
    let old = old.filter_map(|old| old.path.file_name()?.to_str().map(str::to_owned));
    let names = [ROOT, NEXT_ROOT, CONTROL, AUDIT].map(str::to_owned);
    for name in names.into_iter().chain(old) {
        let here = key_at(home.key_file(&name), name.clone())?;
        // Where a new key has the name by now, the one that lies aside is told apart from it.
        let earlier = match here {
            Some(_) => format!("earlier-{name}"),
            None => name.clone(),
        };
        found.extend(here);
        found.extend(key_at(home.key_file(&format!("{ASIDE}{name}")), earlier)?);
    }
    Ok(found)
}

/// The names of the person's keys that lie in the home.
///
/// # Errors
/// When they cannot be looked at.
pub fn persons_names(home: &Home) -> Result<Vec<String>, KeystoreError> {
    // Without a key store there is no key of anybody's: an uninstall was interrupted behind it.
    if !home.join("keys").exists() {
        return Ok(Vec::new());
    }
    let keys = persons_keys(home)?.into_iter();
    Ok(keys.map(|key| key.name).collect())
}

/// The key at that path, if there is one. A link is the person's own way to keep a key elsewhere: it is no key that lies here.
fn key_at(from: PathBuf, name: String) -> Result<Option<PersonsKey>, KeystoreError> {
    match from.symlink_metadata() {
        Ok(facts) if facts.is_file() => {
            let secret = private::read(&from)?;
            let is_key = !is_overwritten(&secret);
            Ok(is_key.then_some(PersonsKey { from, name, secret }))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at(&from)(error).into()),
    }
}

/// Takes away what an earlier run had compared with its copy and begun to overwrite.
fn finish_removals(home: &Home) -> Result<(), StashError> {
    let directory = home.join("keys");
    for entry in std::fs::read_dir(&directory).map_err(at(&directory))? {
        let entry = entry.map_err(at(&directory))?;
        let is_aside = entry.file_name().to_string_lossy().starts_with(ASIDE);
        if is_aside && is_overwritten(&private::read(&entry.path())?) {
            disk::destroy(&entry.path())?;
        }
    }
    Ok(())
}

/// Whether a key file was overwritten, if only in part: no key has a zero byte in its file.
fn is_overwritten(text: &str) -> bool {
    text.contains('\0')
}

/// Refuses a place within the home, and one that others may write.
fn refuse_place(home: &Home, to: &Path) -> Result<(), StashError> {
    let whole = to.canonicalize().ok().filter(|whole| whole.is_dir());
    let whole = whole.ok_or_else(|| StashError::NoDirectory(to.to_owned()))?;
    let me = rustix::process::geteuid().as_raw();
    let own = [home.path().to_owned(), home.join("keys")];
    let own = own.iter().filter_map(|path| path.metadata().ok());
    let own: Vec<_> = own.map(|facts| (facts.dev(), facts.ino())).collect();
    for place in whole.ancestors() {
        let facts = place.metadata().map_err(at(place))?;
        // Compare the directories and not their names: the home may be mounted at a second place.
        if own.contains(&(facts.dev(), facts.ino())) {
            return Err(StashError::Within(to.to_owned()));
        }
        let (mode, owner) = (facts.mode() & 0o7777, facts.uid());
        let is_foreign = owner != me && owner != 0;
        // In a directory with the sticky bit, such as /tmp, nobody renames what is another's.
        let is_sticky = mode & 0o1000 != 0 && place != whole;
        if is_foreign || (mode & 0o022 != 0 && !is_sticky) {
            return Err(StashError::Open {
                path: place.to_owned(),
                mode,
                owner,
            });
        }
    }
    Ok(())
}

/// Whether the place has a copy of the key: another file, of its owner's alone, with the same bytes, as the disk has them.
fn is_copied(key: &PersonsKey, to: &Path) -> Result<bool, StashError> {
    let path = to.join(&key.name);
    let facts = match path.symlink_metadata() {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(at(&path)(error).into()),
    };
    let from = key.from.symlink_metadata().map_err(at(&key.from))?;
    if (facts.dev(), facts.ino()) == (from.dev(), from.ino()) {
        return Err(StashError::SameFile(path));
    }
    // A link may lead back into the home, and a second name may be there.
    if !facts.is_file() || facts.nlink() != 1 {
        return Err(StashError::Other(path));
    }
    let file = private::open(&path)?;
    // Let the system forget what it keeps of the file in memory: it is to be read from the stick. Where it does not, the file was
    // synced all the same.
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    drop(file);
    match *private::read(&path)? == *key.secret {
        true => Ok(true),
        false => Err(StashError::Other(path)),
    }
}

/// The certificate of the control key is public and stays in the home, too; a second agent of the person's needs it beside the root
/// key.
fn carry_certificate(home: &Home, to: &Path) -> Result<(), StashError> {
    let from = home.key_file(CONTROL_CERTIFICATE);
    if from.is_file() {
        let text = std::fs::read(&from).map_err(at(&from))?;
        private::replace(&to.join(CONTROL_CERTIFICATE), &text)?;
    }
    Ok(())
}

/// Removes a key from the home whose copy is safe.
fn remove(home: &Home, key: &PersonsKey, to: &Path) -> Result<(), StashError> {
    let aside = match key.from.file_name().and_then(|name| name.to_str()) {
        Some(name) if !name.starts_with(ASIDE) => {
            let aside = home.key_file(&format!("{ASIDE}{name}"));
            disk::rename(&key.from, &aside)?;
            aside
        }
        _ => key.from.clone(),
    };
    let moved = PersonsKey {
        secret: private::read(&aside)?,
        from: aside.clone(),
        name: key.name.clone(),
    };
    // The file that lies aside now may be a newer key than the one that was copied: then it goes back to its name, and stays.
    match is_copied(&moved, to) {
        Ok(true) => Ok(disk::destroy(&aside)?),
        compared => {
            if !key.from.exists() {
                disk::rename(&aside, &key.from)?;
            }
            Err(compared
                .err()
                .unwrap_or(StashError::Other(to.join(&key.name))))
        }
    }
}

impl From<PrivateError> for StashError {
    fn from(error: PrivateError) -> Self {
        Self::Keys(error.into())
    }
}

/// The beginning of the name of a key that is being removed.
const ASIDE: &str = ".stashed-";
/// The kinds of the person's older keys.
const OLD_KINDS: [&str; 3] = ["audit", "control", "root"];
