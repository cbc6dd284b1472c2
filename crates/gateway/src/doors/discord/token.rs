//! The bot's token, from the file that the configuration names or that systemd gives.

use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::config::carriers::DiscordSection;
use crate::context::Context;
use signet_files::open_plain;

/// The token of the section.
///
/// # Errors
/// What the configuration or the file lacks, and what to do.
pub(super) fn token(context: &Context, section: &DiscordSection) -> Result<String, String> {
    match (
        &section.token_file,
        std::env::var_os("CREDENTIALS_DIRECTORY"),
    ) {
        (Some(path), given) => {
            let path = context.config.path(path);
            // systemd decides who can read a file in its directory of credentials, so the rights of such a file are not
            // checked.
            let is_given = given.is_some_and(|directory| path.starts_with(directory));
            read(&path, is_given)
        }
        (None, Some(directory)) => read(&Path::new(&directory).join("discord-token"), true),
        (None, None) => Err(
            "[discord] names no `token-file`, and systemd gives no credential `discord-token`; put the token of the bot \
             in a file, and name it by `token-file`"
                .to_owned(),
        ),
    }
}

fn read(path: &Path, is_given: bool) -> Result<String, String> {
    let shown = path.display();
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!(
                "`token-file` under [discord]: there is no {shown}; put the token of the bot there"
            )
        }
        _ => format!("`token-file` under [discord]: {shown}: {error}; see to its rights"),
    };
    let mut file = open_plain(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.mode();
    if mode & OTHERS != 0 && !is_given {
        return Err(format!(
            "`token-file` under [discord]: others may read or change {shown}, and whoever has the token is the bot; take \
             that right away: chmod 600 {shown}"
        ));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    match text.trim() {
        "" => Err(format!("{shown} is empty; put the token of the bot there")),
        token => Ok(token.to_owned()),
    }
}

/// The rights of the group and of everybody.
const OTHERS: u32 = 0o077;

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_that_others_may_read_is_refused_with_the_command_to_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("discord-token");
        assert!(read(&path, false).unwrap_err().contains("there is no"));
        std::fs::write(&path, "secret\n").unwrap();
        for mode in [0o644, 0o640, 0o620, 0o604] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let why = read(&path, false).unwrap_err();
            assert!(
                why.contains("chmod 600") && !why.contains("secret"),
                "{why}"
            );
            assert_eq!(read(&path, true).unwrap(), "secret");
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&path, false).unwrap(), "secret");
        std::fs::write(&path, " \n").unwrap();
        assert!(read(&path, false).unwrap_err().contains("is empty"));
    }
}
