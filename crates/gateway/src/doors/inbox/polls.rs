//! Polls, for an agent that can only dial out: each peer's gateway is asked for what it keeps, and what comes back goes the
//! way of everything that came.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use signet_api::{
    CarrierRoute, ClientError, DELIVERED_AT_ONCE, KEPT_FOR_POLLS, ListRoutes, MakePoll,
};
use signet_proto::envelope::Unverified;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use super::door::{HttpCarrier, decode, encode};
use super::framing::{LONGEST_BODY, envelopes};
use super::link::{CarrierConnection, RULING, delivery};
use super::outbound::{addresses, send};
use crate::outgoing::How;

/// Polls whomever this agent has to poll, for as long as the daemon is there.
pub(crate) async fn run(room: &Arc<HttpCarrier>, link: &CarrierConnection) -> ClientError {
    let mut tasks = JoinSet::new();
    let mut polled: BTreeMap<String, AbortHandle> = BTreeMap::new();
    loop {
        let request = ListRoutes {
            carrier: room.section.carrier.clone(),
        };
        let routes = match link.call(&request, RULING).await {
            Ok(routes) => routes,
            Err(error) => return error,
        };
        // Only an agent that takes no connections polls (`dials_out`). A peer with the address `KEPT_FOR_POLLS` takes none
        // either: it polls this gateway, and cannot be polled itself.
        let asks = |route: &CarrierRoute| routes.dials_out && route.address != KEPT_FOR_POLLS;
        let peers: Vec<String> = routes
            .peers
            .into_iter()
            .filter(asks)
            .map(|route| route.peer)
            .collect();
        polled.retain(|peer, task| {
            let stays = peers.contains(peer);
            if !stays {
                task.abort();
            }
            stays
        });
        for peer in peers {
            let (room, link) = (Arc::clone(room), link.clone());
            let of_peer = peer.clone();
            let start = || tasks.spawn(async move { poll(&room, &link, &of_peer).await });
            polled.entry(peer).or_insert_with(start);
        }
        tokio::select! {
            () = sleep(ROUTES) => {}
            // A polling task ends by itself only if a call to the daemon failed other than by a refusal: then this connection
            // has to begin anew. An aborted task gives an error, which this pattern skips.
            Some(Ok(ended)) = tasks.join_next() => return ended,
        }
    }
}

/// Polls one peer again and again: at once after something came, and ever later while nothing answers.
async fn poll(room: &HttpCarrier, link: &CarrierConnection, peer: &str) -> ClientError {
    let (mut after, mut faults) = (None, 0_u32);
    let period = Duration::from_secs(room.section.poll_seconds.max(1));
    loop {
        match once(room, link, peer, &mut after).await {
            Ok(Came::Something) => {
                faults = 0;
                sleep(SHORTEST_PAUSE).await;
            }
            Ok(Came::Nothing) => {
                faults = 0;
                sleep(period).await;
            }
            Ok(Came::NoAnswer) => {
                let wait = period.saturating_mul(1 << faults.min(6));
                faults = faults.saturating_add(1);
                sleep(wait.min(LONGEST_PAUSE)).await;
            }
            Err(ClientError::Refused(_)) => sleep(period).await,
            Err(error) => return error,
        }
    }
}

/// What a poll brought.
enum Came {
    Something,
    Nothing,
    NoAnswer,
}

async fn once(
    room: &HttpCarrier,
    link: &CarrierConnection,
    peer: &str,
    after: &mut Option<String>,
) -> Result<Came, ClientError> {
    let carrier = room.section.carrier.clone();
    let request = MakePoll {
        carrier,
        peer: peer.to_owned(),
        after: after.clone(),
    };
    let made = link.call(&request, RULING).await?;
    let bytes = decode(&made.bytes).ok_or(ClientError::Malformed)?;
    let bytes = Bytes::from(bytes);
    let mut answer = None;
    for address in addresses(&made.address) {
        answer = send(room, peer, address, bytes.clone(), POLL).await;
        if answer.is_some() {
            break;
        }
    }
    let Some(answer) = answer else {
        return Ok(Came::NoAnswer);
    };
    match answer.status {
        StatusCode::ACCEPTED => return Ok(Came::Nothing),
        StatusCode::OK => {}
        _ => return Ok(Came::NoAnswer),
    }
    let Ok(kept) = envelopes(&answer.body) else {
        return Ok(Came::NoAnswer);
    };
    deliver(room, link, &kept).await?;
    let last = kept
        .iter()
        .rev()
        .find_map(|bytes| Unverified::parse(bytes).ok());
    match last.map(|last| last.claims().headers.message_id.to_string()) {
        // If the peer's gateway returns the same last message again, count that as nothing: otherwise it would
        // be polled again at once, for ever.
        Some(last) if after.as_ref() != Some(&last) => {
            *after = Some(last);
            Ok(Came::Something)
        }
        _ => Ok(Came::Nothing),
    }
}

/// Hands in what came, in pieces that a line of the socket takes.
async fn deliver(
    room: &HttpCarrier,
    link: &CarrierConnection,
    kept: &[Bytes],
) -> Result<(), ClientError> {
    let mut rest = kept;
    while !rest.is_empty() {
        let mut length = 0;
        let fits = rest.iter().take(DELIVERED_AT_ONCE).take_while(|bytes| {
            length += bytes.len();
            length <= BATCH
        });
        let count = fits.count().max(1);
        let (now, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        rest = later;
        let messages = now.iter().map(|bytes| encode(bytes)).collect();
        let request = delivery(&room.section.carrier, messages);
        link.call(&request, RULING).await?;
    }
    Ok(())
}

/// A poll may wait there for 20 s before it brings nothing.
const POLL: How = How {
    time: Duration::from_secs(60),
    answer_bytes: LONGEST_BODY,
    pinned: None,
};
const BATCH: usize = 600 * 1024;
/// How often it is asked who is to be polled.
const ROUTES: Duration = Duration::from_secs(10);
/// The daemon makes one poll of a peer in a tenth of a second.
const SHORTEST_PAUSE: Duration = Duration::from_millis(150);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
