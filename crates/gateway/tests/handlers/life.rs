//! From a peer's request to its answer, by each kind.

use serde_json::{Value, json};
use signet_testkit::{House, eventually};

use crate::agent::{Agent, completed};
use crate::{Handling, alice_and_bob, ask, offered};

#[test]
fn a_peer_asks_and_each_kind_of_agent_answers() {
    let house = House::new();
    let (alice, bob) = alice_and_bob(&house);
    let a2a = Agent::json(|request| {
        let text = &request["params"]["message"]["parts"][0]["text"];
        json!({"jsonrpc": "2.0", "id": request["id"], "result": completed(text.as_str().unwrap())})
    });
    let simple = Agent::json(
        |request| json!({"task_id": request["task_id"], "status": "success", "output": request["input"], "error": null}),
    );
    let rpc = Agent::json(|request| match request["params"]["week"].as_u64() {
        Some(_) => json!({"jsonrpc": "2.0", "id": request["id"], "result": request["params"]}),
        None => {
            json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "no week"}})
        }
    });
    let file = format!(
        r#"
        [[handler]]
        capability = "test.a2a"
        kind = "a2a"
        url = "{}"
        [[handler]]
        capability = "test.simple"
        kind = "simple-a2a"
        url = "{}"
        [[handler]]
        capability = "test.rpc"
        kind = "http"
        url = "{}"
        schema = '{{"type": "object"}}'
        [[handler]]
        capability = "test.exec"
        kind = "exec"
        command = ["/bin/sh", "-c", "cat > /dev/null; echo '{{\"week\": 7}}'"]
        "#,
        a2a.url(),
        simple.url(),
        rpc.url()
    );
    let _handling = Handling::start(&bob, &file);
    let body = json!({"week": 7});
    for capability in ["test.a2a", "test.simple", "test.rpc", "test.exec"] {
        offered(&alice, &bob, capability);
        let told = ask(&alice, &bob, capability, &body, 60.0);
        assert_eq!(told["answer"]["body"], body, "{capability}: {told}");
    }
    // The agent answers with an error of JSON-RPC. This is an answer (`declined`) and no failed try, so no message goes
    // to the quarantine.
    let told = ask(&alice, &bob, "test.rpc", &json!({}), 60.0);
    let error = &told["answer"]["error"];
    assert_eq!(error["reason"], "declined", "{told}");
    assert_eq!(error["message"], "error -32602: no week", "{told}");
    assert_eq!(
        bob.call("quarantine.list", &json!({})).unwrap()["waiting"],
        0
    );
    // A text does not fit the schema that the handler offered (an object): the message is refused before it reaches the
    // handler's agent.
    let seen = rpc.seen().len();
    let told = ask(&alice, &bob, "test.rpc", &json!("no object"), 60.0);
    assert!(
        told.get("answer")
            .is_none_or(|answer| answer.get("body").is_none()),
        "{told}"
    );
    assert_eq!(rpc.seen().len(), seen);
}

#[test]
fn handlers_that_are_killed_leave_their_message_to_the_next_under_the_same_key() {
    let house = House::new();
    let (alice, bob) = alice_and_bob(&house);
    let agent = Agent::raw(|request, stream| {
        use std::io::Write as _;
        let value: Value = request.json();
        if value["params"]["metadata"]["signet"]["try"] == 1 {
            std::thread::sleep(std::time::Duration::from_secs(600));
        }
        let body = json!({"jsonrpc": "2.0", "id": value["id"], "result": completed("second")});
        let _ = stream.write_all(&crate::agent::ok(&body.to_string()));
    });
    let file = format!(
        "[[handler]]\ncapability = \"test.a2a\"\nkind = \"a2a\"\nurl = \"{}\"\n",
        agent.url()
    );
    let mut first = Handling::start(&bob, &file);
    offered(&alice, &bob, "test.a2a");
    ask(&alice, &bob, "test.a2a", &json!({"n": 1}), 0.0);
    eventually("the agent has it", || {
        (agent.seen().len() == 1).then_some(())
    });
    first.kill();
    let _second = Handling::start(&bob, &file);
    let answer = eventually("the answer", || {
        let inbox = alice.inbox();
        inbox
            .into_iter()
            .find(|message| message["type"] == "response")
    });
    assert_eq!(answer["body"], "second");
    let ids: Vec<Value> = agent
        .seen()
        .iter()
        .map(|seen| seen.json()["id"].clone())
        .collect();
    assert!(ids.len() == 2 && ids[0] == ids[1], "{ids:?}");
}

