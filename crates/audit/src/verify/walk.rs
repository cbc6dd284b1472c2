//! One log, line by line: in batches, whose lines are examined and proven on every core, and followed in
//! their order between.

mod conclude;
mod lines;
mod links;
mod place;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use signet_proto::entry::{Claim, Direction, Entry, Evidence, Ruling, TrustLine, Verdict};
use signet_proto::keys::{KeyTables, TableBudget};
use signet_text::counted;

use super::agreement::prove_parties;
use super::authority::KnownTrust;
use super::decisions::DraftDecisions;
use super::examine::{Examined, LineContent, UnreadLine};
use super::month::MonthCheckpoints;
use super::prove::{FollowedLine, ProofWork};
use super::repeats::Repeats;
use super::report::LogReport;
use super::witness::{RecentLines, Testimony, WalkTelling};
use super::{Depth, ProgressFn, Settings};
use crate::chain::{Head, Tip};
use crate::claim::ClaimTeller;
use crate::error::{LogError, RecordError, unread};
use crate::file::month_of;
use crate::frame::LineFrame;
use crate::read::{RawLine, RawLines};
use crate::record::Mark;

pub(super) struct Walk<'a, 'p> {
    depth: Depth,
    progress: &'a mut ProgressFn<'p>,
    report: LogReport,
    authority: KnownTrust,
    /// Tables of the keys of certificates that the log made known.
    tables: Arc<KeyTables>,
    tip: Option<Tip>,
    first: Option<u64>,
    /// The two last lines without a fault, the newer one second.
    sound: [Option<Head>; 2],
    file: PathBuf,
    previous: Option<PathBuf>,
    /// The kind of the line before in this file.
    before: Option<String>,
    month: MonthCheckpoints,
    /// A day that lies in the file's month.
    day: Option<i64>,
    recent: RecentLines,
    repeats: Repeats,
    decisions: DraftDecisions,
    testimony: Option<Testimony>,
    teller: Option<ClaimTeller>,
}

impl<'a, 'p> Walk<'a, 'p> {
    /// Reads all `files` of one log, oldest first. What it can say about other logs, and be asked by
    /// them, is kept as `telling` says.
    pub(super) fn over(
        name: PathBuf,
        files: &[PathBuf],
        telling: WalkTelling,
        settings: Settings,
        progress: &'a mut ProgressFn<'p>,
    ) -> Result<(LogReport, Option<Testimony>), LogError> {
        let (testimony, teller) = match telling {
            WalkTelling::Nothing => (None, None),
            WalkTelling::Testimony => (Some(Testimony::default()), None),
            WalkTelling::Claims(teller) => (None, Some(teller)),
        };
        let mut walk = Self {
            depth: settings.depth,
            progress,
            report: LogReport {
                name,
                links_only: settings.depth == Depth::Links,
                most: settings.findings,
                ..LogReport::default()
            },
            authority: KnownTrust::default(),
            tables: Arc::new(KeyTables::new(TableBudget::STANDARD)),
            tip: None,
            first: None,
            sound: [None; 2],
            file: PathBuf::new(),
            previous: None,
            before: None,
            month: MonthCheckpoints::default(),
            day: None,
            recent: RecentLines::default(),
            repeats: Repeats::default(),
            decisions: DraftDecisions::default(),
            testimony,
            teller,
        };
        for (index, file) in files.iter().enumerate() {
            match walk.read(file, index + 1 == files.len()) {
                // A line of a newer version ends the reading. Report the faults found before it all the same: otherwise
                // a forged `v` would hide them.
                Err(newer @ LogError::Newer { .. }) if !walk.report.faults.is_empty() => {
                    let place = walk.report.lines;
                    walk.fault(place, None, &format!("behind this line, {newer}"));
                    break;
                }
                done => done?,
            }
        }
        walk.report.agent = walk.authority.me().cloned();
        walk.report.take_decisions(&walk.decisions);
        if walk.before.as_deref() == Some(Mark::CLOSE) {
            // This is a note and no fault: a crash or a full disk may have stopped the daemon between `close` and the
            // next file.
            walk.report.note(format!(
                "{}: it ends with `close`, and the next month's file is not there: not begun yet, or taken away",
                walk.file.display()
            ));
        }
        Ok((walk.report, walk.testimony))
    }

