//! `schemas/openapi.json`: what the listener serves, for tools that read OpenAPI 3.1. It is made from the limits of the inbox
//! and from the table of the calls.

use serde_json::{Map, Value, json};
use signet_api::{Call, Role};

use signet_testkit::House;

use crate::client::{Answer, Gateway, token};
use crate::framing::{LONGEST_BODY, LONGEST_ENVELOPE, MOST_ENVELOPES};

#[test]
fn the_description_for_openapi_is_what_the_code_says() {
    let generated = format!("{:#}\n", generate());
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/openapi.json");
    if std::env::var_os("SIGNET_WRITE_GENERATED").is_some() {
        std::fs::write(kept, &generated).unwrap();
        return;
    }
    assert!(
        generated == std::fs::read_to_string(kept).unwrap(),
        "schemas/openapi.json is not what the code says; `make generated` writes it anew"
    );
}

#[test]
fn every_call_of_the_agent_is_described_and_no_other() {
    let description = generate();
    let methods =
        description["components"]["schemas"]["request"]["properties"]["method"]["examples"].clone();
    let described: Vec<String> = serde_json::from_value(methods).unwrap();
    let agents = Call::METHODS
        .iter()
        .filter(|method| Role::Agent.may_use(method.whose));
    assert_eq!(
        described,
        agents
            .map(|method| method.name.to_owned())
            .collect::<Vec<_>>()
    );
    assert!(
        !described
            .iter()
            .any(|name| name.starts_with("carrier.") || name.starts_with("trust."))
    );
}

#[test]
fn no_reference_leads_nowhere() {
    let description = generate();
    let (mut open, mut found) = (vec![&description], 0);
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                if let Some(to) = members.get("$ref").and_then(Value::as_str) {
                    assert!(
                        description.pointer(to.strip_prefix('#').unwrap()).is_some(),
                        "{to}"
                    );
                    found += 1;
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    assert!(found > 20, "{found} references");
}

#[test]
fn every_address_of_the_description_is_served_and_asks_for_a_token_where_it_says_so() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let key = token(&alice, "reader", &[]);
    let gateway = Gateway::start(&alice, "[a2a]\nenabled = true\n");
    let ask = |method: &str, path: &str, key: Option<&str>| -> Answer {
        let mut head = vec![
            format!("{} {path} HTTP/1.1", method.to_uppercase()),
            "Host: localhost".to_owned(),
            "Content-Type: application/json".to_owned(),
            "Accept: application/json, text/event-stream".to_owned(),
        ];
        head.extend(key.map(|key| format!("Authorization: Bearer {key}")));
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        gateway.send(&head, b"{}")
    };
    let is_nothing = |answer: &Answer| {
        let said = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
        answer.status == 405 || said["error"]["reason"] == "nothing-here"
    };
    let description = generate();
    let mut asked = 0;
    for (path, operations) in description["paths"].as_object().unwrap() {
        // The inbox is served only with [inbox] and the daemon's carrier.sock, which this gateway lacks.
        if path.contains("/inbox") {
            continue;
        }
        let place = path.replace("{peer}", "agent-bob");
        let operations = operations.as_object().unwrap().iter();
        for (method, operation) in operations.filter(|(name, _)| *name != "parameters") {
            let is_open = operation["security"] == json!([]);
            let (without, with) = (ask(method, &place, None), ask(method, &place, Some(&key)));
            assert_eq!(
                without.status == 401,
                !is_open,
                "{method} {path}: {without:?}"
            );
            assert!(!is_nothing(&with), "{method} {path}: {with:?}");
            asked += 1;
        }
        assert!(is_nothing(&ask("put", &place, Some(&key))), "{path}");
    }
    assert!(asked > 10, "{asked}");
    assert!(is_nothing(&ask("post", "/nowhere", Some(&key))));
}

