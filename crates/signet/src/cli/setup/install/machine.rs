//! The machine that is installed on, or a directory that becomes the root of one: files, and the tools that make users and start units. Each step says what it did.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use signet_files::replace;

use crate::cli::{CliError, print};
use crate::lock;

/// A user and a group, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileOwner {
    pub(super) user: u32,
    pub(super) group: u32,
}

/// The machine, or the directory in its place, that an install writes to.
pub(super) struct Machine {
    root: PathBuf,
    /// Whether this is the machine that runs, and not a directory that becomes one.
    is_here: bool,
    is_dry: bool,
}

impl Machine {
    /// This machine, or the one whose files are below `sysroot`; with `is_dry` it is only looked at.
    pub(super) fn new(sysroot: Option<&Path>, is_dry: bool) -> Result<Self, CliError> {
        if !is_dry && !rustix::process::geteuid().is_root() {
            let what = "users, groups and units are for root to make";
            let next = "type it with sudo in front; with --dry-run it only says what it would do";
            return Err(CliError::usage(what, next));
        }
        let root = sysroot.unwrap_or(Path::new("/"));
        let root = root.canonicalize().map_err(|error| {
            let what = format!("{}: {error}", root.display());
            CliError::file(&error, what, "name a directory with --sysroot")
        })?;
        let is_here = root == Path::new("/");
        Ok(Self {
            root,
            is_here,
            is_dry,
        })
    }

