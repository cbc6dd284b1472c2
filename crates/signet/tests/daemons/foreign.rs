//! Foreign carriers: two households over HTTP alone, one of them able to dial out only, one message by two
//! carriers, and what the program at the carrier socket is told.

mod gateway;
mod hostile;

use serde_json::{Value, json};
use signet_proto::carrier::KEPT_FOR_POLLS;
use signet_proto::envelope::Unverified;
use signet_proto::trust::TrustView;

use crate::house::bus::Watch;
use crate::house::{Home, House, eventually};
use gateway::{Wire, address, attach, carrier, decoded, poll_for_ever, poll_once};

/// Lets programs carry for the agent, who is found at these addresses.
fn opens_socket(home: &Home, addresses: &[&str]) {
    home.configure("# socket = \"carrier.sock\"", "socket = \"carrier.sock\"");
    let place = format!(
        "# addresses = [\"https://house.example/agent/{}/inbox\"]",
        home.agent
    );
    home.configure(&place, &format!("addresses = {addresses:?}"));
}

/// Writes down where a peer is found.
fn finds(home: &Home, peer: &Home, carriers: &[&str]) {
    let file = home.dir.join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let more = format!(
        "\n[[peer]]\nid = {:?}\ncarriers = {carriers:?}\n",
        peer.agent
    );
    std::fs::write(&file, text + &more).unwrap();
}

/// Alice and Bob, who know each other, with carrier sockets and no NATS server at all.
fn without_nats(house: &House) -> (Home, Home) {
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    for home in [&mut alice, &mut bob] {
        home.unserved();
        home.configure("# servers = [\"nats://127.0.0.1:4222\"]", "servers = []");
    }
    (alice, bob)
}

fn started(home: &mut Home) {
    let command = home.command(&["run"]);
    home.spawn(command);
}

#[test]
fn two_households_talk_over_http_alone() {
    let house = House::new();
    let (mut alice, mut bob) = without_nats(&house);
    for (home, peer) in [(&alice, &bob), (&bob, &alice)] {
        opens_socket(home, &[&address(home)]);
        finds(home, peer, &[&address(peer)]);
    }
    let wire = Wire::default();
    wire.opens(&alice);
    wire.opens(&bob);
    started(&mut alice);
    started(&mut bob);
    let gateways = [attach(&alice, &wire), attach(&bob, &wire)];
    alice.ping(&bob);
    let asked = alice.send(&bob, "request", &json!({"week": 7})).unwrap();
    eventually("it waits for bob's agent", || {
        (bob.inbox().len() == 1).then_some(())
    });
    bob.done(&["reply", &asked, "{\"evenings\":[\"Tue\"]}"]);
    eventually("it is answered", || {
        let state = alice
            .call("message.status", &json!({"message-id": asked}))
            .unwrap();
        (state["state"] == "answered").then_some(())
    });
    // Each line of an arrived message names its carrier: all came by HTTP, since there was no NATS server.
    let lines = bob.walk();
    let came: Vec<_> = lines.iter().filter(|line| line["dir"] == "in").collect();
    assert!(
        came.len() >= 4 && came.iter().all(|line| line["carrier"] == "http"),
        "{came:?}"
    );
    assert!(alice.stop().success() && bob.stop().success());
    gateways.into_iter().for_each(gateway::Gateway::ended);
}

#[test]
fn a_daemon_without_any_way_out_says_what_to_write() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.unserved();
    alice.configure("# servers = [\"nats://127.0.0.1:4222\"]", "servers = []");
    let said = alice.fails(2, &["run"]);
    assert!(
        said.contains("`servers`") && said.contains("[carrier-socket]"),
        "{said}"
    );
}

#[test]
fn a_household_that_can_only_dial_out_polls_for_its_mail() {
    let house = House::new();
    let (mut alice, mut bob) = without_nats(&house);
    opens_socket(&alice, &[&address(&alice)]);
    opens_socket(&bob, &[KEPT_FOR_POLLS]);
    finds(&alice, &bob, &[KEPT_FOR_POLLS]);
    finds(&bob, &alice, &[&address(&alice)]);
    let wire = Wire::default();
    wire.opens(&alice);
    started(&mut alice);
    started(&mut bob);
    let gateways = [attach(&alice, &wire), attach(&bob, &wire)];
    let polls = poll_for_ever(&bob, &wire);
    alice.ping(&bob);
    bob.ping(&alice);
    for n in 0..20 {
        alice
            .send(&bob, "notification", &json!({ "n": n }))
            .unwrap();
    }
    eventually("all of it arrives", || {
        let inbox = bob.inbox();
        let told = inbox
            .iter()
            .filter(|message| message["type"] == "notification");
        (told.count() == 20).then_some(())
    });
    eventually("alice hears that it did", || {
        let waiting = alice.standing(&bob.agent, "unconfirmed");
        (waiting == 0).then_some(())
    });
    assert!(
        wire.sent().iter().all(|(to, _)| *to == address(&alice)),
        "nobody dials in to bob"
    );
    // A poll moves nothing and leaves no line of its own.
    let told = |line: &Value| line.to_string().contains("agent.poll");
    assert!(!alice.log().iter().any(told) && !bob.log().iter().any(told));
    assert!(alice.stop().success() && bob.stop().success());
    polls.join().unwrap();
    gateways.into_iter().for_each(gateway::Gateway::ended);
}

