//! The schemas say what the code says.

use std::collections::BTreeSet;

use jsonschema::{Registry, Validator};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use signet_json::{Limits, canonical, parse};
use signet_proto::entry::{
    Alarm, AlarmLine, AttemptLine, CauseLine, ClockLine, Did, Entry, Flood, HoleLine, LineVersion,
    LossLine, OutcomeLine, Tried,
};
use signet_proto::envelope::{Method, Unverified};
use signet_proto::handoff::{Report, TaskState};
use signet_proto::headers::{Headers, MessageType, Tier};
use signet_proto::ids::{Digest, SessionId};
use signet_proto::node::{Content, Sending};
use signet_proto::policy::{BodySchema, Capability, Policy, is_report};
use signet_proto::reject::Reason;
use signet_proto::schema;

use crate::forge::{headers, message};
use crate::generated::{items, keep_between};
use crate::household::net::Net;
use crate::household::sealing::{agent, introduce, secret};
use crate::household::{self, Agent, at, identity, settle};

pub(crate) fn source(name: &str) -> Value {
    parse(schema::text(name).unwrap().as_bytes(), Limits::LINE).unwrap()
}

pub(crate) fn compile(schema: &Value) -> Validator {
    let (common, message) = (source("common"), source("message"));
    let registry = Registry::new()
        .add("urn:signet:1:common", &common)
        .unwrap()
        .add("urn:signet:1:message", &message)
        .unwrap()
        .prepare()
        .unwrap();
    let options = jsonschema::options().with_registry(&registry);
    options.build(schema).unwrap()
}

fn assert_fits(validator: &Validator, value: &Value) {
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|e| e.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new(), "{value}");
}

#[test]
fn every_schema_is_draft_2020_12_and_compiles() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas")).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: BTreeSet<String> = files
        .filter_map(|file| file.strip_suffix(".schema.json").map(str::to_owned))
        .collect();
    assert!(files.remove("api"), "the crate of the calls has that one");
    let names = schema::ALL.iter().map(|(name, _)| (*name).to_owned());
    assert_eq!(names.collect::<BTreeSet<_>>(), files);
    for (name, _) in schema::ALL.iter() {
        let schema = source(name);
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        assert_eq!(schema["$id"], format!("urn:signet:1:{name}"));
        assert!(
            jsonschema::draft202012::meta::validate(&schema).is_ok(),
            "{name}"
        );
        compile(&schema);
    }
}

#[test]
fn the_schema_of_reasons_is_the_table() {
    let names = Reason::ALL.iter().map(|reason| reason.name());
    let (start, end) = ("  \"enum\": [", "\n  ]");
    keep_between("schemas/reason.schema.json", start, end, &items(names, 4));
}

#[test]
fn the_methods_of_the_schema_are_those_of_the_table() {
    let names = Method::ALL.iter().map(|method| method.as_str());
    let (start, end) = ("\"method\": {\n      \"enum\": [", "\n      ]");
    keep_between("schemas/message.schema.json", start, end, &items(names, 8));
}

#[test]
fn codes_are_standard_or_our_own_and_our_own_are_used_once() {
    let mut seen = BTreeSet::new();
    for reason in Reason::ALL {
        match reason.code() {
            -32700 | -32603..=-32600 => {}
            code => {
                assert!((-32099..=-32050).contains(&code), "{reason}: {code}");
                assert!(seen.insert(code), "{reason}: {code} has two meanings");
            }
        }
        assert_eq!(reason.name().parse(), Ok(*reason));
        assert!(reason.check().starts_with('V') && reason.text().ends_with('.'));
    }
}

