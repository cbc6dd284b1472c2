//! What verification found, for people and for programs.

use std::fmt;
use std::path::PathBuf;

use serde_json::{Value, json};
use signet_proto::envelope::Message;
use signet_proto::ids::AgentId;
use signet_proto::time::Timestamp;

use super::bundle::{BundleReport, write_more};
use super::decisions::DraftDecisions;
use crate::chain::Head;
use crate::error::LogError;
use signet_text::{counted, printable};

/// What [`verify`](crate::verify) found.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// A report for each log.
    pub logs: Vec<LogReport>,
    /// A report for each bundle.
    pub bundles: Vec<BundleReport>,
    /// What could not be read.
    pub unreadable: Vec<LogError>,
}

/// What was found in one log.
#[derive(Clone, Debug, Default)]
pub struct LogReport {
    /// Its directory, or its file when that has another name than a month's.
    pub name: PathBuf,
    /// Whose it is; unknown when its first file was not given.
    pub agent: Option<AgentId>,
    /// How many files were read.
    pub files: u64,
    /// How many lines were read.
    pub lines: u64,
    /// The number of the first line. Above 1 what stands before it is not proven.
    pub first: Option<u64>,
    /// The months (`YYYY-MM`) of the first and the last line.
    pub span: Option<(String, String)>,
    /// The last line up to which everything holds.
    pub head: Option<Head>,
    /// Inlined messages whose signature holds.
    pub signed: u64,
    /// Inlined messages whose certificate stands in a file that was not given.
    pub uncertified: u64,
    /// Lines about messages that are not inlined: unproven input, withheld bodies, copies.
    pub skipped: u64,
    /// Approvals and pauses that stand under the root key of the agent's own person.
    pub decisions: u64,
    /// Torn tails that were set aside.
    pub recoveries: u64,
    /// Checkpoints that hold.
    pub checkpoints: u64,
    /// The last line that a checkpoint covers.
    pub proven: Option<Head>,
    /// The months (`YYYY-MM`), or files, whose first line names no key for checkpoints.
    pub unpromised: Vec<String>,
    /// What the logs of peers, given too, remember of this one.
    pub witnesses: Vec<Witness>,
    /// Its own messages that were signed while its clock was wrong, if any.
    pub wrong_clock: Option<WrongClock>,
    /// Whether contents and signatures were left out.
    pub links_only: bool,
    /// What is wrong; as many as were asked for.
    pub faults: Vec<LogFault>,
    /// How many faults more there are.
    pub left_out: u64,
    /// What a reader should know and is no fault.
    pub notes: Vec<String>,
    /// How many faults are told one by one.
    pub(super) most: usize,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFault {
    /// In which file.
    pub file: PathBuf,
    /// In which line of it, from 1; 0 for what is wrong with the whole log.
    pub line: u64,
    /// The `seq` that the line claims, if it can be read.
    pub seq: Option<u64>,
    /// What is wrong.
    pub what: String,
}

/// Messages that a log's own agent signed outside the dates of its certificate: its clock was wrong, or
/// its certificate had run out. Their signatures hold, and nothing was changed since: no tampering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongClock {
    /// How many.
    pub count: u64,
    /// The `seq` of the first of them.
    pub first: Option<u64>,
    /// The time that the first of them bears.
    pub signed_at: Timestamp,
}

/// A peer whose log remembers a head of this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Whose log it is.
    pub agent: AgentId,
    /// The newest line that it remembers.
    pub head: Head,
}

/// The most notes of a log that are told.
const NOTES: usize = 100;

impl VerifyReport {
    /// Whether everything was read and no fault found.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.unreadable.is_empty() && !self.is_tampered()
    }

    /// Whether something was read that does not hold.
    #[must_use]
    pub fn is_tampered(&self) -> bool {
        let logs = self.logs.iter().any(|log| !log.faults.is_empty());
        logs || self.bundles.iter().any(|bundle| !bundle.faults.is_empty())
    }

    /// The report as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "holds": self.holds(),
            "sentence": self.headline(),
            "logs": self.logs.iter().map(LogReport::to_json).collect::<Vec<_>>(),
            "bundles": self.bundles.iter().map(BundleReport::to_json).collect::<Vec<_>>(),
            "unreadable": self.unreadable.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.headline())?;
        for log in &self.logs {
            log.faults
                .iter()
                .try_for_each(|fault| writeln!(f, "{fault}"))?;
            write_more(f, log.left_out)?;
            log.notes
                .iter()
                .try_for_each(|note| writeln!(f, "note: {}", printable(note)))?;
            log.wrong_clock
                .iter()
                .try_for_each(|found| writeln!(f, "{found}"))?;
            writeln!(f, "{}", log.sentence())?;
        }
        self.bundles.iter().try_for_each(|bundle| bundle.fmt(f))?;
        self.unreadable
            .iter()
            .try_for_each(|error| writeln!(f, "cannot read {}", printable(&error.to_string())))
    }
}

