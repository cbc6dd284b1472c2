//! Mailboxes on three servers that are one.

use std::time::{Duration, Instant};

use signet_testkit::server::MAILBOXES;
use signet_testkit::{Cluster, Server};
use signet_transport::{Arrival, Error, Nats, Settlement, SetupReport, SetupStep, StreamOptions};
use tokio::time::timeout;

use crate::mailbox::{ALPHA, config, message, number, place, try_set_up, wait_for};

#[tokio::test]
async fn setting_up_makes_three_replicas_and_keeps_what_is_more_than_asked() {
    let servers = Cluster::open().servers;
    let first = made(&servers[0], &["alpha"], THREE).await;
    assert_eq!(first.replicas, 3);
    // A try before may have made some of it, and found the cluster without a leader for the rest.
    assert!(
        first.made.iter().all(|made| made.differences.is_empty()),
        "{first:?}"
    );
    for options in [StreamOptions::default(), THREE] {
        let again = made(&servers[1], &["alpha"], options).await;
        assert!(
            again.made.iter().all(|made| made.done == SetupStep::Kept),
            "{again:?}"
        );
    }
    let more = made(&servers[0], &["alpha", "beta"], StreamOptions::default()).await;
    assert_eq!((more.inboxes.len(), more.replicas), (2, 3));
    assert!(
        more.made.iter().all(|made| made.differences.is_empty()),
        "{more:?}"
    );
    let one = StreamOptions {
        replicas: Some(1),
        ..StreamOptions::default()
    };
    let less = made(&servers[0], &["alpha"], one).await;
    assert_eq!((less.inboxes.len(), less.replicas), (2, 1));
    let five = StreamOptions {
        replicas: Some(5),
        ..StreamOptions::default()
    };
    let limit = Instant::now() + PATIENCE;
    loop {
        match try_set_up(&servers[0], &[place(&"alpha")], five).await {
            Err(Error::NoPeers { replicas, .. }) => break assert_eq!(replicas, 5),
            Err(error @ Error::NoLeader { .. }) => assert!(Instant::now() < limit, "{error}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_server_that_stands_alone_says_so_in_a_sentence_of_ours_and_makes_nothing() {
    let server = Server::start(MAILBOXES);
    let error = try_set_up(&server, &[place(&"alpha")], THREE)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "stream AGENT_INBOX: 3 replicas were asked for, and this server stands alone: it belongs to no cluster"
    );
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    assert!(context.get_stream("AGENT_INBOX").await.is_err());
}

/// Servers before 2.11 take such a promise for a stream that is there, and throw the stream away at their next start.
#[tokio::test]
async fn mailboxes_that_are_there_on_a_server_that_stands_alone_survive_who_asks_for_replicas() {
    let mut server = Server::start(MAILBOXES);
    made(&server, &["alpha"], StreamOptions::default()).await;
    let error = try_set_up(&server, &[place(&"alpha")], THREE).await;
    assert!(matches!(error, Err(Error::NoCluster { replicas: 3, .. })));

    // A release of before asked the server for it, and the server promised.
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let stream = context.get_stream("AGENT_INBOX").await.unwrap();
    let mut asked = stream.cached_info().config.clone();
    asked.num_replicas = 3;
    // From 2.11 on the server refuses.
    let _ = context.update_stream(&asked).await;
    let again = made(&server, &["alpha"], StreamOptions::default()).await;
    assert_eq!(again.replicas, 1);
    context
        .publish(ALPHA, number(7))
        .await
        .unwrap()
        .await
        .unwrap();
    server.kill();
    server.restart();
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let kept = context.get_stream("AGENT_INBOX").await.unwrap();
    assert_eq!(kept.cached_info().state.messages, 1);
}

#[tokio::test]
async fn a_server_that_takes_no_more_mailboxes_says_so_in_a_sentence_of_ours() {
    let server = Server::start(
        "jetstream { store_dir: \"js\" }\n\
         accounts { A: { jetstream: { max_consumers: 2 }, users: [ { user: a } ] } }\nno_auth_user: a",
    );
    let places: Vec<_> = ["alpha", "beta", "gamma"].iter().map(place).collect();
    let error = try_set_up(&server, &places, StreamOptions::default())
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::TooManyMailboxes { what, .. } if what == "consumer gamma"),
        "{error:?}"
    );
}

