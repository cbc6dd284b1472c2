//! Taking a change of keys into use: by the daemon where one runs, else here.

use std::time::Duration;

use signet_api::AdoptKeys;

use super::{Failure, open, print};
use crate::clock;
use crate::config::Config;
use crate::control::{Client, ClientError};
use crate::home::Home;
use crate::keystore::{self, AgentKeys, KeyChange};
use crate::lock::HomeLock;

/// `signet key adopt`.
pub(super) fn run(home: &Home) -> Result<(), Failure> {
    let config = Config::load(home)?;
    let adopted = adopt(home, &config)?;
    let (_, keys) = open(home)?;
    print(&format!(
        "{}; the certificate has serial {}, the key statement {}\n",
        if adopted {
            "the change is in use"
        } else {
            "no change was waiting"
        },
        keys.certificate.serial,
        keys.statement.serial,
    ))
}

/// Stages `change` and takes it into use. The keys as they are then.
pub(super) fn apply(
    home: &Home,
    config: &Config,
    change: &KeyChange,
) -> Result<AgentKeys, Failure> {
    keystore::stage(home, change)?;
    adopt(home, config)?;
    Ok(AgentKeys::open(home, &config.agent)?)
}

fn adopt(home: &Home, config: &Config) -> Result<bool, Failure> {
    match Client::connect(&config.control_socket, PROMPT) {
        Ok(mut client) => Ok(client.call(&AdoptKeys {})?.adopted),
        Err(ClientError::NotReachable { .. }) => {
            let lock = HomeLock::acquire(home)?;
            Ok(keystore::adopt(&lock, &config.agent, clock::now())?)
        }
        Err(error) => Err(error.into()),
    }
}

const PROMPT: Duration = Duration::from_secs(30);
