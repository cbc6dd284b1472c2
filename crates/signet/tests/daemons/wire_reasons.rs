//! Every reason for which the network can make a daemon refuse something, provoked over a real server:
//! one running household, one message after the other, one line with the right name for each.

mod forms;
mod people;
mod sessions;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use signet_proto::reject::Reason;

use crate::house::bus::{Sender, Watch};
use crate::house::pen::{Pen, key};
use crate::house::server::lying_broker;
use crate::house::{Home, House, eventually};

/// What a daemon never says of an input, and why.
const NOT_FROM_THE_NETWORK: [Reason; 2] = [
    // A peer refused our handshake: this reason stands in the `outcome` line of the message that waited for it, and in
    // no line of refused input.
    Reason::PeerRefused,
    // Our own agent declines a request: this reason goes to the peer, and no input is refused by it.
    Reason::Declined,
];

/// The root key of somebody whose sessions are short.
const BRIEF: [u8; 32] = [2; 32];

#[test]
fn every_reason_is_reached_over_the_wire() {
    let house = House::new();
    let mut bob = house.home("bob");
    bob.configure("# tier = 4", "tier = 1");
    bob.configure(
        "conversation-messages-per-minute = 1000000",
        "conversation-messages-per-minute = 2",
    );
    let offer = "[[capability]]\nname = \"doors.list\"\nschema = '{\"required\": [\"floor\"]}'\n";
    bob.configure("# [[capability]]", &format!("{offer}# [[capability]]"));
    bob.start();
    let (mallory, victor) = (house.home("mallory"), house.home("victor"));
    let (mut sender, watch) = (Sender::new(&house), Watch::new(&house));
    for home in [&mallory, &victor] {
        Pen::of(home).introduced_to(&bob);
    }
    let session = Pen::of(&mallory).meet(&mut sender, &watch, &bob);
    let mut wire = Wire {
        bob: &bob,
        sender,
        watch,
        mallory: Pen::of(&mallory),
        victor: Pen::of(&victor),
        session,
        sequence: 1,
        reached: BTreeSet::new(),
    };
    wire.bytes();
    wire.shape_and_headers();
    wire.place();
    wire.sender(&key(&mallory, "root"), &key(&victor, "root"));
    wire.taken_back();
    wire.said_before();
    wire.time();
    wire.session();
    wire.handshake(&key(&mallory, "root"));
    wire.content();
    wire.full_inbox(&house);
    let mut reached = wire.reached;
    reached.insert(by_a_lying_broker(&house));
    bob.walk();
    assert!(bob.call("status", &json!({})).is_ok(), "the daemon lives");
    let missing: Vec<_> = Reason::ALL
        .iter()
        .filter(|reason| !reached.contains(reason))
        .collect();
    assert_eq!(
        missing,
        NOT_FROM_THE_NETWORK.iter().collect::<Vec<_>>(),
        "bring each about in daemons/wire_reasons, or excuse it here"
    );
}

struct Wire<'a> {
    bob: &'a Home,
    sender: Sender,
    watch: Watch,
    mallory: Pen,
    victor: Pen,
    session: String,
    sequence: u64,
    reached: BTreeSet<Reason>,
}

impl Wire<'_> {
    fn expect(&mut self, reason: Reason, input: &[u8]) {
        self.expect_hashed(reason, input, input.len());
    }

    /// Sends it, and finds its line by the SHA-256 of the first `hashed` bytes.
    fn expect_hashed(&mut self, reason: Reason, input: &[u8], hashed: usize) {
        let before = self.bob.lines_about(&input[..hashed]).len();
        self.sender.send(&self.bob.subject(), input);
        let line = eventually(reason.name(), || {
            self.bob
                .lines_about(&input[..hashed])
                .into_iter()
                .nth(before)
        });
        assert_eq!(
            (&line["verdict"], &line["reason"]),
            (&json!("rejected"), &json!(reason.name())),
            "{line}"
        );
        assert_eq!(line["bytes"], input.len());
        self.reached.insert(reason);
    }

    /// Mallory signs it.
    fn signed(&mut self, reason: Reason, message: Value) {
        let bytes = self.mallory.sign(message);
        self.expect(reason, &bytes);
    }

    fn accepted(&mut self, message: Value) -> Vec<u8> {
        let bytes = self.mallory.sign(message);
        assert_eq!(
            self.bob.hears(&mut self.sender, &bytes)["verdict"],
            "accepted"
        );
        bytes
    }

    /// Mallory's next request in the session.
    fn next(&mut self) -> Value {
        self.sequence += 1;
        self.mallory
            .request(&self.bob.agent, &self.session, self.sequence)
    }
}

/// A server that delivers what this agent never subscribed to.
fn by_a_lying_broker(house: &House) -> Reason {
    let mut dave = house.home("dave");
    dave.served_by(lying_broker("agent.somebody-else.inbox", b"{}"));
    dave.start();
    eventually("the line", || {
        dave.refusals()
            .into_iter()
            .find(|reason| reason == "wrong-subject")
    });
    Reason::WrongSubject
}
