//! The key of the agent's card: it signs nothing else, and the daemon makes it when the first card is asked for.

use signet_proto::card::CardKey;

use super::pem::{self, Algorithm};
use super::{KeystoreError, disk, fresh_secret};
use crate::lock::HomeLock;

/// The key of the card, which is made where there is none. Who wants another one deletes the file.
///
/// # Errors
/// Names the file, and what is wrong with it.
pub fn card_key(lock: &HomeLock) -> Result<CardKey, KeystoreError> {
    let path = lock.home().key_file(CARD);
    if !path.exists() {
        let secret = fresh_secret()?;
        pem::create(&path, Algorithm::Ed25519, &secret)?;
        // Make the key durable before a card is signed: after a crash the next card would otherwise be under another key.
        disk::sync_beside(&path)?;
    }
    let seed = pem::read(&path, Algorithm::Ed25519)?;
    Ok(CardKey::from_seed(&seed))
}

/// The key file of the card's key.
pub const CARD: &str = "card.pem";
