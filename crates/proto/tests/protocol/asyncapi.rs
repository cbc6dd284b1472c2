//! `schemas/asyncapi.json`: what goes over NATS, for tools that read AsyncAPI 3.0. It is made from the methods, the
//! schemas and the limits of this crate.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use signet_json::Limits;
use signet_proto::carrier::inbox_subject;
use signet_proto::envelope::Method;
use signet_proto::ids::AgentId;
use signet_proto::schema;

use crate::generated::keep;

#[test]
fn the_description_for_asyncapi_is_what_the_code_says() {
    let generated = format!("{:#}\n", generate());
    keep("schemas/asyncapi.json", &generated);
}

#[test]
fn every_message_of_the_description_judges_as_the_schemas_do() {
    let description = generate();
    let messages = description["components"]["messages"].as_object().unwrap();
    assert_eq!(messages.len(), Method::ALL.len() + 2);
    let directory = path().with_file_name("../vectors/accepted");
    let mut seen = 0;
    for file in std::fs::read_dir(directory).unwrap() {
        let vector: Value =
            serde_json::from_slice(&std::fs::read(file.unwrap().path()).unwrap()).unwrap();
        let message: Value = serde_json::from_str(vector["input"].as_str().unwrap()).unwrap();
        let name = match message["method"].as_str() {
            Some(method) => method.replace("agent.", ""),
            None if message.get("error").is_some() => "refusal".to_owned(),
            None => "answer".to_owned(),
        };
        for (other, described) in messages {
            let payload = json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "components": description["components"],
                "$ref": described["payload"]["schema"]["$ref"],
            });
            let validator = jsonschema::draft202012::new(&payload).unwrap();
            assert_eq!(
                validator.is_valid(&message),
                *other == name,
                "{other}: {message}"
            );
        }
        seen += 1;
    }
    assert!(seen >= 10, "{seen} vectors were read");
}

#[test]
fn no_reference_leads_out_of_the_description() {
    let description = generate();
    let mut open = vec![&description];
    let mut found = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                if let Some(to) = members.get("$ref").and_then(Value::as_str) {
                    let pointer = to.strip_prefix('#').unwrap_or_else(|| panic!("{to}"));
                    assert!(description.pointer(pointer).is_some(), "{to}");
                    found += 1;
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    assert!(found > 100, "{found} references");
}

fn path() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../schemas/asyncapi.json"]
        .iter()
        .collect()
}

fn generate() -> Value {
    let calls = Method::ALL
        .iter()
        .map(|method| (name_of(*method), call(*method)));
    let answers = [
        (
            "answer".to_owned(),
            answer("result", "An answer to a request or a ping."),
        ),
        (
            "refusal".to_owned(),
            answer("error", "A refusal, with its reason."),
        ),
    ];
    let said = calls.chain(answers);
    let (mut messages, mut schemas) = (Map::new(), Map::new());
    for (name, (summary, schema)) in said {
        let reference = format!("#/components/schemas/message-{name}");
        let message = json!({
            "name": name,
            "summary": summary,
            "contentType": "application/json",
            "payload": { "schemaFormat": FORMAT, "schema": { "$ref": reference } },
        });
        messages.insert(name.clone(), message);
        schemas.insert(format!("message-{name}"), schema);
    }
    for (name, text) in schema::ALL
        .iter()
        .filter(|(name, _)| !["audit-line", "invitation"].contains(name))
    {
        schemas.insert(
            (*name).to_owned(),
            within(name, serde_json::from_str(text).unwrap()),
        );
    }
    let names: Vec<&String> = messages.keys().collect();
    let of_channel: Map<String, Value> = names
        .iter()
        .map(|name| {
            (
                (*name).clone(),
                json!({ "$ref": format!("#/components/messages/{name}") }),
            )
        })
        .collect();
    let of_operation: Vec<Value> = names
        .iter()
        .map(|name| json!({ "$ref": format!("#/channels/inbox/messages/{name}") }))
        .collect();
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "signet: signed messages between agents, over NATS",
            "version": "1.1.0",
            "description": DESCRIPTION,
            "license": { "name": "Apache-2.0" },
        },
        "defaultContentType": "application/json",
        "servers": {
            "nats": {
                "host": "localhost:4222",
                "protocol": "nats",
                "description": "The household's NATS server; with JetStream, whose stream AGENT_INBOX is the mailbox.",
            },
        },
        "channels": {
            "inbox": {
                "address": subject(),
                "title": "The inbox of an agent",
                "description": inbox(),
                "parameters": {
                    "agentId": { "description": "The agent-id of the recipient, such as agent-bob-001." },
                },
                "messages": of_channel,
            },
        },
        "operations": {
            "receive": {
                "action": "receive",
                "title": "An agent reads its own inbox, and nobody else's",
                "channel": { "$ref": "#/channels/inbox" },
                "messages": of_operation,
            },
            "send": {
                "action": "send",
                "title": "An agent writes into the inbox of another; answers go to the asker's inbox",
                "channel": { "$ref": "#/channels/inbox" },
                "messages": of_operation,
            },
        },
        "components": { "messages": messages, "schemas": schemas },
    })
}

/// A call: the schema of every message, the method's own name, and the schema of its body.
fn call(method: Method) -> (&'static str, Value) {
    let mut params = json!({});
    if let Some(body) = method.body().schema() {
        let reference = json!({ "$ref": format!("#/components/schemas/{body}") });
        params = json!({ "properties": { "body": reference } });
    }
    let own = json!({
        "required": ["method"],
        "properties": { "method": { "const": method.as_str() }, "params": params },
    });
    (
        method.text(),
        json!({ "allOf": [{ "$ref": MESSAGE }, own] }),
    )
}

fn answer(member: &str, summary: &'static str) -> (&'static str, Value) {
    let schema = json!({ "allOf": [{ "$ref": MESSAGE }, { "required": [member] }] });
    (summary, schema)
}

fn name_of(method: Method) -> String {
    method.as_str().replace("agent.", "")
}

/// A schema of ours as a part of the description: its references lead to the parts beside it.
fn within(name: &str, mut schema: Value) -> Value {
    if let Some(members) = schema.as_object_mut() {
        members.remove("$schema");
        members.remove("$id");
    }
    refer(&mut schema, name);
    schema
}

fn refer(value: &mut Value, name: &str) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get_mut("$ref") {
                *to = match to.strip_prefix("urn:signet:1:") {
                    Some(other) => format!("#/components/schemas/{}", other.replace('#', "")),
                    None => format!("#/components/schemas/{name}{}", to.replace('#', "")),
                };
            }
            members.values_mut().for_each(|member| refer(member, name));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| refer(item, name)),
        _ => {}
    }
}

fn subject() -> String {
    let agent: AgentId = "agent-id".parse().unwrap();
    inbox_subject(&agent).replace("agent-id", "{agentId}")
}

fn inbox() -> String {
    format!(
        "One signet message a NATS message, at most {} KiB. NATS headers and the reply subject are ignored.",
        Limits::MESSAGE.bytes / 1024
    )
}

const MESSAGE: &str = "#/components/schemas/message";
const FORMAT: &str = "application/schema+json;version=draft-2020-12";
const DESCRIPTION: &str = "Every message is one JSON-RPC 2.0 call or answer with a signed envelope, for one recipient. \
    docs/protocol.md says the rest: the canonical form and its signature, the handshake, sessions, receipts, and the \
    twelve checks. A schema says less than they do.";