impl LogReport {
    /// What people's decisions in the log rest on, where it is worth telling.
    pub(super) fn take_decisions(&mut self, decisions: &DraftDecisions) {
        self.decisions = decisions.proven;
        if decisions.untied > 0 {
            self.note(format!(
                "{} of the person cannot be tied to the root key: the log's first line, which names it, was not given",
                counted(decisions.untied, "decision")
            ));
        }
        if decisions.unasked > 0 {
            self.note(format!(
                "{} left without approval although drafts of that tier asked for it before: for which tiers the person wanted to be asked then does not stand in the log",
                counted(decisions.unasked, "message")
            ));
        }
    }

    /// What holds, and up to where, in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let name = match &self.agent {
            Some(agent) => agent.to_string(),
            None => printable(&self.name.to_string_lossy()).into_owned(),
        };
        let upto = match &self.head {
            Some(head) => format!("seq {}, head {}", head.seq, head.hash.to_hex()),
            None => "no line at all".to_owned(),
        };
        match (self.faults.len() as u64 + self.left_out, self.lines) {
            (0, 0) => format!("{name}: the log has no line."),
            (0, lines) => format!(
                "{name}: the log holds from seq {}{} to {upto}: {} in {}, {}{}{}; {}.",
                self.first.unwrap_or_default(),
                match self.is_partial() {
                    true => " (what stands before it was not given and is not proven)",
                    false => "",
                },
                counted(lines, "line"),
                counted(self.files, "file"),
                if self.links_only {
                    "signatures not looked at".to_owned()
                } else {
                    counted(self.signed, "signature")
                },
                Self::part(
                    self.uncertified,
                    "message",
                    "whose certificate stands in an earlier file"
                ),
                Self::part(self.skipped, "line", "without a message to prove"),
                self.proof(),
            ),
            (faults, lines) => {
                format!(
                    "{name}: TAMPERED OR DAMAGED: {} in {}; the log holds up to {upto}.",
                    counted(faults, "fault"),
                    counted(lines, "line")
                )
            }
        }
    }

    /// Which checkpoints and which peers' logs prove that the lines were not changed, and up to which line.
    fn proof(&self) -> String {
        let own = match (&self.proven, self.unpromised.is_empty()) {
            (Some(head), true) => format!("proven by its own checkpoints up to seq {}", head.seq),
            (Some(head), false) => format!(
                "proven by its own checkpoints up to seq {}, but for {}, where there are none",
                head.seq,
                printable(&self.unpromised.join(", "))
            ),
            (None, true) if !self.unpromised_only() => {
                "proven by its chain alone, for it has no checkpoint yet".to_owned()
            }
            (None, _) => "proven by its chain alone, without checkpoints".to_owned(),
        };
        let seen = |witness: &Witness| {
            format!(
                "by the heads that {} logged up to seq {}",
                witness.agent, witness.head.seq
            )
        };
        let peers: Vec<String> = self.witnesses.iter().map(seen).collect();
        match peers.is_empty() {
            true if self.links_only => format!("{own}, and what peers logged not looked at"),
            false => format!("{own}, and {}", peers.join(", and ")),
            true if self.proven.is_some() => format!(
                "{own}, and by no peer's head: an older state of it, or another version, would look the same"
            ),
            true => format!(
                "{own}, and by no peer's head: cut off at its end or written anew, it would look the same"
            ),
        }
    }

    fn unpromised_only(&self) -> bool {
        self.unpromised.len() as u64 == self.files
    }

    /// Notes a fault: another copy of this log differs from it at line `seq`.
    pub(super) fn accuse(&mut self, files: &[PathBuf], seq: u64, others: &[PathBuf]) {
        let other = others.last().map(|file| file.display().to_string());
        self.add(LogFault {
            file: files.last().cloned().unwrap_or_default(),
            line: 0,
            seq: Some(seq),
            what: format!(
                "the line is another one in {}, which is a log of the same agent: there are two versions",
                other.unwrap_or_default()
            ),
        });
    }

    /// A peer's log remembers heads that this one does not have.
    pub(super) fn refute(&mut self, files: &[PathBuf], witness: &str, seqs: &[u64], count: u64) {
        let told: Vec<String> = seqs.iter().map(u64::to_string).collect();
        let lines = told.join(", ");
        let name = if count == 1 { "names" } else { "name" };
        let more = if count > seqs.len() as u64 {
            " and more"
        } else {
            ""
        };
        self.add(LogFault {
            file: files.last().cloned().unwrap_or_default(),
            line: 0,
            seq: None,
            what: format!(
                "{} that this agent signed and {witness} logged (its seq {lines}{more}) {name} no line of this log: lines were cut off or written anew, or this is an older copy or another version",
                counted(count, "head")
            ),
        });
    }

    /// Whether the first line given is not the first of the log.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.first.is_some_and(|first| first != 1)
    }

    /// A directory holds a log from its first line on: what is not there is missing.
    pub(super) fn demand_beginning(&mut self, files: &[PathBuf]) {
        if let (true, Some(file)) = (self.is_partial(), files.first()) {
            let what = "the log's first months are missing; name the files that are there one by one to \
                        prove them without";
            self.add(LogFault {
                file: file.clone(),
                line: 1,
                seq: self.first,
                what: what.to_owned(),
            });
        }
    }

    pub(super) fn add(&mut self, fault: LogFault) {
        if self.faults.len() < self.most {
            self.faults.push(fault);
        } else {
            self.left_out += 1;
        }
    }

    /// A message of its own that its certificate did not cover when it was signed.
    pub(super) fn note_wrong_clock(&mut self, seq: Option<u64>, message: &Message) {
        let found = self.wrong_clock.get_or_insert(WrongClock {
            count: 0,
            first: seq,
            signed_at: message.headers.timestamp,
        });
        found.count += 1;
    }

    pub(super) fn note(&mut self, note: String) {
        if self.notes.len() < NOTES {
            self.notes.push(note);
        }
    }

    fn part(count: u64, thing: &str, more: &str) -> String {
        match count {
            0 => String::new(),
            count => format!(", {} {more}", counted(count, thing)),
        }
    }

    fn to_json(&self) -> Value {
        let fault = |fault: &LogFault| {
            let file = fault.file.to_string_lossy();
            json!({"file": file, "line": fault.line, "seq": fault.seq, "what": fault.what})
        };
        let head = |head: Head| json!({"seq": head.seq, "sha256": head.hash.to_hex()});
        let witness = |witness: &Witness| json!({"agent": witness.agent.as_str(), "head": head(witness.head)});
        json!({
            "log": self.name.to_string_lossy(),
            "agent": self.agent.as_ref().map(AgentId::as_str),
            "files": self.files,
            "lines": self.lines,
            "first": self.first,
            "head": self.head.map(head),
            "signatures": self.signed,
            "uncertified": self.uncertified,
            "skipped": self.skipped,
            "decisions": self.decisions,
            "recoveries": self.recoveries,
            "checkpoints": self.checkpoints,
            "proven": self.proven.map(head),
            "months-without-key": self.unpromised,
            "witnesses": self.witnesses.iter().map(witness).collect::<Vec<_>>(),
            "wrong-clock": self.wrong_clock.map(WrongClock::to_json),
            "links-only": self.links_only,
            "faults": self.faults.iter().map(fault).collect::<Vec<_>>(),
            "faults-left-out": self.left_out,
            "notes": self.notes,
            "sentence": self.sentence(),
        })
    }
}

impl WrongClock {
    fn to_json(self) -> Value {
        json!({"count": self.count, "first": self.first, "signed-at": self.signed_at.to_string()})
    }
}

impl fmt::Display for WrongClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "wrong clock: {} of this agent's own, the first in seq {} at {}, signed outside the dates of its \
             certificate: the clock was wrong then, or the certificate had run out. The signatures hold and \
             nothing was changed; peers refused them",
            counted(self.count, "message"),
            self.first.unwrap_or_default(),
            self.signed_at,
        )
    }
}

impl fmt::Display for LogFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.to_string_lossy();
        write!(f, "{}", printable(&file))?;
        // Leave out the line number 0, which stands for the log as a whole: a reader would look for such a line.
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        if let Some(seq) = self.seq {
            write!(f, ", seq {seq}")?;
        }
        write!(f, ": {}", printable(&self.what))
    }
}
