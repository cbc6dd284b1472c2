//! The facts that the lines of a log tell of a span of time. Lines before it tell who somebody is, and what waited when it began.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use signet_audit::{LogError, LogLine, Mark, for_each_wanted};
use signet_proto::certificate::Certificate;
use signet_proto::draft::LONGEST_LIFE;
use signet_proto::entry::{
    Alarm, Did, Direction, DraftLine, Entry, Evidence, OutcomeLine, Ruling, TrustChange, Verdict,
};
use signet_proto::envelope::Form;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::time::Timestamp;

use super::exchange::{CameOf, Exchanges, SaidText, WantedOf, clipped, is_talk};
use super::kept::{NewestEvents, RefusalGroups, RefusedBy};
use super::span::DigestSpan;

/// Everything that a digest tells.
#[derive(Debug)]
pub(super) struct SpanTold {
    /// Whose log it is: agent and person.
    pub(super) owner: Option<(String, String)>,
    /// For whom each agent acts, as far as the log proves it.
    pub(super) people: HashMap<AgentId, String>,
    pub(super) talk: BTreeMap<AgentId, TalkTold>,
    pub(super) exchanges: Exchanges,
    pub(super) decided: NewestEvents<(Timestamp, SpanEvent)>,
    pub(super) troubled: NewestEvents<(Timestamp, SpanEvent)>,
    pub(super) refused: RefusalGroups,
    pub(super) waits: WaitingAtEnd,
    /// Lines that were written in the span.
    pub(super) lines: u64,
    /// Lines that cannot be read.
    pub(super) unreadable: u64,
    /// The last moment that it tells of.
    pub(super) end: Timestamp,
}

/// How much was said with an agent.
#[derive(Debug, Default)]
pub(super) struct TalkTold {
    pub(super) came: u64,
    pub(super) left: u64,
    /// Messages that left, by tier from 1 on.
    pub(super) tiers: [u64; 4],
}

/// An event that somebody decided, or that went wrong.
#[derive(Clone, Debug)]
pub(super) enum SpanEvent {
    Trust(TrustChange, AgentId),
    /// A draft was approved, or refused.
    Approved(bool, AgentId, Option<u8>, SaidText),
    Paused(bool),
    Outcome(Did, AgentId),
    Alarm(Alarm, AgentId, bool),
    /// So many messages of the agent's never came.
    Hole(AgentId, u64),
    Clock(AgentId),
    /// So many inputs of strangers were counted and not written down.
    Flood(u64),
    Gap,
    Rebuilt,
    Loss,
    Torn,
}

/// Everything that waits for somebody at the end.
#[derive(Debug, Default)]
pub(super) struct WaitingAtEnd {
    pub(super) strangers: BTreeMap<AgentId, Timestamp>,
    pub(super) drafts: BTreeMap<MessageId, (Timestamp, AgentId, Option<u8>, SaidText)>,
    pub(super) alarms: BTreeMap<(AgentId, Alarm), Timestamp>,
    pub(super) paused: bool,
}

impl SpanTold {
    /// Reads the log in `path`, up to the end of the span.
    ///
    /// # Errors
    /// When it cannot be read at all. A line that cannot be is counted.
    pub(super) fn read(path: &Path, span: DigestSpan) -> Result<Self, LogError> {
        let mut told = Self::nothing(span);
        // A message lives for a week at most: one from before that is neither answered in the span nor waits at its end.
        let context = span.since.saturating_sub(LONGEST_LIFE);
        let goes_on = Cell::new(false);
        let is_wanted = |at: Timestamp, kind: &str| {
            goes_on.set(goes_on.get() || at >= span.until);
            at < span.until && (at >= context || LASTING.contains(&kind))
        };
        for_each_wanted(path, is_wanted, |line| {
            match line {
                Ok(line) => told.take(&line, span),
                Err(error @ (LogError::Io { .. } | LogError::Newer { .. })) => return Err(error),
                Err(_) => told.unreadable += 1,
            }
            Ok(())
        })?;
        if goes_on.get() {
            told.end = span.until;
        }
        told.count_refused_words(span);
        Ok(told)
    }

