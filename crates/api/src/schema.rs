//! `schemas/api.schema.json` is what the types say.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::call::{Effect, schemas};
use crate::{ApiError, CARRIER_PARCEL, CarriedParcel, Message, Moved, Reason};

impl JsonSchema for Reason {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Reason".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text =
            "The stable name of a refusal: one of the daemon's own, or a reason of the protocol.";
        let meanings = Self::OWN.iter().zip(Self::MEANINGS);
        let meanings: Map<String, Value> = meanings
            .map(|(name, text)| ((*name).to_owned(), text.trim().into()))
            .collect();
        let own = json!({"enum": Self::OWN, "x-meanings": meanings});
        let protocol = json!({"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"});
        schemars::json_schema!({"description": text, "anyOf": [own, protocol]})
    }
}

/// The whole schema: one request of each call, with its answer beside it.
fn generate() -> Value {
    let settings = SchemaSettings::draft2020_12();
    let mut generator = settings.into_generator();
    let lines = schemas(&mut generator);
    let calls: Vec<Value> = lines
        .into_iter()
        .map(|(method, params, result)| {
            let effect = match method.effect {
                Effect::Shows => "shows",
                Effect::Changes => "changes",
            };
            json!({
                "title": method.name,
                "type": "object",
                "required": ["jsonrpc", "method"],
                "properties": {
                    "jsonrpc": {"const": "2.0"},
                    "method": {"const": method.name},
                    "params": params,
                    "id": {"type": ["string", "number", "null"]},
                },
                "x-result": result,
                "x-whose": method.whose.as_str(),
                "x-effect": effect,
            })
        })
        .collect();
    let error = generator.subschema_for::<ApiError>();
    let message = generator.subschema_for::<Message>();
    let moved = generator.subschema_for::<Moved>();
    let parcel = generator.subschema_for::<CarriedParcel>();
    let definitions: Map<String, Value> = generator.take_definitions(true);
    let calls: Vec<Value> = calls
        .into_iter()
        .map(|call| with_params(call, &definitions))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:signet:1:api",
        "title": "signet: calls of the daemon's sockets",
        "description": DESCRIPTION,
        "oneOf": calls,
        "x-error": error,
        "x-notifications": {
            "inbox.message": message,
            "conversation.message": message,
            "message.progress": message,
            "message.moved": moved,
            CARRIER_PARCEL: parcel,
        },
        "$defs": definitions,
    })
}

/// Parameters of which one is mandatory are mandatory themselves.
fn with_params(mut call: Value, definitions: &Map<String, Value>) -> Value {
    let reference = call
        .pointer("/properties/params/$ref")
        .and_then(Value::as_str);
    let name = reference.and_then(|reference| reference.strip_prefix("#/$defs/"));
    let takes = name.and_then(|name| definitions.get(name)?.get("required"));
    if takes.is_some() {
        call["required"] = json!(["jsonrpc", "method", "params"]);
    }
    call
}

const DESCRIPTION: &str = "One request, a line of JSON-RPC 2.0. `x-result` is what its answer holds in `result`; \
    `x-error` what a refusal holds in `error`; `x-whose` says whose call it is (a person may use every call) \
    and `x-effect` whether it changes anything. `x-notifications` are told after `inbox.follow`, `subscribe` and `carrier.attach`.";

#[test]
fn the_schema_of_the_api_is_what_the_types_say() {
    let generated = format!("{:#}\n", generate());
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/api.schema.json");
    if std::env::var_os("SIGNET_WRITE_GENERATED").is_some() {
        std::fs::write(kept, &generated).unwrap();
        return;
    }
    assert!(
        generated == crate::SCHEMA,
        "schemas/api.schema.json is not what the types say; `make generated` writes it anew"
    );
}

#[test]
fn the_schema_of_the_api_is_draft_2020_12_and_tells_calls_apart() {
    let schema: Value = serde_json::from_str(crate::SCHEMA).unwrap();
    assert!(jsonschema::draft202012::meta::validate(&schema).is_ok());
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let call = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let send =
        json!({"peer": "agent-bob-001", "kind": "request", "body": {"week": 7}, "wait": 1.5});
    for (method, params) in [
        ("send", send),
        ("status", json!({})),
        ("inbox.list", json!({"after": 3})),
        (
            "handoff.report",
            json!({"task": "t", "state": "completed", "result": [1]}),
        ),
    ] {
        assert!(validator.is_valid(&call(method, params)), "{method}");
    }
    for (method, params) in [
        ("send", json!({"peer": "agent-bob-001"})),
        ("send", json!({"peer": "agent-bob-001", "kind": "order"})),
        ("status", json!({"x": 1})),
        ("trust.everybody", json!({})),
    ] {
        assert!(!validator.is_valid(&call(method, params)), "{method}");
    }
    let nothing = |method: &str| json!({"jsonrpc": "2.0", "id": 1, "method": method});
    assert!(validator.is_valid(&nothing("status")) && !validator.is_valid(&nothing("peer.show")));
}
