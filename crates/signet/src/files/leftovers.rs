//! What a killed command left beside the file or directory that it was making, under a name that ends with its
//! process id.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Removes what stands beside `path` under names of `beginning` and the id of a process that has ended. What cannot be
/// removed stays: it is in nobody's way.
pub(crate) fn remove(path: &Path, beginning: &str) {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Ignore a folder that cannot be read: the command that is about to write there reports it.
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(beginning));
        if !maker.is_some_and(has_ended) {
            continue;
        }
        let path = entry.path();
        // Follow no link, and leave what another user put there: another user could otherwise choose what is removed.
        let own = |facts: &std::fs::Metadata| facts.uid() == rustix::process::geteuid().as_raw();
        let _ = match path.symlink_metadata() {
            Ok(facts) if facts.is_dir() && own(&facts) => std::fs::remove_dir_all(path),
            Ok(facts) if facts.is_file() && own(&facts) => std::fs::remove_file(path),
            _ => Ok(()),
        };
    }
}

/// Whether no process has this number but our own, which has made nothing yet: a container gives the same number to
/// every start.
fn has_ended(number: &str) -> bool {
    let Some(pid) = number.parse::<i32>().ok().and_then(Pid::from_raw) else {
        return false;
    };
    pid == rustix::process::getpid() || test_kill_process(pid) == Err(Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_ended_process_left_under_that_name_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let keys = at(".a.init-2147483647/keys");
        std::fs::create_dir_all(&keys).unwrap();
        std::fs::write(keys.join("root.pem"), "secret").unwrap();
        let others = [
            ".a.init-1",
            ".a.init-",
            ".a.init-x",
            ".b.init-2147483647",
            "a",
        ];
        for name in others {
            std::fs::create_dir(at(name)).unwrap();
        }
        let victim = at("victim");
        std::fs::create_dir(&victim).unwrap();
        std::fs::write(victim.join("file"), "").unwrap();
        std::os::unix::fs::symlink(&victim, at(".a.init-2147483646")).unwrap();
        remove(&at("a"), ".a.init-");
        assert!(!at(".a.init-2147483647").exists());
        for name in others {
            assert!(at(name).exists(), "{name}");
        }
        assert!(victim.join("file").exists());
    }
}
