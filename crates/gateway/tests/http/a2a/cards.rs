//! Cards, in each form, and whose there are.

use std::time::Duration;

use serde_json::{Value, json};
use signet_testkit::eventually;

use super::client::{BOB, Gateway, Scene, call};

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
    // This gateway has `auth = "none"`, so no caller proves who they are, and there is no extended card for known
    // callers.
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
    // Without `peer-cards` no card of a peer is served: it would tell everybody which agents Alice trusts.
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

#[test]
fn the_start_warns_once_of_a_card_whose_key_stands_below_a_path_where_nobody_finds_it() {
    let mut scene = Scene::new("");
    let dead = "https://a.example/signet/.well-known/jwks.json";
    scene
        .alice
        .configure("[card]\n", "[card]\nurl = \"https://a.example/signet\"\n");
    scene.alice.done(&["reload"]);
    scene.gateway.kill();
    scene.gateway = Gateway::start(&scene.alice, "");
    let said = || scene.gateway.log.lock().unwrap().matches(dead).count();
    eventually("the start says so before anybody reads the card", || {
        (said() == 1).then_some(())
    });
    for _ in 0..3 {
        let card = scene.gateway.get("/.well-known/agent-card.json", "");
        assert_eq!(card.status, 200, "{}", card.body);
    }
    assert_eq!(said(), 1, "and nobody has to hear it again");
}

#[test]
fn a_card_that_was_changed_has_a_later_date_after_a_reload_and_keeps_it() {
    let scene = Scene::new("");
    let card = "[card]\nurl = \"https://a.example\"\n";
    scene.alice.configure("[card]\n", card);
    scene.alice.done(&["reload"]);
    let fetch = || {
        let reply = scene.gateway.get("/.well-known/agent-card.json", "");
        let date = reply.header("last-modified").unwrap();
        // The test's client has put the head into small letters, and the parser does not know `gmt`: write it as
        // `+0000`.
        let date = chrono::DateTime::parse_from_rfc2822(&date.replace("gmt", "+0000"));
        (date.unwrap(), reply.json()["description"].clone())
    };
    let (first, _) = fetch();
    // Dates of HTTP have whole seconds: wait for more than one, so that a later date would show.
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(fetch().0, first, "nothing has changed");
    let changed = format!("{card}description = \"Asks for Alice\"\n");
    scene.alice.configure(card, &changed);
    scene.alice.done(&["reload"]);
    let (later, description) = fetch();
    assert_eq!(description, "Asks for Alice");
    assert!(later > first, "{later} {first}");
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(fetch().0, later);
}
