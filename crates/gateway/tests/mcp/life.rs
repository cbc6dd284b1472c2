//! How a gateway begins, goes on and ends.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use signet_testkit::{House, eventually, kill};

use crate::client::Client;

#[test]
fn the_program_that_speaks_is_not_the_one_that_has_keys() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let client = Client::of(&alice);
    let of = |name: &str| format!("/proc/{}/{name}", client.pid());
    let program = std::fs::read_link(of("exe")).unwrap();
    assert_eq!(program.file_name().unwrap(), "signet-gateway");
    // The gateway gets none of the variables that `signet mcp` was started with, and only three that say how its hints
    // name commands.
    let environ = std::fs::read_to_string(of("environ")).unwrap();
    let mut names: Vec<&str> = environ
        .split_terminator('\0')
        .filter_map(|variable| Some(variable.split_once('=')?.0))
        .collect();
    names.sort_unstable();
    let hints = [
        "SIGNET_HINT_AFTER",
        "SIGNET_HINT_BEFORE",
        "SIGNET_HINT_START",
    ];
    assert_eq!(names, hints);
    for open in std::fs::read_dir(of("fd")).unwrap() {
        let file = std::fs::read_link(open.unwrap().path()).unwrap();
        assert!(!file.starts_with(&alice.dir), "{}", file.display());
    }
    assert!(client.close().success());
}

#[test]
fn a_daemon_that_was_away_is_there_again_for_the_next_call() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    let mut client = Client::of(&alice);
    let status = client.tool("agent_status", json!({}));
    assert_eq!(status["agent"], "agent-alice");
    alice.kill();
    // On a busy machine the gateway may write a call to a connection that it kept, before it hears that this is closed.
    let away = eventually("the gateway hears that the daemon is gone", || {
        let refused = client.refused("tell", json!({"agent": "agent-bob", "body": 1}));
        (refused["name"] != "outcome-unknown").then_some(refused)
    });
    assert_eq!(away["name"], "daemon-away");
    assert!(away["next"].as_str().unwrap().contains("signet run"));
    assert!(
        !away.to_string().contains("agent.sock"),
        "a path says nothing to a model"
    );
    let read = client.request("resources/read", json!({"uri": "signet://agents"}));
    assert_eq!(read["error"]["data"]["error"]["name"], "daemon-away");
    alice.start();
    let told = client.tool(
        "tell",
        json!({"agent": "agent-bob", "body": 1, "wait_seconds": 60}),
    );
    assert_eq!(told["state"], "received");
    assert_eq!(bob.inbox().len(), 1);
}

#[test]
fn a_daemon_that_dies_while_it_is_waited_for_loses_nothing_and_sends_nothing_twice() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    let mut client = Client::of(&alice);
    let asked = json!({"agent": "agent-bob", "body": 1, "wait_seconds": 60, "key": "k"});
    let id = client.begin_tool("ask", asked.clone());
    eventually("bob has it", || bob.inbox().first().cloned());
    alice.kill();
    let response = client.answer(id);
    let error: serde_json::Value =
        serde_json::from_str(response["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&error["error"]["name"], &error["error"]["key"]),
        (&json!("outcome-unknown"), &json!("k"))
    );
    alice.start();
    let id = client.begin_tool("ask", asked);
    bob.call(
        "respond",
        &json!({"message": {"message-id": bob.inbox()[0]["message-id"]}, "body": 2}),
    )
    .unwrap();
    assert_eq!(client.shown("ask", id)["answer"]["untrusted"]["body"], 2);
    assert_eq!(bob.inbox().len(), 0);
}

#[test]
fn what_a_client_gives_up_stays_in_the_inbox() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let mut client = Client::of(&alice);
    let id = client.begin_tool(
        "ask",
        json!({"agent": "agent-bob", "body": 1, "wait_seconds": 60}),
    );
    let request = eventually("bob has it", || bob.inbox().first().cloned());
    client.write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    assert_eq!(client.tool("agent_status", json!({}))["inbox"], 0);
    bob.call(
        "respond",
        &json!({"message": {"message-id": request["message-id"]}, "body": 2}),
    )
    .unwrap();
    let inbox = eventually("the answer comes", || {
        let inbox = client.tool("read_inbox", json!({}));
        inbox["messages"][0].is_object().then_some(inbox)
    });
    assert_eq!(inbox["messages"][0]["in_reply_to"], request["message-id"]);
    assert!(
        client.is_silent(Duration::from_millis(500)),
        "nothing comes for what was cancelled"
    );
    assert_eq!(client.tool("agent_status", json!({}))["inbox"], 1);
}

#[test]
fn the_end_of_its_input_and_sigterm_end_it_also_while_it_waits() {
    let house = House::new();
    let (alice, _bob) = house.alice_and_bob();
    let mut client = Client::of(&alice);
    client.begin_tool(
        "ask",
        json!({"agent": "agent-bob", "body": 1, "wait_seconds": 600}),
    );
    let began = Instant::now();
    assert!(client.close().success());
    assert!(began.elapsed() < Duration::from_secs(20));
    for signal in [Signal::TERM, Signal::INT] {
        let mut client = Client::of(&alice);
        client.begin_tool(
            "ask",
            json!({"agent": "agent-bob", "body": 1, "wait_seconds": 600}),
        );
        kill(client.pid(), signal);
        assert!(client.ended().success());
    }
}

#[test]
fn the_persons_own_socket_is_refused() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let socket = alice.dir.join("control.sock");
    let mut client = Client::run(alice_gateway(&alice, &socket));
    client.hello("2025-11-25");
    for tool in ["agent_status", "read_inbox"] {
        assert_eq!(client.refused(tool, json!({}))["name"], "persons-socket");
    }
}

fn alice_gateway(alice: &signet_testkit::Home, socket: &std::path::Path) -> std::process::Command {
    alice.command(&["mcp", "--socket", socket.to_str().unwrap()])
}