fn generate() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "signet-gateway: an agent over HTTP",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The rooms of the listener. It is off by default and on loopback by default; docs/gateway.md says \
                how to switch it on. Every route but the agent's own card and the inbox asks for a token or a certificate.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:8787", "description": "The default of gateway.toml." }],
        "security": [{ "token": [] }, { "certificate": [] }],
        "tags": [
            { "name": "carrier", "description": "HTTP as a carrier of signed envelopes." },
            { "name": "calls", "description": "The calls of the agent as JSON-RPC 2.0." },
            { "name": "a2a", "description": "Trusted peers as A2A agents, of A2A 1.0 and 0.3." },
            { "name": "mcp", "description": "The tools of the agent by MCP over streamable HTTP." },
        ],
        "paths": paths(),
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "Made by `signet token make`." },
                "certificate": { "type": "mutualTLS", "description": "A certificate of `client-ca` that the file of the tokens names." },
            },
            "headers": {
                "retry-after": { "description": "Seconds to wait.", "schema": { "type": "integer", "minimum": 1 } },
            },
            "responses": responses(),
            "schemas": schemas(),
        },
    })
}

fn paths() -> Value {
    let peer = || {
        json!([{ "name": "peer", "in": "path", "required": true, "description": "The agent-id of a peer.",
            "schema": { "type": "string", "maxLength": 128 } }])
    };
    let rpc = |id: &str, tag: &str, summary: &str, result: &str| {
        json!({
            "operationId": id, "tags": [tag], "summary": summary,
            "requestBody": { "required": true, "content": { "application/json": { "schema": { "$ref": format!("#/components/schemas/{result}") } } } },
            "responses": {
                "200": { "$ref": "#/components/responses/answered" },
                "204": { "description": "A notification, or a batch of them." },
                "400": { "$ref": "#/components/responses/refused" },
                "401": { "$ref": "#/components/responses/refused" },
                "413": { "$ref": "#/components/responses/refused" },
                "415": { "$ref": "#/components/responses/refused" },
                "429": { "$ref": "#/components/responses/later" },
                "503": { "$ref": "#/components/responses/later" },
            },
        })
    };
    let card = |id: &str, summary: &str, open: bool| {
        let mut card = json!({
            "operationId": id, "tags": ["a2a"], "summary": summary,
            "responses": {
                "200": { "description": "The card.", "content": { "application/json": { "schema": { "type": "object" } } } },
                "404": { "$ref": "#/components/responses/refused" },
            },
        });
        if open {
            card["security"] = json!([]);
        }
        card
    };
    let mut paths = Map::new();
    let mut path = |place: &str, item: Value| paths.insert(place.to_owned(), item);
    path(
        "/agent/{id}/inbox",
        json!({ "parameters": id(), "post": inbox() }),
    );
    path(
        "/rpc",
        json!({ "post": rpc("call", "calls", "A call of the agent, or a batch; A2A's methods too", "request") }),
    );
    // `/a2a/` is served like `/a2a`, but paths of a description have no slash at their end: describe `/a2a` alone.
    for (place, id) in [("/", "askDefault"), ("/a2a", "askDefaultA2a")] {
        path(
            place,
            json!({ "post": rpc(id, "a2a", "A2A with the default peer", "request") }),
        );
    }
    let ask = rpc("ask", "a2a", "A2A with that peer", "request");
    path("/a2a/{peer}", json!({ "parameters": peer(), "post": ask }));
    for (place, id) in [
        ("/.well-known/agent-card.json", "card"),
        ("/.well-known/agent.json", "cardOf03"),
        ("/a2a/.well-known/agent-card.json", "cardA2a"),
        ("/a2a/.well-known/agent.json", "cardOf03A2a"),
    ] {
        path(
            place,
            json!({ "get": card(id, "The card of this agent", true) }),
        );
    }
    let keys = card("keys", "The keys that cards are signed with", true);
    path("/.well-known/jwks.json", json!({ "get": keys }));
    for (place, id) in [
        ("/a2a/{peer}/.well-known/agent-card.json", "peerCard"),
        ("/a2a/{peer}/.well-known/agent.json", "peerCardOf03"),
    ] {
        let shown = "The card of a peer, where the configuration shows it";
        path(
            place,
            json!({ "parameters": peer(), "get": card(id, shown, false) }),
        );
    }
    path(
        "/mcp",
        mcp(&rpc("mcp", "mcp", "A message of MCP", "request")),
    );
    Value::Object(paths)
}

