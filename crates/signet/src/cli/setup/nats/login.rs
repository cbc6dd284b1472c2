//! How a person reaches a NATS server from the command line, by the conventions of NATS's own tools.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use signet_transport::{ConnectionConfig, Login, NatsTls, Secret};

use super::CliError;
use super::mailboxes::administrator;
use crate::cli::setup::up::server::OwnServer;
use crate::config::{Config as OfHome, NatsConfig};
use crate::files::private;
use crate::home::Home;
use crate::programs::settings_dir;

/// `--server`, `--creds`, `--nkey`, `--tlsca`, `--tlscert`, `--tlskey`, `--context`, and their variables.
#[derive(Debug, Args)]
pub(super) struct LoginArgs {
    /// The server [default: $NATS_URL, the context's, the home's, or nats://127.0.0.1:4222]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// A credentials file [default: $NATS_CREDS]
    #[arg(long, value_name = "FILE", conflicts_with = "nkey")]
    creds: Option<PathBuf>,
    /// A file with the nkey seed of an administrator [default: $NATS_NKEY]
    #[arg(long, value_name = "FILE")]
    nkey: Option<PathBuf>,
    /// Authorities to trust instead of the system's, PEM [default: $NATS_CA, the context's, or the home's]
    #[arg(long, value_name = "FILE")]
    tlsca: Option<PathBuf>,
    /// This client's certificate, PEM [default: $NATS_CERT, the context's, or the home's]
    #[arg(long, value_name = "FILE", requires = "tlskey")]
    tlscert: Option<PathBuf>,
    /// The key of that certificate, PEM [default: $NATS_KEY, the context's, or the home's]
    #[arg(long, value_name = "FILE", requires = "tlscert")]
    tlskey: Option<PathBuf>,
    /// A context of the nats tool: ~/.config/nats/context/NAME.json [default: $NATS_CONTEXT]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl LoginArgs {
    /// A connection's settings: what is given comes before what the context says, and both before what the
    /// configuration of `home` says.
    pub(super) fn config(
        &self,
        home: Option<&(Home, OfHome)>,
    ) -> Result<ConnectionConfig, CliError> {
        let name = self.context.clone().or_else(|| variable("NATS_CONTEXT"));
        let context = name.as_deref().map(read_context).transpose()?;
        let context = context.unwrap_or_default();
        let from = |name: &str| {
            let value = context.get(name).and_then(Value::as_str);
            value.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        let server = self.server.clone().or_else(|| variable("NATS_URL"));
        let server = server.or_else(|| from("url"));
        let nats = home.map(|(_, config)| &config.nats);
        let servers: Vec<String> = match (server, nats) {
            (Some(list), _) => list.split(',').map(|one| one.trim().to_owned()).collect(),
            (None, Some(nats)) if !nats.servers.is_empty() => nats.servers.clone(),
            (None, _) => vec!["nats://127.0.0.1:4222".to_owned()],
        };
        // Use the home's settings only for the servers that its configuration names: no other server may be
        // shown the home's certificates.
        let nats = nats.filter(|nats| servers.iter().all(|one| nats.servers.contains(one)));
        let mut config = administrator(servers, "signet nats setup");
        config.login = match (&self.creds, &self.nkey) {
            (Some(creds), _) => Login::CredsFile(creds.clone()),
            (None, Some(nkey)) => Login::NkeySeedFile(nkey.clone()),
            (None, None) => login_of(|name| {
                let named = match name {
                    "creds" => variable("NATS_CREDS"),
                    "nkey" => variable("NATS_NKEY"),
                    _ => None,
                };
                named.or_else(|| from(name))
            }),
        };
        if let (Login::None, Some(_), Some((home, _))) = (&config.login, nats, home) {
            config.login = own_administrator(home, &config.servers)?;
        }
        if let Some(secret) = secret_file(&config.login) {
            private::open(secret)?;
        }
        config.tls = self.tls(from, nats);
        Ok(config)
    }

    /// Each file that is given comes before that of a variable, the context's, and the home's.
    fn tls(&self, context: impl Fn(&str) -> Option<String>, home: Option<&NatsConfig>) -> NatsTls {
        let file = |given: &Option<PathBuf>, name: &str, key: &str| {
            let other = || variable(name).or_else(|| context(key)).map(PathBuf::from);
            given.clone().or_else(other)
        };
        let mut tls = NatsTls {
            required: false,
            ca: file(&self.tlsca, "NATS_CA", "ca"),
            cert: file(&self.tlscert, "NATS_CERT", "cert"),
            key: file(&self.tlskey, "NATS_KEY", "key"),
        };
        if let Some(nats) = home {
            tls.required = nats.tls_required;
            tls.ca = tls.ca.or_else(|| nats.tls_ca.clone());
            if tls.cert.is_none() && tls.key.is_none() {
                (tls.cert, tls.key) = nats.tls_client.clone().unzip();
            }
        }
        tls
    }
}

/// The login of who makes the mailboxes on a server that `signet up` made for this home.
fn own_administrator(home: &Home, servers: &[String]) -> Result<Login, CliError> {
    match OwnServer::of(home) {
        Some(own) if servers == [own.url()?] => Ok(Login::NkeySeedFile(own.admin_seed())),
        _ => Ok(Login::None),
    }
}

fn login_of(from: impl Fn(&str) -> Option<String>) -> Login {
    if let Some(creds) = from("creds") {
        return Login::CredsFile(creds.into());
    }
    if let Some(nkey) = from("nkey") {
        return Login::NkeySeedFile(nkey.into());
    }
    match (from("user"), from("password"), from("token")) {
        (Some(user), Some(password), _) => Login::UserPassword {
            user,
            password: Secret::from(password),
        },
        (_, _, Some(token)) => Login::Token(Secret::from(token)),
        _ => Login::None,
    }
}

fn secret_file(login: &Login) -> Option<&Path> {
    match login {
        Login::CredsFile(file) | Login::NkeySeedFile(file) => Some(file),
        Login::None | Login::UserPassword { .. } | Login::Token(_) => None,
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn read_context(name: &str) -> Result<Value, CliError> {
    let unusable = |what: String| {
        CliError::usage(
            what,
            "nats context ls shows the names; or give --server and --nkey",
        )
    };
    // `--context` and NATS_CONTEXT name a context. Refuse a path: it could lead to a file outside the folder of the contexts.
    if name.contains(['/', '\\']) || name.starts_with('.') {
        return Err(unusable(format!("{name:?} is no name of a context")));
    }
    let file = settings_dir()
        .unwrap_or_default()
        .join("nats/context")
        .join(format!("{name}.json"));
    let text = std::fs::read_to_string(&file);
    let text = text.map_err(|error| unusable(format!("{}: {error}", file.display())))?;
    serde_json::from_str(&text).map_err(|_| unusable(format!("{} is no JSON", file.display())))
}
