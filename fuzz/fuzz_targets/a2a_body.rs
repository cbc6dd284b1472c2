//! What A2A reads of a client's body, of either version: every answer is a response.
#![no_main]

use signet_gateway::fuzzed;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    for answer in fuzzed::a2a_body(body) {
        signet_fuzz::admit_response(&answer);
    }
});