/// Offers a door that opens with a key, and grants so many calls a minute.
fn doorkeeper() -> Policy {
    let mut door = Capability::new("door.open".parse().unwrap(), Tier::Household);
    door.description = Some("Opens the door".into());
    door.schema = Some(BodySchema::compile(br#"{"required": ["key"]}"#).unwrap());
    Policy {
        capabilities: vec![door],
        messages_per_minute: Some(120),
        ..Policy::default()
    }
}

/// A whole conversation: handshake, request, answer, refusal, ping, receipts, strangers, a restart.
fn conversation() -> (Agent, Agent) {
    let mut alice = Agent::new("agent-alice", "alice");
    let mut bob = Agent::with(|| (identity("agent-bob", "bob"), doorkeeper()));
    alice.knows(&bob);
    bob.knows(&alice);
    let content = |capability: Option<&str>| Content {
        body: json!({"week": "2026-W07"}),
        summary: Some("Asks for free evenings".into()),
        capability: capability.map(|name| name.parse().unwrap()),
        data_tier: Some(Tier::Household),
        ..Content::default()
    };
    let mut names = Vec::new();
    for (ms, sending) in [
        (0, Sending::Request(content(None))),
        (10, Sending::Request(content(Some("door.open")))),
        (20, Sending::Notification(content(None))),
        (30, Sending::Ping),
    ] {
        let sent = alice
            .node
            .turn(at(ms))
            .sent()
            .send(&bob.id(), sending)
            .unwrap();
        let (name, outcome) = (sent.id, sent.outcome);
        let effects = alice.keep(at(ms), outcome);
        settle(at(ms), &mut [&mut alice, &mut bob], effects);
        names.push(name);
    }
    let answer = Ok(content(None));
    let (_, outcome) = bob
        .node
        .turn(at(40))
        .sent()
        .reply(None, names[0], answer)
        .unwrap();
    let effects = bob.keep(at(40), outcome);
    settle(at(40), &mut [&mut alice, &mut bob], effects);
    hand_work_over(&mut alice, &mut bob);
    let taken = [(alice.id(), names[2])];
    let outcome = bob.node.turn(at(50)).inbox().acknowledge(&taken).unwrap();
    bob.keep(at(50), outcome);
    bob.hear(at(60), b"[1, 2");
    for ms in [2_000, 5_000] {
        let effects = bob.tick(at(ms));
        settle(at(ms), &mut [&mut alice, &mut bob], effects);
        let effects = alice.tick(at(ms));
        settle(at(ms), &mut [&mut alice, &mut bob], effects);
    }
    let effects = bob.restart(at(9_000));
    settle(at(9_000), &mut [&mut alice, &mut bob], effects);
    (alice, bob)
}

/// One task is taken, reported and completed; another is declined.
fn hand_work_over(alice: &mut Agent, bob: &mut Agent) {
    for end in [Some(TaskState::Completed), None] {
        let handing = household::tasks::handing("Find an evening");
        let sending = Sending::Handoff(Box::new(handing));
        let sent = alice
            .node
            .turn(at(42))
            .sent()
            .send(&bob.id(), sending)
            .unwrap();
        let (offer, outcome) = (sent.id, sent.outcome);
        let effects = alice.keep(at(42), outcome);
        settle(at(42), &mut [alice, bob], effects);
        let mut tasks = alice.node.tasks().iter();
        let task = tasks.find(|task| task.offer == offer).unwrap().id();
        drop(tasks);
        let mut outcomes = vec![match end {
            Some(_) => bob.node.turn(at(44)).tasks().accept(task).unwrap().1,
            None => {
                bob.node
                    .turn(at(44))
                    .tasks()
                    .decline(task, "no".into())
                    .unwrap()
                    .1
            }
        }];
        for state in end.into_iter().flat_map(|end| [TaskState::Working, end]) {
            let report = Report {
                task,
                state,
                note: Some("half of it".into()),
                result: Some(json!({"evening": "Tue"})),
            };
            outcomes.push(bob.node.turn(at(46)).tasks().report(report).unwrap().1);
        }
        for outcome in outcomes {
            let effects = bob.keep(at(46), outcome);
            settle(at(46), &mut [alice, bob], effects);
        }
    }
}

#[test]
fn every_message_of_a_conversation_fits_its_schemas() {
    let (alice, bob) = conversation();
    let message_schema = compile(&source("message"));
    let mut methods = BTreeSet::new();
    for (_, entry) in alice.log.iter().chain(&bob.log) {
        let Entry::Message(verdict) = entry else {
            continue;
        };
        let Some(message) = verdict.message() else {
            continue;
        };
        let value = parse(message.canonical(), Limits::MESSAGE).unwrap();
        assert_fits(&message_schema, &value);
        assert!(Unverified::parse(message.canonical()).is_ok());
        let method = message.form.method().map_or("an answer", Method::as_str);
        methods.insert(method);
        let name = method.strip_prefix("agent.");
        if let Some(name) = name.filter(|name| schema::text(name).is_some()) {
            assert_fits(&compile(&source(name)), &value["params"]["body"]);
        }
        if is_report(message) {
            assert_fits(&compile(&source("task")), &value["params"]["body"]);
            methods.insert("a report");
        }
    }
    let expected = [
        "a report",
        "agent.announce",
        "agent.capability",
        "agent.handoff",
        "agent.notification",
        "agent.receipt",
        "agent.request",
        "agent.trust",
        "agent.verify",
        "an answer",
    ];
    assert_eq!(methods, BTreeSet::from(expected));
}

/// The lines of a sealed draft, of the message that it became, and of its arrival.
fn sealed_lines() -> Vec<Entry> {
    let mut agents = vec![agent("agent-alice", "alice"), agent("agent-bob", "bob")];
    introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.send(0, 1, Sending::Request(secret()));
    net.run_for(5_000);
    let entries = net.agents.into_iter().flat_map(|agent| agent.log);
    entries.map(|(_, entry)| entry).collect()
}

#[test]
fn every_line_of_a_log_fits_its_schema() {
    let (alice, bob) = conversation();
    let more = [
        Entry::Genesis(alice.certificate()),
        Entry::Clock(ClockLine {
            peer: alice.id(),
            difference_ms: -90_000,
        }),
        Entry::Flood(Flood {
            count: 3,
            bytes: 99,
            hash: Digest([1; 32]),
        }),
        Entry::Gap(CauseLine {
            cause: "the disk was full".into(),
        }),
        Entry::Rebuilt(CauseLine {
            cause: "the state is damaged".into(),
        }),
        Entry::Loss(LossLine {
            line: 7,
            hash: Digest([3; 32]),
        }),
        Entry::Hole(HoleLine {
            peer: alice.id(),
            session: SessionId(Digest([2; 32])),
            from: 3,
            to: 4,
        }),
        Entry::Attempt(AttemptLine {
            peer: Some(alice.id()),
            reason: "capability-not-granted".into(),
            count: 1,
            tried: Some(Tried {
                message_type: MessageType::Request,
                tier: 3,
                capability: "door.open".parse().ok(),
                conversation: "dinner-1".parse().ok(),
            }),
            call: None,
        }),
        Entry::Attempt(AttemptLine {
            peer: None,
            reason: "budget-exceeded".into(),
            count: 900,
            tried: None,
            call: None,
        }),
        Entry::Attempt(AttemptLine {
            peer: None,
            reason: "not-for-this-socket".into(),
            count: 3,
            tried: None,
            call: Some("trust.replace-root".into()),
        }),
        Entry::Outcome(OutcomeLine {
            peer: alice.id(),
            message_id: household::forger::name(1),
            what: Did::Failed,
            tries: 5,
            reason: Some("exit status 1".into()),
        }),
        Entry::Outcome(OutcomeLine {
            peer: alice.id(),
            message_id: household::forger::name(2),
            what: Did::Failed,
            tries: 0,
            reason: Some("cannot be run: not found".into()),
        }),
    ];
    let alarms = [
        Alarm::SecondCopy,
        Alarm::Restored,
        Alarm::PeerRestored,
        Alarm::SequenceReuse,
        Alarm::LogLost,
        Alarm::LogChanged,
    ];
    let alarms = alarms.map(|what| {
        Entry::Alarm(AlarmLine {
            peer: alice.id(),
            what,
            cleared: what == Alarm::Restored,
        })
    });
    let lines = compile(&source("audit-line"));
    let mut kinds = BTreeSet::new();
    let entries = alice.log.iter().chain(&bob.log).map(|(_, entry)| entry);
    let sealed = sealed_lines();
    assert!(sealed.iter().any(|entry| entry.kind() == "draft"));
    for (entry, seq) in entries.chain(&more).chain(&alarms).chain(&sealed).zip(1..) {
        for version in [LineVersion::V1, LineVersion::V2] {
            assert_fits(&lines, &line_of(entry, version, seq));
        }
        // A line with members that only version 2 has must not fit the schema as a line of version 1.
        let mut line = line_of(entry, LineVersion::V2, seq);
        let has_more = line != relabelled(&line_of(entry, LineVersion::V1, seq), 2);
        line = relabelled(&line, 1);
        assert_eq!(lines.is_valid(&line), !has_more, "{line}");
        kinds.insert(entry.kind());
    }
    let all = [
        "alarm", "attempt", "clock", "draft", "flood", "gap", "genesis", "handoff", "hole", "loss",
        "message", "outcome", "rebuilt", "trust",
    ];
    assert_eq!(kinds, BTreeSet::from(all));
}

fn line_of(entry: &Entry, version: LineVersion, seq: u64) -> Value {
    let (v, now, prev) = (version.number(), at(0).now, "0".repeat(64));
    let frame = format!("{{\"v\":{v},\"seq\":{seq},\"ts\":\"{now}\",\"prev\":\"{prev}\",");
    let mut line = frame.into_bytes();
    entry.write_as(version, &mut line);
    line.push(b'}');
    parse(&line, Limits::LINE).unwrap()
}

fn relabelled(line: &Value, version: u64) -> Value {
    let mut line = line.clone();
    line["v"] = version.into();
    line
}

fn odd() -> impl Strategy<Value = Value> {
    let texts = [
        "",
        "a",
        "-a",
        "A",
        "agent-bob",
        "a_b",
        "a\n",
        "2026-02-08T17:00:00Z",
        "2026-02-08t17:00:00Z",
        "2026-02-08T17:00:00z",
        "2026-02-08T24:00:00Z",
        "2026-02-08T23:59:60Z",
        "2026-13-01T00:00:00Z",
        "2026-02-08T17:00:00.Z",
        "2026-02-08T17:00:00.1234567890Z",
        "2026-02-08T17:00:00+00:00",
        "1969-12-31T23:59:59Z",
        "2262-01-01T00:00:00Z",
        "1.0.0",
        "1.0",
        "01.0.0",
        "10000.0.0",
        "request",
        "response",
        "Request",
        "calendar.free-busy",
        ".a",
        "talk:1",
        "talk 1",
        "019c3e32-2680-72c6-aa7a-5dd70c314661",
        "019C3E32-2680-72C6-AA7A-5DD70C314661",
        "019c3e32-2680-42c6-aa7a-5dd70c314661",
        "019c3e32-2680-72c6-ca7a-5dd70c314661",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB",
        "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "ed25519:AAAA",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ];
    prop_oneof![
        prop::sample::select(texts.to_vec()).prop_map(Value::from),
        "[a-z0-9-]{60,66}".prop_map(Value::from),
        "[A-Za-z0-9._:-]{125,131}".prop_map(Value::from),
        prop::sample::select(vec![-1_i64, 0, 1, 2, 3, 4, 5, 255, 256, (1 << 53) - 1])
            .prop_map(Value::from),
        Just(json!(1.5)),
        Just(json!(1e300)),
        Just(json!(null)),
        Just(json!(true)),
        Just(json!([])),
        Just(json!([0, 15])),
        Just(json!([16])),
        Just(json!([1, 1])),
        Just(json!({})),
        Just(json!([-1])),
        prop::collection::vec(0_u8..16, 0..18).prop_map(Value::from),
    ]
}

const NAMES: [&str; 20] = [
    "agent-id",
    "principal-id",
    "timestamp",
    "message-type",
    "trust-layer-version",
    "skill-layers-loaded",
    "recipient-id",
    "message-id",
    "expires-at",
    "key-id",
    "session",
    "sequence",
    "data-tier",
    "capability",
    "conversation-id",
    "in-reply-to",
    "audit-head",
    "hops",
    "signature",
    "x",
];

fn good() -> Map<String, Value> {
    let alice = identity("agent-alice", "alice");
    headers(&mut message(&alice, "agent-bob", Method::Request, "m", 0)).clone()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn parser_and_schema_agree_on_headers(
        changes in prop::collection::vec((prop::sample::select(NAMES.to_vec()), prop::option::weighted(0.9, odd())), 0..4)
    ) {
        thread_local! {
            static SCHEMA: (Validator, Map<String, Value>) =
                (compile(&json!({"$ref": "urn:signet:1:message#/$defs/headers"})), good());
        }
        SCHEMA.with(|(schema, good)| {
            let mut members = good.clone();
            for (name, value) in changes {
                match value {
                    Some(value) => members.insert(name.to_owned(), value),
                    None => members.remove(name),
                };
            }
            // Through the strict parser, as on the wire: it refuses 1e300 and integers beyond 2^53.
            let bytes = canonical(&Value::Object(members));
            let Ok(value) = parse(&bytes, Limits::MESSAGE) else { return Ok(()) };
            let parsed = Headers::parse(value.as_object().unwrap());
            prop_assert_eq!(schema.is_valid(&value), parsed.is_ok(), "{}: {:?}", value, parsed);
            if let Ok(parsed) = parsed {
                let again = Headers::parse(parsed.to_value().as_object().unwrap());
                prop_assert_eq!(again, Ok(parsed));
            }
            Ok(())
        })?;
    }
}
