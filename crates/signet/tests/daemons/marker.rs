//! Nothing of what is sealed is written anywhere, in clear or encoded, by whatever goes wrong: not in a
//! log, a trace, an error, a panic or a temporary file.

mod scene;
mod shut;

use scene::{Scene, around, holds};
use serde_json::{Value, json};

use crate::house::bus::{Sender, Watch};
use crate::house::pen::{Pen, in_session, with};
use crate::house::{Home, eventually};

/// Stands in every body, summary, goal, input, note, result and reason of tiers 3 and 4.
const MARKER: &str = "Zq4vInTheSealedPart7";
/// Stands in a message of tier 1: whoever looks for words finds them where they may be.
const PUBLIC: &str = "Wk8rInAnOpenMessage2";
/// Stands in what a stranger or a forger sent in clear: nobody proved that it is of tier 3, and the log
/// keeps the first bytes of it as they came (docs/protocol.md section 12, `raw`), and nothing else does.
const UNPROVED: &str = "Hj3tOfAForgedMessage5";

fn body() -> String {
    json!({ "entry": MARKER, MARKER: [1, {"deep": MARKER}] }).to_string()
}

/// Waits until a message of this type is in the inbox; its name.
fn waits(home: &Home, kind: &str) -> String {
    eventually(kind, || {
        let mut inbox = home.inbox().into_iter();
        let found = inbox.find(|item| item["type"] == kind)?;
        Some(found["message-id"].as_str().unwrap().to_owned())
    })
}

/// Sent, read and answered, declined, and refused for its form.
fn talk(scene: &Scene, alice: &Home, bob: &Home, tier: &str) {
    let send = |kind: &'static str, more: &[&str]| {
        let (bob, body) = (bob.agent.clone(), body());
        let args = [
            "send",
            &bob,
            "--tier",
            tier,
            kind,
            &body,
            "--summary",
            MARKER,
        ];
        let output = scene.reader(alice, &[&args[..], more].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_whitespace()
            .nth(1)
            .unwrap_or_default()
            .to_owned()
    };
    let approve = |id: &str| {
        if tier == "4" {
            assert!(
                String::from_utf8_lossy(&scene.reader(alice, &["drafts"]).stdout).contains(MARKER)
            );
            assert!(scene.reader(alice, &["approve", id]).status.success());
        }
    };
    approve(&send("--notify", &[]));
    waits(bob, "notification");
    let printed = scene.reader(bob, &["inbox", "--take"]).stdout;
    assert!(holds(&printed, MARKER), "the reader reads it");
    for answer in [
        &["--decline", MARKER][..],
        &[&body(), "--summary", MARKER],
        &["{broken", "--summary", MARKER],
        &[&body()],
    ] {
        approve(&send("--request", &["--for-people", "--wait", "0.2"]));
        let id = waits(bob, "request");
        let replied = scene.runs(bob, &[&["reply", &id], answer].concat());
        if !replied.status.success() {
            scene.runs(bob, &["reply", &id, &body()]);
        }
        // Bob's answers at tier 4 wait for his approval too.
        for draft in bob.json(&["drafts"]) {
            let draft = draft["message-id"].as_str().unwrap();
            assert!(scene.reader(bob, &["approve", draft]).status.success());
        }
    }
    approve(&send(
        "--request",
        &["--capability", "diary.write", "--wait", "5"],
    ));
    eventually("its form is refused", || {
        bob.refusals()
            .contains(&"body-unfit".to_owned())
            .then_some(())
    });
    alice.ping(bob);
    assert!(
        holds(&scene.reader(alice, &["inbox", "--json"]).stdout, MARKER),
        "the answers"
    );
}

