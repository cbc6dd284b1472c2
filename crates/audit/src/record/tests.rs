//! Of the two readers of a line, the one of lines as a log writes them says nothing that the strict parser does not say.

use std::path::Path;

use signet_proto::entry::{Did, OutcomeLine};

use super::*;

fn files(dir: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
    let entries = std::fs::read_dir(dir).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// The lines of all logs among the vectors, of this version and the one before.
fn lines() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for vector in files("../../vectors/log") {
        let vector: serde_json::Value = serde_json::from_slice(&vector).unwrap();
        let lines = vector["lines"].as_array().unwrap().iter();
        found.extend(lines.map(|line| line.as_str().unwrap().as_bytes().to_vec()));
    }
    for log in files("tests/vectors/v1") {
        found.extend(log.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
    }
    found
}

/// Whether this reader speaks of the line; if so, the strict parser says the same.
fn speaks(raw: &[u8]) -> bool {
    let hash = Digest::of(&[raw]);
    let Ok(line) = LogLine::parse_written(raw.to_vec(), hash) else {
        return false;
    };
    assert_eq!(line, LogLine::parse_any(raw.to_vec(), hash).unwrap());
    true
}

fn spoken() -> Vec<u8> {
    let is_meant = |raw: &Vec<u8>| String::from_utf8_lossy(raw).contains("Asks") && speaks(raw);
    lines().into_iter().find(is_meant).unwrap()
}

fn outcome() -> Vec<u8> {
    let entry = Entry::Outcome(OutcomeLine {
        peer: "bob".parse().unwrap(),
        message_id: "019c3e32-2681-7101-8101-010101010101".parse().unwrap(),
        what: Did::Acknowledged,
        tries: 1,
        reason: None,
    });
    let (mut members, mut line) = (Vec::new(), Vec::new());
    entry.write(&mut members);
    let ts = "2026-02-08T17:00:00.500Z".parse().unwrap();
    write_line(LineVersion::CURRENT, &Tip::NONE, ts, &members, &mut line);
    line
}

#[test]
fn the_strict_parser_says_the_same() {
    let all = lines();
    let spoken = all.iter().filter(|raw| speaks(raw)).count();
    assert!(spoken > 10, "{spoken} of {}", all.len());
}

/// A byte changed, put in or taken out anywhere.
#[test]
fn no_line_is_read_that_no_log_writes() {
    for raw in [spoken(), outcome()] {
        assert!(speaks(&raw));
        let mut count = 0;
        for at in 0..raw.len() {
            for byte in *b"\",:}7a\x7f" {
                let mut changed = raw.clone();
                changed[at] = byte;
                let mut longer = raw.clone();
                longer.insert(at, byte);
                count += [changed, longer].iter().filter(|raw| speaks(raw)).count();
            }
            let mut shorter = raw.clone();
            shorter.remove(at);
            count += usize::from(speaks(&shorter));
        }
        // Some changed lines have to be accepted, since another name or number is as valid: so the test also covers accepted
        // lines.
        assert!(count > raw.len() / 10);
    }
}

#[test]
fn nothing_is_passed_over_in_the_line_of_an_outcome() {
    let text = String::from_utf8(outcome()).unwrap();
    for (from, to) in [
        ("\"peer\":", "\"reason\":null,\"peer\":"),
        ("\"try\":", "\"try\":1,\"try\":"),
        ("\"try\":", "\"try\":+"),
        ("\"try\":", "\"try\":0"),
        ("\"try\":1", "\"try\":256"),
        ("\"try\":1", "\"try\":1,\"reason\":\"\\u0061\""),
        ("\"try\":1", "\"try\":1,\"carrier\":\"nats\""),
        ("{\"v\":2,\"seq\":", "{\"v\":2,\"seq\":9007199254740992"),
    ] {
        let forged = text.replacen(from, to, 1);
        assert_ne!(forged, text, "{from}");
        assert!(!speaks(forged.as_bytes()), "{to}");
    }
}

/// The braces of a summary stand before those of the message.
#[test]
fn a_message_whose_summary_has_braces_is_read() {
    let text = String::from_utf8(spoken()).unwrap();
    let summary = "\"summary\":\"Asks\"";
    assert_eq!(text.matches(summary).count(), 2, "{text}");
    let braces = text.replace(summary, "\"summary\":\"{for {you\"");
    assert!(speaks(braces.as_bytes()), "{braces}");
}

#[test]
fn nothing_is_passed_over_beside_the_message() {
    let text = String::from_utf8(spoken()).unwrap();
    for (from, to) in [
        ("\"dir\":", "\"message\":{},\"dir\":"),
        ("\"dir\":", "\"headers\":{},\"dir\":"),
        ("\"dir\":", "\"raw\":\"\",\"dir\":"),
        ("\"dir\":\"", "\"dir\":\"in\",\"dir\":\""),
        ("\"kind\":\"message\"", "\"kind\":\"message\",\"seq\":1"),
        (",\"bytes\":", ",\"bytes\":1,\"bytes\":"),
        (",\"bytes\":", ",\"bytes\":+"),
        (",\"bytes\":", ",\"bytes\":99999999999999999999"),
        ("{\"v\":2,\"seq\":", "{\"v\":2,\"seq\":9007199254740992"),
    ] {
        let forged = text.replacen(from, to, 1);
        assert_ne!(forged, text, "{from}");
        assert!(!speaks(forged.as_bytes()), "{to}");
    }
    let open = text.strip_suffix('}').unwrap();
    for end in [",\"carrier\":\"nats\"}", ",\"message\":{}}", " }", "}}", ""] {
        assert!(!speaks(format!("{open}{end}").as_bytes()), "{end}");
    }
}
