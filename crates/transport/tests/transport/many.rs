//! As many mailboxes as one stream of a server takes: made, refused behind the last, and read each by its own agent.

use std::time::Instant;

use signet_testkit::{Server, resident_kib};
use signet_transport::{AgentPlace, Arrival, Error, Settlement, SetupStep, Storage, StreamOptions};

use crate::mailbox::{config, message, next, number, place, try_set_up, up};

/// The consumers that nats-server 2.15 gives one stream, unless its configuration says otherwise.
const MAILBOXES: usize = 1_000;
/// KiB of the server's memory for each mailbox: some 55, and what its garbage collector has not collected yet.
const MOST_MEMORY: u64 = 128;
/// A mailbox keeps its room free for nobody else: a thousand of the usual room need 64 GB. These are smaller.
const ROOM: StreamOptions = StreamOptions {
    mailbox_bytes: Some(1 << 20),
    replicas: None,
};

#[tokio::test]
async fn a_server_takes_a_thousand_mailboxes_refuses_the_next_and_each_agent_reads_its_own() {
    let server = Server::start("jetstream { store_dir: \"js\", max_file: 10GB }");
    let made = try_set_up(&server, &[named(0)], ROOM).await.unwrap();
    if !is_limited(&made.server) {
        println!("LEFT OUT: nats-server {} has no such limit", made.server);
        return;
    }
    let places: Vec<AgentPlace> = (1..MAILBOXES).map(named).collect();
    let (before, start) = (resident_kib(server.pid()), Instant::now());
    let report = try_set_up(&server, &places, ROOM).await.unwrap();
    let (took, after) = (start.elapsed(), resident_kib(server.pid()));
    let each = after.saturating_sub(before) / places.len() as u64;
    println!("{MAILBOXES} mailboxes made in {took:.1?}, {each} KiB of the server's memory each");
    let (stream, consumers) = report.made.split_first().unwrap();
    assert_eq!(stream.done, SetupStep::Updated);
    let is_new = |done| done == SetupStep::Created;
    assert!(consumers.iter().all(|made| is_new(made.done)));
    assert_eq!(report.inboxes.len(), MAILBOXES);
    assert!(each <= MOST_MEMORY, "{each} KiB each");

    let refused = try_set_up(&server, &[named(MAILBOXES)], ROOM).await;
    let error = refused.unwrap_err();
    assert!(
        matches!(&error, Error::TooManyMailboxes { what, .. } if what == "consumer many-1000"),
        "{error:?}"
    );
    // Where nobody can have a mailbox nothing may be stored: its sender would be told that the message waits there.
    let again = try_set_up(&server, &places, ROOM).await.unwrap();
    assert_eq!(again.inboxes.len(), MAILBOXES, "the refused inbox is gone");
    assert!(again.made.iter().all(|made| made.done == SetupStep::Kept));

    reads_its_own(&server).await;
}

/// What is sent to three of them: the second reads its own in order, and nothing else.
async fn reads_its_own(server: &Server) {
    let (sender, _inbox) = up(config(server, "many-0")).await;
    for n in 0..60 {
        let to = named(499 + n % 3).inbox;
        let sent = sender.publish(to, number(u32::try_from(n).unwrap()));
        let storage = sent.await.unwrap().wait().await;
        assert!(matches!(storage, Storage::Stored { .. }), "{storage:?}");
    }
    let nobody = sender.publish(named(MAILBOXES).inbox, number(0)).await;
    assert_eq!(nobody.unwrap().wait().await, Storage::NoStream);
    let own = config(server, "many-500");
    let (reader, mut inbox) = signet_transport::Nats::connect(own).await.unwrap();
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
    assert_eq!(next(&mut inbox).await, Arrival::Connected);
    for n in (1..60).step_by(3) {
        let (bytes, handle) = message(next(&mut inbox).await);
        assert_eq!(bytes, number(n));
        reader.settle(&handle, Settlement::Ack).await.unwrap();
    }
    assert_eq!(next(&mut inbox).await, Arrival::Drained);
    sender.publish(named(500).inbox, number(60)).await.unwrap();
    assert_eq!(message(next(&mut inbox).await).0, number(60));
}

fn named(number: usize) -> AgentPlace {
    place(&format!("many-{number}").as_str())
}

/// Whether a server of that version has the limit.
fn is_limited(version: &str) -> bool {
    let mut parts = version.split('.').map_while(|part| part.parse().ok());
    let minor: (u32, u32) = (parts.next().unwrap(), parts.next().unwrap());
    minor >= (2, 15)
}
