//! How to reach and enter the NATS server.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::ConnectOptions;

use crate::{Error, Mailbox};

/// Everything a connection needs. [`ConnectionConfig::new`] fills in the defaults.
#[derive(Clone)]
pub struct ConnectionConfig {
    /// `nats://host:port` or `tls://host:port`, and over a WebSocket `ws://host:port` or `wss://host:port/path`, tried in turn.
    /// Credentials do not belong here.
    pub servers: Vec<String>,
    /// Whether the servers of a cluster are tried as well of which one of `servers` tells.
    pub discovers_servers: bool,
    /// The one subject that mail comes to.
    pub inbox: String,
    /// The JetStream mailbox that keeps this mail; without one, core NATS loses what comes while nobody
    /// listens. It is asked for at every connect, and while there is none, core NATS serves.
    pub mailbox: Option<Mailbox>,
    /// Where answers to this connection alone may go, such as `_INBOX_alpha`: under a shared `_INBOX` one
    /// agent can read another's mail.
    pub reply_prefix: String,
    /// The name that the server's monitoring shows.
    pub name: String,
    /// The most bytes of one message, either way. What is longer arrives as `Arrival::Oversized`.
    pub max_bytes: usize,
    /// How many messages may wait to be read. What comes beyond it is dropped, and an `Arrival::Gap`
    /// says so.
    pub capacity: usize,
    /// How many bytes of messages may wait; beyond it likewise.
    pub capacity_bytes: usize,
    /// How this agent proves to the server who it is.
    pub login: Login,
    /// Encryption of the connection.
    pub tls: NatsTls,
}

impl ConnectionConfig {
    /// A configuration without login or TLS, for messages of at most 240 KiB (`docs/protocol.md`, strict
    /// JSON) and 8,192 waiting ones of 16 MiB together.
    pub fn new(
        servers: Vec<String>,
        inbox: impl Into<String>,
        reply_prefix: impl Into<String>,
    ) -> Self {
        Self {
            servers,
            discovers_servers: true,
            inbox: inbox.into(),
            mailbox: None,
            reply_prefix: reply_prefix.into(),
            name: "signet".to_owned(),
            max_bytes: 240 * 1024,
            capacity: 8_192,
            capacity_bytes: 16 << 20,
            login: Login::None,
            tls: NatsTls::default(),
        }
    }

    /// The client library's options. Secrets are read here, anew for every connection, so that a changed
    /// login takes effect without a restart.
    pub(crate) fn options(&self) -> Result<ConnectOptions, Error> {
        self.parse_servers()?;
        let options = ConnectOptions::new()
            .name(&self.name)
            .custom_inbox_prefix(&self.reply_prefix)
            .subscription_capacity(SUBSCRIPTION)
            .connection_timeout(CONNECT)
            .ping_interval(PING)
            // `ServerPool` chooses the next server, not the client library.
            .ignore_discovered_servers();
        self.tls.apply(self.login.apply(options)?)
    }

