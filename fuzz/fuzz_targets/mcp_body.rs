//! What MCP over HTTP reads of a client's body: messages, and the arguments of the tools.
#![no_main]

use signet_gateway::fuzzed;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    fuzzed::mcp_body(body);
});