/// MCP over streamable HTTP: messages, the stream of a session, and its end.
fn mcp(post: &Value) -> Value {
    let session = json!([{ "name": "Mcp-Session-Id", "in": "header", "required": true,
        "description": "What the answer to `initialize` named.", "schema": { "type": "string" } }]);
    json!({
        "post": post,
        "get": {
            "operationId": "mcpStream", "tags": ["mcp"], "summary": "What a session is told", "parameters": session,
            "responses": {
                "200": { "$ref": "#/components/responses/answered" },
                "404": { "$ref": "#/components/responses/refused" },
            },
        },
        "delete": {
            "operationId": "mcpEnd", "tags": ["mcp"], "summary": "Ends a session", "parameters": session,
            "responses": {
                "202": { "description": "It has ended." },
                "404": { "$ref": "#/components/responses/refused" },
            },
        },
    })
}

fn id() -> Value {
    json!([{ "name": "id", "in": "path", "required": true, "description": "The agent-id of this agent.",
        "schema": { "type": "string", "maxLength": 128 } }])
}

fn inbox() -> Value {
    json!({
        "operationId": "handIn", "tags": ["carrier"], "security": [],
        "summary": "Hands in signed envelopes",
        "description": format!(
            "One envelope of at most {LONGEST_ENVELOPE} bytes, or an array of at most {MOST_ENVELOPES}, in a body of at most \
             {LONGEST_BODY} bytes. The answer is the same whatever was found out about them; it comes once the daemon has ruled."
        ),
        "requestBody": { "required": true, "content": { "application/json": { "schema": { "oneOf": [
            { "$ref": "#/components/schemas/envelope" },
            { "type": "array", "maxItems": MOST_ENVELOPES, "items": { "$ref": "#/components/schemas/envelope" } },
        ] } } } },
        "responses": {
            "200": {
                "description": "What is kept for the peer that a poll has proved its sender to be.",
                "content": { "application/json": { "schema": { "type": "array", "items": { "$ref": "#/components/schemas/envelope" } } } },
            },
            "202": { "description": "Taken, whatever was found out about it." },
            "404": { "description": "No agent of that name is here." },
            "408": { "description": "The body came too slowly." },
            "413": { "description": "Too large, or too many." },
            "415": { "description": "No JSON, or packed." },
            "429": { "$ref": "#/components/responses/later" },
            "503": { "$ref": "#/components/responses/later" },
        },
    })
}

fn responses() -> Value {
    json!({
        "answered": {
            "description": "An answer, or an array of the answers to a batch; a stream of them where the method gives one.",
            "content": {
                "application/json": { "schema": { "oneOf": [
                    { "$ref": "#/components/schemas/response" },
                    { "type": "array", "items": { "$ref": "#/components/schemas/response" } },
                ] } },
                "text/event-stream": { "schema": { "type": "string" } },
            },
        },
        "refused": { "description": "Refused, and what to do about it." },
        "later": {
            "description": "Too much at once; later it is taken.",
            "headers": { "Retry-After": { "$ref": "#/components/headers/retry-after" } },
        },
    })
}

fn schemas() -> Value {
    let agents = Call::METHODS
        .iter()
        .filter(|method| Role::Agent.may_use(method.whose));
    let methods: Vec<&str> = agents.map(|method| method.name).collect();
    json!({
        "envelope": {
            "type": "object",
            "description": "A signed message of signet/1 (schemas/message.schema.json): its bytes count as they are.",
            "required": ["jsonrpc"],
            "properties": { "jsonrpc": { "const": "2.0" } },
        },
        "request": {
            "type": "object",
            "description": "A request of JSON-RPC 2.0 (schemas/api.schema.json has the parameters of each call of the agent), or \
                of A2A or MCP.",
            "required": ["jsonrpc", "method"],
            "properties": {
                "jsonrpc": { "const": "2.0" },
                "method": { "type": "string", "examples": methods },
                "params": { "type": ["object", "array"] },
                "id": { "type": ["string", "number", "null"] },
            },
        },
        "response": {
            "type": "object",
            "required": ["jsonrpc", "id"],
            "properties": {
                "jsonrpc": { "const": "2.0" },
                "id": { "type": ["string", "number", "null"] },
                "result": true,
                "error": {
                    "type": "object",
                    "required": ["code", "message"],
                    "properties": { "code": { "type": "integer" }, "message": { "type": "string" }, "data": true },
                },
            },
        },
    })
}
