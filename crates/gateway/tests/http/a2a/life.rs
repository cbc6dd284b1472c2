//! Gateways and daemons that are killed in the middle.

use serde_json::json;
use signet_testkit::eventually;
use signet_testkit::log::{is_ping, messages};

use super::client::{Agent, Gateway, Scene, begins, code, id_of, says};
use super::people::confidants;
use super::revoked::stored;

#[test]
fn a_gateway_that_is_killed_again_and_again_loses_no_task_and_sends_none_twice() {
    let mut scene = Scene::new("");
    let mut tasks = Vec::new();
    for round in 0..5 {
        for number in 0..4 {
            let told = scene.gateway.v1(
                "SendMessage",
                &begins(
                    &format!("m{round}-{number}"),
                    &format!("text {round} {number}"),
                ),
            );
            tasks.push((id_of(&told), format!("text {round} {number}")));
        }
        scene.gateway.kill();
        scene.gateway = Gateway::start(&scene.alice, "");
    }
    for (task, text) in &tasks {
        let done = scene.until(task, "COMPLETED");
        assert_eq!(done["artifacts"][0]["parts"][0]["text"], json!(text));
    }
    let listed = scene.gateway.v1("ListTasks", &json!({"pageSize": 100}));
    assert_eq!(listed["result"]["totalSize"], 20);
    // Bob's log has each of the 20 messages once: no start of the gateway has sent a message a second time.
    let asked = scene
        .bob
        .log()
        .iter()
        .filter(|line| is_request(line))
        .count();
    assert_eq!(asked, 20);
    eventually("the answers leave the inbox", || {
        scene.alice.inbox().is_empty().then_some(())
    });
}

fn is_request(line: &serde_json::Value) -> bool {
    let text = line.to_string();
    text.contains("\"request\"") && text.contains("\"accepted\"") && text.contains("text ")
}

#[test]
fn what_waited_in_a_killed_gateway_does_not_leave_where_its_task_was_given_up() {
    let mut scene = Scene::new("");
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("m", "wait")));
    scene.gateway.v1("CancelTask", &json!({"id": task}));
    scene.gateway.kill();
    // Write the row that a gateway leaves if it is killed after its client gave the task up and before the gateway's
    // next try to send the message.
    let file = rusqlite::Connection::open(scene.alice.dir.join("gateway-a2a.db")).unwrap();
    let words = "words that were given up";
    let request = json!({"peer": "agent-bob", "kind": "request", "body": words, "key": "a2a-k"});
    let waiting = "INSERT INTO calls (key, task, is_open, request) VALUES ('k', ?1, 1, ?2)";
    let put = file.execute(waiting, [task, request.to_string()]);
    assert_eq!(put.unwrap(), 1);
    drop(file);
    scene.gateway = Gateway::start(&scene.alice, "");
    eventually("nothing of it is open", || {
        let open = stored(&scene.alice, "SELECT is_open FROM calls WHERE key = 'k'")?;
        (open == 0).then_some(())
    });
    assert!(!format!("{:?}", scene.bob.log()).contains(words));
}

#[test]
fn what_is_answered_while_the_gateway_is_away_is_there_when_it_is_back() {
    let mut scene = Scene::new("");
    scene.agent = None;
    let task = id_of(&scene.gateway.v1("SendMessage", &begins("m", "hello")));
    // Wait until Bob has the message before the gateway is killed: a message that Alice's daemon does not have yet
    // would be sent only by the next gateway.
    eventually("the message has left", || {
        let log = scene.bob.log();
        // The ping of the beginning is a request, too: do not take it for the message.
        let came = messages(&log, "in", "accepted")
            .any(|line| line["type"] == "request" && !is_ping(line));
        came.then_some(())
    });
    scene.gateway.kill();
    scene.agent = Some(Agent::of(&scene.bob));
    eventually("the answer is in the inbox", || {
        (!scene.alice.inbox().is_empty()).then_some(())
    });
    scene.gateway = Gateway::start(&scene.alice, "");
    let done = scene.until(&task, "COMPLETED");
    assert_eq!(done["artifacts"][0]["parts"][0]["text"], "hello");
    eventually("the answer leaves the inbox", || {
        scene.alice.inbox().is_empty().then_some(())
    });
}