    fn read(&mut self, file: &Path, is_last: bool) -> Result<(), LogError> {
        self.month = MonthCheckpoints::beside(file)?;
        self.previous = Some(std::mem::replace(&mut self.file, file.to_owned()))
            .filter(|_| self.report.files > 0);
        self.report.files += 1;
        (self.before, self.day) = (None, None);
        let mut lines = match self.depth {
            Depth::Links => self.read_links(file)?,
            Depth::Signatures => RawLines::open(file)?,
        };
        match self.read_lines(&mut lines)? {
            RawLine::Torn(bytes) if is_last => {
                self.report.note(format!(
                    "{}: {} after the last newline are no line yet: the log is being written, or a crash tore them",
                    file.display(),
                    counted(bytes, "byte")
                ));
            }
            RawLine::Torn(_) => self.fault(
                lines.number,
                None,
                "behind this line the file ends within a line, and yet another file follows",
            ),
            _ => {}
        }
        if !is_last && self.before.as_deref() != Some(Mark::CLOSE) {
            self.fault(
                lines.number,
                None,
                "the file does not end with `close`, and yet another file follows",
            );
        }
        self.conclude_month(lines.number, is_last)
    }

    fn conclude_month(&mut self, place: u64, is_last: bool) -> Result<(), LogError> {
        if let Some(what) = self.month.conclude(is_last)? {
            self.fault(place, None, &what);
        }
        if let (Some((_, to)), Some(tip)) = (&mut self.report.span, &self.tip) {
            *to = tip.ts.month();
        }
        self.report.checkpoints += self.month.count;
        self.report.proven = self.month.proven.or(self.report.proven);
        if !self.month.is_promised() {
            let name = self.file.file_name().unwrap_or_default().to_string_lossy();
            let name = month_of(&self.file).map_or(name, std::borrow::Cow::Borrowed);
            self.report.unpromised.push(name.into_owned());
        }
        Ok(())
    }

    fn follow(&mut self, line: Examined) -> Result<FollowedLine, LogError> {
        let mut followed = FollowedLine {
            place: line.place,
            seq: None,
            hash: line.hash,
            misfit: false,
            told: None,
            faults: Vec::new(),
            work: ProofWork::Unreadable,
        };
        match line.read {
            Ok(content) => self.follow_content(content, &mut followed),
            Err(UnreadLine::Record(newer @ RecordError::Newer(_))) => {
                return Err(unread(&self.file, line.place, newer));
            }
            // Pass on the hash even of an unreadable line, so that the `prev` of the next line can be compared with it. (A line
            // over 2 MiB has only zeros for a hash: no line's `prev` fits to it.)
            Err(why) => {
                followed.faults.push(match why {
                    UnreadLine::TooLong => {
                        "the line is over 2 MiB, longer than a log writes".to_owned()
                    }
                    UnreadLine::Record(error) => error.to_string(),
                });
                // An unreadable line is a line all the same: without this, the next line would count as the first of its file.
                self.before = Some(String::new());
                self.tip = self.tip.map(|tip| Tip {
                    version: tip.version,
                    seq: tip.seq + 1,
                    hash: line.hash,
                    ts: tip.ts,
                });
            }
        }
        let head = followed.seq.map(|seq| Head {
            seq,
            hash: line.hash,
        });
        let kind = self.before.as_deref().unwrap_or_default();
        let fault = self
            .month
            .follow(line.leaf, kind, head, self.authority.me())?;
        followed.faults.extend(fault);
        Ok(followed)
    }

