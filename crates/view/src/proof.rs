//! The proof of the logs, made in the background by the very code of `signet audit verify`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use rusqlite::params;
use serde::{Deserialize, Serialize};
use signet_audit::{LogReport, ProgressFn, Settings as Depths, VerifyReport, verify_with};

use crate::ViewError;
use crate::index::{IndexChanges, IndexStore, LogState};
use crate::shared::{locked, now};

/// The findings of a proof of one log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LogProof {
    /// Whether everything holds.
    pub(crate) holds: bool,
    /// Lines that were looked at.
    pub(crate) lines: u64,
    /// Messages whose signature holds.
    pub(crate) signed: u64,
    /// Approvals and pauses under the person's own key.
    pub(crate) decisions: u64,
    /// Checkpoints that hold.
    pub(crate) checkpoints: u64,
    /// The last line that a checkpoint covers.
    pub(crate) covered: Option<u64>,
    /// The line up to which everything holds, and its hash.
    pub(crate) head: Option<(u64, String)>,
    /// Whose logs confirm it, and up to which line.
    pub(crate) witnesses: Vec<(String, u64)>,
    /// The faults: line, and what is wrong.
    pub(crate) faults: Vec<(Option<u64>, String)>,
    /// How much more is wrong.
    pub(crate) more: u64,
    /// Findings that a reader should know and that are no fault.
    pub(crate) notes: Vec<String>,
    /// Messages that were signed while the agent's clock was wrong.
    pub(crate) wrong_clock: u64,
}

impl LogProof {
    fn of(report: &LogReport, unreadable: &[String]) -> Self {
        let faults: Vec<_> = report
            .faults
            .iter()
            .map(|fault| (fault.seq, fault.what.clone()))
            .chain(unreadable.iter().map(|what| (None, what.clone())))
            .collect();
        Self {
            holds: faults.is_empty(),
            lines: report.lines,
            signed: report.signed,
            decisions: report.decisions,
            checkpoints: report.checkpoints,
            covered: report.proven.map(|head| head.seq),
            head: report.head.map(|head| (head.seq, head.hash.to_hex())),
            witnesses: report
                .witnesses
                .iter()
                .map(|witness| (witness.agent.to_string(), witness.head.seq))
                .collect(),
            faults,
            more: report.left_out,
            notes: report.notes.clone(),
            wrong_clock: report.wrong_clock.map_or(0, |found| found.count),
        }
    }
}

/// Makes proofs, one at a time.
pub(crate) struct Proofs {
    store: IndexStore,
    runs: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    total: Arc<AtomicU64>,
    fault: Arc<Mutex<Option<String>>>,
}

impl Proofs {
    pub(crate) fn new(store: &IndexStore) -> Self {
        Self {
            store: store.clone(),
            runs: Arc::default(),
            done: Arc::default(),
            total: Arc::default(),
            fault: Arc::default(),
        }
    }

    /// How far the proof that runs is, in hundredths; `None` where none runs.
    pub(crate) fn progress(&self) -> Option<u64> {
        let (done, total) = (
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        );
        let hundredths = (done * 100).checked_div(total).unwrap_or(0).min(100);
        self.runs.load(Ordering::Acquire).then_some(hundredths)
    }

    /// Why the last proof could not be written down.
    pub(crate) fn fault(&self) -> Option<String> {
        locked(&self.fault).clone()
    }

    /// Looks again, unless it does already.
    pub(crate) fn look(&self, logs: Vec<LogState>, changes: &IndexChanges) {
        if self.runs.swap(true, Ordering::AcqRel) {
            return;
        }
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
        let (store, runs, fault) = (
            self.store.clone(),
            Arc::clone(&self.runs),
            Arc::clone(&self.fault),
        );
        let (done, total, changes) = (
            Arc::clone(&self.done),
            Arc::clone(&self.total),
            Arc::clone(changes),
        );
        thread::spawn(move || {
            let paths: Vec<PathBuf> = logs.iter().map(|log| log.dir.clone()).collect();
            let mut told = 0;
            let mut progress = ProgressFn::new(|now, all| {
                done.store(now, Ordering::Relaxed);
                total.store(all, Ordering::Relaxed);
                if now * 20 / all.max(1) > told {
                    told = now * 20 / all.max(1);
                    changes.send_modify(|count| *count += 1);
                }
            });
            let report = verify_with(&paths, Depths::default(), &mut progress);
            let kept = keep(&store, &logs, &report);
            *locked(&fault) = kept.err().map(|error| error.to_string());
            runs.store(false, Ordering::Release);
            changes.send_modify(|count| *count += 1);
        });
    }
}

fn keep(store: &IndexStore, logs: &[LogState], report: &VerifyReport) -> Result<(), ViewError> {
    let db = store.proofs()?;
    for log in logs {
        let found = report.logs.iter().find(|one| one.name == log.dir);
        let unreadable: Vec<String> = match found {
            Some(_) => Vec::new(),
            None => report.unreadable.iter().map(ToString::to_string).collect(),
        };
        let empty = LogReport::default();
        let proof = LogProof::of(found.unwrap_or(&empty), &unreadable);
        let text = serde_json::to_string(&proof).unwrap_or_default();
        let sql = "INSERT OR REPLACE INTO proof VALUES (?1, ?2, ?3)";
        db.execute(sql, params![log.id, now(), text])
            .map_err(|source| store.fault(source))?;
    }
    Ok(())
}
