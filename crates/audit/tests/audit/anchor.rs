//! What a home keeps of its log outside of the log's directory, and what a start makes of it.

use std::fs;
use std::path::PathBuf;

use signet_audit::{
    Custody, Log, LogError, Outlook, foresee, hold_against_anchor, inspect_months, verify,
};
use signet_proto::entry::{Alarm, AlarmLine, Entry};
use signet_proto::ids::AgentId;
use signet_proto::time::Timestamp;
use tempfile::TempDir;

use crate::common;
use crate::common::*;
use crate::pair::{FEBRUARY_NOTES, keys};

/// One home of Alice's.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path("audit").join(name)
    }

    pub(crate) fn custody(&self) -> Custody {
        Custody::new(keys(&self.path("keys")), self.path("log.anchor"))
    }

    pub(crate) fn try_start(&self, now: Timestamp) -> Result<Log, LogError> {
        let custody = self.custody().reading_later();
        Log::open_with(&self.path("audit"), now, &genesis(), custody)
    }

    pub(crate) fn start(&self, now: Timestamp) -> Log {
        self.try_start(now).unwrap()
    }

    /// Starts, writes a line, and stops cleanly.
    pub(crate) fn live(&self, now: Timestamp, text: &str) {
        let mut log = self.start(now);
        log.append(now, &gap(text)).unwrap();
        log.commit().unwrap();
    }

    pub(crate) fn holds(&self) -> signet_audit::LogReport {
        let mut report = verify(&[self.path("audit")]);
        assert!(report.holds(), "{report}");
        report.logs.remove(0)
    }

    /// Whether or not the start waits until the newest month is read.
    pub(crate) fn refused(&self, now: Timestamp, with: &str) {
        for custody in [self.custody(), self.custody().reading_later()] {
            let started = Log::open_with(&self.path("audit"), now, &genesis(), custody);
            let error = started.unwrap_err().to_string();
            assert!(error.contains(with), "{error}");
        }
    }

    fn inspect(&self) -> Result<u64, LogError> {
        inspect_months(&self.path("audit"), &self.path("log.anchor"), |_| true)
    }
}

fn april() -> Timestamp {
    at("2026-04-02T00:00:00.000Z")
}

fn seen(peer: &common::Party) -> Entry {
    Entry::Alarm(AlarmLine {
        peer: peer.certificate.agent.clone(),
        what: Alarm::Restored,
        cleared: true,
    })
}

#[test]
fn after_a_clean_stop_the_last_checkpoint_covers_every_line() {
    let home = Home::new();
    for number in 1..4 {
        home.live(second(number), "one line");
        let report = home.holds();
        assert_eq!(report.proven, report.head);
        hold_against_anchor(&home.path("audit"), &home.path("log.anchor")).unwrap();
    }
}

#[test]
fn a_person_s_decision_is_durable_with_its_checkpoint() {
    let home = Home::new();
    let mut log = home.start(second(0));
    log.append(second(1), &gap("before")).unwrap();
    log.append(second(1), &seen(&bob())).unwrap();
    let head = log.commit().unwrap();
    log.abandon();
    assert_eq!(home.holds().proven, Some(head));
    let log = home.start(second(2));
    assert_eq!(log.head(), Some(head), "nothing is set aside");
}

#[test]
fn what_a_kill_leaves_is_gone_on_with() {
    let home = Home::new();
    let mut log = home.start(second(0));
    for number in 1..20 {
        log.append(second(number), &gap("x")).unwrap();
        log.commit().unwrap();
    }
    let head = log.head();
    log.abandon();
    let log = home.start(second(30));
    assert_eq!(log.head(), head);
    log.abandon();
    home.holds();
}

#[test]
fn a_key_that_was_moved_away_and_put_back_is_taken_again() {
    let home = Home::new();
    home.live(second(1), "with its key");
    fs::rename(home.path("keys"), home.path("elsewhere")).unwrap();
    let mut log = home.start(second(2));
    assert!(log.lacks_checkpoint_key());
    for number in 0..1_200 {
        log.append(second(3), &gap(&number.to_string())).unwrap();
        if number % 100 == 0 {
            log.commit().unwrap();
        }
    }
    log.commit().unwrap();
    drop(log);
    let _ = fs::remove_dir_all(home.path("keys"));
    fs::rename(home.path("elsewhere"), home.path("keys")).unwrap();
    let log = home.start(second(4));
    assert!(!log.lacks_checkpoint_key());
    drop(log);
    let report = home.holds();
    assert_eq!(report.proven, report.head);
}

