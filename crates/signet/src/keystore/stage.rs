//! A change of keys, all of it or nothing.
//!
//! What is new is written to `keys/next.new-N/`, completely, and that directory then gets the name
//! `keys/next`: from there on the change is certain. Who holds the lock moves its files into their
//! places one by one, secrets before what names them. At every moment the files in `keys/next`, with
//! those in `keys` where it has none, are the new set: so an interrupted adoption is only gone on
//! with. A directory that never got its name is destroyed at the next start.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use signet_json::Value;
use signet_proto::time::Timestamp;
use zeroize::Zeroizing;

use super::pem::{self, Algorithm};
use super::{
    AUDIT, AgentKeys, CERTIFICATE, CONTROL, CONTROL_CERTIFICATE, KEYS, KeyFolder, KeystoreError,
    NEXT_ROOT, ROOT, SEALING, SIGNING, disk, json_file, retired,
};
use crate::config::AgentConfig;
use crate::files::private::{self, PrivateError, at};
use crate::home::Home;
use crate::lock::HomeLock;

/// The new files of a change of keys, which belong together.
#[derive(Default)]
pub struct KeyChange(Vec<(&'static str, Zeroizing<Vec<u8>>)>);

impl KeyChange {
    /// A secret key that becomes the key file `name`.
    pub(super) fn secret(
        &mut self,
        name: &'static str,
        algorithm: Algorithm,
        secret: &[u8; 32],
    ) -> Result<(), KeystoreError> {
        let text = pem::encode(algorithm, secret);
        let text = text.ok_or_else(|| pem::malformed(name.as_ref(), algorithm))?;
        self.0
            .push((name, Zeroizing::new(text.as_bytes().to_vec())));
        Ok(())
    }

    /// A statement or certificate that becomes the key file `name`.
    pub(super) fn json(&mut self, name: &'static str, value: &Value) {
        self.0.push((name, Zeroizing::new(json_file(value))));
    }

    /// The names of the files that it holds.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }
}

/// Writes a change down beside the keys of `home`; from then on it is certain. Needs no lock.
///
/// # Errors
/// When another change waits, or a file cannot be written; the keys are then as they were.
pub fn stage(home: &Home, change: &KeyChange) -> Result<(), KeystoreError> {
    let (next, unfinished) = (next(home), unfinished(home));
    disk::create_directory(&unfinished)?;
    for (name, content) in &change.0 {
        disk::create(&unfinished.join(name), content)?;
    }
    // All files are durable, so this one rename makes the change valid. It may also replace an empty `next`, which an
    // interrupted adoption leaves (rename(2)).
    match disk::rename(&unfinished, &next) {
        Ok(()) => Ok(disk::sync_beside(&next)?),
        Err(PrivateError::Io { source, .. })
            if source.kind() == io::ErrorKind::DirectoryNotEmpty =>
        {
            // Another change waits already, so the secrets of this change will never be used: destroy them.
            destroy_directory(&unfinished)?;
            Err(KeystoreError::Waiting(next))
        }
        Err(error) => Err(error.into()),
    }
}

/// Adopts a staged change, or finishes what an interruption left of one. Says whether there was one.
///
/// # Errors
/// `Intruded` when somebody else made what is staged, `Unfit` when it does not follow the present
/// keys; then it is destroyed.
pub fn adopt(lock: &HomeLock, agent: &AgentConfig, now: Timestamp) -> Result<bool, KeystoreError> {
    let home = lock.home();
    let next = next(home);
    let Some(names) = staged_names(&next)? else {
        return Ok(false);
    };
    let present = AgentKeys::read(&KeyFolder::present(home), agent);
    let fits = match (AgentKeys::read(&KeyFolder::staged(home), agent), &present) {
        (Ok(staged), Ok(present)) => staged.follows(present),
        // The present set does not open, as after an adoption that was interrupted when it had moved some files. The staged set
        // is whole, so finish the adoption.
        (Ok(_), Err(_)) => Ok(()),
        (Err(error), Ok(_)) => Err(error.to_string()),
        // Neither the staged nor the present set is whole: destroy nothing, because a person may
        // still put the missing file back.
        (Err(error), Err(_)) => return Err(error),
    };
    if let Err(why) = fits {
        destroy_directory(&next)?;
        return Err(KeystoreError::Unfit { path: next, why });
    }
    for name in ORDER.iter().filter(|name| names.contains(**name)) {
        // Give the old secret its second name before the rename puts the new secret under its first name: a crash in between
        // must not lose the old secret.
        keep_old(home, name, now)?;
        disk::rename(&next.join(name), &home.key_file(name))?;
        // Sync after each file: otherwise the disk may keep the name of a certificate, and lose the name of the secret
        // that was renamed before it.
        disk::sync_beside(&home.key_file(name))?;
    }
    disk::remove_directory(&next)?;
    disk::sync_beside(&next)?;
    Ok(true)
}

/// Destroys what an interrupted command began to stage. Only who holds the lock may.
///
/// # Errors
/// When a file cannot be destroyed.
pub(super) fn discard_unfinished(lock: &HomeLock) -> Result<(), KeystoreError> {
    let directory = lock.home().join("keys");
    for entry in std::fs::read_dir(&directory).map_err(at(&directory))? {
        let entry = entry.map_err(at(&directory))?;
        let is_one = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        if is_one && entry.file_type().map_err(at(&directory))?.is_dir() {
            destroy_directory(&entry.path())?;
        }
    }
    Ok(())
}

/// The directory in which a staged change waits.
pub(super) fn next(home: &Home) -> PathBuf {
    home.key_file("next")
}

/// Destroys a directory of secrets that nobody wants any more. It loses its name first: after a kill, nobody takes a key that
/// is half overwritten for one that waits, and the next start destroys what is left.
pub(super) fn discard(home: &Home, directory: &Path) -> Result<(), KeystoreError> {
    let unfinished = unfinished(home);
    disk::rename(directory, &unfinished)?;
    disk::sync_beside(&unfinished)?;
    destroy_directory(&unfinished)
}

/// Destroys the files of a directory, then the directory.
pub(super) fn destroy_directory(directory: &Path) -> Result<(), KeystoreError> {
    for entry in std::fs::read_dir(directory).map_err(at(directory))? {
        disk::destroy(&entry.map_err(at(directory))?.path())?;
    }
    disk::remove_directory(directory)?;
    Ok(disk::sync_beside(directory)?)
}

fn unfinished(home: &Home) -> PathBuf {
    home.key_file(&format!("{UNFINISHED}{}", std::process::id()))
}

/// The files that are staged, when they are what this user staged and nothing else.
fn staged_names(next: &Path) -> Result<Option<BTreeSet<String>>, KeystoreError> {
    let intruded = |path: &Path| KeystoreError::Intruded(path.to_owned());
    let facts = match next.symlink_metadata() {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(next)(error).into()),
    };
    let me = rustix::process::geteuid().as_raw();
    // This folder must be this user's and closed to all others: anyone who can write in it chooses the agent's keys.
    if !facts.is_dir() || facts.uid() != me || facts.mode() & 0o077 != 0 {
        return Err(intruded(next));
    }
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(next).map_err(at(next))? {
        let entry = entry.map_err(at(next))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_file = entry.file_type().map_err(at(next))?.is_file();
        if !is_file || !ORDER.contains(&name.as_str()) {
            return Err(intruded(&entry.path()));
        }
        private::open(&entry.path())?;
        names.insert(name);
    }
    Ok(Some(names))
}

/// Keeps the secret that `name` held until now for as long as something may need it, under the serial of the
/// certificate or statement that names it. That file is still in its place, since secrets are adopted first.
fn keep_old(home: &Home, name: &str, now: Timestamp) -> Result<(), KeystoreError> {
    let present = KeyFolder::present(home);
    let (serial, until) = match name {
        SEALING => {
            let statement = present.statement(&present.certificate()?)?;
            let until = retired::sealing_until(statement.not_after);
            (statement.serial, Some(until))
        }
        SIGNING => (
            present.certificate()?.serial,
            Some(retired::signing_until(now)),
        ),
        ROOT => (present.certificate()?.serial, None),
        AUDIT | CONTROL => match present.control()? {
            Some(control) => (control.serial, None),
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    retired::keep(home, name, serial, until)
}

/// The order in which files are adopted: a secret before the certificate or statement that names it, which until then
/// tells the serial under which the old secret is kept.
const ORDER: [&str; 9] = [
    SEALING,
    SIGNING,
    AUDIT,
    CONTROL,
    ROOT,
    NEXT_ROOT,
    KEYS,
    CONTROL_CERTIFICATE,
    CERTIFICATE,
];
const UNFINISHED: &str = "next.new-";
