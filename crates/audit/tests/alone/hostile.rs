//! Text from strangers neither forges a line nor drives a terminal, and its value stays what it was.

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use serde_json::Value;
use signet_audit::{Filter, VerdictName, describe, verify};
use signet_proto::entry::{Direction, Entry, Ruling};
use signet_proto::reject::Reason;

use crate::common::*;

const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;owned\u{7}\r\n{\"v\":1,\"seq\":99}\u{202e}gnp\u{2028}a\u{2029}b\u{85}c\u{9b}31m\u{7f}\u{200b}\u{feff}\u{e0041}\u{2066}\u{ad}\"\\";

fn hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(character, '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

fn write(dir: &Path, entries: &[Entry]) {
    let mut log = open(dir, second(0));
    log.append(second(0), &trust_bob()).unwrap();
    for entry in entries {
        log.append(second(1), entry).unwrap();
    }
    log.commit().unwrap();
}

#[test]
fn ansi_escapes_bidi_overrides_and_line_separators_stay_within_their_line() {
    let _turn = crate::turn();
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[accepted(1, HOSTILE), gap(HOSTILE)]);
    let text = std::fs::read_to_string(dir.path().join(FEBRUARY)).unwrap();
    let found = text.chars().find(|c| hidden(*c) && *c != '\n');
    assert_eq!((found, text.matches('\n').count()), (None, 4));
    assert!(text.contains(
        "\\u202egnp\\u2028a\\u2029b\\u0085c\\u009b31m\\u007f\\u200b\\ufeff\\udb40\\udc41"
    ));
    assert!(verify(&[dir.path().to_owned()]).holds());
    for line in read_all(dir.path()) {
        let described = describe(&line);
        assert_eq!(described.chars().find(|c| hidden(*c)), None, "{described}");
        let value: Value = serde_json::from_slice(&line.raw).unwrap();
        let text = value
            .get("summary")
            .or(value.get("cause"))
            .and_then(Value::as_str);
        assert!(text.is_none_or(|text| text == HOSTILE));
    }
}

#[test]
fn a_summary_cannot_end_its_quotes() {
    let _turn = crate::turn();
    let dir = tempfile::tempdir().unwrap();
    let forged = "ok\"  0192f0c1…  2026-02-08 17:00:00.000  out sent \\";
    write(dir.path(), &[accepted(1, forged)]);
    let described = describe(&read_all(dir.path())[2]);
    assert!(
        described.contains("\"ok\\\"  0192f0c1…  2026-02-08 17:00:00.000  out sent \\\\\""),
        "{described}"
    );
}

#[test]
fn a_line_reads_as_the_documents_show_it() {
    let _turn = crate::turn();
    let dir = tempfile::tempdir().unwrap();
    let refused = entry(
        Direction::In,
        Ruling::Rejected(Reason::Expired),
        message(&bob(), &alice(), 2, "Too late"),
    );
    write(
        dir.path(),
        &[
            accepted(1, "Asks for free evenings next week"),
            refused,
            sent(3, "Answers"),
        ],
    );
    let described: Vec<String> = read_all(dir.path()).iter().skip(2).map(describe).collect();
    assert_eq!(
        described,
        [
            "2026-02-08 17:00:01.000  in  accepted  notification  agent-bob-001   t2  \"Asks for free evenings next week\"  019c3e32-2681-7101-8101-010101010101",
            "2026-02-08 17:00:01.000  in  rejected  notification  agent-bob-001   t2  expired  \"Too late\"  019c3e32-2682-7202-8202-020202020202",
            "2026-02-08 17:00:01.000  out sent      notification  agent-bob-001   t2  \"Answers\"  019c3e32-2683-7303-8303-030303030303",
        ]
    );
}

#[test]
fn a_filter_admits_what_was_asked_for_and_nothing_else() {
    let _turn = crate::turn();
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[accepted(1, "a"), sent(2, "b"), gap("c")]);
    let lines = read_all(dir.path());
    let admitted = |filter: Filter| -> Vec<u64> {
        lines
            .iter()
            .filter(|line| filter.admits(line))
            .map(|line| line.seq)
            .collect()
    };
    let all = Filter::default();
    assert_eq!(admitted(all.clone()), [1, 2, 3, 4, 5]);
    assert_eq!(
        admitted(Filter {
            peer: "agent-bob-001".parse().ok(),
            ..all.clone()
        }),
        [2, 3, 4]
    );
    assert_eq!(
        admitted(Filter {
            peer: "agent-eve-001".parse().ok(),
            ..all.clone()
        }),
        [0; 0]
    );
    assert_eq!(
        admitted(Filter {
            verdict: Some(VerdictName::Sent),
            ..all.clone()
        }),
        [4]
    );
    assert_eq!(
        admitted(Filter {
            message_type: "request".parse().ok(),
            ..all.clone()
        }),
        [0; 0]
    );
    assert_eq!(
        admitted(Filter {
            message_type: "notification".parse().ok(),
            ..all.clone()
        }),
        [3, 4]
    );
    assert_eq!(
        admitted(Filter {
            since: Some(second(1)),
            ..all.clone()
        }),
        [3, 4, 5]
    );
    assert_eq!(
        admitted(Filter {
            until: Some(second(1)),
            ..all
        }),
        [1, 2]
    );
}

#[test]
fn jq_and_sha256sum_agree_with_the_log() {
    let _turn = crate::turn();
    let dir = tempfile::tempdir().unwrap();
    let mut entries: Vec<Entry> = (1..4).map(|number| accepted(number, HOSTILE)).collect();
    entries.push(gap(HOSTILE));
    write(dir.path(), &entries);
    let shell = |script: String| {
        let output = Command::new("sh")
            .arg("-c")
            .arg(script)
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    };
    for number in 1..6 {
        let hash = shell(format!(
            "sed -n '{number}p' {FEBRUARY} | tr -d '\\n' | sha256sum | cut -d' ' -f1"
        ));
        let prev = shell(format!("sed -n '{}p' {FEBRUARY} | jq -r .prev", number + 1));
        assert_eq!(hash, prev, "line {number}");
    }
    let causes = shell(format!(
        "jq -c 'select(.kind == \"gap\") | .cause' {FEBRUARY}"
    ));
    assert_eq!(serde_json::from_str::<String>(&causes).unwrap(), HOSTILE);
}

/// Any text, and often the characters that matter.
fn any_text() -> impl Strategy<Value = String> {
    let mark = prop::sample::select(HOSTILE.chars().collect::<Vec<_>>());
    prop::collection::vec(prop_oneof![any::<char>(), mark, Just('a')], 0..60)
        .prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_survives_the_log_and_jq(texts in prop::collection::vec(any_text(), 1..20)) {
        let _turn = crate::turn();
        let dir = tempfile::tempdir().unwrap();
        let entries: Vec<Entry> = texts.iter().map(|text| gap(text)).collect();
        write(dir.path(), &entries);
        let path = dir.path().join(FEBRUARY);
        let file = std::fs::read_to_string(&path).unwrap();
        prop_assert_eq!(file.chars().find(|c| hidden(*c) && *c != '\n'), None);
        let jq = Command::new("jq").args(["-c", "select(.kind == \"gap\") | .cause"]).arg(&path).output().unwrap();
        let read: Vec<String> = String::from_utf8(jq.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert_eq!(&read, &texts);
        let back: Vec<Entry> = read_all(dir.path()).into_iter().skip(2).filter_map(|line| line.entry).collect();
        prop_assert_eq!(back, entries);
    }
}
