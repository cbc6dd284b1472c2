//! `/mcp`: both revisions over HTTP, each token within its scope.

use serde_json::{Value, json};
use signet_testkit::House;

use crate::client::{Answer, Gateway, three, token};
use crate::waits::at_once;

/// One session of the revision that has them.
pub(crate) struct Session<'a> {
    gateway: &'a Gateway,
    pub(crate) token: String,
    id: String,
}

impl<'a> Session<'a> {
    pub(crate) fn begin(gateway: &'a Gateway, token: &str) -> Self {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        let answer = gateway.post("/mcp", token, &hello.to_string());
        assert_eq!(answer.status, 200, "{}", answer.text());
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        assert_eq!(event(&answer)["result"]["protocolVersion"], "2025-11-25");
        let session = Self {
            gateway,
            token: token.to_owned(),
            id,
        };
        let begun = session.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(begun.status, 202);
        session
    }

    pub(crate) fn post(&self, body: &Value) -> Answer {
        self.post_as(&self.token, body)
    }

    fn post_as(&self, token: &str, body: &Value) -> Answer {
        let head = [
            "POST /mcp HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            "MCP-Protocol-Version: 2025-11-25",
            &format!("Mcp-Session-Id: {}", self.id),
            &format!("Authorization: Bearer {token}"),
        ];
        self.gateway.send(&head, body.to_string().as_bytes())
    }

    pub(crate) fn request(&self, method: &str, params: Value) -> Value {
        event(&self.post(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})))
    }

    pub(crate) fn tool(&self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": name, "arguments": arguments}))["result"].clone()
    }
}

/// The response in an answer, which is JSON or the last event of a stream.
pub(crate) fn event(answer: &Answer) -> Value {
    let text = answer.text();
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let last = data.rfind(|data| !data.trim().is_empty());
    serde_json::from_str(last.map_or(&text, |last| last))
        .unwrap_or_else(|_| panic!("{}: {text}", answer.status))
}

#[test]
fn a_session_asks_another_agent_and_the_answer_leaves_the_inbox() {
    let house = House::new();
    let [alice, bob, _] = three(&house);
    let gateway = Gateway::start(&alice, "");
    let token = token(&alice, "laptop", &["--requests-per-minute", "10000"]);
    let session = Session::begin(&gateway, &token);
    let tools = session.request("tools/list", json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 15);
    assert_eq!(
        session.tool("agent_status", json!({}))["structuredContent"]["agent"],
        alice.agent
    );
    let answered = std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            session.tool(
                "ask",
                json!({"agent": bob.agent, "body": {"week": 8}, "wait_seconds": 20}),
            )
        });
        let message = signet_testkit::eventually("it came", || {
            let all = bob.call("inbox.list", &json!({})).unwrap();
            let all = all["messages"].as_array().unwrap();
            all.iter()
                .find(|message| message["type"] == "request")
                .cloned()
        });
        bob.call(
            "respond",
            &json!({"message": {"message-id": message["message-id"]}, "body": {"free": true}}),
        )
        .unwrap();
        asked.join().unwrap()
    });
    let shown = &answered["structuredContent"];
    assert_eq!(
        shown["answer"]["untrusted"]["body"],
        json!({"free": true}),
        "{answered}"
    );
    signet_testkit::eventually("the answer has left the inbox", || {
        let all = alice.call("inbox.list", &json!({})).unwrap();
        (all["waiting"] == 0).then_some(())
    });
}

#[test]
fn twenty_asks_of_two_clients_each_keep_nobody_waiting_and_none_fails() {
    let house = House::new();
    let [alice, bob, _] = three(&house);
    let gateway = &Gateway::start(&alice, "[a2a]\n");
    let [one, two, third] = ["one", "two", "third"].map(|name| token(&alice, name, &[]));
    let clients = [&one, &two].map(|token| Session::begin(gateway, token));
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..20)
            .flat_map(|number| clients.iter().map(move |client| (client, number)))
            .map(|(client, number)| {
                // The calls of a session run at the same time, so each needs an id of its own: otherwise their answers
                // could not be told apart.
                let ask = json!({"jsonrpc": "2.0", "id": number + 10, "method": "tools/call", "params": {
                    "name": "ask", "arguments": {"agent": bob.agent, "body": number, "wait_seconds": 60}}});
                scope.spawn(move || (number, event(&client.post(&ask))))
            })
            .collect();
        let requests = signet_testkit::eventually("all forty came", || {
            let took = at_once(gateway, &third);
            assert!(took < std::time::Duration::from_secs(8), "{took:?}");
            let inbox = bob.inbox().into_iter();
            let requests: Vec<_> = inbox.filter(|came| came["type"] == "request").collect();
            (requests.len() == 40).then_some(requests)
        });
        for request in &requests {
            let reply =
                json!({"message": {"message-id": request["message-id"]}, "body": request["body"]});
            bob.call("respond", &reply).unwrap();
        }
        for answered in asked {
            let (number, answered) = answered.join().unwrap();
            let shown = &answered["result"]["structuredContent"];
            assert_eq!(shown["answer"]["untrusted"]["body"], number, "{answered}");
        }
    });
    assert_eq!(bob.inbox().len(), 0, "each was sent once");
}

