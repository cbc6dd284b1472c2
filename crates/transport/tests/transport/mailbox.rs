//! The JetStream mailbox against a real NATS server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bytes::Bytes;
use signet_testkit::Server;
use signet_testkit::server::MAILBOXES;
use signet_transport::{
    AgentPlace, Arrival, ConnectionConfig, Error, Handle, Mailbox, Nats, NatsInbox, Settlement,
    SetupReport, SetupStep, Storage, StreamOptions, set_up,
};
use tokio::time::timeout;

pub(crate) const ALPHA: &str = "agent.alpha.inbox";

#[tokio::test]
async fn what_came_while_nobody_listened_waits_and_comes_in_order_with_its_handle() {
    let server = house(&["alpha"]).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    for n in 0..1_000_u32 {
        let stored = beta.publish(ALPHA.into(), number(n)).await.unwrap();
        assert_eq!(
            stored.wait().await,
            Storage::Stored {
                sequence: u64::from(n) + 1
            }
        );
    }
    let (alpha, mut inbox) = Nats::connect(config(&server, "alpha")).await.unwrap();
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
    assert_eq!(next(&mut inbox).await, Arrival::Connected);
    assert!(alpha.has_mailbox());
    for n in 0..1_000_u32 {
        let (bytes, handle) = message(next(&mut inbox).await);
        assert_eq!((bytes, handle.deliveries()), (number(n), 1));
        alpha.settle(&handle, Settlement::Ack).await.unwrap();
    }
    assert_eq!(
        next(&mut inbox).await,
        Arrival::Drained,
        "all that waited, and not before"
    );
    beta.publish(ALPHA.into(), number(7)).await.unwrap();
    assert_eq!(message(next(&mut inbox).await).0, number(7));
}

#[tokio::test]
async fn what_was_acknowledged_or_terminated_never_comes_again_and_the_rest_does() {
    let server = house(&["alpha"]).await;
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    for n in 0..3 {
        alpha.publish(ALPHA.into(), number(n)).await.unwrap();
    }
    let mut handles = Vec::new();
    for _ in 0..3 {
        handles.push(message(next(&mut inbox).await).1);
    }
    alpha.settle(&handles[0], Settlement::Ack).await.unwrap();
    alpha.settle(&handles[1], Settlement::Term).await.unwrap();
    let began = Instant::now();
    let later = Settlement::Nak(Duration::from_millis(1500));
    alpha.settle(&handles[2], later).await.unwrap();
    let (bytes, handle) = message(next(&mut inbox).await);
    assert_eq!((bytes, handle.deliveries()), (number(2), 2));
    assert!(
        began.elapsed() > Duration::from_millis(1400),
        "{:?}",
        began.elapsed()
    );
    alpha.settle(&handle, Settlement::Ack).await.unwrap();
    silent(&mut inbox).await;
    alpha.drain().await.unwrap();
    let (_alpha, mut inbox) = up(config(&server, "alpha")).await;
    silent(&mut inbox).await;
}

#[tokio::test]
async fn a_message_over_the_cap_arrives_as_its_head_and_can_be_settled() {
    let server = house(&["alpha"]).await;
    let mut small = config(&server, "alpha");
    small.max_bytes = 2_000;
    let (alpha, mut inbox) = up(small).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    beta.publish(ALPHA.into(), vec![b'b'; 2_001].into())
        .await
        .unwrap();
    let Arrival::Oversized {
        length: 2_001,
        head,
        handle: Some(handle),
    } = next(&mut inbox).await
    else {
        panic!("an oversized message");
    };
    assert_eq!(head, vec![b'b'; 1024]);
    alpha.settle(&handle, Settlement::Term).await.unwrap();
    let huge = beta.publish(ALPHA.into(), vec![0; 250 * 1024].into()).await;
    assert!(matches!(huge.map(drop), Err(Error::TooLarge { .. })));
}

