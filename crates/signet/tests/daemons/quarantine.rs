//! What a command cannot handle: five tries that every crash leaves counted, then a person decides,
//! and the next message goes on.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::house::log::messages;
use crate::house::{self, Home, House, eventually, receive, says};

/// `signet inbox --each` with a shell script, for this home.
fn each(home: &Home, options: &[&str], script: &str) -> Command {
    let sh = ["--", "/bin/sh", "-c", script];
    handled(home, &[options, &sh].concat())
}

/// `signet inbox --each` with quick retries; the home is named by the environment, since everything
/// behind `--` is the command's.
fn handled(home: &Home, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command
        .args(["inbox", "--each", "--retry-after", "0.02"])
        .args(args);
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("SIGNET_HOME", &home.dir);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(mut command: Command, code: i32) -> Output {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", says(&output));
    output
}

/// What the log says of the tries of a message: what, its number, and why.
fn tries(home: &Home, id: &str) -> Vec<(String, u64, Value)> {
    let about = |line: &&Value| line["kind"] == "outcome" && line["id"] == id;
    let log = home.log();
    let lines = log.iter().filter(about);
    let one = |line: &Value| {
        let what = line["what"].as_str().unwrap().to_owned();
        (what, line["try"].as_u64().unwrap(), line["reason"].clone())
    };
    lines.map(one).collect()
}

fn arrives(home: &Home, id: &str) {
    eventually("the message arrives", || {
        let mut inbox = home.inbox().into_iter();
        inbox.find(|item| item["message-id"] == id)
    });
}

fn asks(asker: &Home, peer: &Home, body: &Value) -> String {
    let id = asker.send(peer, "request", body).unwrap();
    arrives(peer, &id);
    id
}

fn tells(teller: &Home, peer: &Home, body: &Value) -> String {
    let id = teller.send(peer, "notification", body).unwrap();
    arrives(peer, &id);
    id
}

/// A handler takes the message of that name and fails, so many times.
pub(crate) fn fail_tries(home: &Home, id: &str, times: usize, reason: &str) {
    let mut handler = home.client().unwrap();
    for _ in 0..times {
        let lease = receive(&mut handler, id)["lease"].clone();
        let failed = json!({"lease": lease, "reason": reason, "pause": 0});
        handler.raw("fail", &failed).unwrap();
    }
}

fn lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_poisonous_message_is_tried_five_times_then_set_aside_and_the_next_is_handled() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let poison = asks(&alice, &bob, &json!({"poison": true}));
    let good = tells(&alice, &bob, &json!({"dinner": "19:30"}));
    let seen = house.path("seen");
    let script = format!(
        "tee -a '{}' | grep -q poison && exit 3 || exit 0",
        seen.display()
    );
    let ended = run(each(&bob, &[], &script), 1);
    let said = says(&ended);
    assert!(
        said.contains("exit status 3; try 1, the next in 0.02 s"),
        "{said}"
    );
    assert!(said.contains("signet quarantine list --home "), "{said}");
    let seen: Vec<Value> = lines(&seen)
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let times = |id: &str| seen.iter().filter(|item| item["message-id"] == id).count();
    assert_eq!((times(&poison), times(&good)), (5, 1));
    // The good one did not wait until the poison was out of the way.
    assert_eq!(seen[1]["message-id"], *good);
    let expected: Vec<_> = (1..=5)
        .flat_map(|number| {
            [
                ("started".to_owned(), number, Value::Null),
                ("failed".to_owned(), number, json!("exit status 3")),
            ]
        })
        .collect();
    assert_eq!(tries(&bob, &poison), expected);
    assert!(bob.inbox().is_empty());

    let status = bob.done(&["status"]);
    let (_, next) = status
        .split_once("  note   messages could not be handled\n")
        .unwrap();
    let next = next.lines().next().unwrap().trim_start();
    assert!(
        next.starts_with("next: ") && next.contains("signet quarantine list --home "),
        "{status}"
    );
    let listed = bob.done(&["quarantine", "list"]);
    assert!(
        listed.starts_with(&poison) && listed.contains("failed: exit status 3"),
        "{listed}"
    );
    let listed = bob.json(&["quarantine", "list"]);
    assert_eq!(
        (listed.len(), &listed[0]["body"]),
        (1, &json!({"poison": true}))
    );

    bob.done(&["quarantine", "retry", &poison]);
    assert_eq!(
        bob.done(&["quarantine", "list"]),
        "the quarantine is empty\n"
    );
    run(each(&bob, &[], "exit 7"), 1);
    assert_eq!(
        bob.json(&["quarantine", "list"])[0]["failed"],
        "exit status 7"
    );
    let foreign = ["quarantine", "drop", &poison, "--from", "agent-carol"];
    assert!(bob.fails(1, &foreign).contains("not-quarantined"));
    let said = bob.done(&["quarantine", "drop", &poison, "--from", "agent-alice"]);
    assert_eq!(said, "given up; agent-alice is told that it was declined\n");
    let answer = eventually("alice hears of it", || {
        alice
            .inbox()
            .into_iter()
            .find(|item| item["in-reply-to"] == *poison)
    });
    assert_eq!(answer["error"]["reason"], "declined");
    assert!(alice.done(&["status", &poison]).starts_with("answered: "));
    assert!(
        bob.fails(1, &["quarantine", "retry", &poison])
            .contains("not-quarantined")
    );
    bob.walk();
}

