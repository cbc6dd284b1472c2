//! Households of real daemons whose agents share no NATS server, or more than one way.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};
use signet_testkit::bus::Watch;
use signet_testkit::{Home, House, eventually};

use crate::carriers::{Gateway, free_port, inbox_url};
use crate::discord::Discord;
use crate::peer::Peer;
use crate::wire::post;

/// Opens the carrier socket of a home, which is found at these addresses.
fn carries(home: &Home, carriers: &str, addresses: &str) {
    home.configure("# socket = \"carrier.sock\"", "socket = \"carrier.sock\"");
    home.configure("# carriers = [\"http\"]", &format!("carriers = {carriers}"));
    if addresses != "[]" {
        let example = format!(
            "# addresses = [\"https://house.example/agent/{}/inbox\"]",
            home.agent
        );
        home.configure(&example, &format!("addresses = {addresses}"));
    }
}

/// By which carriers a home reaches a peer.
fn reaches(home: &Home, peer: &Home, carriers: &Value) {
    append(
        home,
        &format!(
            "\n[[peer]]\nid = \"{}\"\ncarriers = {carriers}\n",
            peer.agent
        ),
    );
}

fn append(home: &Home, text: &str) {
    let file = home.dir.join("config.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, before + text).unwrap();
}

/// Alice and Bob, who know each other and have no NATS server at all, and where their gateways are to be.
struct Apart {
    _house: House,
    alice: Home,
    bob: Home,
    ports: (u16, u16),
}

fn apart() -> Apart {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    for home in [&mut alice, &mut bob] {
        home.unserved();
        home.configure("# servers = [\"nats://127.0.0.1:4222\"]", "servers = []");
    }
    Apart {
        _house: house,
        alice,
        bob,
        ports: (free_port(), free_port()),
    }
}

/// Starts a daemon and its gateway; it is connected when the gateway carries for it.
fn started(home: &mut Home, port: u16, sections: &str) -> Gateway {
    let command = home.command(&["run"]);
    home.spawn(command);
    let gateway = Gateway::start(home, port, sections);
    home.connected();
    gateway
}

/// The bodies that came, with how often each did.
fn bodies(home: &Home) -> BTreeMap<u64, usize> {
    let mut all = BTreeMap::new();
    // Count notifications alone: the answer to this home's own ping is in the inbox, too.
    for message in home.inbox() {
        if message["type"] == "notification" {
            *all.entry(message["body"].as_u64().unwrap()).or_default() += 1;
        }
    }
    all
}

#[test]
fn two_households_without_a_common_server_talk_over_http_alone_while_a_gateway_is_killed() {
    let Apart {
        _house,
        mut alice,
        mut bob,
        ports,
    } = apart();
    for (home, peer, own, theirs) in [
        (&alice, &bob, ports.0, ports.1),
        (&bob, &alice, ports.1, ports.0),
    ] {
        carries(
            home,
            "[\"http\"]",
            &json!([inbox_url(own, home)]).to_string(),
        );
        reaches(home, peer, &json!([inbox_url(theirs, peer)]));
    }
    let _of_alice = started(&mut alice, ports.0, "[inbox]");
    let mut of_bob = started(&mut bob, ports.1, "[inbox]");
    alice.ping(&bob);
    bob.ping(&alice);
    for n in 0..60_u64 {
        if n % 20 == 10 {
            of_bob.kill();
        }
        alice.send(&bob, "notification", &json!(n)).unwrap();
        if n % 20 == 15 {
            of_bob.restart();
        }
    }
    let came = eventually("every message came", || {
        Some(bodies(&bob)).filter(|all| all.len() == 60)
    });
    assert!(came.values().all(|times| *times == 1), "{came:?}");
    let log = bob.log();
    let carried = log.iter().filter(|line| line["carrier"] == "http").count();
    assert!(carried >= 60, "{carried}");
}

#[test]
fn a_peer_of_several_addresses_is_reached_and_polled_by_the_first_that_answers() {
    let Apart {
        _house,
        mut alice,
        mut bob,
        ports,
    } = apart();
    let nobody = inbox_url(free_port(), &bob);
    carries(&alice, "[\"http\"]", "[\"poll\"]");
    reaches(&alice, &bob, &json!([nobody, inbox_url(ports.1, &bob)]));
    carries(
        &bob,
        "[\"http\"]",
        &json!([inbox_url(ports.1, &bob)]).to_string(),
    );
    reaches(&bob, &alice, &json!(["poll"]));
    let _of_alice = started(&mut alice, ports.0, "[inbox]\npoll-seconds = 1");
    let _of_bob = started(&mut bob, ports.1, "[inbox]");
    alice.ping(&bob);
    bob.ping(&alice);
    for n in 0..10_u64 {
        alice.send(&bob, "notification", &json!(n)).unwrap();
        bob.send(&alice, "notification", &json!(n)).unwrap();
    }
    for home in [&alice, &bob] {
        let came = eventually("every message came", || {
            Some(bodies(home)).filter(|all| all.len() == 10)
        });
        assert!(came.values().all(|times| *times == 1), "{came:?}");
    }
}

#[test]
fn who_can_only_dial_out_is_reached_by_its_polls() {
    let Apart {
        _house,
        mut alice,
        mut bob,
        ports,
    } = apart();
    carries(&alice, "[\"http\"]", "[\"poll\"]");
    reaches(&alice, &bob, &json!([inbox_url(ports.1, &bob)]));
    carries(
        &bob,
        "[\"http\"]",
        &json!([inbox_url(ports.1, &bob)]).to_string(),
    );
    reaches(&bob, &alice, &json!(["poll"]));
    let mut of_alice = started(&mut alice, ports.0, "[inbox]\npoll-seconds = 1");
    let _of_bob = started(&mut bob, ports.1, "[inbox]");
    alice.ping(&bob);
    bob.ping(&alice);
    for n in 0..20_u64 {
        bob.send(&alice, "notification", &json!(n)).unwrap();
        if n == 10 {
            of_alice.kill();
            of_alice.restart();
        }
    }
    let came = eventually("every message came", || {
        Some(bodies(&alice)).filter(|all| all.len() == 20)
    });
    assert!(came.values().all(|times| *times == 1), "{came:?}");
}

#[test]
fn a_gateway_that_lies_about_what_it_holds_stops_no_other_carrier() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let liar = Peer::refusing(202, "");
    carries(&alice, "[\"http\"]", "[]");
    reaches(&alice, &bob, &json!([liar.url(), "nats"]));
    alice.start();
    bob.start();
    let _gateway = Gateway::start(&alice, free_port(), "[inbox]");
    eventually("the gateway carries", || {
        (liar.asked() > 0 || alice.send(&bob, "notification", &json!(1)).is_ok()).then_some(())
    });
    let came = eventually("it came all the same", || {
        Some(bodies(&bob)).filter(|all| !all.is_empty())
    });
    assert_eq!(came.get(&1), Some(&1), "{came:?}");
}

