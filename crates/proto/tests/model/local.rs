//! One agent in the model: the real `Handshake`, the real trust store, the real checks V01 to V07,
//! and around them what `Node` does with a flight.

use std::collections::BTreeMap;
use std::sync::Arc;

use signet_json::{Map, Value};
use signet_proto::envelope::{Message, Method};
use signet_proto::handshake::{Established, HALF_OPEN, Handshake, Overdue, best_common};
use signet_proto::ids::{Digest, MessageId, Version};
use signet_proto::reject::Reason;
use signet_proto::time::Timestamp;
use signet_proto::trust::TrustStore;

use crate::cast::{Cast, Flight, fresh, method, moment};

/// A check that is taken out, to see that the model notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Flights 2 to 4 are taken with any transcript.
    NoTranscript,
    /// Flights for others are taken.
    NoRecipient,
    /// Any choice of a version is taken.
    NoBestCommon,
    /// Older certificates and lower versions than known ones are taken.
    NoMinimum,
    /// Announces are taken in any order, and copies are not noticed.
    NoOrder,
    /// What flight 1 says of its sender is believed at once.
    Hasty,
    /// Flight 3 leaves the handshake where it was, and copies are not noticed.
    Stuck,
}

/// A line of the log: a flight that was sent or accepted.
#[derive(Clone)]
pub struct Line {
    pub own: bool,
    pub flight: Arc<Message>,
}

/// A session as it was established.
#[derive(Clone)]
pub struct Held {
    pub established: Established,
    /// The lowest version of the peer that was known before.
    pub lowest_before: Option<Version>,
}

/// What lies between an agent and one peer.
#[derive(Clone, Default)]
pub struct Link {
    pub handshake: Handshake,
    pub sessions: Vec<Held>,
    heard: Option<Timestamp>,
    names: BTreeMap<MessageId, Digest>,
}

/// One agent.
#[derive(Clone)]
pub struct Local {
    pub who: usize,
    pub upgraded: bool,
    pub links: [Link; 3],
    pub trust: TrustStore,
    pub log: Vec<Line>,
    /// Whether it took a flight of a version below the lowest that it knew of the sender.
    pub went_below: bool,
    fault: Fault,
}

impl Local {
    pub fn new(cast: &Cast, who: usize, fault: Fault) -> Self {
        Self {
            who,
            upgraded: false,
            links: Default::default(),
            trust: cast.trust(who),
            log: Vec::new(),
            went_below: false,
            fault,
        }
    }

    /// Two agents with the same digest behave the same: all but whether a handshake was given up is a
    /// fold over the log.
    pub fn digest(&self) -> Digest {
        let mut parts = vec![self.who as u8, u8::from(self.upgraded)];
        for line in &self.log {
            parts.push(u8::from(line.own));
            parts.extend(line.flight.hash().0);
        }
        for link in &self.links {
            parts.push(match link.handshake {
                Handshake::Idle => 0,
                Handshake::AwaitVerify(_) => 1,
                Handshake::AwaitTrust(_) => 2,
                Handshake::AwaitCapability(_) => 3,
                Handshake::Granting(_) => 4,
            });
            parts.extend(
                link.handshake
                    .transcript()
                    .map_or([0; 32], |digest| digest.0),
            );
        }
        Digest::of(&[&parts])
    }

    /// Flight 1 to a peer with whom nothing is under way.
    pub fn announce(&mut self, cast: &Cast, peer: usize) {
        let body = self.offer(cast, peer);
        self.fly(cast, peer, Method::Announce, body);
    }

    /// A flight from the network, with the answer that it brings about.
    pub fn hear(&mut self, cast: &Cast, flight: &Arc<Message>) -> Result<(), Reason> {
        self.take(cast, flight)?;
        let peer = cast.who(&flight.headers.agent_id).unwrap();
        self.answer(cast, peer, method(flight));
        Ok(())
    }

    /// Only the line of the flight became durable, and then came the crash.
    pub fn take(&mut self, cast: &Cast, flight: &Arc<Message>) -> Result<(), Reason> {
        self.judge(cast, flight)?;
        self.append(cast, false, Arc::clone(flight));
        Ok(())
    }