/// One line each way: the running daemon goes by it at once, and nobody writes a configuration.
#[test]
fn an_invitation_says_where_an_agent_is_reached_and_accept_keeps_it() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    for home in [&mut alice, &mut bob] {
        home.unserved();
        home.configure("# servers = [\"nats://127.0.0.1:4222\"]", "servers = []");
    }
    opens_socket(&alice, &[&address(&alice)]);
    opens_socket(&bob, &[KEPT_FOR_POLLS]);
    let wire = Wire::default();
    wire.opens(&alice);
    started(&mut alice);
    started(&mut bob);
    let gateways = [attach(&alice, &wire), attach(&bob, &wire)];
    let line = |home: &Home| {
        let invited = home.json(&["invite"]).remove(0);
        let text = |name: &str| invited[name].as_str().unwrap().to_owned();
        (text("invitation"), text("fingerprint"))
    };
    for (home, (invitation, words), kept) in [
        (&bob, line(&alice), address(&alice)),
        (&alice, line(&bob), KEPT_FOR_POLLS.to_owned()),
    ] {
        let accepted = home
            .json(&["accept", &invitation, "--words", &words])
            .remove(0);
        assert_eq!(accepted["carriers"], json!([kept]));
    }
    let kept = std::fs::read_to_string(bob.dir.join("carriers.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept, json!({ alice.agent.as_str(): [address(&alice)] }));
    let polls = poll_for_ever(&bob, &wire);
    alice.ping(&bob);
    // An address in the person's configuration goes before the one kept from the invitation, and a start reads both.
    assert!(alice.stop().success() && bob.stop().success());
    gateways.into_iter().for_each(gateway::Gateway::ended);
    polls.join().unwrap();
    finds(&bob, &alice, &["https://elsewhere.example/"]);
    started(&mut bob);
    let routes = eventually("bob runs", || {
        let mut client =
            signet::control::Client::connect(&bob.dir.join("carrier.sock"), crate::house::PATIENCE)
                .ok()?;
        client
            .raw("carrier.routes", &json!({"carrier": "http"}))
            .ok()
    });
    let expected = json!([{"peer": alice.agent, "address": "https://elsewhere.example/"}]);
    assert_eq!(routes["peers"], expected);
}

#[test]
fn an_invitation_of_several_addresses_is_kept_whole_and_carried_in_its_order() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    for home in [&mut alice, &mut bob] {
        home.unserved();
        home.configure("# servers = [\"nats://127.0.0.1:4222\"]", "servers = []");
    }
    let all = [
        "https://one.example/x",
        "https://two.example/x",
        "http://10.0.0.9:8787/x",
    ];
    opens_socket(&alice, &all);
    opens_socket(&bob, &[KEPT_FOR_POLLS]);
    let wire = Wire::default();
    let command = alice.command(&["run"]);
    alice.spawn(command);
    started(&mut bob);
    let _gateway = attach(&bob, &wire);
    let invited = eventually("alice runs", || {
        let output = alice.cli(&["invite", "--json"]);
        serde_json::from_slice::<Value>(&output.stdout).ok()
    });
    let text = |name: &str| invited[name].as_str().unwrap().to_owned();
    let (invitation, words) = (text("invitation"), text("fingerprint"));
    let accepted = bob.json(&["accept", &invitation, "--words", &words]);
    assert_eq!(accepted[0]["carriers"], json!(all));
    let kept = std::fs::read_to_string(bob.dir.join("carriers.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept, json!({ alice.agent.as_str(): all }));
    let mut client =
        signet::control::Client::connect(&bob.dir.join("carrier.sock"), crate::house::PATIENCE)
            .unwrap();
    let routes = client
        .raw("carrier.routes", &json!({"carrier": "http"}))
        .unwrap();
    assert_eq!(routes["peers"][0]["address"], all.join(" "));
}

/// An invitation is the word of whoever wrote it: what is no address is passed over, and never kept.
#[test]
fn what_an_invitation_calls_an_address_and_is_none_is_not_kept() {
    let house = House::new();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    opens_socket(&bob, &[&address(&bob)]);
    let pen = crate::house::pen::Pen::of(&alice);
    let certificate = signet_proto::certificate::Certificate::parse(&pen.certificate).unwrap();
    let words = signet_proto::keys::fingerprint(&certificate.root);
    for hostile in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "https://x/#y",
        "unix:/run/x",
        "https://x/\"y",
    ] {
        let reached = signet_proto::statement::Reached {
            carrier: "http".to_owned(),
            addresses: vec![hostile.to_owned()],
        };
        let (now, day) = (
            crate::house::pen::now(),
            std::time::Duration::from_secs(86_400),
        );
        let made = signet_proto::statement::Invitation::sign(
            &certificate,
            &pen.signing,
            &[reached],
            now,
            day,
        );
        let line = made.unwrap().to_line();
        bob.done(&["accept", &line, "--words", &words]);
        assert!(!bob.dir.join("carriers.json").exists(), "{hostile}");
    }
}

#[test]
fn a_poll_removes_nothing_and_its_cursor_or_a_receipt_does() {
    let house = House::new();
    let (mut alice, mut bob) = without_nats(&house);
    opens_socket(&alice, &[&address(&alice)]);
    opens_socket(&bob, &[KEPT_FOR_POLLS]);
    finds(&alice, &bob, &[KEPT_FOR_POLLS]);
    finds(&bob, &alice, &[&address(&alice)]);
    let wire = Wire::default();
    wire.opens(&alice);
    started(&mut alice);
    started(&mut bob);
    let _gateways = [attach(&alice, &wire), attach(&bob, &wire)];
    alice.send(&bob, "notification", &json!(1)).unwrap();
    // Alice's announce is kept: however often Bob asks, it is given until he says that he has it.
    let mut client = carrier(&bob);
    let kept = |after: Option<&str>| {
        std::thread::sleep(std::time::Duration::from_millis(110));
        let mut asked = json!({"carrier": "http", "peer": alice.agent});
        if let Some(after) = after {
            asked["after"] = after.into();
        }
        let made = carrier(&bob).raw("carrier.poll", &asked).unwrap();
        let answer = wire
            .post(&address(&alice), made["bytes"].as_str().unwrap(), 0.0)
            .unwrap();
        answer["kept"].as_array().unwrap().len()
    };
    assert_eq!((kept(None), kept(None)), (1, 1));
    let nobody = "019c3e32-2680-796c-ad5b-e8d08a12e7b5";
    assert_eq!(
        kept(Some(nobody)),
        1,
        "a name that was never given removes nothing"
    );
    std::thread::sleep(std::time::Duration::from_millis(110));
    let last = poll_once(&mut client, &wire, &alice.agent, None)
        .unwrap()
        .unwrap();
    // Bob has answered by HTTP meanwhile, and what Alice says to that may be there; the announce is not.
    let before = kept(None);
    assert!(kept(Some(&last)) < before || before == 0, "{before}");
}

#[test]
fn one_envelope_by_nats_and_by_http_byte_for_byte_acts_once_and_is_shown_as_it_travelled() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    opens_socket(&bob, &[&address(&bob)]);
    let watch = Watch::new(&house);
    alice.start();
    bob.start();
    alice.ping(&bob);
    let mark = watch.mark();
    let named = alice
        .send(&bob, "notification", &json!({"golden": true}))
        .unwrap();
    let (_, bytes) = watch.find(mark, |message| {
        message["params"]["headers"]["message-id"] == *named
    });
    eventually("it arrives", || (bob.inbox().len() == 1).then_some(()));
    let mut client = carrier(&bob);
    client
        .raw("carrier.attach", &json!({"carrier": "http"}))
        .unwrap();
    let text = data_encoding::BASE64URL_NOPAD.encode(&bytes);
    let again = json!({"carrier": "http", "messages": [text]});
    let ruled = client.raw("carrier.deliver", &again).unwrap();
    assert_eq!(ruled, json!({"accepted": 0, "refused": 1, "counted": 0}));
    assert_eq!(bob.inbox().len(), 1);
    let lines = bob.walk();
    let copies = lines
        .iter()
        .filter(|line| line["reason"] == "duplicate" && line["carrier"] == "http");
    assert_eq!(copies.count(), 1);
    // The carrier is shown the same envelope byte for byte, and can verify it by the snapshot of trust that the daemon
    // gives it.
    let taken = client.raw("carrier.trust", &json!({})).unwrap();
    let trust = TrustView::from_snapshot(&taken["snapshot"]).unwrap();
    let shown = client
        .raw("carrier.transparency", &json!({"after": 0}))
        .unwrap();
    let shown = shown["messages"].as_array().unwrap();
    let golden = shown
        .iter()
        .find(|shown| shown["message-id"] == *named)
        .unwrap();
    let envelope = decoded(golden["envelope"].as_str().unwrap());
    assert_eq!(envelope, bytes);
    let proven = Unverified::parse(&envelope).unwrap().verify(&trust);
    assert!(proven.verified().is_ok());
    assert_eq!(
        (&golden["direction"], &golden["from"]),
        (&json!("in"), &json!(alice.agent))
    );
    assert_eq!(golden["to-principal"], "bob");
}

