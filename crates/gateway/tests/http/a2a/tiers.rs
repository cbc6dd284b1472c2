//! What a peer says above the tier of the token that asked.

use serde_json::{Value, json};
use signet_testkit::bus::Sender;
use signet_testkit::log::{envelope, is_ping, messages};
use signet_testkit::pen::{Pen, in_session, with};
use signet_testkit::{Home, House, eventually};

use super::client::begins;
use super::revoked::call;
use crate::client::{Gateway, three, token};

/// Bob's agent in other hands: it says progress in a tier of its own choice, in Bob's session with Alice.
struct Teller<'a> {
    alice: &'a Home,
    pen: Pen,
    session: Value,
    sequence: u64,
    sender: Sender,
}

impl Teller<'_> {
    /// Says it about the request with these headers.
    fn tells(&mut self, request: &Value, tier: u8, note: &str) {
        self.sequence += 1;
        let body = json!({"state": "working", "note": note});
        let told = self.pen.call("agent.progress", &self.alice.agent, body);
        let session = self.session.as_str().unwrap();
        let mut told = in_session(told, session, self.sequence);
        for (header, value) in [
            ("trust-layer-version", json!("1.1.0")),
            ("data-tier", json!(tier)),
            ("in-reply-to", request["message-id"].clone()),
            ("conversation-id", request["conversation-id"].clone()),
        ] {
            told = with(told, header, value);
        }
        let line = self.alice.hears(&mut self.sender, &self.pen.sign(told));
        assert_eq!(line["verdict"], "accepted", "{line}");
    }
}

/// The requests that Bob has, by their bodies.
fn asked(bob: &Home, bodies: [&str; 2]) -> [Value; 2] {
    bodies.map(|body| {
        eventually("the request came", || {
            let log = bob.log();
            let mut came = messages(&log, "in", "accepted").filter(|line| !is_ping(line));
            let found = came.find(|line| envelope(line)["body"] == body)?;
            Some(envelope(found)["headers"].clone())
        })
    })
}

#[test]
fn a_note_above_the_tier_of_its_token_is_shown_at_no_door_also_after_a_new_connection() {
    let house = House::new();
    let [alice, mut bob, _carol] = three(&house);
    let [low, high] =
        ["1", "2"].map(|tier| token(&alice, &format!("of-{tier}"), &["--tier", tier]));
    let gateway = Gateway::start(&alice, "");
    let begin = |token: &str, body: &str| {
        let told = call(&gateway, token, "SendMessage", &begins(body, body));
        told["result"]["task"]["id"].clone()
    };
    let (of_low, of_high) = (begin(&low, "asked low"), begin(&high, "asked high"));
    let [asked_low, asked_high] = asked(&bob, ["asked low", "asked high"]);
    let session = bob.standing(&alice.agent, "session");
    bob.stop();
    let log = bob.log();
    let numbers = log
        .iter()
        .map(|line| &envelope(line)["headers"]["sequence"]);
    let mut teller = Teller {
        alice: &alice,
        pen: Pen::of(&bob),
        session,
        sequence: numbers.filter_map(Value::as_u64).max().unwrap(),
        sender: Sender::new(&house),
    };
    // Stop the gateway while the notes come: it then learns of them only by asking the daemon after its next start, and
    // by no notification.
    drop(gateway);
    teller.tells(&asked_low, 2, "the diagnosis");
    teller.tells(&asked_high, 2, "the diagnosis");
    let gateway = Gateway::start(&alice, "");
    let shown = |token: &str, task: &Value, words: &str| {
        eventually(words, || {
            let told = call(&gateway, token, "GetTask", &json!({"id": task})).to_string();
            told.contains(words).then_some(told)
        })
    };
    shown(&high, &of_high, "the diagnosis");
    let status = |token: &str| {
        let name = json!({"message-id": asked_low["message-id"]});
        gateway.rpc(token, "message.status", &name)["result"]["progress"].clone()
    };
    assert_eq!(status(&high)["note"], "the diagnosis");
    assert_eq!(status(&high)["data-tier"], 2);
    assert_eq!(status(&low), Value::Null);
    teller.tells(&asked_low, 1, "in plain words");
    let told = shown(&low, &of_low, "in plain words");
    assert!(!told.contains("the diagnosis"), "{told}");
    assert_eq!(status(&low)["note"], "in plain words");
}
