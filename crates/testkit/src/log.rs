//! The audit log as a stranger reads it: files, lines, SHA-256 and a JSON parser, nothing of ours.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use signet_proto::ids::Digest;

use crate::bus::Sender;
use crate::{Home, eventually};

impl Home {
    /// The raw bytes of the log, month by month, without what fallocate or a torn write left.
    pub fn log_bytes(&self) -> Vec<u8> {
        let files = self.months().into_iter();
        files
            .flat_map(|file| std::fs::read(file).unwrap())
            .collect()
    }

    fn months(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.dir.join("audit").join(&self.agent)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_month = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
        let mut files: Vec<_> = paths.filter(is_month).collect();
        files.sort();
        files
    }

    /// Every whole line, parsed. A tail without its newline is not a line.
    pub fn log(&self) -> Vec<Value> {
        let bytes = self.log_bytes();
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let whole = lines.filter(|line| line.len() > 1 && line.ends_with(b"\n"));
        let parsed = whole.map(|line| serde_json::from_slice(line).expect("a line is JSON"));
        parsed.collect()
    }

    /// Walks the chain: whole lines, `seq` from 1, `prev` the SHA-256 of the raw line before.
    pub fn walk(&self) -> Vec<Value> {
        let bytes = self.log_bytes();
        assert_eq!(
            bytes.last(),
            Some(&b'\n'),
            "the last line of {} is torn",
            self.agent
        );
        let (mut prev, mut lines) = ("0".repeat(64), Vec::new());
        for (index, raw) in bytes[..bytes.len() - 1]
            .split(|byte| *byte == b'\n')
            .enumerate()
        {
            let line: Value = serde_json::from_slice(raw).expect("a line is JSON");
            assert_eq!(
                line["seq"],
                index + 1,
                "{}: the numbers have no gap",
                self.agent
            );
            assert_eq!(
                line["prev"],
                prev.as_str(),
                "{}: line {} fits the one before",
                self.agent,
                index + 1
            );
            prev = Digest::of(&[raw]).to_hex();
            lines.push(line);
        }
        lines
    }

    /// Cuts the log in the middle of the line after the first that fits, as a crash during a write does.
    pub fn tear_after(&self, fits: impl Fn(&Value) -> bool) {
        let bytes = self.log_bytes();
        let mut end = 0;
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let line = lines.find(|line| {
            end += line.len();
            fits(&serde_json::from_slice(line).unwrap())
        });
        let line = line.expect("such a line").trim_ascii_end();
        let files = self.months();
        assert_eq!(files.len(), 1, "one month");
        let file = &files[0];
        std::fs::write(file, &bytes[..end + 20]).unwrap();
        // The daemon anchors only durable lines, so the torn line cannot be anchored: write an anchor for the line before it.
        let seq = serde_json::from_slice::<Value>(line).unwrap()["seq"].clone();
        let name = file.file_name().unwrap().to_str().unwrap();
        let hash = Digest::of(&[line]).to_hex();
        // The anchor's last number says how many lines have a checkpoint: 0, so that the daemon demands none when it starts.
        let anchor = format!("signet-anchor/1 1 writing {name} {end} {seq} {hash} 0 ");
        let sum = Digest::of(&[anchor.as_bytes()]).to_hex();
        let slot = format!("{:<511}\n", anchor + &sum);
        std::fs::write(self.dir.join("log.anchor"), slot).unwrap();
    }

    /// The lines about what came with this SHA-256.
    pub fn lines_about(&self, input: &[u8]) -> Vec<Value> {
        let hash = Digest::of(&[input]).to_hex();
        let about = |line: &Value| line["sha256"] == hash.as_str() && line["dir"] == "in";
        self.log().into_iter().filter(about).collect()
    }

    /// Sends `input` to this agent's inbox and waits for the line about it.
    pub fn hears(&self, sender: &mut Sender, input: &[u8]) -> Value {
        let before = self.lines_about(input).len();
        sender.send(&self.subject(), input);
        eventually("a line about it", || {
            self.lines_about(input).into_iter().nth(before)
        })
    }

    /// The reasons of what was refused, in order.
    pub fn refusals(&self) -> Vec<String> {
        self.log()
            .iter()
            .filter_map(|line| line["reason"].as_str().map(str::to_owned))
            .collect()
    }
}

/// The message in a line: its envelope.
pub fn envelope(line: &Value) -> &Value {
    let places = ["/message/params", "/message/result", "/message/error/data"];
    places
        .iter()
        .find_map(|place| line.pointer(place))
        .unwrap_or(&Value::Null)
}

pub fn header<'a>(line: &'a Value, name: &str) -> &'a str {
    envelope(line)["headers"][name].as_str().unwrap_or("-")
}

/// The lines about messages with this direction and verdict.
pub fn messages<'a>(
    log: &'a [Value],
    dir: &'a str,
    verdict: &'a str,
) -> impl Iterator<Item = &'a Value> {
    log.iter().filter(move |line| {
        line["kind"] == "message" && line["dir"] == dir && line["verdict"] == verdict
    })
}

pub fn is_ping(line: &Value) -> bool {
    header(line, "capability") == "signet.ping" && line["type"] == "request"
}

/// The message-ids of accepted messages for the agent for which the log holds no answer and no word that
/// they were taken; with pings or without.
pub fn unfinished(log: &[Value], pings: bool) -> BTreeSet<String> {
    let own = |line: &&Value| {
        matches!(
            line["message"]["method"].as_str(),
            None | Some("agent.request" | "agent.notification")
        )
    };
    let of = |line: &Value| header(line, "message-id").to_owned();
    // The answer to a ping goes to the call that waits for it and not into the inbox, so it is not counted as open.
    let pinged: BTreeSet<String> = messages(log, "out", "sent")
        .filter(|line| is_ping(line))
        .map(of)
        .collect();
    let mut open: BTreeSet<String> = messages(log, "in", "accepted")
        .filter(own)
        .filter(|line| is_ping(line) == pings)
        .filter(|line| !pinged.contains(header(line, "in-reply-to")))
        .map(of)
        .collect();
    for line in log {
        match line["kind"].as_str() {
            Some("outcome")
                if line["what"] == "acknowledged" || line["what"] == "answer-failed" =>
            {
                open.remove(line["id"].as_str().unwrap());
            }
            Some("draft") => {
                open.remove(header(line, "in-reply-to"));
            }
            Some("message") if line["dir"] == "out" => {
                open.remove(header(line, "in-reply-to"));
            }
            _ => {}
        }
    }
    open
}