    /// Counts what wanted no answer and was refused all the same: a receipt says so, and no message of its own.
    fn count_refused_words(&mut self, span: DigestSpan) {
        for exchange in &self.exchanges.all {
            if let Some((at, CameOf::Refused(reason, _))) = &exchange.came_of
                && exchange.wanted == WantedOf::Nothing
                && *at >= span.since
            {
                let peer = Some(exchange.peer.clone());
                self.refused.count(RefusedBy::There, reason, peer, 1);
            }
        }
    }

    fn nothing(span: DigestSpan) -> Self {
        Self {
            owner: None,
            people: HashMap::new(),
            talk: BTreeMap::new(),
            exchanges: Exchanges::default(),
            decided: NewestEvents::default(),
            troubled: NewestEvents::default(),
            refused: RefusalGroups::default(),
            waits: WaitingAtEnd::default(),
            lines: 0,
            unreadable: 0,
            end: span.since,
        }
    }

    fn take(&mut self, line: &LogLine, span: DigestSpan) {
        // A forged line may say that it was written after the span.
        if line.ts >= span.until {
            return;
        }
        self.end = self.end.max(line.ts);
        let is_told = line.ts >= span.since;
        self.lines += u64::from(is_told);
        let at = line.ts;
        let Some(entry) = &line.entry else {
            if is_told && matches!(line.mark, Some(Mark::Recovery { .. })) {
                self.troubled.push((at, SpanEvent::Torn));
            }
            return;
        };
        match entry {
            Entry::Message(verdict) => self.message(verdict, line, is_told),
            Entry::Handoff(handoff) => self.exchanges.take_task(handoff, at),
            Entry::Draft(draft) => self.draft(draft, at),
            Entry::Genesis(certificate) => self.owner = Some(named(certificate)),
            Entry::Attempt(line) if is_told => {
                let (name, peer) = (clipped(&line.reason), line.peer.clone());
                self.refused
                    .count(RefusedBy::OwnRules, &name, peer, line.count);
            }
            entry => {
                if let Some((event, is_decision)) = self.event(entry, at)
                    && is_told
                {
                    match is_decision {
                        true => self.decided.push((at, event)),
                        false => self.troubled.push((at, event)),
                    }
                }
            }
        }
    }

    fn message(&mut self, verdict: &Verdict, line: &LogLine, is_told: bool) {
        let message = verdict.message();
        if let Some(message) = message
            && verdict.direction == Direction::In
            && !matches!(verdict.ruling, Ruling::Rejected(_))
        {
            let headers = &message.headers;
            self.people
                .insert(headers.agent_id.clone(), headers.principal_id.to_string());
        }
        if let Ruling::Rejected(reason) = verdict.ruling {
            if is_told {
                let is_proven =
                    matches!(verdict.evidence, Evidence::Whole(_) | Evidence::Headers(_));
                let peer = verdict.peer().filter(|_| is_proven);
                let by = match verdict.direction {
                    Direction::In => RefusedBy::Here,
                    Direction::Out => RefusedBy::OwnRules,
                };
                self.refused.count(by, reason.name(), peer, 1);
            }
            return;
        }
        if verdict.ruling == Ruling::Sent
            && let Some(id) = verdict.id()
        {
            self.waits.drafts.remove(&id);
        }
        self.exchanges.take(verdict, line);
        let Some(peer) = verdict.peer().filter(|_| is_told) else {
            return;
        };
        // Of a message whose text was kept back nothing but its headers is there; it was somebody's word all the same.
        if !message.is_none_or(|message| is_talk(message))
            || matches!(verdict.evidence, Evidence::Copy(_))
        {
            return;
        }
        if let Some(Form::Failure { reason, .. }) = message.map(|message| &message.form)
            && verdict.direction == Direction::In
        {
            self.refused
                .count(RefusedBy::There, &clipped(reason), Some(peer.clone()), 1);
        }
        let talk = self.talk.entry(peer).or_default();
        match verdict.direction {
            Direction::In => talk.came += 1,
            Direction::Out => {
                talk.left += 1;
                let tier = usize::from(verdict.tier().unwrap_or(1).saturating_sub(1));
                if let Some(count) = talk.tiers.get_mut(tier) {
                    *count += 1;
                }
            }
        }
    }

