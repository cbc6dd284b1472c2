//! The line that gives one agent its login on a NATS server: made by `signet invite --login`, used by `signet up --login`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use signet_proto::ids::{AgentId, decode_base64url, encode_base64url};
use signet_transport::user_of_seed;
use zeroize::Zeroizing;

use crate::cli::CliError;
use crate::cli::setup::nats::key::NewUser;

use super::server::{LoginResult, OwnServer};

/// A login of a NATS server for one agent: secret, and its own line, beside an invitation.
pub(crate) struct NewLogin {
    pub(super) agent: AgentId,
    pub(super) servers: Vec<String>,
    pub(super) nkey: Zeroizing<String>,
}

/// A new login as the line for its peer holds it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginLine<'a> {
    agent: AgentId,
    servers: Vec<String>,
    nkey: Cow<'a, str>,
}

impl NewLogin {
    /// A new one for `agent` on the home's own server, which must run.
    pub(crate) fn make(
        own: &OwnServer,
        agent: &AgentId,
        servers: Vec<String>,
    ) -> Result<(Self, LoginResult), CliError> {
        let NewUser { seed: nkey, public } = NewUser::make()?;
        let admitted = own.admit(agent, &public)?;
        let login = Self {
            agent: agent.clone(),
            servers,
            nkey,
        };
        Ok((login, admitted))
    }

    /// The line that a person hands over.
    pub(crate) fn to_line(&self) -> Zeroizing<String> {
        let written = LoginLine {
            agent: self.agent.clone(),
            servers: self.servers.clone(),
            nkey: Cow::Borrowed(&self.nkey),
        };
        let bytes = Zeroizing::new(serde_json::to_vec(&written).unwrap_or_default());
        Zeroizing::new(format!("{PREFIX}{}", encode_base64url(&bytes)))
    }

    pub(super) fn parse(line: &str) -> Result<Self, CliError> {
        let unusable = || {
            let what = "this is no login: the line of signet invite --login is expected, which begins with signet-login:1:";
            CliError::usage(what, "copy it whole; - reads it from standard input")
        };
        let rest = line.trim().strip_prefix(PREFIX).ok_or_else(unusable)?;
        let bytes = Zeroizing::new(decode_base64url(rest).map_err(|_| unusable())?);
        let written: LoginLine<'_> = serde_json::from_slice(&bytes).map_err(|_| unusable())?;
        let login = Self {
            agent: written.agent,
            servers: written.servers,
            nkey: Zeroizing::new(written.nkey.into_owned()),
        };
        login.public()?;
        Ok(login)
    }

    pub(super) fn public(&self) -> Result<String, CliError> {
        user_of_seed(&self.nkey).ok_or_else(|| {
            CliError::usage("the key in this login is none", "ask for another login")
        })
    }
}

pub(super) const PREFIX: &str = "signet-login:1:";
