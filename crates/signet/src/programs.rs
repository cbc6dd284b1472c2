//! Programs of this machine, and where programs of this user keep their settings.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The places where a program of that name would be, in the order of PATH.
pub(crate) fn in_path(name: impl AsRef<Path>) -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    places.into_iter().map(move |place| place.join(&name))
}

/// Whether the file is there and may be executed.
pub(crate) fn is_program(file: &Path) -> bool {
    let facts = file.metadata();
    facts.is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

/// `$XDG_CONFIG_HOME`, or `~/.config`. The XDG specification has relative paths ignored.
pub(crate) fn settings_dir() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    let of_home = || named("HOME").map(|home| home.join(".config"));
    let settings = named("XDG_CONFIG_HOME").filter(absolute);
    // Leave out a relative HOME too: settings must not land below the working directory.
    settings.or_else(of_home).filter(absolute)
}
