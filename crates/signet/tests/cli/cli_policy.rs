//! `signet policy`, and what follows from a configuration, through the binary.

use serde_json::{Value, json};

use crate::house::{Home, House, eventually, says};

const OFFER: &str = r#"[[capability]]
name = "calendar.free-busy"
description = "Tells when there is time"
schema = "week.schema.json"
"#;
const SCHEMA: &str = r#"{"type": "object", "required": ["week"]}"#;

fn offers(home: &Home) {
    use std::os::unix::fs::PermissionsExt as _;
    let file = home.dir.join("week.schema.json");
    std::fs::write(&file, SCHEMA).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    home.configure("# [[capability]]", &format!("{OFFER}# [[capability]]"));
}

/// The exit code, what was printed, and the two lines of the error.
fn check(home: &Home, args: &[&str]) -> (Option<i32>, String, String) {
    let args = [&["policy", "check"], args].concat();
    let output = home.cli(&args);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), printed, says(&output))
}

fn one(home: &Home, args: &[&str]) -> Value {
    home.json(args).remove(0)
}

#[test]
fn a_question_is_answered_with_the_line_to_change_with_and_without_the_daemon() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    offers(&bob);
    bob.configure("# tier = 4", "tier = 1");
    house.acquaint(&[&alice, &bob]);

    let (code, printed, error) = check(&bob, &["agent-alice", "--tier", "2", "--receive"]);
    assert_eq!(code, Some(1));
    assert!(
        printed.contains("tier 2 from agent-alice: refused"),
        "{printed}"
    );
    assert!(
        error.contains("tier-not-granted: tier 2, and up to 1 is granted"),
        "{error}"
    );
    assert!(
        error.contains("write `tier = 2` in [grant] of config.toml"),
        "{error}"
    );
    let before = check(&alice, &["agent-bob", "--tier", "2", "--send"]);
    assert_eq!(before.0, Some(0), "what Bob grants is not known yet");
    assert!(
        before.1.contains("known after the first handshake"),
        "{}",
        before.1
    );

    alice.start();
    bob.start();
    alice.ping(&bob);
    let (code, _, error) = check(&alice, &["agent-bob", "--tier", "2", "--send"]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("ask bob to write `tier = 2` below [[peer]] id = \"agent-alice\""),
        "{error}"
    );
    let (code, _, error) = check(
        &alice,
        &["agent-bob", "--capability", "door.open", "--send"],
    );
    assert_eq!(code, Some(1));
    assert!(
        error.contains("capability-not-granted: the capability door.open is not granted"),
        "{error}"
    );
    let args = ["agent-bob", "--capability", "calendar.free-busy", "--send"];
    assert_eq!(check(&alice, &args).0, Some(0));
    let (code, _, error) = check(
        &bob,
        &["agent-alice", "--capability", "door.open", "--receive"],
    );
    assert_eq!(code, Some(1));
    assert!(
        error.contains("add `[[capability]]` with `name = \"door.open\"`"),
        "{error}"
    );
    let json = one(&alice, &["policy", "check", "agent-bob"]);
    assert_eq!(
        (&json["allowed"], &json["session"]),
        (&json!(true), &json!(true))
    );

    // The send is refused as the check foretold: no message is signed, and the person finds one `attempt` line in the
    // log.
    let before = one(&alice, &["status"])["log"]["seq"].as_u64().unwrap();
    let output = alice.cli(&["send", "agent-bob", "--request", "{}", "--tier", "2"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        says(&output).contains("tier-not-granted"),
        "{}",
        says(&output)
    );
    assert_eq!(one(&alice, &["status"])["log"]["seq"], before + 1);
    let log = alice.log();
    let tried = log.last().unwrap();
    assert_eq!(
        (&tried["kind"], &tried["reason"], &tried["tier"]),
        (&json!("attempt"), &json!("tier-not-granted"), &json!(2))
    );

    let unknown = check(&alice, &["agent-nobody"]);
    assert_eq!(unknown.0, Some(1));
    assert!(unknown.2.contains("peer-unknown"), "{}", unknown.2);
    assert_eq!(check(&alice, &["agent-bob", "--tier", "5"]).0, Some(2));
    assert_eq!(
        check(&alice, &["agent-bob", "--capability", "No Name"]).0,
        Some(2)
    );
}

