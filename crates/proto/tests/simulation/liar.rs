//! One bound peer lies: beside its honest daemon somebody signs with its keys what that daemon never
//! would. What the others have with each other stays as if it were not there.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::draft::{Draft, Stamp};
use signet_proto::entry::Alarm;
use signet_proto::envelope::{Form, Method};
use signet_proto::ids::{AgentId, Digest, MessageId, SessionId, Version};
use signet_proto::receipt::{Exception, Receipt};
use signet_proto::time::Timestamp;

use crate::cast::{self, NAMES};
use crate::household::forger::name;
use crate::household::liar::flight_body;
use crate::household::net::{Dice, message_of};
use crate::household::people;
use crate::note;
use crate::world::{Event, World};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lie {
    Flight(Method),
    /// An announce that was signed so many ms ago.
    LateAnnounce(i64),
    MadeUpSessions(u64),
    ReceiptThrough(u64),
    ReceiptWithAnotherHash,
    ReceiptFullOfExceptions,
    ReusedNumber,
    ReusedName,
    PoisonedHops,
    Calls(u64),
    FarClock(i64),
    UnsolicitedAnswer,
    JumpInTheNumbers(u32),
    ForgedDecree,
    ForgedPause,
}

impl Lie {
    pub fn of(dice: &mut Dice) -> Self {
        match dice.below(18) {
            0 => Self::Flight(Method::Announce),
            1 => Self::Flight(Method::Verify),
            2 => Self::Flight(Method::Capability),
            3 => Self::Flight(Method::Trust),
            4 => Self::LateAnnounce(1_000 * dice.below(7_200) as i64),
            5 => Self::MadeUpSessions(1),
            6 => Self::MadeUpSessions(20),
            7 => Self::ReceiptThrough(1 + dice.below(1_000)),
            8 => Self::ReceiptThrough(dice.below(3)),
            9 => Self::ReceiptWithAnotherHash,
            10 => Self::ReceiptFullOfExceptions,
            11 => Self::ReusedNumber,
            12 => Self::ReusedName,
            13 => Self::PoisonedHops,
            14 => Self::FarClock(dice.below(7_200_000) as i64 - 3_600_000),
            15 => Self::UnsolicitedAnswer,
            16 => Self::JumpInTheNumbers(10 + dice.below(40) as u32),
            _ => match dice.below(3) {
                0 => Self::Calls(20),
                1 => Self::ForgedDecree,
                _ => Self::ForgedPause,
            },
        }
    }
}

impl World {
    pub fn is_liar(&self, who: usize) -> bool {
        self.mood.liar == Some(who)
    }

    /// Whether what passes between two may be false.
    pub fn is_excused(&self, one: usize, other: usize) -> bool {
        self.is_restored(one, other) || self.is_liar(one) || self.is_liar(other)
    }

    pub fn is_liars(&self, agent: &AgentId) -> bool {
        let liar = self.mood.liar;
        liar.is_some_and(|liar| self.agents[liar].id() == agent)
    }

    pub fn lie(&mut self, victim: usize, lie: Lie) {
        let Some(liar) = self.mood.liar else { return };
        let many = match lie {
            Lie::MadeUpSessions(many) | Lie::Calls(many) => many,
            Lie::ReusedNumber | Lie::ReusedName => 2,
            _ => 1,
        };
        for _ in 0..many {
            let bytes = self.said(liar, victim, lie);
            let after = 1 + self.dice.below(3_000) as i64;
            let event = match self.mood.mailbox {
                true => {
                    let name = message_of(&bytes).headers.message_id;
                    Event::Store(liar, victim, name, bytes)
                }
                false => Event::Arrive(victim, bytes),
            };
            self.plan(after, event);
        }
    }

