//! How the configuration reaches the NATS server, and what to do where it cannot.

use signet_transport::{ConnectionConfig, Error, Login, Mailbox, NatsTls, Secret};

use crate::config::{Config, MailboxMode, NatsLogin};
use crate::files::private::{self, PrivateError};
use crate::render;

/// How the configuration reaches the NATS server; secrets are read.
pub(crate) fn of(config: &Config) -> Result<ConnectionConfig, PrivateError> {
    let agent = &config.agent.agent;
    let mut nats = ConnectionConfig::new(
        config.nats.servers.clone(),
        render::inbox_subject(agent),
        config.nats.reply_prefix.of(agent),
    );
    nats.name = format!("signet {agent}");
    nats.discovers_servers = config.nats.discovers_servers;
    nats.mailbox = match config.nats.mailbox {
        MailboxMode::Jetstream => {
            Some(Mailbox::of(agent.as_str()).in_domain(config.nats.domain.clone()))
        }
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
                password: Secret::from(without_line_end(&password).to_owned()),
            }
        }
    };
    let (cert, key) = config.nats.tls_client.clone().unzip();
    nats.tls = NatsTls {
        required: config.nats.tls_required,
        ca: config.nats.tls_ca.clone(),
        cert,
        key,
    };
    Ok(nats)
}

/// Editors end a file with a line feed, which is no part of the password. A space at its end is one.
fn without_line_end(password: &str) -> &str {
    password.trim_end_matches(['\n', '\r'])
}

/// What to do about settings of the connection that no later try mends.
pub(crate) fn next(error: &Error) -> &'static str {
    let by_variable = std::env::var("NATS_URL").is_ok_and(|urls| !urls.trim().is_empty());
    match error {
        Error::Setting {
            setting: "servers", ..
        } if by_variable => {
            "correct the variable NATS_URL, which comes before [nats]: bare addresses, such as nats://127.0.0.1:4222; the login stands in [nats]"
        }
        Error::Setting {
            setting: "servers", ..
        } => {
            "correct `servers` in [nats] of config.toml: bare addresses, such as nats://127.0.0.1:4222"
        }
        Error::LoginFile { .. } | Error::TlsFile { .. } => {
            "put the right file there, or correct its path in [nats] of config.toml"
        }
        Error::Setting { .. }
        | Error::LoginRefused { .. }
        | Error::Tls { .. }
        | Error::Unreachable { .. }
        | Error::Disconnected
        | Error::Closed
        | Error::Stale
        | Error::TooLarge { .. }
        | Error::Subject { .. }
        | Error::Setup { .. }
        | Error::NoRoom { .. }
        | Error::NoCluster { .. }
        | Error::NoPeers { .. }
        | Error::NoLeader { .. }
        | Error::TooManyMailboxes { .. }
        | Error::Undrained => "correct [nats] in config.toml",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_at_the_end_of_a_password_belongs_to_it_and_the_end_of_its_line_does_not() {
        for ended in [" a b ", " a b \n", " a b \r\n", " a b \n\n"] {
            assert_eq!(without_line_end(ended), " a b ", "{ended:?}");
        }
    }
}
