//! JSON-RPC 2.0 as it may and may not come from the network.

use serde_json::{Value, json};
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::envelope::{Form, Method, Unverified};
use signet_proto::ids::Version;
use signet_proto::reject::Reason;

use crate::forge::{self, envelope, headers, id, message, read, sign};
use crate::household::{alice_and_bob, at, identity};

const CASES: &str = include_str!("../vectors/jsonrpc/cases.json");

fn alice() -> Identity {
    identity("agent-alice", "alice")
}

fn shape(bytes: &[u8]) -> Result<Form, Reason> {
    Unverified::parse(bytes)
        .map(|unverified| unverified.claims().form.clone())
        .map_err(|unparsed| unparsed.reason)
}

/// What each case's `policy` comes to on the network, where every message is an envelope: forms
/// that plain JSON-RPC would take carry no identity here, and are refused on shape.
const EXPECTED: [(&str, Reason); 30] = [
    ("positional params", Reason::InvalidShape),
    ("positional response", Reason::InvalidShape),
    ("named params", Reason::InvalidShape),
    ("named params, other order", Reason::InvalidShape),
    ("notification", Reason::InvalidShape),
    ("notification no params", Reason::InvalidShape),
    ("method not found", Reason::InvalidShape),
    ("method not found response", Reason::InvalidShape),
    ("invalid JSON", Reason::MalformedJson),
    ("parse error response", Reason::InvalidShape),
    ("invalid request object", Reason::InvalidShape),
    ("invalid request response", Reason::InvalidShape),
    ("batch, invalid JSON", Reason::MalformedJson),
    ("empty batch", Reason::BatchUnsupported),
    ("batch of 1 invalid", Reason::BatchUnsupported),
    ("batch of 3 invalid", Reason::BatchUnsupported),
    ("batch", Reason::BatchUnsupported),
    ("batch all notifications", Reason::BatchUnsupported),
    ("both result and error", Reason::InvalidShape),
    ("method and result", Reason::InvalidShape),
    ("wrong version", Reason::InvalidShape),
    ("version as number", Reason::InvalidShape),
    ("id fraction", Reason::InvalidShape),
    ("id null", Reason::InvalidShape),
    ("id object", Reason::InvalidShape),
    ("reserved rpc. method", Reason::InvalidShape),
    ("duplicate id member", Reason::DuplicateName),
    ("duplicate through escape", Reason::DuplicateName),
    ("BOM", Reason::ByteOrderMark),
    ("trailing data", Reason::MalformedJson),
];

#[test]
fn every_bare_case_is_refused_on_shape_and_answered_by_nothing() {
    let document: Value = serde_json::from_str(CASES).unwrap();
    let groups = ["spec_examples", "own_cases"].map(|name| document[name].as_array().unwrap());
    let cases: Vec<_> = groups.into_iter().flatten().collect();
    assert_eq!(cases.len(), EXPECTED.len());
    let (_, mut bob) = alice_and_bob();
    for (case, (name, expected)) in cases.iter().zip(EXPECTED) {
        let text = case["text"].as_str().unwrap();
        assert_eq!(case["name"], name);
        assert_eq!(shape(text.as_bytes()), Err(expected), "{name}");
        assert!(bob.hear(at(0), text.as_bytes()).is_empty(), "{name}");
        if let Some((_, code)) = case["policy"].as_str().unwrap().split_once("reject -") {
            let code: i64 = code[..5].parse().unwrap();
            assert_eq!(expected.code(), -code, "{name}");
        }
    }
    assert_eq!(bob.refusals().len(), EXPECTED.len());
}

#[test]
fn an_array_around_a_good_message_is_a_batch() {
    let good = sign(
        message(&alice(), "agent-bob", Method::Request, "m", 0),
        &alice().signing,
    );
    assert!(shape(&good).is_ok());
    let batch = [b"[", &good[..], b"]"].concat();
    assert_eq!(shape(&batch), Err(Reason::BatchUnsupported));
}

/// The three forms of one answer's parts, to be mixed.
fn parts() -> (Value, Value, Value) {
    let stamp = Stamp {
        now: at(0).now,
        session: None,
        sequence: None,
        audit_head: None,
        version: Version::CURRENT,
    };
    let make = |form: Form, reply: bool| {
        let mut draft = Draft::call(
            Method::Request,
            forge::recipient("agent-bob"),
            id("m"),
            json!(1),
        );
        draft.in_reply_to = reply.then(|| id("m"));
        draft.form = form;
        read(draft.sign(&alice(), stamp).unwrap().bytes())
    };
    let failure = Form::Failure {
        code: -32091,
        message: "no".into(),
        reason: "declined".into(),
    };
    (
        make(Form::Call(Method::Request), false),
        make(Form::Success, true),
        make(failure, true),
    )
}

