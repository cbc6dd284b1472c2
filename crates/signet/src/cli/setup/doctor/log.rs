//! The log: its end, its newest month, and what stands there about clocks, peers and handlers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use signet_audit::{
    Depth, LogError, LogLine, Outlook, ProgressFn, Settings, counted, counted_doing,
    hold_against_anchor, log_files, put_the_log_back, read_file, refuse_open_folders, verify_with,
};
use signet_proto::entry::{ClockLine, Did, Entry, OutcomeLine, Ruling};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::time::Timestamp;

use super::finding::{CheckResult, DoctorCheck};
use super::scene::Scene;
use crate::hint::{self, DaemonKeeper};
use crate::memory::{Memory, MemoryError};

/// Checks the log itself, then what its lines tell.
pub(super) fn all(scene: &Scene) -> Vec<CheckResult> {
    let recent = RecentMonths::of(scene);
    vec![
        end(scene),
        month(scene),
        recent.clocks(scene),
        recent.handlers(),
    ]
}

/// What a start would be refused for.
fn end(scene: &Scene) -> CheckResult {
    let check = DoctorCheck::of(
        "log-end",
        "the end of the log and what the home remembers of it",
    );
    let dir = &scene.config.audit_dir;
    if !dir.exists() && scene.home.log_anchor().exists() {
        return check.fault(
            format!(
                "{} is gone, and this agent has written its log there",
                dir.display()
            ),
            "what it said and was told stands nowhere else",
            &put_the_log_back(dir),
        );
    }
    match outlook(scene) {
        Ok(Outlook::Holds) => check.well("the log ends where this agent left it"),
        Ok(Outlook::LacksAnchor) => check.warning(
            format!("{} is gone", scene.home.log_anchor().display()),
                "the state and the checkpoints vouch for the log in its place; the next start makes it anew, and rings",
                &format!(
                    "{}  # or first put it back where it was moved from",
                    DaemonKeeper::of(scene.home.path()).start()
                ),
        ),
        Err(error) => {
            let means = match &error {
                MemoryError::Log(LogError::OpenFolder { .. } | LogError::OpenFolderAbove { .. }) => {
                    "others can put lines into the log, or take it away; no daemon starts on it"
                }
                _ => "no daemon starts on this log: it is not what this agent left",
            };
            check.fault(&error, means, &error.next())
        }
    }
}

fn outlook(scene: &Scene) -> Result<Outlook, MemoryError> {
    let dir = &scene.config.audit_dir;
    if scene.status.is_err() {
        return Memory::foresee(&scene.home, &scene.config);
    }
    // The running daemon writes to the log meanwhile, and a check of all lines could meet a half-written
    // one. So check only who may write in the log's folders, and that the log has the line that the anchor,
    // a file of the home, names.
    if dir.is_dir() {
        refuse_open_folders(dir)?;
    }
    hold_against_anchor(dir, &scene.home.log_anchor())?;
    Ok(Outlook::Holds)
}

fn month(scene: &Scene) -> CheckResult {
    let check = DoctorCheck::of(
        "log-month",
        "the chain and the checkpoints of the log's newest month",
    );
    // Check the newest file alone: a running daemon checks the finished months itself, once a day, and the hint
    // below names the command that checks all of them.
    let Some(newest) = files(scene).pop() else {
        return check.well("there is no log yet");
    };
    let settings = Settings {
        // Leave signatures out: checking them takes long on a large month.
        depth: Depth::Links,
        findings: 1,
    };
    let prove = || {
        verify_with(
            std::slice::from_ref(&newest),
            settings,
            &mut ProgressFn::new(|_, _| {}),
        )
    };
    // If the first check finds a fault, check the month once more: a running daemon may have been writing its last line.
    let report = Some(prove()).filter(|report| report.holds());
    let report = report.unwrap_or_else(prove);
    let fault = report.logs.iter().flat_map(|log| &log.faults).next();
    let unreadable = report.unreadable.first().map(ToString::to_string);
    match fault.map(ToString::to_string).or(unreadable) {
        None => {
            let lines: u64 = report.logs.iter().map(|log| log.lines).sum();
            check.well(format!("{}; signet audit verify proves all of the log", counted_doing(lines, "line", "holds")))
        }
        Some(fault) => check.fault(
            fault,
                "the log was changed or damaged after it was written",
                &format!(
                    "signet audit verify {}  # says all that is wrong; keep a copy of the log before anything else",
                    hint::word(&scene.config.audit_dir)
                ),
        ),
    }
}

fn files(scene: &Scene) -> Vec<PathBuf> {
    let mut files = log_files(&scene.config.audit_dir).unwrap_or_default();
    files.sort();
    files
}

