//! The forgeries, in the order of the table in docs/threat-model.md.

use std::fs;

use signet_proto::entry::{Direction, Entry, Ruling, TrustChange};
use signet_proto::statement::Revocation;

use super::forge::*;
use super::story::*;
use crate::common::*;
use crate::pair::{FEBRUARY_NOTES, MARCH_NOTES};

const IN: [&str; 2] = ["\"dir\":\"in\",\"verdict\":\"accepted\"", "Message "];
const OUT: [&str; 2] = ["\"dir\":\"out\"", "Message "];

pub const ROWS: &[Row] = &[
    Row {
        relinks: false,
        ..Row::lines("edited-line", |lines| {
            edit(lines, &IN, ("Message ", "Massage "));
        })
    },
    Row::lines("edited-body-of-a-peer", |lines| {
        edit(
            lines,
            &IN,
            ("\"body\":{\"number\":", "\"body\":{\"number\":1"),
        );
    }),
    Row::lines("deleted-line", |lines| {
        let gap = place(lines, &["\"kind\":\"gap\""]);
        lines.remove(gap);
    }),
    Row::lines("inserted-line", |lines| {
        let place = place(lines, &["\"kind\":\"outcome\""]);
        lines.insert(place, line_like(&lines[place], &gap("nothing was lost")));
    }),
    Row::lines("swapped-lines", |lines| {
        let place = place(lines, &["\"kind\":\"pause\""]);
        lines.swap(place, place + 1);
        let time = ts_of(&lines[place]).to_owned();
        lines[place + 1] = at_time(&lines[place + 1], &time);
    }),
    Row::lines("copied-message-of-its-own", |lines| {
        copy(lines, &OUT);
    }),
    Row::lines("copied-receipt-of-its-own", |lines| {
        copy(lines, &["\"dir\":\"out\"", "agent.receipt"]);
    }),
    Row::lines("copied-message-of-a-peer", |lines| {
        copy(lines, &IN);
    }),
    Row::lines("changed-verdict", |lines| {
        let (from, to) = ("\"verdict\":\"accepted\",\"reason\":null", REFUSED);
        edit(lines, &IN, (from, to));
    }),
    Row::lines("changed-reason", |lines| {
        let (from, to) = ("capability-not-granted", "tier-not-granted");
        edit(lines, &["\"verdict\":\"rejected\""], (from, to));
    }),
    Row::lines("changed-summary", |lines| {
        edit(
            lines,
            &IN,
            ("\"summary\":\"Message", "\"summary\":\"Massage"),
        );
    }),
    Row::lines("forged-trust", |lines| {
        let eve = Party::new("agent-eve-001", "eve", 30);
        insert(lines, &Entry::trust(TrustChange::Bound, eve.certificate));
    }),
    Row::lines("forged-revocation", |lines| {
        let (person, agent) = ("bob".parse().unwrap(), "agent-bob-001".parse().unwrap());
        let signed = Revocation::sign(&person, &agent, 1, "lost", april(5), &key(90));
        insert(lines, &Entry::Revoked(signed.unwrap()));
    }),
    Row::lines("foreign-approval", |lines| {
        replace(lines, &["\"kind\":\"approval\""], &approval(&key(90), 91));
    }),
    Row::lines("approved-draft-changed", |lines| {
        edit(
            lines,
            &["\"kind\":\"draft\""],
            ("May I leave?", "May I stay?"),
        );
    }),
    Row::lines("approval-taken-away", |lines| {
        let place = place(lines, &["\"kind\":\"approval\""]);
        lines.remove(place);
    }),
    Row::lines("foreign-pause", |lines| {
        let said = pause(true, 1, &key(90), 91);
        replace(lines, &["\"kind\":\"pause\"", "\"paused\":true"], &said);
    }),
    Row::lines("old-pause-again", |lines| {
        copy(lines, &["\"kind\":\"pause\"", "\"paused\":true"]);
    }),
    Row::files("genesis-exchanged", |story| {
        let path = story.alice.join(FEBRUARY);
        let mut lines = lines_of(&path);
        let other = certify("agent-alice-001", "alice", &key(40), &key(90), 1);
        let (_, month_key) = lines[0].split_once(",\"checkpoint-key\"").unwrap();
        let month_key = month_key.to_owned();
        let line = line_like(&lines[0], &Entry::Genesis(other));
        lines[0] = format!(
            "{},\"checkpoint-key\"{month_key}",
            line.strip_suffix('}').unwrap()
        );
        write_lines(&path, &lines);
        relink_months(story, &[FEBRUARY, MARCH, APRIL]);
    }),
    Row::files("finished-month-edited", |story| {
        let path = story.alice.join(MARCH);
        let mut lines = lines_of(&path);
        edit(
            &mut lines,
            &IN,
            ("\"verdict\":\"accepted\",\"reason\":null", REFUSED),
        );
        write_lines(&path, &lines);
        relink_months(story, &[MARCH, APRIL]);
    }),
    Row::files("first-month-missing", |story| {
        fs::remove_file(story.alice.join(FEBRUARY)).unwrap();
        fs::remove_file(story.alice.join(FEBRUARY_NOTES)).unwrap();
    }),
    Row::files("middle-month-missing", |story| {
        fs::remove_file(story.alice.join(MARCH)).unwrap();
        fs::remove_file(story.alice.join(MARCH_NOTES)).unwrap();
    }),
    Row::files("last-month-missing", |story| {
        fs::remove_file(story.alice.join(APRIL)).unwrap();
        fs::remove_file(story.alice.join(APRIL_NOTES)).unwrap();
    }),
    Row::files("checkpoints-taken-away", |story| {
        fs::remove_file(story.alice.join(APRIL_NOTES)).unwrap();
    }),
    Row::files("finished-months-checkpoints-cut", |story| {
        cut_notes(&story.alice.join(MARCH_NOTES), 1);
    }),
    Row {
        relinks: false,
        ..Row::lines("end-cut-off", |lines| lines.truncate(lines.len() - 6))
    },
    Row::files("end-cut-off-with-its-checkpoints", |story| {
        let covered = cut_notes(&story.alice.join(APRIL_NOTES), 2);
        let path = story.alice.join(APRIL);
        write_lines(&path, &lines_of(&path)[..covered]);
    }),
    Row::files("older-copy-put-back", |story| {
        for file in fs::read_dir(&story.alice).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        for file in fs::read_dir(&story.spring).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), story.alice.join(file.file_name())).unwrap();
        }
    }),
    Row::lines("another-history-for-another-reader", |lines| {
        let end = place(lines, &["\"kind\":\"gap\""]);
        lines.truncate(end);
        lines.push(line_like(&lines[end - 1], &gap("another story")));
    }),
    Row::lines("times-moved", |lines| {
        for line in lines.iter_mut() {
            *line = line.replacen("\"ts\":\"2026-04-01T", "\"ts\":\"2026-04-02T", 1);
        }
    }),
    Row::lines("time-moved-back", |lines| {
        edit(
            lines,
            &["\"kind\":\"gap\""],
            ("\"ts\":\"2026-04-01T", "\"ts\":\"2026-03-31T"),
        );
    }),
    Row::lines("line-of-another-log", |lines| {
        let eve = Party::new("agent-eve-001", "eve", 30);
        let carol = Party::new("agent-carol-001", "carol", 31);
        let said = message(&eve, &carol, 9, "Not for Alice");
        insert(lines, &entry(Direction::In, Ruling::Accepted, said));
    }),
    Row::lines("forged-receipt", |lines| {
        edit(
            lines,
            &["\"dir\":\"in\"", "agent.receipt"],
            ("\"through\":4", "\"through\":9"),
        );
    }),
    Row::lines("forged-outcome", |lines| {
        edit(
            lines,
            &["\"kind\":\"outcome\""],
            ("acknowledged", "expired"),
        );
    }),
    Row::lines("forged-handoff", |lines| {
        replace(lines, &["\"kind\":\"handoff\""], &handoff(&key(90)));
    }),
    Row::lines("widened-handoff", |lines| {
        edit(
            lines,
            &["\"kind\":\"handoff\""],
            ("\"depth\":1", "\"depth\":7"),
        );
    }),
    Row::lines("another-version", |lines| {
        let gap = place(lines, &["\"kind\":\"gap\""]);
        let (_, rest) = lines[gap].split_once(',').unwrap();
        lines[gap] = format!("{{\"v\":99,{rest}");
    }),
    Row::lines("extra-member", |lines| {
        edit(
            lines,
            &["\"kind\":\"gap\""],
            ("\"cause\"", "\"note\":\"\",\"cause\""),
        );
    }),
    Row::lines("white-space", |lines| {
        edit(lines, &["\"kind\":\"gap\""], ("\"cause\":", "\"cause\": "));
    }),
    Row::lines("unknown-kind", |lines| {
        edit(
            lines,
            &["\"kind\":\"gap\""],
            ("\"kind\":\"gap\"", "\"kind\":\"cap\""),
        );
    }),
];

const REFUSED: &str = "\"verdict\":\"rejected\",\"reason\":\"capability-not-granted\"";

fn insert(lines: &mut Vec<String>, entry: &Entry) {
    let place = place(lines, &["\"kind\":\"outcome\""]);
    lines.insert(place, line_like(&lines[place], entry));
}

/// A line once more at the end, at the time of the last.
fn copy(lines: &mut Vec<String>, parts: &[&str]) {
    let copied = &lines[place(lines, parts)];
    let copied = at_time(copied, ts_of(lines.last().unwrap()));
    lines.push(copied);
}

fn replace(lines: &mut [String], parts: &[&str], entry: &Entry) {
    let place = place(lines, parts);
    lines[place] = line_like(&lines[place], entry);
}
