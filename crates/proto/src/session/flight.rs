//! Our last flight of the handshake that made a session: kept as its bytes, of which hardly anybody asks. Taken apart it
//! would be most of what a silent peer takes in memory.

use std::sync::Arc;

use signet_json::{Limits, Value, canonical, parse};

use crate::envelope::Message;
use crate::handshake::Grant;
use crate::headers::CapabilityName;
use crate::ids::Digest;
use crate::stored::Stored;

/// A flight of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFlight {
    bytes: Arc<[u8]>,
    /// SHA-256 of what it offers and grants; none where it has no body.
    terms: Option<Digest>,
    /// What it offers.
    capabilities: Vec<CapabilityName>,
}

impl LastFlight {
    /// The flight, as it is kept.
    pub fn of(flight: &Message) -> Self {
        let body = flight.body();
        let offered = body.and_then(|body| body.get("capabilities"));
        let named = offered.and_then(Value::as_array).into_iter().flatten();
        let named = named.filter_map(|offer| offer.get("name")?.as_str()?.parse().ok());
        Self {
            bytes: Arc::clone(flight.canonical()),
            terms: body.map(|body| terms(offered, body.get("grant"))),
            capabilities: named.collect(),
        }
    }

    /// The flight again, to be sent once more. `None` never: these are bytes that a message had.
    pub fn open(&self) -> Option<Arc<Message>> {
        let value = parse(&self.bytes, Limits::LINE).ok()?;
        Message::from_value(value).ok().map(Arc::new)
    }

    /// Whether it says that we offer and grant this.
    pub(crate) fn says(&self, offer: &Value, grant: &Grant) -> bool {
        let grant = grant.to_value();
        self.terms
            .is_none_or(|said| said == terms(Some(offer), Some(&grant)))
    }

    /// Whether it offers a capability of that name.
    pub(crate) fn offers(&self, name: &CapabilityName) -> bool {
        self.capabilities.contains(name)
    }
}

/// The length of the first part goes before both, so that no other pair has the same bytes.
fn terms(offer: Option<&Value>, grant: Option<&Value>) -> Digest {
    let bytes = |value: Option<&Value>| value.map_or_else(Vec::new, canonical);
    let (offer, grant) = (bytes(offer), bytes(grant));
    let length = (offer.len() as u64).to_be_bytes();
    Digest::of(&[&length, &offer, &grant])
}

impl Stored for LastFlight {
    fn to_stored(&self) -> Value {
        parse(&self.bytes, Limits::LINE).unwrap_or_default()
    }

    fn from_stored(value: &Value) -> Option<Self> {
        let flight = Message::from_value(value.clone()).ok()?;
        Some(Self::of(&flight))
    }
}