#[test]
fn transparency_shows_what_agents_said_goes_on_where_it_was_and_opens_no_seal() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    opens_socket(&bob, &[&address(&bob)]);
    alice.start();
    bob.start();
    alice.ping(&bob);
    let secret = json!({
        "peer": bob.agent, "kind": "notification", "body": "the code of the door", "summary": "of the door",
        "data-tier": 3, "wait": 30.0
    });
    alice.call("send", &secret).unwrap();
    let open = json!({"peer": bob.agent, "kind": "notification", "body": 1, "summary": "dinner at eight", "wait": 30.0});
    alice.call("send", &open).unwrap();
    let mut client = carrier(&bob);
    let seen = client
        .raw("carrier.transparency", &json!({"after": 0}))
        .unwrap();
    let text = seen.to_string();
    assert!(
        text.contains("dinner at eight") && !text.contains("of the door"),
        "{text}"
    );
    let shown = seen["messages"].as_array().unwrap();
    let sealed: Vec<_> = shown
        .iter()
        .filter(|shown| shown["data-tier"] == 3)
        .collect();
    assert_eq!(sealed.len(), 1);
    assert!(
        !String::from_utf8(decoded(sealed[0]["envelope"].as_str().unwrap()))
            .unwrap()
            .contains("door")
    );
    for shown in shown {
        let method = shown["method"].as_str();
        let known = [None, Some("agent.request"), Some("agent.notification")];
        assert!(
            known.contains(&method),
            "handshakes, receipts and orders are left out: {shown}"
        );
    }
    // Asked for messages after `through`, the daemon repeats none, and a waiting call returns as soon as a new one
    // comes.
    let through = seen["through"].as_u64().unwrap();
    let nothing = client
        .raw("carrier.transparency", &json!({"after": through}))
        .unwrap();
    assert_eq!(nothing["messages"].as_array().unwrap().len(), 0);
    let waits = std::thread::spawn(move || {
        let asked = json!({"after": through, "wait": 30.0});
        client.raw("carrier.transparency", &asked).unwrap()
    });
    let named = bob.send(&alice, "notification", &json!("later")).unwrap();
    let later = waits.join().unwrap();
    let shown = later["messages"].as_array().unwrap();
    assert_eq!((shown.len(), &shown[0]["message-id"]), (1, &json!(named)));
    assert_eq!(shown[0]["direction"], "out");
}

#[test]
fn the_snapshot_of_trust_changes_with_the_store_and_is_given_once() {
    let house = House::new();
    let (mut bob, alice) = (house.home("bob"), house.home("alice"));
    house.acquaint(&[&alice, &bob]);
    opens_socket(&bob, &[&address(&bob)]);
    bob.start();
    let mut client = carrier(&bob);
    let first = client.raw("carrier.trust", &json!({})).unwrap();
    let epoch = first["epoch"].as_str().unwrap().to_owned();
    let same = client
        .raw("carrier.trust", &json!({"epoch": epoch}))
        .unwrap();
    assert!(same.get("snapshot").is_none() && same["epoch"] == *epoch);
    let waits = std::thread::spawn(move || {
        let asked = json!({"epoch": epoch, "wait": 30.0});
        client.raw("carrier.trust", &asked).unwrap()
    });
    bob.done(&["trust", "withdraw", &alice.agent]);
    let next = waits.join().unwrap();
    let view = TrustView::from_snapshot(&next["snapshot"]).unwrap();
    assert!(view.trusted(&alice.agent.parse().unwrap()).is_none());
}
