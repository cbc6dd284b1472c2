//! `schemas/openapi.json`: the addresses of `signet-gateway`, for tools that read OpenAPI 3.1. It is made here, of a table
//! and of the schema of the calls, and held against a gateway that runs.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use signet_testkit::House;

use super::client::{Gateway, token};

/// One address: the table of the description.
struct Address {
    path: &'static str,
    /// `get`, `post` or `delete`.
    method: &'static str,
    name: &'static str,
    summary: &'static str,
    /// Whether it is asked without a token.
    open: bool,
    takes: Takes,
    /// Statuses and what they say; those of every address stand in [`COMMON`].
    says: &'static [(u16, &'static str)],
}

/// What a request carries.
#[derive(Clone, Copy)]
enum Takes {
    Nothing,
    Rpc,
    A2a,
    Mcp,
    Envelopes,
}

const fn post(path: &'static str, name: &'static str, summary: &'static str, takes: Takes, says: Said) -> Address {
    Address { path, method: "post", name, summary, open: false, takes, says }
}

const fn get(path: &'static str, name: &'static str, summary: &'static str, open: bool, says: Said) -> Address {
    Address { path, method: "get", name, summary, open, takes: Takes::Nothing, says }
}

type Said = &'static [(u16, &'static str)];

const ANSWERED: Said = &[
    (200, "The answer of JSON-RPC, or a stream of them as server-sent events."),
    (204, "It was a notification, which wants no answer."),
];
const A2A: Said = &[(200, "The answer of JSON-RPC; server-sent events for what is streamed.")];
const CARD: Said = &[(200, "The card."), (304, "The caller has it already.")];

const ADDRESSES: &[Address] = &[
    post("/rpc", "rpc", "The calls of the agent's socket, within the token's scope; A2A methods as well", Takes::Rpc, ANSWERED),
    post("/", "a2aDefault", "A2A 1.0 and 0.3, to the peer that the configuration names", Takes::A2a, A2A),
    post("/a2a", "a2aHere", "The same", Takes::A2a, A2A),
    post("/a2a/{peer}", "a2aPeer", "A2A 1.0 and 0.3, to one peer", Takes::A2a, A2A),
    get("/.well-known/agent-card.json", "ownCard", "This agent's card", true, CARD),
    get("/.well-known/agent.json", "ownOldCard", "The same in the form of A2A 0.3", true, CARD),
    get("/.well-known/jwks.json", "cardKeys", "The public key that signs cards (RFC 7517)", true, &[(200, "The keys."), (404, "No card is signed here.")]),
    get("/a2a/{peer}/.well-known/agent-card.json", "peersCard", "A peer's card, where the configuration shows them", false, CARD),
    get("/a2a/{peer}/.well-known/agent.json", "peersOldCard", "The same in the form of A2A 0.3", false, CARD),
    post("/mcp", "mcp", "MCP over streamable HTTP: revisions 2026-07-28 and 2025-11-25", Takes::Mcp, &[(200, "The answer, or a stream of events."), (202, "It wanted no answer.")]),
    Address {
        path: "/agent/{agent}/inbox",
        method: "post",
        name: "inbox",
        summary: "Where others' gateways hand in signed messages for this agent",
        open: true,
        takes: Takes::Envelopes,
        says: &[
            (202, "Taken, whatever it was found to be: verified and forged hear the same."),
            (200, "To a caller that has proved to be the peer: what waits for it."),
            (503, "The daemon cannot be reached, or there is no room."),
        ],
    },
];

/// What the listener says at every address before a room sees the request.
const COMMON: Said = &[
    (400, "The request is no HTTP that the listener takes."),
    (413, "The body is too large."),
    (415, "The content type is another."),
    (421, "The header Host names none of this listener's names."),
    (429, "Too much at once: Retry-After says when to come again."),
];

#[test]
fn the_description_for_openapi_is_what_the_table_says() {
    let generated = format!("{:#}\n", generate());
    if std::env::var_os("SIGNET_WRITE_SCHEMA").is_some() {
        std::fs::write(path(), &generated).unwrap();
        return;
    }
    assert!(
        generated == std::fs::read_to_string(path()).unwrap(),
        "schemas/openapi.json is not what the table says; SIGNET_WRITE_SCHEMA=1 with this test writes it anew"
    );
}

