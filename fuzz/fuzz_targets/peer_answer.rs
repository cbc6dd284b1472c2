//! What is read of another gateway's answer: its Retry-After in the first line, then the envelopes that it keeps for us.
#![no_main]

use signet_gateway::fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (after, body) = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[][..]),
    };
    let (wait, kept) = fuzzed::peer_answer(after, body);
    assert!(
        wait.is_none_or(|wait| (1..=300).contains(&wait)),
        "nobody holds us for ever"
    );
    assert!(kept.len() <= 128 && kept.iter().map(|one| one.len()).sum::<usize>() <= body.len());
});
