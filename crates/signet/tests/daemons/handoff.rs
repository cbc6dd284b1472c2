//! Work handed from Alice to Bob to Carol, through real daemons, from the command line.

use serde_json::{Value, json};

use crate::house::{Home, House, eventually, says};

struct Three {
    alice: Home,
    bob: Home,
    carol: Home,
}

fn three(house: &House) -> Three {
    let mut three = Three {
        alice: house.home("alice"),
        bob: house.home("bob"),
        carol: house.home("carol"),
    };
    house.acquaint(&[&three.alice, &three.bob, &three.carol]);
    for home in [&mut three.alice, &mut three.bob, &mut three.carol] {
        home.start();
    }
    three
}

const GOAL: &str = "Find an evening for dinner";

fn hand(from: &Home, to: &Home, more: &[&str]) -> String {
    let given = ["handoff", "send", &to.agent, "--goal", GOAL];
    let args: Vec<&str> = given.iter().chain(more).copied().collect();
    let sent = from.json(&args).remove(0);
    let task = sent["task"].as_str().expect("the task's name").to_owned();
    offered(to, &task);
    task
}

fn offered(home: &Home, task: &str) {
    stands(home, task, "offered");
}

/// The task as it is shown, once it stands so.
fn stands(home: &Home, task: &str, state: &str) -> Value {
    eventually(&format!("{} has {task} {state}", home.agent), || {
        let shown = home.call("handoff.show", &json!({ "task": task })).ok()?;
        (shown["state"] == state).then_some(shown)
    })
}

/// From Alice to Bob, and a narrower part of it from Bob to Carol, both accepted.
fn handed_on(three: &Three) -> String {
    let limits = ["--capability", "calendar.read", "--capability", "mail.send"];
    let more = [
        &limits[..],
        &["--tier", "2", "--depth", "2", "--for", "12h"],
    ]
    .concat();
    let task = hand(&three.alice, &three.bob, &more);
    three.bob.done(&["handoff", "accept", &task]);
    let part = [
        "--capability",
        "calendar.read",
        "--tier",
        "1",
        "--for",
        "90m",
        "--under",
        &task,
    ];
    assert_eq!(hand(&three.bob, &three.carol, &part), task);
    three.carol.done(&["handoff", "accept", &task]);
    stands(&three.alice, &task, "accepted");
    task
}

