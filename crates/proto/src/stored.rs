//! How what [`crate::node::Node`] remembers is written into rows: by the texts and values that the
//! wire and the log have for it, read back by the same parsers.

use std::fmt::Display;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
use signet_json::{Limits, Value, parse};

use crate::certificate::{Certificate, ControlCertificate};
use crate::entry::Direction;
use crate::envelope::Message;
use crate::handoff::Chain;
use crate::headers::Layers;
use crate::keys::SealKey;
use crate::statement::{PauseStatement, Revocation};

/// Something that has a JSON value of its own.
pub(crate) trait Stored: Sized {
    fn to_stored(&self) -> Value;
    fn from_stored(value: &Value) -> Option<Self>;
}

/// For `#[serde(with = "crate::stored")]`.
pub(crate) fn serialize<T: Stored, S: Serializer>(
    it: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    it.to_stored().serialize(serializer)
}

/// For `#[serde(with = "crate::stored")]`.
pub(crate) fn deserialize<'de, T: Stored, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    T::from_stored(&value).ok_or_else(|| D::Error::custom("a value that no log holds"))
}

/// Types that are written as their text and parsed from it.
macro_rules! as_text {
    ($($name:ty),+ $(,)?) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                text(deserializer)
            }
        }
    )+};
}

as_text!(
    crate::handoff::TaskState,
    crate::headers::CapabilityName,
    crate::headers::ConversationId,
    crate::ids::AgentId,
    crate::ids::Digest,
    crate::ids::KeyId,
    crate::ids::MessageId,
    crate::ids::PrincipalId,
    crate::ids::SessionId,
    crate::ids::Version,
    crate::keys::SealKey,
    crate::keys::VerifyKey,
);

impl serde::Serialize for crate::reject::Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> serde::Deserialize<'de> for crate::reject::Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text(deserializer)
    }
}

fn text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: std::str::FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

impl<'de> serde::Deserialize<'de> for Layers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let layers = Vec::<u8>::deserialize(deserializer).ok();
        // `Layers::of` would drop numbers above 15 silently: refuse a list that holds one.
        let layers = layers.filter(|layers| layers.iter().all(|layer| *layer < 16));
        let fault = || D::Error::custom("a list of numbers from 0 to 15 is expected");
        layers.map(|layers| Self::of(&layers)).ok_or_else(fault)
    }
}

impl Stored for Arc<Message> {
    fn to_stored(&self) -> Value {
        parse(self.canonical(), Limits::LINE).unwrap_or_default()
    }

    fn from_stored(value: &Value) -> Option<Self> {
        // Do not verify the signature again: it was verified when the message came, or the message is our own.
        Message::from_value(value.clone()).ok().map(Arc::new)
    }
}

impl Stored for Certificate {
    fn to_stored(&self) -> Value {
        self.to_value()
    }

    fn from_stored(value: &Value) -> Option<Self> {
        // The signature was verified when the certificate was taken: `read` does not verify it again. With 10,000 peers that
        // was most of a start, and it protects from nobody, because whoever writes into the state may name a root key as well.
        Self::read(value).ok()
    }
}

impl Stored for SealKey {
    fn to_stored(&self) -> Value {
        Value::String(self.to_string())
    }

    fn from_stored(value: &Value) -> Option<Self> {
        Self::kept(value.as_str()?).ok()
    }
}

impl Stored for Arc<Revocation> {
    fn to_stored(&self) -> Value {
        self.to_value()
    }

    fn from_stored(value: &Value) -> Option<Self> {
        Revocation::parse(value).ok().map(Arc::new)
    }
}

impl Stored for PauseStatement {
    fn to_stored(&self) -> Value {
        Value::from(vec![self.to_value(), self.control.to_value()])
    }

    fn from_stored(value: &Value) -> Option<Self> {
        let control = ControlCertificate::parse(value.get(1)?).ok()?;
        Self::parse(value.get(0)?, &control).ok()
    }
}

impl Stored for Chain {
    fn to_stored(&self) -> Value {
        self.to_value()
    }

    fn from_stored(value: &Value) -> Option<Self> {
        // The signatures of the chain were verified when it came: `read` does not verify them again.
        Self::read(value).ok()
    }
}

impl Stored for Layers {
    fn to_stored(&self) -> Value {
        self.to_value()
    }

    fn from_stored(value: &Value) -> Option<Self> {
        Self::try_from(value).ok()
    }
}

impl Stored for Direction {
    fn to_stored(&self) -> Value {
        Value::from(if *self == Self::In { "in" } else { "out" })
    }

    fn from_stored(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "in" => Some(Self::In),
            "out" => Some(Self::Out),
            _ => None,
        }
    }
}

impl<T: Stored> Stored for Option<T> {
    fn to_stored(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_stored)
    }

    fn from_stored(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_stored(value).map(Some),
        }
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn to_stored(&self) -> Value {
        self.iter().map(T::to_stored).collect()
    }

    fn from_stored(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::from_stored).collect()
    }
}
