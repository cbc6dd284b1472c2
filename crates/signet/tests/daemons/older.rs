//! Today's daemon and one of a release before: both ways, and a home that goes from one to the other. Run by `make older`
//! for each such release, which it builds (`scripts/older`): one speaks version 1.0.0 of the protocol alone, and is sent
//! nothing of 1.1.0.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use signet_api::{ClientError, Reason};

use crate::house::bus::{Watch, sender};
use crate::house::log::envelope;
use crate::house::traffic::receipts_hold;
use crate::house::{Home, House, eventually, says};

const NEW: [&str; 2] = ["agent.progress", "agent.offer"];
const FLIGHTS: [&str; 4] = [
    "agent.announce",
    "agent.verify",
    "agent.capability",
    "agent.trust",
];

/// The program of the release before.
pub fn older() -> PathBuf {
    let named = std::env::var_os("SIGNET_OLDER");
    named
        .expect("SIGNET_OLDER names no program: use make older")
        .into()
}

/// The versions of today's certificates.
const TODAY: [&str; 2] = ["1.0.0", "1.1.0"];

/// Two homes that know each other, and all that is on the bus.
struct Pair {
    /// The newest version that both speak.
    version: String,
    _house: House,
    watch: Watch,
    old: Home,
    new: Home,
}

fn pair() -> Pair {
    let house = House::new();
    let watch = Watch::new(&house);
    let (mut old, mut new) = (house.home_by(&older(), "old"), house.home("new"));
    for home in [&old, &new] {
        home.configure("# tier = 2", "tier = 4");
    }
    new.configure("# allow = []", "allow = [\"lamp.*\"]");
    house.acquaint(&[&old, &new]);
    old.start();
    new.start();
    let version = lists(&old).pop().unwrap();
    assert_eq!(lists(&new), TODAY);
    assert!(TODAY.contains(&&*version), "{version}");
    Pair {
        version,
        _house: house,
        watch,
        old,
        new,
    }
}

/// The versions that the certificate of a home lists.
fn lists(home: &Home) -> Vec<String> {
    let certificate: Value = serde_json::from_str(&home.done(&["peer", "export"])).unwrap();
    serde_json::from_value(certificate["versions"].clone()).unwrap()
}

impl Pair {
    fn both_ways(&self) -> [(&Home, &Home); 2] {
        [(&self.old, &self.new), (&self.new, &self.old)]
    }

    /// How many messages of that method anybody has sent.
    fn sent(&self, method: &str) -> usize {
        let said = self.watch.since(0).into_iter();
        said.filter(|message| message["method"] == method).count()
    }

    fn is_of_1_0_0(&self) -> bool {
        self.version == "1.0.0"
    }

    /// Nothing was refused, everything was said in the newest version of both, receipts and logs hold, also by the other's
    /// program.
    fn got_along(&self) {
        for home in [&self.old, &self.new] {
            let log = home.walk();
            let refused: Vec<_> = log
                .iter()
                .filter(|line| line["verdict"] == "rejected")
                .collect();
            assert!(refused.is_empty(), "{} refuses: {refused:?}", home.agent);
            for line in log.iter().filter(|line| line["kind"] == "message") {
                let said = &envelope(line)["headers"]["trust-layer-version"];
                // The handshake is spoken in 1.0.0: neither side knows yet whether the other one speaks 1.1.0.
                let method = &line["message"]["method"];
                let is_flight = FLIGHTS.iter().any(|flight| method == flight);
                let version = if is_flight { "1.0.0" } else { &self.version };
                assert_eq!(said, version, "{line}");
            }
            assert!(receipts_hold(&self.watch, home) > 0, "{}", home.agent);
        }
        let said = self.watch.since(0);
        assert!(said.iter().any(|message| sender(message) == self.old.agent));
        for method in NEW.iter().filter(|_| self.is_of_1_0_0()) {
            assert_eq!(
                self.sent(method),
                0,
                "{method} to a release that does not know it"
            );
        }
        for (home, other) in [(&self.old, &self.new), (&self.new, &self.old)] {
            let log = home.dir.join("audit").join(&home.agent);
            other.done(&["audit", "verify", log.to_str().unwrap()]);
        }
    }
}

/// The message with that body, once it is in the inbox.
fn waits(home: &Home, body: &Value) -> Value {
    eventually(&format!("{} has {body}", home.agent), || {
        home.inbox().into_iter().find(|item| item["body"] == *body)
    })
}

