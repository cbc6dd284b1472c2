//! One of two logs that are read together: what it says, and the other has not said yet.

use std::collections::{BTreeMap, HashMap, HashSet};

use signet_proto::entry::Ruling;
use signet_proto::ids::{AgentId, Digest, MessageId, SessionId};
use signet_proto::receipt::{MISSING, Receipt};

use super::SEQUENCE_REUSE;
use super::side::Side;
use crate::chain::Head;
use crate::claim::{Claim, Learned, Told};
use crate::newest_keys::NewestKeys;

/// The two logs do not simply agree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Irregular;

/// What one log says of messages that the other has not said yet.
pub(super) struct Half {
    /// What it knows of its own messages, for those that the other log lacks.
    side: Side,
    /// What it sent, with the line that the message names as head of this log.
    sent: HashMap<Digest, (Claim, Option<u64>)>,
    /// What came, and whether its signature holds.
    came: HashMap<Digest, (Claim, bool)>,
    /// The names of what it sent.
    ids: HashSet<MessageId>,
    /// What it sent that stands in both logs: the newest by hash and by name, and by number with whether it was accepted.
    matched: NewestKeys<Digest, ()>,
    matched_ids: NewestKeys<MessageId, ()>,
    matched_places: NewestKeys<(SessionId, u64), bool>,
    /// Numbers that a receipt refuses, and of which no message was found in both logs yet.
    refused: HashSet<(SessionId, u64)>,
    heads: HashMap<SessionId, HeadOrder>,
    /// The newest of its lines that the other log remembers.
    pub(super) confirmed: Option<Head>,
    /// How many of its messages stand in both logs.
    pub(super) agreed: u64,
    /// How many times something was said.
    pub(super) told: u64,
    pub(super) unproven: Vec<u64>,
}

/// Takes what the log of `here` says next.
pub(super) fn take(here: &mut Half, there: &mut Half, told: Vec<Told>) -> Result<(), Irregular> {
    here.told += 1;
    for told in told {
        match told {
            Told::Begins(ts) => here.side.begins = Some(ts),
            Told::Sent(claim, head) => here.take_sent(there, claim, head)?,
            Told::Came(claim, learned, is_proven) => {
                here.learn(learned)?;
                here.take_came(there, claim, is_proven)?;
            }
            Told::Withheld(hash) => drop(here.side.withheld.insert(hash)),
            Told::Expired(id) if here.may_need(&id) => drop(here.side.expired.insert(id)),
            Told::Expired(_) => {}
        }
    }
    Ok(())
}

impl Half {
    pub(super) fn new(agent: &AgentId) -> Self {
        Self {
            side: Side::of(agent.clone()),
            sent: HashMap::new(),
            came: HashMap::new(),
            ids: HashSet::new(),
            matched: NewestKeys::new(NEWEST),
            matched_ids: NewestKeys::new(NEWEST),
            matched_places: NewestKeys::new(NEWEST),
            refused: HashSet::new(),
            heads: HashMap::new(),
            confirmed: None,
            agreed: 0,
            told: 0,
            unproven: Vec::new(),
        }
    }

    /// How many messages stand here and were not found in the other log yet.
    pub(super) fn open(&self) -> usize {
        self.sent.len() + self.came.len()
    }

    /// What this log says and the other does not. A message that came and that nobody sent is for the whole logs.
    pub(super) fn finish(self) -> Result<Side, Irregular> {
        let Self {
            mut side,
            sent,
            came,
            mut refused,
            ..
        } = self;
        side.sent = sent.into_values().map(|(claim, _)| claim).collect();
        side.sent.sort_unstable_by_key(|claim| claim.seq);
        for claim in &side.sent {
            claim.place.map(|place| refused.remove(&place));
        }
        match came.is_empty() && refused.is_empty() {
            true => Ok(side),
            false => Err(Irregular),
        }
    }

    fn take_sent(
        &mut self,
        there: &mut Self,
        claim: Claim,
        head: Option<u64>,
    ) -> Result<(), Irregular> {
        // A second line about the same message is a copy: verification reports the copy, so do not count the message again.
        if self.matched.get(&claim.hash).is_some() || self.sent.contains_key(&claim.hash) {
            return Ok(());
        }
        match there.came.remove(&claim.hash) {
            Some((came, is_proven)) => self.agree(there, claim, head, &came, is_proven),
            None => {
                self.ids.insert(claim.message_id);
                self.sent.insert(claim.hash, (claim, head));
                Ok(())
            }
        }
    }

