//! A mailbox on a hub, read by way of a leaf server that keeps no mail itself.

use std::time::{Duration, Instant};

use signet_testkit::{Server, free_port};
use signet_transport::{
    AgentPlace, Arrival, ConnectionConfig, Mailbox, Nats, Settlement, StreamOptions, inspect,
    set_up,
};

use crate::mailbox::{ALPHA, config, message, number, wait_for};

#[tokio::test]
async fn a_mailbox_in_the_domain_of_a_hub_is_made_read_and_settled_through_a_leaf() {
    let (hub, leaf) = hub_and_leaf();
    let place = AgentPlace {
        inbox: ALPHA.to_owned(),
        mailbox: on_the_hub(),
    };
    let admin = ConnectionConfig::new(vec![leaf.url()], "agent.admin.inbox", "_INBOX_admin");
    // The leaf takes a moment to reach its hub; until then nobody answers for the domain.
    let limit = Instant::now() + Duration::from_secs(30);
    let made = loop {
        match set_up(
            &admin,
            std::slice::from_ref(&place),
            StreamOptions::default(),
        )
        .await
        {
            Ok(made) => break made,
            Err(error) => assert!(Instant::now() < limit, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(made.inboxes, [ALPHA]);
    let mut through_leaf = config(&leaf, "alpha");
    through_leaf.mailbox = Some(on_the_hub());
    let (alpha, mut inbox) = Nats::connect(through_leaf.clone()).await.unwrap();
    wait_for(&mut inbox, |arrival| *arrival == Arrival::Connected).await;
    assert!(alpha.has_mailbox());
    let beta = async_nats::connect(hub.url()).await.unwrap();
    let stored = beta.request(ALPHA, number(1)).await.unwrap();
    assert!(stored.payload.starts_with(b"{\"stream\""), "{stored:?}");
    let arrival = wait_for(&mut inbox, |arrival| {
        matches!(arrival, Arrival::Message { .. })
    });
    let (bytes, handle) = message(arrival.await);
    assert_eq!(bytes, number(1));
    alpha.settle(&handle, Settlement::Ack).await.unwrap();
    // The answer to the drain comes behind the settlement.
    alpha.drain().await.unwrap();
    let seen = inspect(&through_leaf, &[]).await.unwrap();
    assert_eq!(seen.mailbox.unwrap().unwrap().messages, 0);
    assert!(seen.refused.is_empty(), "{:?}", seen.refused);
}

#[tokio::test]
async fn without_the_name_of_the_domain_a_leaf_without_mail_has_no_mailbox() {
    let (_hub, leaf) = hub_and_leaf();
    let (alpha, mut inbox) = Nats::connect(config(&leaf, "alpha")).await.unwrap();
    wait_for(&mut inbox, |arrival| {
        matches!(arrival, Arrival::NoMailbox { .. })
    })
    .await;
    assert!(!alpha.has_mailbox());
}

fn on_the_hub() -> Mailbox {
    Mailbox {
        domain: Some("hub".to_owned()),
        ..Mailbox::of("alpha")
    }
}

/// The hub, whose JetStream has a domain, and a leaf without JetStream.
fn hub_and_leaf() -> (Server, Server) {
    let port = free_port();
    let hub = Server::start(&format!(
        "jetstream {{ store_dir: \"js\", domain: hub }}\nleafnodes {{ listen: \"127.0.0.1:{port}\" }}"
    ));
    let leaf = Server::start(&format!(
        "leafnodes {{ remotes: [ {{ url: \"nats://127.0.0.1:{port}\" }} ] }}"
    ));
    (hub, leaf)
}
