//! What shows that something is wrong which only a person can judge: second copies, restored backups,
//! holes, clocks.

use std::collections::btree_map::Keys;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::draft::FLIGHT_LIFE;
use crate::entry::{Alarm, AlarmLine, Entry, HoleLine};
use crate::envelope::{Message, Method};
use crate::ids::AgentId;
use crate::session::Misfit;
use crate::time::{CLOCK_TOLERANCE, Timestamp};

use super::rows::tables::{ALARMS, Lines, Restored, Tables, all, unread};
use super::turn::AlarmsDoor;
use super::{Notice, Outcome, RuleContext};

/// Holes are looked for this often.
const LOOK: Duration = Duration::from_secs(3600);

/// What rings until a person clears it, and what else alarms go by.
#[derive(Clone, Debug, Default)]
pub struct Alarms {
    /// Since when each rings.
    ringing: BTreeMap<(Alarm, AgentId), Timestamp>,
    /// When the log was told again, or a person last cleared the alarms, by the clock that nobody sets.
    started: Option<Duration>,
    /// When holes were last looked for.
    looked: Option<Timestamp>,
}

impl Alarms {
    /// The alarms that no person has cleared, and since when each rings.
    pub fn iter(&self) -> impl Iterator<Item = (&(Alarm, AgentId), &Timestamp)> {
        self.ringing.iter()
    }

    /// What rings, and about whom.
    pub fn keys(&self) -> Keys<'_, (Alarm, AgentId), Timestamp> {
        self.ringing.keys()
    }

    /// How many ring.
    pub fn len(&self) -> usize {
        self.ringing.len()
    }

    /// Whether none rings.
    pub fn is_empty(&self) -> bool {
        self.ringing.is_empty()
    }

    /// What is heard of from now on can ring again: the log has been told, or a person has seen to the alarms.
    pub(super) fn start(&mut self, elapsed: Duration) {
        self.started = Some(elapsed);
    }

    /// Who shows another copy of us. Under the signing key that came later, at `rekeyed`, it opens no session.
    fn copy_shown_by(&self, rekeyed: Option<Timestamp>) -> Vec<&AgentId> {
        let copies = self.ringing.iter().filter(|((what, _), since)| {
            *what == Alarm::SecondCopy && concerns_present_key(rekeyed, **since)
        });
        copies.map(|((_, peer), _)| peer).collect()
    }

    /// Whether one more alarm rings: not where it rings already, for the signing key of the present.
    fn may_ring(&self, what: Alarm, peer: &AgentId, rekeyed: Option<Timestamp>) -> bool {
        let rings = self.ringing.get(&(what, peer.clone()));
        rings.is_none_or(|since| !concerns_present_key(rekeyed, *since))
            && self.ringing.len() < RINGING
    }

    pub(super) fn apply(&mut self, now: Timestamp, line: &AlarmLine) {
        let name = (line.what, line.peer.clone());
        if line.cleared {
            self.ringing.remove(&name);
        } else {
            self.ringing.insert(name, now);
        }
    }

    /// What rings, as rows by key.
    pub(super) fn rows(&self) -> Lines<'_> {
        all(|rows| {
            for ((what, peer), since) in &self.ringing {
                rows.put(ALARMS, &format!("{} {peer}", what.as_str()), since);
            }
        })
    }

    /// Takes back what its rows say.
    pub(super) fn put_back(&mut self, tables: &mut Tables) -> Restored {
        for ((what, peer), since) in tables.read::<(String, AgentId), Timestamp>(ALARMS)? {
            let alarm = Alarm::parse(&what);
            let alarm = alarm.map_err(|_| unread(ALARMS, &format!("{what} {peer}")))?;
            self.ringing.insert((alarm, peer), since);
        }
        Ok(())
    }

    /// Whether it is time to look for holes; then it was looked now.
    fn looks(&mut self, now: Timestamp) -> bool {
        let is_due = self.looked.is_none_or(|last| !now.is_within(LOOK, last));
        if is_due {
            self.looked = Some(now);
        }
        is_due
    }
}

fn concerns_present_key(rekeyed: Option<Timestamp>, since: Timestamp) -> bool {
    rekeyed.is_none_or(|rekeyed| since > rekeyed)
}

