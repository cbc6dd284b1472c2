//! What the event loop owns beside its channels: the node, and a part for each thing that is not the node's.
//!
//! A call is answered from here, and gives back what is to be written ([`super::batch::Batch`]); the event loop writes it.

use std::sync::Arc;

use signet_api::{ApiError, ConfigWaits, MailboxReaders, Reloaded, Request};
use signet_proto::node::{At, Node, Outcome};
use signet_proto::time::Timestamp;
use tracing::{info, warn};

use crate::config::ConfigError;
use crate::control::{CallAnswer, ReplySender};
use crate::keystore::AgentKeys;

use super::action::Action;
use super::batch::Batch;
use super::calls::decision::Decisions;
use super::calls::serve::{Handled, text_of};
use super::carrying::Carrying;
use super::condition::DaemonCondition;
use super::connections::Connections;
use super::consumers::Consumers;
use super::keys::OwnKeys;
use super::log_view::LogView;
use super::meters::Meters;
use super::person::Person;
use super::settings::{LiveConfig, owned};

/// The node and the parts beside it.
pub(super) struct DaemonState {
    pub(super) node: Node,
    pub(super) log: LogView,
    pub(super) keys: OwnKeys,
    pub(super) settings: LiveConfig,
    pub(super) connections: Connections,
    /// The foreign carriers.
    pub(super) carrying: Carrying,
    /// The agent's programs.
    pub(super) consumers: Consumers,
    /// What the person has to sign.
    pub(super) decisions: Decisions,
    /// What the person was told.
    pub(super) person: Person,
    /// The counters for whoever keeps the machine.
    pub(super) meters: Arc<Meters>,
}

impl DaemonState {
    /// The present moment, and the newest durable line.
    pub(super) fn at(&self) -> At {
        self.log.at()
    }

    /// Answers a call when what it did is durable. `made` names the message of ours that it made: whoever hears no
    /// answer can ask where that is.
    pub(super) fn answer<R: Request>(
        &mut self,
        now: Timestamp,
        done: Result<Handled<R>, ApiError>,
        mut reply: ReplySender,
        made: Option<&str>,
    ) -> Batch {
        let (answer, outcome) = match done {
            Ok(done) => done,
            // A failed call changed nothing, so it has no outcome to write. `refuse` writes lines only where our agent tried
            // what it may not do.
            Err(error) => return self.refuse(reply, error),
        };
        // Mark the reply of a call that writes lines: should the daemon end before they are durable, the caller hears that the
        // outcome is unknown. Any other call can simply be made again.
        if !outcome.entries.is_empty() {
            reply.in_doubt(made);
        }
        Batch::of(now, outcome).and_before(Action::Answer(reply, text_of::<R>(&answer)))
    }

    /// The same for what is shown: it is durable, because the answer follows every line that it may rest on.
    pub(super) fn show<R: Request>(
        &mut self,
        shown: Result<R::Answer, ApiError>,
        reply: ReplySender,
    ) -> Batch {
        self.show_text(shown.and_then(|answer| text_of::<R>(&answer)), reply)
    }

    /// The same for what is written already.
    pub(super) fn show_text(&mut self, shown: CallAnswer, reply: ReplySender) -> Batch {
        match shown {
            Ok(text) => Batch::doing(self.at().now, vec![Action::Answer(reply, Ok(text))]),
            Err(error) => self.refuse(reply, error),
        }
    }

    /// Refuses a call; what our agent tried is durable before it hears of it.
    pub(super) fn refuse(&mut self, reply: ReplySender, error: ApiError) -> Batch {
        let at = self.at();
        let attempts = self.node.turn(at).me().refused_attempts();
        if attempts.entries.is_empty() {
            reply.send(Err(error));
            return Batch::nothing();
        }
        Batch::of(at.now, attempts).and_before(Action::Answer(reply, Err(error)))
    }

    /// Goes on with our own keys as they are now; peers are told where they are others.
    pub(super) fn use_keys(&mut self, now: Timestamp, keys: AgentKeys) -> Outcome {
        let serials = |node: &Node| {
            let identity = node.identity();
            (identity.certificate.serial, identity.keys.serial)
        };
        let before = serials(&self.node);
        let layers = self.node.identity().layers;
        let at = At { now, ..self.at() };
        let outcome = self.node.turn(at).me().adopt(keys.into_identity(layers));
        let after = serials(&self.node);
        if before != after {
            info!(
                serial = after.0,
                keys_serial = after.1,
                "new keys are in use"
            );
        }
        outcome
    }

    /// How the daemon does.
    pub(super) fn condition(&mut self) -> DaemonCondition {
        DaemonCondition {
            is_full: self.log.full_since().is_some(),
            is_connected: self.connections.is_up(),
            login_refused: self.connections.is_login_refused(),
            is_shared: self.connections.readers() != MailboxReaders::Own,
            is_paused: self.node.people().pausing().is_paused(),
            is_revoked: self.node.context().is_revoked(),
            log_changed: self.log.fault().is_some(),
            stands: self.person.counted(&self.node, self.at().now),
            fault: self.settings.fault().cloned(),
        }
    }

    /// The sections of the configuration that were changed and are not in force.
    pub(super) fn config_waits(&mut self) -> ConfigWaits {
        self.settings.waits(self.keys.home())
    }

    /// Reads the configuration anew, by SIGHUP or by a call of the person's: what changed is told to peers, what a
    /// start alone can change stays and is named.
    ///
    /// # Errors
    /// What is wrong with the configuration; nothing changes then.
    pub(super) fn reload(&mut self, now: Timestamp) -> Result<(Reloaded, Outcome), ConfigError> {
        let at = At { now, ..self.at() };
        // Read and check the whole file before anything changes: otherwise a fault in its last
        // line would leave half of it in force.
        let (new, changes) = self.settings.read(self.keys.home())?;
        self.decisions.ask_for(new.people_sign, now);
        if self.settings.has_other_command(&new) {
            self.person
                .take_command(new.notify.clone(), &self.node, now);
        }
        let (outcome, told) = self.node.turn(at).me().change_policy(new.policy.clone());
        if let Some(routes) = self.settings.other_routes(&new) {
            self.carrying.set_routes(routes.clone());
            self.node.set_routes(routes);
        }
        self.settings.take(new);
        let told: Vec<String> = told.iter().map(ToString::to_string).collect();
        info!(changed = ?changes.live, ?told, "the configuration was read anew");
        if !changes.fixed.is_empty() {
            warn!(
                sections = ?changes.fixed,
                "these changed as well, and stay as they were until the daemon is started again"
            );
        }
        let reloaded = Reloaded {
            changed: owned(&changes.live),
            restart: owned(&changes.fixed),
            told,
        };
        Ok((reloaded, outcome))
    }
}
