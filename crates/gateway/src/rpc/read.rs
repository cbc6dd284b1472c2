//! A body becomes requests: JSON-RPC 2.0 to the letter, ids as they were written.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use signet_api::ApiError;
use signet_handlers::json::{self, Limits};

/// One body.
#[derive(Debug)]
pub(super) enum Incoming {
    /// Answered by one response.
    One(Item),
    /// Answered by one array.
    Batch(Vec<Item>),
}

/// One request, or what should have been one.
#[derive(Debug)]
pub(super) enum Item {
    Call(Asked),
    /// To be answered with an error, whatever methods there are.
    Faulty(Id, ApiError),
    /// A notification that cannot be called; no answer tells of it.
    Ignored,
}

/// A well-formed request. It does not print its parameters, which may be sealed later.
pub(super) struct Asked {
    pub(super) method: String,
    /// An array or an object; null where there were none.
    pub(super) params: Value,
    /// Absent on a notification.
    pub(super) id: Option<Id>,
}

/// The id of a request, byte for byte as it was sent: `1` is not `1.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Id(String);

impl Id {
    /// For what has no id that can be read.
    pub(super) fn null() -> Self {
        Self("null".to_owned())
    }

    /// A whole response.
    pub(super) fn answer(&self, result: &Result<Value, ApiError>) -> String {
        match result {
            Ok(result) => format!(
                "{{\"jsonrpc\":\"2.0\",\"result\":{result},\"id\":{}}}",
                self.0
            ),
            Err(error) => self.error(error),
        }
    }

    /// A whole response with that error.
    pub(super) fn error(&self, error: &ApiError) -> String {
        // An error has nothing that cannot be written.
        let error = serde_json::to_string(error).unwrap_or_default();
        format!(
            "{{\"jsonrpc\":\"2.0\",\"error\":{error},\"id\":{}}}",
            self.0
        )
    }
}

impl Item {
    /// The same, which is not to be called.
    pub(super) fn refused_with(self, error: &ApiError) -> Self {
        match self {
            Self::Call(Asked { id: Some(id), .. }) => Self::Faulty(id, error.clone()),
            Self::Call(_) => Self::Ignored,
            other => other,
        }
    }

    fn parse(raw: &RawValue) -> Result<Self, ApiError> {
        if !raw.get().starts_with('{') {
            return Ok(Self::Faulty(Id::null(), ApiError::invalid_request()));
        }
        let members: Members<'_> =
            serde_json::from_str(raw.get()).map_err(|_| ApiError::parse_error())?;
        let id = match members.id.map(parse_id) {
            _ if members.id_repeated => {
                return Ok(Self::Faulty(Id::null(), ApiError::invalid_request()));
            }
            None => None,
            Some(Some(id)) => Some(id),
            Some(None) => return Ok(Self::Faulty(Id::null(), ApiError::invalid_request())),
        };
        let (Some(method), true) = (members.method(), members.is_request()) else {
            // Whoever sent it may have meant an answer to it, so it is no notification.
            return Ok(Self::Faulty(
                id.unwrap_or_else(Id::null),
                ApiError::invalid_request(),
            ));
        };
        let params = members
            .params
            .map(|raw| json::parse(raw.get().as_bytes(), LIMITS));
        Ok(match (params.transpose(), id) {
            (Ok(params), id) => Self::Call(Asked {
                method,
                params: params.unwrap_or_default(),
                id,
            }),
            (Err(_), Some(id)) => Self::Faulty(id, ApiError::invalid_params(NOT_STRICT)),
            (Err(_), None) => Self::Ignored,
        })
    }
}

