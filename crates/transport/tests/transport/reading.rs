//! How fast mail is read, over lines that are long and lines that are cut.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use signet_testkit::Proxy;
use signet_transport::{Arrival, ConnectionConfig, Mailbox, Nats, Settlement, Storage};
use tokio::time::timeout;

use crate::mailbox::{ALPHA, config, house, message, next, number, up, wait_for};

/// A pause of a second behind each pull made this 16 seconds.
#[tokio::test]
async fn four_thousand_waiting_messages_are_read_without_a_pause() {
    let server = house(&["alpha"]).await;
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    store(&beta, 0..4_000).await;
    let (alpha, mut inbox) = Nats::connect(config(&server, "alpha")).await.unwrap();
    wait_for(&mut inbox, |arrival| *arrival == Arrival::Connected).await;
    let start = Instant::now();
    for n in 0..4_000 {
        let (bytes, handle) = message(next(&mut inbox).await);
        assert_eq!((bytes, handle.deliveries()), (number(n), 1));
        alpha.settle(&handle, Settlement::Ack).await.unwrap();
    }
    let took = start.elapsed();
    println!("4,000 waiting messages read in {took:?}");
    assert!(took < Duration::from_secs(8), "{took:?}");
}

/// One message for each time that a word goes there and back is 12 a second here, and what was under way would come
/// again after half a minute.
#[tokio::test]
async fn after_a_cut_mail_is_not_read_one_by_one() {
    let server = house(&["alpha"]).await;
    let line = Proxy::far_before(server.port(), Duration::from_millis(40));
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let (alpha, mut inbox) = up(behind(&line)).await;
    store(&beta, 0..100).await;
    // Most of the hundred messages are under way now, and are lost with the connection.
    let (_, handle) = message(next(&mut inbox).await);
    alpha.settle(&handle, Settlement::Ack).await.unwrap();
    line.cut();
    store(&beta, 100..1_000).await;
    let start = Instant::now();
    let mut came = BTreeMap::new();
    while came.len() < 999 {
        if let Arrival::Message {
            bytes,
            handle: Some(handle),
            ..
        } = next(&mut inbox).await
        {
            *came.entry(bytes).or_insert(0) += 1;
            let _ = alpha.settle(&handle, Settlement::Ack).await;
        }
    }
    let took = start.elapsed();
    println!("999 messages read behind a cut in {took:?}");
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[tokio::test]
async fn a_line_cut_for_five_seconds_keeps_nobody_waiting_five_seconds_more() {
    let server = house(&["alpha"]).await;
    let line = Proxy::far_before(server.port(), Duration::from_millis(5));
    let (beta, _beta_inbox) = up(config(&server, "beta")).await;
    let (alpha, mut inbox) = up(behind(&line)).await;
    let reading = tokio::spawn(async move {
        let mut came = Vec::new();
        while let Ok(Some(arrival)) = timeout(Duration::from_secs(15), inbox.receive()).await {
            if let Arrival::Message {
                bytes,
                handle: Some(handle),
                ..
            } = arrival
            {
                came.push((
                    u32::from_be_bytes(bytes[..].try_into().unwrap()),
                    Instant::now(),
                ));
                let _ = alpha.settle(&handle, Settlement::Ack).await;
            }
        }
        came
    });
    let (mut sent, mut cut) = (Vec::new(), Duration::ZERO);
    let mut parted = Instant::now();
    for n in 0..120 {
        match n {
            20 => {
                line.part();
                parted = Instant::now();
            }
            70 => {
                line.join();
                cut = parted.elapsed();
            }
            _ => {}
        }
        store(&beta, n..n + 1).await;
        sent.push(Instant::now());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let came = reading.await.unwrap();
    let numbers: Vec<u32> = came.iter().map(|(number, _)| *number).collect();
    let missing: Vec<u32> = (0..120).filter(|n| !numbers.contains(n)).collect();
    assert!(missing.is_empty(), "{missing:?} of {numbers:?}");
    let copies = came.len() - 120;
    let mut latest = Duration::ZERO;
    for (n, sent) in (0..).zip(&sent) {
        let (_, first) = came.iter().find(|(number, _)| *number == n).unwrap();
        latest = latest.max(first.duration_since(*sent));
    }
    println!("cut for {cut:?} at 10 a second: late by {latest:?}, {copies} copies of 120");
    assert!(latest < cut + Duration::from_secs(5), "{latest:?}");
    // Fewer than five of a hundred messages may come twice.
    assert!(copies < 6, "{copies}");
}

fn behind(line: &Proxy) -> ConnectionConfig {
    let mut config = ConnectionConfig::new(vec![line.url()], ALPHA, "_INBOX_alpha");
    config.mailbox = Some(Mailbox::of("alpha"));
    config
}

async fn store(from: &Nats, numbers: std::ops::Range<u32>) {
    let mut stored = Vec::new();
    for n in numbers {
        stored.push(from.publish(ALPHA.into(), number(n)).await.unwrap());
    }
    for stored in stored {
        assert!(matches!(stored.wait().await, Storage::Stored { .. }));
    }
}
