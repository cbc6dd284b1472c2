//! What is remembered from one call to the next: since when a card is as it is, and what a peer offered last.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::Value;
use tokio::time::Instant;

use super::clock::Moment;
use crate::lock::Locked as _;

/// When each card was another one last, by the address that it is given at.
#[derive(Default)]
pub(crate) struct CardDates(Mutex<HashMap<String, (String, Moment)>>);

impl CardDates {
    /// Since when the card at that address is the one with this tag.
    pub(crate) fn since(&self, address: &str, etag: &str) -> Moment {
        let now = Moment::read();
        let mut all = self.0.locked();
        match all.get_mut(address) {
            Some((known, since)) if known == etag => *since,
            Some(changed) => {
                *changed = (etag.to_owned(), now);
                now
            }
            None => {
                // The client chooses the host and port in the address, so there may be any number of addresses:
                // remember at most `ADDRESSES_MAX`.
                if all.len() < ADDRESSES_MAX {
                    all.insert(address.to_owned(), (etag.to_owned(), now));
                }
                now
            }
        }
    }
}

/// A warning for the person about a signed card that names its key below a path: the key itself is given at the root.
pub(crate) fn dead_keys(card: &Value) -> Option<String> {
    let protected = card.pointer("/signatures/0/protected")?.as_str()?;
    let head = data_encoding::BASE64URL_NOPAD
        .decode(protected.as_bytes())
        .ok()?;
    let head: Value = serde_json::from_slice(&head).ok()?;
    let keys = head.get("jku")?.as_str()?;
    let (_, rest) = keys.split_once("://")?;
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    (path != KEYS).then(|| {
        format!(
            "`url` under [card] of config.toml has a path, so readers of the card look for its key at {keys}; that is there \
             only where a proxy leads it to /{KEYS} of this gateway. Without such a proxy write the url without a path"
        )
    })
}

/// What is known of each peer.
#[derive(Default)]
pub(crate) struct PeersOffers(Mutex<HashMap<String, PeerOffers>>);

#[derive(Clone, Default)]
pub(super) struct PeerOffers {
    /// What it offered when it last offered anything; nothing before anything was heard since the start: the file may know
    /// more.
    pub(super) last: Vec<String>,
    /// Whether there was a session, and so word of what it offers.
    pub(super) is_met: bool,
    /// When a session was last asked for.
    pub(super) asked: Option<Instant>,
}

impl PeersOffers {
    pub(super) fn with<T>(&self, peer: &str, of: impl FnOnce(&mut PeerOffers) -> T) -> T {
        // No limit is needed here: the daemon knows every peer that is asked about, so there are at most as
        // many entries as peers.
        let mut all = self.0.locked();
        of(all.entry(peer.to_owned()).or_default())
    }
}

/// Where the key of signed cards is, at the root of a host (RFC 8615).
const KEYS: &str = ".well-known/jwks.json";
/// Addresses whose cards are remembered.
const ADDRESSES_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_card_has_another_date_when_it_is_another_card() {
        let changes = CardDates::default();
        let first = changes.since("own", "a");
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(changes.since("own", "a"), first);
        assert!(changes.since("own", "b").millis() > first.millis());
    }

    #[test]
    fn an_address_below_a_path_is_said_where_the_key_is_looked_for() {
        let signed = |keys: &str| {
            let head = json!({"alg": "EdDSA", "jku": keys}).to_string();
            json!({"signatures": [{"protected": data_encoding::BASE64URL_NOPAD.encode(head.as_bytes())}]})
        };
        assert_eq!(
            dead_keys(&signed("https://a.example:8443/.well-known/jwks.json")),
            None
        );
        assert_eq!(dead_keys(&json!({})), None);
        let warning = dead_keys(&signed("https://a.example/signet/.well-known/jwks.json")).unwrap();
        assert!(
            warning.contains("https://a.example/signet/.well-known/jwks.json"),
            "{warning}"
        );
    }
}
