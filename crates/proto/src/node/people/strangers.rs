//! Strangers: who waits for our person's decision, and what the person decides about trust.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signet_json::Value;

use crate::certificate::Certificate;
use crate::entry::{Entry, TrustChange};
use crate::envelope::{Form, Message, Method};
use crate::ids::{AgentId, KeyId};
use crate::keys::VerifyKey;
use crate::reject::Reason;
use crate::time::Timestamp;
use crate::trust::BindError;
use crate::verify::prove_stranger;

use crate::node::LocalError;
use crate::node::rows::tables::{Lines, Restored, STRANGERS, Tables, all, unread};
use crate::node::rule::admit_time;
use crate::node::turn::PeopleDoor;
use crate::node::{Notice, Outcome};

use super::People;

/// How many strangers may wait, one for each root key.
const WAITING: usize = 16;
/// How long one waits.
const WAIT: Duration = Duration::from_secs(24 * 3600);
/// How many strangers' flights are verified in a second.
const PROOFS: u32 = 50;
/// How many changed root keys are told of in a day, one time each.
const ALARMS: usize = 16;
const ALARM_LIFE: Duration = Duration::from_secs(24 * 3600);

/// An unbound agent whose flight holds under the root key that came with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stranger {
    /// What it claims. Only its form and signatures are proven: the names are its own words.
    #[serde(with = "crate::stored")]
    pub certificate: Certificate,
    /// When it announced itself.
    pub since: Timestamp,
}

/// Who waits, and which changed roots were told of.
#[derive(Debug, Default, Clone)]
pub(in crate::node) struct Strangers {
    waiting: BTreeMap<KeyId, Stranger>,
    alarms: BTreeMap<KeyId, Timestamp>,
    proofs: Option<(Timestamp, u32)>,
}

impl Strangers {
    pub(super) fn wait(&mut self, now: Timestamp, certificate: &Certificate) {
        // Remove strangers that have waited too long whenever a new stranger comes: so no timer is needed for that.
        self.waiting
            .retain(|_, stranger| now.since(stranger.since) < WAIT);
        let stranger = Stranger {
            certificate: certificate.clone(),
            since: now,
        };
        self.waiting.insert(certificate.root.id(), stranger);
    }

    /// Whoever else claimed the same agent-id goes as well: it is somebody's now. Says whether this
    /// one had asked.
    pub(super) fn decided(&mut self, certificate: &Certificate) -> bool {
        let asked = self.waiting.remove(&certificate.root.id());
        self.waiting
            .retain(|_, other| other.certificate.agent != certificate.agent);
        asked.is_some_and(|stranger| stranger.certificate.agent == certificate.agent)
    }

    pub(super) fn refused(&mut self, certificate: &Certificate) {
        self.waiting.remove(&certificate.root.id());
    }

    pub(super) fn alarmed(&mut self, now: Timestamp, certificate: &Certificate) {
        self.alarms
            .retain(|_, since| now.since(*since) < ALARM_LIFE);
        self.alarms.insert(certificate.root.id(), now);
    }

    /// Who waits, and which root keys were told of when: as rows by key.
    pub(in crate::node) fn rows(&self) -> Lines<'_> {
        all(|rows| {
            for stranger in self.waiting.values() {
                let root: KeyId = stranger.certificate.root.id();
                rows.put(STRANGERS, &format!("waits {root}"), stranger);
            }
            for (root, since) in &self.alarms {
                rows.put(STRANGERS, &format!("alarm {root}"), since);
            }
        })
    }

    /// Takes back what its rows say.
    pub(super) fn put_back(&mut self, tables: &mut Tables) -> Restored {
        for ((what, root), value) in tables.read::<(String, KeyId), Value>(STRANGERS)? {
            let unread = || unread(STRANGERS, &format!("{what} {root}"));
            match what.as_str() {
                "waits" => {
                    let stranger = serde_json::from_value(value).map_err(|_| unread())?;
                    self.waiting.insert(root, stranger);
                }
                "alarm" => {
                    let since = serde_json::from_value(value).map_err(|_| unread())?;
                    self.alarms.insert(root, since);
                }
                _ => return Err(unread()),
            }
        }
        Ok(())
    }

    fn has_room(&self, change: TrustChange, root: KeyId, now: Timestamp) -> bool {
        let waits = |stranger: &&Stranger| now.since(stranger.since) < WAIT;
        let rings = |since: &&Timestamp| now.since(**since) < ALARM_LIFE;
        match change {
            TrustChange::Pending => {
                // A newcomer never replaces a stranger that waits: otherwise a flood of root keys could push out an honest one.
                let known = self.waiting.get(&root).filter(waits).is_some();
                !known && self.waiting.values().filter(waits).count() < WAITING
            }
            _ => {
                let known = self.alarms.get(&root).filter(rings).is_some();
                !known && self.alarms.values().filter(rings).count() < ALARMS
            }
        }
    }

    /// Whether one more flight may be verified in this second.
    fn spend_proof(&mut self, now: Timestamp) -> bool {
        let second = Duration::from_secs(1);
        let spent = self
            .proofs
            // If the clock was put back, begin a new second: otherwise no stranger
            // would be verified until the clock has caught up.
            .filter(|(since, _)| *since <= now && now.since(*since) < second);
        let (since, spent) = spent.unwrap_or((now, 0));
        self.proofs = Some((since, spent.saturating_add(1)));
        spent < PROOFS
    }
}

