//! The numbers, as Prometheus reads them and as nobody should.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signet_testkit::bus::{Sender, Watch, sender};
use signet_testkit::{Home, House, PATIENCE, eventually, flood};

use crate::client::{Answer, Gateway, token};

/// The lines of `gateway.toml` beyond its listener.
const OPEN: &str = "[metrics]\naddress = \"127.0.0.1:0\"\nauth = \"none\"\n";
const CLOSED: &str = "[metrics]\naddress = \"127.0.0.1:0\"\n";
const TOKENS: &str = "gateway-metrics-tokens.toml";

/// Lets the daemon of a home tell its numbers.
pub(crate) fn tells_numbers(home: &Home) {
    let key = "# socket = \"carrier.sock\"";
    home.configure(key, "socket = \"carrier.sock\"");
}

/// Where a gateway said that its numbers are.
pub(crate) fn address(gateway: &Gateway) -> SocketAddr {
    let (_, said) = gateway.said.split_once("the numbers are at ").unwrap();
    let (_, said) = said.split_once("://").unwrap();
    said.split('/').next().unwrap().parse().unwrap()
}

/// One request with these lines as its head.
pub(crate) fn ask(address: SocketAddr, head: &[&str]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = [head, &["Connection: close"]].concat().join("\r\n");
    stream
        .write_all(format!("{head}\r\n\r\n").as_bytes())
        .unwrap();
    Answer::read(&mut BufReader::new(stream)).unwrap()
}

/// The page, as a program asks for it that says nothing more.
fn page(gateway: &Gateway) -> String {
    let head = ["GET /metrics HTTP/1.1", "Host: localhost"];
    let answer = ask(address(gateway), &head);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text()
}

/// The series of a page, without their values.
fn series(page: &str) -> Vec<String> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let names = lines.map(|line| line.rsplit_once(' ').unwrap().0.to_owned());
    names.collect()
}

/// The value of one series.
fn value(page: &str, name: &str) -> f64 {
    let mut lines = page.lines().filter_map(|line| line.rsplit_once(' '));
    let found = lines.find(|(known, _)| *known == name);
    found
        .unwrap_or_else(|| panic!("{name}: {page}"))
        .1
        .parse()
        .unwrap()
}

/// Alice with a gateway to be, and Bob, who knows her.
fn two(house: &House) -> (Home, Home) {
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    tells_numbers(&alice);
    alice.start();
    bob.start();
    (alice, bob)
}

#[test]
fn what_is_counted_is_what_the_log_has() {
    let house = House::new();
    let (alice, bob) = two(&house);
    let watch = Watch::new(&house);
    bob.ping(&alice);
    alice.ping(&bob);
    bob.send(&alice, "notification", &json!({"n": 1})).unwrap();
    // A message that was overheard and changed is refused.
    let (mut forged, _) = watch.find(0, |message| {
        message["method"] == "agent.notification" && sender(message) == bob.agent
    });
    forged["params"]["body"] = json!({"n": 2});
    let forged = forged.to_string().into_bytes();
    alice.hears(&mut Sender::new(&house), &forged);
    let gateway = Gateway::start(&alice, OPEN);
    let counted = |log: &[Value], direction: &str, verdict: &str| {
        let lines = log.iter().filter(|line| line["kind"] == "message");
        let lines = lines.filter(|line| line["dir"] == direction && line["verdict"] == verdict);
        lines.count()
    };
    eventually("log and numbers agree", || {
        let (page, log) = (page(&gateway), alice.log());
        let agrees = |labels: &str, direction: &str, verdict: &str| {
            let series = format!("signet_messages_total{{{labels}}}");
            let shown = value(&page, &series);
            let written = counted(&log, direction, verdict);
            shown > 0.0 && shown == f64::from(u32::try_from(written).unwrap())
        };
        let all = agrees("direction=\"in\",verdict=\"accepted\"", "in", "accepted")
            && agrees("direction=\"in\",verdict=\"refused\"", "in", "rejected")
            && agrees("direction=\"out\",verdict=\"sent\"", "out", "sent");
        all.then_some(())
    });
    let page = page(&gateway);
    let reason = "signet_rejections_total{reason=\"signature-invalid\"}";
    assert_eq!(value(&page, reason), 1.0);
    for step in ["verify", "judge", "append", "receipt", "answer"] {
        let name = format!("signet_{step}_seconds");
        let count = value(&page, &format!("{name}_count"));
        assert!(count > 0.0, "{step}: {page}");
        let last = value(&page, &format!("{name}_bucket{{le=\"+Inf\"}}"));
        assert_eq!(last, count, "{step}");
    }
    assert_eq!(value(&page, "signet_daemon_up"), 1.0);
    assert_eq!(value(&page, "signet_carrier_up{carrier=\"nats\"}"), 1.0);
    assert_eq!(value(&page, "signet_inbox_messages"), 1.0);
    assert!(value(&page, "signet_log_written_bytes_total") > 1_000.0);
    // A counter holds from start to start, and the number of the newest line for ever.
    let lines = value(&page, "signet_log_lines_total");
    assert!(lines >= 8.0, "{page}");
}