#[test]
fn the_revision_without_sessions_is_served_as_well() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "");
    let token = token(&alice, "laptop", &[]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "agent_status", "arguments": {}, "_meta": meta}});
    let head = [
        "POST /mcp HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: agent_status",
        &format!("Authorization: Bearer {token}"),
    ];
    let answer = gateway.send(&head, call.to_string().as_bytes());
    let shown = event(&answer);
    assert_eq!(
        shown["result"]["structuredContent"]["agent"], alice.agent,
        "{shown}"
    );
    assert_eq!(answer.header("mcp-session-id"), None);
    let garbage = gateway.post("/mcp", &token, "{\"jsonrpc\":");
    assert_eq!(
        (garbage.status, garbage.json()["error"]["code"].clone()),
        (400, json!(-32700))
    );
}

#[test]
fn a_session_is_of_no_use_to_another_token() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "");
    let (one, two) = (token(&alice, "one", &[]), token(&alice, "two", &[]));
    let session = Session::begin(&gateway, &one);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    assert_eq!(session.post_as(&two, &list).status, 404);
    for method in ["GET", "DELETE"] {
        let line = format!("{method} /mcp HTTP/1.1");
        let head = [
            line.as_str(),
            "Host: localhost",
            "Accept: text/event-stream",
            &format!("Mcp-Session-Id: {}", session.id),
            &format!("Authorization: Bearer {two}"),
        ];
        assert_eq!(gateway.send(&head, b"").status, 404, "{method}");
    }
    assert_eq!(session.post(&list).status, 200, "it goes on for its own");
}

#[test]
fn a_session_that_its_own_client_ended_is_unknown_and_that_is_said_as_of_any_other() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let gateway = Gateway::start(&alice, "");
    let one = token(&alice, "one", &[]);
    let session = Session::begin(&gateway, &one);
    let end = || {
        let head = [
            "DELETE /mcp HTTP/1.1",
            "Host: localhost",
            "MCP-Protocol-Version: 2025-11-25",
            &format!("Mcp-Session-Id: {}", session.id),
            &format!("Authorization: Bearer {one}"),
        ];
        gateway.send(&head, b"")
    };
    assert_eq!(end().status, 204);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    for answer in [session.post(&list), end()] {
        assert_eq!(answer.status, 404);
        assert_eq!(answer.reason(), "session-unknown", "{}", answer.text());
    }
}

#[test]
fn a_token_that_looks_has_no_tool_that_sends_and_one_of_bob_knows_nobody_else() {
    let house = House::new();
    let [alice, bob, carol] = three(&house);
    let gateway = Gateway::start(&alice, "[mcp]\ntier = 1\n");
    let looks = token(&alice, "looks", &["--read"]);
    let session = Session::begin(&gateway, &looks);
    let tools = session.request("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    assert!(
        tools
            .iter()
            .all(|tool| tool["annotations"]["readOnlyHint"] == true),
        "{tools:?}"
    );
    let tell = json!({"agent": bob.agent, "body": 1});
    let refused = session.request("tools/call", json!({"name": "tell", "arguments": tell}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let of_bob = token(&alice, "of-bob", &["--peer", &bob.agent]);
    let session = Session::begin(&gateway, &of_bob);
    let agents = session.tool("list_agents", json!({}));
    let text = agents.to_string();
    assert!(
        text.contains(&bob.agent) && !text.contains(&carol.agent),
        "{text}"
    );
    let refused = session.tool("tell", json!({"agent": carol.agent, "body": 1}));
    assert_eq!(refused["isError"], true, "{refused}");
    let above = session.tool("tell", json!({"agent": bob.agent, "body": 1, "tier": 2}));
    assert!(above.to_string().contains("tier-withheld"), "{above}");
    // The tier of a token is set by `signet token make --tier`, within [mcp] of gateway.toml, and not by an option of
    // `signet gateway`: the error has to name these.
    let error = above["content"][0]["text"].as_str().unwrap();
    for named in ["this token", "signet token make NAME --tier", "under [mcp]"] {
        assert!(error.contains(named), "{named}: {above}");
    }
}
