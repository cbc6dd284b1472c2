//! How fast one network address may send: a bucket for each, in bounded memory.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use crate::rate::RateBucket;

/// The buckets of the addresses that were heard of last.
pub(crate) struct AddressPace {
    /// For which an address may send one envelope more.
    pause: Duration,
    buckets: HashMap<IpAddr, RateBucket>,
}

impl AddressPace {
    /// So many envelopes each minute from one address, a third of them at once.
    pub(crate) fn per_minute(envelopes: u32) -> Self {
        Self {
            pause: 3 * THIRD / envelopes.max(1),
            buckets: HashMap::new(),
        }
    }

    /// Takes so many envelopes from the bucket of an address. What is over the burst by itself passes once the bucket is
    /// full, and the address pays for it afterwards.
    ///
    /// # Errors
    /// How long to wait.
    pub(crate) fn take(
        &mut self,
        from: IpAddr,
        envelopes: usize,
        now: Instant,
    ) -> Result<(), Duration> {
        self.make_room(now);
        // A bucket holds what may come within `THIRD`. At a low rate that is less than one envelope, and none would ever get
        // through: so hold at least one (`self.pause`).
        let full = RateBucket::of(self.pause, THIRD.max(self.pause), now);
        let bucket = self.buckets.entry(network(from)).or_insert(full);
        bucket.take(u32::try_from(envelopes.max(1)).unwrap_or(u32::MAX), now)
    }

    /// Forgets the addresses whose buckets are full again; where all are in use, those that are full soonest, so that nobody
    /// who floods gains by being forgotten. Several at once, so that a new address costs little.
    fn make_room(&mut self, now: Instant) {
        if self.buckets.len() < MOST_ADDRESSES {
            return;
        }
        self.buckets.retain(|_, bucket| bucket.full_at() > now);
        if self.buckets.len() < MOST_ADDRESSES {
            return;
        }
        let mut soonest: Vec<(Instant, IpAddr)> = self
            .buckets
            .iter()
            .map(|(address, bucket)| (bucket.full_at(), *address))
            .collect();
        soonest.sort();
        for (_, address) in soonest.iter().take(FORGOTTEN) {
            self.buckets.remove(address);
        }
    }
}

/// A household has a whole /64 of IPv6, so that counts as one address.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => mapped.into(),
            None => {
                let [a, b, c, d, ..] = address.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
        },
    }
}

/// Of a minute: what an address may send in this time it may send at once.
const THIRD: Duration = Duration::from_secs(20);
/// Addresses whose buckets are remembered: more would let whoever has many addresses fill memory.
const MOST_ADDRESSES: usize = 4_096;
/// Addresses that are forgotten at once.
const FORGOTTEN: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn address(last: u32) -> IpAddr {
        std::net::Ipv4Addr::from(0x0a00_0000 + last).into()
    }

    #[test]
    fn an_address_that_floods_waits_and_another_does_not() {
        let (mut pace, now) = (AddressPace::per_minute(60), Instant::now());
        assert_eq!(pace.take(address(1), 20, now), Ok(()));
        let wait = pace.take(address(1), 1, now).unwrap_err();
        assert_eq!(wait, SECOND);
        assert_eq!(pace.take(address(2), 1, now), Ok(()));
        assert_eq!(pace.take(address(1), 1, now + SECOND), Ok(()));
        assert!(pace.take(address(1), 1, now + SECOND).is_err());
    }

    #[test]
    fn an_array_over_the_burst_passes_once_and_is_paid_for() {
        let (mut pace, now) = (AddressPace::per_minute(60), Instant::now());
        assert_eq!(pace.take(address(1), 128, now), Ok(()));
        let wait = pace.take(address(1), 1, now).unwrap_err();
        assert!(wait > 100 * SECOND, "{wait:?}");
    }

    #[test]
    fn a_household_of_ipv6_is_one_address() {
        let (mut pace, now) = (AddressPace::per_minute(3), Instant::now());
        assert_eq!(pace.take("2001:db8::1".parse().unwrap(), 1, now), Ok(()));
        assert!(pace.take("2001:db8::2".parse().unwrap(), 1, now).is_err());
        assert_eq!(
            pace.take("2001:db8:0:1::1".parse().unwrap(), 1, now),
            Ok(())
        );
        assert_eq!(
            pace.take("::ffff:10.0.0.1".parse().unwrap(), 1, now),
            Ok(())
        );
        assert!(pace.take(address(1), 1, now).is_err());
    }

    #[test]
    fn a_hundred_thousand_addresses_take_bounded_room_and_free_nobody_who_floods() {
        let (mut pace, now) = (AddressPace::per_minute(60), Instant::now());
        pace.take(address(0), 200, now).unwrap();
        for other in 1..100_000 {
            pace.take(address(other), 2, now).unwrap();
        }
        assert!(pace.buckets.len() <= MOST_ADDRESSES);
        assert!(pace.take(address(0), 1, now).is_err());
    }
}
