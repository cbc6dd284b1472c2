//! What confirmations say of the stores behind them, and what no store keeps.

use std::time::Duration;

use async_nats::jetstream;
use bytes::Bytes;
use signet_testkit::Server;
use signet_testkit::server::MAILBOXES;
use signet_transport::{
    AgentPlace, Arrival, ConnectionConfig, Mailbox, Nats, NatsInbox, Storage, StreamOptions, set_up,
};
use tokio::time::{Instant, timeout, timeout_at};

/// Whoever does not log in is in one account; the inbox of beta is in another, in a stream of the same name.
const ACCOUNTS: &str = r#"
no_auth_user: near
accounts {
  NEAR {
    jetstream: enabled
    users: [{ user: near, password: near }]
    imports: [{ service: { account: FAR, subject: "agent.beta.inbox" } }]
  }
  FAR {
    jetstream: enabled
    users: [{ user: far, password: far }]
    exports: [{ service: "agent.beta.inbox" }]
  }
}
"#;

#[tokio::test]
async fn streams_of_one_name_in_two_accounts_are_no_store_that_was_lost() {
    let server = Server::start(&format!("{MAILBOXES}\n{ACCOUNTS}"));
    set_up_all(&server, &["alpha", "gamma"]).await;
    let far = far(&server).await;
    take_beta(&far).await;
    let (alpha, mut inbox) = Nats::connect(config(&server, "alpha")).await.unwrap();
    wait_for(&mut inbox, &Arrival::Drained).await;
    for _ in 0..20 {
        stored(&alpha, "agent.gamma.inbox").await;
    }
    for _ in 0..20 {
        stored(&alpha, "agent.beta.inbox").await;
        stored(&alpha, "agent.gamma.inbox").await;
    }
    let until = Instant::now() + Duration::from_millis(500);
    while let Ok(arrival) = timeout_at(until, inbox.receive()).await {
        assert_ne!(arrival, Some(Arrival::StoreLost), "nothing was lost");
    }
    // A store that is really lost has to be noticed: the stream is deleted, and a new one numbers from the beginning.
    far.delete_stream("AGENT_INBOX").await.unwrap();
    take_beta(&far).await;
    stored(&alpha, "agent.beta.inbox").await;
    wait_for(&mut inbox, &Arrival::StoreLost).await;
}

/// A hub's mailboxes beside those of a house: one inbox is the hub's alone at first, and then in both domains.
#[tokio::test]
async fn streams_of_one_name_in_two_domains_are_no_store_that_was_lost() {
    let (hub, leaf) = hub_and_leaf();
    set_up_all(&leaf, &["alpha", "gamma"]).await;
    let far = jetstream::new(async_nats::connect(hub.url()).await.unwrap());
    take_beta(&far).await;
    joined(&leaf).await;
    let (alpha, mut inbox) = Nats::connect(config(&leaf, "alpha")).await.unwrap();
    wait_for(&mut inbox, &Arrival::Drained).await;
    for _ in 0..100 {
        stored(&alpha, "agent.beta.inbox").await;
    }
    for _ in 0..10 {
        stored(&alpha, "agent.gamma.inbox").await;
        stored(&alpha, "agent.beta.inbox").await;
    }
    // From now on the streams of both domains confirm messages to beta. The leaf's stream holds ten messages and counts
    // from eleven, far below the hub's numbers: that must not look like a lost store.
    set_up_all(&leaf, &["alpha", "beta", "gamma"]).await;
    for _ in 0..20 {
        stored(&alpha, "agent.beta.inbox").await;
        stored(&alpha, "agent.gamma.inbox").await;
    }
    let until = Instant::now() + Duration::from_millis(500);
    while let Ok(arrival) = timeout_at(until, inbox.receive()).await {
        assert_ne!(arrival, Some(Arrival::StoreLost), "nothing was lost");
    }
}

