//! Proving a bundle from itself alone.

mod read;
mod report;

use std::collections::BTreeMap;
use std::path::Path;

use data_encoding::BASE64;
use serde_json::{Map, Value};
use signet_json::{Limits, parse};
use signet_proto::entry::{Direction, Entry, Evidence, Ruling, TrustChange, TrustLine, Verdict};
use signet_proto::ids::{AgentId, Digest};
use signet_proto::keys::{KeyTables, TableBudget, fingerprint};
use signet_proto::reject::Reason;
use signet_proto::time::Timestamp;

pub(super) use read::{is_bundle, prove_bundle, verify_bundle};
pub use report::BundleReport;
pub(super) use report::write_more;

use crate::file::is_month;
use crate::filter::about;
use crate::merkle::{leaf, root_from};
use crate::note::{Note, origin};
use crate::record::LogLine;
use crate::verify::decisions::DraftDecisions;
use crate::verify::{
    KnownTrust, OUT_OF_DATES, Worth, broken_chain, contradictions, forged_member, prove_parties,
    worth,
};

struct BundleReader {
    report: BundleReport,
    authority: KnownTrust,
    decisions: DraftDecisions,
    months: BTreeMap<String, Note>,
    span: Option<(Timestamp, Timestamp)>,
    /// The proof that the bundle gives for the line that comes next.
    next: Option<BundleProof>,
    seq: u64,
    place: u64,
    /// How many faults are told one by one.
    most: usize,
}

struct BundleProof {
    month: String,
    /// The place in the month, and the path from there; none when the line has to prove itself.
    place: Option<(u64, Vec<Digest>)>,
}

impl BundleReader {
    fn new(name: &Path, most: usize) -> Self {
        Self {
            report: BundleReport {
                name: name.to_owned(),
                ..BundleReport::default()
            },
            authority: KnownTrust::default(),
            decisions: DraftDecisions::default(),
            months: BTreeMap::new(),
            span: None,
            next: None,
            seq: 0,
            place: 0,
            most,
        }
    }

    fn take(&mut self, raw: Vec<u8>) {
        // Take the line after a proof as a line of the log, whatever it contains: otherwise a line of the log could pass for a
        // proof or a checkpoint.
        if let Some(proof) = self.next.take() {
            return self.take_line(raw, &proof);
        }
        let Ok(Value::Object(members)) = parse(&raw, Limits::LINE) else {
            return self.fault("neither a proof nor a checkpoint");
        };
        match (members.get("kind").and_then(Value::as_str), self.place) {
            (Some(BUNDLE), 1) => self.take_header(&members),
            (Some(CHECKPOINT), _) => self.take_checkpoint(&members),
            (Some(PROOF | CERTIFICATE), _) => match parse_proof(&members) {
                Some(proof) => self.next = Some(proof),
                None => self.fault("the proof is malformed"),
            },
            _ => self.fault("neither a proof nor a checkpoint"),
        }
    }

    fn take_header(&mut self, members: &Map<String, Value>) {
        let text = |name: &str| text_of(members, name);
        self.report.agent = text("agent").parse().ok();
        self.report.peer = text("peer").parse().ok();
        self.report.span = (text("from").to_owned(), text("to").to_owned());
        self.span = text("from").parse().ok().zip(text("to").parse().ok());
        self.report.left_out = members.get("left-out").and_then(Value::as_u64).unwrap_or(0);
        if members.get("v").and_then(Value::as_u64) != Some(1)
            || self.report.agent.is_none()
            || self.report.peer.is_none()
        {
            self.fault(
                "the first line does not say of which version, agent and peer the bundle is",
            );
        }
    }

    fn take_checkpoint(&mut self, members: &Map<String, Value>) {
        let month = text_of(members, "month");
        let note = Note::parse(text_of(members, "note")).filter(|_| is_month(month));
        let expected = self.report.agent.as_ref().map(|agent| origin(agent, month));
        match note {
            Some(note) if Some(&note.checkpoint.origin) == expected.as_ref() => {
                // Allow one checkpoint a month: its signature is checked with the month's first line, so a second
                // checkpoint after that line would be believed unchecked.
                if self.months.insert(month.to_owned(), note).is_some() {
                    self.fault("a second checkpoint of one month");
                }
            }
            _ => self.fault("the checkpoint is not one of this agent and month"),
        }
    }

