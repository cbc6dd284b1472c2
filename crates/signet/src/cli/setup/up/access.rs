//! How a home gets into a NATS server that somebody else keeps, where not by an nkey: a credentials file, certificates.

use std::path::{Path, PathBuf};

use clap::Args;

use super::config::{Setting, set_files};
use crate::cli::CliError;
use crate::files::private;
use crate::home::Home;

/// `--creds`, `--tlsca`, `--tlscert` and `--tlskey`, as `signet nats setup` has them.
#[derive(Debug, Args)]
pub(super) struct AccessArgs {
    /// The credentials file (a JWT and its seed, as nsc writes it) by which the agent logs in to the server of --nats
    #[arg(long, value_name = "FILE", requires = "nats")]
    creds: Option<PathBuf>,
    /// Authorities to trust instead of the system's, PEM
    #[arg(long, value_name = "FILE", requires = "nats")]
    tlsca: Option<PathBuf>,
    /// The agent's certificate, PEM, where that server asks for one
    #[arg(long, value_name = "FILE", requires_all = ["nats", "tlskey"])]
    tlscert: Option<PathBuf>,
    /// The key of that certificate, PEM
    #[arg(long, value_name = "FILE", requires_all = ["nats", "tlscert"])]
    tlskey: Option<PathBuf>,
}

impl AccessArgs {
    /// Whether they name anything.
    pub(super) fn is_some(&self) -> bool {
        self.named().next().is_some()
    }

    /// Writes the paths into the configuration, in the place of what stands there. The files stay where they are.
    pub(super) fn write(&self, home: &Home) -> Result<(), CliError> {
        for secret in [&self.creds, &self.tlskey].into_iter().flatten() {
            private::open(secret)?;
        }
        let files = self
            .named()
            .map(|(setting, file)| Ok((setting, whole(file)?)));
        let files = files.collect::<Result<Vec<_>, CliError>>()?;
        match files.is_empty() {
            true => Ok(()),
            false => set_files(home, &files),
        }
    }

    fn named(&self) -> impl Iterator<Item = (Setting, &Path)> {
        let tls = "[nats.tls]";
        let all = [
            ("[nats]", "creds", &self.creds),
            (tls, "ca", &self.tlsca),
            (tls, "cert", &self.tlscert),
            (tls, "key", &self.tlskey),
        ];
        all.into_iter()
            .filter_map(|(section, name, file)| Some((Setting { section, name }, file.as_deref()?)))
    }
}

/// The path from the root on: the configuration would take another for one below the home.
fn whole(file: &Path) -> Result<String, CliError> {
    let unusable =
        |what: String| CliError::usage(what, "name a file that is there, by a plain path");
    let path = std::fs::canonicalize(file);
    let path = path.map_err(|error| unusable(format!("{}: {error}", file.display())))?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| unusable(format!("{} is no text", path.display())))
}
