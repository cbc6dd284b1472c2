//! What is kept from the agent or from a token, asked for at every door of the listener.

use std::time::Duration;

use serde_json::{Value, json};
use signet_testkit::{Home, House, eventually};

use crate::client::{Gateway, three, token};
use crate::mcp::Session;
use crate::waits::stream_of;

/// Sends it, and waits until the other side has it.
fn tells(from: &Home, to: &Home, body: &str) {
    let sent = json!({"peer": to.agent, "kind": "notification", "body": body, "conversation-id": "talk", "wait": 30.0});
    let sent = from.call("send", &sent).unwrap();
    assert_eq!(sent["state"], "received", "{sent}");
}

/// What each door shows of what was said.
fn shown(gateway: &Gateway, session: &Session<'_>) -> Vec<(&'static str, String)> {
    let read = |uri: &str| {
        session
            .request("resources/read", json!({"uri": uri}))
            .to_string()
    };
    let history = gateway.rpc(&session.token, "history", &json!({}));
    let found = session.tool("search_conversations", json!({}));
    vec![
        ("/rpc", history["result"]["messages"].to_string()),
        (
            "search_conversations",
            found["structuredContent"].to_string(),
        ),
        ("the conversation", read("signet://conversations/talk")),
        ("the conversations", read("signet://conversations")),
        ("the inbox", read("signet://inbox")),
    ]
}

#[test]
fn what_a_pause_or_a_withdrawal_keeps_from_the_agent_no_door_of_the_gateway_shows() {
    let house = House::new();
    let [alice, bob, _carol] = three(&house);
    let gateway = Gateway::start(&alice, "");
    let token = token(&alice, "one", &["--requests-per-minute", "10000"]);
    let session = Session::begin(&gateway, &token);
    tells(&bob, &alice, "long before");
    let received = gateway.rpc(&token, "receive", &json!({"wait": 30.0}));
    let lease = json!({"lease": received["result"]["messages"][0]["lease"]});
    let taken = gateway.rpc(&token, "acknowledge", &lease);
    assert!(taken["result"].is_object(), "{taken}");
    alice.done(&["pause"]);
    tells(&bob, &alice, "in the pause");
    let holds_back = || {
        for (door, seen) in shown(&gateway, &session) {
            assert!(!seen.contains("in the pause"), "{door}: {seen}");
            let shows = !matches!(door, "the conversations" | "the inbox");
            assert!(!shows || seen.contains("long before"), "{door}: {seen}");
        }
    };
    holds_back();
    alice.done(&["resume"]);
    for (door, seen) in shown(&gateway, &session) {
        let shows = seen.contains("in the pause");
        assert!(shows || door == "the conversations", "{door}: {seen}");
    }
    alice.done(&["trust", "withdraw", &bob.agent]);
    holds_back();
}

#[test]
fn an_offer_by_a_token_of_one_peer_is_told_to_that_peer_alone() {
    let house = House::new();
    let mut homes = ["alice", "bob", "carol"].map(|who| house.home(who));
    homes[0].configure("# allow = []", "allow = [\"lamp.*\"]");
    {
        let [alice, bob, carol] = &homes;
        house.acquaint(&[alice, bob, carol]);
    }
    for home in &mut homes {
        home.start();
    }
    let [alice, bob, carol] = homes;
    bob.ping(&alice);
    carol.ping(&alice);
    let gateway = Gateway::start(&alice, "");
    let narrow = token(&alice, "narrow", &["--peer", &bob.agent]);
    let params = json!({"capability": "lamp.switch", "description": "a word for Bob alone"});
    let offer = json!({"jsonrpc": "2.0", "id": 1, "method": "offer", "params": params});
    let _offered = stream_of(&gateway, &narrow, &offer).unwrap();
    let known = |home: &Home| -> Value {
        let shown = home
            .call("peer.show", &json!({"peer": alice.agent}))
            .unwrap();
        shown["capabilities"].clone()
    };
    eventually("bob hears of the lamp", || {
        let known = known(&bob).to_string();
        known.contains("a word for Bob alone").then_some(())
    });
    std::thread::sleep(Duration::from_secs(2));
    assert!(
        !known(&carol).to_string().contains("lamp"),
        "{}",
        known(&carol)
    );
    let asked = json!({"peer": alice.agent, "kind": "request", "capability": "lamp.switch", "body": 1, "wait": 20.0});
    let refused = carol.call("send", &asked);
    let is_refused = match &refused {
        Ok(sent) => sent["state"] == "refused",
        Err(error) => format!("{error:?}").contains("capability-not-granted"),
    };
    assert!(is_refused, "{refused:?}");
}