#[test]
fn a_checkpoint_that_was_taken_away_is_missed_one_by_one() {
    let home = Home::new();
    home.live(second(1), "one");
    home.live(second(2), "two");
    let notes = fs::read_to_string(home.file(FEBRUARY_NOTES)).unwrap();
    let last = notes.trim_end().rfind("\n\n").unwrap();
    let start = notes[..last].rfind("\n\n").unwrap() + 2;
    fs::write(home.file(FEBRUARY_NOTES), &notes[..start]).unwrap();
    home.refused(second(3), "checkpoints are missing");
}

#[test]
fn a_home_of_an_older_release_is_adopted_with_its_mark_and_its_last_lines() {
    let home = Home::new();
    let custody = keys(&home.path("keys"));
    let mut log = Log::open_with(&home.path("audit"), second(0), &genesis(), custody).unwrap();
    log.append(second(1), &trust_bob()).unwrap();
    let head = log.commit().unwrap();
    log.abandon();
    fs::write(home.file("inter-agent.writing"), b"").unwrap();
    let log = home.start(second(2));
    assert_eq!(log.head(), Some(head), "the decision was answered");
    assert!(!home.file("inter-agent.writing").exists());
    assert!(home.path("log.anchor").exists());
}

#[test]
fn a_finished_month_that_is_missing_or_shorter_stops_the_start() {
    let home = Home::new();
    home.live(second(1), "february");
    home.live(march(), "march");
    home.live(april(), "april");
    for name in [FEBRUARY, MARCH] {
        let kept = fs::read(home.file(name)).unwrap();
        fs::remove_file(home.file(name)).unwrap();
        home.refused(april(), "is missing");
        let text = String::from_utf8(kept.clone()).unwrap();
        let without: Vec<&str> = text
            .lines()
            .filter(|line| !line.contains("\"gap\""))
            .collect();
        fs::write(home.file(name), format!("{}\n", without.join("\n"))).unwrap();
        home.refused(april(), "is not what it was");
        fs::write(home.file(name), &kept).unwrap();
        home.start(april());
    }
    assert_eq!(home.inspect().unwrap(), 2);
}

/// No message looks at a finished month: what was taken away under a daemon that runs is found by the day's reading.
#[test]
fn a_finished_month_that_is_taken_away_while_a_daemon_runs_is_found_by_the_days_reading() {
    let home = Home::new();
    home.live(second(1), "february");
    home.live(march(), "march");
    home.live(april(), "april");
    let mut running = home.start(april());
    for name in [FEBRUARY, MARCH] {
        let kept = fs::read(home.file(name)).unwrap();
        fs::remove_file(home.file(name)).unwrap();
        running.append(april(), &gap("meanwhile")).unwrap();
        running.commit().unwrap();
        let found = home.inspect().unwrap_err();
        assert!(matches!(found, LogError::Broken { .. }), "{found}");
        assert!(found.to_string().contains("is missing"), "{found}");
        fs::write(home.file(name), &kept).unwrap();
        assert_eq!(home.inspect().unwrap(), 2);
    }
}

#[test]
fn checkpoints_of_a_finished_month_that_were_taken_away_stop_the_start() {
    let home = Home::new();
    home.live(second(1), "february");
    home.live(march(), "march");
    let kept = fs::read(home.file(FEBRUARY_NOTES)).unwrap();
    fs::remove_file(home.file(FEBRUARY_NOTES)).unwrap();
    home.refused(march(), "is not what it was");
    fs::write(home.file(FEBRUARY_NOTES), kept).unwrap();
    home.start(march());
}