#[test]
fn a_flood_of_strangers_and_forgeries_makes_no_series_more() {
    let house = House::new();
    let (alice, bob) = two(&house);
    let watch = Watch::new(&house);
    bob.send(&alice, "notification", &json!({"n": 1})).unwrap();
    let (overheard, _) = watch.find(0, |message| {
        message["method"] == "agent.notification" && sender(message) == bob.agent
    });
    let gateway = Gateway::start(&alice, OPEN);
    let before = series(&page(&gateway));
    let mut bus = Sender::new(&house);
    for announce in flood::announces(300, &alice) {
        bus.put(&alice.subject(), &announce);
    }
    // Names of agents, capabilities and methods that nobody has, and words that would be a label if anything put them into one.
    for number in 0..200 {
        let mut forged = overheard.clone();
        forged["params"]["headers"]["capability"] = json!(format!("x.{number}"));
        forged["params"]["headers"]["agent-id"] = json!(format!("agent-{number}"));
        bus.put(&alice.subject(), forged.to_string().as_bytes());
        forged["method"] = json!(format!("\"}} 1\nsignet_forged {number}"));
        bus.put(&alice.subject(), forged.to_string().as_bytes());
    }
    bus.flush();
    let head = ["GET /metrics?reason=x HTTP/1.1", "Host: localhost"];
    for number in 0..50 {
        let more = format!("X-Label: {number}");
        ask(address(&gateway), &[head[0], head[1], &more]);
    }
    let after = eventually("all of it was judged", || {
        let page = page(&gateway);
        let of = |verdict: &str| {
            let labels = format!("{{direction=\"in\",verdict=\"{verdict}\"}}");
            value(&page, &format!("signet_messages_total{labels}"))
        };
        (of("refused") + of("counted") >= 700.0).then_some(page)
    });
    assert_eq!(series(&after), before);
    assert!(!after.contains("signet_forged"));
}

#[test]
fn no_number_names_a_peer_a_person_or_a_word_that_was_said() {
    let house = House::new();
    let (alice, bob) = two(&house);
    let said = json!({"secretword": "otherword"});
    bob.send(&alice, "notification", &said).unwrap();
    let asked = json!({
        "peer": bob.agent, "kind": "request", "body": said, "summary": "summaryword", "capability": "capability.word",
    });
    // It may not say that: the attempt is noted, and no number repeats it.
    let _ = alice.call("send", &asked);
    eventually("it came", || (!alice.inbox().is_empty()).then_some(()));
    let gateway = Gateway::start(&alice, OPEN);
    let page = page(&gateway);
    let dir = alice.dir.display().to_string();
    for word in [
        "alice",
        "bob",
        "secretword",
        "otherword",
        "summaryword",
        "capability.word",
        &dir,
    ] {
        assert!(!page.contains(word), "{word}: {page}");
    }
}

