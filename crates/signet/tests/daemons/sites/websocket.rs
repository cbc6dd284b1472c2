//! Two agents, one of whom reaches the server by a WebSocket with TLS alone, as docs/scale.md sets it up.

use crate::house::{House, Server, TlsAuthority, eventually, free_port};

const CONF: &str = include_str!("../../../../../docs/scale/websocket.conf");

#[test]
fn an_agent_that_only_a_websocket_lets_out_is_set_up_and_looked_at_and_talks_as_any_other() {
    let mut house = House::with_jetstream();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let (dir, port) = (tempfile::tempdir().unwrap(), free_port());
    let authority = TlsAuthority::default();
    authority.certify(dir.path(), "websocket", "127.0.0.1");
    let ca = house.path("ca.pem");
    std::fs::write(&ca, &authority.certificate).unwrap();
    let conf = CONF.replace("0.0.0.0:443", &format!("127.0.0.1:{port}"));
    assert_ne!(conf, CONF);
    std::fs::write(dir.path().join("websocket.conf"), conf).unwrap();
    let admin = house.admin_seed();
    let key = |home: &crate::house::Home| home.done(&["nats", "key"]).trim().to_owned();
    let administrator = alice.done(&["nats", "key", "--file", &admin]);
    let agents = [&alice, &bob].map(|home| format!("{}={}", home.agent, key(home)));
    let config = ["nats", "config", "--include", "websocket.conf", "--store"];
    let more = ["js", "--admin", administrator.trim()];
    let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
    let config = alice.done(&[&config[..], &more, &agents].concat());
    house.server = Server::start_in(dir, &config);
    let (url, ca) = (format!("wss://127.0.0.1:{port}"), ca.to_str().unwrap());
    let setup = ["nats", "setup", "--server", &url, "--tlsca", ca, "--nkey"];
    let said = alice.done(&[&setup[..], &[&admin, "agent-alice", "agent-bob"]].concat());
    assert!(said.contains("agent-alice: created"), "{said}");
    alice.unserved();
    alice.configure(
        "# servers = [\"nats://127.0.0.1:4222\"]",
        &format!("servers = [\"{url}\"]"),
    );
    alice.configure("[nats.tls]\n", &format!("[nats.tls]\nca = \"{ca}\"\n"));
    bob.served_by(house.server.port());
    for home in [&mut alice, &mut bob] {
        home.start();
        home.has_mailbox(true);
    }
    alice.ping(&bob);
    bob.ping(&alice);
    let found = alice.json(&["doctor"]);
    for check in ["broker", "permissions", "mailbox"] {
        let of_check = found.iter().find(|finding| finding["check"] == check);
        let of_check = of_check.unwrap();
        let is_faulty = of_check["found"]
            .as_str()
            .unwrap()
            .ends_with("nats-server 2.10.25");
        let health = if is_faulty { "warning" } else { "well" };
        assert_eq!(of_check["health"], health, "{found:?}");
    }
    house.server.kill();
    for home in [&alice, &bob] {
        eventually("the loss is noticed", || {
            let status = home.call("status", &serde_json::json!({})).unwrap();
            (status["connected"] == false).then_some(())
        });
    }
    house.server.restart();
    alice.ping(&bob);
    bob.ping(&alice);
}