impl Alarms {
    /// What an alarm with `peer` means and what to do, for a person.
    pub fn text(&self, context: RuleContext<'_>, what: Alarm, peer: &AgentId) -> String {
        let shown = self.copy_shown_by(context.rekeyed);
        if what == Alarm::SecondCopy && shown.contains(&peer) && is_doubled(context, &shown) {
            text_of_double(&shown)
        } else {
            what.text(peer)
        }
    }

    /// The agents whose `second-copy` lets no session with `peer` begin; none when nothing holds it.
    ///
    /// One person's agents may show a second copy that does not exist: what they ring holds back
    /// themselves.
    pub fn held_by(&self, context: RuleContext<'_>, peer: &AgentId) -> Vec<&AgentId> {
        let mut shown = self.copy_shown_by(context.rekeyed);
        if !is_doubled(context, &shown) {
            shown.retain(|agent| *agent == peer);
        }
        shown
    }
}

/// Whether agents of two principals show it, or one of our own.
fn is_doubled(context: RuleContext<'_>, shown: &[&AgentId]) -> bool {
    // Count only trusted agents: an agent that is withdrawn or revoked must not be able to hold back our announces to all
    // others.
    let trusted = shown
        .iter()
        .filter_map(|agent| context.trust.trusted(agent));
    let principals: BTreeSet<_> = trusted.filter_map(|peer| peer.principal()).collect();
    principals.len() > 1 || principals.contains(&context.identity.certificate.principal)
}

impl AlarmsDoor<'_, '_> {
    /// A person has seen to the alarms: all of them are cleared, and announces go out again.
    pub fn clear(&mut self) -> Outcome {
        let node = &self.turn.node;
        // Look up now to which peers an alarm holds our announces back: once the alarms are cleared, nothing shows which peers
        // those were.
        let held = node.peers.known().names();
        let held = held.filter(|peer| !node.alarms.held_by(node.context(), peer).is_empty());
        let held: Vec<_> = held.cloned().collect();
        let ringing: Vec<_> = node.alarms.keys().cloned().collect();
        for (what, peer) in ringing {
            let line = AlarmLine {
                peer,
                what,
                cleared: true,
            };
            self.turn.write(Entry::Alarm(line));
        }
        // Forget the signs of a second copy that were seen before the person cleared the alarms: they must not make an
        // alarm ring again.
        self.turn.node.alarms.start(self.turn.at.elapsed);
        for link in self.turn.node.peers.known_mut().values_mut() {
            link.forget_unknown_sessions();
        }
        for peer in held {
            self.turn.node.peers.entry(&peer).announce_now();
        }
        self.turn.take()
    }

    /// Something is wrong with our own log: the alarm names ourselves.
    pub fn ring_own(&mut self, what: Alarm) -> Outcome {
        let own = self.turn.node.me.identity().agent().clone();
        self.ring(&own, what);
        self.turn.take()
    }

    /// Rings an alarm, once until a person clears it.
    fn ring(&mut self, peer: &AgentId, what: Alarm) {
        if !(self.turn.node.alarms).may_ring(what, peer, self.turn.node.me.rekeyed()) {
            return;
        }
        let line = AlarmLine {
            peer: peer.clone(),
            what,
            cleared: false,
        };
        let notice = Notice::Alarm(line.clone());
        self.turn.notify(notice);
        self.turn.write(Entry::Alarm(line));
        let context = self.turn.node.context();
        let shown = self.turn.node.alarms.copy_shown_by(context.rekeyed);
        if what == Alarm::SecondCopy && is_doubled(context, &shown) {
            let notice = Notice::Doubled(text_of_double(&shown));
            self.turn.notify(notice);
        }
    }

    /// A receipt showed that one side was put back to an older copy: people hear of it, and a new
    /// session follows.
    pub(super) fn follow_misfit(&mut self, peer: &AgentId, misfit: Misfit) {
        let what = match misfit {
            Misfit::Ours => Alarm::Restored,
            Misfit::Theirs => Alarm::PeerRestored,
        };
        self.ring(peer, what);
        self.turn.flights().announce_if_idle(peer);
    }

    /// The peer used one number for two messages.
    pub(super) fn alarm_of_reuse(&mut self, message: &Message) {
        let peer = message.headers.agent_id.clone();
        self.ring(&peer, Alarm::SequenceReuse);
    }

