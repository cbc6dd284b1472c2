//! Randomness of the system, for keys, tokens and names that nobody may guess.

use rustix::rand::{GetRandomFlags, getrandom};

/// So many random bytes; `None` where the system gives none, which a caller must not take for zeros.
pub(crate) fn random<const BYTES: usize>() -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty());
    (filled == Ok(BYTES)).then_some(bytes)
}
