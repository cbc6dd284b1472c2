//! `signet audit show`: what a person sees of the log of their agent.

use std::process::Command;

use serde_json::json;
use signet::control::Client;
use signet_proto::ids::Digest;

use crate::house::bus::Sender;
use crate::house::pen::Pen;
use crate::house::{Home, House, PATIENCE, eventually, says};

/// Alice tells Bob something in a conversation, and Bob's agent has taken it.
fn tells(
    alice: &Home,
    bob: &Home,
    conversation: &str,
    summary: &str,
    body: serde_json::Value,
) -> String {
    let params = json!({
        "peer": bob.agent, "kind": "notification", "conversation-id": conversation, "summary": summary, "body": body,
    });
    let sent = alice.call("send", &params).unwrap();
    let id = sent["message-id"].as_str().unwrap().to_owned();
    eventually("it arrives", || {
        bob.inbox()
            .iter()
            .any(|item| item["message-id"] == id.as_str())
            .then_some(())
    });
    id
}

#[test]
fn without_a_path_it_shows_the_homes_own_log_with_whole_ids() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let id = tells(&alice, &bob, "dinner", "Dinner at eight", json!({}));
    for home in [&alice, &bob] {
        let log = home.dir.join("audit").join(&home.agent);
        let shown = home.done(&["audit", "show"]);
        assert!(shown.contains(&id), "{shown}");
        assert_eq!(shown, home.done(&["audit", "show", log.to_str().unwrap()]));
        assert!(!shown.contains('…'), "nothing is shortened: {shown}");
    }
    let nowhere = house.path("nowhere");
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command.args(["audit", "show", "--home"]).arg(&nowhere);
    let output = command.env_clear().output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(says(&output).contains("nowhere"), "{}", says(&output));
}

#[test]
fn a_day_is_its_beginning_for_since_and_until() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let id = tells(&alice, &bob, "dinner", "Dinner at eight", json!({}));
    for (args, is_shown) in [
        (["--since", "2020-02-29"], true),
        (["--until", "2020-02-29"], false),
        (["--since", "2261-12-31"], false),
        (["--until", "2261-12-31"], true),
    ] {
        let shown = alice.done(&["audit", "show", args[0], args[1]]);
        assert_eq!(shown.contains(&id), is_shown, "{args:?}: {shown}");
    }
    for none in ["2021-02-29", "29.02.2020", "yesterday"] {
        let output = alice.cli(&["audit", "show", "--since", none]);
        assert_eq!(output.status.code(), Some(2), "{none}");
    }
}

#[test]
fn handshakes_and_receipts_are_left_out_unless_they_are_asked_for_or_were_refused() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    tells(&alice, &bob, "dinner", "Dinner at eight", json!({}));
    let plumbing = ["announce", "verify", "capability", "trust  ", "receipt"];
    eventually("a receipt", || {
        alice
            .log()
            .iter()
            .any(|line| line["method"] == "agent.receipt" && line["dir"] == "in")
            .then_some(())
    });
    let messages = |shown: &str, name: &str| {
        let of = |line: &&str| {
            (line.contains("  in  ") || line.contains("  out "))
                && line.contains(&format!("  {name}"))
        };
        shown.lines().filter(of).count()
    };
    let shown = alice.done(&["audit", "show"]);
    for name in plumbing {
        assert_eq!(messages(&shown, name), 0, "{name}: {shown}");
    }
    assert_eq!(messages(&shown, "notification"), 1, "{shown}");
    assert!(
        shown.contains("genesis") && shown.contains("bound"),
        "other lines stay: {shown}"
    );
    for flag in ["--plumbing", "--all"] {
        let shown = alice.done(&["audit", "show", flag]);
        for name in plumbing {
            assert!(messages(&shown, name) > 0, "{name}: {shown}");
        }
        assert_eq!(shown.lines().count(), alice.log().len(), "every line");
    }
    // The same in JSON: the lines as they stand.
    let lines = alice.json(&["audit", "show"]);
    assert!(lines.iter().all(|line| line["class"] != "control"));
    assert_eq!(alice.json(&["audit", "show", "--all"]), alice.log());
    // A control message (handshake or receipt) whose signature is forged is shown: nobody has proved that it is one, so
    // it is not left out.
    let flight = alice
        .log()
        .into_iter()
        .find(|line| line["dir"] == "in" && line["class"] == "control")
        .unwrap();
    let mut forged = flight["message"].clone();
    forged["params"]["signature"] = "A".repeat(86).into();
    let mut sender = Sender::new(&house);
    let line = alice.hears(&mut sender, forged.to_string().as_bytes());
    assert_eq!(
        (&line["verdict"], line.get("class")),
        (&json!("rejected"), None)
    );
    let shown = alice.done(&["audit", "show"]);
    assert!(shown.contains(line["reason"].as_str().unwrap()), "{shown}");
    // So is one that is proven, and was refused: it belongs to no handshake.
    let pen = Pen::of(&bob);
    let late = pen.sign(pen.capability(&alice.agent, &Digest::of(&[])));
    let line = alice.hears(&mut sender, &late);
    assert_eq!(
        (&line["verdict"], &line["class"]),
        (&json!("rejected"), &json!("control")),
        "{line}"
    );
    assert!(alice.json(&["audit", "show"]).contains(&line), "{line}");
}