    /// Time passes without a flight: whether the handshake was under way, and is over.
    pub fn give_up(&mut self, peer: usize) -> bool {
        let handshake = &mut self.links[peer].handshake;
        let late = moment(0).saturating_add(2 * HALF_OPEN);
        let over = matches!(handshake.overdue(late), Overdue::Over);
        if over {
            *handshake = Handshake::Idle;
        }
        over
    }

    /// A crash and a start: what is left is the log, and what it does not show as sent is sent.
    pub fn restart(&mut self, cast: &Cast, upgrade: bool) {
        let mut reborn = Self::new(cast, self.who, self.fault);
        reborn.upgraded = self.upgraded || upgrade;
        for line in std::mem::take(&mut self.log) {
            reborn.append(cast, line.own, line.flight);
        }
        for peer in 0..3 {
            match reborn.links[peer].handshake.restart(moment(0)) {
                Some(Method::Verify) => reborn.answer(cast, peer, Method::Announce),
                Some(_) => reborn.answer(cast, peer, Method::Capability),
                None => {}
            }
        }
        *self = reborn;
    }

    /// Checks V01 to V11, of which V09 (time) always passes: the attacker is fast.
    fn judge(&self, cast: &Cast, flight: &Arc<Message>) -> Result<(), Reason> {
        match cast.prove(flight, self.trust.view()) {
            Err(reason) if self.overlooks(reason) => self.judge_as_recipient(cast, flight)?,
            answer => answer?,
        }
        let peer = cast
            .who(&flight.headers.agent_id)
            .ok_or(Reason::AgentUnknown)?;
        let link = &self.links[peer];
        match link.names.get(&flight.headers.message_id) {
            Some(hash) if *hash == flight.hash() => self.unless_overlooked(Reason::Duplicate)?,
            Some(_) => return Err(Reason::MessageIdReuse),
            None => {}
        }
        let said = cast.read(flight);
        if let Err(reason) = link.handshake.admit(flight, &said, cast.id(self.who)) {
            self.unless_overlooked(reason)?;
        }
        let lowest = self.lowest_version(cast, peer);
        if lowest.is_some_and(|lowest| flight.headers.version < lowest) {
            self.unless_overlooked(Reason::VersionDowngrade)?;
        }
        let late = method(flight) == Method::Announce
            && link
                .heard
                .is_some_and(|heard| flight.headers.timestamp <= heard);
        if late {
            self.unless_overlooked(Reason::AnnounceStale)
        } else {
            Ok(())
        }
    }

    /// The checks V06 and V07 by themselves: with the eyes of whom the flight is for.
    fn judge_as_recipient(&self, cast: &Cast, flight: &Message) -> Result<(), Reason> {
        if self.fault != Fault::NoRecipient {
            return Ok(());
        }
        let recipient = cast.who(&flight.headers.recipient_id).unwrap();
        if flight.headers.agent_id == *cast.id(self.who) {
            return Err(Reason::Reflected);
        }
        cast.prove(flight, cast.trust(recipient).view())
    }

    fn unless_overlooked(&self, reason: Reason) -> Result<(), Reason> {
        if self.overlooks(reason) {
            Ok(())
        } else {
            Err(reason)
        }
    }

    fn overlooks(&self, reason: Reason) -> bool {
        match self.fault {
            Fault::None | Fault::Hasty => false,
            Fault::NoTranscript => reason == Reason::TranscriptMismatch,
            Fault::NoRecipient => reason == Reason::WrongRecipient,
            Fault::NoBestCommon => reason == Reason::VersionDowngrade,
            Fault::NoMinimum => {
                matches!(reason, Reason::VersionDowngrade | Reason::SerialRolledBack)
            }
            Fault::NoOrder => matches!(reason, Reason::AnnounceStale | Reason::Duplicate),
            Fault::Stuck => reason == Reason::Duplicate,
        }
    }

    fn answer(&mut self, cast: &Cast, peer: usize, taken: Method) {
        let (who, upgraded) = (self.who, self.upgraded);
        let handshake = &self.links[peer].handshake;
        let (method, mut body) = match (taken, handshake) {
            (Method::Announce, Handshake::AwaitCapability(state)) => {
                let mine = &cast.identity(who, upgraded).certificate.versions;
                let choice = best_common(mine, state.offered());
                let mut body = self.offer(cast, peer);
                let choice = choice.map_or(Value::Null, |version| version.to_string().into());
                body.insert("choice".into(), choice);
                (Method::Verify, body)
            }
            (Method::Verify, Handshake::AwaitTrust(_)) => {
                (Method::Capability, cast.granting(who, upgraded))
            }
            (Method::Capability, Handshake::Granting(_)) => {
                let mut body = cast.granting(who, upgraded);
                body.insert("decision".into(), "granted".into());
                (Method::Trust, body)
            }
            _ => return,
        };
        let transcript = handshake.transcript().unwrap();
        body.insert("transcript".into(), transcript.to_string().into());
        self.fly(cast, peer, method, body);
    }