    fn follow_content(&mut self, content: LineContent, followed: &mut FollowedLine) {
        let frame = &content.frame;
        followed.seq = Some(frame.seq);
        if let Some(what) = self.misfit(frame) {
            followed.misfit = true;
            followed.faults.push(what);
        }
        self.prove_place(frame, &mut followed.faults);
        followed.faults.extend(content.faults);
        if self.before.is_none() {
            self.month.promise(content.checkpoint_key);
        }
        if *self.first.get_or_insert(frame.seq) != 1 {
            self.decisions.begin_within();
        }
        if let Some(testimony) = &mut self.testimony {
            if testimony.lines.is_empty() {
                testimony.first = frame.seq;
                testimony.begins = (frame.seq != 1).then_some(frame.ts);
            }
            testimony.lines.push(followed.hash);
        }
        followed.told = self.tell(frame, content.entry.as_ref());
        followed.work = self.follow_entry(content.entry, &mut followed.faults);
        if let Some(mark) = &content.mark {
            self.prove_mark(&content.frame, mark, &mut followed.faults);
        }
        // Remember the line only now: a message cannot name its own line as head, but later messages can.
        if self.depth == Depth::Signatures {
            self.recent.push(followed.hash);
        }
        let month = || content.frame.ts.month();
        self.report.span.get_or_insert_with(|| (month(), month()));
        self.tip = Some(Tip::at(&content.frame, followed.hash));
        self.before = Some(content.frame.kind);
    }

    fn misfit(&self, frame: &LineFrame) -> Option<String> {
        let before = self.tip.or((frame.seq == 1).then_some(Tip::NONE));
        let what = before.and_then(|tip| tip.misfit(frame))?;
        Some(format!(
            "{what}: it, or the line before, was changed, removed, moved or put in"
        ))
    }

    fn follow_entry(&mut self, entry: Option<Entry>, faults: &mut Vec<String>) -> ProofWork {
        let Some(claim) = entry.and_then(Entry::claim) else {
            return ProofWork::None;
        };
        let done = match claim {
            Claim::Genesis(own) => {
                self.authority.begin(&own);
                if let Some(testimony) = &mut self.testimony {
                    testimony.agent = Some(own.agent);
                }
                Ok(())
            }
            Claim::Trust(TrustLine {
                change,
                certificate,
            }) => self.authority.pin(change, &certificate),
            Claim::Revoked(revocation) => self.authority.admit_revocation(&revocation),
            Claim::Message(verdict) => return self.follow_verdict(verdict, faults),
            Claim::Handoff(handoff) => prove_parties(&handoff, self.authority.me()),
            Claim::Draft(draft) => self.decisions.take_draft(&draft),
            Claim::Approval(line) => self.decisions.take_approval(&line, &self.authority),
            Claim::Pause(said) => self.decisions.take_pause(&said, &self.authority),
            Claim::Outcome(outcome) => {
                self.decisions.take_outcome(&outcome);
                Ok(())
            }
        };
        faults.extend(done.err().map(str::to_owned));
        ProofWork::None
    }

    fn follow_verdict(&mut self, verdict: Verdict, faults: &mut Vec<String>) -> ProofWork {
        let me = self.authority.me().cloned();
        let mut certificate = None;
        if let Evidence::Whole(message) = &verdict.evidence {
            certificate = self.authority.certificate(message);
            let is_partial = self.first.is_some_and(|first| first != 1);
            let head = message
                .headers
                .audit_head
                .filter(|_| verdict.direction == Direction::Out);
            if head.is_some_and(|head| self.recent.refutes(&head, is_partial)) {
                faults.push("the message names as head of this log a line that is not there before it: the log was written anew, or this is not the only copy of it".to_owned());
            }
            let head = head.and_then(|head| self.recent.place(&head));
            let repeated = self.repeats.follow(&verdict, message, head);
            let is_sent = verdict.ruling == Ruling::Sent;
            let undecided = is_sent.then(|| self.decisions.take_sent(message, &self.authority));
            // Report one fault only: the first copy of a repeated message has used up the person's decision, so that the second
            // seems to have gone out without one.
            let found = repeated.or(undecided.flatten());
            faults.extend(found.map(str::to_owned));
        }
        ProofWork::Verdict(Box::new(verdict), certificate, me)
    }
}
