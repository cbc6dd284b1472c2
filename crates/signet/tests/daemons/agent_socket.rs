//! The agent itself is the attacker: talked into it by a message, it calls whatever its socket takes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};
use signet::control::{Client, ClientError};
use signet_api::{Reason, Role, ShowPause};
use signet_proto::certificate::ControlCertificate;
use signet_proto::statement::{Asked, DecisionStatement, PauseStatement};

use crate::house::{Home, House, PATIENCE, eventually, receive};

/// A client that the agent of that home would have.
fn agent(home: &Home) -> Client {
    Client::connect(&home.dir.join("agent.sock"), PATIENCE).unwrap()
}

/// The name of a refusal, and whose call it was.
fn refusal(said: Result<Value, ClientError>) -> (Reason, Option<Role>) {
    match said {
        Err(ClientError::Refused(error)) => {
            let refusal = error.refusal().expect("a refusal").clone();
            (refusal.reason, refusal.whose)
        }
        other => panic!("{other:?}"),
    }
}

/// Lines of the log about what callers of a socket may not: call and count.
fn attempts(home: &Home, reason: &str) -> Vec<(String, u64)> {
    let lines = home.walk().into_iter();
    let lines = lines.filter(|line| line["kind"] == "attempt" && line["reason"] == reason);
    let told = lines.map(|line| {
        let call = line["call"].as_str().unwrap_or("several").to_owned();
        (call, line["count"].as_u64().unwrap())
    });
    told.collect()
}

/// Alice, whom a stranger asks, who has a draft that waits for approval, and a peer that she trusts.
struct Scene {
    house: House,
    alice: Home,
    bob: Home,
    carol: Home,
    draft: String,
}

fn scene() -> Scene {
    let house = House::new();
    let (mut alice, mut bob, mut carol) =
        (house.home("alice"), house.home("bob"), house.home("carol"));
    for home in [&alice, &bob] {
        home.configure("# tier = 2", "tier = 4");
    }
    house.acquaint(&[&alice, &bob]);
    for home in [&mut alice, &mut bob, &mut carol] {
        home.start();
    }
    alice.ping(&bob);
    carol
        .send(&alice, "notification", &json!("let me in"))
        .unwrap();
    eventually("carol asks to be known", || {
        let status = alice.call("status", &json!({})).ok()?;
        (status["pending"] == 1).then_some(())
    });
    let secret = json!({
        "peer": bob.agent, "kind": "notification", "body": "the pin", "data-tier": 4
    });
    // The agent itself asks for it; its person has to approve it.
    let sent = agent(&alice).raw("send", &secret).unwrap();
    assert_eq!(sent["waits-for"], "approval", "{sent}");
    let draft = sent["message-id"].as_str().unwrap().to_owned();
    Scene {
        house,
        alice,
        bob,
        carol,
        draft,
    }
}

impl Scene {
    fn certificate(&self, of: &Home) -> Value {
        serde_json::from_str(&of.done(&["peer", "export"])).unwrap()
    }

    /// What the person's key signs, as if it had been stolen by then.
    fn approval(&self) -> Value {
        let file = self.house.path("approval.json");
        let out = file.to_str().unwrap();
        self.alice.done(&["approve", &self.draft, "--out", out]);
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
    }

    fn pause(&self) -> Value {
        let mut person = self.alice.client().unwrap();
        let state = person.call(&ShowPause {}).unwrap();
        let control = ControlCertificate::parse(&state.control.unwrap()).unwrap();
        let key = signet::keystore::read_signing_key(&self.alice.dir.join("keys/control.pem"));
        let now = signet::clock::now();
        let said = PauseStatement::sign(true, 4_000_000_000, now, &control, &key.unwrap());
        json!({"statement": said.unwrap().to_value(), "control": control.to_value()})
    }