    fn offer(&self, cast: &Cast, peer: usize) -> Map<String, Value> {
        let nonce = fresh(self.who, self.count()).to_string();
        let held = self.links[peer].sessions.iter().rev();
        let held = held.map(|held| held.established.id.to_string().into());
        cast.offer(self.who, self.upgraded, nonce, held.collect())
    }

    fn fly(&mut self, cast: &Cast, peer: usize, method: Method, body: Map<String, Value>) {
        let to = cast.id(peer).clone();
        let flight = Flight { method, to, body };
        let flight = cast.sign(self.who, self.upgraded, self.count(), flight);
        self.append(cast, true, flight);
    }

    /// How many flights of its own are in its log.
    pub fn count(&self) -> u64 {
        self.log.iter().filter(|line| line.own).count() as u64
    }

    /// The one place where lasting state changes, as in `Node`.
    fn append(&mut self, cast: &Cast, own: bool, flight: Arc<Message>) {
        let headers = &flight.headers;
        let id = if own {
            &headers.recipient_id
        } else {
            &headers.agent_id
        };
        let peer = cast.who(id).unwrap();
        let lowest = self.lowest_version(cast, peer);
        self.went_below |= !own && lowest.is_some_and(|lowest| headers.version < lowest);
        let link = &mut self.links[peer];
        let established = if own {
            link.handshake.sent(&flight, moment(0))
        } else {
            link.names.insert(headers.message_id, flight.hash());
            if method(&flight) == Method::Announce {
                link.heard = Some(headers.timestamp);
            }
            let before = link.handshake.clone();
            let established =
                link.handshake
                    .take(&flight, &cast.read(&flight), moment(0), moment(0));
            if self.fault == Fault::Hasty && method(&flight) == Method::Announce {
                self.trust.raise_lowest_version(id, headers.version);
            }
            if self.fault == Fault::Stuck && method(&flight) == Method::Capability {
                self.links[peer].handshake = before;
                self.log.push(Line { own, flight });
                return self.grant_anyway(cast, peer);
            }
            established
        };
        self.log.push(Line { own, flight });
        if let Some(established) = established {
            self.establish(cast, peer, established);
        }
    }

    fn lowest_version(&self, cast: &Cast, peer: usize) -> Option<Version> {
        let peer = self.trust.view().peer(cast.id(peer));
        peer.and_then(|peer| peer.lowest_version())
    }

    fn establish(&mut self, cast: &Cast, peer: usize, established: Established) {
        let id = cast.id(peer);
        let lowest_before = self.lowest_version(cast, peer);
        self.trust
            .raise_lowest_version(id, established.lowest_version);
        let _ = self.trust.bind(&established.certificate);
        self.trust.raise_keys_serial(id, established.keys_serial);
        self.links[peer].sessions.push(Held {
            established,
            lowest_before,
        });
    }

    /// The fault `Stuck`: flight 4 is sent for flight 3, and the handshake still awaits flight 3.
    fn grant_anyway(&mut self, cast: &Cast, peer: usize) {
        let before = self.links[peer].handshake.clone();
        let capability = Arc::clone(&self.log.last().unwrap().flight);
        let _ = self.links[peer].handshake.take(
            &capability,
            &cast.read(&capability),
            moment(0),
            moment(0),
        );
        self.answer(cast, peer, Method::Capability);
        self.links[peer].handshake = before;
    }

    /// How many flights 1 of its own are in its log, for `peer`.
    pub fn announces(&self, cast: &Cast, peer: usize) -> usize {
        let to = cast.id(peer);
        let of = |line: &&Line| {
            line.own
                && method(&line.flight) == Method::Announce
                && line.flight.headers.recipient_id == *to
        };
        self.log.iter().filter(of).count()
    }
}
