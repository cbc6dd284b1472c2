//! Counts of what came, told in one line a minute: a line for each envelope would let strangers fill the log.

use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted.
#[derive(Clone, Copy)]
pub(crate) enum Counted {
    /// An envelope of a peer's.
    Verified,
    /// A flight of a handshake that is no peer's.
    Flight,
    /// An envelope of somebody who is not known.
    Unknown,
    /// No message, or not signed by whom it names.
    Forged,
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

/// Counts since the last line, in the order of [`Counted`].
#[derive(Default)]
pub(crate) struct Counts([AtomicU64; 9]);

impl Counts {
    pub(crate) fn note(&self, what: Counted) {
        if let Some(count) = self.0.get(what as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The line of what was counted since the last line; `None` when there was nothing.
    pub(crate) fn line(&self) -> Option<String> {
        let taken = NAMES.iter().zip(&self.0).filter_map(|(name, count)| {
            // Read and reset the count in one step: otherwise what is counted in between would be lost.
            let count = count.swap(0, Ordering::Relaxed);
            (count > 0).then(|| format!("{count} {name}"))
        });
        let taken: Vec<String> = taken.collect();
        (!taken.is_empty()).then(|| format!("carried over HTTP: {}", taken.join(", ")))
    }
}

/// How the line names each, in the order of [`Counted`].
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
        counts.note(Counted::Forged);
        counts.note(Counted::Forged);
        counts.note(Counted::Held);
        let line = counts.line().unwrap();
        assert_eq!(
            line,
            "carried over HTTP: 2 forged or malformed, 1 parcels taken by peers"
        );
        assert_eq!(counts.line(), None);
    }
}
