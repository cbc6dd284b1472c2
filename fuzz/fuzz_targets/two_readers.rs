//! The two readers of messages: what the fast one takes, the parser and the schema take, as the same message; and what both
//! should take in canonical form, the fast one does not leave to the other.
#![no_main]

use signet_proto::envelope::{Form, Method, Unverified};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let any = Unverified::parse_any(bytes);
    let Some(fast) = Unverified::parse_canonical(bytes) else {
        let Ok(any) = any else { return };
        let any = any.claims();
        let is_flight = any.form.method().is_some_and(Method::is_handshake);
        let is_failure = matches!(any.form, Form::Failure { .. });
        let is_slow = is_flight || is_failure || any.sealed.is_some();
        assert!(is_slow || any.canonical()[..] != *bytes);
        return;
    };
    let any = any.expect("the parser takes what the fast reader takes");
    let (fast, any) = (fast.claims(), any.claims());
    assert_eq!(fast, any);
    assert_eq!(fast.canonical()[..], *bytes);
    assert_eq!(fast.canonical(), any.canonical());
    assert_eq!(fast.signed_parts(), any.signed_parts());
    assert_eq!(fast.hash(), any.hash());
});
