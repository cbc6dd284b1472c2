//! Our own keys while the daemon runs: it holds the lock, so it adopts what was staged, makes the
//! monthly sealing key, and destroys old secrets.

use signet_api::{AdoptKeys, Adopted, ApiError, Reason};
use signet_proto::node::{At, Outcome};
use signet_proto::time::Timestamp;
use tracing::{error, info, warn};

use crate::clock;
use crate::config::AgentConfig;
use crate::control::Reply;
use crate::hint::typed;
use crate::keystore::{Keys, KeystoreError};

use super::heart::Heart;
use super::serve::value_of;

impl Heart {
    /// Once an hour: a key statement lasts 45 days, and a daemon longer.
    pub(super) async fn keep_keys(&mut self) {
        let now = clock::now();
        let certificate = &self.node.identity().certificate;
        if !certificate.covers(now) {
            warn!(
                %now,
                not_before = %certificate.not_before,
                not_after = %certificate.not_after,
                "the clock stands outside the dates of our certificate: nothing is signed; next: {}",
                typed("signet status  # says what to do")
            );
        }
        match self.keys_at(now) {
            Ok(keys) => {
                let outcome = self.go_on_with(now, keys);
                self.write(now, vec![outcome], Vec::new()).await;
            }
            Err(error) => {
                error!(%error, "the monthly keys cannot be renewed; trying again in an hour")
            }
        }
        self.tell_of_end(now).await;
    }

    /// Adopts what a command has staged, and answers when the announces are durable.
    pub(super) async fn adopt_staged(&mut self, reply: Reply) {
        let now = clock::now();
        match crate::keystore::adopt(&self.lock, &self.agent(), now)
            .and_then(|adopted| Ok((adopted, self.keys_at(now)?)))
        {
            Ok((adopted, keys)) => {
                let adopted = value_of::<AdoptKeys>(&Adopted {
                    adopted,
                    serial: keys.certificate.serial,
                    keys_serial: keys.statement.serial,
                });
                let outcome = self.go_on_with(now, keys);
                self.answer(reply, adopted, (now, outcome), None).await;
            }
            Err(error) => {
                let refusal = ApiError::refused(Reason::KeysRefused, error.to_string())
                    .with_next(error.next());
                // The caller may have gone.
                reply.send(Err(refusal));
            }
        }
    }

    fn keys_at(&self, now: Timestamp) -> Result<Keys, KeystoreError> {
        Keys::upkeep(&self.lock, &self.agent(), now)
    }

    fn go_on_with(&mut self, now: Timestamp, keys: Keys) -> Outcome {
        let layers = self.node.identity().layers;
        let before = (
            self.node.identity().certificate.serial,
            self.node.identity().keys.serial,
        );
        let outcome = self
            .node
            .adopt(At { now, ..self.at() }, keys.into_identity(layers));
        let identity = self.node.identity();
        let after = (identity.certificate.serial, identity.keys.serial);
        if before != after {
            info!(
                serial = after.0,
                keys_serial = after.1,
                "new keys are in use"
            );
        }
        outcome
    }

    fn agent(&self) -> AgentConfig {
        let identity = self.node.identity();
        AgentConfig {
            agent: identity.certificate.agent.clone(),
            principal: identity.certificate.principal.clone(),
            layers: identity.layers,
        }
    }
}
