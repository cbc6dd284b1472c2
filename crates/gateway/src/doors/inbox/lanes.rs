//! Which gateways of peers have something under way, and which are left alone for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::lock::Locked as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// Which gateways have something under way, or asked for a pause.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<HashMap<String, Lane>>);

struct Lane {
    places: Arc<Semaphore>,
    /// Parcels that have a place or wait for one.
    parcels: usize,
    paused: Option<Instant>,
    /// Faults one after another.
    faults: u32,
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_ONCE)),
            parcels: 0,
            paused: None,
            faults: 0,
        }
    }
}

impl Lane {
    fn is_paused(&self, now: Instant) -> bool {
        self.paused.is_some_and(|until| until > now)
    }
}

impl Lanes {
    /// A turn at the gateway of that address; none where it asked for a pause, where too much waits for it, or where
    /// its turn does not come within `patience`.
    pub(super) async fn turn(&self, address: &str, patience: Duration) -> Option<LaneTurn<'_>> {
        let mut turn = self.enter(address, Instant::now())?;
        let place = timeout(patience, Arc::clone(&turn.places).acquire_owned()).await;
        // While this parcel waited for its turn, an earlier parcel may have failed, and that pauses the address: give no turn
        // if it is paused now.
        let is_paused = self.0.locked().get(address)?.is_paused(Instant::now());
        turn.place = place.ok()?.ok().filter(|_| !is_paused);
        turn.place.is_some().then_some(turn)
    }

    fn enter(&self, address: &str, now: Instant) -> Option<LaneTurn<'_>> {
        let mut lanes = self.0.locked();
        lanes.retain(|_, lane| {
            let is_kept = |until: Instant| until + REMEMBERED > now;
            lane.parcels > 0 || lane.paused.is_some_and(is_kept)
        });
        let lane = lanes.entry(address.to_owned()).or_default();
        if lane.is_paused(now) || lane.parcels >= AT_ONCE + WAITING {
            return None;
        }
        lane.parcels += 1;
        Some(LaneTurn {
            lanes: self,
            address: address.to_owned(),
            places: Arc::clone(&lane.places),
            place: None,
        })
    }
}

pub(super) struct LaneTurn<'a> {
    lanes: &'a Lanes,
    address: String,
    places: Arc<Semaphore>,
    place: Option<OwnedSemaphorePermit>,
}

impl LaneTurn<'_> {
    /// The gateway took the parcel.
    pub(super) fn well(&self) {
        if let Some(lane) = self.lanes.0.locked().get_mut(&self.address) {
            (lane.faults, lane.paused) = (0, None);
        }
    }

    /// The gateway did not take the parcel. Each time it is left alone for twice as long, up to `longest`. Parcels that are
    /// under way together and fail together count as one fault.
    pub(super) fn failed(&self, longest: Duration) {
        let now = Instant::now();
        let mut lanes = self.lanes.0.locked();
        let lane = lanes.get_mut(&self.address);
        if let Some(lane) = lane.filter(|lane| !lane.is_paused(now)) {
            // A shift by 32 would overflow, and the wait reaches `longest` long before 16 faults.
            let wait = AFTER_FAULT.saturating_mul(1 << lane.faults.min(16));
            lane.faults = lane.faults.saturating_add(1);
            lane.paused = Some(now + wait.min(longest));
        }
    }

    /// Nothing more goes there for so long.
    pub(super) fn pause(&self, wait: Duration) {
        if let Some(lane) = self.lanes.0.locked().get_mut(&self.address) {
            lane.paused = Some(Instant::now() + wait);
        }
    }
}

impl Drop for LaneTurn<'_> {
    fn drop(&mut self) {
        if let Some(lane) = self.lanes.0.locked().get_mut(&self.address) {
            lane.parcels = lane.parcels.saturating_sub(1);
        }
    }
}

/// Parcels under way to one gateway.
const AT_ONCE: usize = 8;
/// Parcels that wait for one gateway, and how long: half of all that the daemon hands out are for others.
const WAITING: usize = 24;
pub(super) const TURN: Duration = Duration::from_secs(5);
/// A gateway that did not answer is not asked again at once.
pub(super) const AFTER_FAULT: Duration = Duration::from_secs(1);
/// Of several addresses, one that never answers is tried again after so long at the latest.
pub(super) const LONGEST_SKIP: Duration = Duration::from_secs(60);
/// How long after its pause it is known that an address had failed.
const REMEMBERED: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_gateway_has_its_places_and_no_others() {
        let lanes = Lanes::default();
        let mut turns = Vec::new();
        for _ in 0..AT_ONCE {
            turns.push(lanes.turn("https://a/", TURN).await.unwrap());
        }
        assert!(
            lanes.turn("https://a/", TURN).await.is_none(),
            "its turn never came"
        );
        assert!(lanes.turn("https://b/", TURN).await.is_some());
        turns.extend((0..WAITING).map(|_| lanes.enter("https://a/", Instant::now()).unwrap()));
        assert!(lanes.enter("https://a/", Instant::now()).is_none());
        drop(turns);
        assert!(lanes.turn("https://a/", TURN).await.is_some());
        drop(lanes.turn("https://c/", TURN).await);
        assert_eq!(lanes.0.locked().len(), 1, "what is idle is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_waits_for_its_turn_and_not_for_the_daemons_next_try() {
        let lanes = Lanes::default();
        let burst = (0..AT_ONCE + WAITING).map(|_| async {
            let turn = lanes.turn("https://a/", TURN).await?;
            tokio::time::sleep(Duration::from_millis(100)).await;
            turn.well();
            Some(())
        });
        let left = join_all(burst).await;
        assert!(left.iter().all(Option::is_some));
        // `AT_ONCE` parcels get a turn at once and fail, and one more waits. It gets no turn, because the failures pause the
        // address.
        let after = (0..AT_ONCE + 1).map(|_| async {
            let turn = lanes.turn("https://a/", TURN).await?;
            tokio::time::sleep(Duration::from_millis(100)).await;
            turn.failed(AFTER_FAULT);
            Some(())
        });
        let left = join_all(after).await;
        assert_eq!(left.iter().filter(|left| left.is_none()).count(), 1);
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

    #[tokio::test(start_paused = true)]
    async fn an_address_that_fails_is_passed_over_for_ever_longer_until_it_answers() {
        let lanes = Lanes::default();
        let pause_of = async |end: &dyn Fn(&LaneTurn<'_>)| {
            let together = [(); 2].map(|()| lanes.enter("https://a/", Instant::now()));
            together.iter().flatten().for_each(end);
            drop(together);
            let paused = lanes
                .0
                .locked()
                .get("https://a/")
                .and_then(|lane| lane.paused);
            let pause = paused.map_or(Duration::ZERO, |until| until - Instant::now());
            assert_eq!(
                lanes.enter("https://a/", Instant::now()).is_none(),
                !pause.is_zero()
            );
            tokio::time::advance(pause).await;
            pause.as_secs()
        };
        for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
            let pause = pause_of(&|turn| turn.failed(LONGEST_SKIP)).await;
            assert_eq!(pause, expected, "two that fail together are one fault");
        }
        assert_eq!(pause_of(&|turn| turn.well()).await, 0);
        assert_eq!(pause_of(&|turn| turn.failed(LONGEST_SKIP)).await, 1);
    }
}
