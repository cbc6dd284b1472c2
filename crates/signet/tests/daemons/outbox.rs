//! Where a message is, in one word and one sentence, as its person asks for it.

use serde_json::{Value, json};
use signet::config::Config;
use signet::control::{Client, ClientError};
use signet::lock::HomeLock;
use signet::memory::Memory;
use signet_proto::entry::{Alarm, AlarmLine, Entry};
use signet_proto::node::Outcome;

use crate::house::bus::{Sender, Watch, sender};
use crate::house::pen::{Pen, with};
use crate::house::{Home, House, PATIENCE, eventually};

/// Waits until `signet status` begins with that word; what it says.
fn becomes(home: &Home, id: &str, word: &str) -> String {
    eventually(&format!("{id} is {word}"), || {
        let said = home.done(&["status", id]);
        said.starts_with(&format!("{word}: ")).then_some(said)
    })
}

fn tells(home: &Home, peer: &str, more: &[&str]) -> String {
    let args = ["send", peer, "--notify", "{}", "--wait", "0", "--json"];
    let sent = home.done(&[&args[..], more].concat());
    let sent: Value = serde_json::from_str(&sent).unwrap();
    sent["message-id"].as_str().unwrap().to_owned()
}

/// The same for what people have to decide about.
fn asks(home: &Home, peer: &str, more: &[&str]) -> String {
    let args = ["send", peer, "--notify", "{}", "--wait", "0", "--json"];
    let sent = home.waits(&[&args[..], more].concat());
    let sent: Value = serde_json::from_str(&sent).unwrap();
    sent["message-id"].as_str().unwrap().to_owned()
}

#[test]
fn a_message_to_a_peer_that_is_down_is_queued_then_received_and_that_is_remembered() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    alice.start();
    let nothing = "nothing is on its way: every message has its receipt, or an end\n";
    assert_eq!(alice.done(&["outbox"]), nothing);
    let said = alice.done(&[
        "send", &bob.agent, "--notify", "{}", "--wait", "0", "--life", "1",
    ]);
    assert!(
        said.starts_with("queued: ") && said.contains("waits for a session"),
        "{said}"
    );
    eventually("it expires", || {
        (alice.done(&["outbox"]) == nothing).then_some(())
    });
    let id = tells(&alice, &bob.agent, &[]);
    let said = becomes(&alice, &id, "queued");
    assert!(
        said.contains("it waits for a session with agent-bob"),
        "{said}"
    );
    assert!(said.contains("it may arrive until "), "{said}");
    let listed = alice.done(&["outbox"]);
    assert!(
        listed.starts_with(&format!("{id}  agent-bob  queued: ")),
        "{listed}"
    );
    assert_eq!(listed.lines().count(), 1);
    let listed = alice.json(&["outbox", "--peer", "agent-bob"]).remove(0);
    assert_eq!(listed["waits-for"], "session");
    assert_eq!(alice.done(&["outbox", "--peer", "agent-carol"]), nothing);
    let misspelt = alice.cli(&["outbox", "--peer", "no name"]);
    assert_eq!(misspelt.status.code(), Some(2));

    bob.start();
    let said = becomes(&alice, &id, "received");
    assert!(said.contains("agent-bob has it, durably"), "{said}");
    assert_eq!(alice.done(&["outbox"]), nothing);
    alice.kill();
    alice.start();
    becomes(&alice, &id, "received");
    let shown = alice.json(&["status", &id]).remove(0);
    assert_eq!(
        (&shown["state"], &shown["peer"]),
        (&json!("received"), &json!("agent-bob"))
    );
}

