//! Where everything of one agent is. One agent, one home.

use std::path::{Path, PathBuf};

/// The directory of one agent: its configuration, keys, lock, socket and audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

/// No home was named, and none follows from the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no home directory: neither --home, SIGNET_HOME, XDG_DATA_HOME nor HOME names one")]
pub struct NoHome;

impl Home {
    /// The home at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// `option`, else `$SIGNET_HOME`, else `$XDG_DATA_HOME/signet`, else `~/.local/share/signet`.
    ///
    /// # Errors
    /// When none of them is set.
    pub fn find(option: Option<PathBuf>) -> Result<Self, NoHome> {
        Self::choose(option, |name| std::env::var_os(name).map(PathBuf::from))
    }

    fn choose(
        option: Option<PathBuf>,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Result<Self, NoHome> {
        let named = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
        // The XDG specification demands that a relative path in XDG_DATA_HOME is ignored.
        let data = || named("XDG_DATA_HOME").filter(|path| path.is_absolute());
        option
            .or_else(|| named("SIGNET_HOME"))
            .or_else(|| data().map(|path| path.join("signet")))
            .or_else(|| named("HOME").map(|path| path.join(".local/share/signet")))
            .map(Self)
            .ok_or(NoHome)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// `path` as a file in this home names it: relative to the home.
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.join(path)
    }

    /// The configuration.
    pub fn config_file(&self) -> PathBuf {
        self.join("config.toml")
    }

    /// The lock that the daemon holds.
    pub fn lock_file(&self) -> PathBuf {
        self.join("lock")
    }

    /// The nkey seed that logs the agent in to its NATS server, where there is one.
    pub fn nats_seed(&self) -> PathBuf {
        self.join("nats.nk")
    }

    /// The file with the carriers of peers, as their invitations named them.
    pub fn peer_carriers(&self) -> PathBuf {
        self.join("carriers.json")
    }

    /// The state: a projection of the log.
    pub fn state_file(&self) -> PathBuf {
        self.join("state.db")
    }

    /// How far the log goes, kept apart from it.
    pub fn log_anchor(&self) -> PathBuf {
        self.join("log.anchor")
    }

    /// A file of the key store.
    pub fn key_file(&self, name: &str) -> PathBuf {
        self.join("keys").join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(option: Option<&str>, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| PathBuf::from(value))
        };
        let home = Home::choose(option.map(PathBuf::from), variable).ok()?;
        Some(home.path().display().to_string())
    }

    #[test]
    fn the_option_comes_before_every_variable() {
        let all = [
            ("SIGNET_HOME", "/s"),
            ("XDG_DATA_HOME", "/x"),
            ("HOME", "/h"),
        ];
        assert_eq!(chosen(Some("o"), &all).as_deref(), Some("o"));
        assert_eq!(chosen(None, &all).as_deref(), Some("/s"));
        assert_eq!(chosen(None, &all[1..]).as_deref(), Some("/x/signet"));
        assert_eq!(
            chosen(None, &all[2..]).as_deref(),
            Some("/h/.local/share/signet")
        );
        assert_eq!(chosen(None, &[]), None);
    }

    #[test]
    fn empty_variables_and_a_relative_xdg_directory_count_as_unset() {
        let odd = [("SIGNET_HOME", ""), ("XDG_DATA_HOME", "x"), ("HOME", "/h")];
        assert_eq!(
            chosen(None, &odd).as_deref(),
            Some("/h/.local/share/signet")
        );
    }
}
