//! The configuration, read anew while the daemon runs: by SIGHUP, or by a call of the person's.

use signet_api::{ApiError, Reason, Reload, Reloaded};
use signet_proto::node::{At, Outcome};
use tracing::{error, info, warn};

use crate::config::{Changes, Config, ConfigError, Sign};
use crate::control::Reply;

use super::heart::Heart;
use super::serve::value_of;

impl Heart {
    /// SIGHUP: what changed is told to peers at once; what a start alone can change stays, and is named.
    pub(super) async fn reload_by_signal(&mut self) {
        self.manager.reloading();
        let at = self.at();
        if let Ok((_, outcome)) = self.read_anew(at) {
            self.write(at.now, vec![outcome], Vec::new()).await;
        }
        self.tell_manager();
        self.manager.ready();
    }

    /// The same, asked for by a call.
    pub(super) async fn reload(&mut self, reply: Reply) {
        let at = self.at();
        match self.read_anew(at) {
            Ok((reloaded, outcome)) => {
                let reloaded = value_of::<Reload>(&reloaded);
                self.answer(reply, reloaded, (at.now, outcome), None).await;
            }
            Err(error) => {
                let text = format!("{error}; the configuration before it stays in force");
                let refusal = ApiError::refused(Reason::ConfigUnusable, text);
                self.refuse(reply, refusal.with_next(error.next())).await;
            }
        }
    }

    fn read_anew(&mut self, at: At) -> Result<(Reloaded, Outcome), ConfigError> {
        let read = Config::load(self.lock.home());
        self.config_fault = read.as_ref().err().map(ToString::to_string);
        let new = read.inspect_err(|error| {
            error!(%error, next = error.next(), "the configuration before it stays in force");
        })?;
        let mut changes = Changes::between(&self.config, &new);
        // Who may only write the configuration must not take the person's signature away as well.
        let lowered = self.config.people_sign == Sign::All && new.people_sign == Sign::Nothing;
        if lowered {
            changes.live.retain(|section| *section != "[people]");
            changes.fixed.push("[people]");
        } else {
            self.decisions.ask_for(new.people_sign, at.now);
            self.config.people_sign = new.people_sign;
        }
        self.take_command(new.notify, at.now);
        let (outcome, told) = self.node.change_policy(at, new.policy.clone());
        self.config.policy = new.policy;
        if new.carriers != self.config.carriers {
            self.carrying.routes = new.carriers.routes();
            self.node.set_routes(self.carrying.routes.clone());
            self.config.carriers = new.carriers;
        }
        self.config.card = new.card;
        let told: Vec<String> = told.iter().map(ToString::to_string).collect();
        info!(changed = ?changes.live, ?told, "the configuration was read anew");
        if !changes.fixed.is_empty() {
            warn!(
                sections = ?changes.fixed,
                "these changed as well, and stay as they were until the daemon is started again"
            );
        }
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let reloaded = Reloaded {
            changed: owned(changes.live),
            restart: owned(changes.fixed),
            told,
        };
        Ok((reloaded, outcome))
    }
}
