//! Users of this machine, by number; and how a command is run as another one.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::programs::in_path;

/// The number of the user to whom a path belongs; `None` where it is not there, or not to be looked at.
pub(crate) fn owner_of(path: &Path) -> Option<u32> {
    Some(path.metadata().ok()?.uid())
}

/// The user of this process.
pub(crate) fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user whose place this is, where root would put files there that lock that user out: the owner of a home that is
/// there; for a home to be made, the owner of the nearest folder above it that is there.
pub(crate) fn kept_from_root(home: &Path) -> Option<u32> {
    if me() != ROOT {
        return None;
    }
    if let Some(owner) = owner_of(home) {
        return Some(owner).filter(|owner| *owner != ROOT);
    }
    // The owner is taken from the folder, and not from SUDO_UID: only `sudo` says who called it, while `su`, `doas`
    // and `pkexec` do not.
    let whole = std::path::absolute(home).ok()?;
    // The home does not exist yet. It is made for the user who owns the nearest folder above it: files of root's in it would
    // lock that user out.
    let above = whole.ancestors().skip(1).find_map(owner_of)?;
    Some(above).filter(|owner| *owner != ROOT)
}

/// The name of a user, as `/etc/passwd` has it (passwd(5)).
pub(crate) fn name_of(user: u32) -> Option<String> {
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_in(&known, user)
}

fn name_in(users: &str, user: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(user)).then(|| name.to_owned())
    })
}

/// The words before a command by which `user` runs it.
pub(crate) fn run_as(user: u32) -> String {
    let (name, is_root) = (name_of(user), me() == ROOT);
    match (name, is_root && !has("sudo")) {
        // Where `sudo` is missing, use runuser or setpriv: they come with util-linux, which nearly every Linux system has.
        (Some(name), true) => format!("runuser -u {name} --"),
        (None, true) => format!("setpriv --reuid={user} --regid={user} --clear-groups"),
        (Some(name), false) => format!("sudo -u {name}"),
        (None, false) => format!("sudo -u '#{user}'"),
    }
}

/// The command as this user types it for root to run.
pub(crate) fn as_root(command: &str) -> String {
    match me() == ROOT {
        true => command.to_owned(),
        false => format!("sudo {command}"),
    }
}

/// Whether PATH has a program of that name.
pub(crate) fn has(program: &str) -> bool {
    in_path(program).any(|file| file.is_file())
}

const ROOT: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_by_its_own_number_alone() {
        let users = "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:0::/home/alice:\nbroken\nbob:x:100:1000::/:\n";
        assert_eq!(name_in(users, 1000).as_deref(), Some("alice"));
        assert_eq!(name_in(users, 100).as_deref(), Some("bob"));
        assert_eq!(name_in(users, 10), None);
    }
}