#[test]
fn a_task_goes_down_narrowed_is_shown_and_comes_back_completed() {
    let house = House::new();
    let three = three(&house);
    let task = handed_on(&three);
    let page = three.carol.done(&["handoff", "show", &task]);
    for words in [
        "step 1      agent-alice of alice gave it to agent-bob",
        "step 2      agent-bob of bob gave it to agent-carol",
        "ask others for calendar.read, mail.send",
        "to be handed on 2 more times",
        "without mail.send, tier 1 instead of 2, depth 0 instead of 2, until ",
        "a key certified by alice's root: ",
        "stands      accepted, by this agent for agent-bob",
        "signet handoff report --home ",
        &format!(" {task} working"),
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    three
        .carol
        .done(&["handoff", "report", &task, "working", "--note", "looking"]);
    let of_bob = eventually("bob hears of it", || {
        let shown = three.bob.json(&["handoff", "show", &task]).remove(0);
        (shown["given-on"][0]["state"] == "working").then_some(shown)
    });
    assert_eq!(of_bob["given-on"][0]["note"], "looking");
    assert_eq!(of_bob["state"], "accepted");
    let result = ["--result", "{\"evening\":\"Tue\"}"];
    for holder in [&three.carol, &three.bob] {
        let report = [&["handoff", "report", &task, "completed"][..], &result].concat();
        holder.done(&report);
    }
    stands(&three.alice, &task, "completed");
    let told = three.alice.inbox();
    let told = told
        .iter()
        .find(|item| item["body"]["state"] == "completed")
        .unwrap();
    assert_eq!(told["body"]["result"]["evening"], "Tue");
    assert_eq!(told["capability"], "signet.task");
    let list = three.alice.done(&["handoff", "list"]);
    assert!(
        list.starts_with(&format!("{task}  completed  to    agent-bob  \"{GOAL}\"")),
        "{list}"
    );
    for home in [&three.alice, &three.bob, &three.carol] {
        home.walk();
        let log = home.dir.join("audit").join(&home.agent);
        let log = log.to_str().unwrap();
        let verified = home.cli(&["audit", "verify", log]);
        assert!(verified.status.success(), "{}", says(&verified));
        let shown = home.done(&["audit", "show", log]);
        assert!(
            shown.contains("completed") && shown.contains("given"),
            "{shown}"
        );
    }
}

#[test]
fn what_is_not_given_cannot_be_passed_on_or_used() {
    let house = House::new();
    let three = three(&house);
    let task = handed_on(&three);
    let wider: [&[&str]; 4] = [
        &["--capability", "door.open"],
        &["--tier", "3"],
        &["--depth", "2"],
        &["--for", "13h"],
    ];
    for widen in wider {
        let send = [
            "handoff",
            "send",
            "agent-carol",
            "--goal",
            "More",
            "--under",
            &task,
        ];
        let refused = three.bob.cli(&[&send[..], widen].concat());
        let said = says(&refused);
        assert_eq!(refused.status.code(), Some(1), "{widen:?}: {said}");
        assert!(said.contains("does not allow it"), "{widen:?}: {said}");
        assert_eq!(said.lines().count(), 2, "{said}");
    }
    let ask = [
        "send",
        "agent-alice",
        "--request",
        "{}",
        "--conversation",
        &task,
    ];
    let refused = three
        .carol
        .cli(&[&ask[..], &["--capability", "mail.send"]].concat());
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        says(&refused).contains("authority-widened"),
        "{}",
        says(&refused)
    );
    let declined = hand(&three.alice, &three.carol, &[]);
    three
        .carol
        .done(&["handoff", "decline", &declined, "--why", "no time"]);
    let page = stands(&three.alice, &declined, "declined");
    assert_eq!(
        (&page["reason"], &page["note"]),
        (&json!("declined"), &json!("no time"))
    );
    for args in [
        ["accept", &declined],
        ["show", "0192f0c1-0000-7000-8000-000000000000"],
    ] {
        let refused = three.carol.cli(&["handoff", args[0], args[1]]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(
            says(&refused).contains("task-unknown"),
            "{}",
            says(&refused)
        );
    }
}

#[test]
fn a_handoff_waits_in_the_inbox_and_taking_leaves_it_there() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let task = hand(&alice, &bob, &["--input", "{\"week\":\"2026-W07\"}"]);
    let line = bob.done(&["inbox", "--take"]);
    assert!(
        line.contains(&format!("signet handoff show {task}  \"{GOAL}\"")),
        "{line}"
    );
    let item = bob.json(&["inbox"]).remove(0);
    assert_eq!(
        (&item["type"], &item["body"]["input"]["week"]),
        (&json!("handoff"), &json!("2026-W07"))
    );
    let id = item["message-id"].as_str().unwrap();
    let replied = bob.cli(&["reply", id, "{}"]);
    assert!(
        says(&replied).contains("signet handoff accept"),
        "{}",
        says(&replied)
    );
}

#[test]
fn killed_daemons_keep_their_tasks() {
    let house = House::new();
    let mut three = three(&house);
    let task = handed_on(&three);
    three.carol.done(&["handoff", "report", &task, "working"]);
    let before: Vec<Value> = tasks(&three);
    for home in [&mut three.alice, &mut three.bob, &mut three.carol] {
        home.kill();
        home.start();
    }
    let after = tasks(&three);
    assert_eq!(after[2], before[2], "Carol's own word is her log's");
    stands(&three.bob, &task, "accepted");
    eventually("bob has heard of it", || {
        let shown = three
            .bob
            .call("handoff.show", &json!({"task": task}))
            .unwrap();
        (shown["given-on"][0]["state"] == "working").then_some(())
    });
    three.carol.done(&[
        "handoff",
        "report",
        &task,
        "returned",
        "--note",
        "no calendar",
    ]);
    let shown = eventually("bob hears that it came back", || {
        let shown = three
            .bob
            .call("handoff.show", &json!({"task": task}))
            .unwrap();
        (shown["given-on"][0]["state"] == "returned").then_some(shown)
    });
    assert_eq!(shown["given-on"][0]["note"], "no calendar");
    three.bob.done(&["handoff", "report", &task, "failed"]);
    stands(&three.alice, &task, "failed");
}

fn tasks(three: &Three) -> Vec<Value> {
    let homes = [&three.alice, &three.bob, &three.carol];
    homes
        .map(|home| Value::from(home.json(&["handoff", "list"])))
        .to_vec()
}
