//! What the inbox reads of a stranger's body: each envelope is a piece of the body as it was sent, and nobody becomes a peer
//! by any change of the bytes of an envelope that a peer signed.
#![no_main]

use std::sync::OnceLock;

use serde_json::Value;
use signet_gateway::fuzzed;
use signet_proto::trust::TrustView;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    static VIEW: OnceLock<TrustView> = OnceLock::new();
    static SIGNED: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let view = VIEW.get_or_init(signet_fuzz::view);
    let signed = SIGNED.get_or_init(signet_fuzz::signed);
    let Some(found) = fuzzed::inbox_body(body, view) else {
        return;
    };
    let mut rest = body;
    for (envelope, is_peers) in found {
        let at = rest
            .windows(envelope.len().max(1))
            .position(|piece| piece == envelope);
        let at = if envelope.is_empty() { Some(0) } else { at };
        rest = &rest[at.expect("a piece of the body") + envelope.len()..];
        assert!(!is_peers || signed.iter().any(|known| same(known, &envelope)));
    }
});

/// Whether two texts of JSON are the same but for their form, which a signature does not cover: `1` may be `1.0`.
fn same(known: &[u8], given: &[u8]) -> bool {
    let read = |bytes: &[u8]| plain(serde_json::from_slice(bytes).expect("verified"));
    read(known) == read(given)
}

fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64()),
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            members.map(|(name, value)| (name, plain(value))).collect()
        }
        other => other,
    }
}