#[test]
fn what_waits_for_people_says_for_whom_and_what_they_type() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let id = asks(&alice, &bob.agent, &["--tier", "4"]);
    let said = becomes(&alice, &id, "queued");
    let home = alice.dir.display();
    let next = format!("\n  next: signet approve --home {home} {id}  # or signet approve --home ");
    assert!(
        said.contains("waits for your approval") && said.contains(&next),
        "{said}"
    );
    alice.done(&["approve", &id, "--refuse"]);
    let said = becomes(&alice, &id, "refused");
    assert!(
        said.contains("your own person did not approve it"),
        "{said}"
    );

    let id = asks(&alice, "agent-carol", &[]);
    let said = becomes(&alice, &id, "queued");
    assert!(
        said.contains("have approved each other\n  next: "),
        "{said}"
    );

    alice.done(&["pause"]);
    let id = asks(&alice, &bob.agent, &[]);
    let said = becomes(&alice, &id, "queued");
    assert!(said.contains("pause\n  next: signet resume"), "{said}");
    alice.done(&["resume"]);
    becomes(&alice, &id, "received");
}

#[test]
fn a_mistyped_peer_is_refused_with_the_name_that_was_meant() {
    let house = House::new();
    let (mut alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    alice.start();
    let slip = ["send", "agent-bbo", "--notify", "{}"];
    let said = alice.fails(1, &slip);
    assert!(
        said.starts_with(
            "error: peer-resembles: no agent agent-bbo is known; did you mean agent-bob?"
        ) && said.contains("--introduce"),
        "{said}"
    );
    let given = ["handoff", "send", "agent-bbo", "--goal", "Dinner"];
    assert!(alice.fails(1, &given).contains("did you mean agent-bob?"));
    assert!(alice.json(&["outbox"]).is_empty());
    let introduced = [&slip[..], &["--introduce"]].concat();
    let said = alice.waits(&introduced);
    assert!(said.contains("waits for introduction"), "{said}");
    // Once an introduction to this name was asked for, the name is no longer taken for a slip.
    alice.waits(&slip);
    assert_eq!(alice.json(&["outbox"]).len(), 2);
}

/// A household whose agents have short names, and Alice's alone runs.
fn short_names(house: &House) -> (Home, Home) {
    let alice = house.made("alice", "alice", "alice", &[]);
    let bob = house.made("bob", "bob", "bob", &[]);
    house.acquaint(&[&alice, &bob]);
    (alice, bob)
}

#[test]
fn a_slip_in_a_short_name_is_no_mail_for_a_stranger_and_every_command_says_who_is_meant() {
    let house = House::new();
    let (mut alice, _bob) = short_names(&house);
    alice.start();
    for slip in ["bobb", "bbo", "Bob", "BOBB"] {
        for args in [
            &["send", slip, "--notify", "{}"][..],
            &["send", slip, "--request", "{}"],
            &["handoff", "send", slip, "--goal", "Dinner"],
            &["ping", slip],
            &["peer", "show", slip],
            &["policy", "check", slip],
            &["trust", "withdraw", slip],
        ] {
            let said = alice.fails(1, args);
            let meant =
                format!("error: peer-resembles: no agent {slip} is known; did you mean bob?");
            assert!(said.starts_with(&meant), "{args:?}: {said}");
            assert!(said.contains("\n  next: write bob"), "{args:?}: {said}");
        }
    }
    assert!(alice.json(&["outbox"]).is_empty());
    let other = alice.fails(1, &["peer", "show", "carol"]);
    assert!(other.contains("peer-unknown"), "{other}");
    // With `--introduce` the person says that the name is no slip.
    let said = alice.waits(&["send", "bobb", "--notify", "{}", "--introduce"]);
    assert!(said.contains("waits for introduction"), "{said}");
    alice.done(&["trust", "withdraw", "bob"]);
    let withdrawn = alice.fails(1, &["trust", "withdraw", "bob"]);
    assert!(!withdrawn.contains("did you mean"), "{withdrawn}");
}

#[test]
fn a_slip_in_a_name_is_told_without_a_daemon_too() {
    let house = House::new();
    let (alice, _bob) = short_names(&house);
    for args in [
        ["peer", "show", "bobb"],
        ["policy", "check", "Bob"],
        ["trust", "withdraw", "bbo"],
    ] {
        let said = alice.fails(1, &args);
        assert!(said.contains("did you mean bob?"), "{args:?}: {said}");
    }
}

#[test]
fn a_caller_with_few_peers_hears_of_those_alone_what_it_may_mean() {
    let house = House::new();
    let (mut alice, _bob) = short_names(&house);
    let rob = house.made("rob", "rob", "rob", &[]);
    alice.knows(&rob);
    alice.configure("[agent-socket]", "[agent-socket]\npeers = [\"bob\"]");
    alice.start();
    let mut client = Client::connect(&alice.dir.join("agent.sock"), PATIENCE).unwrap();
    let mut refused = |peer: &str| {
        let params = json!({"peer": peer, "kind": "notification", "body": 1});
        let refused = client.raw("send", &params).unwrap_err();
        let ClientError::Refused(error) = refused else {
            panic!("{refused}")
        };
        let refusal = error.refusal().unwrap();
        (refusal.reason.to_string(), refusal.did_you_mean.clone())
    };
    let near = Some("bob".to_owned());
    assert_eq!(refused("bobb"), ("beyond-ceiling".to_owned(), near.clone()));
    assert_eq!(refused("Bob"), ("peer-resembles".to_owned(), near.clone()));
    // The agent may not know of rob, so the refusal is that for an unknown name: it names bob, and not rob, as meant.
    assert_eq!(refused("rob"), ("beyond-ceiling".to_owned(), near));
    assert_eq!(refused("carol"), ("beyond-ceiling".to_owned(), None));
}

#[test]
fn a_message_that_waits_is_taken_back_and_its_line_says_so() {
    let house = House::new();
    let (mut alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    alice.start();
    alice.waits(&["send", "agent-carol", "--notify", "{}"]);
    tells(&alice, &bob.agent, &[]);
    let waiting = alice.json(&["outbox"]);
    assert_eq!(waiting.len(), 2);
    for message in &waiting {
        let (id, peer) = (message["message-id"].as_str().unwrap(), &message["peer"]);
        let said = alice.done(&["drafts", "drop", id]);
        assert_eq!(
            said,
            format!(
                "dropped: {id} never leaves for {}\n",
                peer.as_str().unwrap()
            )
        );
        let said = becomes(&alice, id, "refused");
        assert!(said.contains("you took it back before it left"), "{said}");
        let said = alice.fails(1, &["drafts", "drop", id]);
        assert!(said.contains("draft-unknown"), "{said}");
        let log = alice.log();
        let ended: Vec<_> = log
            .iter()
            .filter(|line| line["what"] == "draft-refused" && line["id"] == id)
            .collect();
        assert_eq!((ended.len(), &ended[0]["reason"]), (1, &json!("dropped")));
    }
    assert_eq!(alice.done(&["drafts"]), "nothing waits to leave\n");
    // While no daemon runs the command takes the draft back in the state itself, with the same result.
    let id = tells(&alice, &bob.agent, &[]);
    alice.kill();
    let dropped = alice.json(&["drafts", "drop", &id]).remove(0);
    assert_eq!(
        (&dropped["peer"], &dropped["reason"]),
        (&json!("agent-bob"), &json!("dropped"))
    );
    alice.start();
    becomes(&alice, &id, "refused");
    assert!(alice.json(&["outbox"]).is_empty());
}

#[test]
fn what_waits_for_the_connection_says_so() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    drop(house.server);
    eventually("alice notices", || {
        let status = alice.call("status", &json!({})).unwrap();
        (status["connected"] == false).then_some(())
    });
    let id = tells(&alice, &bob.agent, &[]);
    let said = becomes(&alice, &id, "queued");
    assert!(said.contains("the connection to the NATS server"), "{said}");
    assert_eq!(alice.json(&["outbox"])[0]["waits-for"], "connection");
}

#[test]
fn a_request_is_received_then_answered() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let args = [
        "send",
        &bob.agent,
        "--request",
        "{}",
        "--wait",
        "0",
        "--json",
    ];
    let sent: Value = serde_json::from_str(&alice.done(&args)).unwrap();
    let id = sent["message-id"].as_str().unwrap();
    becomes(&alice, id, "received");
    let args = ["send", &bob.agent, "--request", "{}", "--wait", "3"];
    let said = alice.fails(3, &args);
    assert!(
        said.contains("is received: agent-bob has it, durably"),
        "{said}"
    );
    let said = bob.fails(1, &["status", id]);
    assert!(
        said.contains("came from agent-alice") && said.contains("next: signet inbox"),
        "{said}"
    );
    bob.done(&["reply", id, "{}"]);
    let said = becomes(&alice, id, "answered");
    assert!(
        said.contains("agent-bob has answered it\n  next: signet inbox"),
        "{said}"
    );
}

