//! The files: written by the generator, read by the tests.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use signet_json::{Limits, parse};
use signet_proto::carrier::inbox_subject;
use signet_proto::entry::Entry;
use signet_proto::envelope::{Form, Unverified};
use signet_proto::ids::AgentId;
use signet_proto::node::{At, Effect, Judged, Notice};
use signet_proto::reject::Reason;

use super::faults::{self, Fault};
use super::stages::{self, Log};
use crate::household::{Agent, at};

/// One file, read.
pub struct Vector {
    pub name: String,
    pub check: String,
    pub expect: Reason,
    pub also: Option<String>,
    pub log: Log,
    pub at: At,
    pub input: Vec<u8>,
    /// The subject that the input comes by, where it is not that of Bob's inbox.
    pub subject: Option<String>,
    pub effects: Vec<String>,
}

impl Vector {
    /// Whom the input names as its sender, when it can be read.
    pub fn sender(&self) -> Option<AgentId> {
        let unverified = Unverified::parse(&self.input).ok()?;
        Some(unverified.claims().headers.agent_id.clone())
    }

    fn is_numbered(&self) -> bool {
        let unverified = Unverified::parse(&self.input);
        unverified.is_ok_and(|unverified| unverified.claims().headers.sequence.is_some())
    }

    /// Whether the input fails before its signature is proven. A numbered one that its certificate does not cover is
    /// proven all the same.
    pub fn is_unproven(&self) -> bool {
        if self.subject.is_some() {
            return true;
        }
        if self.is_numbered() && LATE.contains(&self.expect) {
            return false;
        }
        let bob = stages::bob(&self.log);
        let verified = Unverified::parse(&self.input)
            .ok()
            .and_then(|unverified| unverified.verify(bob.node.trust()).verified().ok());
        verified.is_none()
    }
}

/// What V06 refuses although the signature holds.
const LATE: [Reason; 2] = [Reason::CertificateExpired, Reason::LayersExceedCertificate];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/reasons")
}

/// Every vector, by name.
pub fn all() -> impl Iterator<Item = Vector> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    assert!(files.len() >= 60, "the vectors are there");
    files.into_iter().map(|path| read(&path))
}

fn read(path: &Path) -> Vector {
    let value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let text = |name: &str| value[name].as_str().unwrap().to_owned();
    let mut input = match value.get("input-base64") {
        Some(coded) => data_encoding::BASE64
            .decode(coded.as_str().unwrap().as_bytes())
            .unwrap(),
        None => text("input").into_bytes(),
    };
    let pad = value.get("pad").and_then(Value::as_u64).unwrap_or(0);
    input.resize(input.len() + usize::try_from(pad).unwrap(), b' ');
    let list = value["effects"].as_array().unwrap().iter();
    let effects = list.map(|name| name.as_str().unwrap().to_owned());
    Vector {
        name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
        check: text("check"),
        expect: text("expect").parse().unwrap(),
        also: value.get("also").map(|_| text("also")),
        log: read_log(&text("log")),
        at: At {
            now: text("now").parse().unwrap(),
            ..at(0)
        },
        input,
        subject: value.get("subject").map(|_| text("subject")),
        effects: effects.collect(),
    }
}

pub fn read_log(name: &str) -> Log {
    let path = folder().join("logs").join(format!("{name}.jsonl"));
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let Value::Object(members) = parse(line.as_bytes(), Limits::LINE).unwrap() else {
            panic!("a line is an object")
        };
        let ts = members["ts"].as_str().unwrap().parse().unwrap();
        (ts, Entry::parse(members).unwrap().unwrap())
    };
    text.lines().map(line).collect()
}

/// Bob's agent takes an input in. What comes by the subject of another inbox is not read, whoever wrote it.
pub fn hear(bob: &mut Agent, at: At, input: &[u8], subject: Option<&str>) -> Vec<Effect> {
    if subject.is_none_or(|subject| subject == inbox_subject(&bob.id())) {
        return bob.hear(at, input);
    }
    let outcome = bob.node.turn(at).handle_inbound(Judged::misplaced(input));
    bob.keep(at, outcome)
}

/// What effects come to, for a reader.
pub fn names_of(effects: &[Effect]) -> Vec<String> {
    let name = |effect: &Effect| match effect {
        Effect::Publish(signed) => {
            let what = match &signed.message().form {
                Form::Call(method) => method.as_str(),
                Form::Success => "a result",
                Form::Failure { reason, .. } => reason,
            };
            format!("publish {what} to {}", signed.recipient())
        }
        Effect::Progress(accepted) => {
            let about = accepted.message().headers.in_reply_to.unwrap();
            format!("progress on {about}")
        }
        Effect::Notice(notice) => match notice.as_ref() {
            Notice::Clock { peer, .. } => format!("tell the person of the clock of {peer}"),
            Notice::Alarm(alarm) => format!("ring {} of {}", alarm.what.as_str(), alarm.peer),
            other => format!("{other:?}"),
        },
        Effect::Trust(_) => "tell verifiers whom to trust".to_owned(),
        other => format!("{other:?}"),
    };
    effects.iter().map(name).collect()
}

pub fn regenerate_if_asked() {
    if std::env::var("SIGNET_REGENERATE").as_deref() != Ok("1") {
        return;
    }
    let world = stages::build();
    let folder = folder();
    fs::create_dir_all(folder.join("logs")).unwrap();
    for (name, log) in &world.logs {
        let path = folder.join("logs").join(format!("{name}.jsonl"));
        fs::write(path, write_log(log)).unwrap();
    }
    for fault in faults::all(&world) {
        let text = serde_json::to_string_pretty(&describe(&fault, &world.logs[fault.log])).unwrap();
        fs::write(folder.join(format!("{}.json", fault.name)), text + "\n").unwrap();
    }
}

pub fn write_log(log: &Log) -> Vec<u8> {
    let mut out = Vec::new();
    for (ts, entry) in log {
        out.extend(format!("{{\"ts\":\"{ts}\",").into_bytes());
        entry.write(&mut out);
        out.extend(b"}\n");
    }
    out
}

fn describe(fault: &Fault, log: &Log) -> Value {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.into(), value));
    put("about", fault.about.into());
    put("check", fault.expect.check().into());
    put("expect", fault.expect.name().into());
    put("me", "agent-bob".into());
    put("log", fault.log.into());
    put("now", at(fault.ms).now.to_string().into());
    if let Some(also) = fault.also {
        put("also", also.into());
    }
    match String::from_utf8(fault.input.clone()) {
        Ok(text) => put("input", text.into()),
        Err(_) => put(
            "input-base64",
            data_encoding::BASE64.encode(&fault.input).into(),
        ),
    }
    let mut input = fault.input.clone();
    if fault.pad > 0 {
        put("pad", fault.pad.into());
        input.resize(input.len() + fault.pad, b' ');
    }
    if let Some(subject) = fault.subject {
        put("subject", subject.into());
    }
    let effects = hear(&mut stages::bob(log), at(fault.ms), &input, fault.subject);
    put("effects", json!(names_of(&effects)));
    Value::Object(members)
}
