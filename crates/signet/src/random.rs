//! The system's random bytes.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// `N` random bytes, at most 256.
///
/// # Errors
/// What the system said.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    const { assert!(N <= 256, "getrandom(2) may give less than it was asked for") };
    let mut bytes = [0; N];
    // One call is enough: getrandom(2) gives up to 256 bytes whole, or fails.
    getrandom(&mut bytes[..], GetRandomFlags::empty())?;
    Ok(bytes)
}
