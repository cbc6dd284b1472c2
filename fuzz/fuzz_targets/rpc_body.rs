//! What `POST /rpc` reads of bytes that anybody with a token may send.
#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    signet_gateway::fuzzed::rpc_body(body);
});
