//! The transport against a real NATS server.

mod login;

use std::time::{Duration, Instant};

use bytes::Bytes;
use signet_testkit::Server;
use signet_transport::{Arrival, ConnectionConfig, Error, Nats, NatsInbox};
use tokio::time::timeout;

const ALPHA: &str = "agent.alpha.inbox";
const BETA: &str = "agent.beta.inbox";

#[tokio::test]
async fn bytes_arrive_as_they_were_sent() {
    let server = Server::start("");
    let (_alpha, mut inbox) = up(config(&server, "alpha")).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let bytes = Bytes::from_static(b"\x00not json\xff\r\n");
    beta.publish(ALPHA.into(), bytes.clone()).await.unwrap();
    assert_eq!(next(&mut inbox).await, message(bytes));
}

#[tokio::test]
async fn what_is_ready_comes_at_once_and_no_more_than_asked_for() {
    let server = Server::start("");
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    for n in 0..10_u8 {
        alpha
            .publish(ALPHA.into(), Bytes::from(vec![n]))
            .await
            .unwrap();
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut out = Vec::new();
    assert_eq!(inbox.receive_many(&mut out, 4).await, 4);
    assert_eq!(inbox.receive_many(&mut out, 100).await, 6);
    assert_eq!(
        out,
        (0..10_u8).map(|n| message(vec![n])).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn an_oversized_message_arrives_as_its_length_and_first_kib() {
    let server = Server::start("");
    let mut small = config(&server, "alpha");
    small.max_bytes = 2000;
    let (_alpha, mut inbox) = up(small).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let at_the_limit = vec![b'a'; 2000];
    beta.publish(ALPHA.into(), at_the_limit.clone().into())
        .await
        .unwrap();
    beta.publish(ALPHA.into(), vec![b'b'; 2001].into())
        .await
        .unwrap();
    assert_eq!(next(&mut inbox).await, message(at_the_limit));
    let head = Bytes::from(vec![b'b'; 1024]);
    assert_eq!(
        next(&mut inbox).await,
        Arrival::Oversized {
            length: 2001,
            head,
            handle: None
        }
    );
}

#[tokio::test]
async fn too_much_and_false_subjects_are_refused_before_sending() {
    let server = Server::start("max_payload: 1000");
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    let refused = alpha.publish(ALPHA.into(), vec![0; 1001].into()).await;
    assert_eq!(
        refused.map(drop),
        Err(Error::TooLarge {
            length: 1001,
            limit: 1000
        })
    );
    for subject in [
        "",
        "a..b",
        ".a",
        "agent.*.inbox",
        "agent.>",
        "a b",
        "a\r\nPUB b",
    ] {
        let refused = alpha.publish(subject.into(), Bytes::new()).await;
        assert_eq!(
            refused.map(drop),
            Err(Error::Subject {
                subject: subject.into()
            })
        );
    }
    alpha
        .publish(ALPHA.into(), vec![1; 1000].into())
        .await
        .unwrap();
    assert_eq!(next(&mut inbox).await, message(vec![1; 1000]));
}

#[tokio::test]
async fn a_reply_subject_is_never_answered() {
    let server = Server::start("");
    let (_alpha, mut inbox) = up(config(&server, "alpha")).await;
    let (_beta, mut beta_inbox) = up(config(&server, "beta")).await;
    server.raw(format!("PUB {ALPHA} {BETA} 5\r\nhello\r\n").as_bytes());
    assert_eq!(next(&mut inbox).await, message("hello"));
    silent(&mut beta_inbox).await;
}

#[tokio::test]
async fn after_the_server_was_killed_messages_flow_again() {
    let mut server = Server::start("");
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    server.kill();
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
    assert!(!alpha.connected());
    server.restart();
    connected(&mut inbox).await;
    alpha
        .publish(ALPHA.into(), Bytes::from_static(b"again"))
        .await
        .unwrap();
    assert_eq!(next(&mut inbox).await, message("again"));
}

#[tokio::test]
async fn what_had_arrived_before_the_connection_broke_is_handed_over() {
    let mut server = Server::start("");
    let mut wide = config(&server, "alpha");
    wide.capacity = 10_000;
    let (alpha, mut inbox) = up(wide).await;
    for n in 0..1_000_u32 {
        alpha
            .publish(ALPHA.into(), n.to_be_bytes().to_vec().into())
            .await
            .unwrap();
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.kill();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!alpha.connected());
    for n in 0..1_000_u32 {
        assert_eq!(next(&mut inbox).await, message(n.to_be_bytes().to_vec()));
    }
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
}

#[tokio::test]
async fn an_agent_starts_before_its_server() {
    let mut server = Server::start("");
    server.kill();
    let (alpha, mut inbox) = Nats::connect(config(&server, "alpha")).await.unwrap();
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
    let unready = alpha.ready(Duration::from_millis(200)).await;
    assert!(
        matches!(unready, Err(Error::Unreachable { .. })),
        "{unready:?}"
    );
    server.restart();
    alpha.ready(Duration::from_secs(10)).await.unwrap();
    connected(&mut inbox).await;
}

#[tokio::test]
async fn the_second_server_serves_when_the_first_is_down() {
    let (mut first, second) = (Server::start(""), Server::start(""));
    let mut both = config(&first, "alpha");
    both.servers.push(second.url());
    first.kill();
    let (alpha, _inbox) = up(both).await;
    assert!(alpha.connected());
}

#[tokio::test]
async fn publishing_while_disconnected_is_refused_at_once() {
    let mut server = Server::start("");
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    server.kill();
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
    let began = Instant::now();
    for _ in 0..3000 {
        let refused = alpha.publish(BETA.into(), Bytes::from_static(b"x")).await;
        assert_eq!(refused.map(drop), Err(Error::Disconnected));
    }
    assert_eq!(alpha.flush().await, Err(Error::Disconnected));
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_server_that_hangs_is_noticed_and_left() {
    let server = Server::start("");
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    server.hang();
    let hung = timeout(Duration::from_secs(20), inbox.receive()).await;
    assert_eq!(hung, Ok(Some(Arrival::Disconnected)));
    assert_eq!(
        alpha.publish(BETA.into(), Bytes::new()).await.map(drop),
        Err(Error::Disconnected)
    );
    server.go_on();
    connected(&mut inbox).await;
}

#[tokio::test]
async fn a_flood_is_a_gap_and_the_connection_lives() {
    let server = Server::start("");
    let mut narrow = config(&server, "alpha");
    narrow.capacity = 16;
    let (_alpha, mut inbox) = up(narrow).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let flood = tokio::spawn(async move {
        for _ in 0..20_000 {
            beta.publish(ALPHA.into(), Bytes::from_static(b"flood"))
                .await
                .unwrap();
        }
        beta
    });
    let (mut came, mut lost, mut gaps) = (0_u64, 0_u64, 0);
    while let Ok(Some(arrival)) = timeout(Duration::from_secs(2), inbox.receive()).await {
        match arrival {
            Arrival::Message { .. } => came += 1,
            Arrival::Gap(at_least) => (lost, gaps) = (lost + at_least, gaps + 1),
            other => panic!("{other:?}"),
        }
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
    let beta = flood.await.unwrap();
    assert!(
        lost > 0 && came + lost <= 20_000,
        "{came} came, {lost} reported lost"
    );
    assert!(gaps < 8, "one gap a second is enough, not {gaps}");
    beta.publish(ALPHA.into(), Bytes::from_static(b"after"))
        .await
        .unwrap();
    assert_eq!(next(&mut inbox).await, message("after"));
}

/// The client library ends a connection whose NATS headers are not UTF-8, and a server passes them on.
#[tokio::test]
async fn broken_nats_headers_from_a_stranger_cost_one_connection_and_nothing_else() {
    let server = Server::start("");
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    let header = b"NATS/1.0\r\nname: \xff\xfe\r\n\r\n";
    let mut hostile = format!("HPUB {ALPHA} {} {}\r\n", header.len(), header.len()).into_bytes();
    hostile.extend_from_slice(header);
    hostile.extend_from_slice(b"\r\n");
    server.raw(&hostile);
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
    connected(&mut inbox).await;
    alpha
        .publish(ALPHA.into(), Bytes::from_static(b"alive"))
        .await
        .unwrap();
    assert_eq!(next(&mut inbox).await, message("alive"));
}

#[tokio::test]
async fn a_drain_loses_nothing_that_was_published() {
    let server = Server::start("");
    let mut wide = config(&server, "alpha");
    wide.capacity = 10_000;
    wide.capacity_bytes = 64 << 20;
    let (_alpha, mut inbox) = up(wide).await;
    let (beta, mut beta_inbox) = up(config(&server, "beta")).await;
    let clone = beta.clone();
    let bytes = Bytes::from(vec![7; 20_000]);
    for _ in 0..2_000 {
        beta.publish(ALPHA.into(), bytes.clone()).await.unwrap();
    }
    beta.drain().await.unwrap();
    for _ in 0..2_000 {
        assert_eq!(next(&mut inbox).await, message(bytes.clone()));
    }
    assert_eq!(beta_inbox.receive().await, None);
    assert_eq!(
        clone.publish(ALPHA.into(), bytes).await.map(drop),
        Err(Error::Closed)
    );
}

#[tokio::test]
async fn a_drain_hands_over_what_was_under_way() {
    let server = Server::start("");
    let mut wide = config(&server, "alpha");
    wide.capacity = 10_000;
    let (alpha, mut inbox) = up(wide).await;
    for n in 0..5_000_u32 {
        alpha
            .publish(ALPHA.into(), n.to_be_bytes().to_vec().into())
            .await
            .unwrap();
    }
    let draining = tokio::spawn(alpha.drain());
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let mut came = Vec::new();
    while let Some(arrival) = timeout(Duration::from_secs(10), inbox.receive())
        .await
        .unwrap()
    {
        came.push(arrival);
    }
    draining.await.unwrap().unwrap();
    let sent: Vec<_> = (0..5_000_u32)
        .map(|n| message(n.to_be_bytes().to_vec()))
        .collect();
    assert_eq!(came, sent);
}

#[tokio::test]
async fn a_drain_without_connection_says_so() {
    let mut server = Server::start("");
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    server.kill();
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
    assert_eq!(alpha.drain().await, Err(Error::Disconnected));
    assert_eq!(inbox.receive().await, None);
}

#[tokio::test]
async fn a_dropped_inbox_closes_the_connection() {
    let server = Server::start("");
    let (alpha, inbox) = up(config(&server, "alpha")).await;
    drop(inbox);
    let closed = async {
        while alpha.connected() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(5), closed).await.unwrap();
    assert_eq!(
        alpha.publish(ALPHA.into(), Bytes::new()).await.map(drop),
        Err(Error::Closed)
    );
}

fn config(server: &Server, agent: &str) -> ConnectionConfig {
    let inbox = format!("agent.{agent}.inbox");
    ConnectionConfig::new(vec![server.url()], inbox, format!("_INBOX_{agent}"))
}

fn message(bytes: impl Into<Bytes>) -> Arrival {
    Arrival::Message {
        bytes: bytes.into(),
        subject: ALPHA.into(),
        handle: None,
    }
}

/// On core NATS nothing waits.
async fn connected(inbox: &mut NatsInbox) {
    assert_eq!(next(inbox).await, Arrival::Connected);
    assert_eq!(next(inbox).await, Arrival::Drained);
}

/// Connects, and takes the arrivals that every connection begins with.
async fn up(config: ConnectionConfig) -> (Nats, NatsInbox) {
    let (nats, mut inbox) = Nats::connect(config).await.unwrap();
    nats.ready(Duration::from_secs(10)).await.unwrap();
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
    connected(&mut inbox).await;
    (nats, inbox)
}

async fn next(inbox: &mut NatsInbox) -> Arrival {
    let arrival = timeout(Duration::from_secs(15), inbox.receive()).await;
    arrival
        .expect("nothing arrived in 15 s")
        .expect("the connection was closed")
}

async fn silent(inbox: &mut NatsInbox) {
    let arrival = timeout(Duration::from_millis(500), inbox.receive()).await;
    assert!(arrival.is_err(), "{arrival:?}");
}