#[tokio::test]
async fn without_a_stream_nothing_is_stored_and_the_message_still_arrives() {
    let server = house(&["alpha"]).await;
    let (alpha, _alpha_inbox) = up(config(&server, "alpha")).await;
    let nobody = alpha
        .publish("agent.nobody.inbox".into(), number(1))
        .await
        .unwrap();
    assert_eq!(nobody.wait().await, Storage::NoStream);
    let mut core = config(&server, "gamma");
    core.mailbox = None;
    let (gamma, mut gamma_inbox) = up(core).await;
    assert!(!gamma.has_mailbox());
    let began = Instant::now();
    let sent = alpha
        .publish("agent.gamma.inbox".into(), number(2))
        .await
        .unwrap();
    let Arrival::Message {
        bytes,
        handle: None,
        ..
    } = next(&mut gamma_inbox).await
    else {
        panic!("a message");
    };
    assert_eq!(bytes, number(2));
    assert_eq!(sent.wait().await, Storage::Unconfirmed);
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "{:?}",
        began.elapsed()
    );
    let core = gamma.publish(ALPHA.into(), number(3)).await.unwrap();
    assert_eq!(
        core.wait().await,
        Storage::Unconfirmed,
        "core NATS confirms nothing"
    );
}

#[tokio::test]
async fn a_server_without_jetstream_serves_as_core_nats_and_says_so() {
    let server = Server::start("");
    let (alpha, mut inbox) = Nats::connect(config(&server, "alpha")).await.unwrap();
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
    assert_eq!(next(&mut inbox).await, Arrival::Connected);
    let Arrival::NoMailbox(why) = next(&mut inbox).await else {
        panic!("word that there is none");
    };
    assert!(!why.is_empty());
    assert_eq!(next(&mut inbox).await, Arrival::Drained);
    assert!(!alpha.has_mailbox());
    let sent = alpha.publish(ALPHA.into(), number(1)).await.unwrap();
    assert!(matches!(
        next(&mut inbox).await,
        Arrival::Message { handle: None, .. }
    ));
    assert_eq!(sent.wait().await, Storage::Unconfirmed);
}

#[tokio::test]
async fn a_mailbox_that_is_made_later_is_found() {
    let server = Server::start(MAILBOXES);
    let (alpha, mut inbox) = Nats::connect(config(&server, "alpha")).await.unwrap();
    wait_for(&mut inbox, |arrival| {
        matches!(arrival, Arrival::NoMailbox { .. })
    })
    .await;
    set_up_all(&server, &["alpha"]).await;
    wait_for(&mut inbox, |arrival| *arrival == Arrival::Connected).await;
    assert!(alpha.has_mailbox());
    let sent = alpha.publish(ALPHA.into(), number(1)).await.unwrap();
    assert_eq!(sent.wait().await, Storage::Stored { sequence: 1 });
    let came = wait_for(&mut inbox, |arrival| {
        matches!(arrival, Arrival::Message { .. })
    })
    .await;
    assert_eq!(message(came).0, number(1));
}

#[tokio::test]
async fn a_consumer_deleted_while_connected_is_noticed_and_its_successor_read() {
    let server = house(&["alpha"]).await;
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    delete_consumer(&server, "alpha").await;
    wait_for(&mut inbox, |arrival| {
        matches!(arrival, Arrival::NoMailbox { .. })
    })
    .await;
    assert!(!alpha.has_mailbox());
    let report = set_up_all(&server, &["alpha"]).await;
    assert_eq!(
        (report.made[0].done, report.made[1].done),
        (SetupStep::Kept, SetupStep::Created)
    );
    wait_for(&mut inbox, |arrival| *arrival == Arrival::StoreLost).await;
    assert!(alpha.has_mailbox());
    alpha.publish(ALPHA.into(), number(1)).await.unwrap();
    wait_for(&mut inbox, |arrival| {
        matches!(arrival, Arrival::Message { .. })
    })
    .await;
}

#[tokio::test]
async fn a_consumer_that_vanished_while_disconnected_is_noticed() {
    let mut server = house(&["alpha"]).await;
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    server.kill();
    wait_for(&mut inbox, |arrival| *arrival == Arrival::Disconnected).await;
    server.lose_store();
    server.restart();
    wait_for(&mut inbox, |arrival| {
        matches!(arrival, Arrival::NoMailbox { .. })
    })
    .await;
    set_up_all(&server, &["alpha"]).await;
    wait_for(&mut inbox, |arrival| *arrival == Arrival::StoreLost).await;
    let sent = alpha.publish(ALPHA.into(), number(1)).await.unwrap();
    assert_eq!(sent.wait().await, Storage::Stored { sequence: 1 });
}

