//! A digest as plain text: a section a question, a line an event. Nothing that a stranger wrote can end a line, hide in one or
//! drive a terminal, and however much happened, the page is short.

mod sections;

use std::collections::BTreeMap;

use signet_audit::{VerifyReport, printable, visible};
use signet_proto::ids::AgentId;
use signet_proto::time::Timestamp;

use super::exchange::{CameOf, Exchange, SaidText, WantedOf};
use super::kept::ROWS;
use super::span::DigestSpan;
use super::told::{SpanTold, TalkTold};
use super::words::{DigestText, filled};

/// A page that is being written.
pub(super) struct DigestPage<'a> {
    pub(super) told: &'a SpanTold,
    pub(super) span: DigestSpan,
    pub(super) text: &'static DigestText,
    out: String,
}

impl<'a> DigestPage<'a> {
    /// The whole page.
    pub(super) fn of(
        told: &'a SpanTold,
        proof: &VerifyReport,
        span: DigestSpan,
        text: &'static DigestText,
    ) -> String {
        let mut page = Self {
            told,
            span,
            text,
            out: String::new(),
        };
        page.title();
        page.talk();
        page.left();
        page.events(text.decided, text.decided_none, &told.decided);
        page.refusals();
        page.events(text.trouble, text.trouble_none, &told.troubled);
        page.waits();
        page.proof(proof);
        page.out
    }

    fn title(&mut self) {
        let (agent, person) = match &self.told.owner {
            Some((agent, person)) => (agent.as_str(), person.as_str()),
            None => (self.text.nobody, "?"),
        };
        let title = filled(
            self.text.title,
            &[agent, person, &self.span.title(self.text)],
        );
        self.line(0, &title);
    }

    fn talk(&mut self) {
        let text = self.text;
        self.heading(text.talk);
        let mut exchanges: BTreeMap<&AgentId, Vec<&Exchange>> = BTreeMap::new();
        for exchange in &self.told.exchanges.all {
            let came = exchange.came_of.as_ref().map(|(at, _)| *at);
            if exchange.at.max(came.unwrap_or(exchange.at)) >= self.span.since {
                exchanges.entry(&exchange.peer).or_default().push(exchange);
            }
        }
        let nothing = TalkTold::default();
        let peers = exchanges.keys().copied().chain(self.told.talk.keys());
        let mut peers: Vec<_> = peers
            .map(|peer| (peer, self.told.talk.get(peer).unwrap_or(&nothing)))
            .collect();
        peers.sort_by_key(|(peer, talk)| (u64::MAX - (talk.came + talk.left), *peer));
        peers.dedup_by_key(|(peer, _)| *peer);
        if peers.is_empty() {
            return self.line(1, text.talk_none);
        }
        let each = (ROWS * 3 / peers.len()).clamp(3, ROWS);
        for (peer, talk) in peers.iter().take(PEERS) {
            let (came, left) = (text.number(talk.came), text.number(talk.left));
            let whole = filled(text.talk_with, &[&self.named(peer), &came, &left]);
            self.line(1, &whole);
            let told = exchanges.remove(peer).unwrap_or_default();
            let before = told.len().saturating_sub(each);
            if before > 0 {
                let before = filled(text.earlier, &[&text.number(before as u64)]);
                self.line(2, &before);
            }
            for exchange in told.iter().skip(before) {
                self.exchange(exchange);
            }
        }
        if let Some(more) = peers.len().checked_sub(PEERS).filter(|more| *more > 0) {
            let more = text.counted(more as u64, text.agent_one, text.agent_many);
            self.line(1, &filled(text.more_peers, &[&more]));
        }
    }

