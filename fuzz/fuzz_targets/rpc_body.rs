//! What `POST /rpc` reads of a client's body: every answer is a response, and no body brings two for one id.
#![no_main]

use signet_gateway::fuzzed;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    if let Some(answer) = fuzzed::rpc_body(body) {
        signet_fuzz::admit_response(&answer);
    }
});
