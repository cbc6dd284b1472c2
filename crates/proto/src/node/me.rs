//! Ourselves: our certificate and keys, what our person decided, and what our agent tried in vain.

mod attempts;
mod keys;
mod policy_change;

use crate::certificate::Certificate;
use crate::draft::Identity;
use crate::entry::AttemptLine;
use crate::policy::Policy;
use crate::time::Timestamp;

use attempts::Attempts;

/// Who we are, and by which rules.
#[derive(Debug)]
pub struct Me {
    identity: Identity,
    /// The last certificate of ours that the log holds.
    recorded: Option<Certificate>,
    /// When our signing key last changed.
    rekeyed: Option<Timestamp>,
    policy: Policy,
    attempts: Attempts,
}

impl Me {
    pub(super) fn new(identity: Identity, policy: Policy) -> Self {
        Self {
            identity,
            recorded: None,
            rekeyed: None,
            policy,
            attempts: Attempts::default(),
        }
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The last certificate of ours that the log holds.
    pub fn recorded(&self) -> Option<&Certificate> {
        self.recorded.as_ref()
    }

    /// When our signing key last changed.
    pub(super) fn rekeyed(&self) -> Option<Timestamp> {
        self.rekeyed
    }

    /// Puts back what the log last held of us.
    pub(super) fn put_back(&mut self, recorded: Option<Certificate>, rekeyed: Option<Timestamp>) {
        (self.recorded, self.rekeyed) = (recorded, rekeyed);
    }

    /// When attempts of our agent's are to be written, or our certificate begins.
    pub(super) fn due(&self, now: Timestamp) -> Option<Timestamp> {
        let due = [self.attempts.due(), self.may_sign_at(now)];
        due.into_iter().flatten().min()
    }

    /// The lines of what our agent tried that are due at `now`; without a time, all.
    pub(super) fn overdue(&mut self, now: Option<Timestamp>) -> Vec<AttemptLine> {
        self.attempts.take(now)
    }
}