#[test]
fn what_the_command_prints_is_the_answer_and_silence_leaves_the_request_for_a_person() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let id = asks(&alice, &bob, &json!({"n": 41}));
    run(each(&bob, &[], "jq -c '{n: (.body.n + 1)}'"), 0);
    let answer = eventually("the answer", || {
        alice
            .inbox()
            .into_iter()
            .find(|item| item["in-reply-to"] == *id)
    });
    assert_eq!(answer["body"], json!({"n": 42}));
    let silent = asks(&alice, &bob, &json!({}));
    for _ in 0..7 {
        run(each(&bob, &[], "cat > /dev/null"), 0);
    }
    assert_eq!(
        bob.inbox().len(),
        1,
        "however often it was handled, it is not set aside"
    );
    assert_eq!(
        tries(&bob, &silent).len(),
        2,
        "it was handled once, and kept"
    );
    bob.done(&["reply", &silent, "{}"]);
}

#[test]
fn a_command_may_answer_by_itself() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let id = asks(&alice, &bob, &json!({}));
    let signet = env!("CARGO_BIN_EXE_signet");
    let script =
        format!("'{signet}' reply \"$(jq -r '.[\"message-id\"]')\" '{{\"by\":\"hand\"}}' >&2");
    run(each(&bob, &[], &script), 0);
    let answer = eventually("the answer", || {
        alice
            .inbox()
            .into_iter()
            .find(|item| item["in-reply-to"] == *id)
    });
    assert_eq!(answer["body"], json!({"by": "hand"}));
    assert!(bob.inbox().is_empty());
}

/// Runs the handler until its command has begun, then kills it, and what it left.
fn cut_short(house: &House, home: &Home, id: &str) {
    let begun = || {
        let tries = tries(home, id).into_iter();
        tries.filter(|(what, ..)| what == "started").count()
    };
    let before = begun();
    let file = house.path("handler");
    let script = format!("echo $$ > '{}'; exec sleep 600", file.display());
    let _ = std::fs::remove_file(&file);
    let mut child: Child = each(home, &[], &script).spawn().unwrap();
    let pid = eventually("the command runs", || {
        lines(&file).first().and_then(|pid| pid.parse::<u32>().ok())
    });
    assert_eq!(begun(), before + 1, "the line came first");
    child.kill().unwrap();
    child.wait().unwrap();
    house::kill(pid, Signal::KILL);
}

#[test]
fn killing_the_runner_in_the_middle_of_a_try_does_not_give_the_message_another() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let id = tells(&alice, &bob, &json!({}));
    for _ in 0..5 {
        cut_short(&house, &bob, &id);
    }
    let seen = house.path("seen");
    let script = format!("echo again >> '{}'", seen.display());
    run(each(&bob, &[], &script), 0);
    assert!(!seen.exists(), "a sixth try");
    let listed = eventually("it is set aside", || {
        bob.json(&["quarantine", "list"]).into_iter().next()
    });
    assert_eq!(listed["failed"], "holder-gone");
    assert!(bob.inbox().is_empty());
}

