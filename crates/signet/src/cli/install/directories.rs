//! Directories with an owner and a mode, below others that are not root's: no link in them leads anywhere.

use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{Gid, Mode, OFlags, Uid};

use super::machine::{Machine, unmade};
use super::names::HOMES;
use crate::cli::{Exit, Failure};

/// A user and a group, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Machine {
    /// A directory with that owner and mode. What is there already is taken if it is a directory of that user or of
    /// root's: no link is followed, because whoever owns the directory above may have put one there.
    pub(super) fn directory(&self, path: &str, owner: Owner, mode: u32) -> Result<(), Failure> {
        let place = self.at(path);
        if self.is_dry() {
            return self.say(path, "a directory");
        }
        let fail = |error: io::Error| match error.kind() {
            io::ErrorKind::NotADirectory => in_the_way(&place),
            _ => unmade(&place, &error),
        };
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
            return Ok(());
        };
        make_all(parent).map_err(fail)?;
        let parent = self.open(parent, path).map_err(fail)?;
        let made = settle(parent.as_fd(), Path::new(name), owner, mode).map_err(fail)?;
        match made {
            Settled::Made => self.say(path, "made"),
            Settled::Changed => self.say(path, "set right"),
            Settled::Kept => self.kept(path),
            Settled::Foreign => Err(in_the_way(&place)),
        }
    }

    /// Opens a directory; below the homes no link is followed.
    fn open(&self, directory: &Path, path: &str) -> io::Result<OwnedFd> {
        let below = path
            .strip_prefix(HOMES)
            .and_then(|rest| rest.strip_prefix('/'));
        let first = below.and_then(|rest| rest.rsplit_once('/'));
        let Some((above, _)) = first else {
            return Ok(rustix::fs::open(
                directory,
                DIRECTORY - OFlags::NOFOLLOW,
                Mode::empty(),
            )?);
        };
        let mut open = rustix::fs::open(self.at(HOMES), DIRECTORY, Mode::empty())?;
        for name in above.split('/') {
            open = rustix::fs::openat(&open, name, DIRECTORY, Mode::empty())?;
        }
        Ok(open)
    }
}

/// Gives everything in a directory to `owner`, and lets the directory itself be. Only for one that nobody else can
/// enter meanwhile.
pub(super) fn give_all(directory: &Path, owner: Owner) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let (entry, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
        if entry?.is_dir() {
            give_all(&path, owner)?;
        }
        std::os::unix::fs::lchown(&path, Some(owner.user), Some(owner.group))?;
    }
    Ok(())
}

enum Settled {
    Made,
    Changed,
    Kept,
    /// It belongs to somebody who should not own it.
    Foreign,
}

fn settle(parent: BorrowedFd<'_>, name: &Path, owner: Owner, mode: u32) -> io::Result<Settled> {
    let made = rustix::fs::mkdirat(parent, name, Mode::RWXU);
    if let Err(error) = made
        && error != rustix::io::Errno::EXIST
    {
        return Err(error.into());
    }
    let directory = rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())?;
    let facts = rustix::fs::fstat(&directory)?;
    if facts.st_uid != 0 && facts.st_uid != owner.user {
        return Ok(Settled::Foreign);
    }
    let is = (facts.st_uid, facts.st_gid, facts.st_mode & 0o7777);
    if is == (owner.user, owner.group, mode) {
        return Ok(Settled::Kept);
    }
    let (user, group) = (Uid::from_raw(owner.user), Gid::from_raw(owner.group));
    rustix::fs::fchown(&directory, Some(user), Some(group))?;
    // After the owner, which may take the setgid bit away.
    rustix::fs::fchmod(&directory, Mode::from_raw_mode(mode))?;
    Ok(if made.is_ok() {
        Settled::Made
    } else {
        Settled::Changed
    })
}

/// Directories that everybody passes, where there are none.
pub(super) fn make_all(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    if let Some(above) = directory.parent() {
        make_all(above)?;
    }
    std::fs::create_dir(directory)?;
    // The umask takes away what others need.
    std::fs::set_permissions(directory, Permissions::from_mode(0o755))
}

fn in_the_way(path: &Path) -> Failure {
    let what = format!(
        "{} is no directory, or belongs to somebody else",
        path.display()
    );
    Failure::new(
        Exit::Refused,
        what,
        "look who put it there; move it away, then again",
    )
}

const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