#[test]
fn one_conversation_is_shown_alone() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let dinner = tells(&alice, &bob, "dinner", "Dinner at eight", json!({}));
    let cat = tells(&alice, &bob, "cat", "The cat is fed", json!({}));
    let shown = alice.done(&["audit", "show", "--conversation", "dinner"]);
    assert!(shown.contains(&dinner) && !shown.contains(&cat), "{shown}");
    assert!(!shown.contains("genesis"), "{shown}");
    assert_eq!(
        alice.done(&["audit", "show", "--conversation", "nothing"]),
        ""
    );
    // A task is the conversation of all that belongs to it.
    let handing = json!({"peer": bob.agent, "goal": "Water the garden", "lasts": 3600});
    let sent = alice.call("handoff.send", &handing).unwrap();
    let task = sent["task"].as_str().unwrap();
    eventually("it arrives", || {
        bob.call("handoff.show", &json!({"task": task})).ok()
    });
    bob.done(&["handoff", "accept", task]);
    let shown = bob.done(&["audit", "show", "--conversation", task]);
    for words in ["offered", "accepted", "handoff ", "response "] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let output = alice.cli(&["audit", "show", "--conversation", "not one"]);
    assert_eq!(output.status.code(), Some(2), "{}", says(&output));
}

/// The ids that a listing shows of some.
fn shown<'a>(listing: &str, ids: &[&'a str]) -> Vec<&'a str> {
    let is_shown = |id: &&&str| {
        listing
            .lines()
            .any(|line| line.contains(**id) && !line.contains("receipt"))
    };
    ids.iter().filter(is_shown).copied().collect()
}

