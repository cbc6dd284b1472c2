//! Two daemons, real processes on a real server, as a person uses them from the command line.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::house::{self, House, eventually, says};

#[test]
fn the_answer_to_a_ping_that_nobody_waits_for_any_more_is_in_no_inbox() {
    let house = House::new();
    let (mut alice, bob) = house.alice_and_bob();
    let ping = json!({"peer": bob.agent, "kind": "ping", "wait": 0});
    let sent = alice.call("send", &ping).unwrap();
    let name = sent["message-id"].as_str().unwrap().to_owned();
    eventually("the answer is logged", || {
        alice
            .log()
            .iter()
            .any(|line| line["in-reply-to"] == name.as_str() && line["verdict"] == "accepted")
            .then_some(())
    });
    assert!(alice.inbox().is_empty(), "{:?}", alice.inbox());
    // A state that is rebuilt from the log does not put the answer into the inbox either.
    assert!(alice.stop().success());
    alice.done(&["state", "rebuild"]);
    alice.start();
    assert!(alice.inbox().is_empty(), "{:?}", alice.inbox());
    alice.ping(&bob);
    assert!(alice.inbox().is_empty(), "{:?}", alice.inbox());
}

#[test]
fn a_ping_is_answered_by_the_peers_daemon_and_names_who_answered() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let said = alice.done(&["ping", &bob.agent]);
    assert!(
        said.starts_with("agent-bob of bob answers, signature verified, "),
        "{said}"
    );
    let pinged = alice.json(&["ping", &bob.agent]);
    assert!(
        pinged[0]["milliseconds"].as_f64().unwrap() > 0.0,
        "{pinged:?}"
    );
    assert_eq!(pinged[0]["answer"]["from"], "agent-bob");
    assert!(bob.inbox().is_empty(), "a ping is no message for the agent");
}

#[test]
fn a_request_is_answered_and_another_declined() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let asked = |week: &str| {
        let body = format!("{{\"week\":\"{week}\"}}");
        let args = [
            "send",
            &bob.agent,
            "--request",
            &body,
            "--summary",
            "Asks for evenings",
            "--json",
        ];
        alice
            .command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let waiting = |week: &str| {
        eventually("the request arrives", || {
            bob.json(&["inbox"])
                .into_iter()
                .find(|item| item["body"]["week"] == week)
        })
    };

    let asking = asked("2026-W07");
    let request = waiting("2026-W07");
    assert_eq!(request["summary"], "Asks for evenings");
    assert_eq!(request["from"], "agent-alice");
    let id = request["message-id"].as_str().unwrap();
    assert_eq!(
        bob.json(&["reply", id, "{\"evenings\":[\"Tue\"]}"]).len(),
        1
    );
    let asking = asking.wait_with_output().unwrap();
    assert!(asking.status.success(), "{}", says(&asking));
    let answer: Value = serde_json::from_slice(&asking.stdout).unwrap();
    assert_eq!(answer["state"], "answered");
    assert_eq!(answer["answer"]["body"], json!({"evenings": ["Tue"]}));
    assert_eq!(answer["answer"]["in-reply-to"], id);

    let asking = asked("2026-W08");
    let id = waiting("2026-W08")["message-id"]
        .as_str()
        .unwrap()
        .to_owned();
    bob.done(&["reply", &id, "--decline", "not that week"]);
    let asking = asking.wait_with_output().unwrap();
    assert_eq!(asking.status.code(), Some(1));
    let said: Value = serde_json::from_slice(&asking.stderr).unwrap();
    assert_eq!(
        said["error"]["message"],
        "refused by agent-bob, which says: \"not that week\" (reason declined)"
    );
    let refused = bob.cli(&["reply", &id, "{}"]);
    assert_eq!(
        (
            refused.status.code(),
            says(&refused).contains("not-waiting")
        ),
        (Some(1), true)
    );
    assert!(bob.inbox().is_empty());
}

#[test]
fn an_answer_that_cannot_be_printed_stays_in_the_inbox() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let full = std::fs::File::options().write(true).open("/dev/full");
    let asking = alice
        .command(&["send", &bob.agent, "--request", "{}"])
        .stdout(full.unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let request = eventually("the request arrives", || bob.json(&["inbox"]).pop());
    let id = request["message-id"].as_str().unwrap();
    bob.done(&["reply", id, "{\"evenings\":[\"Tue\"]}"]);
    let asked = asking.wait_with_output().unwrap();
    assert_eq!(asked.status.code(), Some(4), "{}", says(&asked));
    assert_eq!(alice.inbox()[0]["body"], json!({"evenings": ["Tue"]}));
}

#[test]
fn a_notification_is_receipted_and_waits_until_it_is_taken() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let told = alice.json(&["send", &bob.agent, "--notify", "{\"dinner\":\"19:30\"}"]);
    assert_eq!(told[0]["state"], "received");
    let inbox = bob.json(&["inbox", "--take"]);
    assert_eq!(inbox.len(), 1);
    assert_eq!(inbox[0]["body"]["dinner"], "19:30");
    assert_eq!(inbox[0]["type"], "notification");
    assert_eq!(bob.done(&["inbox"]), "nothing waits\n");
}

