//! Every decision at the desk, and the same by the command line: the log tells of both alike.

use serde_json::{Value, json};
use signet::config::Config;
use signet::lock::HomeLock;
use signet::memory::Memory;
use signet_proto::entry::{Alarm, AlarmLine, Entry};
use signet_proto::node::Outcome;

use crate::browser::{Browser, link};
use crate::house::{Home, House, eventually};
use crate::scene::{Scene, View};

/// The lines of those kinds behind the first `after` lines, without what differs from one decision to the next.
fn told(home: &Home, after: usize, kinds: &[&str]) -> Vec<Value> {
    let lines = home.log().into_iter().skip(after);
    let lines = lines.filter(|line| kinds.contains(&line["kind"].as_str().unwrap()));
    lines.map(|line| alike(&line)).collect()
}

/// A value without times, ids, signatures, hashes, keys with their words, and numbers, and with one name for each stranger.
fn alike(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let inner = members
                .iter()
                .map(|(name, value)| (name.clone(), alike(value)));
            Value::Object(inner.collect())
        }
        Value::Array(items) => items.iter().map(alike).collect(),
        Value::String(text) => {
            let text = text.replace("dave", "carol");
            let are_words = text.split(' ').count() == 12
                && text
                    .bytes()
                    .all(|byte| byte == b' ' || byte.is_ascii_lowercase());
            let is_long = text.len() >= 40 && !text.contains(' ');
            let is_time = text.len() > 20 && text.as_bytes()[4] == b'-' && text.ends_with('Z');
            let is_id = text.len() == 36 && text.as_bytes()[8] == b'-';
            match are_words || is_long || is_time || is_id || text.starts_with("ed25519:") {
                true => json!("-"),
                false => json!(text),
            }
        }
        Value::Number(_) => json!(0),
        other => other.clone(),
    }
}

/// Goes to a page of the first page's, chooses, and presses the button.
fn choose(
    browser: &mut Browser,
    page: &str,
    links: &[&str],
    button: &str,
    ticks: &[(&str, &str)],
) -> String {
    let mut shown = page.to_owned();
    for text in links {
        let to = link(&shown, text);
        shown = browser.go(&to).body;
    }
    let done = browser.submit(&shown, button, ticks);
    assert_eq!(done.status, 200, "{}", done.body);
    done.body
}

fn first(browser: &mut Browser) -> String {
    browser.go("./").body
}

#[test]
fn a_draft_is_approved_and_refused_as_by_the_command_line_and_what_left_says_what_was_shown() {
    let scene = Scene::new();
    let (by_hand, by_desk) = (
        scene.draft("by hand", &json!("one")),
        scene.draft("at the desk", &json!({"pin": 4711})),
    );
    let at = scene.alice.log().len();
    scene.alice.done(&["approve", &by_hand]);
    let command = told(&scene.alice, at, &["approval", "message"]);
    let view = scene.view();
    let (mut browser, page) = view.browser();
    assert!(
        page.contains("at the desk") && !page.contains("4711"),
        "{page}"
    );
    let at = scene.alice.log().len();
    let full = browser.go(&link(&page, "A draft")).body;
    for shown in ["at the desk", "4711", "agent-bob", &by_desk, "notification"] {
        assert!(full.contains(shown), "{shown}: {full}");
    }
    assert!(full.contains(&hash_of(&scene.alice, &by_desk)), "{full}");
    let done = choose(
        &mut browser,
        &page,
        &["A draft", "It may leave …"],
        "Approve: it may leave",
        &[],
    );
    assert!(done.contains("Approved"), "{done}");
    eventually("bob has it", || {
        let inbox = scene.bob.inbox();
        inbox
            .iter()
            .find(|message| message["body"] == json!({"pin": 4711}))
            .cloned()
    });
    eventually("both stand alike in the log", || {
        let desk = told(&scene.alice, at, &["approval", "message"]);
        let desk: Vec<Value> = desk.into_iter().take(command.len()).collect();
        (approvals(&desk) == approvals(&command) && desk.len() == command.len()).then_some(())
    });
    let (by_hand, by_desk) = (
        scene.draft("no", &json!("two")),
        scene.draft("no again", &json!("three")),
    );
    let at = scene.alice.log().len();
    scene.alice.done(&["approve", &by_hand, "--refuse"]);
    let command = told(
        &scene.alice,
        at,
        &["approval", "refusal", "outcome", "draft"],
    );
    let page = first(&mut browser);
    assert!(page.contains(&format!("id={by_desk}")), "{page}");
    let at = scene.alice.log().len();
    let done = choose(
        &mut browser,
        &page,
        &["A draft", "It never leaves …"],
        "Refuse",
        &[],
    );
    assert!(done.contains("never leaves"), "{done}");
    assert_eq!(
        told(
            &scene.alice,
            at,
            &["approval", "refusal", "outcome", "draft"]
        ),
        command
    );
    assert_eq!(scene.waiting(), 0);
}

