//! A past that is played in this process: two nodes talk, and one of them has written it all down.

use std::time::Duration;

use bytes::Bytes;
use signet::clock;
use signet::memory::Memory;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{At, Judged, Outcome};

use super::peer;

/// Messages that come and are taken from the inbox, two lines each, and receipts.
pub fn write_history(near: &mut Memory, far: &mut Memory, lines: u64) {
    let to = near.node.identity().agent().clone();
    // Receipts leave when a timeout is handled, fifty a second at most by the clock that nobody sets: for the reader it goes on
    // by a second behind each hundred messages. What is unreceipted would fill the sender's outbox.
    let mut clock = clock::elapsed();
    while near.log.commit().unwrap().seq < lines {
        for _ in 0..100 {
            let sent = far
                .node
                .turn(peer::at())
                .sent()
                .send(&to, peer::notification());
            let taken = exchange(clock, near, far, sent.unwrap().outcome);
            let outcome = near
                .node
                .turn(by(clock))
                .inbox()
                .acknowledge(&taken)
                .unwrap();
            keep(near, &outcome);
        }
        clock += Duration::from_secs(1);
        let outcome = near.node.turn(by(clock)).handle_timeout();
        keep(near, &outcome);
        hear(far, peer::published(outcome));
        // A short history shows by this what a long one would come to, whose sender has room for 4,096.
        let open = far.node.standing(&to, clock::now()).unconfirmed;
        assert_eq!(open, 0, "messages that no receipt covers");
    }
}

/// Now, where the clock that nobody sets has come so far.
fn by(clock: Duration) -> At {
    At {
        elapsed: clock,
        ..peer::at()
    }
}

/// Carries messages to and fro until nobody has anything to say; names those that reached the inbox.
fn exchange(
    clock: Duration,
    near: &mut Memory,
    far: &mut Memory,
    outcome: Outcome,
) -> Vec<(AgentId, MessageId)> {
    let mut to_near = peer::published(outcome);
    while !to_near.is_empty() {
        let mut to_far = Vec::new();
        for bytes in to_near.drain(..) {
            let judged = Judged::of(&bytes, near.node.trust());
            let outcome = near.node.turn(by(clock)).handle_inbound(judged);
            keep(near, &outcome);
            to_far.extend(peer::published(outcome));
        }
        to_near = hear(far, to_far);
    }
    let name = |item: signet_proto::node::Item| {
        (
            item.message.headers.agent_id.clone(),
            item.message.headers.message_id,
        )
    };
    near.node.inbox().after(0).map(name).collect()
}

/// What `far` answers to `messages`.
fn hear(far: &mut Memory, messages: Vec<Bytes>) -> Vec<Bytes> {
    let mut hear = |bytes: Bytes| {
        let judged = Judged::of(&bytes, far.node.trust());
        peer::published(far.node.turn(peer::at()).handle_inbound(judged))
    };
    messages.into_iter().flat_map(&mut hear).collect()
}

fn keep(memory: &mut Memory, outcome: &Outcome) {
    for entry in &outcome.entries {
        memory.log.append(clock::now(), entry).unwrap();
    }
}