/// A request by the command line, and its answer or its decline.
fn asks(from: &Home, to: &Home, tier: &str, declined: bool) {
    let body = json!({"from": from.agent, "tier": tier, "declined": declined});
    let text = body.to_string();
    let args = [
        "send",
        &to.agent,
        "--request",
        &text,
        "--tier",
        tier,
        "--json",
    ];
    let mut command = from.command(&args);
    let asking = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let asking = asking.spawn().unwrap();
    let request = waits(to, &body);
    assert_eq!(request["data-tier"].to_string(), tier);
    assert_eq!(request["sealed"] == true, tier == "3", "{request}");
    let id = request["message-id"].as_str().unwrap();
    match declined {
        true if to.agent == "agent-new" => {
            // Today's release can decline with a body for programs beside the words: the older one has to take that.
            let more = json!({"state": "input-required", "parts": [{"text": "not today"}]});
            let declined = json!({
                "message": {"message-id": id, "from": from.agent}, "decline": "not today", "body": more,
            });
            to.call("respond", &declined).unwrap();
        }
        true => drop(to.done(&["reply", id, "--decline", "not today"])),
        false => drop(to.done(&["reply", id, "{\"yes\":1}"])),
    }
    let asked = asking.wait_with_output().unwrap();
    match declined {
        true => assert!(says(&asked).contains("not today"), "{}", says(&asked)),
        false => {
            assert!(asked.status.success(), "{}", says(&asked));
            let answer: Value = serde_json::from_slice(&asked.stdout).unwrap();
            assert_eq!(answer["state"], "answered");
            assert_eq!(answer["answer"]["body"], json!({"yes": 1}));
            assert_eq!(answer["answer"]["in-reply-to"], id);
        }
    }
}

fn notifies(from: &Home, to: &Home) {
    let told = from.json(&["send", &to.agent, "--notify", "{\"dinner\":\"19:30\"}"]);
    assert_eq!(told[0]["state"], "received", "a receipt settles it");
    // Count only the notification: the inbox may also hold answers to requests.
    let taken = to.json(&["inbox", "--take"]);
    let dinners = taken
        .iter()
        .filter(|item| item["body"]["dinner"] == "19:30");
    assert_eq!(dinners.count(), 1, "{taken:?}");
}

fn everything_is_said(pair: &Pair) {
    for (from, to) in pair.both_ways() {
        asks(from, to, "1", false);
        asks(from, to, "2", true);
        asks(from, to, "3", false);
        notifies(from, to);
        from.ping(to);
    }
}

#[test]
#[ignore = "make older"]
fn the_release_before_begins_and_both_say_everything_that_it_knows() {
    let pair = pair();
    pair.old.ping(&pair.new);
    everything_is_said(&pair);
    pair.got_along();
}

#[test]
#[ignore = "make older"]
fn this_release_begins_and_both_say_everything_that_the_one_before_knows() {
    let pair = pair();
    pair.new.ping(&pair.old);
    everything_is_said(&pair);
    pair.got_along();
}

#[test]
#[ignore = "make older"]
fn both_announce_at_once_again_and_again_and_meet() {
    let mut pair = pair();
    for _ in 0..5 {
        std::thread::scope(|both| {
            for (from, to) in pair.both_ways() {
                both.spawn(move || from.ping(to));
            }
        });
        pair.old.kill();
        pair.new.kill();
        pair.old.start();
        pair.new.start();
    }
    for (from, to) in pair.both_ways() {
        asks(from, to, "3", false);
        notifies(from, to);
    }
    let (old, new) = (pair.old.refusals(), pair.new.refusals());
    // These refusals happen by chance: of two announces that cross one is refused, and a message is sent again if a
    // kill cut off its receipt.
    let by_chance = ["handshake-crossed", "handshake-unexpected", "duplicate"];
    for reason in old.iter().chain(&new) {
        assert!(by_chance.contains(&reason.as_str()), "{old:?} {new:?}");
    }
}