    /// Lets nobody else install on this machine meanwhile.
    pub(super) fn lock(&self) -> Result<Option<File>, CliError> {
        if self.is_dry {
            return Ok(None);
        }
        let path = self.at("/etc/signet");
        let fail = |error: io::Error| unmade(&path, &error);
        make_all(&path).map_err(fail)?;
        let directory = File::open(&path).map_err(fail)?;
        let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        match rustix::fs::flock(&directory, lock) {
            Ok(()) => Ok(Some(directory)),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let what = "another signet install is at work on this machine";
                Err(CliError::refused(
                    what,
                    "wait until it has ended, then again",
                ))
            }
            Err(error) => Err(fail(error.into())),
        }
    }

    /// Whether this run only says what it would do.
    pub(super) fn is_dry(&self) -> bool {
        self.is_dry
    }

    /// Whether the install goes to this machine and not to a directory.
    pub(super) fn is_here(&self) -> bool {
        self.is_here
    }

    /// Whether a systemd runs that can start units.
    pub(super) fn has_manager(&self) -> bool {
        self.is_here && Path::new("/run/systemd/system").is_dir()
    }

    /// A path of the machine, as this process opens it.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Says what was done about something, or would be.
    pub(super) fn say(&self, what: &str, done: &str) -> Result<(), CliError> {
        match self.is_dry {
            true => print(&format!("{what}: would be {done}\n")),
            false => print(&format!("{what}: {done}\n")),
        }
    }

    /// Writes a file of root's that `group` may read, or everybody; says whether the text is new.
    pub(super) fn write(
        &self,
        path: &str,
        text: &str,
        group: Option<u32>,
    ) -> Result<bool, CliError> {
        let (place, mode) = (self.at(path), group.map_or(0o644, |_| 0o640));
        // Leave a file that has this text already as it is, and return false: callers reload a server only for a new text.
        if std::fs::read_to_string(&place).is_ok_and(|is| is == text) {
            self.kept(path)?;
            return Ok(false);
        }
        if !self.is_dry {
            let fail = |error: io::Error| unmade(&place, &error);
            let parent = place.parent().unwrap_or(&self.root);
            make_all(parent).map_err(fail)?;
            let fresh = place.with_extension("new");
            let replaced = replace(&place, &fresh, 0o600, text.as_bytes(), |file| {
                // Set owner and mode before the new file gets its name: otherwise a server could for a moment find a file
                // there that it may not read.
                fchown(file, Some(0), group)?;
                file.set_permissions(Permissions::from_mode(mode))
            });
            replaced.map_err(fail)?;
        }
        self.say(path, "written")?;
        Ok(true)
    }

    /// Removes a file of root's, if it is there.
    pub(super) fn delete(&self, path: &str) -> Result<(), CliError> {
        self.remove(path, |place| std::fs::remove_file(place))
    }

    /// Removes a directory with everything in it, if it is there. No link in it leads out.
    pub(super) fn delete_all(&self, path: &str) -> Result<(), CliError> {
        self.remove(path, |place| std::fs::remove_dir_all(place))
    }

    fn remove(
        &self,
        path: &str,
        remove: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<(), CliError> {
        let place = self.at(path);
        if place.symlink_metadata().is_err() {
            return Ok(());
        }
        if !self.is_dry {
            remove(&place).map_err(|error| unmade(&place, &error))?;
        }
        self.say(path, "removed")
    }

    /// Makes the users and groups that a text in the words of sysusers.d(5) asks for.
    pub(super) fn sysusers(&self, text: &str) -> Result<(), CliError> {
        if self.is_dry {
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                self.say(&format!("sysusers {line}"), "made")?;
            }
            return Ok(());
        }
        let mut command = Command::new("systemd-sysusers");
        if !self.is_here {
            command.arg(format!("--root={}", self.root.display()));
        }
        command.arg("-").stdin(Stdio::piped()).stdout(Stdio::null());
        let missing = |error: io::Error| {
            let next = "install it (Debian: systemd, or systemd-standalone-sysusers), then again";
            CliError::file(
                &error,
                format!("systemd-sysusers does not start: {error}"),
                next,
            )
        };
        let mut child = command.spawn().map_err(missing)?;
        if let Some(mut input) = child.stdin.take() {
            io::Write::write_all(&mut input, text.as_bytes()).map_err(missing)?;
        }
        let end = child.wait().map_err(missing)?;
        if end.success() {
            return Ok(());
        }
        let next = "its own words stand above; mend that, then again";
        Err(CliError::refused(format!("systemd-sysusers: {end}"), next))
    }

    /// Runs a tool on this machine and tells whether it ended well. It prints for itself.
    pub(super) fn tool(&self, program: &str, args: &[&str]) -> Result<bool, CliError> {
        let line = format!("{program} {}", args.join(" "));
        if self.is_dry {
            self.say(&line, "run")?;
            return Ok(true);
        }
        let mut command = Command::new(program);
        match program {
            _ if self.is_here => {}
            "systemctl" => {
                command.arg(format!("--root={}", self.root.display()));
            }
            _ => {
                command.arg("--prefix").arg(&self.root);
            }
        }
        let end = command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        let end = end.map_err(|error| {
            CliError::file(
                &error,
                format!("{program} does not start: {error}"),
                format!("install it, then: {line}"),
            )
        })?;
        self.say(
            &line,
            if end.success() {
                "done"
            } else {
                "refused, as it says itself"
            },
        )?;
        Ok(end.success())
    }

    /// Whether the unit's process was started before that file was changed for the last time. The words of `systemctl show`
    /// are those of every systemd, and none of its times is asked for: how it writes them differs from one to the next.
    pub(super) fn runs_longer_than(&self, unit: &str, file: &str) -> bool {
        let args = ["show", "--property=MainPID", unit];
        let said = Command::new("systemctl").args(args).output();
        let (true, Ok(said)) = (self.has_manager(), said) else {
            return false;
        };
        let changed = self.at(file).metadata().map(|facts| {
            let since_1970 = Duration::new(
                facts.ctime().try_into().unwrap_or_default(),
                facts.ctime_nsec().try_into().unwrap_or_default(),
            );
            (SystemTime::UNIX_EPOCH + since_1970).elapsed()
        });
        let changed = changed.ok().and_then(Result::ok);
        // A unit without a process says `MainPID=0`, and no process has that number, so `age` is then `None`.
        let said = String::from_utf8_lossy(&said.stdout);
        let age = said.trim().strip_prefix("MainPID=").and_then(age_of);
        // The age of the process is known to hundredths of a second alone: without the 50 ms, a daemon that was started right
        // after its file was written could count as older than the file.
        matches!((age, changed), (Some(age), Some(changed)) if age > changed + Duration::from_millis(50))
    }

    /// The number of a user and of its group, as the machine knows them.
    pub(super) fn owner(&self, user: &str, group: &str) -> Result<FileOwner, CliError> {
        Ok(FileOwner {
            user: self.number("/etc/passwd", user)?,
            group: self.number("/etc/group", group)?,
        })
    }

    /// The number of a group.
    pub(super) fn group(&self, name: &str) -> Result<u32, CliError> {
        self.number("/etc/group", name)
    }

    /// Whether there is such a user or group.
    pub(super) fn knows(&self, file: &str, name: &str) -> bool {
        let text = std::fs::read_to_string(self.at(file)).unwrap_or_default();
        crate::group::number_in(&text, name).is_some()
    }

    fn number(&self, file: &str, name: &str) -> Result<u32, CliError> {
        if self.is_dry {
            return Ok(0);
        }
        let text = std::fs::read_to_string(self.at(file)).unwrap_or_default();
        // Both /etc/passwd and /etc/group begin each line with name, password and number, so one function reads both.
        crate::group::number_in(&text, name).ok_or_else(|| {
            let what = format!("{name} is not in {file}, where system users belong");
            CliError::refused(
                what,
                "make it there, or take it out of other directories of users, then again",
            )
        })
    }

    pub(super) fn kept(&self, what: &str) -> Result<(), CliError> {
        print(&format!("{what}: as it should be\n"))
    }
}

/// How long a process runs: by when it started, in hundredths of a second since the machine's start, and by proc_uptime(5),
/// which says how long ago that was. Both count the time that a machine sleeps.
fn age_of(process: &str) -> Option<Duration> {
    let started = lock::started(process)?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let now: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let now = Duration::try_from_secs_f64(now).ok()?;
    now.checked_sub(Duration::from_millis(started.checked_mul(10)?))
}

pub(super) fn unmade(path: &Path, error: &io::Error) -> CliError {
    let what = format!("{}: {error}", path.display());
    CliError::file(
        error,
        what,
        "look at it with: ls -ld; then again, nothing is done twice",
    )
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
    // The umask may have taken away the rights by which other users pass this directory: so set them again.
    std::fs::set_permissions(directory, Permissions::from_mode(0o755))
}
