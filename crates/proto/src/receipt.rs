//! Receipts: what one side has durably judged of the other's messages (`agent.receipt`).

use crate::ids::Digest;
use serde::{Deserialize, Serialize};
use signet_json::{Map, Value};

/// The reason of a number that was given up and never came.
pub const MISSING: &str = "missing";

/// The body of a receipt. Absent members mean none; an absent floor means unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The highest number up to which everything is durable, refused or known as given up.
    pub through: u64,
    /// The hash of the message with that number.
    pub hash: Option<Digest>,
    /// The numbers up to it that were not accepted.
    pub except: Vec<(u64, Exception)>,
    /// The lowest number that the receipt's sender may still send.
    pub floor: Option<u64>,
    /// What the receipt's sender gave up below it.
    pub given_up: Vec<(u64, u64)>,
}

/// Why a number was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exception {
    /// A reason's stable name, or [`MISSING`].
    pub reason: String,
    /// With `sequence-reuse`: the hash that the number was first seen with.
    pub hash: Option<Digest>,
}

impl Exception {
    /// A number that was given up and never came.
    pub fn missing() -> Self {
        Self {
            reason: MISSING.to_owned(),
            hash: None,
        }
    }
}

impl Receipt {
    /// The body on the wire.
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("through".into(), self.through.into());
        if let Some(hash) = self.hash {
            members.insert("hash".into(), hash.to_string().into());
        }
        if !self.except.is_empty() {
            members.insert(
                "except".into(),
                self.except
                    .iter()
                    .map(|(number, exception)| exception_value(*number, exception))
                    .collect(),
            );
        }
        if let Some(floor) = self.floor {
            members.insert("floor".into(), floor.into());
        }
        if !self.given_up.is_empty() {
            let range = |(from, to): &(u64, u64)| Value::from(vec![*from, *to]);
            members.insert("given-up".into(), self.given_up.iter().map(range).collect());
        }
        Value::Object(members)
    }

    /// Reads a body that fits `schemas/receipt.schema.json`.
    pub fn parse(body: &Value) -> Option<Self> {
        let array = |name: &str| {
            body.get(name)
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice)
        };
        Some(Self {
            through: body.get("through")?.as_u64()?,
            hash: body
                .get("hash")
                .map(|hash| hash.as_str()?.parse().ok())
                .unwrap_or(None),
            except: array("except")
                .iter()
                .map(parse_exception)
                .collect::<Option<_>>()?,
            floor: body.get("floor").and_then(Value::as_u64),
            given_up: array("given-up")
                .iter()
                .map(parse_range)
                .collect::<Option<_>>()?,
        })
    }
}

fn exception_value(number: u64, exception: &Exception) -> Value {
    let mut members = Map::new();
    members.insert("sequence".into(), number.into());
    members.insert("reason".into(), exception.reason.as_str().into());
    if let Some(hash) = exception.hash {
        members.insert("hash".into(), hash.to_string().into());
    }
    Value::Object(members)
}

fn parse_exception(value: &Value) -> Option<(u64, Exception)> {
    let reason = value.get("reason")?.as_str()?.to_owned();
    let hash = value
        .get("hash")
        .and_then(Value::as_str)
        .and_then(|text| text.parse().ok());
    Some((value.get("sequence")?.as_u64()?, Exception { reason, hash }))
}

fn parse_range(value: &Value) -> Option<(u64, u64)> {
    let pair = value.as_array()?;
    Some((pair.first()?.as_u64()?, pair.get(1)?.as_u64()?))
}