#[tokio::test]
async fn our_own_round_trip_is_not_kept_by_a_stream_and_read_as_somebodys_mail() {
    let server = Server::start(MAILBOXES);
    set_up_all(&server, &["alpha"]).await;
    let admin = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    // Without its consumer there is no mailbox, so alpha subscribes to its inbox, and the stream stores what comes
    // there.
    let deleted = admin.delete_consumer_from_stream("alpha", "AGENT_INBOX");
    deleted.await.unwrap();
    for _ in 0..3 {
        let (alpha, mut inbox) = Nats::connect(config(&server, "alpha")).await.unwrap();
        wait_for(&mut inbox, &Arrival::Drained).await;
        assert!(!alpha.has_mailbox());
        alpha.drain().await.unwrap();
    }
    let (alpha, mut inbox) = Nats::connect(config(&server, "alpha")).await.unwrap();
    wait_for(&mut inbox, &Arrival::Drained).await;
    set_up_all(&server, &["alpha"]).await;
    wait_for(&mut inbox, &Arrival::Connected).await;
    assert!(alpha.has_mailbox());
    let until = Instant::now() + Duration::from_secs(1);
    while let Ok(arrival) = timeout_at(until, inbox.receive()).await {
        let mail = matches!(arrival, Some(Arrival::Message { .. }));
        assert!(!mail, "nobody wrote: {arrival:?}");
    }
}

fn config(server: &Server, agent: &str) -> ConnectionConfig {
    let inbox = format!("agent.{agent}.inbox");
    let mut config = ConnectionConfig::new(vec![server.url()], inbox, format!("_INBOX_{agent}"));
    config.mailbox = Some(Mailbox::of(agent));
    config
}

async fn set_up_all(server: &Server, agents: &[&str]) {
    let admin = ConnectionConfig::new(vec![server.url()], "agent.admin.inbox", "_INBOX_admin");
    let place = |agent: &&str| AgentPlace {
        inbox: format!("agent.{agent}.inbox"),
        mailbox: Mailbox::of(agent),
    };
    let places: Vec<AgentPlace> = agents.iter().map(place).collect();
    set_up(&admin, &places, StreamOptions::default())
        .await
        .unwrap();
}

async fn far(server: &Server) -> jetstream::Context {
    let options = async_nats::ConnectOptions::with_user_and_password("far".into(), "far".into());
    jetstream::new(options.connect(server.url()).await.unwrap())
}

/// A server with mailboxes in a domain of its own, and one beside it that is its leaf.
fn hub_and_leaf() -> (Server, Server) {
    let port = signet_testkit::free_port();
    let domain = |name: &str| {
        format!("server_name: {name}\njetstream {{ store_dir: \"js\", domain: {name} }}")
    };
    let hub = Server::start(&format!(
        "{}\nleafnodes {{ listen: \"127.0.0.1:{port}\" }}",
        domain("hub")
    ));
    let leaf = Server::start(&format!(
        "{}\nleafnodes {{ remotes: [{{ url: \"nats-leaf://127.0.0.1:{port}\" }}] }}",
        domain("leaf")
    ));
    (hub, leaf)
}

/// Waits until what is sent at the leaf to beta is stored by the hub, and says so.
async fn joined(leaf: &Server) {
    let client = async_nats::connect(leaf.url()).await.unwrap();
    let limit = Instant::now() + Duration::from_secs(20);
    loop {
        let said = client.request("agent.beta.inbox", Bytes::new()).await;
        if let Ok(said) = &said {
            let said = String::from_utf8_lossy(&said.payload);
            assert!(said.contains(r#""domain":"hub""#), "{said}");
            return;
        }
        assert!(Instant::now() < limit, "{said:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn take_beta(far: &jetstream::Context) {
    let stream = jetstream::stream::Config {
        name: "AGENT_INBOX".into(),
        subjects: vec!["agent.beta.inbox".into()],
        ..Default::default()
    };
    far.create_stream(stream).await.unwrap();
}

async fn stored(nats: &Nats, inbox: &str) {
    let sent = nats.publish(inbox.into(), Bytes::from_static(b"word"));
    let storage = sent.await.unwrap().wait().await;
    assert!(matches!(storage, Storage::Stored { .. }), "{storage:?}");
}

async fn wait_for(inbox: &mut NatsInbox, wanted: &Arrival) {
    let found =
        async { while inbox.receive().await.expect("the connection was closed") != *wanted {} };
    timeout(Duration::from_secs(40), found)
        .await
        .expect("in vain");
}
