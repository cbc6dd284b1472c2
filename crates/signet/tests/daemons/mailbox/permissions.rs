//! The configuration that `signet nats config` prints, on a live server: what an agent's login may not do is
//! refused, and what a daemon needs works.

use std::sync::mpsc;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event};
use serde_json::json;

use super::all_arrive_once;
use crate::house::{Home, House};

const MAY_NOT_PUBLISH: &[&str] = &[
    "$JS.API.CONSUMER.INFO.AGENT_INBOX.agent-bob",
    "$JS.API.CONSUMER.MSG.NEXT.AGENT_INBOX.agent-bob",
    "$JS.ACK.AGENT_INBOX.agent-bob.1.1.1.1.0",
    "$JS.ACK._.x.AGENT_INBOX.agent-bob.1.1.1.1.0",
    "$JS.API.CONSUMER.DELETE.AGENT_INBOX.agent-bob",
    "$JS.API.CONSUMER.DELETE.AGENT_INBOX.agent-alice",
    "$JS.API.CONSUMER.CREATE.AGENT_INBOX",
    "$JS.API.CONSUMER.CREATE.AGENT_INBOX.spy.agent.agent-bob.inbox",
    "$JS.API.CONSUMER.DURABLE.CREATE.AGENT_INBOX.agent-alice",
    "$JS.API.STREAM.CREATE.SPY",
    "$JS.API.STREAM.UPDATE.AGENT_INBOX",
    "$JS.API.STREAM.DELETE.AGENT_INBOX",
    "$JS.API.STREAM.PURGE.AGENT_INBOX",
    "$JS.API.STREAM.INFO.AGENT_INBOX",
    "$JS.API.STREAM.MSG.GET.AGENT_INBOX",
    "$JS.API.STREAM.MSG.DELETE.AGENT_INBOX",
    "$JS.API.DIRECT.GET.AGENT_INBOX",
    "$JS.API.DIRECT.GET.AGENT_INBOX.agent.agent-bob.inbox",
    "$JS.API.INFO",
    "$SYS.REQ.SERVER.PING",
    "_INBOX_agent-bob.x",
    "_INBOX.agent-bob.x",
    "_INBOX.x",
    "agent.agent-bob.inbox.more",
    "agent.agent-bob",
    "elsewhere",
];

const MAY_NOT_SUBSCRIBE: &[&str] = &[
    "agent.agent-bob.inbox",
    "agent.*.inbox",
    "agent.>",
    "_INBOX.>",
    "_INBOX_agent-bob.>",
    "_INBOX.agent-bob.>",
    "_INBOX.*.>",
    "_INBOX.agent-alice",
    "$JS.ACK.>",
    "$JS.API.>",
    "$JS.EVENT.ADVISORY.>",
    "$SYS.>",
    ">",
];

#[test]
fn a_login_may_do_what_a_daemon_needs_and_nothing_else() {
    let mut house = House::with_jetstream();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    house.guard(&[&alice, &bob], |config| config);
    house.set_up_as_admin(&[&alice, &bob]);
    everything_else_is_refused(&house, &alice);
    alice.start();
    bob.start();
    alice.has_mailbox(true);
    bob.has_mailbox(true);
    alice.ping(&bob);
    bob.ping(&alice);
    let told = alice.send(&bob, "notification", &json!({"n": 1})).unwrap();
    all_arrive_once(&alice, &bob, &[told]);
    bob.stop();
    let waits = alice.send(&bob, "notification", &json!({"n": 2})).unwrap();
    bob.start();
    all_arrive_once(&alice, &bob, &[waits]);
    for home in [&alice, &bob] {
        assert!(!home.said().contains("refused"), "{}", home.said());
    }
}

