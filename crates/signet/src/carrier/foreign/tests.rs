use signet_api::PARCELS_UNDER_WAY;
use signet_proto::node::{At, Content, Effect, Sending};

use super::outgoing_parcels::UnderWay;
use super::*;
use crate::keystore::tests::{Made, now};

/// What an agent says to another one of its person, to begin with.
fn parcel() -> Parcel {
    let made = Made::new("agent-alice-001");
    let (mut alice, other) = (made.node(), made.sibling("agent-alice-002").node());
    let at = At {
        now: now(),
        elapsed: Duration::ZERO,
        head: None,
    };
    let certificate = &other.identity().certificate;
    alice.turn(at).people().bind(certificate).unwrap();
    let sending = Sending::Notification(Content::default());
    let sent = alice.turn(at).sent().send(&certificate.agent, sending);
    let mut effects = sent.unwrap().outcome.effects.into_iter();
    let flight = effects.find_map(|effect| match effect {
        Effect::Publish(parcel) => Some(parcel),
        _ => None,
    });
    flight.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_parcel_is_taken_when_those_that_nobody_reported_have_made_room() {
    let reach = Arc::default();
    let (foreign, _reading) = foreign(CarrierId::HTTP, &"agent-alice-001".parse().unwrap(), &reach);
    let (shared, parcel) = (&foreign.0, parcel());
    shared.up.send_replace(true);
    // The attached program has as many parcels as it may have at once and reports none
    // of them, so all further parcels have to queue.
    for id in 0..PARCELS_UNDER_WAY as u64 {
        let (held, _) = oneshot::channel();
        let since = Instant::now();
        let bytes = 1;
        let under_way = UnderWay { since, bytes, held };
        shared.state().under_way.insert(id, under_way);
    }
    for _ in 0..QUEUE {
        drop(shared.take(&parcel).ok().unwrap());
    }
    assert!(shared.take(&parcel).is_err(), "as many wait as may");
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(shared.take(&parcel).is_ok(), "there is room again");
}
