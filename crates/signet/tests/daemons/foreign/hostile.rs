//! The program at the carrier socket is the attacker: it calls whatever its socket takes, lies about what it has,
//! and floods.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signet::control::ClientError;
use signet_api::{Call, Reason, Role};

use super::gateway::{Wire, address, attach_with, carrier, decoded};
use super::{finds, opens_socket};
use crate::house::{Home, House, eventually};

fn refusal(said: Result<Value, ClientError>) -> Reason {
    match said {
        Err(ClientError::Refused(error)) => error.reason().expect("a refusal").clone(),
        other => panic!("{other:?}"),
    }
}

/// Alice and Bob on one server, and carrier sockets besides.
fn beside_nats(house: &House) -> (Home, Home) {
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    for (home, peer) in [(&alice, &bob), (&bob, &alice)] {
        opens_socket(home, &[&address(home)]);
        finds(home, peer, &[&address(peer), "nats"]);
    }
    (alice, bob)
}

#[test]
fn no_call_of_another_socket_is_taken_and_each_try_is_noted() {
    let house = House::new();
    let (mut alice, _bob) = beside_nats(&house);
    alice.start();
    for method in Call::METHODS
        .iter()
        .filter(|method| method.whose != Role::Carrier)
    {
        let said = carrier(&alice).raw(method.name, &json!({}));
        assert_eq!(refusal(said), Reason::NotForThisSocket, "{}", method.name);
    }
    let lines = alice.walk();
    let tried = lines
        .iter()
        .filter(|line| line["reason"] == "not-for-this-socket");
    let count: u64 = tried.map(|line| line["count"].as_u64().unwrap()).sum();
    assert!(count >= 20, "{count} attempts stand in the log");
    // The agent's socket refuses the carrier's calls as well.
    let mut agent =
        signet::control::Client::connect(&alice.dir.join("agent.sock"), Duration::from_secs(5))
            .unwrap();
    let said = agent.raw("carrier.trust", &json!({}));
    assert_eq!(refusal(said), Reason::NotForThisSocket);
}

#[test]
fn one_connection_carries_at_a_time_and_its_end_is_the_carriers() {
    let house = House::new();
    let (mut alice, _bob) = beside_nats(&house);
    alice.start();
    let (mut one, mut two) = (carrier(&alice), carrier(&alice));
    let http = json!({"carrier": "http"});
    let junk = json!({"carrier": "http", "messages": ["e30"]});
    assert_eq!(
        refusal(one.raw("carrier.deliver", &junk)),
        Reason::CarrierDetached
    );
    assert_eq!(
        refusal(one.raw("carrier.attach", &json!({"carrier": "nats"}))),
        Reason::CarrierUnknown
    );
    assert_eq!(
        refusal(one.raw("carrier.attach", &json!({"carrier": "discord"}))),
        Reason::CarrierUnknown
    );
    let attached = one.raw("carrier.attach", &http).unwrap();
    assert_eq!(attached, json!({"agent": alice.agent, "largest": 245_760}));
    assert_eq!(one.raw("carrier.attach", &http).unwrap(), attached);
    assert_eq!(
        refusal(two.raw("carrier.attach", &http)),
        Reason::CarrierTaken
    );
    two.raw("carrier.deliver", &junk).unwrap();
    drop(one);
    eventually("the next may have it", || {
        two.raw("carrier.attach", &http).ok()
    });
}

/// It takes everything, says that it holds it, and brings nothing: the other carrier does.
#[test]
fn a_gateway_that_lies_about_what_it_holds_keeps_no_message_from_the_other_carrier() {
    let house = House::new();
    let (mut alice, mut bob) = beside_nats(&house);
    alice.start();
    bob.start();
    let (wire, taken) = (Wire::default(), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&taken);
    let _liars = [
        attach_with(&alice, &wire, move |_, _, _| {
            count.fetch_add(1, Ordering::Relaxed) < u64::MAX
        }),
        attach_with(&bob, &wire, |_, _, _| true),
    ];
    eventually("alice gives to it what leaves", || {
        alice.send(&bob, "notification", &json!(0)).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        (taken.load(Ordering::Relaxed) > 0).then_some(())
    });
    let named = alice.send(&bob, "notification", &json!({"n": 1})).unwrap();
    let arrived = || {
        bob.inbox()
            .iter()
            .any(|message| message["message-id"] == *named)
    };
    eventually("nats brings it", || arrived().then_some(()));
    // Reports about parcels that were never handed out are answered as not known, also the second time, and change
    // nothing.
    let mut client = carrier(&alice);
    for id in [0, 1, 1, 9_007_199_254_740_991_u64] {
        let report = json!({"carrier": "http", "id": id, "held": true});
        assert_eq!(
            client.raw("carrier.left", &report).unwrap(),
            json!({"known": false})
        );
    }
    eventually("alice hears of it by a receipt", || {
        let state = alice
            .call("message.status", &json!({"message-id": named}))
            .unwrap();
        (state["state"] == "received").then_some(())
    });
}