/// Each subset of method, params, result and error beside an `id`: three of them are forms.
#[test]
fn a_message_is_a_call_or_a_result_or_an_error_and_never_two() {
    let (call, success, failure) = parts();
    let members = [
        ("method", &call["method"]),
        ("params", &call["params"]),
        ("result", &success["result"]),
        ("error", &failure["error"]),
    ];
    for subset in 1..16_u8 {
        for with_id in [true, false] {
            let mut mixed = json!({"jsonrpc": "2.0"});
            if with_id {
                mixed["id"] = call["id"].clone();
            }
            for (bit, (name, member)) in members.iter().enumerate() {
                if subset >> bit & 1 == 1 {
                    mixed[*name] = (*member).clone();
                }
            }
            let verdict = shape(&signet_json::canonical(&mixed));
            match (subset, with_id) {
                (0b0011 | 0b0100 | 0b1000, true) => assert!(verdict.is_ok(), "{mixed}"),
                // Without its `id` a call has the shape of a notification, but its method, `agent.request`, is none.
                (0b0011, false) => assert_eq!(verdict, Err(Reason::MessageTypeMismatch)),
                _ => assert_eq!(verdict, Err(Reason::InvalidShape), "{mixed}"),
            }
        }
    }
}

#[test]
fn ids_belong_to_calls_and_answers_alone() {
    let key = alice().signing;
    let mut told = message(&alice(), "agent-bob", Method::Notification, "m", 0);
    told["id"] = id("m").to_string().into();
    assert_eq!(shape(&sign(told, &key)), Err(Reason::MessageTypeMismatch));
    let mut asked = message(&alice(), "agent-bob", Method::Request, "m", 0);
    asked["id"] = id("another").to_string().into();
    assert_eq!(shape(&sign(asked, &key)), Err(Reason::IdMismatch));
    for odd in [json!(1), json!(null), json!("1"), json!([]), json!(1.5)] {
        let mut asked = message(&alice(), "agent-bob", Method::Request, "m", 0);
        asked["id"] = odd;
        assert_eq!(shape(&sign(asked, &key)), Err(Reason::InvalidShape));
    }
    let (_, mut answer, _) = parts();
    answer["id"] = id("another").to_string().into();
    assert_eq!(shape(&sign(answer, &key)), Err(Reason::IdMismatch));
    let (_, mut orphan, _) = parts();
    headers(&mut orphan).remove("in-reply-to");
    assert_eq!(shape(&sign(orphan, &key)), Err(Reason::HeaderMissing));
}

#[test]
fn an_error_code_is_an_integer_however_it_is_spelt() {
    for (code, taken) in [
        ("-32091", true),
        ("-32091.0", true),
        ("-3.2091e4", true),
        ("0", true),
        ("1.5", false),
        ("1e300", false),
        ("\"-32091\"", false),
        ("null", false),
        ("true", false),
    ] {
        let (_, _, failure) = parts();
        let bytes = sign(failure, &alice().signing);
        let text = String::from_utf8(bytes).unwrap();
        let changed = text.replace("\"code\":-32091", &format!("\"code\":{code}"));
        let verdict = shape(changed.as_bytes());
        if taken {
            assert!(
                matches!(verdict, Ok(Form::Failure { .. })),
                "{code}: {verdict:?}"
            );
        } else {
            assert_eq!(verdict, Err(Reason::InvalidShape), "{code}");
        }
    }
}

/// Shape (V03) comes before the headers (V04), whatever else is wrong.
#[test]
fn a_fault_of_shape_outranks_a_fault_of_a_header() {
    let key = alice().signing;
    let faulty = |change: &dyn Fn(&mut Value)| {
        let mut value = message(&alice(), "agent-bob", Method::Request, "m", 0);
        headers(&mut value).insert("data-tier".into(), json!(9));
        assert_eq!(
            shape(&sign(value.clone(), &key)),
            Err(Reason::HeaderInvalid)
        );
        change(&mut value);
        shape(&sign(value, &key))
    };
    let shapes: [&dyn Fn(&mut Value); 4] = [
        &|value| value["jsonrpc"] = json!("1.0"),
        &|value| value["params"]["summary"] = json!(7),
        &|value| value["extra"] = json!(7),
        &|value| drop(envelope(value).remove("body")),
    ];
    for change in shapes {
        assert_eq!(faulty(change), Err(Reason::InvalidShape));
    }
    let method = faulty(&|value| value["method"] = json!("agent.unheard"));
    assert_eq!(method, Err(Reason::MethodNotFound));
    // Shape includes the body of a flight or a receipt: a request's body under the method of a flight is refused for
    // it.
    let flight = faulty(&|value| value["method"] = json!("agent.announce"));
    assert_eq!(flight, Err(Reason::InvalidShape));
}
