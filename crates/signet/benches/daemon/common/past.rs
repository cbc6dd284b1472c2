//! A past that is played in this process: two nodes talk, and both write it all down.

use std::time::Duration;

use bytes::Bytes;
use signet::clock;
use signet::memory::Memory;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{At, Judged, Outcome};

use super::peer;

/// Messages that come and are taken from the inbox, two lines each in the log of `near`, and receipts. Each message names the
/// newest durable line of its sender's log, as those of a daemon do: the two logs can be held against each other.
pub fn write_history(near: &mut Memory, far: &mut Memory, lines: u64) {
    let to = near.node.identity().agent().clone();
    // The reader's daemon receipts when a timeout is handled, fifty a second at most, and messages without a receipt
    // would fill the sender's outbox. So move the reader's clock on by a second after each hundred messages.
    let mut clock = clock::elapsed();
    while near.log.commit().unwrap().seq < lines {
        for _ in 0..100 {
            let at = by(far, clock::elapsed());
            let sent = far.node.turn(at).sent().send(&to, peer::notification());
            let outcome = sent.unwrap().outcome;
            keep(far, &outcome);
            let taken = exchange(clock, near, far, outcome);
            let at = by(near, clock);
            let outcome = near.node.turn(at).inbox().acknowledge(&taken).unwrap();
            keep(near, &outcome);
        }
        clock += Duration::from_secs(1);
        let at = by(near, clock);
        let outcome = near.node.turn(at).handle_timeout();
        keep(near, &outcome);
        hear(far, peer::published(outcome));
        far.log.commit().unwrap();
        // Look after each hundred: a sender has room for 4,096 messages without a receipt, so a short history would not
        // show that receipts lag behind, and a long one would fail.
        let open = far.node.standing(&to, clock::now()).unconfirmed;
        assert_eq!(open, 0, "messages that no receipt covers");
    }
}

/// Now, where the clock that nobody sets has come so far.
fn by(memory: &Memory, elapsed: Duration) -> At {
    At {
        now: clock::now(),
        elapsed,
        head: memory.log.head().map(|line| line.hash),
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
            let at = by(near, clock);
            let outcome = near.node.turn(at).handle_inbound(judged);
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
        let at = by(far, clock::elapsed());
        let outcome = far.node.turn(at).handle_inbound(judged);
        keep(far, &outcome);
        peer::published(outcome)
    };
    messages.into_iter().flat_map(&mut hear).collect()
}

fn keep(memory: &mut Memory, outcome: &Outcome) {
    for entry in &outcome.entries {
        memory.log.append(clock::now(), entry).unwrap();
    }
}