fn approvals(lines: &[Value]) -> Vec<&Value> {
    lines
        .iter()
        .filter(|line| line["kind"] == "approval")
        .collect()
}

fn hash_of(home: &Home, id: &str) -> String {
    let listed = home.call("drafts.list", &json!({"name": id})).unwrap();
    listed["drafts"][0]["hash"].as_str().unwrap().to_owned()
}

#[test]
fn a_stranger_is_trusted_after_the_words_were_compared_and_refused_as_by_the_command_line() {
    let house = House::new();
    let mut homes = ["alice", "carol", "dave"].map(|who| house.home(who));
    for home in &mut homes {
        home.start();
    }
    let [alice, carol, dave] = homes;
    let asks = |stranger: &Home, already: u64| {
        stranger
            .send(&alice, "notification", &json!("let me in"))
            .unwrap();
        eventually("the stranger asks", || {
            let status = alice.call("status", &json!({})).ok()?;
            (status["pending"] == already).then_some(())
        });
    };
    asks(&carol, 1);
    let at = alice.log().len();
    alice.done(&["trust", "approve", &carol.agent]);
    let command = told(&alice, at, &["trust"]);
    asks(&dave, 1);
    let view = View::open(&house, &[&alice], &[]);
    let (mut browser, page) = view.browser();
    let pending = alice.call("trust.pending", &json!({})).unwrap();
    let words = pending["pending"][0]["fingerprint"].as_str().unwrap();
    for word in words.split(' ') {
        assert!(page.contains(&format!("<li>{word}</li>")), "{word}: {page}");
    }
    let links = ["A stranger", "The same words: trust this agent …"];
    let at = alice.log().len();
    let unticked = choose(&mut browser, &page, &links, "Trust this agent", &[]);
    assert!(
        unticked.contains("say first that you have compared"),
        "{unticked}"
    );
    assert_eq!(told(&alice, at, &["trust"]), Vec::<Value>::new());
    let done = browser.submit(&unticked, "Trust this agent", &[("compared", "yes")]);
    assert!(done.body.contains("The agent is trusted."), "{}", done.body);
    assert_eq!(told(&alice, at, &["trust"]), command);
    // Withdraw the trust in one agent by the command line and in another at the desk: both leave the same lines in the
    // log.
    let at = alice.log().len();
    alice.done(&["trust", "withdraw", &carol.agent]);
    let command = told(&alice, at, &["trust"]);
    let at = alice.log().len();
    let page = first(&mut browser);
    let done = choose(
        &mut browser,
        &page,
        &["agent-dave", "Withdraw the trust …"],
        "Withdraw the trust",
        &[],
    );
    assert!(done.contains("trusted no more"), "{done}");
    assert_eq!(told(&alice, at, &["trust"]), command);
}

