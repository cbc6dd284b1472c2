//! One log, line by line.

use std::path::{Path, PathBuf};

use signet_proto::entry::{Direction, Entry, Evidence, HandoffLine, TaskChange, Verdict};
use signet_proto::ids::Digest;

use super::agreement::{contradictions, forged_member};
use super::authority::{Authority, Proof};
use super::report::{Fault, LogReport};
use crate::chain::{Head, Tip};
use crate::error::LogError;
use crate::file::{measure, month_of};
use crate::read::{RawLine, RawLines};
use crate::record::{Frame, Line, Mark};

pub(super) struct Walk {
    report: LogReport,
    authority: Authority,
    tip: Option<Tip>,
    /// The two last lines without a fault, the newer one second.
    sound: [Option<Head>; 2],
    file: PathBuf,
    previous: Option<PathBuf>,
    place: u64,
    /// The kind of the line before in this file.
    before: Option<String>,
}

impl Walk {
    /// Reads all `files` of one log, oldest first.
    pub(super) fn over(name: PathBuf, files: &[PathBuf]) -> Result<LogReport, LogError> {
        let mut walk = Self {
            report: LogReport {
                name,
                ..LogReport::default()
            },
            authority: Authority::default(),
            tip: None,
            sound: [None; 2],
            file: PathBuf::new(),
            previous: None,
            place: 0,
            before: None,
        };
        for (index, file) in files.iter().enumerate() {
            walk.read(file, index + 1 == files.len())?;
        }
        walk.report.agent = walk.authority.me().cloned();
        Ok(walk.report)
    }

    fn read(&mut self, file: &Path, is_last: bool) -> Result<(), LogError> {
        let mut lines = RawLines::open(file)?;
        self.previous = Some(std::mem::replace(&mut self.file, file.to_owned()))
            .filter(|_| self.report.files > 0);
        self.report.files += 1;
        self.before = None;
        loop {
            let next = lines.next_line()?;
            self.place = lines.number;
            match next {
                RawLine::Whole(raw) => self.follow(raw),
                RawLine::TooLong => self.skip(
                    Digest([0; 32]),
                    "the line is over 2 MiB, longer than a log writes",
                ),
                RawLine::Torn(bytes) if is_last => {
                    break self.report.note(format!(
                        "{}: {bytes} bytes after the last newline are no line yet: the log is being written, or a crash tore them",
                        file.display()
                    ));
                }
                RawLine::Torn(_) => break self.fault(
                    None,
                    "behind this line the file ends within a line, and yet another file follows",
                ),
                RawLine::End => break,
            }
        }
        if !is_last && self.before.as_deref() != Some(Mark::CLOSE) {
            self.fault(
                None,
                "the file does not end with `close`, and yet another file follows",
            );
        }
        Ok(())
    }

    fn follow(&mut self, raw: Vec<u8>) {
        let hash = Digest::of(&[&raw]);
        let line = match Line::parse(raw) {
            Ok(line) => line,
            Err(error) => return self.skip(hash, &error.to_string()),
        };
        self.prove_link(&line);
        self.prove_place(&line);
        self.prove_content(&line);
        self.before = Some(line.kind.clone());
        self.tip = Some(Tip {
            seq: line.seq,
            hash,
            ts: line.ts,
        });
        self.report.lines += 1;
        self.report.first.get_or_insert(line.seq);
        if self.report.faults.is_empty() {
            self.sound = [
                self.sound[1],
                Some(Head {
                    seq: line.seq,
                    hash,
                }),
            ];
            self.report.head = self.sound[1];
        }
    }

    /// A line that cannot be read still has a hash, and a place in the order.
    fn skip(&mut self, hash: Digest, what: &str) {
        self.fault(None, what);
        self.report.lines += 1;
        self.before = Some(String::new());
        self.tip = self.tip.map(|tip| Tip {
            seq: tip.seq + 1,
            hash,
            ts: tip.ts,
        });
    }

    fn prove_link(&mut self, line: &Line) {
        let frame = Frame {
            seq: line.seq,
            ts: line.ts,
            prev: line.prev,
            kind: String::new(),
        };
        let before = self.tip.or((line.seq == 1).then_some(Tip::NONE));
        let Some(what) = before.and_then(|tip| tip.misfit(&frame)) else {
            return;
        };
        if self.report.faults.is_empty() {
            // Either of the two may be the one that was changed.
            self.report.head = self.sound[0];
        }
        self.fault(
            Some(line.seq),
            &format!("{what}: it, or the line before, was changed, removed, moved or put in"),
        );
    }

