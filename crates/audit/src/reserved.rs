//! Members at the end of a line of version 2 that say by which ways a message came in or went out. This
//! release writes `carrier`, where it is not NATS; it reads, keeps and compares both.

use signet_json::{Map, Value};
use signet_proto::carrier::CarrierId;
use signet_proto::ids::KeyId;

use crate::error::RecordError;

/// What a line says of the way by which a message came in or went out. The daemon wrote it, and nobody signed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved {
    /// The key by which the daemon knew the program that had it done.
    pub client_key: Option<KeyId>,
    /// What carried the message, such as `nats`.
    pub carrier: Option<CarrierId>,
}

impl Reserved {
    /// What is said of a message that this carrier brought.
    #[must_use]
    pub fn carried_by(carrier: Option<&CarrierId>) -> Self {
        Self {
            client_key: None,
            carrier: carrier.cloned(),
        }
    }

    /// Reads the members, which only lines of version 2 may have.
    pub(crate) fn parse(members: &Map<String, Value>) -> Result<Self, RecordError> {
        let text = |name: &'static str| match members.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(RecordError::Member(name)),
        };
        let client_key = text(CLIENT_KEY)?.map(|key| key.parse());
        let carrier = text(CARRIER)?.map(|name| name.parse().map_err(|_| CARRIER));
        Ok(Self {
            client_key: client_key
                .transpose()
                .map_err(|_| RecordError::Member(CLIENT_KEY))?,
            carrier: carrier.transpose().map_err(RecordError::Member)?,
        })
    }

    /// Writes them behind all others; what they hold needs no escapes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let client_key = self.client_key.map(|key| key.to_string());
        let carrier = self.carrier.as_ref().map(CarrierId::as_str);
        for (name, text) in [(CLIENT_KEY, client_key.as_deref()), (CARRIER, carrier)] {
            if let Some(text) = text {
                out.extend_from_slice(format!(",\"{name}\":\"{text}\"").as_bytes());
            }
        }
    }
}

const CLIENT_KEY: &str = "client-key";
const CARRIER: &str = "carrier";
