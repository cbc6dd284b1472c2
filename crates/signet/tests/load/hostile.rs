//! Bytes that nobody should send: one line each, no word to anybody, and a daemon that lives on.

use std::sync::atomic::{AtomicBool, Ordering};

use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::house::bus::{Sender, Watch, sender};
use crate::house::flood::Accounts;
use crate::house::pen::{Pen, seed};
use crate::house::{Home, House, eventually};

/// What a daemon may hold in memory, in KiB: 24 MiB before the flood, 8 read ahead by the client library, 16 that wait,
/// 8 under way with what was parsed of them, and what the allocator keeps of each thread. 67 to 85 were seen.
const MEMORY: u64 = 96 * 1024;
const GARBAGE: usize = 200_000;

fn malformed() -> Vec<(&'static str, Vec<u8>)> {
    let stranger = Pen::made("agent-nobody", "nobody", &seed([1; 32]), |_| {});
    let message = stranger.sign(stranger.request("agent-bob", &"A".repeat(43), 1));
    let batch = [b"[", &message[..], b"]"].concat();
    let mut table: Vec<(&'static str, Vec<u8>)> = vec![
        ("malformed-json", Vec::new()),
        ("malformed-json", b"\0".to_vec()),
        ("malformed-json", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        ("malformed-json", message[..message.len() - 1].to_vec()),
        ("malformed-json", [&message[..], &message].concat()),
        ("invalid-utf8", [&message[..], b"\xff"].concat()),
        ("invalid-utf8", b"\xed\xa0\x80".to_vec()),
        ("byte-order-mark", [b"\xef\xbb\xbf", &message[..]].concat()),
        (
            "duplicate-name",
            b"{\"jsonrpc\":\"2.0\",\"jsonrpc\":\"2.0\"}".to_vec(),
        ),
        ("lone-surrogate", b"{\"a\":\"\\udc00\"}".to_vec()),
        ("number-out-of-range", b"{\"a\":9007199254740993}".to_vec()),
        ("too-deep", vec![b'['; 200_000]),
        ("too-deep", b"{\"a\":".repeat(40_000)),
        (
            "too-many-values",
            format!("[{}0]", "0,".repeat(100_000)).into_bytes(),
        ),
        ("batch-unsupported", batch),
        ("batch-unsupported", b"[]".to_vec()),
        ("invalid-shape", b"null".to_vec()),
        (
            "invalid-shape",
            b"{\"jsonrpc\":\"2.0\",\"method\":\"agent.request\",\"params\":7}".to_vec(),
        ),
        ("agent-unknown", message),
    ];
    for length in [240 * 1024 + 1, 1024 * 1024] {
        table.push(("too-large", vec![b'{'; length]));
    }
    table
}

#[test]
fn malformed_input_is_a_line_each_and_no_word_to_anybody() {
    let _turn = crate::turn();
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    bob.start();
    let (mut sender, watch) = (Sender::new(&house), Watch::new(&house));
    let table = malformed();
    for (reason, input) in &table {
        let seen = if *reason == "too-large" {
            &input[..1024]
        } else {
            input
        };
        let before = bob.lines_about(seen).len();
        sender.send(&bob.subject(), input);
        let line = eventually(reason, || bob.lines_about(seen).into_iter().nth(before));
        assert_eq!(
            (&line["verdict"], &line["reason"]),
            (&json!("rejected"), &json!(reason)),
            "{line}"
        );
        assert_eq!(line["bytes"], input.len());
        assert!(
            line.get("message").is_none(),
            "what is not proven is not inlined: {line}"
        );
        assert_eq!(
            line["raw"],
            BASE64.encode(&input[..input.len().min(1024)]).as_str()
        );
    }
    alice.start();
    alice.ping(&bob);
    let garbage = |bytes: &[u8]| table.iter().any(|(_, input)| input == bytes);
    let (ours, theirs): (Vec<_>, Vec<_>) = watch
        .seen()
        .into_iter()
        .partition(|(_, bytes)| garbage(bytes));
    assert_eq!(ours.len(), table.len());
    // All that was said besides is the conversation of two who know each other, and each client's word to
    // itself that its subscription stands.
    for (subject, bytes) in theirs {
        let from = serde_json::from_slice(&bytes)
            .map(|message| sender_of(&message))
            .unwrap_or_default();
        let known = match from.as_str() {
            "agent-bob" => subject == alice.subject(),
            "agent-alice" => subject == bob.subject(),
            _ => {
                subject.starts_with("agent.agent-")
                    && bytes.starts_with(b"signet-transport round trip _INBOX_agent-")
            }
        };
        assert!(
            known,
            "{from:?} at {subject}: {}",
            String::from_utf8_lossy(&bytes)
        );
    }
    bob.walk();
}

fn sender_of(message: &Value) -> String {
    sender(message).to_owned()
}

#[test]
fn memory_stays_small_while_200_000_pieces_of_garbage_arrive_at_full_speed() {
    let _turn = crate::turn();
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.ping(&bob);
    let mut sender = Sender::new(&house);
    let mix = malformed();
    let small: Vec<&[u8]> = mix
        .iter()
        .map(|(_, input)| &input[..])
        .filter(|input| input.len() < 2_000)
        .collect();
    let over = AtomicBool::new(false);
    let (quiet, pings) = (
        bob.resident(),
        std::thread::scope(|scope| {
            let pinging = scope.spawn(|| {
                let mut pings = 0;
                while !over.load(Ordering::Relaxed) || pings == 0 {
                    alice.ping(&bob);
                    pings += 1;
                }
                pings
            });
            for number in 0..GARBAGE {
                // One in a thousand is as large as the server takes.
                let input = if number % 1_000 == 0 {
                    &mix[mix.len() - 1].1
                } else {
                    small[number % small.len()]
                };
                sender.put(&bob.subject(), input);
            }
            sender.flush();
            over.store(true, Ordering::Relaxed);
            pinging.join().unwrap()
        }),
    );
    alice.ping(&bob);
    let (now, highest) = bob.resident();
    let told = done_counting(&bob, GARBAGE);
    println!(
        "memory {} KiB before, {now} KiB after, {highest} KiB at most; {pings} pings answered meanwhile; {told}",
        quiet.0
    );
    assert!(highest < MEMORY, "{highest} KiB");
    bob.walk();
}

#[test]
fn flood_lines_and_lines_add_up_to_what_came() {
    let _turn = crate::turn();
    let house = House::new();
    let (alice, mut bob) = house.alice_and_bob();
    let mut sender = Sender::new(&house);
    let (chunks, each) = (40, 100);
    for chunk in 0..chunks {
        for number in 0..each {
            sender.put(
                &bob.subject(),
                format!("garbage {}", chunk * each + number).as_bytes(),
            );
        }
        sender.flush();
        // The ping reaches Bob behind the garbage: when it is answered, all garbage of this chunk has been judged.
        alice.ping(&bob);
    }
    assert!(bob.stop().success());
    let log = bob.walk();
    let lines = log
        .iter()
        .filter(|line| line["reason"] == "malformed-json")
        .count();
    let floods: Vec<u64> = log
        .iter()
        .filter(|line| line["kind"] == "flood")
        .map(|line| line["count"].as_u64().unwrap())
        .collect();
    assert!(
        lines >= 1_000 && !floods.is_empty(),
        "{lines} lines, floods {floods:?}"
    );
    assert_eq!(
        lines as u64 + floods.iter().sum::<u64>(),
        chunks * each,
        "floods {floods:?}"
    );
}

/// How the log accounts for `sent` pieces of garbage: a line, a count, or a gap that says some were dropped before they
/// were read.
fn done_counting(home: &Home, sent: usize) -> String {
    // The last flood line comes up to a second after the last of the flood was read.
    let (known, accounts) = eventually("every input is accounted for", || {
        let accounts = Accounts::of(&home.log());
        let known = usize::try_from(accounts.arrived()).unwrap();
        assert!(known <= sent, "{known} is more than came");
        (known == sent || accounts.gaps > 0).then_some((known, accounts))
    });
    format!(
        "{} lines, {} counted, {} gap lines for the other {}",
        accounts.lines,
        accounts.counted,
        accounts.gaps,
        sent - known
    )
}