#[test]
fn killing_the_daemon_keeps_the_tries_and_the_quarantine() {
    let house = House::new();
    let (alice, mut bob) = house.alice_and_bob();
    let id = tells(&alice, &bob, &json!({}));
    for number in 1..=5 {
        let mut handler = bob.client().unwrap();
        let leased = receive(&mut handler, &id);
        assert_eq!(leased["tries"], number);
        // A try that a kill cuts short counts as one that failed.
        if number % 2 == 1 {
            let failed = json!({"lease": leased["lease"], "reason": "exit status 1", "pause": 0});
            let ended = handler.raw("fail", &failed).unwrap();
            assert_eq!(ended["quarantined"], number == 5);
        }
        bob.kill();
        bob.start();
    }
    assert!(bob.inbox().is_empty());
    assert_eq!(bob.json(&["quarantine", "list"]).len(), 1);
    bob.done(&["quarantine", "retry", &id]);
    bob.kill();
    bob.start();
    let mut handler = bob.client().unwrap();
    assert_eq!(receive(&mut handler, &id)["tries"], 1);
}

#[test]
fn the_reason_of_a_failed_handler_never_holds_the_messages_words() {
    const WORDS: &str = "the-pin-is-4711";
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let sealed = [
        "send",
        &bob.agent,
        "--tier",
        "3",
        "--notify",
        &format!("{{\"a\":\"{WORDS}\"}}"),
        "--wait",
        "60",
    ];
    alice.done(&sealed);
    let ended = run(each(&bob, &[], "tee /dev/stderr; exit 3"), 1);
    assert!(
        says(&ended).contains(WORDS),
        "its own standard error is ours"
    );
    run(each(&bob, &[], "true"), 0);
    let id = bob.json(&["quarantine", "list"])[0]["message-id"]
        .as_str()
        .unwrap()
        .to_owned();
    bob.done(&["quarantine", "retry", &id]);
    run(each(&bob, &[], "kill -11 $$"), 1);
    let reasons: Vec<Value> = tries(&bob, &id)
        .into_iter()
        .map(|(_, _, reason)| reason)
        .collect();
    assert!(reasons.contains(&json!("exit status 3")) && reasons.contains(&json!("signal 11")));
    for (what, text) in [
        ("log", bob.log_bytes()),
        ("daemon", bob.said().into_bytes()),
    ] {
        assert!(
            !String::from_utf8_lossy(&text).contains(WORDS),
            "the {what} tells"
        );
    }
}

#[test]
fn nothing_that_a_message_says_becomes_an_argument_or_a_variable() {
    const EVIL: &str = "$(touch pwned); `touch pwned`\n--home /etc\n'; touch pwned #";
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let params =
        json!({"peer": bob.agent, "kind": "notification", "body": {EVIL: EVIL}, "summary": EVIL});
    let sent = alice.call("send", &params).unwrap();
    arrives(&bob, sent["message-id"].as_str().unwrap());
    let (seen, said) = (house.path("seen"), house.path("said"));
    let script = format!(
        "echo $#; env > '{}'; cat > '{}'",
        seen.display(),
        said.display()
    );
    let ended = run(each(&bob, &[], &script), 0);
    assert_eq!(ended.stdout, b"0\n");
    let env = std::fs::read_to_string(seen).unwrap();
    assert!(!env.contains("touch"), "{env}");
    let told: Value = serde_json::from_str(&std::fs::read_to_string(&said).unwrap()).unwrap();
    assert_eq!(
        (&told["body"][EVIL], &told["summary"]),
        (&json!(EVIL), &json!(EVIL))
    );
    assert_eq!(lines(&said).len(), 1, "one message, one line");
    assert!(!Path::new("pwned").exists());
}

#[test]
fn a_command_that_hangs_is_killed_and_holds_up_nothing() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let hangs = tells(&alice, &bob, &json!({"hang": true}));
    let good = tells(&alice, &bob, &json!({}));
    let script = "grep -q hang && exec sleep 600; exit 0";
    run(each(&bob, &["--timeout", "0.3"], script), 1);
    let listed = bob.json(&["quarantine", "list"]);
    assert_eq!(
        (&listed[0]["message-id"], &listed[0]["failed"]),
        (&json!(hangs), &json!("timed out"))
    );
    assert!(
        tries(&bob, &good)
            .iter()
            .any(|(what, ..)| what == "acknowledged")
    );
}