    fn draft(&mut self, draft: &DraftLine, at: Timestamp) {
        // A message that waits for a session alone leaves by itself.
        if draft.approve.is_none() {
            return;
        }
        let places = ["/params/summary", "/result/summary"];
        let mut found = places
            .into_iter()
            .filter_map(|place| draft.message.pointer(place));
        let said = match draft.tier() {
            Some(1 | 2) if draft.sealed().is_none() => {
                SaidText::maybe(found.next().and_then(|summary| summary.as_str()))
            }
            _ => SaidText::Sealed,
        };
        let waits = (at, draft.peer.clone(), draft.tier(), said);
        self.waits.drafts.insert(draft.message_id, waits);
    }

    fn outcome(&mut self, line: &OutcomeLine, at: Timestamp) -> Option<(SpanEvent, bool)> {
        self.exchanges.take_outcome(line, at);
        if matches!(line.what, Did::DraftExpired | Did::DraftRefused) {
            self.waits.drafts.remove(&line.message_id);
        }
        let is_decision = match line.what {
            Did::Retried | Did::Dropped => true,
            Did::SetAside | Did::Expired | Did::DraftExpired | Did::AnswerFailed => false,
            _ => return None,
        };
        let event = SpanEvent::Outcome(line.what, line.peer.clone());
        Some((event, is_decision))
    }

    /// The event of a line, and whether somebody decided it; else it went wrong.
    fn event(&mut self, entry: &Entry, at: Timestamp) -> Option<(SpanEvent, bool)> {
        Some(match entry {
            Entry::Trust(line) => {
                let agent = &line.certificate.agent;
                self.people
                    .insert(agent.clone(), line.certificate.principal.to_string());
                match line.change {
                    TrustChange::Renewed => return None,
                    TrustChange::Pending => drop(self.waits.strangers.insert(agent.clone(), at)),
                    _ => drop(self.waits.strangers.remove(agent)),
                }
                let event = SpanEvent::Trust(line.change, agent.clone());
                (event, line.change != TrustChange::RootChanged)
            }
            Entry::Revoked(line) => (
                SpanEvent::Trust(TrustChange::Revoked, line.agent.clone()),
                true,
            ),
            Entry::Approval(line) => {
                let (_, peer, tier, said) = self.waits.drafts.remove(&line.message_id).unwrap_or((
                    at,
                    line.peer.clone(),
                    None,
                    SaidText::Nothing,
                ));
                let is_approved = line.approval.decision.as_str() == "approved";
                (SpanEvent::Approved(is_approved, peer, tier, said), true)
            }
            Entry::Pause(line) => {
                self.waits.paused = line.paused;
                (SpanEvent::Paused(line.paused), true)
            }
            Entry::Outcome(line) => return self.outcome(line, at),
            Entry::Alarm(line) => {
                let name = (line.peer.clone(), line.what);
                match line.cleared {
                    true => drop(self.waits.alarms.remove(&name)),
                    false => drop(self.waits.alarms.insert(name, at)),
                }
                let event = SpanEvent::Alarm(line.what, line.peer.clone(), line.cleared);
                (event, line.cleared)
            }
            entry => (trouble(entry)?, false),
        })
    }
}

/// The event of a line that tells of nothing but trouble.
fn trouble(entry: &Entry) -> Option<SpanEvent> {
    Some(match entry {
        Entry::Hole(line) => {
            let count = line.to.saturating_sub(line.from).saturating_add(1);
            SpanEvent::Hole(line.peer.clone(), count)
        }
        Entry::Clock(line) => SpanEvent::Clock(line.peer.clone()),
        Entry::Flood(line) => SpanEvent::Flood(line.count),
        Entry::Gap(_) => SpanEvent::Gap,
        Entry::Rebuilt(_) => SpanEvent::Rebuilt,
        Entry::Loss(_) => SpanEvent::Loss,
        _ => return None,
    })
}

fn named(certificate: &Certificate) -> (String, String) {
    (
        certificate.agent.to_string(),
        certificate.principal.to_string(),
    )
}

/// The kinds of line that count for as long as a log goes back.
const LASTING: [&str; 5] = ["genesis", "trust", "pause", "alarm", "handoff"];