/// When each peer was last heard of, as far back as two months.
pub(super) fn last_heard(scene: &Scene) -> BTreeMap<AgentId, Timestamp> {
    RecentMonths::of(scene).heard
}

/// What the newest two months of the log tell.
#[derive(Default)]
struct RecentMonths {
    heard: BTreeMap<AgentId, Timestamp>,
    /// The peer's clock minus ours, in milliseconds, in the last days.
    clocks: BTreeMap<AgentId, i64>,
    /// How the last try of a message failed lately, where nothing better followed.
    failing: BTreeMap<(AgentId, MessageId), String>,
}

impl RecentMonths {
    fn of(scene: &Scene) -> Self {
        let mut recent = Self::default();
        let files = files(scene);
        let newest = files.iter().rev().take(MONTHS).rev();
        for file in newest {
            let Ok(lines) = read_file(file) else { continue };
            // Stop at a line that cannot be read, and do not report it here: `month` checks the newest month, and a running
            // daemon checks all finished months.
            lines
                .map_while(Result::ok)
                .for_each(|line| recent.take(&line, scene.now));
        }
        recent
    }

    fn take(&mut self, line: &LogLine, now: Timestamp) {
        let age = now.since(line.ts);
        match &line.entry {
            Some(Entry::Message(verdict)) if verdict.ruling == Ruling::Accepted => {
                if let Some(agent) = verdict.peer() {
                    self.heard.insert(agent, line.ts);
                }
            }
            Some(Entry::Clock(ClockLine {
                peer,
                difference_ms,
            })) if age < CLOCKS => {
                self.clocks.insert(peer.clone(), *difference_ms);
            }
            Some(Entry::Outcome(outcome)) if age < TRIES => self.tried(outcome),
            _ => {}
        }
    }

    fn tried(&mut self, outcome: &OutcomeLine) {
        let key = (outcome.peer.clone(), outcome.message_id);
        match outcome.what {
            Did::Failed => {
                let why = outcome.reason.clone().unwrap_or_default();
                self.failing.insert(key, why);
            }
            Did::Acknowledged | Did::Kept | Did::Dropped => {
                self.failing.remove(&key);
            }
            Did::AnswerFailed
            | Did::DraftExpired
            | Did::DraftRefused
            | Did::Expired
            | Did::Started
            | Did::SetAside
            | Did::Retried => {}
        }
    }

    fn clocks(&self, scene: &Scene) -> CheckResult {
        let check = DoctorCheck::of(
            "clock",
            "the clock against those of peers, by the log of the last week",
        );
        let outside = scene
            .status
            .as_ref()
            .ok()
            .and_then(|status| status.clock.as_ref());
        if let Some(clock) = outside {
            return check.fault(
                format!(
                    "it says {}, and the certificate holds from {} to {}",
                    clock.now, clock.not_before, clock.not_after
                ),
                "nothing is signed and all that is sent waits",
                "timedatectl set-ntp true  # if the clock is right: signet key rotate signing",
            );
        }
        let worst = self
            .clocks
            .iter()
            .max_by_key(|(_, difference)| difference.unsigned_abs());
        let Some((peer, difference)) = worst else {
            return check.well("no peer's clock differed");
        };
        let seconds = difference.unsigned_abs() / 1000;
        let sides: BTreeSet<bool> = self
            .clocks
            .values()
            .map(|difference| *difference > 0)
            .collect();
        // If the clocks of several peers all differ to the same side, this machine's clock is most likely the wrong one.
        let (next, whose) = match self.clocks.len() > 1 && sides.len() == 1 {
            true => (
                "timedatectl set-ntp true",
                "all of them: it is probably ours",
            ),
            false => (
                "timedatectl  # on both machines: whose clock is set by the network",
                "theirs or ours",
            ),
        };
        let way = if *difference > 0 {
            "ahead of"
        } else {
            "behind"
        };
        check.warning(
            format!("{peer} is {seconds} s {way} us; {} peers in all, {whose}", self.clocks.len()), "messages are refused when clocks are more than a minute apart, and end too early or late", next,
        )
    }

    fn handlers(&self) -> CheckResult {
        let check = DoctorCheck::of("handlers", "tries to handle messages in the last day");
        let Some(((peer, message), why)) = self.failing.iter().next() else {
            return check.well("no try failed, or a later one succeeded");
        };
        check.warning(
            format!(
                "{} could not be handled; {message} of {peer}: {why}",
                counted(self.failing.len() as u64, "message")
            ),
                "a message that fails five times goes into the quarantine, and who asked waits",
                "signet inbox  # and see to the handler's own log; what failed too often: signet quarantine list",
        )
    }
}

const MONTHS: usize = 2;
const CLOCKS: Duration = Duration::from_secs(7 * 24 * 3600);
const TRIES: Duration = Duration::from_secs(24 * 3600);
