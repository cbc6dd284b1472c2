//! Every sentence that a report can say, as a whole: what holds, up to where, by what it is proven, and what is not.

use std::path::PathBuf;

use signet_audit::{BundleReport, Head, LogError, LogFault, LogReport, VerifyReport, Witness};
use signet_proto::ids::{AgentId, Digest};

const HASH: &str = "0707070707070707070707070707070707070707070707070707070707070707";

fn head(seq: u64) -> Head {
    Head {
        seq,
        hash: Digest([7; 32]),
    }
}

fn agent(name: &str) -> AgentId {
    format!("agent-{name}-001").parse().unwrap()
}

fn fault(file: &str, line: u64, seq: Option<u64>, what: &str) -> LogFault {
    LogFault {
        file: PathBuf::from(file),
        line,
        seq,
        what: what.to_owned(),
    }
}

/// Alice's log of 1,234 lines in February, whose first line promised checkpoints that are not there yet, after `change`.
fn log(change: impl FnOnce(&mut LogReport)) -> LogReport {
    let mut log = LogReport::default();
    log.name = PathBuf::from("audit");
    log.agent = Some(agent("alice"));
    log.files = 1;
    log.lines = 1_234;
    log.first = Some(1);
    log.span = Some(("2026-02".to_owned(), "2026-02".to_owned()));
    log.head = Some(head(1_234));
    log.signed = 1_000;
    change(&mut log);
    log
}

fn seen_by(name: &str, seq: u64) -> Witness {
    Witness {
        agent: agent(name),
        head: head(seq),
    }
}

#[test]
fn what_a_log_proves_is_one_sentence() {
    let begin = format!("agent-alice-001: the log holds from seq 1 to seq 1234, head {HASH}: ");
    let counted = "1234 lines in 1 file, 1000 signatures";
    let anew = "and by no peer's head: cut off at its end or written anew, it would look the same.";
    let older =
        "and by no peer's head: an older state of it, or another version, would look the same.";
    let february = || vec!["2026-02".to_owned()];
    let says = |change: &dyn Fn(&mut LogReport), sentence: &str| {
        assert_eq!(log(change).sentence(), sentence);
    };
    says(
        &|_| {},
        &format!(
            "{begin}{counted}; proven by its chain alone, for it has no checkpoint yet, {anew}"
        ),
    );
    says(
        &|log| log.unpromised = february(),
        &format!("{begin}{counted}; proven by its chain alone, without checkpoints, {anew}"),
    );
    says(
        &|log| log.proven = Some(head(1_200)),
        &format!("{begin}{counted}; proven by its own checkpoints up to seq 1200, {older}"),
    );
    says(
        &|log| {
            (log.files, log.proven) = (2, Some(head(1_200)));
            log.unpromised = february();
        },
        &format!(
            "{begin}1234 lines in 2 files, 1000 signatures; proven by its own checkpoints up to seq 1200, but for 2026-02, where there are none, {older}"
        ),
    );
    says(
        &|log| log.witnesses = vec![seen_by("bob", 1_230), seen_by("carol", 7)],
        &format!(
            "{begin}{counted}; proven by its chain alone, for it has no checkpoint yet, and by the heads that agent-bob-001 logged up to seq 1230, and by the heads that agent-carol-001 logged up to seq 7."
        ),
    );
    says(
        &|log| log.links_only = true,
        &format!(
            "{begin}1234 lines in 1 file, signatures not looked at; proven by its chain alone, for it has no checkpoint yet, and what peers logged not looked at."
        ),
    );
    says(
        &|log| (log.uncertified, log.skipped) = (1, 2),
        &format!(
            "{begin}{counted}, 1 message whose certificate stands in an earlier file, 2 lines without a message to prove; proven by its chain alone, for it has no checkpoint yet, {anew}"
        ),
    );
}

#[test]
fn where_a_log_begins_late_has_no_line_or_does_not_hold_its_sentence_says_so() {
    let late = log(|log| log.first = Some(12)).sentence();
    let begin = format!(
        "agent-alice-001: the log holds from seq 12 (what stands before it was not given and is not proven) to seq 1234, head {HASH}: 1234 lines"
    );
    assert!(late.starts_with(&begin), "{late}");
    let nameless = |log: &mut LogReport| {
        (log.agent, log.lines, log.head) = (None, 0, None);
        log.name = PathBuf::from("au\u{202e}dit");
    };
    let empty = log(nameless).sentence();
    assert!(empty.is_ascii() && empty.ends_with("dit: the log has no line."));
    let faulty = log(|log| {
        log.faults = vec![fault("a", 1, None, "x"); 2];
        log.left_out = 5;
    });
    assert_eq!(
        faulty.sentence(),
        format!(
            "agent-alice-001: TAMPERED OR DAMAGED: 7 faults in 1234 lines; the log holds up to seq 1234, head {HASH}."
        )
    );
    let nothing = log(|log| {
        log.faults = vec![fault("a", 1, None, "x")];
        (log.lines, log.head) = (1, None);
    });
    assert_eq!(
        nothing.sentence(),
        "agent-alice-001: TAMPERED OR DAMAGED: 1 fault in 1 line; the log holds up to no line at all."
    );
}

