//! `schemas/audit-line.schema.json` is what the table of kinds says.
// This lint forbids to touch files in this crate. A test here has to write a schema to its file, so the lint is off.
#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;

use crate::envelope::{Class, Method};
use crate::headers::MessageType;
use serde_json::json;
use signet_json::{Map, Value};

/// The members of a kind of line, as its schema has them.
#[derive(Default)]
pub(super) struct LineShape {
    members: Map<String, Value>,
    required: Vec<&'static str>,
    /// Of version 1 alone, and mandatory there.
    first: Vec<&'static str>,
    /// Of version 2 alone.
    second: Vec<&'static str>,
    /// Those of them that are mandatory.
    required_in_second: Vec<&'static str>,
    /// What a line says besides its kind, where its kind alone does not tell it apart.
    when: Map<String, Value>,
}

impl LineShape {
    /// A mandatory member.
    pub(super) fn with(mut self, name: &'static str, schema: Value) -> Self {
        self.required.push(name);
        self.maybe(name, schema)
    }

    /// A member that may be absent.
    pub(super) fn maybe(mut self, name: &'static str, schema: Value) -> Self {
        self.members.insert(name.to_owned(), schema);
        self
    }

    /// A member of version 2 that may be absent.
    pub(super) fn maybe_later(mut self, name: &'static str, schema: Value) -> Self {
        self.second.push(name);
        self.maybe(name, schema)
    }

    /// A mandatory member of version 2.
    pub(super) fn later(self, name: &'static str, schema: Value) -> Self {
        self.maybe_later(name, schema).required_later(name)
    }

    /// A member that is there already is mandatory in version 2.
    pub(super) fn required_later(mut self, name: &'static str) -> Self {
        self.required_in_second.push(name);
        self
    }

    /// The message-id, under the name of either version.
    pub(super) fn message_id(mut self) -> Self {
        self.first.push("message-id");
        self.maybe("message-id", common("uuid"))
            .later("id", common("uuid"))
    }

    /// What a line of version 2 repeats of the message in it.
    pub(super) fn derived(self) -> Self {
        let methods = Method::ALL.iter().filter(|method| method.leaves_a_line());
        let methods: Vec<&str> = methods.map(|method| method.as_str()).collect();
        let classes = "application: agents say it to each other; control: handshake, receipts, people's orders.";
        let answers = "The message-id of the request that it answers.";
        self.maybe_later(
            "class",
            json!({"description": classes, "enum": [Class::Application.as_str(), Class::Control.as_str()]}),
        )
        .maybe_later("method", json!({"enum": methods}))
        .maybe_later(
            "conversation",
            json!({"description": "The conversation-id.", "type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"}),
        )
        .maybe_later("in-reply-to", about(answers, common("uuid")))
    }

    /// Lines whose member is so, and no others of their kind, look so.
    pub(super) fn when(mut self, name: &str, schema: Value) -> Self {
        self.when.insert(name.to_owned(), schema);
        self
    }

    fn of(self, kind: &str) -> Value {
        let mut when = self.when;
        when.insert("kind".to_owned(), json!({"const": kind}));
        let mut then = json!({"required": self.required, "properties": self.members});
        if !self.second.is_empty() {
            let none = |names: &[&str]| -> Map<String, Value> {
                names
                    .iter()
                    .map(|name| ((*name).to_owned(), false.into()))
                    .collect()
            };
            then["if"] = json!({"properties": {"v": {"const": 1}}});
            then["then"] = json!({"required": self.first, "properties": none(&self.second)});
            then["else"] =
                json!({"required": self.required_in_second, "properties": none(&self.first)});
        }
        json!({"if": {"properties": when}, "then": then})
    }
}

/// A part of `common.schema.json`.
pub(super) fn common(name: &str) -> Value {
    json!({"$ref": format!("urn:signet:1:common#/$defs/{name}")})
}

/// With a sentence for people.
pub(super) fn about(text: &str, mut schema: Value) -> Value {
    schema["description"] = text.into();
    schema
}

/// Either that or null.
pub(super) fn or_null(schema: Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

pub(super) fn at_least(least: u64) -> Value {
    json!({"type": "integer", "minimum": least})
}

pub(super) fn boolean() -> Value {
    json!({"type": "boolean"})
}

pub(super) fn integer() -> Value {
    json!({"type": "integer"})
}

pub(super) fn direction() -> Value {
    json!({"enum": ["in", "out"]})
}

pub(super) fn message_type() -> Value {
    let all = [
        MessageType::Request,
        MessageType::Response,
        MessageType::Notification,
        MessageType::Handoff,
    ];
    json!({"enum": all.map(MessageType::as_str)})
}

pub(super) fn copy() -> Value {
    let text = "What is sealed in the message, sealed once more for the agent's own person.";
    about(text, common("sealed"))
}

/// The whole schema. The lines of the chain itself are the log's: no entry stands behind them.
fn generate() -> Value {
    let open = LineShape::default()
        .with("previous", text())
        .with("sha256", common("hash-hex"))
        .maybe("checkpoint-key", common("key"));
    let chain = ["open", "close", "recovery"];
    let rows = super::shapes();
    let kinds: Vec<&str> = super::Entry::kinds().into_iter().chain(chain).collect();
    let mut all: Vec<Value> = rows
        .into_iter()
        .map(|(kind, shape)| shape.of(kind))
        .collect();
    all.push(open.of("open"));
    let key = "In a draft line: the tag of the key that the agent's program gave with the call, spelt as a key-id.";
    let carrier = json!({
        "description": "What carried the message, where it was not NATS.",
        "type": "string",
        "pattern": "^[a-z][a-z0-9-]{0,31}$",
    });
    all.push(json!({
        "if": {"properties": {"v": {"const": 1}}},
        "then": {
            "description": "What only version 2 has.",
            "properties": {"client-key": false, "carrier": false},
        },
        "else": {"properties": {"client-key": about(key, common("key-id")), "carrier": carrier}},
    }));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:signet:1:audit-line",
        "title": "signet/1: a line of the log",
        "description": "One line of audit/<agent-id>/inter-agent-YYYY-MM.jsonl. Version 1 is read, and written no more.",
        "type": "object",
        "required": ["v", "seq", "ts", "prev", "kind"],
        "properties": {
            "v": {"enum": [1, 2]},
            "seq": at_least(1),
            "ts": common("timestamp"),
            "prev": common("hash-hex"),
            "kind": {"enum": kinds},
        },
        "allOf": all,
    })
}

#[test]
fn the_schema_of_log_lines_is_what_the_table_of_kinds_says() {
    let generated = format!("{:#}\n", generate());
    let path = ["audit-line.schema.json"];
    let folder = [env!("CARGO_MANIFEST_DIR"), "../../schemas"];
    let kept: PathBuf = folder.iter().chain(&path).collect();
    if std::env::var_os("SIGNET_WRITE_GENERATED").is_some() {
        std::fs::write(kept, &generated).unwrap();
        return;
    }
    assert!(
        generated == std::fs::read_to_string(kept).unwrap(),
        "schemas/audit-line.schema.json is not what the code says; `make generated` writes it anew"
    );
}
