//! The sections below the talk: decisions and trouble, refusals, what waits, and the proof.

use signet_audit::{LogReport, VerifyReport, printable};
use signet_proto::ids::AgentId;
use signet_proto::time::Timestamp;

use super::DigestPage;
use crate::cli::audit::digest::exchange::WantedOf;
use crate::cli::audit::digest::kept::{NewestEvents, ROWS, RefusalGroup, RefusedBy};
use crate::cli::audit::digest::told::SpanEvent;
use crate::cli::audit::digest::words::filled;

impl DigestPage<'_> {
    pub(super) fn events(
        &mut self,
        heading: &str,
        none: &str,
        events: &NewestEvents<(Timestamp, SpanEvent)>,
    ) {
        self.heading(heading);
        if events.count == 0 {
            return self.line(1, none);
        }
        self.rest(events.count - events.kept.len() as u64);
        for (at, event) in &events.kept {
            let words = self.event(event);
            self.timed(1, *at, &words);
        }
    }

    fn event(&self, event: &SpanEvent) -> String {
        let text = self.text;
        match event {
            SpanEvent::Trust(change, agent) => filled(text.trust(*change), &[&self.named(agent)]),
            SpanEvent::Approved(is_approved, peer, tier, said) => {
                let words = match is_approved {
                    true => text.approved,
                    false => text.not_approved,
                };
                filled(
                    words,
                    &[&self.named(peer), &self.tier(*tier), &self.said(said)],
                )
            }
            SpanEvent::Paused(true) => text.paused.to_owned(),
            SpanEvent::Paused(false) => text.resumed.to_owned(),
            SpanEvent::Outcome(what, peer) => filled(text.outcome(*what), &[&self.named(peer)]),
            SpanEvent::Alarm(alarm, peer, is_cleared) => {
                let words = match is_cleared {
                    true => text.alarm_cleared,
                    false => text.alarm_rings,
                };
                filled(words, &[&self.named(peer), text.alarm(*alarm)])
            }
            SpanEvent::Hole(peer, count) => {
                let count = text.counted(*count, text.message_one, text.message_many);
                filled(text.hole, &[&count, &self.named(peer)])
            }
            SpanEvent::Clock(peer) => filled(text.clock, &[&self.named(peer)]),
            SpanEvent::Flood(count) => {
                let count = text.counted(*count, text.message_one, text.message_many);
                filled(text.flood, &[&count])
            }
            SpanEvent::Gap => text.gap.to_owned(),
            SpanEvent::Rebuilt => text.rebuilt.to_owned(),
            SpanEvent::Loss => text.loss.to_owned(),
            SpanEvent::Torn => text.torn.to_owned(),
        }
    }

    pub(super) fn refusals(&mut self) {
        let text = self.text;
        self.heading(text.refusals);
        let refused = &self.told.refused;
        if refused.groups.is_empty() {
            return self.line(1, text.refusals_none);
        }
        for (by, words) in [
            (RefusedBy::Here, text.refused_here),
            (RefusedBy::There, text.refused_there),
            (RefusedBy::OwnRules, text.refused_own),
        ] {
            let groups = refused.groups.iter().filter(|((of, _), _)| *of == by);
            let mut groups: Vec<_> = groups.map(|((_, reason), group)| (reason, group)).collect();
            groups.sort_by_key(|(reason, group)| (u64::MAX - group.count, *reason));
            if groups.is_empty() {
                continue;
            }
            self.line(1, words);
            for (reason, group) in groups.iter().take(ROWS) {
                let line = self.refusal(reason, group);
                self.line(2, &line);
            }
            let others = groups.iter().skip(ROWS).map(|(_, group)| group.count);
            self.other_reasons(others.sum());
        }
        self.other_reasons(refused.others);
    }

    fn refusal(&self, reason: &str, group: &RefusalGroup) -> String {
        let text = self.text;
        let (count, name) = (text.number(group.count), printable(reason));
        let words = printable(text.reason(reason));
        let mut line = match *words == *name {
            true => format!("{count} × {name}"),
            false => filled(text.refusal, &[&count, &words, &name]),
        };
        let peers: Vec<&str> = group.peers.iter().map(AgentId::as_str).collect();
        if !peers.is_empty() {
            let peers = peers.join(", ");
            let peers = match group.has_more {
                true => filled(text.and_others, &[&peers]),
                false => peers,
            };
            line.push_str(&format!(": {peers}"));
        }
        line
    }

    fn other_reasons(&mut self, count: u64) {
        if count > 0 {
            let others = filled(self.text.other_reasons, &[&self.text.number(count)]);
            self.line(2, &others);
        }
    }

    pub(super) fn waits(&mut self) {
        let text = self.text;
        self.heading(text.waits);
        let waits = &self.told.waits;
        let moment = |at: &Timestamp| self.span.moment(*at);
        let mut lines: Vec<String> = Vec::new();
        for ((peer, alarm), at) in &waits.alarms {
            let (since, peer) = (moment(at), self.named(peer));
            lines.push(filled(
                text.waits_alarm,
                &[&since, &peer, text.alarm(*alarm)],
            ));
        }
        lines.extend(waits.paused.then(|| text.waits_pause.to_owned()));
        for (agent, at) in &waits.strangers {
            lines.push(filled(
                text.waits_stranger,
                &[&self.named(agent), &moment(at)],
            ));
        }
        for (at, peer, tier, said) in waits.drafts.values() {
            let (peer, tier, said) = (self.named(peer), self.tier(*tier), self.said(said));
            lines.push(filled(
                text.waits_draft,
                &[&peer, &tier, &moment(at), &said],
            ));
        }
        let asked = self.told.exchanges.all.iter();
        for asked in asked.filter(|one| !one.is_ours && one.is_open(self.told.end)) {
            let words = match asked.wanted {
                WantedOf::Task => text.waits_task,
                WantedOf::Answer | WantedOf::Nothing => text.waits_answer,
            };
            let (peer, said) = (self.named(&asked.peer), self.said(&asked.said));
            lines.push(filled(words, &[&peer, &moment(&asked.at), &said]));
        }
        if lines.is_empty() {
            return self.line(1, text.waits_none);
        }
        let count = lines.len();
        for line in lines.iter().take(ROWS) {
            self.line(1, line);
        }
        self.rest(count.saturating_sub(ROWS) as u64);
    }

    pub(super) fn proof(&mut self, proof: &VerifyReport) {
        let text = self.text;
        self.heading(text.proof);
        let faults = proof
            .logs
            .iter()
            .map(|log| log.faults.len() as u64 + log.left_out);
        let faults = faults.sum::<u64>() + proof.unreadable.len() as u64;
        if faults > 0 {
            let faults = text.counted(faults, text.fault_one, text.fault_many);
            self.line(1, &filled(text.proof_broken, &[&faults]));
        } else if let Some(log) = self.own_report(proof) {
            self.whole(log);
        }
        if self.told.unreadable > 0 {
            let lines = text.counted(self.told.unreadable, text.line_one, text.line_many);
            self.line(1, &filled(text.proof_unread, &[&lines]));
        }
        let lines = text.counted(self.told.lines, text.line_one, text.line_many);
        self.line(1, &filled(text.told, &[&lines]));
    }

    /// The report of the log that is told, where a peer's was given with it.
    fn own_report<'b>(&self, proof: &'b VerifyReport) -> Option<&'b LogReport> {
        let owner = self.told.owner.as_ref().map(|(agent, _)| agent.as_str());
        let is_own = |log: &&LogReport| log.agent.as_ref().map(AgentId::as_str) == owner;
        proof.logs.iter().find(is_own).or(proof.logs.first())
    }

    fn whole(&mut self, log: &LogReport) {
        let text = self.text;
        if log.lines == 0 {
            return self.line(1, text.proof_empty);
        }
        let lines = text.counted(log.lines, text.line_one, text.line_many);
        self.line(1, &filled(text.proof_whole, &[&lines]));
        match log.proven {
            Some(head) => self.line(1, &filled(text.proof_own, &[&text.number(head.seq)])),
            None => self.line(1, text.proof_chain),
        }
        for witness in &log.witnesses {
            let line = text.number(witness.head.seq);
            self.line(
                1,
                &filled(text.proof_witness, &[witness.agent.as_str(), &line]),
            );
        }
        match log.links_only {
            true => self.line(1, text.proof_links),
            false => {
                let signed = text.counted(log.signed, text.signature_one, text.signature_many);
                self.line(1, &filled(text.proof_signed, &[&signed]));
            }
        }
    }
}