    fn take_line(&mut self, raw: Vec<u8>, proof: &BundleProof) {
        let hash = leaf(&raw);
        let line = match LogLine::parse(raw) {
            Ok(line) => line,
            Err(error) => return self.fault(&error.to_string()),
        };
        if line.seq <= self.seq {
            self.fault("the lines are not in the order of the log");
        }
        self.seq = line.seq;
        if line.ts.month() != proof.month {
            self.fault("`ts` lies in another month than its proof says");
        }
        if let Err(what) = self.prove_place(&line, hash, proof) {
            return self.fault(what);
        }
        if let Some(what) = forged_member(&line) {
            self.fault(&what);
        }
        if let Some(what) = broken_chain(&line) {
            self.fault(what);
        }
        // If `from` or `to` of the bundle's header cannot be read, count none of its lines: the bundle then proves nothing.
        let is_within = self
            .span
            .is_some_and(|(from, to)| (from..to).contains(&line.ts));
        self.prove_content(line, proof.place.is_some() && is_within);
    }

    /// Proves that the line stands in its month, by the path to the month's checkpoint. The first line of a month names
    /// the key that signed its checkpoint, so it has to come before the others.
    fn prove_place(
        &mut self,
        line: &LogLine,
        leaf: Digest,
        proof: &BundleProof,
    ) -> Result<(), &'static str> {
        let Some((index, path)) = &proof.place else {
            return Ok(());
        };
        let note = self
            .months
            .get(&proof.month)
            .ok_or("there is no checkpoint of its month before it")?;
        let found = &note.checkpoint;
        if root_from(leaf, *index, found.size, path) != Some(found.root) {
            return Err(
                "the proof does not lead to the checkpoint: the line was changed, or is not of this log",
            );
        }
        if *index == 0 {
            let key = line.checkpoint_key.as_ref();
            if !key.is_some_and(|key| note.is_signed_by(key)) {
                return Err(
                    "the checkpoint is not signed by the key that the month's first line names",
                );
            }
            self.report.months.insert(proof.month.clone(), found.size);
        } else if !self.report.months.contains_key(&proof.month) {
            return Err("the month's first line, with the key of its checkpoint, is not before it");
        }
        Ok(())
    }

    /// Only what stands in the log and in the span counts; all else is there for its certificates.
    fn prove_content(&mut self, line: LogLine, counts: bool) {
        let is_of_peer = about(&line).peer == self.report.peer;
        let done = match line.entry {
            Some(Entry::Genesis(own)) => {
                self.authority.begin(&own);
                self.learn_root(&own.agent, fingerprint(&own.root));
                match Some(&own.agent) == self.report.agent.as_ref() {
                    true => Ok(()),
                    false => Err("the log is another agent's than the bundle says"),
                }
            }
            Some(Entry::Trust(TrustLine {
                change,
                certificate,
            })) => {
                let pinned = self.authority.pin(change, &certificate);
                if pinned.is_ok() && binds(change) {
                    self.learn_root(&certificate.agent, fingerprint(&certificate.root));
                }
                pinned
            }
            Some(Entry::Revoked(revocation)) => self.authority.admit_revocation(&revocation),
            Some(Entry::Message(verdict)) => {
                return self.prove_verdict(&verdict, is_of_peer, counts);
            }
            Some(Entry::Handoff(handoff)) if is_of_peer => {
                self.report.lines += u64::from(counts);
                prove_parties(&handoff, self.report.agent.as_ref())
            }
            Some(Entry::Handoff(_)) => Err(OF_ANOTHER),
            Some(Entry::Draft(draft)) => self.decisions.take_draft(&draft),
            Some(Entry::Approval(approval)) => {
                self.decisions.take_approval(&approval, &self.authority)
            }
            Some(Entry::Pause(statement)) => self.decisions.take_pause(&statement, &self.authority),
            Some(Entry::Outcome(outcome)) => {
                self.decisions.take_outcome(&outcome);
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(what) = done {
            self.fault(what);
        }
    }

    fn prove_verdict(&mut self, verdict: &Verdict, is_of_peer: bool, counts: bool) {
        for what in contradictions(verdict, self.report.agent.clone().as_ref()) {
            self.fault(what);
        }
        self.report.lines += u64::from(counts);
        let Evidence::Whole(message) = &verdict.evidence else {
            if !is_of_peer {
                self.fault(OF_ANOTHER);
            }
            return;
        };
        let (sender, recipient) = (&message.headers.agent_id, &message.headers.recipient_id);
        let other = match verdict.direction {
            Direction::In => sender,
            Direction::Out => recipient,
        };
        if Some(other) != self.report.peer.as_ref() {
            self.fault(OF_ANOTHER);
        }
        let refused = Ruling::Rejected(Reason::CertificateExpired);
        let certificate = self.authority.certificate(message);
        // A bundle holds few messages, so tables for faster verification would not pay.
        let tables = KeyTables::new(TableBudget::OFF);
        let found = certificate.map(|certificate| worth(&certificate, message, &tables));
        let proof = match (found, verdict.direction) {
            (None, _) => Some("no line before certifies the key that signed the message"),
            (Some(Worth::Forged(what)), _) => Some(what),
            (Some(Worth::OutOfDates), Direction::In) if verdict.ruling != refused => {
                Some(OUT_OF_DATES)
            }
            // A signature outside of the certificate's dates is no fault here: either this log's own agent had a wrong clock,
            // or the message of a peer was refused for those dates.
            (Some(Worth::Holds | Worth::OutOfDates), _) => None,
        };
        match proof {
            Some(what) => self.fault(what),
            None if counts => *self.report.signed.entry(sender.to_string()).or_default() += 1,
            None => {}
        }
        // Hold the message against its draft. If the bundle has no line of the draft, `take_sent` finds none and
        // reports no fault.
        if verdict.ruling == Ruling::Sent
            && let Some(what) = self.decisions.take_sent(message, &self.authority)
        {
            self.fault(what);
        }
    }

    fn learn_root(&mut self, agent: &AgentId, words: String) {
        let parties = [&self.report.agent, &self.report.peer];
        if parties.iter().any(|party| party.as_ref() == Some(agent)) {
            self.report.roots.insert(agent.to_string(), words);
        }
    }

    fn conclude(mut self) -> BundleReport {
        if self.next.is_some() {
            self.fault("a proof stands at the end without its line");
        }
        if self.report.faults.is_empty() && self.report.lines == 0 {
            self.fault("no line in it is proven to stand in a log");
        }
        self.report
    }

    fn fault(&mut self, what: &str) {
        let report = &mut self.report;
        if report.faults.len() < self.most {
            report.faults.push(format!("line {}: {what}", self.place));
        } else {
            report.more_faults += 1;
        }
    }
}

/// Whether the change makes an agent trusted.
fn binds(change: TrustChange) -> bool {
    matches!(
        change,
        TrustChange::Bound
            | TrustChange::Renewed
            | TrustChange::RootSucceeded
            | TrustChange::RootReplaced
    )
}

fn text_of<'m>(members: &'m Map<String, Value>, name: &str) -> &'m str {
    members
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn parse_proof(members: &Map<String, Value>) -> Option<BundleProof> {
    let month = members.get("month")?.as_str()?.to_owned();
    let hash = |value: &Value| {
        let bytes = BASE64.decode(value.as_str()?.as_bytes()).ok()?;
        bytes.try_into().ok().map(Digest)
    };
    let place = match members.get("path") {
        // Only a line announced as a certificate may come without a path to a checkpoint: it is proven by its own
        // signatures, and proves nothing else.
        None if members.get("kind")?.as_str()? == CERTIFICATE => None,
        path => {
            let path: Option<Vec<Digest>> = path?.as_array()?.iter().map(hash).collect();
            Some((members.get("index")?.as_u64()?, path?))
        }
    };
    Some(BundleProof { month, place })
}

const OF_ANOTHER: &str = "the message is not one with the peer that the bundle is about";
pub(crate) const BUNDLE: &str = "bundle";
pub(crate) const CHECKPOINT: &str = "checkpoint";
pub(crate) const PROOF: &str = "proof";
/// Before a line that no checkpoint covers and that proves itself.
pub(crate) const CERTIFICATE: &str = "certificate";
