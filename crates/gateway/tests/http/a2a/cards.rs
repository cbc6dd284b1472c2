//! Cards, in each form, and whose there are.

use serde_json::{Value, json};

use super::client::{BOB, Scene, call};

fn no_empty_value(value: &Value, path: &str) {
    match value {
        Value::String(text) => assert!(!text.is_empty(), "{path}"),
        Value::Array(items) => items.iter().for_each(|item| no_empty_value(item, path)),
        Value::Object(members) => {
            for (name, value) in members {
                no_empty_value(value, &format!("{path}.{name}"));
            }
        }
        _ => {}
    }
}

#[test]
fn the_own_card_is_for_readers_of_both_versions_and_comes_with_a_tag() {
    let scene = Scene::new("");
    let reply = scene.gateway.get("/.well-known/agent-card.json", "");
    let card = reply.json();
    let base = format!("http://{}/a2a", scene.gateway.address);
    assert_eq!(card["name"], "agent-alice");
    assert_eq!(
        (
            &card["url"],
            &card["protocolVersion"],
            &card["preferredTransport"]
        ),
        (&json!(base), &json!("0.3.0"), &json!("JSONRPC"))
    );
    let interfaces: Vec<_> = card["supportedInterfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["protocolVersion"])
        .collect();
    assert_eq!(interfaces, ["1.0", "0.3"]);
    assert!(
        !card.to_string().contains("agent-bob"),
        "a card for everybody names no peer"
    );
    // Nobody proves here who they are.
    assert_eq!(card["supportsAuthenticatedExtendedCard"], false, "{card}");
    assert!(
        card["capabilities"].get("extendedAgentCard").is_none(),
        "{card}"
    );
    no_empty_value(&card, "");
    for name in ["etag", "last-modified", "cache-control"] {
        assert!(reply.header(name).is_some(), "{name}: {}", reply.head);
    }
    let known = format!("if-none-match: {}\r\n", reply.header("etag").unwrap());
    let again = scene.gateway.get("/.well-known/agent-card.json", &known);
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let old = scene.gateway.get("/.well-known/agent.json", "").json();
    assert!(old.get("supportedInterfaces").is_none() && old["url"] == json!(base));
    // Peers' cards would tell whom one trusts.
    assert_eq!(
        scene
            .gateway
            .get("/a2a/agent-bob/.well-known/agent-card.json", "")
            .status,
        404
    );
}

#[test]
fn a_card_is_written_in_the_form_that_is_configured() {
    let scene =
        Scene::new("[a2a]\ncard = \"v1\"\npeer-cards = true\nurl = \"https://agent.example/\"\n");
    let card = scene.gateway.get("/.well-known/agent-card.json", "").json();
    for old in [
        "url",
        "preferredTransport",
        "protocolVersion",
        "supportsAuthenticatedExtendedCard",
        "security",
    ] {
        assert!(card.get(old).is_none(), "{old}");
    }
    assert_eq!(
        card["supportedInterfaces"][0]["url"],
        "https://agent.example/a2a"
    );
    let peers = scene
        .gateway
        .get("/a2a/agent-bob/.well-known/agent-card.json", "")
        .json();
    assert_eq!(
        (&peers["name"], &peers["supportedInterfaces"][0]["url"]),
        (
            &json!("agent-bob"),
            &json!("https://agent.example/a2a/agent-bob")
        )
    );
    assert_eq!(
        scene
            .gateway
            .get("/a2a/agent-carol/.well-known/agent-card.json", "")
            .status,
        404
    );
}

#[test]
fn the_extended_card_is_of_the_agent_behind_the_address() {
    let scene = Scene::new("");
    let card = scene.gateway.v1("GetExtendedAgentCard", &Value::Null)["result"].clone();
    assert_eq!(card["name"], "agent-bob");
    assert!(card.get("url").is_none(), "{card}");
    let old = scene
        .gateway
        .v03("agent/getAuthenticatedExtendedCard", &json!({}))["result"]
        .clone();
    assert_eq!(old["protocolVersion"], "0.3.0");
    let told = scene
        .gateway
        .post(BOB, "", &call("GetExtendedAgentCard", &json!({})))
        .json();
    assert_eq!(told["error"]["code"], -32009);
}