#[test]
fn a_message_to_a_peer_that_is_not_up_waits_as_a_draft_and_goes_out() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    alice.start();
    let output = alice.cli(&["send", &bob.agent, "--notify", "{}", "--wait", "0.2"]);
    assert_eq!(output.status.code(), Some(3), "{}", says(&output));
    assert!(says(&output).contains("no-answer"), "{}", says(&output));
    assert_eq!(alice.standing(&bob.agent, "waiting"), 1);
    assert!(alice.log().iter().any(|line| line["kind"] == "draft"));
    bob.start();
    eventually("the draft arrives", || {
        (bob.inbox().len() == 1).then_some(())
    });
    eventually("alice knows", || {
        let none = |member| alice.standing(&bob.agent, member) == 0;
        (none("waiting") && none("unconfirmed")).then_some(())
    });
}

#[test]
fn what_cannot_be_done_ends_with_its_code_and_name() {
    let house = House::new();
    let mut alice = house.home("alice");
    let none = alice.cli(&["send", "agent-carol", "--notify", "{}"]);
    assert_eq!(
        (none.status.code(), says(&none).contains("signet run")),
        (Some(3), true),
        "{}",
        says(&none)
    );
    for args in [&["inbox"][..], &["status"], &["ping", "agent-carol"]] {
        assert_eq!(alice.cli(args).status.code(), Some(3), "{args:?}");
    }
    alice.start();
    let unknown = alice.cli(&["send", "agent-carol", "--notify", "{}"]);
    assert_eq!(
        (
            unknown.status.code(),
            String::from_utf8_lossy(&unknown.stdout).contains("waits for introduction")
        ),
        (Some(5), true),
        "{}",
        says(&unknown)
    );
    assert_eq!(
        alice
            .cli(&["send", "agent-carol", "--notify", "{"])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(alice.cli(&["send", "agent-carol"]).status.code(), Some(2));
}

/// Arguments stand in the list of processes; files and standard input do not.
#[test]
fn a_secret_comes_from_a_file_or_from_standard_input_and_stands_in_no_argument() {
    const SECRET: &str = "the door opens with 4711";
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let body = json!({ "pin": SECRET });
    let fed = |home: &house::Home, args: &[&str], text: &str| {
        let mut command = home.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let line = std::fs::read_to_string(format!("/proc/{}/cmdline", child.id())).unwrap();
        assert!(!line.contains(SECRET));
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, text.as_bytes()).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap()
    };
    let file = house.path("body.json");
    std::fs::write(&file, format!("{body}\n")).unwrap();
    let at = format!("@{}", file.display());
    let told = fed(
        &alice,
        &["send", &bob.agent, "--notify", "-"],
        &body.to_string(),
    );
    assert!(told.status.success(), "{}", says(&told));
    alice.done(&["send", &bob.agent, "--notify", &at]);
    let inbox = bob.json(&["inbox", "--take"]);
    assert_eq!(inbox.len(), 2);
    assert!(inbox.iter().all(|item| item["body"] == body));

    let id = alice.send(&bob, "request", &json!({})).unwrap();
    eventually("the request arrives", || bob.inbox().pop());
    let replied = fed(&bob, &["reply", &id, "-"], &body.to_string());
    assert!(replied.status.success(), "{}", says(&replied));
    let answer = eventually("the answer arrives", || alice.inbox().pop());
    assert_eq!(answer["body"], body);

    let given = ["handoff", "send", &bob.agent, "--goal", "-", "--input", &at];
    let given = fed(&alice, &given, &format!("{SECRET}\n"));
    assert!(given.status.success(), "{}", says(&given));
    let offer = eventually("the offer arrives", || bob.inbox().pop());
    assert_eq!(
        (&offer["body"]["goal"], &offer["body"]["input"]),
        (&json!(SECRET), &body)
    );

    let wrong = fed(
        &alice,
        &["send", &bob.agent, "--notify", "-"],
        "{\n  \"pin\": 47 11}",
    );
    let said = says(&wrong);
    assert_eq!(wrong.status.code(), Some(2), "{said}");
    assert!(
        said.contains("standard input is not JSON in line 2, column "),
        "{said}"
    );
    let twice = ["handoff", "send", &bob.agent, "--goal", "-", "--input", "-"];
    assert!(
        alice
            .fails(2, &twice)
            .contains("cannot be two things at once")
    );
    let said = alice.fails(2, &["send", &bob.agent, "--notify", "@/nowhere"]);
    assert!(said.starts_with("error: /nowhere cannot be read"), "{said}");
    alice.done(&["send", &bob.agent, "--notify", "\"@home\""]);
    alice.done(&["send", &bob.agent, "--notify=-1"]);
}

#[test]
fn every_json_output_parses_and_jq_reads_both_logs() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    alice.done(&[
        "send",
        &bob.agent,
        "--notify",
        "{\"a \\\"b\\\"\":\"Grüße, 東京\\u202e\"}",
    ]);
    for args in [
        &["status"][..],
        &["peer", "list"],
        &["peer", "show", "agent-bob"],
        &["ping", "agent-bob"],
    ] {
        assert_eq!(alice.json(args).len(), 1, "{args:?}");
    }
    assert_eq!(
        bob.json(&["inbox"])[0]["body"]["a \"b\""],
        "Grüße, 東京\u{202e}"
    );
    for home in [&alice, &bob] {
        let lines = home.walk().len();
        let glob = format!(
            "cat '{}'/audit/*/inter-agent-*.jsonl | jq -c .seq",
            home.dir.display()
        );
        let output = Command::new("sh").args(["-c", &glob]).output().unwrap();
        assert!(output.status.success(), "{}", says(&output));
        let seqs: Vec<String> = (1..=lines).map(|seq| seq.to_string()).collect();
        assert_eq!(
            String::from_utf8(output.stdout)
                .unwrap()
                .lines()
                .take(lines)
                .collect::<Vec<_>>(),
            seqs
        );
    }
}
