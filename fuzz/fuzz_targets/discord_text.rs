//! What a channel is shown of a peer's words: within Discord's limit, one line for people, nobody mentioned.
#![no_main]

use signet_gateway::fuzzed;

libfuzzer_sys::fuzz_target!(|words: (&str, &[u8])| {
    let shown = fuzzed::discord_text(words.0, words.1);
    assert!(shown.encode_utf16().count() <= 2_000, "{}", shown.len());
    let line = shown.split("```").next().expect("a line");
    for (at, _) in line.match_indices(['@', '<', '`']) {
        assert!(line[..at].ends_with('\\'), "{line}");
    }
});