#[test]
fn numbers_are_shown_nowhere_until_the_file_says_so() {
    let house = House::new();
    let (alice, _bob) = two(&house);
    let gateway = Gateway::start(&alice, "");
    assert!(!gateway.said.contains("numbers"), "{}", gateway.said);
    let head = ["GET /metrics HTTP/1.1", "Host: localhost"];
    let answer = ask(gateway.address, &head);
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("[metrics]"), "{}", answer.text());
    drop(gateway);
    // Where the daemon has no carrier socket there is nothing to show, and the start says what is lacking.
    let mut dora = house.home("dora");
    dora.start();
    std::fs::write(dora.dir.join("gateway.toml"), CLOSED).unwrap();
    let said = String::from_utf8(dora.cli(&["gateway"]).stderr).unwrap();
    assert!(
        said.contains("[metrics]") && said.contains("next: set `socket` under [carrier-socket]"),
        "{said}"
    );
}

#[test]
fn a_token_of_a_door_shows_no_numbers_and_a_token_for_numbers_opens_no_door() {
    let house = House::new();
    let (alice, _bob) = two(&house);
    let gateway = Gateway::start(&alice, CLOSED);
    let numbers = address(&gateway);
    let place = alice.dir.join(TOKENS).display().to_string();
    let hints = ["token make", "prometheus --file ", &place];
    assert!(
        hints.iter().all(|hint| gateway.said.contains(hint)),
        "{}",
        gateway.said
    );
    let file = alice.dir.join(TOKENS);
    let own = token(&alice, "prometheus", &["--file", file.to_str().unwrap()]);
    let doors = token(&alice, "laptop", &[]);
    let get = |token: &str| {
        let bearer = format!("Authorization: Bearer {token}");
        let head = ["GET /metrics HTTP/1.1", "Host: localhost", &bearer];
        ask(numbers, &head).status
    };
    assert_eq!((get(&own), get(&doors), get("")), (200, 401, 401));
    let status = r#"{"jsonrpc":"2.0","id":1,"method":"status"}"#;
    assert_eq!(gateway.post("/rpc", &own, status).status, 401);
    assert_eq!(gateway.post("/rpc", &doors, status).status, 200);
    // Nor does a token of a door reach the call behind the numbers, or find a door at their address.
    let told = gateway.rpc(&doors, "carrier.metrics", &json!({}));
    assert!(
        told["error"].is_object() && told["result"].is_null(),
        "{told}"
    );
    let bearer = format!("Authorization: Bearer {own}");
    let json = "Content-Type: application/json";
    let head = [
        "POST /rpc HTTP/1.1",
        "Host: localhost",
        json,
        &bearer,
        "Content-Length: 0",
    ];
    assert_eq!(ask(numbers, &head).status, 404);
    alice.done(&[
        "token",
        "revoke",
        "prometheus",
        "--file",
        file.to_str().unwrap(),
    ]);
    assert_eq!(get(&own), 401);
}

#[test]
fn a_page_of_another_site_and_a_name_that_points_here_read_no_numbers() {
    let house = House::new();
    let (alice, _bob) = two(&house);
    let gateway = Gateway::start(&alice, OPEN);
    assert!(
        gateway
            .said
            .contains("every program of this machine may read the numbers"),
        "{}",
        gateway.said
    );
    let numbers = address(&gateway);
    let get = |lines: &[&str]| ask(numbers, &[&["GET /metrics HTTP/1.1"], lines].concat()).status;
    assert_eq!(get(&["Host: localhost"]), 200);
    assert_eq!(get(&["Host: numbers.evil.test"]), 421);
    assert_eq!(get(&["Host: localhost", "Origin: https://evil.test"]), 403);
    let post = [
        "POST /metrics HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Content-Length: 0",
    ];
    assert_eq!(ask(numbers, &post).status, 405);
}

