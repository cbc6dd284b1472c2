//! An agent's log: what is durable, and what is written and not yet durable.

use std::collections::VecDeque;
use std::sync::Arc;

use signet_proto::entry::Entry;
use signet_proto::ids::Digest;
use signet_proto::node::{Effect, Outcome};
use signet_proto::time::Timestamp;

use crate::household::net::Dice;
use crate::household::reread;

/// One line, as it was read back from its own text.
pub struct Line {
    pub ts: Timestamp,
    pub entry: Entry,
    pub hash: Digest,
}

/// What is written at once, and what it allows.
pub struct Group {
    pub due: i64,
    pub lines: Vec<Arc<Line>>,
    pub effects: Vec<Effect>,
    /// The places in the mailbox that it took its input from.
    pub taken: Vec<u64>,
}

#[derive(Default)]
pub struct Disk {
    pub durable: Vec<Arc<Line>>,
    pub pending: VecDeque<Group>,
}

impl Disk {
    /// A line's time is never earlier than that of the one before it, whatever the clock says.
    pub fn write(&mut self, now: Timestamp, due: i64, outcome: Outcome, taken: Vec<u64>) -> i64 {
        let mut ts = self.lines().last().map_or(now, |last| last.ts.max(now));
        let mut lines = Vec::new();
        for entry in &outcome.entries {
            ts = ts.max(now);
            let mut text = Vec::new();
            entry.write(&mut text);
            let entry = reread(entry);
            let hash = Digest::of(&[&text]);
            lines.push(Arc::new(Line { ts, entry, hash }));
        }
        let due = self.pending.back().map_or(due, |last| last.due.max(due));
        self.pending.push_back(Group {
            due,
            lines,
            effects: outcome.effects,
            taken,
        });
        due
    }

    /// The next group whose time has come; its lines are durable now.
    pub fn sync(&mut self, now: i64) -> Option<Group> {
        self.pending.front().filter(|group| group.due <= now)?;
        let group = self.pending.pop_front()?;
        self.durable.extend(group.lines.iter().cloned());
        Some(group)
    }

    /// Everything, durable or not.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &Arc<Line>> {
        let pending = self.pending.iter().flat_map(|group| &group.lines);
        self.durable.iter().chain(pending)
    }

    pub fn head(&self) -> Option<Digest> {
        self.durable.last().map(|line| line.hash)
    }

    /// The power goes: of what was not durable a part from the front may have reached the disk, and
    /// of what that allowed a part may have been done.
    pub fn crash(&mut self, dice: &mut Dice) -> Vec<Effect> {
        let written: usize = self.pending.iter().map(|group| group.lines.len()).sum();
        let mut kept = dice.below(written as u64 + 1) as usize;
        let mut done = Vec::new();
        let mut performing = true;
        for group in self.pending.drain(..) {
            let lines = group.lines.len();
            self.durable.extend(group.lines.into_iter().take(kept));
            if lines > kept {
                break;
            }
            kept -= lines;
            if performing {
                let all = group.effects.len();
                let some = (dice.below(2 * all as u64 + 1) as usize).min(all);
                done.extend(group.effects.into_iter().take(some));
                performing = some == all;
            }
        }
        done
    }
}
