//! What the targets share: whom the agent of vectors/ knows, and what every answer has to be.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Deserializer, Value};
use signet_proto::certificate::Certificate;
use signet_proto::trust::{TrustStore, TrustView};

/// The agent of vectors/recipient.json, who trusts those of vectors/knowledge/private.json.
pub fn view() -> TrustView {
    let certificate = |value: &Value| Certificate::parse(value).expect("a certificate of vectors/");
    let mut store = TrustStore::new(&certificate(&of(RECIPIENT)["certificate"]));
    for peer in of(KNOWN)["certificates"].as_array().expect("a list") {
        store.bind(&certificate(peer)).expect("a peer of vectors/");
    }
    store.view().clone()
}

/// What those peers signed for that agent: all of vectors/accepted.
pub fn signed() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/accepted");
    let files = std::fs::read_dir(folder).expect("vectors/accepted");
    let texts = files.map(|file| std::fs::read_to_string(file.expect("a file").path()));
    let inputs = texts.map(|text| of(&text.expect("a vector"))["input"].as_str().map(str::to_owned));
    inputs.flatten().map(String::into_bytes).collect()
}

/// A response of JSON-RPC: one line of JSON that any reader takes, with an id that is a text, a number or null.
pub fn admit_response(text: &str) {
    assert!(!text.contains('\n'), "{text}");
    // A number beyond every double is a number all the same.
    let mut values = Deserializer::from_str(text).into_iter::<Box<RawValue>>();
    let whole = values.next().expect("an answer").expect("JSON");
    assert!(values.next().is_none(), "{text}");
    let all: Vec<Response> = match whole.get().starts_with('[') {
        true => serde_json::from_str(whole.get()).expect("responses"),
        false => vec![serde_json::from_str(whole.get()).expect("a response")],
    };
    for response in all {
        assert_eq!(response.jsonrpc, "2.0");
        assert!(
            response.result.is_some() != response.error.is_some(),
            "{text}"
        );
        let first = response.id.get().as_bytes()[0];
        assert!(matches!(first, b'"' | b'-' | b'0'..=b'9' | b'n'), "{text}");
    }
}

/// Words that are passed on to a peer or a person drive no terminal.
pub fn admit_words(text: &str) {
    assert!(!text.chars().any(char::is_control), "{text:?}");
}

/// A body that is passed on is one line of JSON. What stands in its strings is data, and whoever shows it makes it visible.
pub fn admit_body(text: &str) {
    assert!(!text.contains('\n'), "{text}");
    of(text);
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Response {
    jsonrpc: String,
    #[serde(default, deserialize_with = "present")]
    result: Option<()>,
    error: Option<Value>,
    id: Box<RawValue>,
}

/// A result of null is a result.
fn present<'de, D: serde::Deserializer<'de>>(result: D) -> Result<Option<()>, D::Error> {
    serde::de::IgnoredAny::deserialize(result).map(|_| Some(()))
}

fn of(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

const RECIPIENT: &str = include_str!("../../vectors/recipient.json");
const KNOWN: &str = include_str!("../../vectors/knowledge/private.json");
