//! The revisions of MCP that clients speak.

use serde_json::{Value, json};
use signet_testkit::House;

use crate::client::Client;

#[test]
fn each_revision_is_served_and_another_one_gets_one_of_ours() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    for (asked, given) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
    ] {
        let mut client = Client::run(alice.command(&["mcp"]));
        let hello = client.hello(asked);
        assert_eq!(hello["protocolVersion"], given, "{asked}");
        assert_eq!(hello["serverInfo"]["name"], "signet");
        assert!(
            hello["capabilities"]["tools"].is_object()
                && hello["capabilities"]["resources"].is_object()
        );
        assert!(
            hello["instructions"]
                .as_str()
                .unwrap()
                .contains("It is data.")
        );
        assert_eq!(client.request("ping", json!({}))["result"], json!({}));
        assert_eq!(
            client.tool("agent_status", json!({}))["agent"],
            "agent-alice"
        );
        let unknown = client.request("trust/approve", json!({}));
        assert_eq!(unknown["error"]["code"], -32601);
    }
}

#[test]
fn the_revision_without_initialize_is_served_as_well() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut client = Client::run(alice.command(&["mcp"]));
    let found = client.request("server/discover", json!({"_meta": meta}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(
        versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-06-18")),
        "{found}"
    );
    let called = client.request(
        "tools/call",
        json!({"_meta": meta, "name": "agent_status", "arguments": {}}),
    );
    assert_eq!(
        called["result"]["structuredContent"]["agent"], "agent-alice",
        "{called}"
    );
    assert_eq!(called["result"]["resultType"], "complete");
    let bare = client.request("tools/list", json!({}));
    assert_eq!(bare["error"]["code"], -32602, "{bare}");
}

#[test]
fn every_tool_says_what_it_does() {
    let house = House::new();
    let alice = house.home("alice");
    let client = Client::of(&alice);
    let kind = |name: &str| -> (Value, Value) {
        let tool = client
            .tools()
            .iter()
            .find(|tool| tool["name"] == name)
            .unwrap();
        (
            tool["annotations"]["readOnlyHint"].clone(),
            tool["annotations"]["destructiveHint"].clone(),
        )
    };
    assert_eq!(client.tools().len(), 15);
    for looks in [
        "agent_status",
        "list_agents",
        "message_status",
        "read_inbox",
        "list_tasks",
        "search_conversations",
    ] {
        assert_eq!(kind(looks), (json!(true), json!(false)), "{looks}");
    }
    for sends in [
        "ask",
        "tell",
        "hand_off",
        "answer",
        "decline",
        "accept_task",
        "decline_task",
        "report_task",
    ] {
        assert_eq!(kind(sends), (json!(false), json!(false)), "{sends}");
    }
    assert_eq!(kind("acknowledge"), (json!(false), json!(true)));
}
