//! Reading a configuration that `signet nats config` printed, so that agents can be added to it.

use std::path::{Path, PathBuf};

use signet_proto::ids::AgentId;
use signet_transport::is_user;

use super::CliError;
use super::conf::{ServerConf, User, is_plain};

/// The settings that signet needs to know of an existing server configuration.
pub(super) struct ServerSettings {
    pub(super) name: String,
    pub(super) domain: Option<String>,
    pub(super) include: Option<String>,
    pub(super) listen: String,
    pub(super) store: String,
    pub(super) admin: String,
    pub(super) system: Option<String>,
    pub(super) users: Vec<User>,
    pub(super) shares: usize,
}

impl ServerSettings {
    /// Reads the file, and refuses it where writing its settings again does not give the same text: whatever somebody changed
    /// in it by hand would be lost.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let what = format!("{}: {error}", path.display());
            CliError::file(
                &error,
                what,
                "name the file that nats-server reads: --add FILE",
            )
        })?;
        // `parse` only looks for known texts and passes over all others. This comparison proves that there are no
        // others: signet would lose them when it writes the file anew.
        let is_whole = |kept: &Self| {
            let server = kept.server();
            server.render() == text || server.render_before() == text
        };
        let kept = Self::parse(&text).filter(is_whole);
        kept.ok_or_else(|| foreign(path.to_owned()))
    }

    fn parse(text: &str) -> Option<Self> {
        let admin = behind(text, "# makes the mailboxes")?.lines().nth(1)?;
        let shares = between(text, "max_file: ", "GB")?.parse::<usize>().ok()?;
        let system = between(text, "  SYS: { users: [ { nkey: ", " } ] }");
        let domain = between(text, "GB, domain: \"", "\" }");
        let include = between(text, "\ninclude \"", "\"");
        Some(Self {
            name: plain(between(text, "\nserver_name: ", "\n")?)?,
            domain: domain.map(str::to_owned),
            include: include.map(str::to_owned),
            listen: plain(between(text, "listen: \"", "\"")?)?,
            store: plain(between(text, "store_dir: \"", "\"")?)?,
            admin: nkey(admin)?,
            system: system.map(str::to_owned),
            users: users(text),
            shares: shares.checked_sub(1)?,
        })
    }

    /// The server that it describes.
    pub(super) fn server(&self) -> ServerConf<'_> {
        ServerConf {
            name: &self.name,
            domain: self.domain.as_deref(),
            include: self.include.as_deref(),
            listen: &self.listen,
            store: &self.store,
            admin: &self.admin,
            users: &self.users,
            system: self.system.as_deref(),
            shares: self.shares,
            files: None,
        }
    }
}

/// Each agent's block begins with its id as a comment; the line below has its key.
fn users(text: &str) -> Vec<User> {
    let pairs = text.lines().zip(text.lines().skip(1));
    let user = |(first, second): (&str, &str)| {
        let agent = first.trim().strip_prefix("{ # ")?;
        let agent = agent.parse::<AgentId>().ok()?;
        let nkey = nkey(second)?;
        Some(User { agent, nkey })
    };
    pairs.filter_map(user).collect()
}

fn nkey(line: &str) -> Option<String> {
    let nkey = line.trim().strip_prefix("nkey: ")?;
    is_user(nkey).then(|| nkey.to_owned())
}

fn plain(text: &str) -> Option<String> {
    is_plain(text).then(|| text.to_owned())
}

fn behind<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    text.split_once(start).map(|(_, rest)| rest)
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    behind(text, start)?.split_once(end).map(|(found, _)| found)
}

fn foreign(path: PathBuf) -> CliError {
    let what = format!(
        "{} is not what signet nats config printed: it was changed, or another release made it",
        path.display()
    );
    let next = "add the agents by hand, or print all of it anew: signet nats config --admin NKEY AGENT=NKEY …";
    CliError::refused(what, next)
}