/// It takes parcels and never says a word: it has 64 of them at most, and nobody waits for it.
#[test]
fn a_gateway_that_never_reports_has_64_parcels_at_most_and_delays_nobody() {
    let house = House::new();
    let (mut alice, mut bob) = beside_nats(&house);
    alice.start();
    bob.start();
    let mut holder = carrier(&alice);
    holder
        .raw("carrier.attach", &json!({"carrier": "http"}))
        .unwrap();
    for n in 0..150 {
        alice.send(&bob, "notification", &json!(n)).unwrap();
    }
    eventually("all of it arrives by nats", || {
        (bob.inbox().len() == 150).then_some(())
    });
    let mut seen = 0;
    // The parcels for this connection lie unread in its socket. The daemon answers this call behind them, so all of
    // them are there when it returns.
    drop(holder.raw(
        "carrier.left",
        &json!({"carrier": "http", "id": 0, "held": false}),
    ));
    assert!(alice.stop().success());
    for parcel in holder.notifications() {
        seen += u64::from(parcel.is_ok());
    }
    assert!((1..=64).contains(&seen), "{seen} parcels were handed out");
}

#[test]
fn a_flood_of_junk_is_bounded_and_keeps_no_peer_waiting() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    opens_socket(&bob, &[&address(&bob)]);
    alice.start();
    bob.start();
    alice.ping(&bob);
    let mut holder = carrier(&bob);
    holder
        .raw("carrier.attach", &json!({"carrier": "http"}))
        .unwrap();
    let large = data_encoding::BASE64URL_NOPAD.encode(&vec![b'['; 200_000]);
    let (end, begun) = (
        Instant::now() + Duration::from_secs(4),
        Arc::new(Barrier::new(17)),
    );
    let floods: Vec<_> = (0..16)
        .map(|n| {
            let (mut client, begun, large) = (carrier(&bob), Arc::clone(&begun), large.clone());
            std::thread::spawn(move || {
                let small = json!({"carrier": "http", "messages": vec!["e30"; 64]});
                let large = json!({"carrier": "http", "messages": vec![large; 3]});
                let (mut taken, mut busy) = (0_u64, 0_u64);
                begun.wait();
                while Instant::now() < end {
                    match client.raw("carrier.deliver", if n % 2 == 0 { &small } else { &large }) {
                        Ok(answer) => {
                            let ruled = ["accepted", "refused", "counted"];
                            taken += ruled
                                .iter()
                                .map(|how| answer[how].as_u64().unwrap())
                                .sum::<u64>();
                        }
                        said => {
                            assert_eq!(refusal(said), Reason::CarrierBusy);
                            busy += 1;
                        }
                    }
                }
                (taken, busy)
            })
        })
        .collect();
    begun.wait();
    let mut pings = 0;
    while Instant::now() < end {
        alice.ping(&bob);
        pings += 1;
    }
    let (mut taken, mut busy) = (0, 0);
    for flood in floods {
        let (some, refused) = flood.join().unwrap();
        (taken, busy) = (taken + some, busy + refused);
    }
    // Do not ask for a refused one: a daemon that is fast enough turns nobody away as busy.
    assert!(
        pings >= 3 && taken > 64,
        "{pings} pings, {taken} taken, {busy} turned away"
    );
    let lines = bob.log();
    let lines = lines
        .iter()
        .filter(|line| line["carrier"] == "http")
        .count();
    assert!(lines <= 1_000 + 100 * 8, "{lines} lines of {taken} inputs");
    let (resident, _) = bob.resident();
    assert!(resident < 256 * 1024, "{resident} KiB");
}

