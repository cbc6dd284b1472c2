//! What is read of a channel of Discord's: only envelopes for this agent come out, each a part of what was posted.
#![no_main]

use signet_gateway::fuzzed;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    for envelope in fuzzed::discord_answer(body, "agent-bob") {
        let text = String::from_utf8(envelope).expect("a block of a text");
        assert!(text.starts_with('{') && text.contains("agent-bob"));
    }
});
