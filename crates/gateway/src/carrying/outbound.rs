//! What leaves by HTTP: one POST for a parcel, and an honest word about whether the other side has it.
//!
//! Nothing is kept here and nothing is tried again: what another gateway did not take is the daemon's to send again, by the
//! next carrier first. A gateway that is slow or refuses costs its own peer, and no other.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::Bytes;
use signet_api::CarriedParcel;
use url::Url;

use super::framing::envelopes;
use super::room::{Fingerprint, Room};
use crate::outgoing::{Answer, How};

/// Posts a parcel. Whether the other side says that it has it.
pub(crate) async fn post(room: &Room, parcel: &CarriedParcel, bytes: Vec<u8>) -> bool {
    let Some(turn) = room.lanes.enter(&parcel.address, Instant::now()) else {
        return false;
    };
    let answer = send(room, &parcel.peer, &parcel.address, bytes, POST).await;
    let Some(answer) = answer else {
        turn.pause(AFTER_FAULT);
        return false;
    };
    match answer.status {
        StatusCode::ACCEPTED => true,
        status => {
            let said = retry_after(&answer.headers);
            let is_for_a_while = matches!(
                status,
                StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
            );
            turn.pause(said.filter(|_| is_for_a_while).unwrap_or(AFTER_FAULT));
            false
        }
    }
}

/// One POST of an envelope to the gateway of a peer.
pub(crate) async fn send(
    room: &Room,
    peer: &str,
    address: &str,
    bytes: Vec<u8>,
    how: How,
) -> Option<Answer> {
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
        .and_then(|peer| peer.certificate);
    let how = How {
        pinned: pinned.map(|Fingerprint(hash)| hash),
        ..how
    };
    let answer = room
        .context
        .outgoing
        .post(&url, headers, Bytes::from(bytes), &how);
    answer.await.ok()
}

/// How many seconds an answer asks us to wait. A date is not read: clocks differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    let seconds: u64 = text.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).clamp(AFTER_FAULT, LONGEST_PAUSE))
}

/// What another gateway's answer comes to: for the fuzzer.
pub(crate) fn read_answer(after: &[u8], body: &[u8]) -> (Option<u64>, Vec<Bytes>) {
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(after) {
        headers.insert(header::RETRY_AFTER, value);
    }
    let wait = retry_after(&headers).map(|wait| wait.as_secs());
    let kept = envelopes(&Bytes::copy_from_slice(body)).unwrap_or_default();
    (wait, kept)
}

/// Which gateways have something under way, or asked for a pause.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<HashMap<String, Lane>>);

#[derive(Default)]
struct Lane {
    under_way: usize,
    paused: Option<Instant>,
}

impl Lanes {
    /// A turn at the gateway of that address, unless it has enough to do or asked for a pause.
    fn enter(&self, address: &str, now: Instant) -> Option<Turn<'_>> {
        let mut lanes = self.lock();
        lanes.retain(|_, lane| lane.under_way > 0 || lane.paused.is_some_and(|until| until > now));
        let lane = lanes.entry(address.to_owned()).or_default();
        if lane.paused.is_some_and(|until| until > now) || lane.under_way >= AT_ONCE {
            return None;
        }
        lane.under_way += 1;
        Some(Turn {
            lanes: self,
            address: address.to_owned(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Lane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Turn<'a> {
    lanes: &'a Lanes,
    address: String,
}

impl Turn<'_> {
    /// Nothing more goes there for so long.
    fn pause(&self, wait: Duration) {
        if let Some(lane) = self.lanes.lock().get_mut(&self.address) {
            lane.paused = Some(Instant::now() + wait);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(lane) = self.lanes.lock().get_mut(&self.address) {
            lane.under_way = lane.under_way.saturating_sub(1);
        }
    }
}

/// Parcels under way to one gateway.
const AT_ONCE: usize = 8;
/// What a POST may take and bring: the answer has no body.
const POST: How = How {
    time: Duration::from_secs(45),
    answer_bytes: 16 * 1024,
    pinned: None,
};
/// A gateway that did not answer is not asked again at once.
const AFTER_FAULT: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_gateway_has_its_places_and_no_others() {
        let (lanes, now) = (Lanes::default(), Instant::now());
        let turns: Vec<_> = (0..AT_ONCE)
            .map(|_| lanes.enter("https://a/", now).unwrap())
            .collect();
        assert!(lanes.enter("https://a/", now).is_none());
        assert!(lanes.enter("https://b/", now).is_some());
        drop(turns);
        assert!(lanes.enter("https://a/", now).is_some());
        drop(lanes.enter("https://c/", now));
        assert_eq!(lanes.lock().len(), 1, "what is idle is forgotten");
    }

    #[test]
    fn a_gateway_that_asks_for_a_pause_gets_it() {
        let (lanes, now) = (Lanes::default(), Instant::now());
        lanes
            .enter("https://a/", now)
            .unwrap()
            .pause(Duration::from_secs(10));
        assert!(lanes.enter("https://a/", now).is_none());
        assert!(
            lanes
                .enter("https://a/", now + Duration::from_secs(11))
                .is_some()
        );
    }

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