#[test]
fn the_form_is_the_one_that_accept_asks_for() {
    let house = House::new();
    let (alice, _bob) = two(&house);
    let gateway = Gateway::start(&alice, OPEN);
    let get = |accept: &str| {
        let accept = format!("Accept: {accept}");
        let head = ["GET /metrics HTTP/1.1", "Host: localhost", &accept];
        let answer = ask(address(&gateway), &head);
        (
            answer.header("content-type").unwrap().to_owned(),
            answer.text(),
        )
    };
    let (kind, page) =
        get("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5");
    assert_eq!(
        kind,
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    assert!(page.ends_with("\n# EOF\n") && page.contains("\n# TYPE signet_messages counter\n"));
    let (kind, text) = get("text/plain");
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    assert!(!text.contains("# EOF") && text.contains("\n# TYPE signet_messages_total counter\n"));
    assert_eq!(series(&page), series(&text));
}

/// A `carrier.sock` that answers nothing, or always the same; how many calls came.
fn stand_in(socket: &Path, answer: Option<Value>) -> Arc<AtomicU64> {
    let (listener, calls) = (
        UnixListener::bind(socket).unwrap(),
        Arc::<AtomicU64>::default(),
    );
    let counted = Arc::clone(&calls);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (counted, answer) = (Arc::clone(&counted), answer.clone());
            std::thread::spawn(move || {
                let mut out = stream.try_clone().unwrap();
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let asked: Value = serde_json::from_str(&line).unwrap();
                    if let Some(answer) = &answer {
                        let said = json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer});
                        writeln!(out, "{said}").unwrap();
                    }
                }
            });
        }
    });
    calls
}

/// The gateway of a home whose numbers come from that socket.
fn behind(home: &Home, socket: &Path) -> Gateway {
    let dir = format!("socket = \"{}\"", socket.display());
    home.configure("socket = \"carrier.sock\"", &dir);
    Gateway::start(home, OPEN)
}

#[test]
fn a_crowd_of_callers_asks_the_daemon_once_a_second() {
    let house = House::new();
    let (alice, _bob) = two(&house);
    let numbers = alice.call("carrier.metrics", &json!({})).unwrap();
    let socket = house.path("crowd.sock");
    let calls = stand_in(&socket, Some(numbers));
    let gateway = behind(&alice, &socket);
    let (began, address) = (Instant::now(), address(&gateway));
    let head = ["GET /metrics HTTP/1.1", "Host: localhost"];
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..60 {
                    assert_eq!(ask(address, &head).status, 200);
                }
            });
        }
    });
    let seconds = began.elapsed().as_secs() + 2;
    let asked = calls.load(Ordering::SeqCst);
    assert!((1..=seconds).contains(&asked), "{asked} in {seconds} s");
}

#[test]
fn a_daemon_that_hangs_is_a_number_too() {
    let house = House::new();
    let (alice, _bob) = two(&house);
    let socket = house.path("deaf.sock");
    let calls = stand_in(&socket, None);
    let gateway = behind(&alice, &socket);
    let began = Instant::now();
    assert_eq!(series(&page(&gateway)), ["signet_daemon_up"]);
    assert_eq!(value(&page(&gateway), "signet_daemon_up"), 0.0);
    // Prometheus gives a scrape up after ten seconds.
    assert!(
        began.elapsed() < Duration::from_secs(9),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        calls.load(Ordering::SeqCst),
        1,
        "the second page is the first one's"
    );
}

#[test]
fn an_agent_asks_its_daemon_for_the_numbers_of_all_peers_in_vain() {
    let house = House::new();
    let (alice, _bob) = two(&house);
    let agent = |method: &str| {
        let stream = std::os::unix::net::UnixStream::connect(alice.dir.join("agent.sock"));
        let mut stream = stream.unwrap();
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": method});
        writeln!(stream, "{asked}").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let told = agent("carrier.metrics");
    assert_eq!(
        told["error"]["data"]["reason"], "not-for-this-socket",
        "{told}"
    );
    assert!(agent("status")["result"].is_object());
}