    fn said(&mut self, liar: usize, victim: usize, lie: Lie) -> Arc<[u8]> {
        let now = self.agents[victim].at(self.now).now;
        let later = move |ms: i64| Timestamp::from_millis(now.as_millis() + ms);
        match lie {
            Lie::Flight(method) => self.flight(liar, victim, method, 0),
            Lie::LateAnnounce(ms) => self.flight(liar, victim, Method::Announce, -ms),
            Lie::MadeUpSessions(_) => {
                self.lies += 1;
                let session = SessionId(Digest::of(&[b"made up", &self.lies.to_be_bytes()]));
                self.call(liar, victim, |_, stamp| stamp.session = Some(session))
            }
            Lie::ReceiptThrough(through) => self.receipt(liar, victim, through, None, 0),
            Lie::ReceiptWithAnotherHash => self.receipt(liar, victim, 1, Some(Digest([3; 32])), 0),
            Lie::ReceiptFullOfExceptions => self.receipt(liar, victim, 256, None, 256),
            Lie::ReusedNumber => self.call(liar, victim, |_, stamp| stamp.sequence = Some(77)),
            Lie::ReusedName => self.call(liar, victim, |draft, _| {
                draft.message_id = MessageId::from_parts(9, [9; 10]);
            }),
            Lie::PoisonedHops => self.call(liar, victim, |draft, _| draft.hops = 8),
            Lie::Calls(_) => self.call(liar, victim, |_, _| {}),
            Lie::FarClock(ms) => self.call(liar, victim, |_, stamp| stamp.now = later(ms)),
            Lie::UnsolicitedAnswer => {
                let asked = self.sent.iter().find(|(_, sent)| sent.from == victim);
                let asked = asked.map(|(name, _)| *name);
                self.call(liar, victim, |draft, _| {
                    draft.form = Form::Success;
                    draft.in_reply_to = asked.or(Some(MessageId::from_parts(5, [5; 10])));
                })
            }
            Lie::JumpInTheNumbers(bits) => {
                self.call(liar, victim, |_, stamp| stamp.sequence = Some(1 << bits))
            }
            Lie::ForgedDecree => {
                let agent = cast::certificate(0).agent.as_str();
                let root = format!("root of {}", NAMES[liar]);
                let forged = people::revocation_by(&root, NAMES[0], agent, 9);
                let body = people::revoking(&forged);
                self.say(liar, victim, Method::Revoke, body, |_, _| {})
            }
            Lie::ForgedPause => {
                let body = people::pausing(&people::pause(NAMES[liar], true, 1 << 40));
                self.say(liar, victim, Method::Pause, body, |_, _| {})
            }
        }
    }

    fn say(
        &mut self,
        liar: usize,
        victim: usize,
        method: Method,
        body: Value,
        change: impl FnOnce(&mut Draft, &mut Stamp),
    ) -> Arc<[u8]> {
        self.lies += 1;
        let to = &self.agents[victim];
        let mut draft = Draft::call(method, to.id().clone(), name(1 << 50 | self.lies), body);
        let mut stamp = Stamp {
            now: to.at(self.now).now,
            session: None,
            sequence: None,
            audit_head: None,
            version: Version::CURRENT,
        };
        change(&mut draft, &mut stamp);
        let signed = draft.sign(&cast::identity(liar), stamp).unwrap();
        note!(self, "a lie to {}: {method:?}", NAMES[victim]);
        Arc::clone(signed.bytes())
    }

    /// The session that stands with the victim, or one that nobody ever made.
    fn session(&self, liar: usize, victim: usize) -> SessionId {
        let to = &self.agents[victim];
        let (now, id) = (to.at(self.now).now, self.agents[liar].id());
        let standing = to.node.as_ref().map(|node| node.standing(id, now));
        let session = standing.and_then(|standing| standing.session);
        session.unwrap_or(SessionId(Digest([5; 32])))
    }

    fn call(
        &mut self,
        liar: usize,
        victim: usize,
        change: impl FnOnce(&mut Draft, &mut Stamp),
    ) -> Arc<[u8]> {
        let (session, number) = (self.session(liar, victim), 2_000 + self.lies);
        let body = json!({ "n": number });
        self.say(liar, victim, Method::Notification, body, |draft, stamp| {
            (stamp.session, stamp.sequence) = (Some(session), Some(number));
            change(draft, stamp);
        })
    }

    fn flight(&mut self, liar: usize, victim: usize, method: Method, ms: i64) -> Arc<[u8]> {
        self.lies += 1;
        let digest = Digest::of(&[b"flight", &self.lies.to_be_bytes()]).to_string();
        let body = flight_body(&cast::identity(liar), method, &digest);
        self.say(liar, victim, method, body, |draft, stamp| {
            draft.life = Duration::from_secs(300);
            stamp.now = Timestamp::from_millis(stamp.now.as_millis() + ms);
        })
    }

    fn receipt(
        &mut self,
        liar: usize,
        victim: usize,
        through: u64,
        hash: Option<Digest>,
        exceptions: u64,
    ) -> Arc<[u8]> {
        let refused = Exception {
            reason: "budget-exceeded".into(),
            hash: None,
        };
        let except = (1..=exceptions).map(|number| (number, refused.clone()));
        let receipt = Receipt {
            through,
            hash,
            except: except.collect(),
            ..Receipt::default()
        };
        let session = self.session(liar, victim);
        let body = receipt.to_value();
        self.say(liar, victim, Method::Receipt, body, |_, stamp| {
            stamp.session = Some(session);
        })
    }

    /// No alarm names anybody but the liar, or who was put back.
    pub fn watch_alarms(&self) {
        for agent in &self.agents {
            let alarms = agent.node.as_ref().unwrap().alarms();
            for (what, peer) in alarms.keys() {
                assert!(
                    self.may_ring(agent.who, *what, peer),
                    "{what:?} rings at {} for {peer}",
                    NAMES[agent.who]
                );
            }
        }
    }

    pub fn may_ring(&self, who: usize, what: Alarm, peer: &AgentId) -> bool {
        let other = self.agents.iter().position(|agent| agent.id() == peer);
        let lied = self.is_liar(who) || self.is_liars(peer);
        let restored = other.is_some_and(|other| self.is_restored(who, other));
        lied || restored && what != Alarm::SecondCopy
    }
}
