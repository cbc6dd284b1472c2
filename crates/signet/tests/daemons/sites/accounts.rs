//! Two households on one server, with an account each, as docs/scale.md sets them up.

use std::path::PathBuf;

use async_nats::jetstream;
use serde_json::json;

use super::leaves::set_up;
use crate::house::{Home, House, Server, eventually};
use crate::mailbox::all_arrive_once;

const CONF: &str = include_str!("../../../../../docs/scale/accounts.conf");

/// The server, the two homes, and the seeds of the two administrators.
struct Shared {
    /// Its folder holds homes and seeds.
    _house: House,
    server: Server,
    homes: [Home; 2],
    admins: [PathBuf; 2],
}

impl Shared {
    fn start() -> Self {
        let house = House::with_jetstream();
        let mut homes = ["alice", "bob"].map(|name| house.home(name));
        house.acquaint(&homes.each_ref());
        let admins = ["one.nk", "two.nk"].map(|name| house.path(name));
        let key = |args: &[&str]| homes[0].done(args).trim().to_owned();
        let seed = |admin: &PathBuf| key(&["nats", "key", "--file", admin.to_str().unwrap()]);
        let mut conf = CONF.to_owned();
        for (name, nkey) in [
            ("ADMIN-ONE", seed(&admins[0])),
            ("ADMIN-TWO", seed(&admins[1])),
            (
                "nkey: ALICE",
                format!("nkey: {}", homes[0].done(&["nats", "key"]).trim()),
            ),
            (
                "nkey: BOB",
                format!("nkey: {}", homes[1].done(&["nats", "key"]).trim()),
            ),
            ("agent-alice-001", homes[0].agent.clone()),
            ("agent-bob-001", homes[1].agent.clone()),
        ] {
            assert!(conf.contains(name), "{name}");
            conf = conf.replace(name, &nkey);
        }
        let server = Server::start(&conf);
        for (home, admin) in homes.iter_mut().zip(&admins) {
            home.served_by(server.port());
            set_up(&[home], admin);
            home.start();
            home.has_mailbox(true);
        }
        Self {
            _house: house,
            server,
            homes,
            admins,
        }
    }
}

#[test]
fn two_households_with_accounts_of_one_server_talk_and_their_mailboxes_confirm_across() {
    let mut shared = Shared::start();
    let [alice, bob] = &mut shared.homes;
    alice.ping(bob);
    bob.ping(alice);
    bob.stop();
    let said = alice.done(&["send", &bob.agent, "--notify", "{}"]);
    let holds = format!("the mailbox of {} holds it", bob.agent);
    assert!(said.starts_with(&holds), "{said}");
    let sent: Vec<_> = (0..10)
        .map(|n| alice.send(bob, "notification", &json!({ "n": n })).unwrap())
        .collect();
    eventually("the mailbox confirms them all", || {
        (alice.standing(&bob.agent, "unconfirmed") == 11).then_some(())
    });
    bob.start();
    all_arrive_once(alice, bob, &sent);
    // Because the mailbox confirmed them, no message was sent once more.
    let copies = bob.log();
    let copies = copies.iter().filter(|line| line["reason"] == "duplicate");
    assert_eq!(copies.count(), 0);
}

/// The administrator of an account may ask JetStream for everything, and that is the account's own alone.
#[test]
fn an_administrator_of_one_household_sees_takes_and_deletes_nothing_of_the_other_s() {
    let mut shared = Shared::start();
    let [alice, bob] = &mut shared.homes;
    alice.ping(bob);
    bob.stop();
    let kept = alice
        .send(bob, "notification", &json!({"for": "bob"}))
        .unwrap();
    eventually("the mailbox holds it", || {
        (alice.standing(&bob.agent, "unconfirmed") == 1).then_some(())
    });
    let seed = std::fs::read_to_string(&shared.admins[0]).unwrap();
    let url = shared.server.url();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let options = async_nats::ConnectOptions::with_nkey(seed.trim().to_owned());
        let options = options.custom_inbox_prefix("_INBOX_admin");
        let client = options.connect(&url).await.unwrap();
        let stream = jetstream::new(client)
            .get_stream("AGENT_INBOX")
            .await
            .unwrap();
        let subjects = &stream.cached_info().config.subjects;
        assert_eq!(*subjects, [alice.subject()]);
        assert_eq!(stream.cached_info().state.messages, 0);
        let consumer = stream.get_consumer::<jetstream::consumer::pull::Config>(&bob.agent);
        assert!(consumer.await.is_err());
        assert!(stream.delete_consumer(&bob.agent).await.is_err());
        let purged = stream.purge().filter(bob.subject()).await;
        assert!(purged.map_or(true, |done| done.purged == 0));
    });
    bob.start();
    all_arrive_once(alice, bob, &[kept]);
}

/// The page says so of its users.
#[test]
fn the_users_of_the_page_may_what_signet_nats_config_lets_them() {
    let house = House::new();
    let home = house.home("alice");
    let key = home.done(&["nats", "key"]);
    let file = house.path("admin.nk");
    let admin = home.done(&["nats", "key", "--file", file.to_str().unwrap()]);
    let agent = format!("agent-alice-001={}", key.trim());
    let printed = home.done(&["nats", "config", "--admin", admin.trim(), &agent]);
    let lists = printed
        .lines()
        .filter(|line| line.contains('"') && line.contains("agent-alice-001"));
    let subjects = lists.flat_map(|line| line.split('"').skip(1).step_by(2));
    let subjects: Vec<_> = subjects.collect();
    assert!(subjects.len() >= 7, "{printed}");
    for subject in subjects {
        assert!(CONF.contains(&format!("\"{subject}\"")), "{subject}");
    }
}
