//! A person stops all their agents with one word, and lets them go on.

use serde_json::{Value, json};

use super::{decisions, gets, key, verifies};
use crate::house::{Home, House, eventually};

/// Alice with two agents, and Bob; all know each other and run.
fn household(house: &House) -> (Home, Home, Home) {
    let alice = house.home("alice");
    let second = house.sibling(&alice, "alice-2");
    let bob = house.home("bob");
    let mut all = [alice, second, bob];
    house.acquaint(&[&all[0], &all[1], &all[2]]);
    for home in &mut all {
        home.start();
    }
    let [alice, second, bob] = all;
    alice.ping(&second);
    alice.ping(&bob);
    second.ping(&bob);
    (alice, second, bob)
}

fn paused(home: &Home) -> bool {
    home.call("status", &json!({})).unwrap()["paused"] == true
}

fn becomes(home: &Home, how: bool) {
    eventually("the word reaches it", || {
        (paused(home) == how).then_some(())
    });
}

#[test]
fn one_word_stops_every_agent_of_the_person_and_a_restart_does_not_let_them_go_on() {
    let house = House::new();
    let (mut alice, mut second, bob) = household(&house);
    let said = alice.done(&["pause"]);
    assert!(
        said.starts_with("the agents of alice pause: ") && said.contains("signet resume"),
        "{said}"
    );
    becomes(&second, true);
    assert!(!paused(&bob));
    for home in [&alice, &second] {
        assert!(home.done(&["status"]).contains("signet resume"));
        bob.send(home, "notification", &json!({"to": home.agent}))
            .unwrap();
        let said = home.fails(1, &["inbox"]);
        assert!(
            said.contains("paused") && said.contains("signet resume"),
            "{said}"
        );
        let said = home.waits(&[
            "send",
            &bob.agent,
            "--notify",
            r#"{"from":"a paused agent"}"#,
        ]);
        assert!(
            said.contains("waits for resume\n  next: signet resume"),
            "{said}"
        );
        assert!(home.done(&["drafts"]).contains("waits for resume"));
    }
    // Their daemons go on taking what arrives, durably.
    eventually("both messages are receipted", || {
        let open = |home: &Home| bob.standing(&home.agent, "unconfirmed");
        (open(&alice) == 0 && open(&second) == 0).then_some(())
    });
    alice.kill();
    assert!(second.stop().success());
    alice.start();
    second.start();
    assert!(paused(&alice) && paused(&second));
    assert!(bob.inbox().is_empty());
    let said = second.fails(2, &["resume"]);
    assert!(said.contains("control key is not at"), "{said}");
    let said = second.done(&["resume", "--key", &key(&alice, "control.pem")]);
    assert!(said.starts_with("the agents of alice go on"), "{said}");
    becomes(&alice, false);
    for home in [&alice, &second] {
        gets(home, &json!({"to": home.agent}));
        assert!(
            decisions(home).iter().any(|word| word.contains("pause")),
            "{:?}",
            decisions(home)
        );
        verifies(home);
    }
    eventually("both messages arrive", || {
        (bob.inbox().len() == 2).then_some(())
    });
}

#[test]
fn a_stopped_agent_is_paused_and_resumed_and_tells_the_others_when_it_starts() {
    let house = House::new();
    let (mut alice, second, _bob) = household(&house);
    assert!(alice.stop().success());
    let state = alice.json(&["pause"]).remove(0);
    assert_eq!(state["paused"], true);
    assert!(!paused(&second));
    alice.start();
    assert!(paused(&alice));
    becomes(&second, true);
    alice.kill();
    alice.done(&["resume"]);
    alice.start();
    assert!(!paused(&alice));
    becomes(&second, false);
}

#[test]
fn nobody_elses_word_and_no_old_word_pauses_or_resumes() {
    let house = House::new();
    let (alice, second, bob) = household(&house);
    alice.done(&["pause"]);
    becomes(&second, true);
    for home in [&alice, &second] {
        let said = home.fails(1, &["resume", "--key", &key(&bob, "control.pem")]);
        assert!(said.contains("statement-invalid"), "{said}");
        assert!(paused(home));
    }
    // A resume that was obeyed once is refused when it is told again: otherwise anybody who kept it could end a later
    // pause.
    let mut words = Vec::new();
    for verb in ["resume", "pause"] {
        alice.done(&[verb]);
        words.push(statement(&alice));
    }
    becomes(&second, true);
    let control = serde_json::from_str::<Value>(&super::text(key(&alice, "control.json").as_ref()));
    let params = json!({"statement": words[0], "control": control.unwrap()});
    let refused = alice.call("pause.tell", &params).unwrap_err().to_string();
    assert!(refused.contains("obeyed before"), "{refused}");
    assert!(paused(&alice));
}

/// The person's last word, as the log holds it.
fn statement(home: &Home) -> Value {
    let lines = home.json(&["trust", "log"]);
    let last = lines.iter().rfind(|line| line["kind"] == "pause").unwrap();
    last["statement"].clone()
}
