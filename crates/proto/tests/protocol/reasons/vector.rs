//! The files of `vectors/refused`, read, with the logs that their knowledge was taken from.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use signet_json::{Limits, parse};
use signet_proto::carrier::inbox_subject;
use signet_proto::certificate::Certificate;
use signet_proto::entry::Entry;
use signet_proto::envelope::{Form, Unverified};
use signet_proto::ids::AgentId;
use signet_proto::node::{At, Effect, Judged, Notice};
use signet_proto::reject::Reason;

use super::stages::{self, Log, World};
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

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

/// Every vector that is refused, by name.
pub fn all() -> impl Iterator<Item = Vector> {
    let world = stages::build();
    let files = paths("refused");
    assert!(files.len() >= 60, "the vectors are there");
    files.into_iter().map(move |path| read(&path, &world))
}

/// The files of one folder of the vectors, by name.
pub fn paths(of: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder().join(of)).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

fn read(path: &Path, world: &World) -> Vector {
    let value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let text = |name: &str| value[name].as_str().unwrap().to_owned();
    let expect = |name: &str| value["expect"][name].as_str().unwrap().to_owned();
    assert_eq!(expect("verdict"), "rejected");
    Vector {
        name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
        check: expect("check"),
        expect: expect("reason").parse().unwrap(),
        also: value.get("also").map(|_| text("also")),
        log: read_again(&world.logs[text("knowledge").as_str()]),
        at: At {
            now: text("now").parse().unwrap(),
            ..at(0)
        },
        input: input_of(&value),
        subject: value.get("subject").map(|_| text("subject")),
        effects: effects_of(&value),
    }
}

pub fn input_of(value: &Value) -> Vec<u8> {
    let mut input = match value.get("input-base64") {
        Some(coded) => data_encoding::BASE64
            .decode(coded.as_str().unwrap().as_bytes())
            .unwrap(),
        None => value["input"].as_str().unwrap().as_bytes().to_vec(),
    };
    let pad = value.get("pad").and_then(Value::as_u64).unwrap_or(0);
    input.resize(input.len() + usize::try_from(pad).unwrap(), b' ');
    input
}

pub fn effects_of(value: &Value) -> Vec<String> {
    let list = value["effects"].as_array().unwrap().iter();
    list.map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// A log as a start reads it: out of the bytes of its lines.
pub fn read_again(log: &Log) -> Log {
    let text = String::from_utf8(write_log(log)).unwrap();
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
        Effect::Deliver(_) => "put it into the inbox".to_owned(),
        Effect::Answer(accepted) => {
            let request = accepted.message().headers.in_reply_to.unwrap();
            format!("answer to {request}")
        }
        Effect::Pong(_) => "a sign of life".to_owned(),
        Effect::Settle {
            peer,
            message_id,
            state,
            ..
        } => {
            let why = state.why().map(|why| format!(" for {why}"));
            let (word, why) = (state.as_str(), why.unwrap_or_default());
            format!("{message_id} to {peer} is {word}{why}")
        }
        Effect::Established(peer) => format!("a session with {peer}"),
        Effect::Trust(_) => "tell verifiers whom to trust".to_owned(),
        Effect::Notice(notice) => format!("tell the person of {}", told_of(notice)),
    };
    effects.iter().map(name).collect()
}

fn told_of(notice: &Notice) -> String {
    let certified = |certificate: &Certificate| {
        let (agent, serial) = (&certificate.agent, certificate.serial);
        format!("{agent} of {}, serial {serial}", certificate.principal)
    };
    match notice {
        Notice::Clock { peer, .. } => format!("the clock of {peer}"),
        Notice::Alarm(alarm) => format!("the alarm {} of {}", alarm.what.as_str(), alarm.peer),
        Notice::StrangerWaits(claimed) => format!("the stranger {}", certified(claimed)),
        Notice::RootChanged(claimed) => format!("another root of {}", certified(claimed)),
        Notice::RootSucceeded(claimed) => format!("the successor of {}", certified(claimed)),
        Notice::Revoked(revoked) => format!(
            "the revocation of {} of {}, up to serial {}",
            revoked.agent, revoked.principal, revoked.serial
        ),
        Notice::Pause(pause) => format!("the pause of {}", pause.principal),
        Notice::OverBudget { peer, .. } => format!("the budget of {peer}"),
        other => format!("{other:?}"),
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