#[test]
fn a_command_that_is_not_there_spends_no_tries() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let id = tells(&alice, &bob, &json!({}));
    for _ in 0..7 {
        let said = says(&run(handled(&bob, &["--", "/nowhere/handler"]), 2));
        assert!(said.contains("/nowhere/handler cannot be run"), "{said}");
    }
    assert!(bob.json(&["quarantine", "list"]).is_empty());
    arrives(&bob, &id);
    for wrong in [
        &["inbox", "--each"][..],
        &["inbox", "--timeout", "1"],
        &["inbox", "--each", "--json"],
    ] {
        assert_eq!(bob.cli(wrong).status.code(), Some(2), "{wrong:?}");
    }
    run(handled(&bob, &["--timeout", "-1", "--", "true"]), 2);
}

#[test]
fn following_handles_what_arrives_and_two_handlers_share_no_message() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let seen = house.path("seen");
    let script = format!("jq -c .body >> '{}'", seen.display());
    let first = tells(&alice, &bob, &json!(1));
    let mut child = each(&bob, &["--follow"], &script).spawn().unwrap();
    let handled = |count: usize| {
        eventually("they are handled", || {
            (lines(&seen).len() == count).then_some(())
        });
    };
    handled(1);
    alice.send(&bob, "notification", &json!(2)).unwrap();
    alice.send(&bob, "notification", &json!(3)).unwrap();
    handled(3);
    assert_eq!(lines(&seen), ["1", "2", "3"]);
    run(each(&bob, &[], "exit 3"), 0);
    house::kill(child.id(), Signal::TERM);
    let ended = eventually("it stops", || child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
    assert!(bob.inbox().is_empty());
    assert_eq!(tries(&bob, &first).len(), 2);
}

/// The daemon cuts off whoever does not read for five seconds.
#[test]
fn a_handler_slower_than_what_arrives_misses_nothing_and_sees_nothing_twice() {
    const MANY: usize = 60;
    let house = House::new();
    let (alice, mut bob) = house.alice_and_bob();
    let (seen, gate) = (house.path("seen"), house.path("gate"));
    let script = format!(
        "jq -r .body.n >> '{}'; until [ -e '{}' ]; do sleep 0.05; done",
        seen.display(),
        gate.display()
    );
    let mut child = each(&bob, &["--follow"], &script).spawn().unwrap();
    let padding = "x".repeat(60_000);
    for n in 0..MANY {
        alice
            .send(&bob, "notification", &json!({"n": n, "padding": padding}))
            .unwrap();
    }
    eventually("all have arrived", || {
        (bob.inbox().len() == MANY).then_some(())
    });
    std::thread::sleep(std::time::Duration::from_secs(7));
    std::fs::write(gate, "").unwrap();
    eventually("the inbox is empty", || {
        bob.inbox().is_empty().then_some(())
    });
    let mut all: Vec<usize> = lines(&seen)
        .iter()
        .map(|line| line.parse().unwrap())
        .collect();
    all.sort_unstable();
    assert_eq!(all, (0..MANY).collect::<Vec<_>>());
    bob.kill();
    bob.start();
    tells(&alice, &bob, &json!({"n": MANY}));
    eventually("it goes on when its daemon is back", || {
        (lines(&seen).len() == MANY + 1).then_some(())
    });
    house::kill(child.id(), Signal::TERM);
    let ended = eventually("it stops", || child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn a_pause_hands_nothing_over_and_spends_no_tries() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let id = tells(&alice, &bob, &json!({}));
    bob.done(&["pause"]);
    assert!(says(&run(each(&bob, &[], "true"), 1)).contains("paused"));
    let received = bob.call("receive", &json!({})).unwrap();
    assert_eq!(received, json!({"messages": []}));
    bob.done(&["resume"]);
    assert!(tries(&bob, &id).is_empty());
    run(each(&bob, &[], "true"), 0);
}

#[test]
fn an_answer_of_a_handler_is_never_sent_twice() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let id = asks(&alice, &bob, &json!({}));
    run(each(&bob, &[], "echo '{}'"), 0);
    run(each(&bob, &[], "echo '{}'"), 0);
    let log = bob.walk();
    let answers =
        messages(&log, "out", "sent").filter(|line| house::log::header(line, "in-reply-to") == id);
    assert_eq!(answers.count(), 1);
}
