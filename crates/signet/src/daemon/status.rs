//! How the daemon does.

use signet_api::{Clock, LogHead, Private, Reason, Refusing, Role, Status};
use signet_proto::keys::fingerprint;

use crate::attention::Counts;
use crate::control::Caller;

use super::condition::Condition;
use super::heart::Heart;
use super::inbox::waiting;
use super::peers::peers;
use super::people::ringing;

impl Heart {
    /// Tells the service manager how the daemon does, where that is something new.
    pub(super) fn tell_manager(&mut self) {
        if !self.manager.listens() {
            return;
        }
        let condition = Condition {
            is_full: self.is_refusing(),
            is_connected: !self.connected.is_empty(),
            login_refused: !self.login_refused.is_empty(),
            is_paused: self.node.pausing().is_paused(),
            is_revoked: self.node.is_revoked(),
            log_changed: self.log_fault.is_some(),
            stands: self.counted(),
            fault: self.config_fault.clone(),
        };
        if self.told.as_ref() != Some(&condition) {
            self.manager.status(&condition.words(&self.ways));
            self.told = Some(condition);
        }
    }

    /// What is for the person alone goes to no other caller.
    pub(super) fn status(&self, caller: &Caller) -> Status {
        let now = self.at().now;
        let certificate = &self.node.identity().certificate;
        let private = caller.role == Role::Person;
        Status {
            agent: certificate.agent.to_string(),
            principal: certificate.principal.to_string(),
            fingerprint: fingerprint(&certificate.root),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            versions: certificate
                .versions
                .iter()
                .map(ToString::to_string)
                .collect(),
            connected: self.carriers.is_any_connected(),
            refusing: self.full.borrow().map(|since| Refusing {
                reason: Reason::DiskFull,
                since: since.to_string(),
            }),
            mailbox: self.carriers.has_mailbox(),
            inbox: waiting(&self.node, &caller.reach),
            revoked: self.node.is_revoked(),
            clock: self.clock_outside(),
            paused: self.node.pausing().is_paused(),
            peers: peers(&self.node, now, &caller.reach),
            private: private.then(|| self.private()),
        }
    }

    fn private(&self) -> Private {
        let (now, head) = (self.at().now, *self.head.borrow());
        let stands = Counts::of(&self.node, now);
        Private {
            pid: std::process::id(),
            set_aside: self.node.inbox().aside().count(),
            quarantine: stands.quarantine,
            pending: stands.introductions,
            alarms: stands.alarms,
            ringing: ringing(&self.node),
            root_alarms: stands.changed_roots,
            drafts: self.node.drafts().count(),
            log_fault: self.log_fault.clone(),
            log: head.map(|head| LogHead {
                seq: head.seq,
                head: head.hash.to_hex(),
            }),
            notify: self.person.hook.state(),
        }
    }

    /// What the clock says, where it stands outside the dates of our certificate.
    fn clock_outside(&self) -> Option<Clock> {
        let now = self.at().now;
        let (from, to) = self.node.outside_certificate(now)?;
        Some(Clock {
            now: now.to_string(),
            not_before: from.to_string(),
            not_after: to.to_string(),
        })
    }
}
