//! Randomness of the system, for what nobody may guess: the path, the cookie, the one-time address.

use data_encoding::BASE64URL_NOPAD;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::ViewError;

/// 256 random bits as 43 characters of base64url.
///
/// # Errors
/// Where the system gives none: zeros in their place could be guessed.
pub(crate) fn secret() -> Result<String, ViewError> {
    bytes::<32>().map(|bytes| BASE64URL_NOPAD.encode(&bytes))
}

/// So many random bytes.
///
/// # Errors
/// As [`secret`].
pub(crate) fn bytes<const BYTES: usize>() -> Result<[u8; BYTES], ViewError> {
    let mut bytes = [0; BYTES];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty());
    (filled == Ok(BYTES))
        .then_some(bytes)
        .ok_or(ViewError::NoRandomness)
}

/// Whether two secrets are the same, in a time that does not tell where they differ.
pub(crate) fn is_same(given: &str, wanted: &str) -> bool {
    let (given, wanted) = (given.as_bytes(), wanted.as_bytes());
    let differs = given
        .iter()
        .zip(wanted)
        .fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == wanted.len() && differs == 0
}
