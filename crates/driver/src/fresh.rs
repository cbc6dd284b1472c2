//! The time and the randomness of this machine, for whoever signs something outside a daemon.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::rand::{GetRandomFlags, getrandom};
use signet_proto::time::Timestamp;

/// What the clock says, in whole milliseconds.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let milliseconds = i64::try_from(since.unwrap_or_default().as_millis());
    Timestamp::from_millis(milliseconds.unwrap_or(i64::MAX))
}

/// `N` random bytes, at most 256.
///
/// # Errors
/// What the system said.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    const { assert!(N <= 256, "getrandom(2) may give less than it was asked for") };
    let mut bytes = [0; N];
    // getrandom(2) fills up to 256 bytes whole or fails, so no loop is needed.
    getrandom(&mut bytes[..], GetRandomFlags::empty())?;
    Ok(bytes)
}
