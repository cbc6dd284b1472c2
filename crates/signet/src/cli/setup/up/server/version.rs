//! The version of the nats-server program that a home's own server runs.

use std::path::Path;
use std::process::Command;

use crate::cli::CliError;

/// Refuses a program that is too old for a household behind a hub. One that does not say its version is let through.
///
/// As a leaf, a server looks for nobody who listens for two seconds after a daemon has asked for mail, and hands mail to that
/// daemon although it was stopped meanwhile. Servers of 2.9 count each try, and give a message up after ten of them, within
/// milliseconds; since 2.10 such a try does not count.
pub(super) fn refuse_old_leaf(program: &Path) -> Result<(), CliError> {
    let said = Command::new(program).arg("--version").output();
    let said = said.map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let Some(what) = too_old_for_leaf(&said) else {
        return Ok(());
    };
    let next = format!(
        "install nats-server 2.10 or newer, or name one by NATS_SERVER, in the place of {}; then the same command again",
        program.display()
    );
    Err(CliError::refused(what, next))
}

/// The sentence about a server that is too old for a leaf of a hub; `said` ends with its version.
pub(in crate::cli::setup) fn too_old_for_leaf(said: &str) -> Option<String> {
    let [major, minor] = version_of(said).filter(|version| *version < OLDEST_LEAF)?;
    Some(format!(
        "nats-server {major}.{minor} is too old for a household behind a hub: it gives up mail that comes just after its \
         receiver's daemon was stopped"
    ))
}

/// The first two numbers in `nats-server: v2.9.10`.
fn version_of(said: &str) -> Option<[u32; 2]> {
    let word = said.split_whitespace().next_back()?;
    let mut numbers = word.trim_start_matches('v').split('.');
    let mut number = || numbers.next()?.parse().ok();
    Some([number()?, number()?])
}

const OLDEST_LEAF: [u32; 2] = [2, 10];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_as_two_numbers_and_what_is_none_is_no_version() {
        for (said, version) in [
            ("nats-server: v2.9.10\n", Some([2, 9])),
            ("nats-server: v2.10.25\n", Some([2, 10])),
            ("nats-server: v2.15.1-RC.1\n", Some([2, 15])),
            ("nats-server: v3.0.0", Some([3, 0])),
            ("nats-server: dev", None),
            ("v2", None),
            ("", None),
        ] {
            assert_eq!(version_of(said), version, "{said}");
        }
        assert!([2, 9] < OLDEST_LEAF && [2, 10] >= OLDEST_LEAF && [3, 0] >= OLDEST_LEAF);
    }

    #[test]
    fn a_program_that_says_no_version_or_is_none_is_let_through() {
        for program in ["/bin/true", "/nowhere/nats-server"] {
            assert!(refuse_old_leaf(Path::new(program)).is_ok(), "{program}");
        }
    }
}