#[test]
fn a_message_whose_life_ends_without_a_receipt_is_expired_and_not_called_lost() {
    let house = House::new();
    let (mut alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    alice.start();
    let id = tells(&alice, &bob.agent, &["--life", "1"]);
    let said = becomes(&alice, &id, "expired");
    assert!(
        said.contains("agent-bob may have it all the same"),
        "{said}"
    );
    assert!(said.contains("send it again as a new message"), "{said}");
    let args = [
        "send", &bob.agent, "--notify", "{}", "--life", "1", "--wait", "30",
    ];
    let said = alice.fails(3, &args);
    assert!(
        said.contains("expired: ") && said.contains("may have it all the same"),
        "{said}"
    );
    assert_eq!(
        alice
            .cli(&["send", &bob.agent, "--notify", "{}", "--life", "0"])
            .status
            .code(),
        Some(2)
    );
}

/// A session with a peer that our test writes for, and what the daemon sent in it.
struct Correspondent {
    pen: Pen,
    sender: Sender,
    watch: Watch,
    session: String,
}

impl Correspondent {
    fn of(house: &House, home: &Home, name: &str) -> Self {
        let (mut sender, watch) = (Sender::new(house), Watch::new(house));
        let pen = Pen::of(&house.home(name));
        pen.introduced_to(home);
        let session = pen.meet(&mut sender, &watch, home);
        Self {
            pen,
            sender,
            watch,
            session,
        }
    }

    /// A message of `home`'s that arrived here; its id and its number.
    fn is_told(&self, home: &Home) -> (String, u64) {
        let mark = self.watch.mark();
        let id = tells(home, &self.pen.agent, &[]);
        let (message, _) = self.watch.find(mark, |message| {
            message["params"]["headers"]["message-id"] == *id && sender(message) == home.agent
        });
        let number = message["params"]["headers"]["sequence"].as_u64().unwrap();
        (id, number)
    }

    fn receipts(&mut self, home: &Home, body: Value) {
        let receipt = self.pen.call("agent.receipt", &home.agent, body);
        let receipt = with(receipt, "session", self.session.as_str());
        self.sender.send(&home.subject(), &self.pen.sign(receipt));
    }
}

#[test]
fn what_a_peer_refuses_in_its_receipt_is_refused_and_says_why() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let mut mallory = Correspondent::of(&house, &alice, "mallory");
    let (id, number) = mallory.is_told(&alice);
    let except = json!([{"sequence": number, "reason": "inbox-full"}]);
    mallory.receipts(&alice, json!({"through": number, "except": except}));
    let said = becomes(&alice, &id, "refused");
    assert!(
        said.contains("waits for its agent; send again later (inbox-full)"),
        "{said}"
    );
}

