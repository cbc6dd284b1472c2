//! What foreign agents and servers answer, by each kind of handler: what comes of it is a body or words that a peer can be sent.
#![no_main]

use signet_gateway::fuzzed::{self, ForeignAnswer};

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    let read = [
        fuzzed::simple_a2a_answer(body, ID),
        fuzzed::jsonrpc_answer(body, ID),
        fuzzed::a2a_answer(body, ID, true),
        fuzzed::a2a_answer(body, ID, false),
        fuzzed::mcp_answer(body, ID),
    ];
    for said in read.into_iter().flatten() {
        match said {
            ForeignAnswer::Body(text) => signet_fuzz::admit_body(&text),
            ForeignAnswer::Words(text) => signet_fuzz::admit_words(&text),
        }
    }
});

const ID: &str = "a/1";
