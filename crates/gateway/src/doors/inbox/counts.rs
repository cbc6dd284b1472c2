//! What came, as counts: what strangers send leaves no line each.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::verdict::Verdict;

/// Counts since the last line.
#[derive(Default)]
pub(crate) struct Counts {
    verified: AtomicU64,
    flights: AtomicU64,
    unknown: AtomicU64,
    forged: AtomicU64,
    polls: AtomicU64,
    shed: AtomicU64,
    refused: AtomicU64,
    held: AtomicU64,
    not_held: AtomicU64,
}

/// What is counted besides verdicts.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    /// A poll that proved to be a peer's.
    Poll,
    /// Dropped under pressure.
    Shed,
    /// A request that size, type, rate or room refused.
    Refused,
    /// A parcel that the other side has taken.
    Held,
    /// One that it has not.
    NotHeld,
}

/// Counts that a line shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line([u64; 9]);

impl Counts {
    pub(crate) fn judged(&self, verdict: Verdict) {
        let count = match verdict {
            Verdict::Verified => &self.verified,
            Verdict::Flight => &self.flights,
            Verdict::Unknown => &self.unknown,
            Verdict::Forged => &self.forged,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note(&self, event: Event) {
        let count = match event {
            Event::Poll => &self.polls,
            Event::Shed => &self.shed,
            Event::Refused => &self.refused,
            Event::Held => &self.held,
            Event::NotHeld => &self.not_held,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted since the last line; nothing when there was nothing.
    pub(crate) fn line(&self) -> Option<Line> {
        let all = [
            &self.verified,
            &self.flights,
            &self.unknown,
            &self.forged,
            &self.polls,
            &self.shed,
            &self.refused,
            &self.held,
            &self.not_held,
        ];
        let taken = all.map(|count| count.swap(0, Ordering::Relaxed));
        taken.iter().any(|count| *count > 0).then_some(Line(taken))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("carried over HTTP:")?;
        let named = NAMES.iter().zip(self.0).filter(|(_, count)| *count > 0);
        named.enumerate().try_for_each(|(at, (name, count))| {
            write!(f, "{} {count} {name}", if at == 0 { "" } else { "," })
        })
    }
}

const NAMES: [&str; 9] = [
    "of peers",
    "flights of others",
    "of strangers",
    "forged or malformed",
    "polls",
    "dropped under pressure",
    "requests refused",
    "parcels taken by peers",
    "parcels not taken",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_there_was_and_no_line_says_nothing() {
        let counts = Counts::default();
        assert_eq!(counts.line(), None);
        counts.judged(Verdict::Forged);
        counts.judged(Verdict::Forged);
        counts.note(Event::Held);
        let line = counts.line().unwrap().to_string();
        assert_eq!(
            line,
            "carried over HTTP: 2 forged or malformed, 1 parcels taken by peers"
        );
        assert_eq!(counts.line(), None);
    }
}
