//! Tiers 3 and 4 as people use them: sent, read, answered, and opened from the log.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::house::{Home, House, eventually, says};

const MARKER: &str = "the diagnosis";

fn private_pair(house: &House) -> (Home, Home) {
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    for home in [&mut alice, &mut bob] {
        home.configure("# tier = 2", "tier = 4");
    }
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    (alice, bob)
}

fn log_of(home: &Home) -> PathBuf {
    home.dir.join("audit").join(&home.agent)
}

fn text_of(log: &Path) -> String {
    let files = std::fs::read_dir(log).unwrap();
    let read = |file: std::io::Result<std::fs::DirEntry>| std::fs::read(file.unwrap().path());
    let bytes: Vec<u8> = files.flat_map(|file| read(file).unwrap()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_sealed_question_is_read_and_answered_and_no_log_holds_a_word_of_it() {
    let house = House::new();
    let (alice, bob) = private_pair(&house);
    let body = format!("{{\"what\":\"{MARKER}\"}}");
    let args = [
        "send",
        &bob.agent,
        "--tier",
        "3",
        "--request",
        &body,
        "--summary",
        "A question",
        "--json",
    ];
    let asking = alice.command(&args).stdout(Stdio::piped()).spawn().unwrap();
    let request = eventually("the request arrives", || bob.json(&["inbox"]).pop());
    assert_eq!(request["body"], json!({"what": MARKER}));
    assert_eq!(
        (&request["summary"], &request["sealed"]),
        (&json!("A question"), &json!(true))
    );
    assert!(bob.done(&["inbox"]).contains(MARKER));
    let id = request["message-id"].as_str().unwrap();
    bob.done(&["reply", id, &format!("{{\"not\":\"{MARKER}\"}}")]);
    let asked = asking.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(answer["answer"]["body"], json!({"not": MARKER}));
    assert_eq!(answer["answer"]["data-tier"], 3);
    for home in [&alice, &bob] {
        assert!(!text_of(&log_of(home)).contains(MARKER), "{}", home.agent);
        assert!(!home.said().contains(MARKER), "{}", home.agent);
        let log = log_of(home);
        home.done(&["audit", "verify", log.to_str().unwrap()]);
        let shown = home.done(&["audit", "show", log.to_str().unwrap()]);
        let sealed: Vec<_> = shown
            .lines()
            .filter(|line| line.contains("(sealed)"))
            .collect();
        assert!(sealed.len() >= 2, "{shown}");
        assert!(!shown.contains(MARKER));
    }
}

#[test]
fn the_words_that_decline_a_sealed_request_reach_the_asker() {
    let house = House::new();
    let (alice, bob) = private_pair(&house);
    let args = ["send", &bob.agent, "--tier", "3", "--request", "{}"];
    let asking = alice.command(&args).stderr(Stdio::piped()).spawn().unwrap();
    let request = eventually("the request arrives", || bob.json(&["inbox"]).pop());
    let id = request["message-id"].as_str().unwrap();
    bob.done(&["reply", id, "--decline", MARKER]);
    let asked = asking.wait_with_output().unwrap();
    assert_eq!(asked.status.code(), Some(1));
    assert!(
        says(&asked).contains(&format!("which says: \"{MARKER}\" (reason declined)")),
        "{}",
        says(&asked)
    );
    assert!(!text_of(&log_of(&bob)).contains(MARKER));
}

#[test]
fn an_inbox_full_of_large_sealed_messages_is_listed_a_few_megabytes_at_a_time() {
    const MESSAGES: usize = 40;
    let house = House::new();
    let (alice, bob) = private_pair(&house);
    for number in 0..MESSAGES {
        let body = json!({"number": number, "text": "x".repeat(150_000)});
        let params =
            json!({"peer": bob.agent, "kind": "notification", "data-tier": 3, "body": body});
        alice.call("send", &params).unwrap();
    }
    eventually("all arrive", || {
        (bob.call("status", &json!({})).unwrap()["inbox"] == MESSAGES).then_some(())
    });
    let page = bob.call("inbox.list", &json!({})).unwrap();
    assert_eq!(page["waiting"], MESSAGES);
    let listed = page["messages"].as_array().unwrap().len();
    assert!((1..MESSAGES).contains(&listed), "{listed}");
    assert!(page.to_string().len() <= 4 * 1024 * 1024);
    // A page has only some of the messages: the command asks for page after page, and gets each message once.
    let numbers = |list: &[Value]| -> Vec<u64> {
        let number = |item: &Value| item["body"]["number"].as_u64().unwrap();
        list.iter().map(number).collect()
    };
    let all: Vec<u64> = (0..MESSAGES as u64).collect();
    assert_eq!(numbers(&bob.json(&["inbox"])), all);
    bob.done(&["trust", "revoke", &alice.agent]);
    let aside = bob.call("inbox.aside", &json!({})).unwrap();
    assert!(aside.to_string().len() <= 4 * 1024 * 1024);
    assert_eq!(numbers(&bob.json(&["inbox", "--set-aside"])), all);
}
