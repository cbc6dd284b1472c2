//! Taking a change of keys into use: by the daemon where one runs, else here.

use signet_api::AdoptKeys;

use super::{CliError, open, print};
use crate::cli::ask::daemon_at;
use crate::clock;
use crate::config::Config;
use crate::home::Home;
use crate::keystore::{self, AgentKeys, KeyChange};
use crate::lock::HomeLock;

/// `signet key adopt`.
pub(super) fn run(home: &Home) -> Result<(), CliError> {
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
) -> Result<AgentKeys, CliError> {
    // Stage the change first: if `adopt` fails here, the next start of the daemon adopts the staged change.
    keystore::stage(home, change)?;
    adopt(home, config)?;
    Ok(AgentKeys::open(home, &config.agent)?)
}

fn adopt(home: &Home, config: &Config) -> Result<bool, CliError> {
    // A running daemon has the old keys in memory and holds the lock, so it has to adopt the change itself.
    if let Some(mut client) = daemon_at(&config.control_socket)? {
        return Ok(client.call(&AdoptKeys {})?.adopted);
    }
    let lock = HomeLock::acquire(home)?;
    Ok(keystore::adopt(&lock, &config.agent, clock::now())?)
}