impl People {
    /// The strangers that wait for our person's decision.
    pub fn pending(&self, now: Timestamp) -> impl Iterator<Item = &Stranger> {
        let waiting = self.strangers.waiting.values();
        waiting.filter(move |stranger| now.since(stranger.since) < WAIT)
    }

    /// The changed root keys that were told of in the last day.
    pub fn root_alarms(&self, now: Timestamp) -> impl Iterator<Item = (KeyId, Timestamp)> {
        let alarms = self.strangers.alarms.iter();
        alarms
            .filter(move |(_, since)| now.since(**since) < ALARM_LIFE)
            .map(|(root, since)| (*root, *since))
    }

    fn stranger(
        &self,
        now: Timestamp,
        agent: &AgentId,
        root: Option<KeyId>,
    ) -> Result<Certificate, LocalError> {
        let named = |stranger: &&Stranger| {
            let claimed = &stranger.certificate;
            claimed.agent == *agent && root.is_none_or(|root| root == claimed.root.id())
        };
        let mut found = self.pending(now).filter(named);
        match (found.next(), found.next()) {
            (Some(stranger), None) => Ok(stranger.certificate.clone()),
            (Some(_), Some(_)) => Err(LocalError::StrangerAmbiguous(agent.clone())),
            (None, _) => Err(LocalError::StrangerUnknown(agent.clone())),
        }
    }
}

impl PeopleDoor<'_, '_> {
    /// Our person trusts a stranger, or again an agent that they had withdrawn: its id is bound to
    /// the root key, and we announce ourselves.
    ///
    /// # Errors
    /// When nobody of that name waits, or more than one and `root` does not say which.
    pub fn approve(&mut self, agent: &AgentId, root: Option<KeyId>) -> Result<Outcome, LocalError> {
        let (now, people) = (self.turn.at.now, &self.turn.node.people);
        let certificate = match people.stranger(now, agent, root) {
            Err(LocalError::StrangerUnknown(_)) => self.withdrawn(agent),
            found => found,
        }?;
        self.take_binding(&certificate).map_err(LocalError::Bind)?;
        self.turn.flights().announce_if_idle(agent);
        Ok(self.turn.take())
    }

    /// Our person refuses a stranger: this agent-id under this root key is not asked about again.
    ///
    /// # Errors
    /// When nobody of that name waits, or more than one and `root` does not say which.
    pub fn refuse(&mut self, agent: &AgentId, root: Option<KeyId>) -> Result<Outcome, LocalError> {
        let (now, people) = (self.turn.at.now, &self.turn.node.people);
        let certificate = people.stranger(now, agent, root)?;
        Ok(self.change_trust(TrustChange::Refused, &certificate))
    }

    /// Our person takes back the trust in an agent: its sessions close both ways, what waits for it
    /// is refused, and what it sent and our agent has not taken is set aside.
    ///
    /// # Errors
    /// When no such agent is trusted.
    pub fn withdraw(&mut self, agent: &AgentId) -> Result<Outcome, LocalError> {
        let peer = self.turn.node.trust().peer(agent);
        let peer = peer.filter(|peer| !peer.is_withdrawn());
        let certificate = peer.and_then(|peer| peer.newest()).cloned();
        let certificate = certificate.ok_or_else(|| LocalError::PeerUnknown(agent.clone()))?;
        Ok(self.change_trust(TrustChange::Withdrawn, &certificate))
    }

