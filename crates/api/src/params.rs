//! The parameters of a call, read strictly and not yet as those of one method.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use signet_json::{CanonicalReader, JsonError, Limits, parse};

/// An array or an object; null where there were none. They do not print themselves, since they may hold what is sealed later.
#[derive(Clone)]
pub struct Params(ReadParams);

#[derive(Clone)]
enum ReadParams {
    /// Their canonical text. Most programs write it, and a request is read from it without a tree of hundreds of small pieces.
    Canonical(String),
    /// The tree of any other spelling.
    Tree(Value),
}

impl Params {
    /// Reads them as strictly as a message: what two parsers could read differently is refused.
    ///
    /// # Errors
    /// The first fault of the text.
    pub(crate) fn read(text: &str) -> Result<Self, JsonError> {
        match is_canonical(text) {
            true => Ok(Self(ReadParams::Canonical(text.to_owned()))),
            false => parse(text.as_bytes(), Limits::LINE).map(Self::from),
        }
    }

    /// As a tree.
    pub fn tree(&self) -> Cow<'_, Value> {
        match &self.0 {
            ReadParams::Canonical(text) => Cow::Owned(tree_of(text)),
            ReadParams::Tree(tree) => Cow::Borrowed(tree),
        }
    }

    /// As those of one request.
    ///
    /// # Errors
    /// The fault of the tree, whichever form they have: an error never names a place in the text.
    pub(crate) fn typed<T: DeserializeOwned>(self) -> Result<T, serde_json::Error> {
        let tree = match self.0 {
            ReadParams::Canonical(text) => match serde_json::from_str(&text) {
                Ok(request) => return Ok(request),
                Err(_) => tree_of(&text),
            },
            ReadParams::Tree(tree) => tree,
        };
        serde_json::from_value(match tree {
            Value::Null => Value::Object(Map::new()),
            given => given,
        })
    }
}

impl From<Value> for Params {
    fn from(tree: Value) -> Self {
        Self(ReadParams::Tree(tree))
    }
}

impl std::fmt::Debug for Params {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Params(..)")
    }
}

fn is_canonical(text: &str) -> bool {
    let whole = || {
        let mut reader = CanonicalReader::of(text.as_bytes(), Limits::LINE)?;
        reader.value()?;
        reader.end()
    };
    whole().is_some()
}

/// The parser takes what the reader of canonical form took, so the default is never used.
fn tree_of(canonical: &str) -> Value {
    parse(canonical.as_bytes(), Limits::LINE).unwrap_or_default()
}

/// The same parameters in both forms.
#[cfg(test)]
pub(crate) fn both(tree: &Value) -> [Params; 2] {
    let text = String::from_utf8(signet_json::canonical(tree)).unwrap();
    let read = Params::read(&text).unwrap();
    assert!(matches!(read.0, ReadParams::Canonical(_)));
    [read, Params::from(tree.clone())]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Acknowledge, Call, Request as _, Send};

    #[test]
    fn both_forms_are_the_same_call_or_the_same_error() {
        // A reader of numbers that is a little off reads another double for some of these (the feature float_roundtrip).
        let numbers = json!([
            1,
            -1,
            0.5,
            51.248178375505404,
            31.245270191439438,
            5e-324,
            f64::MAX
        ]);
        let names =
            json!([{"from": "agent-bob", "message-id": "x"}, {"from": "a", "message-id": "\u{1}"}]);
        let cases = [
            (
                Send::METHOD,
                json!({"body": {"n": numbers}, "kind": "request", "peer": "b"}),
            ),
            (
                Send::METHOD,
                json!({"body": null, "kind": "request", "peer": "b", "wait": 1}),
            ),
            (Send::METHOD, json!({"kind": "request", "peer": 7})),
            (Acknowledge::METHOD, json!({"messages": names})),
            (Acknowledge::METHOD, json!({"messages": names, "more": 1})),
            (Acknowledge::METHOD, json!([null, names, false])),
            ("inbox.list", json!({"after": -1})),
            (
                "inbox.list",
                json!({"after": 9_007_199_254_740_991_u64, "limit": 3}),
            ),
            ("nothing", json!({})),
            ("status", Value::Null),
        ];
        let mut taken = 0;
        for (method, params) in cases {
            let [text, tree] = both(&params).map(|params| Call::parse(method, params));
            assert_eq!(text, tree, "{method} {params}");
            taken += usize::from(text.is_ok());
        }
        assert!((5..10).contains(&taken), "{taken}");
    }

    #[test]
    fn what_is_not_canonical_becomes_a_tree_or_is_refused() {
        for spelt in ["{ }", "[1.0]", "{\"b\":1,\"a\":2}", "[\"\\u0061\"]", "[-0]"] {
            assert!(
                matches!(Params::read(spelt), Ok(Params(ReadParams::Tree(_)))),
                "{spelt}"
            );
        }
        for wrong in [
            "{\"a\":1,\"a\":2}",
            "{\"a\":1,\"\\u0061\":2}",
            "[9007199254740993]",
            "[1",
        ] {
            assert!(Params::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_object_that_serde_json_takes_for_another_is_refused() {
        let other = r#"{"$serde_json::private::RawValue":"{\"a\":1,\"a\":2}"}"#;
        let none = r#"{"$serde_json::private::RawValue":1}"#;
        // This is why: were they taken, these would be read from the state, from a socket and into a call.
        assert_eq!(
            serde_json::from_str::<Value>(other).unwrap(),
            json!({"a": 2})
        );
        assert!(serde_json::from_str::<Value>(none).is_err());
        for text in [other, none] {
            assert!(Params::read(text).is_err(), "{text}");
        }
    }
}
