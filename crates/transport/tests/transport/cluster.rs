//! Mailboxes on three servers that are one.

use std::time::{Duration, Instant};

use signet_testkit::Server;
use signet_transport::{Arrival, Nats, Settlement, SetupReport, SetupStep};
use tokio::time::timeout;

use crate::mailbox::{ALPHA, config, message, number, place, try_set_up, wait_for};

#[tokio::test]
async fn setting_up_keeps_three_replicas_and_says_so() {
    let servers = cluster();
    made(&servers[0], &["alpha"]).await;
    replicate(&servers[0]).await;
    let again = made(&servers[0], &["alpha"]).await;
    assert!(
        again.made.iter().all(|made| made.done == SetupStep::Kept),
        "{again:?}"
    );
    let more = made(&servers[0], &["alpha", "beta"]).await;
    assert_eq!(more.made[0].done, SetupStep::Updated);
    assert!(
        more.made.iter().all(|made| made.differences.is_empty()),
        "{more:?}"
    );
    let client = async_nats::connect(servers[0].url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let stream = context.get_stream("AGENT_INBOX").await.unwrap();
    assert_eq!(stream.cached_info().config.num_replicas, 3);
}

#[tokio::test]
async fn a_mailbox_that_moves_to_another_server_is_read_on() {
    let servers = cluster();
    made(&servers[0], &["alpha"]).await;
    replicate(&servers[0]).await;
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

const PATIENCE: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(5);

/// Three servers on free ports.
fn cluster() -> Vec<Server> {
    let ports: Vec<u16> = (0..3).map(|_| signet_testkit::free_port()).collect();
    let routes = ports.iter().map(|port| format!("nats://127.0.0.1:{port}"));
    let routes = routes.collect::<Vec<_>>().join(", ");
    let start = |(n, port): (usize, &u16)| {
        Server::start(&format!(
            "server_name: n{n}\njetstream {{ store_dir: \"js\" }}\n\
             cluster {{ name: house, listen: \"127.0.0.1:{port}\", routes: [{routes}] }}"
        ))
    };
    ports.iter().enumerate().map(start).collect()
}

/// They need a while to become one.
async fn made(server: &Server, agents: &[&str]) -> SetupReport {
    let places: Vec<_> = agents.iter().map(place).collect();
    let limit = Instant::now() + PATIENCE;
    loop {
        match try_set_up(server, &places).await {
            Ok(report) => return report,
            Err(error) => assert!(Instant::now() < limit, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn replicate(server: &Server) {
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let stream = context.get_stream("AGENT_INBOX").await.unwrap();
    let mut config = stream.cached_info().config.clone();
    config.num_replicas = 3;
    let limit = Instant::now() + PATIENCE;
    while let Err(error) = context.update_stream(&config).await {
        assert!(Instant::now() < limit, "{error}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    // Wait until all three servers have a current copy of the stream.
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