#[test]
#[ignore = "make older"]
fn progress_and_offers_go_to_a_release_before_if_it_knows_them() {
    let pair = pair();
    // The old daemon pings, and not the new one: an older release puts the answer to a ping into its own inbox.
    pair.old.ping(&pair.new);
    let mut program = pair.new.client().unwrap();
    let lamp = json!({"capability": "lamp.switch"});
    program.raw("offer", &lamp).unwrap();
    let asked = json!({
        "peer": pair.new.agent, "kind": "request", "body": "long work", "wait": 0.0,
    });
    let sent = pair.old.call("send", &asked).unwrap();
    let wants = json!({"wait": 30.0, "lease": 60.0});
    let received = program.raw("receive", &wants).unwrap();
    let leased = &received["messages"][0];
    assert_eq!(leased["message-id"], sent["message-id"]);
    let name = json!({"from": leased["from"], "message-id": leased["message-id"]});
    let progress = json!({"message": name, "state": "working", "note": "half"});
    match program.raw("progress", &progress) {
        Ok(_) if !pair.is_of_1_0_0() => {}
        Err(ClientError::Refused(refused)) if pair.is_of_1_0_0() => {
            assert!(
                refused.is(&Reason::from("version-insufficient")),
                "{refused:?}"
            );
            let said = refused.to_string();
            assert!(said.contains("1.0.0") && said.contains("renewal"), "{said}");
        }
        other => panic!("{other:?}"),
    }
    // Wait until the new daemon has said both by itself, if the peer knows the words: that the request was taken, after
    // a second, and the offer, within a second.
    std::thread::sleep(Duration::from_secs(4));
    let answer = json!({"lease": leased["lease"], "body": "done"});
    program.raw("respond", &answer).unwrap();
    waits(&pair.old, &json!("done"));
    drop(program);
    std::thread::sleep(Duration::from_secs(2));
    pair.old.ping(&pair.new);
    pair.got_along();
    let goes = |method: &&str| pair.sent(method) > 0;
    assert_eq!(NEW.iter().all(goes), !pair.is_of_1_0_0());
}

#[test]
#[ignore = "make older"]
fn a_task_goes_to_the_release_before_and_back_and_the_other_way() {
    let pair = pair();
    for (giver, holder) in pair.both_ways() {
        let args = [
            "handoff",
            "send",
            &holder.agent,
            "--goal",
            "Find an evening",
        ];
        let sent = giver.json(&args).remove(0);
        let task = sent["task"].as_str().unwrap();
        let stands = |home: &Home, state: &str| {
            eventually(&format!("{} has it {state}", home.agent), || {
                let shown = home.call("handoff.show", &json!({ "task": task })).ok()?;
                (shown["state"] == state).then_some(())
            });
        };
        stands(holder, "offered");
        holder.done(&["handoff", "accept", task]);
        stands(giver, "accepted");
        let report = json!({"task": task, "state": "completed", "result": {"evening": "Tue"}});
        holder.call("handoff.report", &report).unwrap();
        stands(giver, "completed");
    }
    pair.got_along();
}

#[test]
#[ignore = "make older"]
fn a_home_of_the_release_before_goes_on_under_this_one_and_learns_1_1_0_by_a_renewal() {
    let mut pair = pair();
    asks(&pair.old, &pair.new, "3", false);
    pair.new
        .send(&pair.old, "request", &json!("before the upgrade"))
        .unwrap();
    waits(&pair.old, &json!("before the upgrade"));
    pair.new.stop();
    let unsent = json!("while the other was away");
    pair.old.send(&pair.new, "notification", &unsent).unwrap();
    pair.old.stop();
    let today = crate::house::signet();
    pair.old.run_by(today);
    pair.old.start();
    pair.new.start();

    // What waited in the inbox, in the outbox and in the session is there.
    let request = waits(&pair.old, &json!("before the upgrade"));
    let id = request["message-id"].as_str().unwrap();
    pair.old.done(&["reply", id, "\"after it\""]);
    for body in [json!("after it"), unsent] {
        waits(&pair.new, &body);
    }
    let newest = lists(&pair.old).pop().unwrap();
    assert_eq!(newest, pair.version, "a program changes no certificate");
    let says = pair.old.done(&["status"]).contains("1.1.0");
    assert!(says || !pair.is_of_1_0_0(), "status says so");
    asks(&pair.new, &pair.old, "3", false);
    pair.got_along();

    // The person renews the certificate with the root key.
    pair.old.done(&["key", "rotate", "signing"]);
    assert_eq!(lists(&pair.old), TODAY);
    pair.new.ping(&pair.old);
    let number = |number: u64| json!({ "number": number });
    let mut tries = 0;
    eventually("progress goes in a session of 1.1.0", || {
        tries += 1;
        pair.new.ping(&pair.old);
        pair.new.send(&pair.old, "request", &number(tries)).unwrap();
        let request = waits(&pair.old, &number(tries));
        let name = json!({"from": request["from"], "message-id": request["message-id"]});
        let progress = json!({"message": name, "state": "working"});
        pair.old.call("progress", &progress).ok()
    });
    eventually("it is on the bus", || {
        (pair.sent("agent.progress") > 0).then_some(())
    });
    for home in [&pair.old, &pair.new] {
        assert_eq!(home.refusals(), Vec::<String>::new(), "{}", home.agent);
    }
}
