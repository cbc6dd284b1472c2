//! What a forger does to the files with the keys at hand.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use signet_audit::LogLine;
use signet_proto::entry::{Direction, Entry, Ruling};
use signet_proto::ids::Digest;

use super::story::*;
use crate::common::*;
use crate::tlog;

/// What the host has besides the files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    None,
    /// The key of this month's checkpoints.
    Checkpoint,
    /// That, and the key that signs the agent's messages.
    Signing,
}

impl Keys {
    pub const ALL: [Self; 3] = [Self::None, Self::Checkpoint, Self::Signing];
}

/// One row of the table.
pub struct Row {
    pub name: &'static str,
    /// Whether the chain is made anew behind it.
    pub relinks: bool,
    pub forge: Forge,
}

pub enum Forge {
    /// Of April's lines, whose key is still there.
    Lines(fn(&mut Vec<String>)),
    /// Of the files of a log.
    Files(fn(&Story)),
}

impl Row {
    pub const fn lines(name: &'static str, forge: fn(&mut Vec<String>)) -> Self {
        Self {
            name,
            relinks: true,
            forge: Forge::Lines(forge),
        }
    }

    pub const fn files(name: &'static str, forge: fn(&Story)) -> Self {
        Self {
            name,
            relinks: false,
            forge: Forge::Files(forge),
        }
    }

    pub fn apply(&self, story: &Story, keys: Keys) {
        let path = story.alice.join(APRIL);
        match self.forge {
            Forge::Files(forge) => forge(story),
            Forge::Lines(forge) => {
                let mut lines = lines_of(&path);
                let before = lines.clone();
                forge(&mut lines);
                assert_ne!(lines, before, "{} changes nothing", self.name);
                if self.relinks {
                    relink(&mut lines, keys == Keys::Signing);
                }
                write_lines(&path, &lines);
            }
        }
        if keys != Keys::None && path.exists() {
            sign_checkpoints_anew(story);
        }
    }
}

/// Numbers and hashes made anew from the first line on; and what the agent signed itself, with the heads
/// that it names, when its key is at hand.
pub fn relink(lines: &mut [String], signs: bool) {
    let (mut seq, mut prev) = (number_of(&lines[0]), prev_of(&lines[0]));
    let mut moved = HashMap::new();
    for line in lines.iter_mut() {
        let old = Digest::of(&[line.as_bytes()]);
        if signs && let Some(signed) = sign_anew(line, &moved, prev) {
            *line = signed;
        }
        *line = framed(line, seq, prev);
        prev = Digest::of(&[line.as_bytes()]);
        moved.insert(old, prev);
        seq += 1;
    }
}

/// The line with the same message signed once more, naming the line that took the place of its head.
fn sign_anew(line: &str, moved: &HashMap<Digest, Digest>, before: Digest) -> Option<String> {
    let entry = LogLine::parse(line.as_bytes().to_vec()).ok()?.entry?;
    let Entry::Message(verdict) = &entry else {
        return None;
    };
    let message = verdict
        .message()
        .filter(|_| verdict.direction == Direction::Out)?;
    let mut value: Value = serde_json::from_slice(message.canonical()).unwrap();
    let params = value["params"].as_object_mut().unwrap();
    params.remove("signature");
    let head = message.headers.audit_head?;
    let head = moved.get(&head).copied().unwrap_or(before);
    params["headers"]["audit-head"] = head.to_hex().into();
    let signed = self::entry(Direction::Out, Ruling::Sent, sign(value, &alice().key));
    Some(line_like(line, &signed))
}

/// A line with another entry in the frame of `model`.
pub fn line_like(model: &str, entry: &Entry) -> String {
    let (frame, _) = model.split_once("\"kind\":").unwrap();
    let mut members = Vec::new();
    entry.write(&mut members);
    format!("{frame}{}}}", String::from_utf8(members).unwrap())
}

fn framed(line: &str, seq: u64, prev: Digest) -> String {
    let (old_seq, old_prev) = (number_of(line), prev_of(line).to_hex());
    line.replacen(
        &format!("\"seq\":{old_seq},"),
        &format!("\"seq\":{seq},"),
        1,
    )
    .replacen(&old_prev, &prev.to_hex(), 1)
}

fn number_of(line: &str) -> u64 {
    let (_, rest) = line.split_once("\"seq\":").unwrap();
    rest.split_once(',').unwrap().0.parse().unwrap()
}

fn prev_of(line: &str) -> Digest {
    let (_, rest) = line.split_once("\"prev\":\"").unwrap();
    Digest::from_hex(rest.split_once('"').unwrap().0).unwrap()
}

pub fn ts_of(line: &str) -> &str {
    let (_, rest) = line.split_once("\"ts\":\"").unwrap();
    rest.split_once('"').unwrap().0
}

pub fn at_time(line: &str, ts: &str) -> String {
    line.replacen(ts_of(line), ts, 1)
}

/// The chain made anew through several files, the first of which was changed.
pub fn relink_months(story: &Story, months: &[&str]) {
    let mut end = None;
    for month in months {
        let path = story.alice.join(month);
        let mut lines = lines_of(&path);
        if let Some(end) = end {
            let old = prev_of(&lines[0]).to_hex();
            lines[0] = lines[0].replace(&old, &Digest::to_hex(&end));
        }
        relink(&mut lines, false);
        write_lines(&path, &lines);
        end = Some(Digest::of(&[lines.last().unwrap().as_bytes()]));
    }
}

/// Every checkpoint of April over the lines that stand there now; the last covers all of them.
fn sign_checkpoints_anew(story: &Story) {
    let lines = lines_of(&story.alice.join(APRIL));
    let notes = story.alice.join(APRIL_NOTES);
    let seed = tlog::seed(&story.key.join(APRIL_KEY));
    let origin = "signet/agent-alice-001/2026-04";
    let old = tlog::split(&fs::read_to_string(&notes).unwrap_or_default());
    let size = |note: &String| note.lines().nth(1).unwrap().parse::<usize>().unwrap();
    let mut sizes: Vec<usize> = old.iter().map(size).collect();
    sizes.retain(|size| *size < lines.len());
    sizes.push(lines.len());
    let text: String = sizes
        .iter()
        .map(|size| {
            let root = tlog::root(&lines[..*size]);
            tlog::sign(origin, *size as u64, &root, &seed) + "\n"
        })
        .collect();
    fs::write(notes, text).unwrap();
}

/// The place of the one line that has all of these in it.
pub fn place(lines: &[String], parts: &[&str]) -> usize {
    let fits = |line: &String| parts.iter().all(|part| line.contains(part));
    lines.iter().position(fits).expect("such a line")
}

/// Changes the first line that has all of `parts` in it.
pub fn edit(lines: &mut [String], parts: &[&str], (from, to): (&str, &str)) {
    let place = place(lines, parts);
    assert!(lines[place].contains(from), "{}", lines[place]);
    lines[place] = lines[place].replacen(from, to, 1);
}

/// Cuts a file of checkpoints back to its first `kept`.
pub fn cut_notes(path: &Path, kept: usize) -> usize {
    let notes = tlog::split(&fs::read_to_string(path).unwrap());
    let kept = &notes[..kept];
    let text: String = kept.iter().map(|note| format!("{note}\n")).collect();
    fs::write(path, text).unwrap();
    kept.last()
        .unwrap()
        .lines()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}
