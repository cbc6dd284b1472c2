//! The lines of a file in batches: examined and proven on every core while others are read, and followed and concluded in
//! their order between.
//!
//! ```text
//! read ── examine ── follow ── prove ── conclude
//!         any core             any core           all others: one thread, line after line
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use signet_proto::keys::KeyTables;

use super::Walk;
use crate::error::LogError;
use crate::read::{RawLine, RawLines};
use crate::verify::Depth;
use crate::verify::batch::{LineBatch, take_batch};
use crate::verify::examine::{Examined, examine};
use crate::verify::parallel::{CorePool, with_pool};
use crate::verify::prove::{FollowedLine, Proof, prove};

/// The batches that the workers have, in the order in which they got them.
struct Underway<'w, 'env> {
    pool: &'w CorePool<'env>,
    batches: VecDeque<BatchAtWork>,
    /// The cost of all of them, in bytes.
    cost: usize,
}

struct BatchAtWork {
    stage: Stage,
    cost: usize,
    read: u64,
}

enum Stage {
    Examined(Receiver<Vec<Examined>>),
    Proven(Receiver<Vec<(FollowedLine, Proof)>>),
}

impl Walk<'_, '_> {
    /// Proves `lines` to the end of the file, and gives what ends it. With an error, all lines before it are concluded.
    ///
    /// Each batch is given to the workers twice, and they take what they are given in that order: so what was given first is
    /// waited for first. Concluding a line changes nothing that following another one looks at, so it does not matter how
    /// many batches are concluded when the next is followed.
    pub(super) fn read_lines(&mut self, lines: &mut RawLines) -> Result<RawLine, LogError> {
        let depth = self.depth;
        let tables = Arc::clone(&self.tables);
        let tables = &*tables;
        with_pool(|pool| {
            let mut underway = Underway::of(pool);
            let mut end = None;
            loop {
                while end.is_none() && underway.has_room() {
                    let taken = take_batch(lines);
                    end = match taken {
                        Ok((batch, end)) => {
                            underway.examine(batch, depth);
                            end.map(Ok)
                        }
                        Err(error) => Some(Err(error)),
                    };
                }
                let Some(BatchAtWork { stage, cost, read }) = underway.batches.pop_front() else {
                    break;
                };
                match stage {
                    Stage::Examined(result) => {
                        // A worker that panicked gives no result; `with_pool` passes its panic on.
                        let Ok(examined) = result.recv() else { break };
                        let (followed, done) = self.follow_all(examined);
                        if let Err(error) = done {
                            underway.forget_examined();
                            end = Some(Err(error));
                        }
                        underway.prove(followed, tables, cost, read);
                    }
                    Stage::Proven(result) => {
                        let Ok(proven) = result.recv() else { break };
                        for (line, proof) in proven {
                            self.conclude(line, proof);
                        }
                        self.progress.advance(read);
                        underway.cost -= cost;
                    }
                }
            }
            end.unwrap_or(Ok(RawLine::End))
        })
    }

    fn follow_all(&mut self, lines: Vec<Examined>) -> (Vec<FollowedLine>, Result<(), LogError>) {
        let mut followed = Vec::with_capacity(lines.len());
        for line in lines {
            match self.follow(line) {
                Ok(line) => followed.push(line),
                Err(error) => return (followed, Err(error)),
            }
        }
        (followed, Ok(()))
    }
}

impl<'w, 'env> Underway<'w, 'env> {
    fn of(pool: &'w CorePool<'env>) -> Self {
        Self {
            pool,
            batches: VecDeque::new(),
            cost: 0,
        }
    }

    fn has_room(&self) -> bool {
        self.cost < IN_MEMORY * self.pool.threads
    }

    fn examine(&mut self, batch: LineBatch, depth: Depth) {
        let LineBatch { lines, cost, read } = batch;
        let work = move || lines.into_iter().map(|line| examine(line, depth)).collect();
        let stage = Stage::Examined(self.pool.begin(work));
        self.cost += cost;
        self.batches.push_back(BatchAtWork { stage, cost, read });
    }

    /// Lines behind an error are not looked at: drops the batches that are not followed yet.
    fn forget_examined(&mut self) {
        self.batches
            .retain(|batch| matches!(batch.stage, Stage::Proven(_)));
    }

    fn prove(&mut self, lines: Vec<FollowedLine>, tables: &'env KeyTables, cost: usize, read: u64) {
        let work = move || lines.into_iter().map(|line| prove(line, tables)).collect();
        let stage = Stage::Proven(self.pool.begin(work));
        self.batches.push_back(BatchAtWork { stage, cost, read });
    }
}

/// Bytes of lines, for each core, that are read and not yet concluded.
const IN_MEMORY: usize = 256 * 1024;