#[test]
fn a_log_is_asked_by_tier_by_kind_by_id_by_words_and_for_what_is_unanswered() {
    let house = House::new();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    for home in [&alice, &bob] {
        home.configure("# tier = 2", "tier = 4");
    }
    house.acquaint(&[&alice, &bob]);
    let (mut alice, mut bob) = (alice, bob);
    alice.start();
    bob.start();
    let dinner = tells(
        &alice,
        &bob,
        "dinner",
        "Dinner at eight",
        json!({"place": "The Harbour"}),
    );
    let bare =
        json!({"peer": bob.agent, "kind": "notification", "body": {"note": "x".repeat(5_000)}});
    let bare = alice.call("send", &bare).unwrap()["message-id"]
        .as_str()
        .unwrap()
        .to_owned();
    let secret =
        json!({"peer": bob.agent, "kind": "notification", "data-tier": 3, "body": {"pin": "4711"}});
    let secret = alice.call("send", &secret).unwrap()["message-id"]
        .as_str()
        .unwrap()
        .to_owned();
    let ask = |summary: &str| {
        let params = json!({"peer": bob.agent, "kind": "request", "summary": summary, "body": {}});
        let sent = alice.call("send", &params).unwrap();
        sent["message-id"].as_str().unwrap().to_owned()
    };
    let (open, answered) = (ask("Feed the cat?"), ask("Bring cake?"));
    eventually("all arrive", || (bob.inbox().len() == 5).then_some(()));
    let answer = json!({"message": {"message-id": answered}, "body": {"cake": true}, "summary": "Chocolate"});
    bob.call("respond", &answer).unwrap();
    eventually("the answer arrives", || {
        (alice.inbox().len() == 1).then_some(())
    });
    let agents = Client::connect(&alice.dir.join("agent.sock"), PATIENCE).unwrap();
    let mut agents = agents;
    agents
        .raw("trust.approve", &json!({"agent": "eve"}))
        .unwrap_err();
    eventually("the attempt is logged", || {
        alice
            .log()
            .iter()
            .any(|line| line["kind"] == "attempt")
            .then_some(())
    });

    let show = |args: &[&str]| alice.done(&[&["audit", "show"], args].concat());
    let ids = [&*dinner, &*bare, &*secret, &*open, &*answered];
    assert_eq!(shown(&show(&[]), &ids), ids);
    assert_eq!(shown(&show(&["--tier", "3"]), &ids), [&*secret]);
    let said = show(&["--kind", "attempt", "--kind", "genesis"]);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains("trust.approve"), "{said}");
    let said = show(&["--id", &answered[..20]]);
    assert!(
        said.contains("Bring cake?") && said.contains("Chocolate"),
        "{said}"
    );
    assert_eq!(shown(&said, &[&open, &dinner]), Vec::<&str>::new());
    assert_eq!(shown(&show(&["--search", "the harbour"]), &ids), [&*dinner]);
    assert_eq!(shown(&show(&["--search", "DINNER"]), &ids), [&*dinner]);
    assert_eq!(
        show(&["--search", "4711"]),
        "",
        "what is sealed is not searched"
    );
    let said = show(&["--unanswered"]);
    assert_eq!(shown(&said, &ids), [&*open], "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let theirs = bob.done(&["audit", "show", "--unanswered"]);
    assert_eq!(shown(&theirs, &ids), [&*open], "{theirs}");
    // A message without a summary is shown by its body, cut to the room of a row; the body of a sealed message is never
    // shown.
    let said = show(&["--id", &bare]);
    assert!(
        said.contains("{\"note\":\"xxx") && said.contains("more characters)"),
        "{said}"
    );
    assert!(
        said.lines().all(|line| line.chars().count() < 400),
        "{said}"
    );
    let said = show(&["--id", &bare, "--body"]);
    assert!((4_000..4_500).contains(&said.len()), "{}", said.len());
    assert!(!show(&["--body"]).contains("4711"));
    for (args, code) in [
        (&["--kind", "atempt"][..], 2),
        (&["--id", "xyz"], 2),
        (&["--tier", "5"], 2),
        (&["--unanswered", "--follow"], 2),
    ] {
        let output = alice.cli(&[&["audit", "show"], args].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(
            says(&output).contains("\n  next: "),
            "{args:?}: {}",
            says(&output)
        );
    }
}

#[test]
fn every_kind_that_a_log_may_hold_can_be_asked_for() {
    let kinds = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../audit/tests/vectors/v1/kinds.jsonl");
    for line in std::fs::read_to_string(&kinds).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let kind = line["kind"].as_str().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
        command.args(["audit", "show", "/nowhere", "--kind", kind]);
        let said = says(&command.output().unwrap());
        assert!(said.contains("/nowhere"), "{kind}: {said}");
    }
}

#[test]
fn bodies_are_shown_when_they_are_asked_for_and_cannot_drive_the_terminal() {
    let house = House::new();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    for home in [&alice, &bob] {
        home.configure("# tier = 2", "tier = 4");
    }
    house.acquaint(&[&alice, &bob]);
    let (mut alice, mut bob) = (alice, bob);
    alice.start();
    bob.start();
    let evil = "x\u{1b}[2J\u{202e}y\nz";
    tells(
        &alice,
        &bob,
        "dinner",
        "Dinner",
        json!({"dinner": "at eight", "note": evil}),
    );
    let secret =
        json!({"peer": bob.agent, "kind": "notification", "data-tier": 3, "body": {"pin": "4711"}});
    alice.call("send", &secret).unwrap();
    eventually("both arrive", || (bob.inbox().len() == 2).then_some(()));
    for home in [&alice, &bob] {
        let plain = home.done(&["audit", "show"]);
        assert!(!plain.contains("at eight"), "{plain}");
        let shown = home.done(&["audit", "show", "--body"]);
        assert!(
            shown
                .contains("\n    {\"dinner\":\"at eight\",\"note\":\"x\\u001b[2J\\u202ey\\nz\"}\n"),
            "{shown}"
        );
        assert!(
            !shown.contains("4711") && shown.contains("(sealed)"),
            "{shown}"
        );
        let hidden = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!shown.contains(hidden), "{shown:?}");
    }
    let output = alice.cli(&["audit", "show", "--body", "--json"]);
    assert_eq!(output.status.code(), Some(2));
}