    fn exchange(&mut self, exchange: &Exchange) {
        let text = self.text;
        let begun = match (exchange.is_ours, exchange.wanted) {
            (false, WantedOf::Answer) => text.they_ask,
            (false, WantedOf::Nothing) => text.they_tell,
            (false, WantedOf::Task) => text.they_hand,
            (true, WantedOf::Answer) => text.we_ask,
            (true, WantedOf::Nothing) => text.we_tell,
            (true, WantedOf::Task) => text.we_hand,
        };
        let begun = filled(begun, &[&self.said(&exchange.said)]);
        self.timed(2, exchange.at, &begun);
        let came = match &exchange.came_of {
            None if exchange.wanted == WantedOf::Nothing => return,
            None if exchange.wanted == WantedOf::Task => text.state_offered.to_owned(),
            None if exchange.is_open(self.told.end) => text.no_answer.to_owned(),
            None => text.no_answer_ever.to_owned(),
            Some((at, came)) => self.came_of(*at, came, &exchange.peer),
        };
        let place = self.span.moment(exchange.at).len() + 2;
        self.line(2, &format!("{:place$}{came}", ""));
    }

    fn came_of(&self, at: Timestamp, came: &CameOf, peer: &AgentId) -> String {
        let text = self.text;
        let at = self.span.moment(at);
        let tail = |said: &SaidText| match said {
            SaidText::Nothing => String::new(),
            said => format!(": {}", self.said(said)),
        };
        match came {
            CameOf::Answered(said) => filled(text.answered, &[&at, &tail(said)]),
            CameOf::Refused(reason, said) => filled(
                text.refused,
                &[&at, &printable(text.reason(reason)), &tail(said)],
            ),
            CameOf::Task(state, note) => filled(text.task, &[text.state(*state), &at, &tail(note)]),
            CameOf::Handled(what) => filled(text.outcome(*what), &[peer.as_str()]),
        }
    }

    fn left(&mut self) {
        let text = self.text;
        self.heading(text.left);
        let mut left: Vec<_> = self
            .told
            .talk
            .iter()
            .filter(|(_, talk)| talk.left > 0)
            .collect();
        left.sort_by_key(|(peer, talk)| (u64::MAX - talk.left, *peer));
        if left.is_empty() {
            return self.line(1, text.left_none);
        }
        for (peer, talk) in left.iter().take(PEERS) {
            let tiers = [text.tier_1, text.tier_2, text.tier_3, text.tier_4];
            let told = tiers.iter().zip(talk.tiers).filter(|(_, count)| *count > 0);
            let told: Vec<_> = told
                .map(|(words, count)| filled(words, &[&text.number(count)]))
                .collect();
            let line = filled(text.left_to, &[&self.named(peer), &told.join(", ")]);
            self.line(1, &line);
        }
        self.rest(left.len().saturating_sub(PEERS) as u64);
    }

    /// The agent, and its person where the log proves who that is.
    fn named(&self, agent: &AgentId) -> String {
        match self.told.people.get(agent) {
            Some(person) => filled(self.text.acts_for, &[agent.as_str(), person]),
            None => agent.to_string(),
        }
    }

    fn said(&self, said: &SaidText) -> String {
        match said {
            SaidText::Sealed => self.text.sealed.to_owned(),
            SaidText::Nothing => self.text.wordless.to_owned(),
            SaidText::Words(words) => format!("\"{}\"", printable(words)),
        }
    }

    fn tier(&self, tier: Option<u8>) -> String {
        let number = tier.map_or_else(|| "?".to_owned(), |tier| tier.to_string());
        filled(self.text.tier, &[&number])
    }

    /// That there is more than is told.
    fn rest(&mut self, count: u64) {
        if count > 0 {
            let more = filled(self.text.more, &[&self.text.number(count)]);
            self.line(1, &more);
        }
    }

    fn heading(&mut self, words: &str) {
        self.out.push('\n');
        self.line(0, words);
    }

    fn timed(&mut self, depth: usize, at: Timestamp, words: &str) {
        let at = self.span.moment(at);
        self.line(depth, &format!("{at}  {words}"));
    }

    /// One line: whatever stands in it, it stays one.
    fn line(&mut self, depth: usize, words: &str) {
        let words = visible(words);
        self.out.push_str(&"  ".repeat(depth));
        self.out.push_str(words.trim_end());
        self.out.push('\n');
    }
}

/// Agents that are told one by one: those with whom most was said.
const PEERS: usize = 12;