    fn parse_servers(&self) -> Result<(), Error> {
        if self.servers.is_empty() {
            return Err(setting(
                "servers",
                "name at least one, such as nats://127.0.0.1:4222",
            ));
        }
        for server in &self.servers {
            // Refuse an address with a login: its password would appear in logs and in the texts of errors.
            if server.contains('@') {
                return Err(setting(
                    "servers",
                    "an address holds no user and no password",
                ));
            }
            let parsed = server.parse::<async_nats::ServerAddr>();
            let parsed = parsed.map_err(|e| setting("servers", &format!("{server}: {e}")))?;
            // The client library never changes a `ws://` connection over to TLS, whatever the other settings ask for: it would
            // log in in clear.
            if parsed.scheme() == "ws" && self.tls.is_demanded() {
                let reason = format!("{server} is without TLS, which `tls` demands: write wss://");
                return Err(setting("servers", &reason));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ConnectionConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<&str> = self.servers.iter().map(|s| without_login(s)).collect();
        f.debug_struct("Config")
            .field("servers", &servers)
            .field("discovers_servers", &self.discovers_servers)
            .field("inbox", &self.inbox)
            .field("mailbox", &self.mailbox)
            .field("reply_prefix", &self.reply_prefix)
            .field("name", &self.name)
            .field("max_bytes", &self.max_bytes)
            .field("capacity", &self.capacity)
            .field("capacity_bytes", &self.capacity_bytes)
            .field("login", &self.login)
            .field("tls", &self.tls)
            .finish()
    }
}

/// How the agent logs in. A key that logs in never signs messages: the server chooses the bytes it signs.
#[derive(Debug, Clone, Default)]
pub enum Login {
    /// Not at all: loopback and demonstrations.
    #[default]
    None,
    /// A user and a password.
    UserPassword {
        /// The user.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A token.
    Token(Secret),
    /// A file that holds an nkey seed (`SU…`): the recommended way.
    NkeySeedFile(PathBuf),
    /// A credentials file: a JWT and its seed, as `nsc` writes it.
    CredsFile(PathBuf),
}

impl Login {
    fn apply(&self, options: ConnectOptions) -> Result<ConnectOptions, Error> {
        Ok(match self {
            Self::None => options,
            Self::UserPassword { user, password } => {
                options.user_and_password(user.clone(), password.0.clone())
            }
            Self::Token(token) => options.token(token.0.clone()),
            Self::NkeySeedFile(path) => options.nkey(parse_seed(path, &read(path)?)?),
            Self::CredsFile(path) => options
                .credentials(&read(path)?)
                .map_err(|e| login_file(path, &e.to_string()))?,
        })
    }
}

/// A text that is never printed.
#[derive(Clone)]
pub struct Secret(String);

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Encryption of the connection.
#[derive(Debug, Clone, Default)]
pub struct NatsTls {
    /// Refuse a server without TLS. Implied by `tls://` and `wss://`, by `ca` and by `cert`.
    pub required: bool,
    /// Authorities to trust instead of the system's, in PEM.
    pub ca: Option<PathBuf>,
    /// This client's certificate chain, in PEM; needs `key`.
    pub cert: Option<PathBuf>,
    /// The private key of `cert`, in PEM.
    pub key: Option<PathBuf>,
}

impl NatsTls {
    /// Whether a server without TLS is refused, whatever its address begins with.
    fn is_demanded(&self) -> bool {
        self.required || self.ca.is_some() || self.cert.is_some()
    }

    fn apply(&self, mut options: ConnectOptions) -> Result<ConnectOptions, Error> {
        self.look_at_files()?;
        options = options.require_tls(self.is_demanded());
        if let Some(ca) = &self.ca {
            options = options.add_root_certificates(ca.clone());
        }
        match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                Ok(options.add_client_certificate(cert.clone(), key.clone()))
            }
            (None, None) => Ok(options),
            _ => Err(setting(
                "tls",
                "`cert` and `key` belong together: give both or neither",
            )),
        }
    }
}

impl NatsTls {
    /// The client library reads these files at every connect, and calls one that is missing a fault of
    /// the server's certificate.
    fn look_at_files(&self) -> Result<(), Error> {
        let certificates = self
            .ca
            .iter()
            .chain(&self.cert)
            .map(|path| (path, CERTIFICATE));
        let keys = self.key.iter().map(|path| (path, PRIVATE_KEY));
        for (path, mark) in certificates.chain(keys) {
            let fault = |reason: String| Error::TlsFile {
                path: path.clone(),
                reason,
            };
            let text = plain(path).and_then(fs::read);
            let text = text.map_err(|e| fault(format!("cannot be read: {e}")))?;
            let mut windows = text.windows(mark.len());
            if !windows.any(|window| window == mark.as_bytes()) {
                return Err(fault(format!("holds no `{mark}`, as PEM files do")));
            }
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<String, Error> {
    let text = plain(path).and_then(fs::read_to_string);
    text.map_err(|e| login_file(path, &format!("cannot be read: {e}")))
}

/// A pipe in the place of a file would be waited at.
fn plain(path: &Path) -> io::Result<&Path> {
    match fs::metadata(path)?.is_file() {
        true => Ok(path),
        false => Err(io::Error::other("it is no plain file")),
    }
}

fn parse_seed(path: &Path, text: &str) -> Result<String, Error> {
    let seed = text.trim();
    let shape = seed.len() == 58 && seed.starts_with("SU");
    let seed = shape.then(|| seed.to_owned());
    seed.ok_or_else(|| {
        login_file(
            path,
            "is no nkey user seed: 58 characters beginning with SU",
        )
    })
}

fn without_login(server: &str) -> &str {
    server.rsplit('@').next().unwrap_or_default()
}

fn setting(setting: &'static str, reason: &str) -> Error {
    Error::Setting {
        setting,
        reason: reason.to_owned(),
    }
}

fn login_file(path: &Path, reason: &str) -> Error {
    Error::LoginFile {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

/// How the address of a server begins: NATS by itself and over a WebSocket, each without TLS or with it.
pub const SCHEMES: [&str; 4] = ["nats://", "tls://", "ws://", "wss://"];
const CERTIFICATE: &str = "BEGIN CERTIFICATE";
/// Of every kind of private key.
const PRIVATE_KEY: &str = "PRIVATE KEY";
/// What the client library may read ahead of the session, which keeps it empty: one look at the socket
/// brings at most 8 MiB.
const SUBSCRIPTION: usize = 8_192;
/// How long TCP, TLS and login may take together.
const CONNECT: Duration = Duration::from_secs(5);
/// Two unanswered pings end a connection, so a silent server is noticed within three of these.
const PING: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ConnectionConfig {
        ConnectionConfig::new(
            vec!["nats://127.0.0.1:4222".into()],
            "agent.alpha.inbox",
            "_INBOX_alpha",
        )
    }

    #[test]
    fn secrets_never_print() {
        let mut config = config();
        config.servers.push("nats://u:hunter2@127.0.0.1".into());
        let password = Secret::from("hunter2".to_owned());
        config.login = Login::UserPassword {
            user: "u".into(),
            password,
        };
        assert!(!format!("{config:?}").contains("hunter2"));
        config.login = Login::Token(Secret::from("hunter2".to_owned()));
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn the_reply_prefix_is_this_agents_own() {
        let options = config().options().expect("usable");
        assert!(format!("{options:?}").contains(r#""inbox_prefix": "_INBOX_alpha""#));
    }

    #[test]
    fn a_password_in_the_address_is_refused_without_repeating_it() {
        let mut config = config();
        config.servers = vec!["nats://u:hunter2@127.0.0.1".into()];
        let error = config.options().expect_err("refused").to_string();
        assert!(
            error.contains("no password") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn a_websocket_in_clear_is_refused_where_tls_is_demanded() {
        let mut config = config();
        config.servers = vec!["ws://127.0.0.1:80".into()];
        config.options().expect("usable");
        config.tls.required = true;
        let error = config.options().expect_err("refused").to_string();
        assert!(error.contains("write wss://"), "{error}");
        config.servers = vec!["wss://127.0.0.1/nats".into()];
        config.options().expect("usable");
    }

    #[test]
    fn an_authority_makes_tls_mandatory() {
        let dir = tempfile::tempdir().expect("a directory");
        let ca = dir.path().join("ca.pem");
        fs::write(&ca, "-----BEGIN CERTIFICATE-----\n").expect("written");
        let mut config = config();
        config.tls.ca = Some(ca);
        let options = config.options().expect("usable");
        assert!(format!("{options:?}").contains(r#""tls_required": true"#));
    }

    #[test]
    fn a_missing_authority_is_no_fault_of_the_servers_certificate() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut config = config();
        for (name, words) in [("missing.pem", "cannot be read"), ("empty.pem", "holds no")] {
            let ca = dir.path().join(name);
            if name == "empty.pem" {
                fs::write(&ca, "").expect("written");
            }
            config.tls.ca = Some(ca);
            let error = config.options().expect_err("refused");
            assert!(matches!(error, Error::TlsFile { .. }), "{error}");
            let error = error.to_string();
            assert!(error.contains(name) && error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_certificate_without_its_key_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let cert = dir.path().join("cert.pem");
        fs::write(&cert, "-----BEGIN CERTIFICATE-----\n").expect("written");
        let mut config = config();
        config.tls.cert = Some(cert);
        assert!(matches!(
            config.options(),
            Err(Error::Setting { setting: "tls", .. })
        ));
    }
}
