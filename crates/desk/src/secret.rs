//! Secrets that nobody guesses: made of the system's random bytes, compared by their hash.

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest as _, Sha256};

use crate::DeskError;

/// Stands for a secret that this program does not need to say again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SecretHash([u8; 32]);

impl SecretHash {
    /// The hash of what somebody shows. Comparing hashes tells by its time nothing of the secret.
    pub(crate) fn of(shown: &str) -> Self {
        Self(Sha256::digest(shown.as_bytes()).into())
    }
}

/// 43 characters of base64url.
pub(crate) fn fresh() -> Result<String, DeskError> {
    let bytes = signet::random::bytes::<32>().map_err(DeskError::System)?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}
