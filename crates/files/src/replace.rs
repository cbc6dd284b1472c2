//! A new file in the place of another, whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Puts a file that says `content` into the place of `path`, durably: a crash leaves the old one or the new one, whole, and
/// whoever reads meanwhile sees one of them.
///
/// Until it is whole it is named `beside`, in the same folder; what a crash left under that name is removed first, and a link
/// there is not followed. The new file has the mode `mode` less the umask, unless `prepare` gives it another mode or owner:
/// that runs before anything is written, so that nobody reads the content who may not.
///
/// # Errors
/// What the system says. Then `path` is as it was, unless only its folder could not be synced.
pub fn replace(
    path: &Path,
    beside: &Path,
    mode: u32,
    content: &[u8],
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    match fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    // `create_new` follows no link: somebody may have put a link at this path since the removal above.
    let options = options.write(true).create_new(true).mode(mode);
    let mut file = options.open(beside)?;
    let replaced = prepare(&file)
        .and_then(|()| file.write_all(content))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(beside, path));
    if replaced.is_err() {
        // Remove the half-written file: on a full disk it would take the room that the next try needs.
        let _ = fs::remove_file(beside);
    }
    replaced?;
    sync_folder_of(path)
}

/// Makes the names in the folder of `path` durable: without it a rename may be lost with the power.
///
/// # Errors
/// What the system says.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_what_stood_beside_it_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, beside) = (dir.path().join("a"), dir.path().join("a.new"));
        let other = dir.path().join("other");
        fs::write(&other, "other").unwrap();
        symlink(&other, &beside).unwrap();
        replace(&path, &beside, 0o600, b"one", |_| Ok(())).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o177, 0);
        let failed = replace(&path, &beside, 0o600, b"two", |_| {
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err() && !beside.exists());
        let read = |path| fs::read_to_string(path).unwrap();
        assert_eq!(
            (read(&path), read(&other)),
            ("one".to_owned(), "other".to_owned())
        );
    }
}