/// A handoff, what comes back of it, and one that is declined.
fn hand(scene: &Scene, alice: &Home, bob: &Home) {
    let input = body();
    let args = [
        "handoff",
        "send",
        &bob.agent,
        "--goal",
        MARKER,
        "--input",
        &input,
        "--data-tier",
        "3",
    ];
    let args = [&args[..], &["--tier", "3", "--summary", MARKER, "--json"]].concat();
    for verdict in ["accept", "decline"] {
        let sent: Value = serde_json::from_slice(&scene.runs(alice, &args).stdout).unwrap();
        let task = sent["task"].as_str().unwrap();
        let stands = |home: &Home, state: &str| {
            eventually(state, || {
                let shown = home.call("handoff.show", &json!({ "task": task })).ok()?;
                (shown["state"] == state).then_some(())
            });
        };
        stands(bob, "offered");
        if verdict == "decline" {
            scene.reader(bob, &["handoff", "decline", task, "--why", MARKER]);
            stands(alice, "declined");
            return;
        }
        let offered = scene.reader(bob, &["inbox", "--json"]).stdout;
        assert!(
            holds(&offered, MARKER),
            "the holder reads what is to be done"
        );
        scene.reader(bob, &["handoff", "accept", task]);
        scene.reader(
            bob,
            &["handoff", "report", task, "working", "--note", MARKER],
        );
        let too_long = MARKER.repeat(30);
        scene.runs(
            bob,
            &["handoff", "report", task, "working", "--note", &too_long],
        );
        let result = [
            "handoff",
            "report",
            task,
            "completed",
            "--note",
            MARKER,
            "--result",
            &input,
        ];
        scene.reader(bob, &result);
        stands(alice, "completed");
        let told = scene.reader(alice, &["inbox", "--json"]).stdout;
        assert!(holds(&told, MARKER), "the giver reads what came of it");
    }
}

/// What our own side asks for and does not get.
fn ask_wrongly(scene: &Scene, alice: &Home, bob: &Home) {
    let (bob, body) = (&bob.agent[..], body());
    let broken = format!("{{\"entry\": \"{MARKER}\"");
    let twice = format!("{{\"{MARKER}\": 1, \"{MARKER}\": 2}}");
    let sealed = ["--summary", MARKER, "--tier", "3"];
    for what in [
        &["agent-nobody", "--notify", &body][..],
        &["agent-alice", "--notify", &body],
        &[bob, "--notify", &broken],
        &[bob, "--notify", &twice],
        &[bob, "--notify", &body, "--capability", "no.such-thing"],
        &[
            bob,
            "--request",
            &body,
            "--continues",
            "019a0000-0000-7000-8000-000000000000",
        ],
    ] {
        scene.runs(alice, &[&["send"], what, &sealed].concat());
    }
    scene.runs(
        alice,
        &["send", "agent-nowhere", "--tier", "4", "--notify", &body],
    );
    let large = Value::from(MARKER.repeat(20_000));
    let call =
        |params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "send", "params": params});
    for params in [
        json!({"peer": bob, "kind": "request", "data-tier": 3, "body": large}),
        json!({"peer": bob, "kind": "request", "data-tier": 3, "summary": large, "body": 1}),
        json!({"peer": bob, "kind": "request", "data-tier": 3, "summary": {"a": MARKER}}),
        json!({"peer": bob, "kind": MARKER, "data-tier": 3}),
        json!({"peer": bob, "kind": "request", "data-tier": MARKER}),
        json!({"peer": bob, "kind": "request", "data-tier": 3, "bodi": MARKER}),
        json!({"peer": MARKER, "kind": "request"}),
        json!([MARKER]),
    ] {
        let answer = scene.line(alice, &call(params).to_string());
        assert!(answer.contains("\"error\""), "{}", answer.len());
    }
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "sent", "params": {"body": MARKER}});
    let too_long = call(json!({"body": MARKER.repeat(60_000)})).to_string();
    for line in [
        &unknown.to_string(),
        &broken,
        &too_long,
        &format!("{MARKER} {MARKER}"),
    ] {
        let answer = scene.line(alice, line);
        assert!(
            answer.is_empty() || answer.contains("\"error\""),
            "{answer}"
        );
    }
}