#[test]
fn what_is_not_of_the_form_is_refused_whole_and_an_oversized_message_by_its_length() {
    let house = House::new();
    let (mut alice, _bob) = beside_nats(&house);
    alice.start();
    let mut client = carrier(&alice);
    client
        .raw("carrier.attach", &json!({"carrier": "http"}))
        .unwrap();
    for wrong in [
        json!({"carrier": "http", "messages": []}),
        json!({"carrier": "http", "messages": vec!["e30"; 65]}),
        json!({"carrier": "http", "messages": ["e30="]}),
        json!({"carrier": "http", "messages": ["{}"]}),
        json!({"carrier": "http", "messages": ["e30"], "wait": -1.0}),
        json!({"carrier": "HTTP", "messages": ["e30"]}),
        json!({"carrier": "http", "messages": ["e30"], "from": "agent-bob"}),
    ] {
        match client.raw("carrier.deliver", &wrong) {
            Err(ClientError::Refused(error)) => assert!(error.is_of_params(), "{wrong}: {error:?}"),
            other => panic!("{wrong}: {other:?}"),
        }
    }
    let long = data_encoding::BASE64URL_NOPAD.encode(&vec![b' '; 245_761]);
    let misplaced = json!({"carrier": "http", "to": "agent-bob", "messages": ["e30"]});
    for (params, reason) in [
        (json!({"carrier": "http", "messages": [long]}), "too-large"),
        (misplaced, "wrong-subject"),
    ] {
        let ruled = client.raw("carrier.deliver", &params).unwrap();
        assert_eq!(ruled, json!({"accepted": 0, "refused": 1, "counted": 0}));
        let line = alice.log().pop().unwrap();
        assert_eq!(
            (&line["reason"], &line["carrier"]),
            (&json!(reason), &json!("http"))
        );
    }
}

/// The signature of the daemon is not for sale: a poll says that it polls, to a peer that has an address.
#[test]
fn a_poll_is_made_for_a_peer_with_an_address_and_not_at_any_pace() {
    let house = House::new();
    let (mut alice, bob) = beside_nats(&house);
    let carol = house.home("carol");
    house.acquaint(&[&alice, &carol]);
    alice.start();
    let mut client = carrier(&alice);
    let of = |peer: &str| json!({"carrier": "http", "peer": peer});
    assert_eq!(
        refusal(client.raw("carrier.poll", &of(&bob.agent))),
        Reason::CarrierDetached
    );
    client
        .raw("carrier.attach", &json!({"carrier": "http"}))
        .unwrap();
    assert_eq!(
        refusal(client.raw("carrier.poll", &of(&carol.agent))),
        Reason::CarrierUnreachable
    );
    let made = client.raw("carrier.poll", &of(&bob.agent)).unwrap();
    assert_eq!(made["address"], address(&bob));
    let poll: Value = serde_json::from_slice(&decoded(made["bytes"].as_str().unwrap())).unwrap();
    assert_eq!(
        (&poll["method"], &poll["params"]["body"]),
        (&json!("agent.poll"), &json!({}))
    );
    let mut more = (0..50).map(|_| client.raw("carrier.poll", &of(&bob.agent)));
    assert!(more.any(|said| said.is_err_and(|error| {
        matches!(error, ClientError::Refused(error) if error.is(&Reason::CarrierBusy))
    })));
}

#[test]
fn a_ceiling_on_the_socket_holds_for_what_leaves_what_is_shown_and_what_is_changed() {
    let house = House::new();
    let (mut alice, mut bob) = beside_nats(&house);
    alice.configure(
        "# may = \"send\"                           # \"read\": it takes",
        "may = \"read\" #",
    );
    alice.start();
    bob.start();
    alice.ping(&bob);
    let mut client = carrier(&alice);
    for (method, params) in [
        ("carrier.attach", json!({"carrier": "http"})),
        (
            "carrier.deliver",
            json!({"carrier": "http", "messages": ["e30"]}),
        ),
        (
            "carrier.poll",
            json!({"carrier": "http", "peer": bob.agent}),
        ),
    ] {
        assert_eq!(
            refusal(client.raw(method, &params)),
            Reason::BeyondCeiling,
            "{method}"
        );
    }
    client.raw("carrier.trust", &json!({})).unwrap();
    assert!(alice.stop().success());
    alice.configure("may = \"read\"", "peers = [\"agent-nobody\"] #");
    alice.start();
    let mut client = carrier(&alice);
    client
        .raw("carrier.attach", &json!({"carrier": "http"}))
        .unwrap();
    alice.ping(&bob);
    let shown = client
        .raw("carrier.transparency", &json!({"after": 0}))
        .unwrap();
    assert_eq!(shown["messages"], json!([]));
    let routes = client
        .raw("carrier.routes", &json!({"carrier": "http"}))
        .unwrap();
    assert_eq!(routes["peers"], json!([]));
    assert!(alice.stop().success());
    assert_eq!(
        client.notifications().count(),
        0,
        "nothing for bob leaves by it"
    );
}