#[tokio::test]
async fn a_stream_made_anew_shows_in_the_numbers_of_its_confirmations() {
    let server = house(&["alpha", "beta"]).await;
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    for n in 0..5 {
        let sent = alpha
            .publish("agent.beta.inbox".into(), number(n))
            .await
            .unwrap();
        assert!(matches!(sent.wait().await, Storage::Stored { .. }));
    }
    delete_stream(&server).await;
    set_up_all(&server, &["alpha", "beta"]).await;
    wait_for(&mut inbox, |arrival| *arrival == Arrival::StoreLost).await;
}

/// A handle of the lost store names a number that the new store gives to another message.
#[tokio::test]
async fn a_handle_of_a_lost_store_settles_nothing_in_the_new_one() {
    let server = house(&["alpha"]).await;
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    alpha.publish(ALPHA.into(), number(1)).await.unwrap();
    let (_, old) = message(next(&mut inbox).await);
    delete_stream(&server).await;
    set_up_all(&server, &["alpha"]).await;
    wait_for(&mut inbox, |arrival| *arrival == Arrival::StoreLost).await;
    assert_eq!(alpha.settle(&old, Settlement::Ack).await, Err(Error::Stale));
}

#[tokio::test]
async fn killed_with_mail_under_way_the_server_hands_over_everything_after_its_restart() {
    let mut server = house(&["alpha"]).await;
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let mut confirmed = 0;
    for round in 0..3_u32 {
        beta.ready(Duration::from_secs(20)).await.unwrap();
        let mut waiting = Vec::new();
        for n in 0..500 {
            if let Ok(sent) = beta.publish(ALPHA.into(), number(round * 500 + n)).await {
                waiting.push((round * 500 + n, sent));
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        server.kill();
        let mut expected: BTreeMap<u32, ()> = BTreeMap::new();
        for (n, sent) in waiting {
            if let Storage::Stored { .. } = sent.wait().await {
                expected.insert(n, ());
            }
        }
        confirmed += expected.len();
        server.restart();
        while !expected.is_empty() {
            if let Arrival::Message {
                bytes,
                handle: Some(handle),
                ..
            } = next(&mut inbox).await
            {
                expected.remove(&u32::from_be_bytes(bytes[..].try_into().unwrap()));
                let _ = alpha.settle(&handle, Settlement::Ack).await;
            }
        }
    }
    assert!(confirmed > 0, "no round had a confirmation");
}

#[tokio::test]
async fn a_stop_leaves_what_was_not_read_to_the_next_start_at_once() {
    let server = house(&["alpha"]).await;
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    for n in 0..600 {
        alpha.publish(ALPHA.into(), number(n)).await.unwrap();
    }
    // Collect the messages in a set: an acknowledgement can be lost with its connection, and its message then comes
    // again.
    let mut taken = BTreeSet::new();
    for _ in 0..100 {
        let (bytes, handle) = message(next(&mut inbox).await);
        alpha.settle(&handle, Settlement::Ack).await.unwrap();
        taken.insert(bytes);
    }
    alpha.stop_reading().await.unwrap();
    while let Arrival::Message {
        bytes,
        handle: Some(handle),
        ..
    } = next(&mut inbox).await
    {
        alpha.settle(&handle, Settlement::Ack).await.unwrap();
        taken.insert(bytes);
    }
    alpha
        .publish("agent.beta.inbox".into(), number(1))
        .await
        .unwrap();
    alpha.drain().await.unwrap();
    assert_eq!(inbox.receive().await, None);
    let (_alpha, mut inbox) = Nats::connect(config(&server, "alpha")).await.unwrap();
    while taken.len() < 600 {
        if let Arrival::Message { bytes, .. } = next(&mut inbox).await {
            taken.insert(bytes);
        }
    }
    let all: BTreeSet<Bytes> = (0..600).map(number).collect();
    assert_eq!(taken, all);
}

/// The client library's own stream would end here, and the message come again and again.
#[tokio::test]
async fn a_status_that_a_stranger_wrote_into_nats_headers_is_mail_and_not_the_servers_word() {
    let server = house(&["alpha"]).await;
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    for status in [
        "409 Consumer Deleted",
        "503",
        "100 Idle Heartbeat",
        "404 No Messages",
    ] {
        let header = format!("NATS/1.0 {status}\r\n\r\n");
        let (head, all) = (header.len(), header.len() + 3);
        server.raw(format!("HPUB {ALPHA} {head} {all}\r\n{header}bad\r\n").as_bytes());
        let (bytes, handle) = message(next(&mut inbox).await);
        assert_eq!(bytes, "bad");
        alpha.settle(&handle, Settlement::Term).await.unwrap();
    }
    alpha.publish(ALPHA.into(), number(1)).await.unwrap();
    assert_eq!(message(next(&mut inbox).await).0, number(1));
}

/// The client library ends a connection whose NATS headers are not UTF-8, before anybody sees the message. What
/// came behind it in the same batch comes again, until the mailbox gives the broken one up.
#[tokio::test]
async fn broken_nats_headers_in_a_mailbox_cost_connections_and_no_mail() {
    let server = house(&["alpha"]).await;
    hasten_redelivery(&server, "alpha", 4).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let header = b"NATS/1.0\r\nname: \xff\xfe\r\n\r\n";
    let mut hostile = format!("HPUB {ALPHA} {} {}\r\n", header.len(), header.len()).into_bytes();
    hostile.extend_from_slice(header);
    hostile.extend_from_slice(b"\r\n");
    server.raw(&hostile);
    for n in 0..20 {
        let sent = beta.publish(ALPHA.into(), number(n)).await.unwrap();
        assert!(matches!(sent.wait().await, Storage::Stored { .. }));
    }
    let (alpha, mut inbox) = Nats::connect(config(&server, "alpha")).await.unwrap();
    let (mut came, mut lost) = (std::collections::BTreeSet::new(), 0);
    while came.len() < 20 || lost < 4 {
        match next(&mut inbox).await {
            Arrival::Message {
                bytes,
                handle: Some(handle),
                ..
            } => {
                came.insert(bytes);
                let _ = alpha.settle(&handle, Settlement::Ack).await;
            }
            Arrival::Disconnected => lost += 1,
            _ => {}
        }
    }
    wait_for(&mut inbox, |arrival| *arrival == Arrival::Connected).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(alpha.connected(), "the broken message was given up");
}

/// The server can be made to write its confirmation into anybody's inbox: it is one more stranger's message.
#[tokio::test]
async fn a_confirmation_written_into_an_inbox_is_mail_and_no_confirmation() {
    let server = house(&["alpha", "beta"]).await;
    let (_alpha, mut inbox) = up(config(&server, "alpha")).await;
    server.raw(format!("PUB agent.beta.inbox {ALPHA} 2\r\nhi\r\n").as_bytes());
    let (bytes, _) = message(next(&mut inbox).await);
    assert!(bytes.starts_with(b"{\"stream\""), "{bytes:?}");
}

#[tokio::test]
async fn setting_up_twice_changes_nothing_and_another_agent_adds_its_inbox() {
    let server = Server::start(MAILBOXES);
    let first = set_up_all(&server, &["alpha"]).await;
    assert!(
        first
            .made
            .iter()
            .all(|made| made.done == SetupStep::Created),
        "{first:?}"
    );
    assert!(
        first.made.iter().all(|made| made.differences.is_empty()),
        "{first:?}"
    );
    let again = set_up_all(&server, &["alpha"]).await;
    assert!(
        again.made.iter().all(|made| made.done == SetupStep::Kept),
        "{again:?}"
    );
    let more = set_up_all(&server, &["beta"]).await;
    assert_eq!(
        (more.made[0].done, more.made[1].done),
        (SetupStep::Updated, SetupStep::Created)
    );
    assert_eq!(more.inboxes, [ALPHA, "agent.beta.inbox"]);
    assert!(
        more.made.iter().all(|made| made.differences.is_empty()),
        "{more:?}"
    );
    let (_alpha, _inbox) = up(config(&server, "alpha")).await;
}

pub(crate) fn config(server: &Server, agent: &str) -> ConnectionConfig {
    let inbox = format!("agent.{agent}.inbox");
    let mut config = ConnectionConfig::new(vec![server.url()], inbox, format!("_INBOX_{agent}"));
    config.mailbox = Some(Mailbox::of(agent));
    config
}

/// A server on which these agents have mailboxes.
pub(crate) async fn house(agents: &[&str]) -> Server {
    let server = Server::start(MAILBOXES);
    set_up_all(&server, agents).await;
    server
}

async fn set_up_all(server: &Server, agents: &[&str]) -> SetupReport {
    let places: Vec<AgentPlace> = agents.iter().map(place).collect();
    try_set_up(server, &places, StreamOptions::default())
        .await
        .unwrap()
}

pub(crate) async fn try_set_up(
    server: &Server,
    places: &[AgentPlace],
    options: StreamOptions,
) -> Result<SetupReport, Error> {
    let admin = ConnectionConfig::new(vec![server.url()], "agent.admin.inbox", "_INBOX_admin");
    set_up(&admin, places, options).await
}

pub(crate) fn place(agent: &&str) -> AgentPlace {
    AgentPlace {
        inbox: format!("agent.{agent}.inbox"),
        mailbox: Mailbox::of(agent),
    }
}

async fn delete_consumer(server: &Server, agent: &str) {
    let admin = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(admin);
    context
        .delete_consumer_from_stream(agent, "AGENT_INBOX")
        .await
        .unwrap();
}

/// What is not settled comes again after a second, and so often at most.
async fn hasten_redelivery(server: &Server, agent: &str, most: i64) {
    use async_nats::jetstream::consumer::{FromConsumer as _, pull};
    let admin = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(admin);
    let found = context.get_consumer_from_stream::<pull::Config, _, _>(agent, "AGENT_INBOX");
    let config = found.await.unwrap().cached_info().config.clone();
    let mut config = pull::Config::try_from_consumer_config(config).unwrap();
    config.backoff = vec![Duration::from_secs(1)];
    config.max_deliver = most;
    context
        .create_consumer_on_stream(config, "AGENT_INBOX")
        .await
        .unwrap();
}

async fn delete_stream(server: &Server) {
    let admin = async_nats::connect(server.url()).await.unwrap();
    async_nats::jetstream::new(admin)
        .delete_stream("AGENT_INBOX")
        .await
        .unwrap();
}

pub(crate) fn number(n: u32) -> Bytes {
    n.to_be_bytes().to_vec().into()
}

pub(crate) fn message(arrival: Arrival) -> (Bytes, Handle) {
    match arrival {
        Arrival::Message {
            bytes,
            handle: Some(handle),
            ..
        } => (bytes, handle),
        other => panic!("{other:?}"),
    }
}

/// Connects, and waits until the mailbox is read.
pub(crate) async fn up(config: ConnectionConfig) -> (Nats, NatsInbox) {
    let (nats, mut inbox) = Nats::connect(config).await.unwrap();
    wait_for(&mut inbox, |arrival| *arrival == Arrival::Drained).await;
    (nats, inbox)
}

pub(crate) async fn wait_for(inbox: &mut NatsInbox, fits: impl Fn(&Arrival) -> bool) -> Arrival {
    let found = async {
        loop {
            let arrival = inbox.receive().await.expect("the connection was closed");
            if fits(&arrival) {
                return arrival;
            }
        }
    };
    timeout(Duration::from_secs(40), found)
        .await
        .expect("in vain")
}

pub(crate) async fn next(inbox: &mut NatsInbox) -> Arrival {
    let arrival = timeout(Duration::from_secs(40), inbox.receive()).await;
    arrival
        .expect("nothing arrived in 40 s")
        .expect("the connection was closed")
}

/// No mail, whatever else is told.
async fn silent(inbox: &mut NatsInbox) {
    let until = tokio::time::Instant::now() + Duration::from_millis(500);
    while let Ok(arrival) = tokio::time::timeout_at(until, inbox.receive()).await {
        assert_eq!(arrival, Some(Arrival::Drained));
    }
}