#[test]
fn a_fault_is_told_with_its_place_as_far_as_it_has_one() {
    let month = "inter-agent-2026-02.jsonl";
    for (line, seq, begin) in [
        (3, Some(1_203), ", line 3, seq 1203"),
        (1, None, ", line 1"),
        (0, Some(1_203), ", seq 1203"),
        (0, None, ""),
    ] {
        let told = fault(month, line, seq, "it is wrong").to_string();
        assert_eq!(told, format!("{month}{begin}: it is wrong"));
    }
    let hostile = fault("a\u{202e}b", 0, None, "c\u{1b}[2Jd").to_string();
    assert!(
        hostile.is_ascii() && !hostile.contains('\u{1b}'),
        "{hostile}"
    );
}

fn headline(change: impl FnOnce(&mut VerifyReport)) -> String {
    let mut report = VerifyReport::default();
    change(&mut report);
    report.headline()
}

#[test]
fn the_first_line_of_a_report_says_what_is_not_proven() {
    let chain = "fit together by their chain alone, which does not show a log cut off at its end or written anew";
    let logs = |logs: Vec<LogReport>| headline(|report| report.logs = logs);
    assert_eq!(
        logs(vec![log(|log| log.links_only = true)]),
        format!(
            "OK: 1,234 lines of agent-alice-001, 2026-02, {chain}; contents, signatures and peers' logs were not looked at."
        )
    );
    let bob = log(|log| {
        (log.agent, log.lines) = (Some(agent("bob")), 1);
        log.span = Some(("2026-02".to_owned(), "2026-04".to_owned()));
        log.first = Some(1_235);
    });
    let bobs = format!(
        "1 line of agent-bob-001, 2026-02 to 2026-04, from line 1,235 on (what stands before was not given) {chain}"
    );
    assert_eq!(
        logs(vec![log(|_| {}), bob.clone()]),
        format!(
            "OK: 1,234 lines of agent-alice-001, 2026-02, {chain}; {bobs}; none of these logs has a line of another."
        )
    );
    let seen = log(|log| log.witnesses = vec![seen_by("bob", 1_230)]);
    assert_eq!(
        logs(vec![seen, bob.clone()]),
        format!(
            "OK: 1,234 lines of agent-alice-001, 2026-02, are complete and unchanged up to line 1,230 by the log of agent-bob-001; {bobs}."
        )
    );
    assert_eq!(
        logs(vec![bob]),
        format!("OK: {bobs}; no peer's log was compared.")
    );
    let empty = log(|log| log.lines = 0);
    assert_eq!(
        logs(vec![empty]),
        "OK: the log of agent-alice-001 has no line, and so nothing is proven; no peer's log was compared."
    );
}

#[test]
fn the_first_line_of_a_report_counts_what_is_wrong_and_what_cannot_be_read() {
    let nowhere = || LogError::NoLog(PathBuf::from("nowhere"));
    let faulty = log(|log| {
        log.faults = vec![fault("a", 1, None, "x"); 100];
        log.left_out = 1_100;
    });
    let nothing = log(|log| {
        log.faults = vec![fault("a", 1, None, "x")];
        (log.agent, log.head) = (None, None);
    });
    let report = headline(|report| {
        report.unreadable = vec![nowhere(), nowhere()];
        report.logs = vec![faulty, nothing];
    });
    assert_eq!(
        report,
        "NOT OK: 2 paths cannot be read; 1,200 findings in 1,234 lines of agent-alice-001: changed, damaged, or evidence is missing; it holds up to line 1,234; 1 finding in 1,234 lines of audit: changed, damaged, or evidence is missing; no line of it holds."
    );
}

#[test]
fn the_first_line_of_a_report_says_of_a_bundle_what_it_proves_or_that_it_proves_nothing() {
    let bundle = |lines, faults, more_faults| BundleReport {
        agent: Some(agent("alice")),
        peer: Some(agent("bob")),
        lines,
        faults: vec!["line 1: x".to_owned(); faults],
        more_faults,
        ..BundleReport::default()
    };
    let of = |bundles| headline(|report| report.bundles = bundles);
    let left_out =
        "stand in the log of agent-alice-001; that none was left out, the bundle does not prove";
    assert_eq!(
        of(vec![bundle(1_500, 0, 0)]),
        format!("OK: 1,500 lines about agent-bob-001 {left_out}.")
    );
    let nothing = "in the bundle of agent-alice-001 about agent-bob-001: it proves nothing";
    assert_eq!(
        of(vec![bundle(3, 2, 1_498), bundle(3, 1, 0)]),
        format!("NOT OK: 1,500 findings {nothing}; 1 finding {nothing}.")
    );
    let unsaid = BundleReport {
        agent: None,
        peer: None,
        ..bundle(0, 1, 0)
    };
    assert_eq!(
        of(vec![unsaid]),
        "NOT OK: 1 finding in the bundle of ? about ?: it proves nothing."
    );
}