/// Its ends are what they were: only who reads all of it can tell.
#[test]
fn a_word_edited_in_the_midst_of_a_finished_month_is_found_in_the_background() {
    let home = Home::new();
    home.live(second(1), "the word was yes");
    home.live(march(), "march");
    assert_eq!(home.inspect().unwrap(), 1);
    let text = fs::read_to_string(home.file(FEBRUARY)).unwrap();
    fs::write(home.file(FEBRUARY), text.replace("was yes", "was not")).unwrap();
    home.start(march());
    let found = home.inspect().unwrap_err();
    assert!(matches!(found, LogError::Broken { .. }), "{found}");
}

#[test]
fn a_log_that_lost_its_month_goes_on_when_its_person_accepts_that() {
    let home = Home::new();
    home.live(second(1), "february");
    home.live(march(), "march");
    fs::remove_file(home.file(MARCH)).unwrap();
    home.refused(march(), "went back");
    let seen = hold_against_anchor(&home.path("audit"), &home.path("log.anchor"));
    assert!(matches!(seen, Err(LogError::WentBack { .. })), "{seen:?}");
    let custody = home.custody().accepting_loss();
    drop(Log::open_with(&home.path("audit"), march(), &genesis(), custody).unwrap());
    assert!(kinds(&home.path("audit")).contains(&"loss".to_owned()));
    let log = home.start(march());
    drop(log);
    home.holds();
}

/// The months that the home took down are a witness when nothing else is left.
#[test]
fn a_line_behind_a_month_that_is_known_is_not_obeyed_when_the_anchor_is_gone() {
    let home = Home::new();
    home.live(second(1), "february");
    home.live(march(), "march");
    let mut log = Log::open(&home.path("audit"), march(), &genesis()).unwrap();
    log.append(march(), &trust_bob()).unwrap();
    log.commit().unwrap();
    log.abandon();
    fs::remove_file(home.path("log.anchor")).unwrap();
    let foreseen = foresee(&home.path("audit"), &agent(), home.custody());
    assert!(
        matches!(foreseen, Err(LogError::Unanchored { .. })),
        "{foreseen:?}"
    );
    let refused = home.try_start(march()).unwrap_err();
    assert!(matches!(refused, LogError::Unanchored { .. }), "{refused}");
    assert!(refused.next().contains("accept-loss"), "{}", refused.next());
    let custody = home.custody().accepting_loss();
    drop(Log::open_with(&home.path("audit"), march(), &genesis(), custody).unwrap());
    let kinds = kinds(&home.path("audit"));
    assert!(!kinds.contains(&"trust".to_owned()), "{kinds:?}");
    assert!(
        kinds.ends_with(&["recovery".to_owned(), "loss".to_owned()]),
        "{kinds:?}"
    );
    home.start(march());
}

fn agent() -> AgentId {
    let Entry::Genesis(own) = genesis() else {
        panic!("the first line is the agent's own certificate");
    };
    own.agent
}

/// Who only asks what a start will do locks and changes nothing, and hears what the start is refused for.
#[test]
fn what_a_start_will_be_refused_for_is_foreseen_and_nothing_is_changed() {
    let home = Home::new();
    let foreseen = || foresee(&home.path("audit"), &agent(), home.custody());
    assert_eq!(foreseen().unwrap(), Outlook::Holds, "there is no log yet");
    assert!(!home.path("audit").exists());
    home.live(second(1), "february");
    assert_eq!(foreseen().unwrap(), Outlook::Holds);
    let anchor = fs::read(home.path("log.anchor")).unwrap();
    fs::remove_file(home.path("log.anchor")).unwrap();
    assert_eq!(foreseen().unwrap(), Outlook::LacksAnchor);
    assert!(!home.path("log.anchor").exists());
    fs::write(home.path("log.anchor"), anchor).unwrap();
    let month = fs::read(home.file(FEBRUARY)).unwrap();
    fs::write(home.file(FEBRUARY), [&month[..], b"more"].concat()).unwrap();
    let found = foreseen();
    assert!(matches!(found, Err(LogError::Appended { .. })), "{found:?}");
    fs::write(home.file(FEBRUARY), "").unwrap();
    let found = foreseen();
    assert!(matches!(found, Err(LogError::WentBack { .. })), "{found:?}");
    fs::remove_dir_all(home.path("audit")).unwrap();
    let found = foreseen();
    assert!(matches!(found, Err(LogError::WentBack { .. })), "{found:?}");
    assert!(!home.path("audit").exists());
}