    /// What only the person changes.
    fn decided(&self) -> Value {
        let ask = |method: &str| self.alice.call(method, &json!({})).unwrap();
        let trust: Vec<Value> = ask("trust.list")
            .as_array()
            .unwrap()
            .iter()
            .map(|peer| {
                json!([
                    peer["peer"],
                    peer["trust"],
                    peer["serial"],
                    peer["fingerprint"]
                ])
            })
            .collect();
        let drafts: Vec<Value> = ask("drafts.list")["drafts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|draft| draft["message-id"].clone())
            .collect();
        let pause = ask("pause.show");
        json!({
            "trust": trust,
            "pending": ask("trust.pending"),
            "drafts": drafts,
            "alarms": ask("alarms.list"),
            "pause": [pause["paused"], pause["serial"]],
            "quarantine": ask("quarantine.list"),
        })
    }
}

#[test]
fn an_agent_that_was_talked_into_it_decides_nothing_for_its_person() {
    let mut scene = scene();
    let (carol, bob) = (
        scene.certificate(&scene.carol),
        scene.certificate(&scene.bob),
    );
    let root = scene.alice.call("trust.pending", &json!({})).unwrap()["pending"][0]["root"].clone();
    let (approval, pause) = (scene.approval(), scene.pause());
    let draft = json!({"message-id": scene.draft});
    let before = scene.decided();
    let tries: Vec<(&str, Value)> = vec![
        ("trust.approve", json!({"agent": scene.carol.agent})),
        (
            "trust.approve",
            json!({"agent": scene.carol.agent, "root": root}),
        ),
        (
            "trust.approve",
            json!({"agent": scene.carol.agent, "role": "person"}),
        ),
        ("trust.approve", json!([scene.carol.agent])),
        ("trust.approve", json!({})),
        ("trust.refuse", json!({"agent": scene.carol.agent})),
        ("trust.revoke", json!({"peer": scene.bob.agent})),
        ("trust.revocation", json!({"statement": {}})),
        ("trust.replace-root", json!({"certificate": carol})),
        ("trust.replace-root", json!({"certificate": bob})),
        ("trust.pending", json!({})),
        ("trust.list", json!({})),
        ("peer.add", json!({"certificate": carol})),
        ("peer.add", json!({"certificate": bob})),
        ("alarms.list", json!({})),
        ("alarms.clear", json!({})),
        ("alarms.clear", json!([])),
        ("drafts.list", json!({})),
        ("drafts.decide", approval.clone()),
        ("drafts.decide", json!({"statement": {}, "control": {}})),
        ("drafts.drop", draft.clone()),
        ("pause.tell", pause.clone()),
        ("pause.tell", json!({"statement": {}, "control": {}})),
        ("pause.show", json!({})),
        ("keys.adopt", json!({})),
        ("reload", json!({})),
        ("quarantine.list", json!({})),
        ("quarantine.retry", draft.clone()),
        ("quarantine.drop", draft.clone()),
        ("inbox.aside", json!({})),
        ("policy.show", json!({})),
    ];
    for (method, params) in &tries {
        let refused = refusal(agent(&scene.alice).raw(method, params));
        assert_eq!(
            refused,
            (Reason::NotForThisSocket, Some(Role::Person)),
            "{method}"
        );
    }
    let spelt = spelt_otherwise(&scene, &approval);
    assert_eq!(scene.decided(), before, "nothing was decided");
    assert!(!scene.bob.inbox().contains(&json!("the pin")));
    scene.alice.stop();
    let noted = attempts(&scene.alice, "not-for-this-socket");
    let counted: u64 = noted.iter().map(|(_, count)| count).sum();
    assert_eq!(counted, tries.len() as u64 + spelt, "{noted:?}");
    for (method, _) in &tries {
        assert!(
            noted.iter().any(|(call, _)| call == method),
            "{method}: {noted:?}"
        );
    }
}

/// The same by other spellings: how many of them name a call that there is.
fn spelt_otherwise(scene: &Scene, approval: &Value) -> u64 {
    let approve = json!({"agent": scene.carol.agent});
    let call = |id: Option<u8>| {
        let mut call = json!({"jsonrpc": "2.0", "method": "trust.approve", "params": approve});
        if let Some(id) = id {
            call["id"] = json!(id);
        }
        call
    };
    let mut as_person = call(Some(2));
    as_person["role"] = json!("person");
    let lines = [
        // A batch, a notification that nobody answers, and a role that the caller gives itself.
        json!([call(Some(1)), call(None), {"jsonrpc": "2.0", "id": 3, "method": "drafts.decide", "params": approval}]).to_string(),
        as_person.to_string(),
        // No such calls: other letters, and a name twice.
        json!({"jsonrpc": "2.0", "id": 4, "method": "Trust.Approve", "params": approve}).to_string(),
        json!({"jsonrpc": "2.0", "id": 5, "method": "trust.approve ", "params": approve}).to_string(),
        format!(r#"{{"jsonrpc":"2.0","id":6,"method":"status","method":"trust.approve","params":{approve}}}"#),
    ];
    let mut stream = UnixStream::connect(scene.alice.dir.join("agent.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    for line in &lines {
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    for _ in &lines {
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert!(
            answer.contains("error") && !answer.contains("result"),
            "{answer}"
        );
    }
    4
}

#[test]
fn a_flood_of_forbidden_calls_is_counted_and_fills_no_disk() {
    const CALLS: u64 = 5_000;
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let mut stream = UnixStream::connect(alice.dir.join("agent.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let answers = BufReader::new(stream.try_clone().unwrap());
    let asks = std::thread::spawn(move || {
        for id in 0..CALLS {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "alarms.clear"});
            stream.write_all(format!("{call}\n").as_bytes()).unwrap();
        }
        stream
    });
    let refused = answers
        .lines()
        .take(CALLS as usize)
        .filter(|line| line.as_ref().unwrap().contains("not-for-this-socket"));
    assert_eq!(refused.count() as u64, CALLS);
    drop(asks.join().unwrap());
    let pause = alice.call("pause.show", &json!({})).unwrap();
    assert_eq!(pause["paused"], false, "the person is served meanwhile");
    alice.stop();
    let noted = attempts(&alice, "not-for-this-socket");
    let counted: u64 = noted.iter().map(|(_, count)| count).sum();
    assert_eq!(counted, CALLS);
    // The log gets twenty lines a minute, and one with the count of the others. The flood lasts less than two minutes,
    // so 42 is the most.
    assert!(noted.len() <= 42, "{}", noted.len());
}

#[test]
fn the_agent_does_its_own_work_by_its_own_socket() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let asked = json!({
        "peer": bob.agent, "kind": "request", "body": {"week": 7}, "conversation-id": "dinner", "wait": 60.0
    });
    let waiting = std::thread::spawn({
        let mut client = agent(&alice);
        move || client.raw("send", &asked)
    });
    let request = eventually("the request", || {
        let listed = agent(&bob).raw("inbox.list", &json!({})).ok()?;
        listed["messages"].get(0).cloned()
    });
    let reply = json!({"message": {"message-id": request["message-id"]}, "body": ["Tue"]});
    agent(&bob).raw("respond", &reply).unwrap();
    let sent = waiting.join().unwrap().unwrap();
    assert_eq!(
        (&sent["state"], &sent["answer"]["body"]),
        (&json!("answered"), &json!(["Tue"]))
    );
    let name = json!({"from": bob.agent, "message-id": sent["answer"]["message-id"]});
    let taken = agent(&alice).raw("acknowledge", &json!({"messages": [name]}));
    assert_eq!(taken.unwrap()["acknowledged"], 1);
    let place = agent(&alice).raw("message.status", &json!({"message-id": sent["message-id"]}));
    assert_eq!(place.unwrap()["state"], "answered");
    let handed = json!({"peer": bob.agent, "goal": "Plan the dinner", "wait": 60.0});
    let handed = agent(&alice).raw("handoff.send", &handed).unwrap();
    let task = json!({"task": handed["task"]});
    assert_eq!(
        agent(&bob).raw("handoff.accept", &task).unwrap()["state"],
        "accepted"
    );
    let done = json!({"task": handed["task"], "state": "completed", "result": 1});
    assert_eq!(
        agent(&bob).raw("handoff.report", &done).unwrap()["state"],
        "completed"
    );
    assert_eq!(
        agent(&alice).raw("peer.list", &json!({})).unwrap()[0]["peer"],
        bob.agent.as_str()
    );
    assert_eq!(attempts(&alice, "not-for-this-socket"), []);
}

#[test]
fn the_status_that_an_agent_sees_has_nothing_that_is_the_persons_alone() {
    let scene = scene();
    let whole = scene.alice.call("status", &json!({})).unwrap();
    let seen = agent(&scene.alice).raw("status", &json!({})).unwrap();
    let private = [
        "pid",
        "set-aside",
        "quarantine",
        "pending",
        "alarms",
        "ringing",
        "root-alarms",
        "drafts",
        "log-fault",
        "log",
        "config-waits",
    ];
    for name in private {
        assert!(
            whole.get(name).is_some() && seen.get(name).is_none(),
            "{name}: {seen}"
        );
    }
    assert_eq!(seen["agent"], scene.alice.agent.as_str());
    assert_eq!(seen["peers"], whole["peers"]);
}

#[test]
fn what_the_configuration_does_not_give_a_socket_no_call_takes() {
    let house = House::new();
    let (mut alice, mut bob, mut carol) =
        (house.home("alice"), house.home("bob"), house.home("carol"));
    let ceiling = "[agent-socket]\npeers = [\"agent-bob\"]\ntier = 2";
    alice.configure("[agent-socket]", ceiling);
    house.acquaint(&[&alice, &bob, &carol]);
    for home in [&mut alice, &mut bob, &mut carol] {
        home.start();
    }
    bob.ping(&alice);
    carol.ping(&alice);
    let from_carol = carol
        .send(&alice, "request", &json!("for alice's person"))
        .unwrap();
    let from_bob = bob.call(
        "send",
        &json!({"peer": alice.agent, "kind": "request", "body": "of tier 3", "data-tier": 3}),
    );
    let from_bob = from_bob.unwrap()["message-id"].clone();
    let plain = bob.send(&alice, "request", &json!("of tier 1")).unwrap();
    eventually("three messages", || {
        (alice.inbox().len() == 3).then_some(())
    });

    let listed = agent(&alice).raw("inbox.list", &json!({})).unwrap();
    let names: Vec<&Value> = listed["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["message-id"])
        .collect();
    assert_eq!(
        (names, &listed["waiting"]),
        (vec![&json!(plain)], &json!(1))
    );
    let followed = agent(&alice).raw("inbox.follow", &json!({})).unwrap();
    assert_eq!(followed, listed);
    let status = agent(&alice).raw("status", &json!({})).unwrap();
    assert_eq!(
        (&status["inbox"], status["peers"].as_array().unwrap().len()),
        (&json!(1), 1)
    );

    let carols = json!({"from": carol.agent, "message-id": from_carol});
    let mut person = alice.client().unwrap();
    let lease = receive(&mut person, &from_carol)["lease"].clone();
    let own = alice
        .send(&carol, "notification", &json!("from the person"))
        .unwrap();
    let to_bob = |tier: u8| {
        let send = json!({"peer": bob.agent, "kind": "request", "body": "of the person", "data-tier": tier});
        alice.call("send", &send).unwrap()["message-id"].clone()
    };
    let (sealed, draft) = (to_bob(3), to_bob(4));
    let queued = alice.call("outbox.list", &json!({})).unwrap();
    assert!(queued["waiting"].as_u64() >= Some(1), "{queued}");
    let queued = agent(&alice).raw("outbox.list", &json!({})).unwrap();
    assert_eq!(queued, json!({"messages": [], "waiting": 0}));
    let beyond = [
        (
            "send",
            json!({"peer": carol.agent, "kind": "request", "body": 1}),
        ),
        (
            "send",
            json!({"peer": bob.agent, "kind": "request", "body": 1, "data-tier": 3}),
        ),
        ("handoff.send", json!({"peer": carol.agent, "goal": "x"})),
        (
            "handoff.send",
            json!({"peer": bob.agent, "goal": "x", "tier": 4}),
        ),
        (
            "handoff.send",
            json!({"peer": bob.agent, "goal": "x", "data-tier": 3}),
        ),
        (
            "respond",
            json!({"message": {"message-id": from_carol}, "body": 1}),
        ),
        (
            "respond",
            json!({"message": {"message-id": from_bob}, "decline": "no"}),
        ),
        ("acknowledge", json!({"messages": [carols]})),
        (
            "acknowledge",
            json!({"messages": [{"from": bob.agent, "message-id": plain}, carols]}),
        ),
        ("fail", json!({"lease": lease, "reason": "x"})),
        ("acknowledge", json!({"lease": lease, "keep": true})),
        ("peer.show", json!({"peer": carol.agent})),
        ("policy.check", json!({"peer": carol.agent, "tier": 1})),
        ("message.status", json!({"message-id": own})),
        ("message.status", json!({"message-id": sealed})),
        ("message.status", json!({"message-id": draft})),
        ("subscribe", json!({"message": sealed})),
    ];
    for (method, params) in &beyond {
        let (reason, _) = refusal(agent(&alice).raw(method, params));
        assert_eq!(reason, Reason::BeyondCeiling, "{method} {params}");
    }
    let about_own = agent(&alice).raw("message.status", &json!({"message-id": own}));
    let said = about_own.unwrap_err().to_string();
    assert!(!said.contains(carol.agent.as_str()), "{said}");
    assert_eq!(alice.inbox().len(), 3, "nothing was taken");
    let reply = json!({"message": {"message-id": plain}, "body": "within"});
    agent(&alice).raw("respond", &reply).unwrap();
    alice.stop();
    let noted: u64 = attempts(&alice, "beyond-ceiling")
        .iter()
        .map(|(_, count)| count)
        .sum();
    assert_eq!(noted, beyond.len() as u64 + 1);
}

#[test]
fn a_socket_that_may_only_look_changes_nothing() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    alice.configure(
        "[agent-socket]",
        "[agent-socket]\nmay = \"read\"\nmode = 0o600",
    );
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    let name = bob.send(&alice, "request", &json!("hello")).unwrap();
    eventually("it arrives", || (alice.inbox().len() == 1).then_some(()));
    let mode = std::fs::metadata(alice.dir.join("agent.sock"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let named = json!({"from": bob.agent, "message-id": name});
    for (method, params) in [
        ("send", json!({"peer": bob.agent, "kind": "ping"})),
        (
            "respond",
            json!({"message": {"message-id": name}, "body": 1}),
        ),
        ("acknowledge", json!({"messages": [named]})),
        ("receive", json!({})),
        ("handoff.send", json!({"peer": bob.agent, "goal": "x"})),
    ] {
        assert_eq!(
            refusal(agent(&alice).raw(method, &params)).0,
            Reason::BeyondCeiling,
            "{method}"
        );
    }
    let listed = agent(&alice).raw("inbox.list", &json!({})).unwrap();
    assert_eq!(listed["messages"][0]["body"], "hello");
}

#[test]
fn an_agent_that_keeps_every_place_of_its_socket_keeps_none_of_the_persons() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let path = alice.dir.join("agent.sock");
    let held: Vec<UnixStream> = (0..200)
        .map(|_| {
            let mut stream = UnixStream::connect(&path).unwrap();
            let follow = json!({"jsonrpc": "2.0", "id": 1, "method": "inbox.follow"});
            stream.write_all(format!("{follow}\n").as_bytes()).unwrap();
            stream
        })
        .collect();
    let mut person =
        Client::connect(&alice.dir.join("control.sock"), Duration::from_secs(10)).unwrap();
    assert!(!person.call(&ShowPause {}).unwrap().paused);
    drop(held);
}

/// Alice's person's word that a call is theirs.
fn word(alice: &Home, key: &std::path::Path, call: &str, params: &Value) -> Value {
    let state = alice.client().unwrap().call(&ShowPause {}).unwrap();
    let control = ControlCertificate::parse(&state.control.unwrap()).unwrap();
    let key = signet::keystore::read_signing_key(key).unwrap();
    let agent = alice.agent.parse().unwrap();
    let asked = Asked {
        agent: &agent,
        call,
        params,
    };
    let said = DecisionStatement::sign(asked, signet::clock::now(), &control, &key);
    said.unwrap().to_value()
}

#[test]
fn who_opens_the_persons_socket_without_the_persons_key_decides_nothing_about_trust() {
    let house = House::new();
    let (mut alice, bob, mut carol) = (house.home("alice"), house.home("bob"), house.home("carol"));
    alice.configure("[people]", "[people]\nsign = \"all\"");
    // No daemon runs yet, but the decision has to be signed all the same: the command line still finds the control key
    // in the home. Then the key is moved away.
    alice.knows(&bob);
    let stick = house.path("control.pem");
    std::fs::rename(alice.dir.join("keys/control.pem"), &stick).unwrap();
    alice.start();
    carol.start();
    carol
        .send(&alice, "notification", &json!("let me in"))
        .unwrap();
    eventually("carol asks to be known", || {
        let status = alice.call("status", &json!({})).ok()?;
        (status["pending"] == 1).then_some(())
    });
    let certificate: Value = serde_json::from_str(&carol.done(&["peer", "export"])).unwrap();
    let approve = json!({"agent": carol.agent});
    let tries = [
        ("trust.approve", approve.clone()),
        ("trust.refuse", approve.clone()),
        ("trust.revoke", json!({"peer": bob.agent})),
        ("trust.replace-root", json!({"certificate": certificate})),
        ("peer.add", json!({"certificate": certificate})),
        ("alarms.clear", json!({})),
    ];
    let before = alice.call("trust.list", &json!({})).unwrap();
    let with = |params: &Value, decision: &Value| {
        let mut params = params.clone();
        params["decision"] = decision.clone();
        params
    };
    // The person's signed decision about another call: it must not serve for any of these.
    let other = word(
        &alice,
        &stick,
        "trust.approve",
        &json!({"agent": "agent-mallory"}),
    );
    let invalid = Reason::from("statement-invalid");
    for (method, params) in &tries {
        assert_eq!(
            refusal(alice.call(method, params)).0,
            Reason::DecisionUnsigned,
            "{method}"
        );
        for decision in [&json!({}), &json!("yes"), &other] {
            let refused = refusal(alice.call(method, &with(params, decision)));
            assert_eq!(refused.0, invalid, "{method}");
        }
    }
    let said = alice.cli(&["trust", "approve", &carol.agent]);
    assert!(!said.status.success(), "the key is not in the home");
    assert_eq!(alice.call("trust.list", &json!({})).unwrap(), before);

    let signed = with(&approve, &word(&alice, &stick, "trust.approve", &approve));
    assert_eq!(
        alice.call("trust.approve", &signed).unwrap()["agent"],
        carol.agent.as_str()
    );
    alice.done(&[
        "trust",
        "revoke",
        &carol.agent,
        "--key",
        stick.to_str().unwrap(),
    ]);
    let again = refusal(alice.call("trust.approve", &signed));
    assert_eq!(
        again.0,
        Reason::from("statement-stale"),
        "a word serves once"
    );
    alice.stop();
    alice.start();
    let again = refusal(alice.call("trust.approve", &signed));
    assert_eq!(
        again.0,
        Reason::from("statement-stale"),
        "and not once more after each start"
    );
    alice.stop();
    let unsigned: u64 = attempts(&alice, "decision-unsigned")
        .iter()
        .map(|(_, count)| count)
        .sum();
    let forged: u64 = attempts(&alice, "statement-invalid")
        .iter()
        .map(|(_, count)| count)
        .sum();
    assert_eq!((unsigned, forged), (6, 18));
}