#[test]
fn what_nobody_has_receipted_was_sent_and_is_never_said_to_have_arrived() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let mallory = Correspondent::of(&house, &alice, "mallory");
    let (id, _) = mallory.is_told(&alice);
    let said = becomes(&alice, &id, "published");
    assert!(
        said.contains("unconfirmed: sent, and nobody has said"),
        "{said}"
    );
}

#[test]
fn what_the_peers_mailbox_holds_is_published_until_its_receipt_comes() {
    let house = House::with_jetstream();
    let (alice, mut bob) = house.alice_and_bob_with_mailboxes();
    alice.ping(&bob);
    bob.stop();
    let id = tells(&alice, &bob.agent, &[]);
    let holds = "published: the mailbox of agent-bob holds it; no receipt yet\n";
    eventually("the mailbox says so", || {
        alice
            .done(&["status", &id])
            .starts_with(holds)
            .then_some(())
    });
    assert_eq!(alice.json(&["outbox"])[0]["stored"], true);
    bob.start();
    becomes(&alice, &id, "received");
}

#[test]
fn a_peer_put_back_to_an_older_copy_leaves_our_messages_unknown() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let mut mallory = Correspondent::of(&house, &alice, "mallory");
    let (id, number) = mallory.is_told(&alice);
    mallory.receipts(&alice, json!({"through": number + 1_000}));
    let said = becomes(&alice, &id, "unknown");
    assert!(
        said.contains("older copy of its log") && said.contains("\n  next: ask "),
        "{said}"
    );
}

