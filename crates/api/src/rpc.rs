//! JSON-RPC 2.0 to the letter, without any input or output: bytes become requests, results become bytes, and an id goes
//! back as it was written.
//!
//! ```text
//! bytes ── read ──▶ one or a batch of Item ── Call ──▶ whoever serves the method ──▶ Id::answer
//!                                        └─── Faulty ──▶ Id::answer
//! ```
//!
//! The object around the parameters is read as JSON-RPC has it, the parameters strictly: what two readers could read
//! differently is no call.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{ApiError, Params};

/// What one text holds.
#[derive(Debug)]
pub enum Incoming {
    /// Answered by one response.
    One(Item),
    /// Answered by one array.
    Batch(Vec<Item>),
}

/// One request, or what should have been one.
#[derive(Debug)]
pub enum Item {
    /// To be called.
    Call(Asked),
    /// To be answered with an error, whatever methods there are.
    Faulty(Id, ApiError),
    /// A notification that cannot be called; no answer tells of it.
    Ignored,
}

/// A well-formed request. It does not print its parameters, which may be sealed later.
pub struct Asked {
    /// What to call.
    pub method: String,
    /// An array or an object; null where there were none.
    pub params: Params,
    /// Absent on a notification, which is never answered.
    pub id: Option<Id>,
}

/// The id of a request, byte for byte as it was sent: `1` is not `1.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id(String);

/// The object of a request before its parameters are read.
pub struct Frame<'a> {
    /// What to call.
    pub method: String,
    /// As they were sent; of any kind.
    pub params: Option<&'a RawValue>,
    /// Absent on a notification.
    pub id: Option<Id>,
}

/// Why an object is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(&'static str);

/// Reads one text: at most `batch_max` requests in an array, their parameters strictly, as a message is.
///
/// # Errors
/// What the whole text is answered with, under the id `null`.
pub fn read(bytes: &[u8], batch_max: usize) -> Result<Incoming, ApiError> {
    let whole = raw(bytes)?;
    // A raw value has no white space before it, so its first character tells whether it is an array.
    if !whole.get().starts_with('[') {
        return Ok(Incoming::One(Item::read(whole)));
    }
    let items: Vec<&RawValue> =
        serde_json::from_str(whole.get()).map_err(|_| ApiError::parse_error())?;
    // An empty array is an invalid request, answered once and without an array (JSON-RPC 2.0, section 6).
    if items.is_empty() {
        return Err(ApiError::invalid_request());
    }
    if items.len() > batch_max {
        let fault = format!("send at most {batch_max} requests in a batch");
        return Err(ApiError::invalid_request().with_fault(fault));
    }
    Ok(Incoming::Batch(items.into_iter().map(Item::read).collect()))
}

/// One JSON text and nothing beside it, its values not looked at. It costs no stack, however deep it is.
///
/// # Errors
/// [`ApiError::parse_error`].
pub fn raw(bytes: &[u8]) -> Result<&RawValue, ApiError> {
    let text = std::str::from_utf8(bytes).map_err(|_| ApiError::parse_error())?;
    serde_json::from_str(text).map_err(|_| ApiError::parse_error())
}