#[test]
fn a_daemon_that_is_away_gives_a_task_that_goes_on_by_itself() {
    let mut scene =
        Scene::new("[a2a]\nwait-seconds = 1\n[a2a.capabilities]\nagent-bob = \"signet.none\"\n");
    let first = scene.gateway.v1("SendMessage", &says("m0", "hello"));
    assert!(first.get("result").is_some());
    let card = scene.gateway.get("/.well-known/agent-card.json", "");
    scene.alice.kill();
    // Without the daemon nobody can say whether Bob's agent is known, so the gateway begins no task.
    let told = scene.gateway.v1("SendMessage", &says("m", "hello"));
    assert_eq!(code(&told), -32603);
    let message = told["error"]["message"].as_str().unwrap();
    for part in ["daemon-away", "nothing was sent", "signet run"] {
        assert!(message.contains(part), "{message}");
    }
    // The gateway's own database holds the tasks and their owners, so it answers without the daemon.
    let known = scene.gateway.v1("GetTask", &json!({"id": id_of(&first)}));
    assert_eq!(known["result"]["id"], json!(id_of(&first)));
    let listed = scene.gateway.v1("ListTasks", &json!({}));
    assert_eq!(listed["result"]["totalSize"], 1);
    let of_another = crate::a2a::client::call("GetTask", &json!({"id": id_of(&first)}));
    let of_another = scene
        .gateway
        .post("/a2a/agent-carol", "a2a-version: 1.0\r\n", &of_another);
    assert_eq!(code(&of_another.json()), -32001);
    let again = scene.gateway.get("/.well-known/agent-card.json", "");
    assert_eq!((again.status, again.json()), (200, card.json()));
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "status"}).to_string();
    let told = scene.gateway.post("/rpc", "", &rpc).json().to_string();
    assert!(
        told.contains("signet run") && !told.contains("tool"),
        "{told}"
    );
    // The task that was begun before is found once the daemon is back, too.
    scene.alice.start();
    eventually("the daemon is there", || {
        let told = scene.gateway.v1("GetTask", &json!({"id": id_of(&first)}));
        told.get("result").map(drop)
    });
}

#[test]
fn a_second_gateway_on_the_same_file_is_refused() {
    let scene = Scene::new("");
    let config = scene.alice.dir.join("gateway.toml");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_signet-gateway"));
    command.arg("serve").arg("--config").arg(&config);
    command
        .arg("--socket")
        .arg(scene.alice.dir.join("agent.sock"));
    let said = command.output().unwrap();
    assert!(!said.status.success());
    let text = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        text.contains("another process has it open") && text.contains("next:"),
        "{text}"
    );
    let _ = &scene.house;
}

#[test]
fn what_is_not_kept_is_found_by_its_key_after_a_gateway_was_killed() {
    let mut scene = confidants();
    let mut tasks = Vec::new();
    for round in 0..6 {
        let mut said = begins(&format!("m{round}"), &format!("secret {round}"));
        said["message"]["metadata"] = json!({"signet": {"tier": 3}});
        tasks.push(id_of(&scene.gateway.v1("SendMessage", &said)));
        // The task is in the database by now. The message may or may not have left: the growing pause kills the gateway
        // at several points on its way.
        std::thread::sleep(std::time::Duration::from_millis(round));
        scene.gateway.kill();
        scene.gateway = Gateway::start(&scene.alice, "");
    }
    let mut sent = 0;
    for (round, task) in tasks.iter().enumerate() {
        let over = eventually("the task is over", || {
            let told = scene.gateway.v1("GetTask", &json!({"id": task}));
            let state = told["result"]["status"]["state"].as_str()?.to_owned();
            ["TASK_STATE_COMPLETED", "TASK_STATE_REJECTED"]
                .contains(&state.as_str())
                .then_some(told)
        });
        if over["result"]["status"]["state"] == "TASK_STATE_COMPLETED" {
            let said = &over["result"]["artifacts"][0]["parts"][0]["text"];
            assert_eq!(*said, json!(format!("secret {round}")), "{over}");
            sent += 1;
        }
    }
    let asked = scene.bob.log();
    let asked = asked.iter().filter(|line| is_of_tier_three(line)).count();
    assert_eq!(asked, sent, "what was sent is a task that is done");
    eventually("no answer is left in the inbox", || {
        scene.alice.inbox().is_empty().then_some(())
    });
}

fn is_of_tier_three(line: &serde_json::Value) -> bool {
    let text = line.to_string();
    let is_request = text.contains("\"request\"") && text.contains("\"accepted\"");
    is_request && text.contains("\"data-tier\":3")
}