#[test]
fn a_peer_that_lost_the_session_leaves_our_messages_unknown() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let mut mallory = Correspondent::of(&house, &alice, "mallory");
    let (id, _) = mallory.is_told(&alice);
    let again = mallory
        .pen
        .meet(&mut mallory.sender, &mallory.watch, &alice);
    assert_ne!(again, mallory.session);
    let said = becomes(&alice, &id, "unknown");
    assert!(said.contains("no longer knows the session"), "{said}");
    assert!(said.contains("send it again as a new message"), "{said}");
}

#[test]
fn a_name_that_nobody_knows_says_where_to_look() {
    let house = House::new();
    let mut alice = house.home("alice");
    let id = "0192f0c1-0000-7000-8000-000000000000";
    alice.fails(3, &["status", id]);
    alice.start();
    let said = alice.fails(1, &["status", id]);
    assert!(
        said.contains("message-unknown: ") && said.contains("signet audit show"),
        "{said}"
    );
    let said = alice.fails(2, &["status", "../../etc/passwd"]);
    assert!(!said.contains("passwd"), "{said}");
}

/// It ended with 0, and a script took the message for sent, which nothing lets leave.
#[test]
fn what_a_second_copy_holds_back_waits_for_people_and_says_so_by_its_exit_code() {
    let house = House::new();
    let (mut alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let place = signet::home::Home::at(&alice.dir);
    let config = Config::load(&place).unwrap();
    let mut memory = Memory::open(&HomeLock::acquire(&place).unwrap(), &config).unwrap();
    let rung = Entry::Alarm(AlarmLine {
        peer: bob.agent.parse().unwrap(),
        what: Alarm::SecondCopy,
        cleared: false,
    });
    let mut outcome = Outcome::default();
    outcome.entries.push(rung);
    memory.write(signet::clock::now(), &outcome).unwrap();
    drop(memory);
    alice.start();
    for more in [
        &["--notify", "{}"][..],
        &["--request", "{}"],
        &["--notify", "{}", "--wait", "0"],
    ] {
        let said = alice.waits(&[&["send", &bob.agent][..], more].concat());
        assert!(said.starts_with("queued: "), "{said}");
        assert!(
            said.contains("second-copy") && said.contains("signet alarms"),
            "{said}"
        );
    }
    let args = [
        "send", &bob.agent, "--notify", "{}", "--wait", "0", "--json",
    ];
    let sent: Value = serde_json::from_str(&alice.waits(&args)).unwrap();
    assert_eq!(sent["waits-for"], "alarm", "{sent}");
}