/// The servers that earlier releases configured permit one prefix, those from now on both.
#[test]
fn a_daemon_works_with_permissions_of_before_and_by_either_reply_prefix_with_those_of_now() {
    for (prefix, is_older) in [("one-token", true), ("two-tokens", false)] {
        let (house, mut alice, mut bob) = guarded(prefix, is_older);
        alice.start();
        bob.start();
        for home in [&alice, &bob] {
            home.has_mailbox(true);
        }
        alice.ping(&bob);
        bob.ping(&alice);
        bob.stop();
        // The word of the mailbox comes back by the reply prefix.
        let said = alice.done(&["send", "agent-bob", "--notify", "{}"]);
        assert!(
            said.starts_with("the mailbox of agent-bob holds it"),
            "{said}"
        );
        let refused = alice.said();
        assert!(!refused.contains("refused"), "{prefix}: {refused}");
        drop(house);
    }
}

#[test]
fn a_reply_prefix_that_the_server_does_not_permit_is_named_by_the_doctor() {
    let (_house, mut alice, _bob) = guarded("two-tokens", true);
    alice.start();
    let doctor = alice.cli(&["doctor", "--json"]);
    let found = String::from_utf8(doctor.stdout).unwrap();
    let found = found.lines().find(|line| line.contains("\"permissions\""));
    let found = found.unwrap_or_default();
    let names = found.contains("the server refuses") && found.contains("_INBOX.agent-alice.");
    assert!(names && found.contains("signet nats config"), "{found}");
}

/// Alice with that reply prefix, and Bob with the usual one, on a server with mailboxes and logins; its permissions are
/// those that earlier releases printed where `is_older`.
fn guarded(prefix: &str, is_older: bool) -> (House, Home, Home) {
    let mut house = House::with_jetstream();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    let setting = format!("reply-prefix = \"{prefix}\"");
    alice.configure("# reply-prefix = \"one-token\"", &setting);
    house.acquaint(&[&alice, &bob]);
    house.guard(&[&alice, &bob], |config| {
        let entry = |agent: &str| format!(", \"_INBOX.{agent}.>\"");
        let (one, other) = (entry("agent-alice"), entry("agent-bob"));
        assert!(config.contains(&one) && config.contains(&other), "{config}");
        match is_older {
            true => config.replace(&one, "").replace(&other, ""),
            false => config,
        }
    });
    house.set_up_as_admin(&[&alice, &bob]);
    (house, alice, bob)
}

/// Somebody without a key does not get in at all, and an agent cannot set up anything.
#[test]
fn strangers_do_not_log_in_and_agents_make_no_mailboxes() {
    let mut house = House::with_jetstream();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    house.guard(&[&alice], |config| config);
    let said = bob.fails(1, &["nats", "setup"]);
    assert!(said.contains("refuses the login"), "{said}");
    let seed = alice.dir.join("nats.nk");
    let said = alice.fails(1, &["nats", "setup", "--nkey", seed.to_str().unwrap()]);
    assert!(said.contains("signet nats config"), "{said}");
}

fn everything_else_is_refused(house: &House, home: &Home) {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, refused) = login(house, home).await;
        for subject in MAY_NOT_PUBLISH {
            client.publish(*subject, "{}".into()).await.unwrap();
            is_refused(&refused, "Publish", subject).await;
        }
        for subject in MAY_NOT_SUBSCRIBE {
            let _subscriber = client.subscribe(*subject).await.unwrap();
            is_refused(&refused, "Subscription", subject).await;
        }
    });
}

async fn login(house: &House, home: &Home) -> (Client, mpsc::Receiver<String>) {
    let seed = std::fs::read_to_string(home.dir.join("nats.nk")).unwrap();
    let (told, refused) = mpsc::channel();
    let options = ConnectOptions::with_nkey(seed.trim().to_owned());
    let options = options.event_callback(move |event| {
        if let Event::ServerError(error) = event {
            let _ = told.send(error.to_string());
        }
        std::future::ready(())
    });
    (options.connect(house.server.url()).await.unwrap(), refused)
}

async fn is_refused(refused: &mpsc::Receiver<String>, what: &str, subject: &str) {
    for _ in 0..500 {
        if let Ok(said) = refused.try_recv() {
            let said = said.to_lowercase();
            let names =
                said.contains(&what.to_lowercase()) && said.contains(&subject.to_lowercase());
            assert!(
                said.contains("permissions violation") && names,
                "{subject}: {said}"
            );
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} {subject} is allowed");
}
