//! What the configuration says of the way to others: which carriers, and how to reach them.

use std::time::Duration;

use signet_proto::carrier::CarrierId;
use signet_transport::{Config as NatsConfig, Login, Mailbox, Secret, Tls};
use tracing::warn;

use crate::carrier::{self, Carriers, Reading};
use crate::config::{Config, MailboxMode, NatsLogin};
use crate::private::{self, PrivateError};
use crate::render;

use super::DaemonError;

/// The carriers that the configuration names.
pub(super) async fn connect(config: &Config) -> Result<(Carriers, Vec<Reading>), DaemonError> {
    let (nats, source) = carrier::nats(transport(config)?).await?;
    let reading = Reading {
        id: CarrierId::NATS,
        address: render::inbox_subject(&config.agent.agent),
        source,
    };
    Ok((Carriers::of([(CarrierId::NATS, nats)]), vec![reading]))
}

/// The servers that the configuration names, in words, and without a login that does not belong there.
pub(super) fn servers_of(config: &Config) -> String {
    let bare = |url: &String| match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => url.clone(),
    };
    let servers: Vec<String> = config.nats.servers.iter().map(bare).collect();
    format!("NATS server at {}", servers.join(", "))
}

/// Tells the terminal after a while that no server answers: an agent starts without it.
pub(super) async fn warn_without_a_server(carriers: Carriers) {
    if let Err(error) = carriers.ready(FIRST_CONNECTION).await {
        warn!(%error, "no NATS server yet; trying again");
    }
}

/// How the configuration reaches the NATS server; secrets are read.
pub(crate) fn transport(config: &Config) -> Result<NatsConfig, PrivateError> {
    let agent = &config.agent.agent;
    let mut nats = NatsConfig::new(
        config.nats.servers.clone(),
        render::inbox_subject(agent),
        format!("_INBOX_{agent}"),
    );
    nats.name = format!("signet {agent}");
    nats.mailbox = match config.nats.mailbox {
        MailboxMode::Jetstream => Some(Mailbox::of(agent.as_str())),
        MailboxMode::Core => None,
    };
    nats.login = match &config.nats.login {
        NatsLogin::None => Login::None,
        NatsLogin::Creds(file) => Login::CredsFile(file.clone()),
        NatsLogin::Nkey(file) => Login::NkeySeedFile(file.clone()),
        NatsLogin::User {
            user,
            password_file,
        } => {
            let password = private::read(password_file)?;
            Login::UserPassword {
                user: user.clone(),
                password: Secret::from(password.trim_end().to_owned()),
            }
        }
    };
    let (cert, key) = config.nats.tls_client.clone().unzip();
    nats.tls = Tls {
        required: config.nats.tls_required,
        ca: config.nats.tls_ca.clone(),
        cert,
        key,
    };
    Ok(nats)
}

/// How long that is.
const FIRST_CONNECTION: Duration = Duration::from_secs(5);
