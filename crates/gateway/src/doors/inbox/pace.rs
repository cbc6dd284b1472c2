//! How fast one network address may send: a bucket for each, in bounded memory.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// The buckets of the addresses that were heard of last.
pub(crate) struct Pace {
    /// Envelopes that an address may send at once.
    burst: f64,
    /// How many more it may send each second.
    rate: f64,
    buckets: HashMap<IpAddr, Bucket>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Pace {
    /// So many envelopes each minute from one address, a third of them at once.
    pub(crate) fn per_minute(envelopes: u32) -> Self {
        let envelopes = f64::from(envelopes.max(1));
        Self {
            burst: (envelopes / 3.0).max(1.0),
            rate: envelopes / 60.0,
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
        let (burst, rate) = (self.burst, self.rate);
        self.make_room(now);
        let bucket = self.buckets.entry(network(from)).or_insert(Bucket {
            left: burst,
            at: now,
        });
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + passed * rate).min(burst);
        bucket.at = now;
        #[allow(
            clippy::cast_precision_loss,
            reason = "an array has 128 elements at most"
        )]
        let cost = envelopes.max(1) as f64;
        let needed = cost.min(burst);
        if bucket.left < needed {
            return Err(Duration::from_secs_f64((needed - bucket.left) / rate));
        }
        bucket.left -= cost;
        Ok(())
    }

    /// Forgets the addresses whose buckets are full again; where all are in use, those that have most left, so that
    /// nobody gains by being forgotten. Several at once, so that a new address costs little.
    fn make_room(&mut self, now: Instant) {
        if self.buckets.len() < MOST_ADDRESSES {
            return;
        }
        let (burst, rate) = (self.burst, self.rate);
        let left = |bucket: &Bucket| {
            bucket.left + now.saturating_duration_since(bucket.at).as_secs_f64() * rate
        };
        self.buckets.retain(|_, bucket| left(bucket) < burst);
        if self.buckets.len() < MOST_ADDRESSES {
            return;
        }
        let mut fullest: Vec<(IpAddr, f64)> = self
            .buckets
            .iter()
            .map(|(address, bucket)| (*address, left(bucket)))
            .collect();
        fullest.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        for (address, _) in fullest.iter().take(FORGOTTEN) {
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

const MOST_ADDRESSES: usize = 4_096;
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
        let (mut pace, now) = (Pace::per_minute(60), Instant::now());
        assert_eq!(pace.take(address(1), 20, now), Ok(()));
        let wait = pace.take(address(1), 1, now).unwrap_err();
        assert_eq!(wait, SECOND);
        assert_eq!(pace.take(address(2), 1, now), Ok(()));
        assert_eq!(pace.take(address(1), 1, now + SECOND), Ok(()));
        assert!(pace.take(address(1), 1, now + SECOND).is_err());
    }

    #[test]
    fn an_array_over_the_burst_passes_once_and_is_paid_for() {
        let (mut pace, now) = (Pace::per_minute(60), Instant::now());
        assert_eq!(pace.take(address(1), 128, now), Ok(()));
        let wait = pace.take(address(1), 1, now).unwrap_err();
        assert!(wait > 100 * SECOND, "{wait:?}");
    }

    #[test]
    fn a_household_of_ipv6_is_one_address() {
        let (mut pace, now) = (Pace::per_minute(3), Instant::now());
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
        let (mut pace, now) = (Pace::per_minute(60), Instant::now());
        pace.take(address(0), 200, now).unwrap();
        for other in 1..100_000 {
            pace.take(address(other), 2, now).unwrap();
        }
        assert!(pace.buckets.len() <= MOST_ADDRESSES);
        assert!(pace.take(address(0), 1, now).is_err());
    }
}
