//! The files that the gateway is started with: nobody is let in by one that does not fit, and none ends the program.
#![no_main]

use signet_gateway::fuzzed;

libfuzzer_sys::fuzz_target!(|text: &str| {
    fuzzed::config_file(text);
    if fuzzed::tokens_file(text) {
        assert!(text.contains("hash"));
    }
});
