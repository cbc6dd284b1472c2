//! The parameters of a call, read strictly and not yet as those of one method.

use serde::de::DeserializeOwned;
use serde_json::Value;
use signet_json::{CanonicalReader, JsonError, Limits, parse};

/// An array or an object; null where there were none. They do not print themselves, since they may hold what is sealed later.
#[derive(Clone)]
pub struct Params {
    /// Canonical text, in which most programs write them: a request is read from it without a tree of hundreds of small pieces.
    canonical: String,
}

impl Params {
    /// Reads them as strictly as a message: what two parsers could read differently is refused.
    ///
    /// # Errors
    /// The first fault of the text.
    pub(crate) fn read(text: &str) -> Result<Self, JsonError> {
        match is_canonical(text) {
            true => Ok(Self {
                canonical: text.to_owned(),
            }),
            false => parse(text.as_bytes(), Limits::LINE).map(Self::from),
        }
    }

    /// As a tree.
    pub fn tree(&self) -> Value {
        // The parser takes what is canonical, so the default is never used.
        parse(self.canonical.as_bytes(), Limits::LINE).unwrap_or_default()
    }

    /// As those of one request.
    ///
    /// # Errors
    /// The first parameter that the request cannot have.
    pub(crate) fn typed<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(match self.canonical.as_str() {
            "null" => "{}",
            given => given,
        })
    }
}

impl From<Value> for Params {
    fn from(tree: Value) -> Self {
        let canonical = signet_json::canonical(&tree);
        Self {
            // Canonical form is UTF-8, so the default is never used.
            canonical: String::from_utf8(canonical).unwrap_or_default(),
        }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Acknowledge, Call, Request as _, Send};

    #[test]
    fn every_spelling_is_the_same_call_or_the_same_error() {
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
            let pretty = serde_json::to_string_pretty(&params).unwrap();
            let spelt = Call::parse(method, Params::read(&pretty).unwrap());
            let canonical = Call::parse(method, params);
            assert_eq!(spelt, canonical, "{method} {pretty}");
            taken += usize::from(spelt.is_ok());
        }
        assert!((5..10).contains(&taken), "{taken}");
    }

    #[test]
    fn what_is_not_canonical_becomes_so_or_is_refused() {
        for (spelt, canonical) in [
            ("{ }", "{}"),
            ("[1.0]", "[1]"),
            ("{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}"),
            ("[\"\\u0061\"]", "[\"a\"]"),
            ("[-0]", "[0]"),
        ] {
            assert_eq!(Params::read(spelt).unwrap().canonical, canonical);
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