    fn take_came(
        &mut self,
        there: &mut Self,
        claim: Claim,
        is_proven: bool,
    ) -> Result<(), Irregular> {
        if !is_proven {
            self.unproven.push(claim.seq);
        }
        if let Some((sent, head)) = there.sent.remove(&claim.hash) {
            there.ids.remove(&sent.message_id);
            return there.agree(self, sent, head, &claim, is_proven);
        }
        if there.matched.get(&claim.hash).is_none() {
            self.came.insert(claim.hash, (claim, is_proven));
            return Ok(());
        }
        // The message came a second time. A second refusal changes nothing, but a second acceptance may contradict a
        // receipt: then the whole logs have to be compared.
        match claim.ruling {
            Ruling::Accepted => Err(Irregular),
            Ruling::Rejected(_) | Ruling::Sent => Ok(()),
        }
    }

    /// A message of this log's agent stands in both logs.
    fn agree(
        &mut self,
        there: &mut Self,
        sent: Claim,
        head: Option<u64>,
        came: &Claim,
        is_proven: bool,
    ) -> Result<(), Irregular> {
        let is_accepted = came.ruling == Ruling::Accepted;
        if let Some((session, number)) = sent.place {
            let place = (session, number);
            let refusal = self.side.refusal(session, number);
            if is_accepted && refusal.is_some_and(|reason| reason != SEQUENCE_REUSE) {
                return Err(Irregular);
            }
            self.refused.remove(&place);
            self.matched_places.push(place, is_accepted);
        }
        self.side.forget(&sent.message_id);
        self.matched.push(sent.hash, ());
        self.matched_ids.push(sent.message_id, ());
        self.agreed += 1;
        let Some(hash) = sent.head else {
            return Ok(());
        };
        // The message names a line of this log as its head. `head` is `None` if that is none of this log's newest lines: only a
        // comparison of the whole logs can tell whether it is an older line.
        let seq = head.ok_or(Irregular)?;
        if is_proven && self.confirmed.is_none_or(|known| known.seq < seq) {
            self.confirmed = Some(Head { seq, hash });
        }
        match came.place {
            Some((session, number)) => there.heads.entry(session).or_default().take(number, seq),
            None => Ok(()),
        }
    }

    /// Whether what becomes of the message may be asked for: it is not known to stand in both logs.
    fn may_need(&self, id: &MessageId) -> bool {
        self.ids.contains(id) || self.matched_ids.get(id).is_none()
    }

    /// Takes note of what an accepted message of the peer proves about messages of this log's agent.
    fn learn(&mut self, learned: Learned) -> Result<(), Irregular> {
        if let Some(id) = learned.answered
            && self.may_need(&id)
        {
            self.side.answered.insert(id);
        }
        if let Some((session, receipt)) = &learned.receipt {
            self.learn_refusals(*session, receipt)?;
        }
        self.side.learn(learned.receipt);
        Ok(())
    }

    fn learn_refusals(&mut self, session: SessionId, receipt: &Receipt) -> Result<(), Irregular> {
        for (number, why) in &receipt.except {
            let place = (session, *number);
            let reason = why.reason.as_str();
            let is_known = self.side.refusal(session, *number) == Some(reason);
            // Skip a refusal that is known already, and two reasons that do not refuse this message: `missing` refuses nothing,
            // and `sequence-reuse` is about another message with its number.
            if is_known || [MISSING, SEQUENCE_REUSE].contains(&reason) {
                continue;
            }
            match self.matched_places.get(&place) {
                Some(true) => return Err(Irregular),
                Some(false) => {}
                None => drop(self.refused.insert(place)),
            }
        }
        Ok(())
    }
}

/// The lines that the messages of one session name as heads, by their numbers: none names an older one than a message with
/// a lower number.
#[derive(Default)]
struct HeadOrder {
    newest: BTreeMap<u64, u64>,
    /// The number and the line of the newest message that is forgotten.
    floor: Option<(u64, u64)>,
}

impl HeadOrder {
    fn take(&mut self, number: u64, line: u64) -> Result<(), Irregular> {
        let before = self.newest.range(..=number).next_back();
        let before = before.map(|(number, line)| (*number, *line)).or(self.floor);
        let after = self.newest.range(number.saturating_add(1)..).next();
        let is_older = before.is_some_and(|(_, head)| line < head);
        let is_newer = after.is_some_and(|(_, head)| line > *head);
        // The lines named by messages up to number `floor` are forgotten, so a message with such a number cannot be checked
        // here. Two messages with one number must not name different lines either.
        let is_low = self.floor.is_some_and(|(floor, _)| number <= floor);
        let is_twice = before.is_some_and(|(known, head)| known == number && line != head);
        if is_older || is_newer || is_low || is_twice {
            return Err(Irregular);
        }
        self.newest.insert(number, line);
        if self.newest.len() > IN_ORDER {
            self.floor = self.newest.pop_first();
        }
        Ok(())
    }
}

/// So many messages that stand in both logs are remembered: a receipt, an answer or a copy comes soon.
const NEWEST: usize = 16_384;
/// So many messages of a session may come in another order than they were numbered in.
const IN_ORDER: usize = 2_048;

#[cfg(test)]
mod tests;
