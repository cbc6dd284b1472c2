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

use super::room::{Pins, Room};
use crate::outgoing::{Answer, How};

/// Posts a parcel to the first of its addresses that takes it. Whether the other side says that it has it.
pub(crate) async fn post(room: &Room, parcel: &CarriedParcel, bytes: Vec<u8>) -> bool {
    let bytes = Bytes::from(bytes);
    let count = addresses(&parcel.address).count();
    let how = How {
        // The daemon waits for all of them together.
        time: POST.time / u32::try_from(count.max(1)).unwrap_or(u32::MAX),
        ..POST
    };
    // One that is the only one is asked again soon; of several, one that does not answer is passed over for ever longer.
    let longest = if count > 1 { LONGEST_SKIP } else { AFTER_FAULT };
    for address in addresses(&parcel.address) {
        let Some(turn) = room.lanes.enter(address, Instant::now()) else {
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
    room: &Room,
    peer: &str,
    address: &str,
    bytes: Bytes,
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
        .and_then(|peer| peer.certificate.as_ref());
    let how = How {
        pinned: pinned.map(Pins::hashes),
        ..how
    };
    let answer = room.context.outgoing.post(&url, headers, bytes, &how);
    answer.await.ok()
}

/// How many seconds an answer asks us to wait. A date is not read: clocks differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    let seconds: u64 = text.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).clamp(AFTER_FAULT, LONGEST_PAUSE))
}

/// Which gateways have something under way, or asked for a pause.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<HashMap<String, Lane>>);

#[derive(Default)]
struct Lane {
    under_way: usize,
    paused: Option<Instant>,
    /// Faults one after another.
    faults: u32,
}

impl Lanes {
    /// A turn at the gateway of that address, unless it has enough to do or asked for a pause.
    fn enter(&self, address: &str, now: Instant) -> Option<Turn<'_>> {
        let mut lanes = self.lock();
        lanes.retain(|_, lane| {
            let is_kept = |until: Instant| until + REMEMBERED > now;
            lane.under_way > 0 || lane.paused.is_some_and(is_kept)
        });
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
    /// It took what it was given.
    fn well(&self) {
        if let Some(lane) = self.lanes.lock().get_mut(&self.address) {
            (lane.faults, lane.paused) = (0, None);
        }
    }

    /// It did not; each time it is left alone for twice as long, up to `longest`.
    fn failed(&self, longest: Duration) {
        if let Some(lane) = self.lanes.lock().get_mut(&self.address) {
            let wait = AFTER_FAULT.saturating_mul(1 << lane.faults.min(16));
            lane.faults = lane.faults.saturating_add(1);
            lane.paused = Some(Instant::now() + wait.min(longest));
        }
    }

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
/// Of several addresses, one that never answers is tried again after so long at the latest.
const LONGEST_SKIP: Duration = Duration::from_secs(60);
/// How long after its pause it is known that an address had failed.
const REMEMBERED: Duration = Duration::from_secs(60);
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
    fn an_address_that_fails_is_passed_over_for_ever_longer_until_it_answers() {
        let lanes = Lanes::default();
        let pause_of = |after: Duration, end: &dyn Fn(&Turn<'_>)| {
            let now = Instant::now() + after;
            let turn = lanes.enter("https://a/", now).expect("the pause is over");
            end(&turn);
            drop(turn);
            let paused = lanes.lock().get("https://a/").and_then(|lane| lane.paused);
            paused.map_or(Duration::ZERO, |until| {
                until.saturating_duration_since(Instant::now())
            })
        };
        let seconds = |pause: Duration| pause.as_secs_f64().round() as u64;
        let mut over = Duration::ZERO;
        for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
            let pause = pause_of(over, &|turn| turn.failed(LONGEST_SKIP));
            assert_eq!(seconds(pause), expected);
            assert!(lanes.enter("https://a/", Instant::now()).is_none());
            over = pause + Duration::from_millis(1);
        }
        assert_eq!(pause_of(over, &|turn| turn.well()), Duration::ZERO);
        let first = pause_of(Duration::ZERO, &|turn| turn.failed(LONGEST_SKIP));
        assert_eq!(seconds(first), 1);
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
