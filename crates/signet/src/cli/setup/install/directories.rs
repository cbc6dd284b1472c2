//! Directories with an owner and a mode, below others that are not root's: no link in them leads anywhere.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};
use signet_audit::visible;

use super::machine::{FileOwner, Machine, make_all, unmade};
use super::names::HOMES;
use crate::cli::CliError;

impl Machine {
    /// A directory with that owner and mode. What is there already is taken if it is a directory of that user or of
    /// root's: no link is followed, because whoever owns the directory above may have put one there.
    pub(super) fn directory(
        &self,
        path: &str,
        owner: FileOwner,
        mode: u32,
    ) -> Result<(), CliError> {
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
            FolderChange::Made => self.say(path, "made"),
            FolderChange::Changed => self.say(path, "set right"),
            FolderChange::Kept => self.kept(path),
            FolderChange::Foreign => Err(in_the_way(&place)),
        }
    }

    /// Gives what belongs to root in a home to its user: root's commands and root's copies leave such files, which the
    /// daemon cannot use. Says whether there was any.
    pub(super) fn give_back(&self, path: &str, owner: FileOwner) -> Result<bool, CliError> {
        if self.is_dry() {
            return Ok(false);
        }
        let place = self.at(path);
        let given = rustix::fs::open(&place, DIRECTORY, Mode::empty())
            .map_err(io::Error::from)
            .and_then(|home| give_in(home.as_fd(), owner, DEEP));
        let RootsFiles { given, left } = given.map_err(|error| unmade(&place, &error))?;
        let told = |name: &PathBuf, what: &str| {
            let name = format!("{path}/{}", name.display());
            self.say(&visible(&name), what)
        };
        for name in &given {
            told(name, "given back to its user")?;
        }
        for name in &left {
            told(
                name,
                "left to root: it has another name, and may be somebody else's file; look for that one (find / -xdev \
                 -samefile), then chown it, or remove this name",
            )?;
        }
        Ok(!given.is_empty())
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
pub(super) fn give_all(directory: &Path, owner: FileOwner) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let (entry, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
        if entry?.is_dir() {
            give_all(&path, owner)?;
        }
        std::os::unix::fs::lchown(&path, Some(owner.user), Some(owner.group))?;
    }
    Ok(())
}

/// What belonged to root below a directory that is another user's.
#[derive(Default)]
struct RootsFiles {
    /// Paths that now belong to the user of the directory.
    given: Vec<PathBuf>,
    /// Files of several names, still root's.
    left: Vec<PathBuf>,
}

/// Gives each file and directory of root's to `owner`, and says which. The directory is its user's to change meanwhile: what
/// was looked at is what is given, no link is followed, and a file of two names may be another's too.
fn give_in(directory: BorrowedFd<'_>, owner: FileOwner, deep: u8) -> io::Result<RootsFiles> {
    let mut found = RootsFiles::default();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        let name = Path::new(OsStr::from_bytes(entry.file_name().to_bytes()));
        if name == Path::new(".") || name == Path::new("..") {
            continue;
        }
        let seen = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // `O_PATH` needs no right to the file itself. So if it cannot be opened, the user of the
        // directory has removed it since it was listed: skip it.
        let Ok(file) = rustix::fs::openat(directory, name, seen, Mode::empty()) else {
            continue;
        };
        let facts = rustix::fs::fstat(&file)?;
        let kind = FileType::from_raw_mode(facts.st_mode);
        let is_roots = facts.st_uid == 0 && owner.user != 0;
        let is_file = kind == FileType::RegularFile;
        // Leave a file with several hard links to root: the user may have linked a file of root's into the
        // home, to be given that file.
        if is_roots && is_file && facts.st_nlink > 1 {
            found.left.push(name.to_owned());
        } else if is_roots && (is_file || kind == FileType::Directory) {
            let group = (facts.st_gid == 0).then(|| Gid::from_raw(owner.group));
            let user = Some(Uid::from_raw(owner.user));
            rustix::fs::chownat(&file, "", user, group, AtFlags::EMPTY_PATH)?;
            found.given.push(name.to_owned());
        }
        if kind == FileType::Directory && deep > 0 {
            let below = rustix::fs::openat(directory, name, DIRECTORY, Mode::empty())?;
            let below = give_in(below.as_fd(), owner, deep - 1)?;
            let within = |paths: Vec<PathBuf>| paths.into_iter().map(|path| name.join(path));
            found.given.extend(within(below.given));
            found.left.extend(within(below.left));
        }
    }
    Ok(found)
}

enum FolderChange {
    Made,
    Changed,
    Kept,
    /// The directory belongs to neither root nor the agent's user.
    Foreign,
}

fn settle(
    parent: BorrowedFd<'_>,
    name: &Path,
    owner: FileOwner,
    mode: u32,
) -> io::Result<FolderChange> {
    // Make the folder for root alone: nobody enters before owner and mode are right.
    let made = rustix::fs::mkdirat(parent, name, Mode::RWXU);
    if let Err(error) = made
        && error != rustix::io::Errno::EXIST
    {
        return Err(error.into());
    }
    let directory = rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())?;
    let facts = rustix::fs::fstat(&directory)?;
    // Check the opened directory and not its path: between the check and the change, somebody could put
    // another directory at the path.
    if facts.st_uid != 0 && facts.st_uid != owner.user {
        return Ok(FolderChange::Foreign);
    }
    let is = (facts.st_uid, facts.st_gid, facts.st_mode & 0o7777);
    if is == (owner.user, owner.group, mode) {
        return Ok(FolderChange::Kept);
    }
    let (user, group) = (Uid::from_raw(owner.user), Gid::from_raw(owner.group));
    rustix::fs::fchown(&directory, Some(user), Some(group))?;
    // The mode is set after the owner, because a change of the owner may take the setgid bit away.
    rustix::fs::fchmod(&directory, Mode::from_raw_mode(mode))?;
    Ok(if made.is_ok() {
        FolderChange::Made
    } else {
        FolderChange::Changed
    })
}

fn in_the_way(path: &Path) -> CliError {
    let what = format!(
        "{} is no directory, or belongs to somebody else",
        path.display()
    );
    CliError::refused(what, "look who put it there; move it away, then again")
}

/// Keys that were replaced stand in folders below folders.
const DEEP: u8 = 8;

const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
