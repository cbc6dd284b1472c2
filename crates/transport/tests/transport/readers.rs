//! More than one program reads a mailbox: the same agent-id twice, or a thief, at a server without logins.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt as _;
use signet_testkit::{Proxy, Server};
use signet_transport::{
    Arrival, ConnectionConfig, Mailbox, Nats, NatsInbox, Readership, Settlement, Storage,
};
use tokio::time::timeout;

use crate::mailbox::{ALPHA, config, house, message, next, number, up, wait_for};

const OTHER: Arrival = Arrival::Readers(Readership::Other);
const OWN: Arrival = Arrival::Readers(Readership::Own);
const BOTH: Arrival = Arrival::Readers(Readership::Both);

/// Without this the second took 481 copies out of the mailbox, and nobody was told.
#[tokio::test]
async fn a_second_daemon_of_the_same_agent_id_takes_no_mail_and_is_told_until_the_first_ends() {
    let server = house(&["alpha"]).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let (first, mut first_inbox) = up(config(&server, "alpha")).await;
    let (second, mut second_inbox) = Nats::connect(config(&server, "alpha")).await.unwrap();
    wait_for(&mut second_inbox, |arrival| *arrival == OTHER).await;
    for n in 0..200 {
        beta.publish(ALPHA.into(), number(n)).await.unwrap();
    }
    for n in 0..200 {
        let (bytes, handle) = message(next(&mut first_inbox).await);
        assert_eq!((bytes, handle.deliveries()), (number(n), 1));
        first.settle(&handle, Settlement::Ack).await.unwrap();
    }
    let heard = timeout(Duration::from_secs(3), second_inbox.receive()).await;
    assert!(heard.is_err(), "the second takes nothing: {heard:?}");
    first.drain().await.unwrap();
    let ended = Instant::now();
    wait_for(&mut second_inbox, |arrival| *arrival == OWN).await;
    wait_for(&mut second_inbox, |arrival| *arrival == Arrival::Drained).await;
    assert!(
        ended.elapsed() < Duration::from_secs(10),
        "{:?}",
        ended.elapsed()
    );
    beta.publish(ALPHA.into(), number(7)).await.unwrap();
    assert_eq!(message(next(&mut second_inbox).await).0, number(7));
    drop(second);
}

#[tokio::test]
async fn of_two_that_begin_in_the_same_moment_one_reads_in_the_end() {
    let server = house(&["alpha"]).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let (one, other) = tokio::join!(
        Nats::connect(config(&server, "alpha")),
        Nats::connect(config(&server, "alpha"))
    );
    let (one, other) = (one.unwrap(), other.unwrap());
    let begun = Instant::now();
    let (mut readers, mut inboxes) = ([Readership::Own; 2], [one.1, other.1]);
    while readers
        .iter()
        .filter(|readers| **readers == Readership::Own)
        .count()
        != 1
        || begun.elapsed() < Duration::from_secs(5)
    {
        assert!(begun.elapsed() < Duration::from_secs(60), "{readers:?}");
        for (readers, inbox) in readers.iter_mut().zip(&mut inboxes) {
            while let Ok(Some(arrival)) = timeout(Duration::from_millis(100), inbox.receive()).await
            {
                if let Arrival::Readers(now) = arrival {
                    *readers = now;
                }
            }
        }
    }
    let reader = readers
        .iter()
        .position(|readers| *readers == Readership::Own)
        .unwrap();
    for n in 0..50 {
        beta.publish(ALPHA.into(), number(n)).await.unwrap();
    }
    let inbox = inboxes.get_mut(reader).unwrap();
    wait_for(
        inbox,
        |arrival| matches!(arrival, Arrival::Message { bytes, .. } if *bytes == number(49)),
    )
    .await;
    drop((one.0, other.0));
}

/// A thief that pulls on, where the daemon has begun just now: the daemon steps back, and gets what came when the thief ends.
#[tokio::test]
async fn a_thief_that_pulls_without_a_pause_is_told_and_mail_it_did_not_take_comes() {
    let server = house(&["alpha"]).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let (_alpha, mut inbox) = up(config(&server, "alpha")).await;
    let thief = pull(&server, 256, 60).await;
    let told = wait_for(&mut inbox, |arrival| matches!(arrival, Arrival::Readers(_))).await;
    assert!(told == OTHER || told == BOTH, "{told:?}");
    drop(thief);
    wait_for(&mut inbox, |arrival| *arrival == OWN).await;
    beta.publish(ALPHA.into(), number(1)).await.unwrap();
    assert_eq!(message(wait_for(&mut inbox, is_mail).await).0, number(1));
}