#[test]
fn a_stranger_is_refused_as_by_the_command_line() {
    let house = House::new();
    let mut homes = ["alice", "carol", "dave"].map(|who| house.home(who));
    for home in &mut homes {
        home.start();
    }
    let [alice, carol, dave] = homes;
    for stranger in [&carol, &dave] {
        stranger
            .send(&alice, "notification", &json!("let me in"))
            .unwrap();
    }
    eventually("both ask", || {
        let status = alice.call("status", &json!({})).ok()?;
        (status["pending"] == 2).then_some(())
    });
    let at = alice.log().len();
    alice.done(&["trust", "refuse", &carol.agent]);
    let command = told(&alice, at, &["trust"]);
    let view = View::open(&house, &[&alice], &[]);
    let (mut browser, page) = view.browser();
    let at = alice.log().len();
    let done = choose(
        &mut browser,
        &page,
        &["A stranger", "Other words: refuse it …"],
        "Refuse",
        &[],
    );
    assert!(done.contains("The stranger is refused."), "{done}");
    assert_eq!(told(&alice, at, &["trust"]), command);
    assert!(
        alice
            .call("trust.list", &json!({}))
            .unwrap()
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn the_agents_pause_and_go_on_as_by_the_command_line() {
    let scene = Scene::new();
    let at = scene.alice.log().len();
    scene.alice.done(&["pause"]);
    scene.alice.done(&["resume"]);
    let command = told(&scene.alice, at, &["pause"]);
    let view = scene.view();
    let (mut browser, page) = view.browser();
    let at = scene.alice.log().len();
    let done = choose(
        &mut browser,
        &page,
        &["Pause and resume"],
        "Pause all agents",
        &[],
    );
    assert!(done.contains("The agents pause."), "{done}");
    let paused = scene.alice.call("pause.show", &json!({})).unwrap();
    assert_eq!(paused["paused"], true);
    let page = first(&mut browser);
    let done = choose(
        &mut browser,
        &page,
        &["Pause and resume"],
        "Let all agents go on",
        &[],
    );
    assert!(done.contains("The agents go on."), "{done}");
    assert_eq!(told(&scene.alice, at, &["pause"]), command);
}

#[test]
fn an_alarm_is_cleared_as_by_the_command_line() {
    let cleared = |by_desk: bool| {
        let house = House::new();
        let (mut alice, bob) = (house.home("alice"), house.home("bob"));
        house.acquaint(&[&alice, &bob]);
        ring(&alice, &bob);
        alice.start();
        let at = alice.log().len();
        match by_desk {
            false => drop(alice.done(&["alarms", "clear"])),
            true => {
                let view = View::open(&house, &[&alice], &[]);
                let (mut browser, page) = view.browser();
                let links = ["Alarms", "I have seen to them: clear …"];
                let done = choose(&mut browser, &page, &links, "Clear the alarms", &[]);
                assert!(
                    done.contains("cleared") && done.contains("second-copy"),
                    "{done}"
                );
            }
        }
        assert_eq!(
            alice.call("alarms.list", &json!({})).unwrap()["alarms"],
            json!([])
        );
        told(&alice, at, &["alarm"])
    };
    let command = cleared(false);
    assert!(!command.is_empty());
    assert_eq!(cleared(true), command);
}

/// An alarm that rings with Bob, as the daemon would have written it.
fn ring(alice: &Home, bob: &Home) {
    let place = signet::home::Home::at(&alice.dir);
    let config = Config::load(&place).unwrap();
    let mut memory = Memory::open(&HomeLock::acquire(&place).unwrap(), &config).unwrap();
    let mut outcome = Outcome::default();
    outcome.entries.push(Entry::Alarm(AlarmLine {
        peer: bob.agent.parse().unwrap(),
        what: Alarm::SecondCopy,
        cleared: false,
    }));
    memory.write(signet::clock::now(), &outcome).unwrap();
}

#[test]
fn a_key_on_a_stick_decides_and_without_the_stick_nothing_is_decided() {
    let scene = Scene::new();
    let stick = scene.house.path("stick.pem");
    std::fs::rename(scene.alice.dir.join("keys/control.pem"), &stick).unwrap();
    let id = scene.draft("with the stick", &json!("four"));
    let view = scene.view();
    let (mut browser, page) = view.browser();
    let mut shown = browser.go(&link(&page, "A draft")).body;
    shown = browser.go(&link(&shown, "It may leave …")).body;
    let refused = browser.submit(&shown, "Approve", &[]);
    assert_eq!(refused.status, 409);
    assert!(
        refused.body.contains("control key is not at"),
        "{}",
        refused.body
    );
    assert_eq!(scene.waiting(), 1);
    drop(view);
    let key = stick.to_str().unwrap();
    let view = View::open(&scene.house, &[&scene.alice], &["--key", key]);
    let (mut browser, page) = view.browser();
    let done = choose(
        &mut browser,
        &page,
        &["A draft", "It may leave …"],
        "Approve",
        &[],
    );
    assert!(done.contains(&id), "{done}");
    assert_eq!(scene.waiting(), 0);
}

#[test]
fn two_homes_are_decided_each_with_its_own_keys_and_in_german() {
    let scene = Scene::new();
    let of_alice = scene.draft("für Bob", &json!("fünf"));
    scene.bob.call("send", &json!({"peer": scene.alice.agent, "kind": "notification", "body": "six", "data-tier": 4})).unwrap();
    let view = View::open(&scene.house, &[&scene.alice, &scene.bob], &[]);
    let mut browser = Browser {
        language: Some("de-DE,de;q=0.9,en;q=0.5"),
        ..Browser::default()
    };
    let page = browser.follow(None, &view.once).body;
    assert!(
        page.contains("lang=\"de\"") && page.contains("Der Schreibtisch"),
        "{page}"
    );
    assert_eq!(page.matches(">Ein Entwurf</a>").count(), 2, "{page}");
    let done = choose(
        &mut browser,
        &page,
        &["Ein Entwurf", "Es darf hinaus …"],
        "Freigeben",
        &[],
    );
    assert!(done.contains(&of_alice), "{done}");
    let page = first(&mut browser);
    assert_eq!(page.matches(">Ein Entwurf</a>").count(), 1);
    let done = choose(
        &mut browser,
        &page,
        &["Ein Entwurf", "Es bleibt hier …"],
        "Ablehnen",
        &[],
    );
    assert!(done.contains("Abgelehnt"), "{done}");
}