    /// A peer answers a handshake that nobody here began: no announce of ours was under way when it
    /// signed.
    pub(super) fn suspect_copy_by_flight(&mut self, flight: &Message) {
        let headers = &flight.headers;
        let answers = matches!(flight.form.method(), Some(Method::Verify | Method::Trust));
        let link = self.turn.node.peers.get(&headers.agent_id);
        let announced = link.and_then(|link| link.last_announced(self.turn.at));
        // An answer to our announce is signed within two lives of a flight: flight 3 leaves within the life of flight 1, and
        // flight 4 is signed within the life of flight 3.
        let reach = FLIGHT_LIFE * 2 + CLOCK_TOLERANCE;
        let ours = announced.is_some_and(|ours| headers.timestamp <= ours.saturating_add(reach));
        // Ignore a peer whose clock was found to be far from ours: the timestamp of its flight does not show when the flight
        // was signed.
        let clocks = link.is_some_and(|link| link.is_clock_noted());
        if answers && !ours && !clocks && self.is_younger(headers.timestamp) {
            let peer = headers.agent_id.clone();
            self.ring(&peer, Alarm::SecondCopy);
        }
    }

    /// A peer talks in a session that nobody here made, although we have met since the start. Says
    /// whether the alarm rings.
    pub(super) fn suspect_copy_by_session(&mut self, message: &Message) -> bool {
        let headers = &message.headers;
        // Skip receipts: peers send them in old sessions too, which we may have forgotten, so a receipt is no sign of a second
        // copy of us.
        if message.form.method() == Some(Method::Receipt) {
            return false;
        }
        let newest = self.turn.node.peers.get(&headers.agent_id);
        let newest = newest.and_then(|link| link.newest());
        let made = newest.and_then(|newest| newest.made);
        let met = made
            .map(|made| self.turn.at.time_of(made))
            .is_some_and(|began| {
                let since = began.saturating_add(CLOCK_TOLERANCE);
                self.is_younger(began) && headers.timestamp > since
            });
        if met {
            let peer = headers.agent_id.clone();
            self.ring(&peer, Alarm::SecondCopy);
        }
        met
    }

    /// Session after session with one peer, and nothing changed between them.
    pub(super) fn suspect_copy_by_number(&mut self, peer: &AgentId) {
        let started = self.turn.node.alarms.started.unwrap_or_default();
        let link = self.turn.node.peers.get(peer);
        if link.is_some_and(|link| link.meets_too_often(self.turn.at.elapsed, started)) {
            self.ring(peer, Alarm::SecondCopy);
        }
    }

    /// Whether a time lies after our start, whoever's clock it is.
    fn is_younger(&self, signed_at: Timestamp) -> bool {
        let started = self.turn.node.alarms.started;
        let started = started.map(|started| self.turn.at.time_of(started));
        started.is_some_and(|started| signed_at > started.saturating_add(CLOCK_TOLERANCE))
    }

    /// What never came although everybody had the time: the sender is asked by a receipt, and a day
    /// later a person is told.
    pub(super) fn look_for_holes(&mut self) {
        if !self.turn.node.alarms.looks(self.turn.at.now) {
            return;
        }
        let links = self.turn.node.peers.known_mut().iter_mut();
        let found: Vec<_> = links
            .flat_map(|(peer, link)| {
                link.holes(self.turn.at.now)
                    .map(move |hole| (peer.clone(), hole))
            })
            .collect();
        for (peer, (session, from, to)) in found {
            let line = HoleLine {
                peer,
                session,
                from,
                to,
            };
            let notice = Notice::Hole(line.clone());
            self.turn.notify(notice);
            self.turn.write(Entry::Hole(line));
        }
    }
}

fn text_of_double(shown: &[&AgentId]) -> String {
    let names: Vec<_> = shown.iter().map(|agent| agent.as_str()).collect();
    format!(
        "{} show, and not all of them are one stranger's, that somebody else acts with this agent's \
         keys: no session begins with anybody. Stop the second copy, or, if this one was restored from \
         a backup, make sure that it is the only one, then `signet alarms clear`; or rotate the \
         signing key, if it may be in other hands",
        names.join(", ")
    )
}

/// How many alarms ring at once: one peer can ring each once.
const RINGING: usize = 256;