    /// Our person pins another root key for a principal, which the old one had not named. Every
    /// other agent of the principal is withdrawn.
    ///
    /// # Errors
    /// When the agent-id is another principal's, or our own.
    pub fn replace_root(&mut self, certificate: &Certificate) -> Result<Outcome, BindError> {
        // Try the change on a copy of the trust store first: no log line may be written that contradicts the present trust.
        self.turn.node.trust.clone().replace_root(certificate)?;
        Ok(self.change_trust(TrustChange::RootReplaced, certificate))
    }

    /// Pins the principal in a certificate and binds its agent-id.
    ///
    /// # Errors
    /// When the binding contradicts one that stands.
    pub fn bind(&mut self, certificate: &Certificate) -> Result<Outcome, BindError> {
        self.take_binding(certificate)?;
        Ok(self.turn.take())
    }

    /// As [`PeopleDoor::bind`].
    pub(super) fn take_binding(&mut self, certificate: &Certificate) -> Result<(), BindError> {
        if !self.turn.node.trust.clone().bind(certificate)? {
            return Ok(());
        }
        // A certificate from a file may be the first one under the named successor of the principal's root key: then the root
        // key changes as well, which gets a log line of its own.
        let principal = self.turn.node.trust().principal(&certificate.principal);
        let succeeds = principal.is_some_and(|known| *known.root() != certificate.root);
        self.turn
            .write(Entry::trust(TrustChange::Bound, certificate.clone()));
        let follows = self.turn.node.trust().principal(&certificate.principal);
        if succeeds && follows.is_some_and(|known| *known.root() == certificate.root) {
            self.turn.notify(Notice::RootSucceeded(certificate.clone()));
            let change = TrustChange::RootSucceeded;
            self.turn.write(Entry::trust(change, certificate.clone()));
        }
        self.turn.tell_trust();
        Ok(())
    }

    fn change_trust(&mut self, change: TrustChange, certificate: &Certificate) -> Outcome {
        self.turn.write(Entry::trust(change, certificate.clone()));
        self.turn.tell_trust();
        self.turn.take()
    }

    fn withdrawn(&self, agent: &AgentId) -> Result<Certificate, LocalError> {
        let peer = self.turn.node.trust().peer(agent);
        let peer = peer.filter(|peer| peer.is_withdrawn());
        let newest = peer.and_then(|peer| peer.newest()).cloned();
        newest.ok_or_else(|| LocalError::StrangerUnknown(agent.clone()))
    }

    /// What an unbound agent's flight is worth: a place among those who wait, or an alarm. Nothing
    /// is ever answered.
    pub(in crate::node) fn consider_stranger(&mut self, flight: &Message, reason: Reason) {
        let change = match reason {
            Reason::AgentUnknown | Reason::PrincipalUnknown => TrustChange::Pending,
            Reason::RootChanged => TrustChange::RootChanged,
            _ => return,
        };
        // Look only at flights 1 and 2: flights 3 and 4 continue a handshake, and no stranger has a handshake with us.
        let opens = matches!(
            flight.form,
            Form::Call(Method::Announce) | Form::Call(Method::Verify)
        );
        // No signature is verified yet: use the root key that the flight claims only to look up whether this stranger waits
        // already.
        let Some(root) = claimed_root(flight).filter(|_| opens) else {
            return;
        };
        let now = self.turn.at.now;
        let strangers = &mut self.turn.node.people.strangers;
        // Cheap checks come first, then the limit on proofs, and the signatures
        // last: so a flood costs at most 50 proofs a second.
        let fits = admit_time(now, flight).is_ok()
            && strangers.has_room(change, root, now)
            && strangers.spend_proof(now);
        let Some(certificate) = fits.then(|| prove_stranger(flight).ok()).flatten() else {
            return;
        };
        let notice = match change {
            TrustChange::Pending => Notice::StrangerWaits(certificate.clone()),
            _ => Notice::RootChanged(certificate.clone()),
        };
        let entry = Entry::trust(change, certificate);
        self.turn.node.people.budget.pay(&entry);
        self.turn.notify(notice);
        self.turn.write(entry);
    }
}

fn claimed_root(flight: &Message) -> Option<KeyId> {
    let certificate = flight.body()?.get("certificate")?;
    let root: VerifyKey = certificate.get("root-key")?.as_str()?.parse().ok()?;
    Some(root.id())
}
