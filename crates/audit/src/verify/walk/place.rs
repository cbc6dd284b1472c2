//! Where a line stands: in its month, at the start or end of its file, and beside the files it names.

use std::path::Path;

use signet_proto::ids::Digest;
use signet_proto::time::Timestamp;

use super::Walk;
use crate::file::{measure, month_of};
use crate::frame::LineFrame;
use crate::record::Mark;

impl Walk<'_, '_> {
    pub(super) fn prove_place(&mut self, frame: &LineFrame, faults: &mut Vec<String>) {
        let in_month = self.lies_in_month(frame.ts);
        let mut fault = |what: &str| faults.push(what.to_owned());
        if !in_month {
            fault(OTHER_MONTH);
        }
        let first = if frame.seq == 1 {
            Mark::GENESIS
        } else {
            Mark::OPEN
        };
        let is_beginning = [Mark::OPEN, Mark::GENESIS].contains(&frame.kind.as_str());
        match self.before.as_deref() {
            None if frame.kind != first => {
                fault("a file starts with `open`, and the first of all with `genesis`");
            }
            Some(_) if is_beginning => {
                fault("`genesis` and `open` stand only at the start of a file");
            }
            Some(Mark::CLOSE) => fault("no line of a file stands behind its `close`"),
            _ => {}
        }
    }

    /// Most lines are of the same day as the one before.
    pub(super) fn lies_in_month(&mut self, ts: Timestamp) -> bool {
        let day = ts.as_millis().div_euclid(DAY);
        if self.day != Some(day) {
            let month = month_of(&self.file);
            if month.is_some_and(|month| ts.month() != month) {
                return false;
            }
            self.day = Some(day);
        }
        true
    }

    pub(super) fn prove_mark(&mut self, frame: &LineFrame, mark: &Mark, faults: &mut Vec<String>) {
        match mark {
            Mark::Open { previous, hash } => {
                if *hash != frame.prev {
                    faults.push("`sha256` of `open` is not its `prev`".to_owned());
                }
                let given = self.previous.as_deref().and_then(Path::file_name);
                if given.is_some_and(|given| given != previous.as_str()) {
                    faults.push(
                        "the file that `open` names as the one before was not given, or is missing"
                            .to_owned(),
                    );
                }
            }
            Mark::Recovery { file, bytes, hash } => {
                faults.extend(self.prove_recovery(file, *bytes, *hash));
            }
            Mark::Close => {}
        }
    }

    /// The torn bytes need not be kept; if they are, they must be those that were recorded.
    fn prove_recovery(&mut self, name: &str, bytes: u64, hash: Digest) -> Option<String> {
        self.report.recoveries += 1;
        // A forged name such as `../../file` must not lead out of the log's folder.
        let is_plain = Path::new(name)
            .file_name()
            .is_some_and(|plain| plain == name);
        let torn = self.file.with_file_name(name);
        if !is_plain {
            return Some("`file` of `recovery` is not a plain file name".to_owned());
        }
        match measure(&torn) {
            Ok(found) if found != (bytes, hash) => {
                return Some("the torn bytes set aside are not those recorded".to_owned());
            }
            Ok(_) => {}
            Err(_) => self.report.note(format!(
                "{}: not there, and so not compared",
                torn.display()
            )),
        }
        None
    }
}

pub(super) const OTHER_MONTH: &str = "`ts` lies in another month than the file name says";
/// In milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
