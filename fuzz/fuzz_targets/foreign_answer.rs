//! What foreign agents and servers answer, by each kind of handler: what comes of it is one text that a peer can be sent.
#![no_main]

use signet_handlers::fuzzed;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    let read = [
        fuzzed::simple_a2a_answer(body, ID),
        fuzzed::jsonrpc_answer(body, ID),
        fuzzed::a2a_answer(body, ID, true),
        fuzzed::a2a_answer(body, ID, false),
        fuzzed::mcp_answer(body, ID),
    ];
    for said in read.into_iter().flatten() {
        signet_fuzz::admit_words(&said);
    }
});

const ID: &str = "a/1";
