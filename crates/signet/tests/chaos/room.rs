//! A file system of its own under the homes, so that a disk can be full.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) struct Room {
    place: PathBuf,
}

impl Room {
    /// In memory, 400 MB; nothing where this user may not mount.
    pub(crate) fn mounted_on(place: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=400m,mode=0700", "none"]);
        mount.arg(place).stderr(Stdio::null());
        let done = mount.status().ok()?.success();
        done.then(|| Self {
            place: place.to_owned(),
        })
    }

    /// Takes what is left of it.
    pub(crate) fn fill(&self) {
        use std::io::Write as _;
        let mut file = std::fs::File::create(self.place.join("filler")).unwrap();
        for block in [1 << 20, 1 << 12, 1] {
            let zeros = vec![0; block];
            while file.write(&zeros).is_ok_and(|length| length > 0) {}
        }
    }

    pub(crate) fn empty(&self) {
        let _ = std::fs::remove_file(self.place.join("filler"));
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // Lazily: a daemon that is about to be killed may still have files open.
        let _ = Command::new("umount").arg("-l").arg(&self.place).status();
    }
}