/// Reads one body.
///
/// # Errors
/// What the whole of it is answered with, under the id `null`.
pub(super) fn parse(body: &[u8]) -> Result<Incoming, ApiError> {
    let text = std::str::from_utf8(body).map_err(|_| ApiError::parse_error())?;
    let whole: &RawValue = serde_json::from_str(text).map_err(|_| ApiError::parse_error())?;
    if !whole.get().starts_with('[') {
        return Item::parse(whole).map(Incoming::One);
    }
    let items: Vec<&RawValue> =
        serde_json::from_str(whole.get()).map_err(|_| ApiError::parse_error())?;
    match items.len() {
        0 => Err(ApiError::invalid_request()),
        1..=BATCH_MAX => {
            let items: Result<Vec<_>, _> = items.into_iter().map(Item::parse).collect();
            items.map(Incoming::Batch)
        }
        _ => Err(ApiError::invalid_request()
            .with_fault(format!("send at most {BATCH_MAX} requests in a batch"))),
    }
}

/// A text, a number or null.
fn parse_id(raw: &RawValue) -> Option<Id> {
    let text = raw.get();
    let is_scalar = match text.as_bytes().first()? {
        b'"' => serde_json::from_str::<String>(text).is_ok(),
        // One beyond every double, such as 1e999, could be read by few of those who get it back.
        b'-' | b'0'..=b'9' => text.parse::<f64>().is_ok_and(f64::is_finite),
        first => *first == b'n',
    };
    (is_scalar && text.len() <= LONGEST_ID).then(|| Id(text.to_owned()))
}

/// The members that mean something, as they were sent.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    repeated: bool,
    id_repeated: bool,
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
                // What a response has makes no request.
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

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asked({}, {:?})", self.method, self.id)
    }
}

