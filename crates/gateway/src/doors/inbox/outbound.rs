//! What leaves by HTTP: one POST for a parcel, and an honest word about whether the other side has it.
//!
//! Nothing is kept here and nothing is tried again: what another gateway did not take is the daemon's to send again, by the
//! next carrier first. A parcel waits for its turn at a gateway that has enough to do: given back at once, all but eight of
//! a burst would wait for the daemon's next try. A gateway that is slow or refuses costs its own peer, and no other.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::Bytes;
use signet_api::CarriedParcel;
use url::Url;

use super::door::HttpCarrier;
use super::lanes::{AFTER_FAULT, LONGEST_SKIP, TURN};
use crate::config::carriers::Pins;
use crate::outgoing::{How, HttpAnswer};

/// Posts a parcel to the first of its addresses that takes it. Whether the other side says that it has it.
pub(crate) async fn post(room: &HttpCarrier, parcel: &CarriedParcel, bytes: Vec<u8>) -> bool {
    let bytes = Bytes::from(bytes);
    let count = addresses(&parcel.address).count();
    // The daemon waits one fixed time for all addresses together, so each address gets an equal share of it.
    let share = u32::try_from(count.max(1)).unwrap_or(u32::MAX);
    let how = How {
        time: POST.time / share,
        ..POST
    };
    // An address that does not answer is skipped for longer each time, if the peer has others. A peer's only address is tried
    // again after a second, because nothing else can be tried.
    let longest = if count > 1 { LONGEST_SKIP } else { AFTER_FAULT };
    for address in addresses(&parcel.address) {
        let Some(turn) = room.lanes.turn(address, TURN / share).await else {
            continue;
        };
        let answer = send(room, &parcel.peer, address, bytes.clone(), how.clone()).await;
        match answer.map(|answer| (answer.status, retry_after(&answer.headers))) {
            Some((StatusCode::ACCEPTED, _)) => {
                turn.well();
                return true;
            }
            Some((status, Some(said))) if is_for_a_while(status) => turn.pause(said),
            _ => turn.failed(longest),
        }
    }
    false
}

/// The addresses of a peer, the first to be tried first: the daemon writes a space between them.
pub(crate) fn addresses(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|address| !address.is_empty())
}

const fn is_for_a_while(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    )
}

/// One POST of an envelope to the gateway of a peer.
pub(crate) async fn send(
    room: &HttpCarrier,
    peer: &str,
    address: &str,
    bytes: Bytes,
    how: How,
) -> Option<HttpAnswer> {
    let url = Url::parse(address).ok()?;
    let mut headers = HeaderMap::new();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    let pinned = room
        .section
        .peers
        .get(peer)
        .and_then(|peer| peer.certificate.as_ref());
    let how = How {
        pinned: pinned.map(Pins::hashes),
        ..how
    };
    let answer = room.context.outgoing.post(&url, headers, bytes, &how);
    answer.await.ok()
}

/// How many seconds an answer asks us to wait. A date is not read: clocks differ.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    let seconds: u64 = text.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).clamp(AFTER_FAULT, LONGEST_PAUSE))
}

/// What a POST may take and bring: the answer has no body.
const POST: How = How {
    time: Duration::from_secs(45),
    answer_bytes: 16 * 1024,
    pinned: None,
};
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_in_seconds_and_within_bounds() {
        let said = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_str(text).unwrap());
            retry_after(&headers)
        };
        assert_eq!(said("7"), Some(Duration::from_secs(7)));
        assert_eq!(said("0"), Some(AFTER_FAULT));
        assert_eq!(said("99999999999"), Some(LONGEST_PAUSE));
        assert_eq!(said("Wed, 21 Oct 2026 07:28:00 GMT"), None);
        assert_eq!(said("-1"), None);
    }
}
