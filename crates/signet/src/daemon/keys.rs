//! Our own keys while the daemon runs: it holds the lock, so it adopts what was staged, makes the
//! monthly sealing key, and destroys old secrets.

use std::sync::Arc;

use signet_proto::card::CardKey;
use signet_proto::draft::Identity;
use signet_proto::time::Timestamp;
use tracing::warn;

use crate::config::AgentConfig;
use crate::hint::typed;
use crate::home::Home;
use crate::keystore::{self, AgentKeys, KeystoreError};
use crate::lock::HomeLock;

/// The keys of the locked home.
pub(super) struct OwnKeys {
    lock: Arc<HomeLock>,
}

impl OwnKeys {
    pub(super) const fn of(lock: Arc<HomeLock>) -> Self {
        Self { lock }
    }

    /// Whose keys they are.
    pub(super) fn home(&self) -> &Home {
        self.lock.home()
    }

    /// Once an hour: a key statement lasts 45 days, and a daemon longer.
    ///
    /// # Errors
    /// What stands in the way of new monthly keys.
    pub(super) fn renew(
        &self,
        identity: &Identity,
        now: Timestamp,
    ) -> Result<AgentKeys, KeystoreError> {
        let certificate = &identity.certificate;
        if !certificate.covers(now) {
            warn!(
                %now,
                not_before = %certificate.not_before,
                not_after = %certificate.not_after,
                "the clock stands outside the dates of our certificate: nothing is signed; next: {}",
                typed("signet status  # says what to do")
            );
        }
        AgentKeys::upkeep(&self.lock, &agent(identity), now)
    }

    /// Adopts what a command has staged; whether there was anything, and the keys from now on.
    ///
    /// # Errors
    /// What stands in the way.
    pub(super) fn adopt(
        &self,
        identity: &Identity,
        now: Timestamp,
    ) -> Result<(bool, AgentKeys), KeystoreError> {
        // Call `upkeep` after `adopt`: the key statement may be overdue as well, and perhaps only the certificate that was
        // just adopted allows a new key statement to be signed.
        let agent = agent(identity);
        let adopted = keystore::adopt(&self.lock, &agent, now)?;
        Ok((adopted, AgentKeys::upkeep(&self.lock, &agent, now)?))
    }

    /// The key that signs the agent's card.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(super) fn card_key(&self) -> Result<CardKey, KeystoreError> {
        keystore::card_key(&self.lock)
    }
}

fn agent(identity: &Identity) -> AgentConfig {
    AgentConfig {
        agent: identity.certificate.agent.clone(),
        principal: identity.certificate.principal.clone(),
        layers: identity.layers,
    }
}
