//! Two readers of one form: what the fast one says of bytes, the strict parser and the schema say as well.
//!
//! `cargo test --workspace --test protocol two_readers -- --ignored` tries a million mutations;
//! `SIGNET_READERS_SECONDS=3600` goes on with other ones for so long, and `SIGNET_SEED=n` begins at the n-th.

mod mutations;
mod seeds;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signet_json::{Limits, canonical, parse};
use signet_proto::envelope::{Form, Message, Method, Unverified};

use crate::household::net::Dice;

use mutations::mutated;
use seeds::seeds;

/// Mutations of each run of the suite.
const QUICK: u64 = 20_000;
/// Mutations before a release.
const MANY: u64 = 1_000_000;

/// What was seen of one kind of bytes.
#[derive(Debug, Default)]
struct Counts {
    /// Both took them.
    both: u64,
    /// The fast reader left them to the other one, which took them.
    left: u64,
    /// Nobody took them.
    none: u64,
}

/// Holds the two readers against each other.
fn hold(bytes: &[u8], counts: &mut Counts) {
    let fast = Unverified::parse_canonical(bytes);
    let any = Unverified::parse_any(bytes);
    let both = Unverified::parse(bytes);
    match (&both, &any) {
        (Ok(both), Ok(any)) => assert!(same(both.claims(), any.claims()), "{}", shown(bytes)),
        (Err(both), Err(any)) => assert_eq!(both, any, "{}", shown(bytes)),
        _ => panic!(
            "one reader takes it and the other does not: {}",
            shown(bytes)
        ),
    }
    match (fast, any) {
        (Some(fast), Ok(any)) => {
            assert!(same(fast.claims(), any.claims()), "{}", shown(bytes));
            assert_eq!(&fast.claims().canonical()[..], bytes, "{}", shown(bytes));
            counts.both += 1;
        }
        (Some(_), Err(any)) => panic!("taken, and {:?} to the other: {}", any.reason, shown(bytes)),
        (None, Ok(any)) => {
            let is_slow = is_left_to_the_parser(any.claims());
            let is_canonical = any.claims().canonical()[..] == *bytes;
            assert!(
                is_slow || !is_canonical,
                "not read in one pass: {}",
                shown(bytes)
            );
            counts.left += 1;
        }
        (None, Err(_)) => counts.none += 1,
    }
}

/// Messages that have no fast reader.
fn is_left_to_the_parser(message: &Message) -> bool {
    let is_flight = message.form.method().is_some_and(Method::is_handshake);
    is_flight || message.sealed.is_some() || matches!(message.form, Form::Failure { .. })
}

/// Everything that a message holds and says.
pub(super) fn same(one: &Message, other: &Message) -> bool {
    one == other
        && one.form == other.form
        && one.headers == other.headers
        && one.summary == other.summary
        && one.body() == other.body()
        && one.sealed == other.sealed
        && one.canonical() == other.canonical()
        && one.hash() == other.hash()
        && one.signature() == other.signature()
        && one.signed_parts() == other.signed_parts()
        && format!("{one:?}") == format!("{other:?}")
}

fn shown(bytes: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(bytes))
}

/// The `number`-th mutation: always the same one.
fn try_one(seeds: &[Vec<u8>], number: u64, counts: &mut Counts) {
    let mut dice = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let bytes = mutated(seeds, &mut dice);
    let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut of_one = Counts::default();
        hold(&bytes, &mut of_one);
        of_one
    }));
    let Ok(of_one) = held else {
        panic!(
            "mutation {number}; again: SIGNET_SEED={number} cargo test --workspace --test protocol two_readers"
        );
    };
    counts.both += of_one.both;
    counts.left += of_one.left;
    counts.none += of_one.none;
}

fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn try_many(count: u64) -> Counts {
    let (seeds, first) = (seeds(), asked("SIGNET_SEED").unwrap_or(0));
    let mut counts = Counts::default();
    for number in first..first + count {
        try_one(&seeds, number, &mut counts);
    }
    counts
}