#[test]
fn one_envelope_thousands_of_times_by_http_acts_once_and_fills_no_log() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    carries(&bob, "[\"http\"]", "[]");
    alice.start();
    bob.start();
    let port = free_port();
    let _gateway = Gateway::start(&bob, port, "[inbox]\nenvelopes-per-minute = 1000000");
    let watch = Watch::new(&house);
    let mark = watch.mark();
    let id = alice.send(&bob, "notification", &json!(1)).unwrap();
    let (_, envelope) = watch.find(mark, |message| {
        message["params"]["headers"]["message-id"] == id.as_str()
    });
    eventually("it came by NATS", || bob.inbox().first().cloned());
    let path = format!("/agent/{}/inbox", bob.agent);
    let sent = |body: &[u8]| {
        eventually("it is taken", || {
            (post(port, &path, body).status == 202).then_some(())
        });
    };
    let (before, began) = (bob.log().len(), Instant::now());
    let hundred = vec![envelope.clone(); 100].join(&b","[..]);
    for _ in 0..40 {
        sent(&[b"[", &hundred[..], b"]"].concat());
    }
    for _ in 0..50 {
        sent(&envelope);
    }
    // A copy is refused, and refused messages may write 1,000 lines at once and 100 a second. One more line a second
    // (`flood`) says how many others came.
    let allowed = 1_000 + 101 * (began.elapsed().as_secs() + 2);
    let lines = (bob.log().len() - before) as u64;
    assert!(lines <= allowed, "{lines} lines for 4,050 copies");
    assert_eq!((bob.inbox().len(), bodies(&bob).get(&1)), (1, Some(&1)));
    alice.ping(&bob);
}

#[test]
fn one_golden_envelope_goes_by_nats_http_and_discord_byte_for_byte_and_acts_once() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    carries(&bob, "[\"discord\", \"http\"]", "[]");
    alice.start();
    bob.start();
    let (port, discord) = (free_port(), Discord::start());
    crate::discord::put_token(&bob.dir);
    let sections = format!(
        "[inbox]\n[discord]\nchannel = \"77\"\ntoken-file = \"token\"\ncarrier = \"discord\"\npoll-seconds = 1\n\
         base-url = \"http://127.0.0.1:{}/api\"\n",
        discord.port
    );
    let _gateway = Gateway::start(&bob, port, &sections);
    eventually("the channel is read", || {
        let text = std::fs::read_to_string(bob.dir.join("discord.json")).unwrap_or_default();
        text.contains("\"read\"").then_some(())
    });
    let watch = Watch::new(&house);
    let mark = watch.mark();
    let id = alice
        .send(&bob, "notification", &json!({"golden": "é 1.0"}))
        .unwrap();
    let (_, envelope) = watch.find(mark, |message| {
        message["params"]["headers"]["message-id"] == id.as_str()
    });
    eventually("it came by NATS", || bob.inbox().first().cloned());
    let path = format!("/agent/{}/inbox", bob.agent);
    eventually("by HTTP", || {
        (post(port, &path, &envelope).status == 202).then_some(())
    });
    discord.has(
        &format!(
            "```json\n{}\n```",
            String::from_utf8(envelope.clone()).unwrap()
        ),
        None,
    );
    // The envelope came by NATS first, so by HTTP and by Discord it is a copy: each carrier has a line in the log, and
    // the inbox has one message.
    let by = |carrier: &str| {
        let lines = bob.lines_about(&envelope).into_iter();
        lines.filter(|line| line["carrier"] == carrier).count()
    };
    eventually("by Discord", || (by("discord") == 1).then_some(()));
    assert_eq!((by("http"), bob.lines_about(&envelope).len()), (1, 3));
    assert_eq!(bob.inbox().len(), 1);
    // The channel shows the message that came by NATS, too, with its envelope byte for byte.
    let shown = eventually("it is shown", || {
        let posts = discord
            .posts()
            .into_iter()
            .map(|(message, _)| message["content"].as_str().unwrap_or("").to_owned());
        posts
            .into_iter()
            .find(|content| content.contains(" → ") && content.contains(&id))
    });
    assert!(
        shown.contains(std::str::from_utf8(&envelope).unwrap()),
        "{shown}"
    );
}