/// A thief that takes one message and leaves is not seen among the pulls: the numbers of the deliveries show it. The
/// server serves pulls in their order, so that the thief's turn comes between two pulls of the daemon.
#[tokio::test]
async fn a_thief_that_takes_one_message_and_leaves_is_told_with_the_next() {
    let server = house(&["alpha"]).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let (alpha, mut inbox) = up(config(&server, "alpha")).await;
    let mut thief = pull(&server, 1, 60).await;
    let mut told = None;
    for n in 0..400 {
        beta.publish(ALPHA.into(), number(n)).await.unwrap();
    }
    let mut came = BTreeSet::new();
    while came.len() < 399 {
        match next(&mut inbox).await {
            Arrival::Message {
                bytes,
                handle: Some(handle),
                ..
            } => {
                came.insert(bytes);
                alpha.settle(&handle, Settlement::Ack).await.unwrap();
            }
            Arrival::Readers(readers) => told = Some(readers),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(told, Some(Readership::Both));
    let stolen = timeout(Duration::from_secs(5), thief.1.next())
        .await
        .unwrap()
        .unwrap();
    assert!(!came.contains(&stolen.payload));
}

/// Neither the pulls of a connection that was cut nor what was given to it are somebody else's.
#[tokio::test]
async fn cut_lines_and_a_server_that_starts_again_are_no_other_reader() {
    let mut server = house(&["alpha"]).await;
    let line = Proxy::before(server.port());
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let mut behind = ConnectionConfig::new(vec![line.url()], ALPHA, "_INBOX_alpha");
    behind.mailbox = Some(Mailbox::of("alpha"));
    let (alpha, mut inbox) = up(behind).await;
    let mut came = BTreeSet::new();
    for round in 0..6_u32 {
        for n in 0..300 {
            store(&beta, number(round * 300 + n)).await;
        }
        take(&alpha, &mut inbox, &mut came, 300 * round as usize + 20).await;
        line.cut();
        if round == 3 {
            server.restart();
        }
    }
    take(&alpha, &mut inbox, &mut came, 6 * 300).await;
    let until = tokio::time::Instant::now() + Duration::from_secs(8);
    while let Ok(Some(arrival)) = tokio::time::timeout_at(until, inbox.receive()).await {
        assert!(!matches!(arrival, Arrival::Readers(_)), "{arrival:?}");
    }
}

/// Settles what comes until `came` holds so many different messages.
async fn take(alpha: &Nats, inbox: &mut NatsInbox, came: &mut BTreeSet<Bytes>, many: usize) {
    while came.len() < many {
        match next(inbox).await {
            Arrival::Message {
                bytes,
                handle: Some(handle),
                ..
            } => {
                came.insert(bytes);
                let _ = alpha.settle(&handle, Settlement::Ack).await;
            }
            arrival => assert!(!matches!(arrival, Arrival::Readers(_)), "{arrival:?}"),
        }
    }
}

/// Publishes until the mailbox holds it.
async fn store(beta: &Nats, bytes: Bytes) {
    loop {
        if let Ok(sent) = beta.publish(ALPHA.into(), bytes.clone()).await
            && let Storage::Stored { .. } = sent.wait().await
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

const fn is_mail(arrival: &Arrival) -> bool {
    matches!(arrival, Arrival::Message { .. })
}

/// A program that pulls out of the mailbox of `alpha`, with no login.
async fn pull(
    server: &Server,
    batch: usize,
    seconds: u64,
) -> (async_nats::Client, async_nats::Subscriber) {
    let client = async_nats::connect(server.url()).await.unwrap();
    let inbox = client.new_inbox();
    let pulled = client.subscribe(inbox.clone()).await.unwrap();
    let request = format!(
        "{{\"batch\":{batch},\"expires\":{}}}",
        seconds * 1_000_000_000
    );
    let subject = "$JS.API.CONSUMER.MSG.NEXT.AGENT_INBOX.alpha";
    client
        .publish_with_reply(subject, inbox, request.into())
        .await
        .unwrap();
    client.flush().await.unwrap();
    (client, pulled)
}
