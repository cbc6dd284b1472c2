//! What mutations begin with: the inputs of all vectors, and a message of every method and payload in a canonical spelling.

use std::path::Path;

use serde_json::{Value, json};
use signet_json::{Limits, canonical, parse};
use signet_proto::envelope::{BodyForm, Method};

use crate::forge;
use crate::household::identity;

/// Bodies of every kind of value, and strings of every kind of character.
fn bodies() -> [Value; 6] {
    [
        json!({"event": "appointment", "where": {"floor": 2, "street": "Lindenweg 4"}, "notes": ["bring the key", 0.5, -1, null]}),
        json!(null),
        json!(
            "\u{1f600} \u{e9} e\u{301} \u{7f} \u{2028} \u{0} \u{1f} \u{8} \n \r \t \u{c} \" \\ /"
        ),
        json!([[], {}, [[[]]], {"\u{ffff}": 1, "\u{10000}": 2, "\u{e000}": 3, "": 4, "\"": 5}]),
        json!([
            1e21,
            1e-7,
            5e-324,
            0.1,
            9_007_199_254_740_991_i64,
            -9_007_199_254_740_991_i64,
            true,
            false
        ]),
        json!(7),
    ]
}

/// A notification with that body.
pub fn with_body(body: Value) -> Value {
    let alice = identity("agent-alice", "alice");
    let mut message = forge::in_session(&alice, "agent-bob", Method::Notification, "a", 5, None);
    message["params"]["body"] = body;
    let signed = forge::sign(message, &alice.signing);
    forge::read(&signed)
}

/// Every one of them, in the same order at each call.
pub fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let mut inputs = Vec::new();
    for kind in ["accepted", "refused"] {
        let files = std::fs::read_dir(folder.join(kind)).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        for file in files {
            let vector: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            let text = vector["input"].as_str().map(str::as_bytes);
            // Some are as long as an input may be at all: mutations of those would take all the time.
            inputs.extend(text.filter(|text| text.len() < 20_000).map(<[u8]>::to_vec));
        }
    }
    inputs.extend(bodies().map(with_body).map(|message| canonical(&message)));
    for body in [
        json!({}),
        json!({"after": "019c3e32-2680-796c-ad5b-e8d08a12e7b5"}),
    ] {
        let mut poll = with_body(body);
        poll["method"] = Method::Poll.as_str().into();
        inputs.push(canonical(&poll));
    }
    let told: Vec<_> = inputs.iter().filter_map(|bytes| in_clear(bytes)).collect();
    inputs.extend(told);
    inputs
}

/// Progress, which in the vectors stands in tier 2, and successes with every kind of body.
fn in_clear(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut message = parse(bytes, Limits::MESSAGE).ok()?;
    let method = message.get("method").and_then(Value::as_str);
    let sealable = method
        .and_then(|name| name.parse::<Method>().ok())
        .is_some_and(|method| matches!(method.body(), BodyForm::Sealable(_)));
    let place = if message.get("result").is_some() {
        "result"
    } else {
        "params"
    };
    if !sealable && place == "params" {
        return None;
    }
    let [body, ..] = bodies();
    let envelope = message.get_mut(place)?.as_object_mut()?;
    envelope.remove("sealed");
    envelope.entry("body").or_insert(body);
    envelope.insert("summary".into(), "Wie geht's? \u{2028}\"\\\n".into());
    Some(canonical(&message))
}