    fn prove_place(&mut self, line: &Line) {
        let seq = Some(line.seq);
        if month_of(&self.file).is_some_and(|month| line.ts.month() != month) {
            self.fault(seq, "`ts` lies in another month than the file name says");
        }
        let first = if line.seq == 1 { "genesis" } else { Mark::OPEN };
        let is_beginning = [Mark::OPEN, "genesis"].contains(&line.kind.as_str());
        match self.before.as_deref() {
            None if line.kind != first => self.fault(
                seq,
                "a file starts with `open`, and the first of all with `genesis`",
            ),
            Some(_) if is_beginning => self.fault(
                seq,
                "`genesis` and `open` stand only at the start of a file",
            ),
            Some(Mark::CLOSE) => self.fault(seq, "no line of a file stands behind its `close`"),
            _ => {}
        }
    }

    fn prove_content(&mut self, line: &Line) {
        let seq = Some(line.seq);
        if let Some(what) = forged_member(line) {
            self.fault(seq, &what);
        }
        match (&line.entry, &line.mark) {
            (Some(Entry::Genesis(own)), _) => self.authority.begin(own),
            (Some(Entry::Trust(change, certificate)), _) => {
                if let Err(what) = self.authority.pin(*change, certificate) {
                    self.fault(seq, what);
                }
            }
            (Some(Entry::Revoked(revocation)), _) => {
                if let Err(what) = self.authority.admit_revocation(revocation) {
                    self.fault(seq, what);
                }
            }
            (Some(Entry::Message(verdict)), _) => self.prove_verdict(line.seq, verdict),
            (Some(Entry::Handoff(handoff)), _) => self.prove_handoff(line.seq, handoff),
            (None, Some(Mark::Open { previous, hash })) => self.prove_open(line, previous, *hash),
            (None, Some(Mark::Recovery { file, bytes, hash })) => {
                self.prove_recovery(line.seq, file, (*bytes, *hash))
            }
            _ => {}
        }
    }

    fn prove_verdict(&mut self, seq: u64, verdict: &Verdict) {
        for what in contradictions(verdict, self.authority.me()) {
            self.fault(Some(seq), what);
        }
        let Evidence::Whole(message) = &verdict.evidence else {
            self.report.skipped += 1;
            return;
        };
        match self.authority.prove(message) {
            Proof::Signed => self.report.signed += 1,
            Proof::Uncertified if self.report.is_partial() => self.report.uncertified += 1,
            Proof::Uncertified => self.fault(
                Some(seq),
                "no line before certifies the key that signed the message",
            ),
            Proof::Forged(what) => self.fault(Some(seq), what),
        }
    }

    /// Every mandate and every certificate of a chain bears its proof in itself.
    fn prove_handoff(&mut self, seq: u64, line: &HandoffLine) {
        let TaskChange::Offered(offered) = &line.change else {
            return;
        };
        if offered.chain.prove().is_err() {
            self.fault(
                Some(seq),
                "the chain of mandates does not hold: a signature or a link is wrong, or a step is wider than the one before",
            );
        }
        let last = offered.chain.last();
        let (from, to) = (Some(&last.from), Some(&last.to));
        let (me, peer) = (self.authority.me(), Some(&line.peer));
        let ours = match line.direction {
            Direction::In => peer == from && (me.is_none() || me == to),
            Direction::Out => peer == to && (me.is_none() || me == from),
        };
        if !ours {
            self.fault(
                Some(seq),
                "the last mandate is not between this agent and the line's peer",
            );
        }
    }

    fn prove_open(&mut self, line: &Line, previous: &str, hash: Digest) {
        if hash != line.prev {
            self.fault(Some(line.seq), "`sha256` of `open` is not its `prev`");
        }
        let given = self.previous.as_deref().and_then(Path::file_name);
        if given.is_some_and(|given| given != previous) {
            self.fault(
                Some(line.seq),
                "the file that `open` names as the one before was not given, or is missing",
            );
        }
    }

    /// The torn bytes need not be kept; if they are, they must be those that were recorded.
    fn prove_recovery(&mut self, seq: u64, name: &str, recorded: (u64, Digest)) {
        self.report.recoveries += 1;
        let is_plain = Path::new(name)
            .file_name()
            .is_some_and(|plain| plain == name);
        let torn = self.file.with_file_name(name);
        if !is_plain {
            return self.fault(Some(seq), "`file` of `recovery` is not a plain file name");
        }
        match measure(&torn) {
            Ok(found) if found != recorded => {
                self.fault(Some(seq), "the torn bytes set aside are not those recorded")
            }
            Ok(_) => {}
            Err(_) => self.report.note(format!(
                "{}: not there, and so not compared",
                torn.display()
            )),
        }
    }

    fn fault(&mut self, seq: Option<u64>, what: &str) {
        self.report.add(Fault {
            file: self.file.clone(),
            line: self.place,
            seq,
            what: what.to_owned(),
        });
    }
}