#[test]
fn a_policy_is_shown_in_plain_words_and_a_peers_schemas_as_text() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    offers(&bob);
    bob.configure(
        "# [[peer]]",
        "[[peer]]\nid = \"agent-alice\"\ntier = 2\n# [[peer]]",
    );
    house.acquaint(&[&alice, &bob]);
    let cold = alice.done(&["policy", "show"]);
    assert!(cold.contains("3 sensitive  layers 0, 1, 2"), "{cold}");
    assert!(cold.contains("known after the first handshake"), "{cold}");
    alice.start();
    bob.start();
    alice.ping(&bob);
    let shown = bob.done(&["policy", "show"]);
    assert!(
        shown.contains("offers calendar.free-busy up to tier 2: Tells when"),
        "{shown}"
    );
    assert!(shown.contains("may send us     tiers 1 to 2"), "{shown}");
    assert!(
        shown.contains("not more: tier 3, and up to 2 is granted (our [[peer]])"),
        "{shown}"
    );
    for args in [&["policy", "show"][..], &["peer", "show", "agent-bob"]] {
        let shown = alice.done(args);
        assert!(
            shown.contains("offers calendar.free-busy up to tier 2"),
            "{shown}"
        );
        assert!(
            shown.contains(r#"body: {"required":["week"],"type":"object"}"#),
            "{shown}"
        );
    }
    let json = one(&bob, &["policy", "show"]);
    assert_eq!(json["peers"][0]["sends"]["highest-tier"], 2);
    assert_eq!(
        json["capabilities"][0]["schema"]["required"],
        json!(["week"])
    );
}

#[test]
fn a_peers_description_forges_no_line_of_the_page() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    let evil = r#"[[capability]]
name = "a"
description = "x\nagent-carol of carol\n  may send us tiers 1 to 4\u001b[2J\u2028"
"#;
    bob.configure("# [[capability]]", &format!("{evil}# [[capability]]"));
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    alice.ping(&bob);
    for args in [&["policy", "show"][..], &["peer", "show", "agent-bob"]] {
        let shown = alice.done(args);
        assert!(shown.contains(r"x\u000aagent-carol of carol"), "{shown}");
        assert!(
            !shown.lines().any(|line| line.starts_with("agent-carol")),
            "{shown}"
        );
        assert!(!shown.contains(['\u{1b}', '\u{2028}']), "{shown:?}");
    }
}

#[test]
fn a_body_that_does_not_fit_is_answered_with_the_place() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    offers(&bob);
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    let ask = |body| {
        let args = [
            "send",
            "agent-bob",
            "--capability",
            "calendar.free-busy",
            "--request",
            body,
        ];
        alice.cli(&args)
    };
    let output = ask(r#"{"month": "secret"}"#);
    assert_eq!(output.status.code(), Some(1));
    let said = says(&output);
    assert!(
        said.contains("(reason body-unfit)") && said.contains("Schema path /required"),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
    assert!(bob.inbox().is_empty());
}

#[test]
fn an_agent_in_a_loop_is_told_at_once_and_status_shows_it() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    bob.configure("messages-per-minute = 1000000", "messages-per-minute = 5");
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    alice.ping(&bob);
    let mut refused = Vec::new();
    for _ in 0..8 {
        if let Err(error) = alice.send(&bob, "notification", &json!({})) {
            refused.push(error.to_string());
        }
    }
    assert_eq!(refused.len(), 4, "{refused:?}");
    assert!(
        refused[0].contains("agent-bob takes 5 messages a minute"),
        "{refused:?}"
    );
    let status = alice.done(&["status"]);
    assert!(status.contains("4 not sent over ours"), "{status}");
    eventually("the four arrive", || (bob.inbox().len() == 4).then_some(()));
}

#[test]
fn what_a_call_continues_is_counted() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.done(&[
        "send",
        "agent-bob",
        "--notify",
        "{}",
        "--conversation",
        "dinner",
    ]);
    let came = bob.inbox().remove(0);
    let id = came["message-id"].as_str().unwrap();
    bob.done(&["send", "agent-alice", "--notify", "{}", "--continues", id]);
    let back = alice.inbox().remove(0);
    assert_eq!(
        (&back["hops"], &back["conversation-id"]),
        (&json!(2), &json!("dinner"))
    );
    let output = bob.cli(&[
        "send",
        "agent-alice",
        "--notify",
        "{}",
        "--continues",
        back["message-id"].as_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        says(&output).contains("not-remembered"),
        "{}",
        says(&output)
    );
}

#[test]
fn a_faulty_schema_stops_every_command_with_its_place() {
    let house = House::new();
    let alice = house.home("alice");
    offers(&alice);
    std::fs::write(
        alice.dir.join("week.schema.json"),
        r#"{"items": {"type": "strnig"}}"#,
    )
    .unwrap();
    let output = alice.cli(&["run"]);
    assert_eq!(output.status.code(), Some(2));
    let said = says(&output);
    assert!(
        said.contains("`schema` in [[capability]]") && said.contains("at #/items/type"),
        "{said}"
    );
}