#[test]
fn twenty_thousand_mutations_are_read_alike_by_both() {
    let counts = try_many(QUICK);
    // Neither reader is left out: mutations of all three kinds are there in number.
    let least = QUICK / 20;
    assert!(
        counts.both > least && counts.left > least && counts.none > least,
        "{counts:?}"
    );
}

#[test]
#[ignore = "takes minutes: before a release, and after a change of either reader"]
fn a_million_mutations_are_read_alike_by_both() {
    println!("{:?}", try_many(MANY));
}

#[test]
#[ignore = "takes as long as SIGNET_READERS_SECONDS says"]
fn mutations_are_read_alike_by_both_for_as_long_as_asked() {
    let seconds = asked("SIGNET_READERS_SECONDS").unwrap_or(1);
    let (seeds, begun) = (seeds(), Instant::now());
    let (mut number, mut counts) = (asked("SIGNET_SEED").unwrap_or(MANY), Counts::default());
    while begun.elapsed() < Duration::from_secs(seconds) {
        try_one(&seeds, number, &mut counts);
        number += 1;
    }
    println!("up to mutation {number}: {counts:?}");
}

#[test]
fn every_vector_is_read_alike_by_both() {
    let mut counts = Counts::default();
    for seed in seeds() {
        hold(&seed, &mut counts);
        if let Ok(value) = parse(&seed, Limits::MESSAGE) {
            hold(&canonical(&value), &mut counts);
            hold(&serde_json::to_vec_pretty(&value).unwrap(), &mut counts);
        }
    }
    assert!(
        counts.both > 100 && counts.left > 100 && counts.none > 50,
        "{counts:?}"
    );
}

#[test]
fn a_vector_cut_or_changed_at_any_byte_is_read_alike_by_both() {
    let bytes = canonical(&seeds::with_body(
        json!({"a": "\u{e9}", "b": [1, 0.5, true, null]}),
    ));
    let mut counts = Counts::default();
    for place in 0..bytes.len() {
        hold(&bytes[..place], &mut counts);
        for byte in [
            b'"', b'\\', b',', b'}', b' ', b'0', b'a', b'A', b'-', 0, 0x1f, 0x7f, 0x80, 0xff,
        ] {
            let mut changed = bytes.clone();
            changed[place] = byte;
            hold(&changed, &mut counts);
            changed[place] = bytes[place];
            changed.insert(place, byte);
            hold(&changed, &mut counts);
        }
        let mut shorter = bytes.clone();
        shorter.remove(place);
        hold(&shorter, &mut counts);
    }
    assert!(counts.both > 1_000 && counts.none > 10_000, "{counts:?}");
}

#[test]
fn every_method_is_read_in_one_pass_but_those_that_are_named() {
    let mut read = std::collections::BTreeSet::new();
    for seed in seeds() {
        if let Some(read_one) = Unverified::parse_canonical(&seed) {
            let method = read_one.claims().form.method();
            read.insert(method.map_or("success", Method::as_str));
        }
    }
    let expected = Method::ALL.iter().filter(|method| !method.is_handshake());
    let expected: std::collections::BTreeSet<_> = expected.map(|method| method.as_str()).collect();
    let missing: Vec<_> = expected.difference(&read).collect();
    assert!(
        missing.is_empty() && read.contains("success"),
        "{missing:?}"
    );
}

#[test]
fn a_long_name_list_costs_the_fast_reader_no_more_than_its_length() {
    let members: Vec<String> = (0..9_000)
        .map(|number| format!("\"{number:05}\":0"))
        .collect();
    let body: Value = serde_json::from_str(&format!("{{{}}}", members.join(","))).unwrap();
    let mut counts = Counts::default();
    hold(&canonical(&seeds::with_body(body)), &mut counts);
    assert_eq!(counts.both, 1);
}
