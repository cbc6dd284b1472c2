//! How often Discord may be asked: what its answers say, for each route and for all.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What kind of request it is: Discord counts them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RequestKind {
    /// A message is posted.
    Post,
    /// A channel is read.
    Read,
    /// A file of a message is read.
    File,
}

/// Until when nothing is asked.
#[derive(Debug, Default)]
pub(crate) struct RateLimits {
    global: Option<Instant>,
    routes: HashMap<RequestKind, Instant>,
    /// Faults in a row: each doubles the wait.
    faults: u32,
    /// Refusals of pace in a row: each doubles the least wait.
    limited: u32,
}

/// What an answer says about limits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RateLimitHeaders {
    pub(crate) status: u16,
    /// `X-RateLimit-Remaining`
    pub(crate) remaining: Option<u64>,
    /// `X-RateLimit-Reset-After`, in seconds
    pub(crate) reset_after: Option<f64>,
    /// `Retry-After`, in seconds
    pub(crate) retry_after: Option<f64>,
    /// `X-RateLimit-Global`, or scope `global`
    pub(crate) is_global: bool,
}

impl RateLimits {
    /// How long a request of this route has to wait.
    pub(crate) fn wait(&self, route: RequestKind, now: Instant) -> Duration {
        let until = self
            .routes
            .get(&route)
            .into_iter()
            .chain(&self.global)
            .max();
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// Takes what an answer says.
    pub(crate) fn note(&mut self, route: RequestKind, said: RateLimitHeaders, now: Instant) {
        match said.status {
            429 => self.note_limit(route, said, now),
            // A person has to mend a refused token or a wrong channel, and Discord bans the IP address of a client that goes on
            // asking: so send no request at all for the time `REFUSED`.
            401 | 403 | 404 => self.global = Some(now + REFUSED),
            500.. => self.note_fault(now),
            _ => {
                (self.faults, self.limited) = (0, 0);
                if said.remaining == Some(0) {
                    let wait = said.reset_after.and_then(meant).unwrap_or(LEAST);
                    self.routes.insert(route, now + wait);
                }
            }
        }
    }

    /// Waits as long as the answer says, if that is a sensible number. A server that refuses again and again and names next
    /// to no wait is asked ever more rarely.
    fn note_limit(&mut self, route: RequestKind, said: RateLimitHeaders, now: Instant) {
        let wait = match said.is_global {
            true => said.retry_after,
            false => said.retry_after.or(said.reset_after),
        };
        // Double the least wait for each 429 in a row. A shift by more than 31 would overflow, and after 11 doublings the wait
        // is nearly `LONGEST` anyway.
        let least = LEAST.saturating_mul(1 << self.limited.min(11)).min(LONGEST);
        self.limited = self.limited.saturating_add(1);
        let until = now + wait.and_then(meant).unwrap_or(UNSAID).max(least);
        match said.is_global {
            true => self.global = Some(until),
            false => {
                self.routes.insert(route, until);
            }
        }
    }

    /// No answer, or none that means anything.
    pub(crate) fn note_fault(&mut self, now: Instant) {
        let doubled = FIRST.saturating_mul(1 << self.faults.min(8));
        self.faults = self.faults.saturating_add(1);
        self.global = Some(now + doubled.min(LONGEST));
    }
}

/// The wait; `None` for a number that is negative, next to nothing, or no number.
fn meant(seconds: f64) -> Option<Duration> {
    let is_meant = seconds.is_finite() && seconds >= LEAST.as_secs_f64();
    // Never wait longer than an hour (six times `REFUSED`): an answer with a wrong number must not stop the channel for days.
    is_meant.then(|| Duration::from_secs_f64(seconds.min(REFUSED.as_secs_f64() * 6.0)))
}

/// A limit that has just passed by Discord's clock may not have by ours.
const LEAST: Duration = Duration::from_millis(50);
/// A 429 that does not say how long.
const UNSAID: Duration = Duration::from_secs(5);
/// After a refusal that a person has to mend.
pub(super) const REFUSED: Duration = Duration::from_secs(600);
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: u16) -> RateLimitHeaders {
        RateLimitHeaders {
            status,
            ..RateLimitHeaders::default()
        }
    }

    #[test]
    fn a_limit_of_one_route_leaves_the_other_and_a_global_one_does_not() {
        let (mut limits, now) = (RateLimits::default(), Instant::now());
        limits.note(
            RequestKind::Post,
            RateLimitHeaders {
                retry_after: Some(2.0),
                ..said(429)
            },
            now,
        );
        assert_eq!(limits.wait(RequestKind::Post, now), Duration::from_secs(2));
        assert_eq!(limits.wait(RequestKind::Read, now), Duration::ZERO);
        limits.note(
            RequestKind::Post,
            RateLimitHeaders {
                retry_after: Some(3.0),
                is_global: true,
                ..said(429)
            },
            now,
        );
        assert_eq!(limits.wait(RequestKind::Read, now), Duration::from_secs(3));
    }

    #[test]
    fn the_last_of_a_bucket_waits_for_the_next() {
        let (mut limits, now) = (RateLimits::default(), Instant::now());
        limits.note(
            RequestKind::Post,
            RateLimitHeaders {
                remaining: Some(1),
                reset_after: Some(4.0),
                ..said(200)
            },
            now,
        );
        assert_eq!(limits.wait(RequestKind::Post, now), Duration::ZERO);
        limits.note(
            RequestKind::Post,
            RateLimitHeaders {
                remaining: Some(0),
                reset_after: Some(4.0),
                ..said(200)
            },
            now,
        );
        assert_eq!(limits.wait(RequestKind::Post, now), Duration::from_secs(4));
        assert_eq!(
            limits.wait(RequestKind::Post, now + Duration::from_secs(5)),
            Duration::ZERO
        );
    }

    #[test]
    fn what_is_no_time_stops_nobody_for_ever() {
        let (mut limits, now) = (RateLimits::default(), Instant::now());
        for odd in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            limits.note(
                RequestKind::Read,
                RateLimitHeaders {
                    retry_after: Some(odd),
                    ..said(429)
                },
                now,
            );
            let wait = limits.wait(RequestKind::Read, now);
            assert!(wait >= LEAST && wait <= REFUSED * 6, "{odd}: {wait:?}");
        }
    }

    #[test]
    fn a_wait_below_nothing_or_next_to_nothing_counts_as_not_said() {
        for odd in [-5.0, -0.0, 0.0, 0.001, f64::NAN] {
            for is_global in [true, false] {
                let (mut limits, now) = (RateLimits::default(), Instant::now());
                let answer = RateLimitHeaders {
                    retry_after: Some(odd),
                    is_global,
                    ..said(429)
                };
                limits.note(RequestKind::Post, answer, now);
                assert_eq!(limits.wait(RequestKind::Post, now), UNSAID, "{odd}");
            }
        }
    }

    #[test]
    fn who_asks_for_the_least_wait_for_ever_is_asked_ever_more_rarely() {
        let (mut limits, mut now, began) = (RateLimits::default(), Instant::now(), Instant::now());
        let answer = RateLimitHeaders {
            retry_after: Some(0.05),
            ..said(429)
        };
        let mut asked = 0;
        while now < began + Duration::from_secs(60) {
            limits.note(RequestKind::Post, answer, now);
            now += limits.wait(RequestKind::Post, now);
            asked += 1;
        }
        assert!(asked < 15, "{asked}");
        limits.note(RequestKind::Post, said(200), now);
        limits.note(RequestKind::Post, answer, now);
        assert_eq!(limits.wait(RequestKind::Post, now), LEAST);
    }

    #[test]
    fn faults_double_the_wait_and_an_answer_ends_that() {
        let (mut limits, now) = (RateLimits::default(), Instant::now());
        let waits: Vec<u64> = (0..9)
            .map(|_| {
                limits.note_fault(now);
                limits.wait(RequestKind::Post, now).as_secs()
            })
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
        limits.note(RequestKind::Post, said(200), now);
        limits.note(RequestKind::Post, said(503), now);
        assert_eq!(limits.wait(RequestKind::Post, now), FIRST);
        limits.note(RequestKind::Post, said(401), now);
        assert_eq!(limits.wait(RequestKind::Read, now), REFUSED);
    }
}