/// The response to a batch; none when there is nothing to answer.
pub fn batch(answers: &[String]) -> Option<String> {
    // A batch of notifications alone is answered by nothing, and not by an empty array (JSON-RPC 2.0, section 6).
    (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
}

/// A call that wants no answer: a request without id.
pub fn notification(method: &str, params: &(impl fmt::Display + ?Sized)) -> String {
    let method = Value::from(method);
    format!("{{\"jsonrpc\":\"2.0\",\"method\":{method},\"params\":{params}}}")
}

impl Item {
    /// The same, which is not to be called.
    #[must_use]
    pub fn refused_with(self, error: &ApiError) -> Self {
        match self {
            Self::Call(Asked { id: Some(id), .. }) => Self::Faulty(id, error.clone()),
            // A notification is answered by nothing, not even by a refusal (JSON-RPC 2.0, section 4.1).
            Self::Call(_) => Self::Ignored,
            other => other,
        }
    }

    fn read(raw: &RawValue) -> Self {
        let Frame { method, params, id } = match Frame::read(raw) {
            Ok(frame) => frame,
            Err((id, _)) => return Self::Faulty(id, ApiError::invalid_request()),
        };
        // Parameters are an array or an object (JSON-RPC 2.0, section 4.2); `null` is neither.
        if params.is_some_and(|params| !params.get().starts_with(['{', '['])) {
            let id = id.unwrap_or_else(Id::null);
            return Self::Faulty(id, ApiError::invalid_request());
        }
        let params = params.map(|params| Params::read(params.get()));
        match (params.transpose(), id) {
            (Ok(params), id) => Self::Call(Asked {
                method,
                params: params.unwrap_or(Value::Null.into()),
                id,
            }),
            (Err(fault), Some(id)) => Self::Faulty(id, ApiError::invalid_params(fault.to_string())),
            (Err(_), None) => Self::Ignored,
        }
    }
}

impl<'a> Frame<'a> {
    /// Reads the object of one request.
    ///
    /// # Errors
    /// Why it is none, with the id where one could be read. Whoever sent it may have meant an answer to it: it is no
    /// notification, also where it has no id.
    pub fn read(raw: &'a RawValue) -> Result<Self, (Id, Unfit)> {
        let unfit = |id: Option<Id>, why| Err((id.unwrap_or_else(Id::null), Unfit(why)));
        let Ok(members) = serde_json::from_str::<Members<'a>>(raw.get()) else {
            return unfit(None, "a request is an object");
        };
        // Of two ids it is unknown for which one the sender waits, so the answer goes to the id `null`.
        if members.id_repeated {
            return unfit(None, "the id stands twice");
        }
        let id = match members.id.map(Id::read) {
            None => None,
            Some(Some(id)) => Some(id),
            Some(None) => {
                return unfit(None, "the id is neither a short text nor a number nor null");
            }
        };
        if members.repeated {
            return unfit(id, "a member stands twice, or is one of a response");
        }
        if text(members.jsonrpc).as_deref() != Some("2.0") {
            return unfit(id, "jsonrpc is not \"2.0\"");
        }
        match text(members.method) {
            Some(method) => Ok(Self {
                method,
                params: members.params,
                id,
            }),
            None => unfit(id, "there is no method"),
        }
    }
}

impl Id {
    /// For what has no id that can be read.
    pub fn null() -> Self {
        Self("null".to_owned())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A whole response.
    pub fn answer<T: fmt::Display>(&self, result: &Result<T, ApiError>) -> String {
        match result {
            Ok(result) => self.result(result),
            Err(error) => self.refusal(error),
        }
    }

    /// A whole response that refuses the call.
    pub fn refusal(&self, error: &ApiError) -> String {
        // `to_value` cannot fail here: an error holds nothing that JSON cannot express.
        self.error(&serde_json::to_value(error).unwrap_or_default())
    }

    /// A whole response with the `result` of any protocol that stands on JSON-RPC.
    pub fn result(&self, result: &(impl fmt::Display + ?Sized)) -> String {
        let id = &self.0;
        format!("{{\"jsonrpc\":\"2.0\",\"result\":{result},\"id\":{id}}}")
    }

    /// A whole response with the `error` of such a protocol.
    pub fn error(&self, error: &Value) -> String {
        let id = &self.0;
        format!("{{\"jsonrpc\":\"2.0\",\"error\":{error},\"id\":{id}}}")
    }

    /// A text, a number or null. It stands in one line, whatever it is: JSON has no raw control characters.
    fn read(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        let is_scalar = match text.as_bytes().first()? {
            b'"' => serde_json::from_str::<String>(text).is_ok(),
            // Refuse a number too large for a double, such as 1e999: many clients could not read it when they get the id back.
            b'-' | b'0'..=b'9' => text.parse::<f64>().is_ok_and(f64::is_finite),
            first => *first == b'n',
        };
        (is_scalar && text.len() <= LONGEST_ID).then(|| Self(text.to_owned()))
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asked({}, {:?})", self.method, self.id)
    }
}

/// Bytes of an id, its quotes included: it is kept while a call is under way, and goes back in every answer.
const LONGEST_ID: usize = 1024;

/// The members of a request that mean something, as they were sent.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    repeated: bool,
    id_repeated: bool,
}

fn text(member: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(member?.get()).ok()
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
                // Only responses have `result` or `error`: a request that has one of them is invalid, like one with a member
                // twice.
                "result" | "error" => {
                    map.next_value::<IgnoredAny>()?;
                    members.repeated = true;
                    continue;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if slot.replace(map.next_value()?).is_some() {
                members.repeated = true;
                members.id_repeated |= name == "id";
            }
        }
        Ok(members)
    }
}