/// A peer that sends in clear what must be sealed, and others who claim to be one.
fn send_in_clear(scene: &Scene, bob: &Home) {
    let mallory = Pen::of(&scene.house.home("mallory"));
    mallory.introduced_to(bob);
    let (mut sender, watch) = (Sender::new(&scene.house), Watch::new(&scene.house));
    let session = mallory.meet(&mut sender, &watch, bob);
    let clear = |words: &str, session: &str, sequence: u64| {
        let body = json!({ "entry": words, words: 1 });
        let call = mallory.call("agent.request", &bob.agent, body);
        let mut call = in_session(with(call, "data-tier", 3), session, sequence);
        call["params"]["summary"] = words.into();
        call
    };
    let other = session.replace(&session[..4], "AAAA");
    let foreign = with(clear(UNPROVED, &session, 4), "agent-id", "agent-stranger");
    let mut forged = mallory.sign(clear(UNPROVED, &session, 5));
    let at = forged.windows(4).position(|part| part == b"Hj3t").unwrap();
    forged[at] = b'Y';
    let cut = mallory.sign(clear(UNPROVED, &session, 6));
    for (input, reason) in [
        (
            &mallory.sign(clear(MARKER, &session, 2))[..],
            "seal-required",
        ),
        (&mallory.sign(clear(MARKER, &other, 3)), "session-unknown"),
        (&mallory.sign(foreign), "agent-unknown"),
        (&forged, "signature-invalid"),
        (&cut[..cut.len() - 1], "malformed-json"),
    ] {
        assert_eq!(bob.hears(&mut sender, input)["reason"], reason);
    }
}

#[test]
fn no_word_of_what_is_sealed_is_written_or_said_whatever_goes_wrong() {
    let scene = Scene::new();
    let (mut alice, mut bob) = (scene.home("alice"), scene.home("bob"));
    scene.house.acquaint(&[&alice, &bob]);
    scene.start(&mut alice);
    scene.start(&mut bob);
    let open = json!({ "words": PUBLIC }).to_string();
    scene.runs(&alice, &["send", &bob.agent, "--notify", &open]);
    for tier in ["3", "4"] {
        talk(&scene, &alice, &bob, tier);
    }
    // Killed while things wait on both sides, and started again.
    bob.kill();
    for tier in ["3", "4"] {
        let (body, to) = (body(), &bob.agent[..]);
        let args = [
            "send",
            to,
            "--tier",
            tier,
            "--notify",
            &body,
            "--summary",
            MARKER,
            "--wait",
            "0.1",
        ];
        scene.reader(&alice, &args);
    }
    alice.kill();
    scene.start(&mut alice);
    scene.start(&mut bob);
    hand(&scene, &alice, &bob);
    ask_wrongly(&scene, &alice, &bob);
    send_in_clear(&scene, &bob);
    for home in [&alice, &bob] {
        let log = home.dir.join("audit").join(&home.agent);
        let log = log.to_str().unwrap();
        // `audit show` may print the words of open messages, and must print none that were sealed or that came
        // unproved.
        let shown = scene.reader(home, &["audit", "show", log]).stdout;
        for word in [MARKER, UNPROVED] {
            assert!(!holds(&shown, word), "audit show tells {word}");
        }
        for args in [
            &["audit", "verify", log][..],
            &["trust", "log"],
            &["status"],
        ] {
            scene.runs(home, args);
        }
    }
    bob.kill();
    scene.start(&mut bob);
    assert!(alice.stop().success() && bob.stop().success());
    let traces = scene.traces();
    let public: Vec<_> = traces
        .iter()
        .filter(|(_, bytes)| holds(bytes, PUBLIC))
        .collect();
    assert!(public.len() >= 2, "both logs hold what is not secret");
    let said = [&alice, &bob].map(|home| home.said());
    assert!(
        said.iter().all(|said| said.contains("DEBUG")),
        "the daemons tell much"
    );
    for (place, bytes) in &traces {
        assert!(
            !holds(bytes, MARKER),
            "{place} holds the marker: {}",
            around(bytes)
        );
        for word in [PUBLIC, UNPROVED] {
            let may = place.contains("/audit/") || !holds(bytes, word);
            assert!(may, "{place} holds {word}");
        }
    }
}