#[test]
fn every_address_of_the_description_is_there_and_asks_for_a_token_where_it_says_so() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let key = token(&alice, "reader", &[]);
    let gateway = Gateway::start(&alice, "[a2a]\nenabled = true\n[inbox]\nenabled = true\n");
    for address in ADDRESSES {
        let path = address.path.replace("{peer}", "agent-bob").replace("{agent}", "agent-alice");
        let ask = |method: &str, key: Option<&str>| {
            let mut head = vec![
                format!("{method} {path} HTTP/1.1"),
                "Host: localhost".to_owned(),
                "Content-Type: application/json".to_owned(),
                "Accept: application/json, text/event-stream".to_owned(),
            ];
            head.extend(key.map(|key| format!("Authorization: Bearer {key}")));
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            gateway.send(&head, b"{}")
        };
        let method = address.method.to_uppercase();
        let (without, with) = (ask(&method, None), ask(&method, Some(&key)));
        assert_eq!(without.status == 401, !address.open, "{method} {path}: {without:?}");
        let known = address.says.iter().chain(COMMON).any(|(status, _)| *status == with.status);
        assert!(known, "{method} {path} answers {} to a token", with.status);
        let other = if method == "GET" { "POST" } else { "PUT" };
        let other = ask(other, Some(&key));
        assert!([404, 405].contains(&other.status), "{path}: {other:?}");
    }
}

fn path() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../schemas/openapi.json"].iter().collect()
}

fn generate() -> Value {
    let mut paths = Map::new();
    for address in ADDRESSES {
        paths.insert(address.path.to_owned(), json!({ address.method: operation(address) }));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "signet-gateway: foreign protocols at an agent that speaks signed messages",
            "version": "1.1.0",
            "description": DESCRIPTION,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:8420", "description": "The listener where nothing else is configured." }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "A token of `signet token make`; or a client certificate, where the configuration says so." },
            },
            "schemas": schemas(),
        },
    })
}

fn operation(address: &Address) -> Value {
    let statuses = address.says.iter().chain(COMMON);
    let unknown = [(401, "There is no token, or none that holds."), (403, "The token does not reach that far.")];
    let unknown = unknown.iter().filter(|_| !address.open);
    let mut responses = Map::new();
    for (status, description) in statuses.chain(unknown) {
        let mut said = json!({ "description": description });
        if *status >= 400 {
            let refusal = json!({ "$ref": "#/components/schemas/refusal" });
            said["content"] = json!({ "application/json": { "schema": refusal } });
        }
        responses.insert(status.to_string(), said);
    }
    let mut operation = json!({
        "operationId": address.name,
        "summary": address.summary,
        "responses": responses,
    });
    if address.open {
        operation["security"] = json!([]);
    }
    let named = ["peer", "agent"].into_iter().filter(|name| address.path.contains(&format!("{{{name}}}")));
    let parameters: Vec<Value> = named
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "$ref": "#/components/schemas/agent-id" } }))
        .collect();
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    let schema = match address.takes {
        Takes::Nothing => return operation,
        Takes::Rpc => "call-or-batch",
        Takes::A2a | Takes::Mcp => "json-rpc",
        Takes::Envelopes => "envelopes",
    };
    let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
    operation["requestBody"] = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    operation
}

/// The calls as the schema of the daemon's sockets has them, and what is not theirs.
fn schemas() -> Value {
    let mut api: Value = serde_json::from_str(signet_api::SCHEMA).unwrap();
    let members = api.as_object_mut().unwrap();
    for name in ["$schema", "$id"] {
        members.remove(name);
    }
    let definitions = members.remove("$defs").unwrap();
    let mut schemas = definitions.as_object().unwrap().clone();
    schemas.insert("call".to_owned(), api);
    let mut schemas = Value::Object(schemas);
    refer(&mut schemas);
    schemas["call-or-batch"] = json!({
        "anyOf": [
            { "$ref": "#/components/schemas/call" },
            { "type": "array", "minItems": 1, "items": { "$ref": "#/components/schemas/call" } },
        ],
    });
    schemas["json-rpc"] = json!({
        "description": "One request of JSON-RPC 2.0.",
        "type": "object",
        "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": { "const": "2.0" },
            "method": { "type": "string" },
            "params": {},
            "id": { "type": ["string", "number", "null"] },
        },
    });
    schemas["envelopes"] = json!({
        "description": "A signed message as schemas/asyncapi.json describes it, or several as an array: mere framing.",
        "anyOf": [{ "type": "object" }, { "type": "array", "minItems": 1, "items": { "type": "object" } }],
    });
    schemas["agent-id"] = json!({ "type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,62}$" });
    schemas["refusal"] = json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["reason", "message", "next"],
                "properties": {
                    "reason": { "type": "string", "description": "A name for programs." },
                    "message": { "type": "string", "description": "What is wrong." },
                    "next": { "type": "string", "description": "What to do about it." },
                },
            },
        },
    });
    schemas
}

fn refer(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get_mut("$ref") {
                *to = to.replace("#/$defs/", "#/components/schemas/");
            }
            members.values_mut().for_each(refer);
        }
        Value::Array(items) => items.iter_mut().for_each(refer),
        _ => {}
    }
}

const DESCRIPTION: &str = "What `signet gateway` serves: strict JSON-RPC 2.0, A2A 1.0 and 0.3, MCP, and HTTP as a \
    carrier of signed messages. Each can be switched off in gateway.toml (docs/gateway.md). Nothing here signs or opens \
    messages: the daemon behind the agent's socket does.";