#[test]
fn an_agent_that_comes_back_gets_what_waited() {
    let house = House::new();
    let (alice, bob) = alice_and_bob(&house);
    let port = signet_testkit::free_port();
    let file = format!(
        "[[handler]]\ncapability = \"test.rpc\"\nkind = \"http\"\nparallel = 1\nurl = \"http://127.0.0.1:{port}/\"\n"
    );
    let _handling = Handling::start(&bob, &file);
    offered(&alice, &bob, "test.rpc");
    for n in 0..3 {
        ask(&alice, &bob, "test.rpc", &json!({"n": n}), 0.0);
    }
    eventually("it is found away", || {
        let log = bob.log();
        log.iter()
            .any(|line| {
                line["reason"]
                    .as_str()
                    .is_some_and(|why| why.starts_with("unreachable"))
            })
            .then_some(())
    });
    let _agent = Agent::at(port, |request, stream| {
        use std::io::Write as _;
        let value = request.json();
        let body = json!({"jsonrpc": "2.0", "id": value["id"], "result": value["params"]});
        let _ = stream.write_all(&crate::agent::ok(&body.to_string()));
    });
    eventually("all are answered", || {
        let inbox = alice.inbox();
        (inbox
            .iter()
            .filter(|message| message["type"] == "response")
            .count()
            == 3)
            .then_some(())
    });
    assert_eq!(
        bob.call("quarantine.list", &json!({})).unwrap()["waiting"],
        0
    );
}

/// A program that answers with how often its message has been tried.
fn put_program(place: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let script = "#!/bin/sh\nsed -n 's/.*\"tries\":\\([0-9]*\\).*/{\"try\": \\1}/p'\n";
    let made = place.with_extension("new");
    std::fs::write(&made, script).unwrap();
    std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(made, place).unwrap();
}

#[test]
fn a_command_that_is_missing_is_not_offered_and_what_comes_while_it_is_away_costs_no_try() {
    let house = House::new();
    let (alice, bob) = alice_and_bob(&house);
    let program = house.path("work");
    let file = format!(
        "[[handler]]\ncapability = \"test.exec\"\nkind = \"exec\"\nparallel = 1\ncommand = [\"{}\"]\n",
        program.display()
    );
    let _handling = Handling::start(&bob, &file);
    // The program does not exist yet, so the handler must not offer its capability. Offers are told within a second:
    // wait longer than that before looking.
    std::thread::sleep(std::time::Duration::from_secs(3));
    alice.ping(&bob);
    let shown = alice.standing(&bob.agent, "capabilities").to_string();
    assert!(!shown.contains("test.exec"), "{shown}");

    put_program(&program);
    offered(&alice, &bob, "test.exec");
    let told = ask(&alice, &bob, "test.exec", &json!(1), 60.0);
    assert_eq!(told["answer"]["body"], json!({"try": 1}), "{told}");

    // Remove the program while the handler waits for its next message: the handler notices only when it tries to run
    // the program for this message.
    std::fs::remove_file(&program).unwrap();
    let sent = [2, 3].map(|n| ask(&alice, &bob, "test.exec", &json!(n), 0.0));
    eventually("the message is given back", || {
        let log = bob.log();
        let mut reasons = log.iter().filter_map(|line| line["reason"].as_str());
        reasons
            .any(|why| why.starts_with("cannot be run"))
            .then_some(())
    });
    // Six tries with their pauses would take at least this long: if a missing program used up tries, the messages would
    // be in the quarantine by then.
    std::thread::sleep(std::time::Duration::from_secs(5));
    let names = bob.inbox();
    let waits = |sent: &Value| {
        names
            .iter()
            .any(|one| one["message-id"] == sent["message-id"])
    };
    assert!(sent.iter().all(waits), "{names:?}");

    put_program(&program);
    for sent in &sent {
        let answer = eventually("it is handled", || {
            let inbox = alice.inbox();
            let mut answers = inbox.into_iter();
            answers.find(|one| one["in-reply-to"] == sent["message-id"])
        });
        assert_eq!(answer["body"], json!({"try": 1}), "{answer}");
    }
    let listed = bob.call("quarantine.list", &json!({})).unwrap();
    assert_eq!(listed["waiting"], 0, "{listed}");
}

#[test]
fn what_is_answered_to_a_notification_is_thrown_away_however_large_it_is() {
    let house = House::new();
    let (alice, bob) = alice_and_bob(&house);
    let agent = Agent::json(|request| {
        let much = "x".repeat(300 * 1024);
        json!({"jsonrpc": "2.0", "id": request["id"], "result": much})
    });
    let file = format!(
        "[[handler]]\ncapability = \"test.rpc\"\nkind = \"http\"\nurl = \"{}\"\n\
         [[handler]]\ncapability = \"test.exec\"\nkind = \"exec\"\n\
         command = [\"/bin/sh\", \"-c\", \"echo once >> '{}'; head -c 300000 /dev/zero\"]\n",
        agent.url(),
        house.path("ran").display()
    );
    let _handling = Handling::start(&bob, &file);
    for capability in ["test.rpc", "test.exec"] {
        offered(&alice, &bob, capability);
        let told = json!({
            "peer": bob.agent, "kind": "notification", "capability": capability, "body": capability, "wait": 30.0,
        });
        alice.call("send", &told).unwrap();
        eventually("it is handled", || {
            let inbox = bob.inbox();
            inbox
                .iter()
                .all(|one| one["body"] != capability)
                .then_some(())
        });
    }
    // A second try would begin a second after the first: wait longer than that, so that it would be seen.
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(agent.seen().len(), 1);
    let ran = std::fs::read_to_string(house.path("ran")).unwrap();
    assert_eq!(ran, "once\n");
    let failed: Vec<Value> = bob
        .log()
        .into_iter()
        .filter(|line| line["what"] == "failed")
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}
