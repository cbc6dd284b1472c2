//! File systems that a test mounts, where its user may.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file system at a place, which is unmounted at the end.
pub struct Mounted(PathBuf);

impl Mounted {
    /// A new one in memory, of that size (`7m`); none where this user may not mount.
    pub fn in_memory(place: &Path, size: &str) -> Option<Self> {
        let options = format!("size={size},mode=0700");
        Self::by(place, &["-t", "tmpfs", "-o", &options, "none"])
    }

    /// What lies at another place, once more.
    pub fn again(there: &Path, place: &Path) -> Option<Self> {
        Self::by(place, &["--bind", there.to_str()?])
    }

    fn by(place: &Path, how: &[&str]) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(how).arg(place).stderr(Stdio::null());
        let done = mount.status().ok()?.success();
        done.then(|| Self(place.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Unmount lazily (`-l`): a daemon may still have files open there, and a plain `umount` would fail.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