const BATCH_MAX: usize = 50;
const LONGEST_ID: usize = 1024;
/// The longest message, with what a call puts around it.
const LIMITS: Limits = Limits {
    bytes: 1 << 20,
    depth: 72,
    values: 20_000,
};
const NOT_STRICT: &str = "params are no strict JSON: a name stands twice, a number is no double, or they are too deep or too many";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What a server without any method answers.
    fn answer(body: &[u8]) -> Option<Value> {
        let one = |item| match item {
            Item::Ignored | Item::Call(Asked { id: None, .. }) => None,
            Item::Faulty(id, error) => Some(id.error(&error)),
            Item::Call(Asked { id: Some(id), .. }) => Some(id.error(&ApiError::method_not_found())),
        };
        let text = match parse(body) {
            Err(error) => Some(Id::null().error(&error)),
            Ok(Incoming::One(item)) => one(item),
            Ok(Incoming::Batch(items)) => {
                let all: Vec<String> = items.into_iter().filter_map(one).collect();
                (!all.is_empty()).then(|| format!("[{}]", all.join(",")))
            }
        };
        text.map(|text| serde_json::from_str(&text).unwrap())
    }

    fn bytes(input: &str) -> Vec<u8> {
        if let Some(hex) = input.strip_prefix("hex:") {
            return data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap();
        }
        match input
            .strip_prefix("rep:")
            .and_then(|rep| rep.split_once('*'))
        {
            Some((piece, times)) => piece.repeat(times.parse().unwrap()).into_bytes(),
            None => input.as_bytes().to_vec(),
        }
    }

    #[test]
    fn every_case_of_the_vectors_is_answered_as_they_say() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../tests/http/jsonrpc20.json")).unwrap();
        assert_eq!(cases.len(), 51);
        for case in cases {
            let needs_methods = case["needs_demo_methods"] == true;
            let answer = answer(&bytes(case["input"].as_str().unwrap()));
            let mut got = answer.clone().unwrap_or_else(|| json!("__NOTHING__"));
            let mut expected = [case["expect"].clone(), case["also_acceptable"].clone()];
            // The methods of the examples are none of ours: what is held is the id and the frame.
            if needs_methods {
                for value in expected.iter_mut().chain([&mut got]) {
                    blur(value);
                }
            }
            assert!(expected.contains(&got), "{}: {got}", case["id"]);
        }
    }

    fn blur(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(blur),
            Value::Object(members) if members["id"] != Value::Null => {
                members.retain(|name, _| name == "id" || name == "jsonrpc");
            }
            _ => {}
        }
    }

    #[test]
    fn an_id_comes_back_byte_for_byte() {
        for id in [
            "1",
            "1.0",
            "-0",
            "1e3",
            "0.10",
            "12345678901234567890123",
            "\"1\"",
            "\"\\u0031\"",
            "\"\"",
            "null",
        ] {
            let body = format!("{{\"jsonrpc\":\"2.0\",\"id\": {id} ,\"method\":\"x\"}}");
            let Ok(Incoming::One(Item::Call(asked))) = parse(body.as_bytes()) else {
                panic!("{id}")
            };
            let answer = asked.id.unwrap().answer(&Ok(Value::Null));
            assert_eq!(
                answer,
                format!("{{\"jsonrpc\":\"2.0\",\"result\":null,\"id\":{id}}}")
            );
        }
    }

    #[test]
    fn ten_thousand_arrays_within_each_other_cost_no_stack() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let within = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{deep}}}");
        assert_eq!(answer(within.as_bytes()).unwrap()["error"]["code"], -32602);
        assert_eq!(answer(deep.as_bytes()).unwrap()[0]["error"]["code"], -32600);
        let aside = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"y\":{deep}}}");
        assert!(answer(aside.as_bytes()).is_some());
    }

    #[test]
    fn what_two_readers_read_differently_is_no_call() {
        let refused = |body: &str| answer(body.as_bytes()).unwrap();
        let twice = refused(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":1,\"\\u0061\":2}}",
        );
        assert_eq!(
            (&twice["error"]["code"], &twice["id"]),
            (&json!(-32602), &json!(1))
        );
        let ids = refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"\\u0069d\":2,\"method\":\"x\"}");
        assert_eq!(
            (&ids["error"]["code"], &ids["id"]),
            (&json!(-32600), &Value::Null)
        );
        let both = refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"result\":1}");
        assert_eq!(
            (&both["error"]["code"], &both["id"]),
            (&json!(-32600), &json!(1))
        );
        let quiet = "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"a\":1,\"a\":2}}";
        assert_eq!(
            answer(quiet.as_bytes()),
            None,
            "nobody hears of a notification"
        );
    }

    /// Bodies made of the vectors' by chance, always the same: none makes the reader panic, and each answer is JSON with an
    /// id that stood in the body, or null.
    #[test]
    fn forty_thousand_spoilt_bodies_are_answered_in_json() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../tests/http/jsonrpc20.json")).unwrap();
        let bodies = cases
            .iter()
            .map(|case| bytes(case["input"].as_str().unwrap()));
        let bodies: Vec<Vec<u8>> = bodies.filter(|body| body.len() < 1000).collect();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap()
        };
        let pieces: [&[u8]; 10] = [
            b"{", b"]", b"\"id\":", b"\\u", b"\xff", b"1e999", b"null", b"\"", b",", b"[[[[",
        ];
        for _ in 0..40_000 {
            let mut body = bodies[next(bodies.len())].clone();
            for _ in 0..=next(4) {
                let at = next(body.len() + 1);
                match next(3) {
                    0 => body.truncate(at),
                    1 => drop(body.splice(at..at, pieces[next(pieces.len())].iter().copied())),
                    _ if at < body.len() => body[at] = u8::try_from(next(256)).unwrap(),
                    _ => {}
                }
            }
            for answer in answer(&body).into_iter().flat_map(|answer| match answer {
                Value::Array(all) => all,
                one => vec![one],
            }) {
                assert_eq!(answer["jsonrpc"], "2.0");
                assert!(!answer["id"].is_object() && !answer["id"].is_array());
            }
        }
    }

    #[test]
    fn a_batch_has_an_end() {
        let one = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}";
        let of =
            |many: usize| answer(format!("[{}]", vec![one; many].join(",")).as_bytes()).unwrap();
        assert_eq!(of(BATCH_MAX).as_array().unwrap().len(), BATCH_MAX);
        assert_eq!(of(BATCH_MAX + 1)["error"]["code"], -32600);
    }
}
