//! JSON-RPC 2.0 to the letter, without any input or output: a line becomes requests, results become
//! a line.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::json;
use serde_json::value::RawValue;
use signet_api::ApiError;
use signet_proto::json::{Limits, Value, parse as parse_strictly};

/// One line from a client.
#[derive(Debug)]
pub enum Incoming {
    /// One request, answered by one response.
    One(Item),
    /// Several requests, answered by one array.
    Batch(Vec<Item>),
}

/// One request, or what should have been one.
#[derive(Debug)]
pub enum Item {
    /// To be called.
    Request(Request),
    /// To be answered with an error, whatever methods there are.
    Faulty(Id, ApiError),
    /// A notification that cannot be called; no answer tells of it.
    Ignored,
}

/// A well-formed request. It does not print its parameters, which may be sealed later.
pub struct Request {
    /// What to call.
    pub method: String,
    /// An array or an object; `null` when absent.
    pub params: Value,
    /// Absent on a notification, which is never answered.
    pub id: Option<Id>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({}, {:?})", self.method, self.id)
    }
}

/// The id of a request, byte for byte as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id(String);

impl Id {
    /// The id of an answer to what has no readable id.
    pub fn null() -> Self {
        Self("null".to_owned())
    }
}

/// Reads one line.
///
/// Parameters are read strictly, as a message is ([`signet_proto::json`]); the object around them
/// as JSON-RPC has it.
///
/// # Errors
/// What the whole line is answered with, under the id `null`.
pub fn parse(line: &[u8]) -> Result<Incoming, ApiError> {
    let whole: &RawValue = serde_json::from_slice(line).map_err(|_| ApiError::parse_error())?;
    if !whole.get().starts_with('[') {
        return Item::parse(whole).map(Incoming::One);
    }
    let items: Vec<&RawValue> =
        serde_json::from_str(whole.get()).map_err(|_| ApiError::parse_error())?;
    match items.len() {
        0 => Err(ApiError::invalid_request()),
        1..=BATCH_MAX => items
            .into_iter()
            .map(Item::parse)
            .collect::<Result<_, _>>()
            .map(Incoming::Batch),
        _ => Err(ApiError::invalid_request()
            .with_fault(format!("send at most {BATCH_MAX} requests in a batch"))),
    }
}

/// The response to one request.
pub fn answer(id: &Id, result: &Result<Value, ApiError>) -> String {
    let (member, value) = match result {
        Ok(value) => ("result", value.to_string()),
        Err(error) => ("error", json!(error).to_string()),
    };
    format!(
        "{{\"jsonrpc\":\"2.0\",\"{member}\":{value},\"id\":{}}}",
        id.0
    )
}

/// The response to a batch; none when there is nothing to answer.
pub fn batch(answers: &[String]) -> Option<String> {
    if answers.is_empty() {
        None
    } else {
        Some(format!("[{}]", answers.join(",")))
    }
}

/// A call that wants no answer: a request without id.
pub fn notification(method: &str, params: &Value) -> String {
    let method = Value::from(method);
    format!("{{\"jsonrpc\":\"2.0\",\"method\":{method},\"params\":{params}}}")
}

impl Item {
    fn parse(raw: &RawValue) -> Result<Self, ApiError> {
        if !raw.get().starts_with('{') {
            return Ok(Self::Faulty(Id::null(), ApiError::invalid_request()));
        }
        let members: Members<'_> =
            serde_json::from_str(raw.get()).map_err(|_| ApiError::parse_error())?;
        let id = match members.id.map(parse_id) {
            None => None,
            Some(Some(id)) => Some(id),
            Some(None) => return Ok(Self::Faulty(Id::null(), ApiError::invalid_request())),
        };
        let (Some(method), true) = (members.method(), members.is_request()) else {
            return Ok(Self::Faulty(
                id.unwrap_or_else(Id::null),
                ApiError::invalid_request(),
            ));
        };
        let params = members
            .params
            .map(|params| parse_strictly(params.get().as_bytes(), Limits::LINE));
        match (params.transpose(), id) {
            (Ok(params), id) => Ok(Self::Request(Request {
                method,
                params: params.unwrap_or_default(),
                id,
            })),
            (Err(fault), Some(id)) => Ok(Self::Faulty(
                id,
                ApiError::invalid_params(fault.to_string()),
            )),
            (Err(_), None) => Ok(Self::Ignored),
        }
    }
}

/// A string, a number or null. Any text of it stands in one line: JSON has no raw control characters.
fn parse_id(raw: &RawValue) -> Option<Id> {
    let text = raw.get();
    let is_scalar = match text.as_bytes().first()? {
        b'"' => serde_json::from_str::<String>(text).is_ok(),
        b'-' | b'0'..=b'9' => true,
        first => *first == b'n',
    };
    is_scalar.then(|| Id(text.to_owned()))
}

/// The members of a request that mean something, as they were sent.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    repeated: bool,
}

impl Members<'_> {
    fn method(&self) -> Option<String> {
        serde_json::from_str(self.method?.get()).ok()
    }

    fn is_request(&self) -> bool {
        let version = |raw: &RawValue| {
            serde_json::from_str::<String>(raw.get()).is_ok_and(|text| text == "2.0")
        };
        let structured = |raw: &RawValue| raw.get().starts_with(['{', '[']);
        !self.repeated && self.jsonrpc.is_some_and(version) && self.params.is_none_or(structured)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Members::default();
        while let Some(name) = map.next_key::<String>()? {
            let slot = match name.as_str() {
                "jsonrpc" => &mut members.jsonrpc,
                "method" => &mut members.method,
                "params" => &mut members.params,
                "id" => &mut members.id,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            members.repeated |= slot.replace(map.next_value()?).is_some();
        }
        Ok(members)
    }
}

/// So that a line of a megabyte cannot ask for an answer of many.
const BATCH_MAX: usize = 1000;