/// The settings name one server of three. When it is gone for good, its cluster goes on without it, and so does the daemon.
#[tokio::test]
async fn when_the_only_server_of_the_settings_is_gone_its_cluster_is_used() {
    let mut servers = Cluster::open().servers;
    made(&servers[0], &["alpha"], THREE).await;
    replicated(&servers[0]).await;
    let mut alone = config(&servers[0], "alpha");
    alone.discovers_servers = false;
    let (_kept, mut lost) = Nats::connect(alone).await.unwrap();
    let (alpha, mut inbox) = Nats::connect(config(&servers[0], "alpha")).await.unwrap();
    for inbox in [&mut inbox, &mut lost] {
        wait_for(inbox, |arrival| *arrival == Arrival::Connected).await;
    }
    servers[0].kill();
    let beta = async_nats::ConnectOptions::new().request_timeout(Some(PATIENCE));
    let beta = beta.connect(servers[1].url()).await.unwrap();
    // Two of three have to agree on a new leader before a message is stored.
    let limit = Instant::now() + PATIENCE;
    while let Err(error) = timeout(SOON, stored(&beta)).await {
        assert!(Instant::now() < limit, "{error}");
    }
    let arrival = wait_for(&mut inbox, |arrival| {
        matches!(arrival, Arrival::Message { .. })
    });
    let (bytes, handle) = message(arrival.await);
    assert_eq!(bytes, number(7));
    alpha.settle(&handle, Settlement::Ack).await.unwrap();
    while let Ok(Some(arrival)) = timeout(Duration::from_millis(100), lost.receive()).await {
        assert_ne!(
            arrival,
            Arrival::Connected,
            "it was told to ask nobody else"
        );
    }
}

/// Until the mailbox of alpha has taken message 7.
async fn stored(beta: &async_nats::Client) {
    loop {
        match beta.request(ALPHA, number(7)).await {
            Ok(answer) if answer.payload.starts_with(b"{\"stream\"") => return,
            _ => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

#[tokio::test]
async fn a_mailbox_that_moves_to_another_server_is_read_on() {
    let servers = Cluster::open().servers;
    made(&servers[0], &["alpha"], THREE).await;
    replicated(&servers[0]).await;
    let (alpha, mut inbox) = Nats::connect(config(&servers[0], "alpha")).await.unwrap();
    wait_for(&mut inbox, |arrival| *arrival == Arrival::Connected).await;
    let patient = async_nats::ConnectOptions::new().request_timeout(Some(PATIENCE));
    let beta = patient.connect(servers[1].url()).await.unwrap();
    for round in 0..3 {
        let leave = "$JS.API.CONSUMER.LEADER.STEPDOWN.AGENT_INBOX.alpha";
        // The servers may still be forming their cluster, and answer late: ask again until an answer comes.
        let limit = Instant::now() + PATIENCE;
        while let Err(error) = timeout(SOON, beta.request(leave, "".into())).await {
            assert!(Instant::now() < limit, "{error}");
        }
        for n in 0..50 {
            let stored = beta.request(ALPHA, number(round * 50 + n)).await.unwrap();
            assert!(stored.payload.starts_with(b"{\"stream\""), "{stored:?}");
        }
        let start = Instant::now();
        for n in 0..50 {
            let arrival = wait_for(&mut inbox, |arrival| {
                assert!(!matches!(arrival, Arrival::NoMailbox { .. }), "{arrival:?}");
                matches!(arrival, Arrival::Message { .. })
            });
            let (bytes, handle) = message(arrival.await);
            assert_eq!(bytes, number(round * 50 + n));
            alpha.settle(&handle, Settlement::Ack).await.unwrap();
        }
        println!("read behind a move in {:?}", start.elapsed());
    }
}

const THREE: StreamOptions = StreamOptions {
    mailbox_bytes: None,
    replicas: Some(3),
};
const PATIENCE: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(5);

/// They need a while to become one.
async fn made(server: &Server, agents: &[&str], options: StreamOptions) -> SetupReport {
    let places: Vec<_> = agents.iter().map(place).collect();
    let limit = Instant::now() + PATIENCE;
    loop {
        match try_set_up(server, &places, options).await {
            Ok(report) => return report,
            Err(error) => assert!(Instant::now() < limit, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Waits until all three servers have a current copy of the stream.
async fn replicated(server: &Server) {
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let limit = Instant::now() + PATIENCE;
    loop {
        let stream = context.get_stream("AGENT_INBOX").await.unwrap();
        let replicas = &stream.cached_info().cluster.as_ref().unwrap().replicas;
        if replicas.len() == 2 && replicas.iter().all(|replica| replica.current) {
            return;
        }
        assert!(Instant::now() < limit, "{replicas:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
