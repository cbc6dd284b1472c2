//! Attacks on the disk: what anybody can write into a log in a day, at full speed. The numbers are those
//! of docs/threat-model.md, "What others can write into a log".
//!
//! Each bound is so many bytes at once and so many a day, which come back evenly. A test that lasts three
//! virtual hours at more than that rate so measures an eighth of a day: `at once + a day / 8`.

use std::sync::Arc;
use std::time::Duration;

use signet_proto::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use signet_proto::envelope::Method;
use signet_proto::ids::Digest;
use signet_proto::node::Sending;
use signet_proto::receipt::{Exception, Receipt};
use signet_proto::reject::Reason;

use crate::household::forger::{bob, call, hear, name, receipt, talking};
use crate::household::net::{Net, message_of, resign};
use crate::household::people::{decree_at, remembered, revocation, revoking};
use crate::household::{self, Agent, at, published, reread};

const MIB: u64 = 1024 * 1024;
/// How long a test lasts, in virtual milliseconds.
const LENGTH: i64 = 3 * HOUR;
const HOUR: i64 = 3600 * 1000;
/// What stands before a line's kind, and its end: `{"v":1,"seq":…,"ts":"…","prev":"…",` and `}`.
const CHAIN: u64 = 160;

fn is_in(verdict: &Verdict) -> bool {
    verdict.direction == Direction::In
}

/// The bytes of the lines from line `from` on that are meant.
fn bytes(agent: &Agent, from: usize, meant: impl Fn(&Entry) -> bool) -> u64 {
    let lines = agent.log[from..].iter().filter(|(_, entry)| meant(entry));
    let length = |(_, entry): &(_, Entry)| {
        let mut line = Vec::new();
        entry.write(&mut line);
        line.len() as u64 + CHAIN
    };
    lines.map(length).sum()
}

fn verdict(entry: &Entry) -> Option<&Verdict> {
    match entry {
        Entry::Message(verdict) => Some(verdict),
        _ => None,
    }
}

fn is_of(entry: &Entry, methods: &[Method]) -> bool {
    let message = verdict(entry).and_then(Verdict::message);
    let method = message.and_then(|message| message.form.method());
    method.is_some_and(|method| methods.contains(&method))
}

/// Feeds Alice what Bob makes, `every` so many virtual milliseconds and `at_once` times at the start, and
/// lets her timers run.
fn pour(
    net: &mut Net,
    at_once: u64,
    every: i64,
    make: impl FnMut(&Net, u64) -> Arc<[u8]>,
) -> usize {
    pour_for(LENGTH, net, at_once, every, make)
}

fn pour_for(
    length: i64,
    net: &mut Net,
    at_once: u64,
    every: i64,
    mut make: impl FnMut(&Net, u64) -> Arc<[u8]>,
) -> usize {
    let (from, end) = (net.agents[0].log.len(), net.now + length);
    let mut number = 0;
    while net.now < end {
        let burst = if number == 0 { at_once } else { 1 };
        for _ in 0..burst {
            number += 1;
            let bytes = make(net, number);
            hear(net, 0, &bytes);
        }
        net.now += every;
        let at = net.at(0);
        net.agents[0].tick(at);
    }
    from
}

/// The most that a bound allows in three hours is what was written, and nearly that was.
fn measured(what: &str, written: u64, at_once: u64, a_day: u64, longest: u64) {
    let most = at_once + a_day / 8;
    println!("{what}: {written} bytes in three hours, at most {most}");
    assert!(written <= most + longest, "{what}: {written} of {most}");
    assert!(written >= most - most / 8, "{what}: {written} of {most}");
}

/// Bob's notification with a hop too many: refused, whatever it carries.
fn refused(net: &Net, number: u64, length: usize) -> Arc<[u8]> {
    call(net, Method::Notification, number, |draft, _| {
        draft.hops = 9;
        draft.body = Some("x".repeat(length).into());
    })
}

#[test]
fn of_refused_messages_over_the_budget_headers_and_hash_are_left() {
    let mut net = talking();
    let from = net.agents[0].log.len();
    let mut whole = 0;
    for number in 1..=100 {
        let bytes = call(&net, Method::Request, number, |draft, _| {
            draft.hops = 9;
            draft.summary = Some("words".to_owned());
            draft.body = Some("x".repeat(230_000).into());
        });
        let before = net.agents[0].log.len();
        let (reason, effects) = hear(&mut net, 0, &bytes);
        assert_eq!(reason, Some("hops-exceeded"));
        let entry = &net.agents[0].log[before].1;
        let verdict = verdict(entry).unwrap();
        let is_whole = matches!(verdict.evidence, Evidence::Whole(_));
        let answered = !published(&effects).is_empty();
        assert_eq!(answered, is_whole, "else the next receipt tells why");
        whole += u64::from(is_whole);
        if is_whole {
            assert_eq!(whole, number, "the first ones");
            continue;
        }
        assert_eq!(verdict.hash, message_of(&bytes).hash());
        let mut line = Vec::new();
        entry.write(&mut line);
        let line = String::from_utf8(line).unwrap();
        assert!(
            line.contains("\"headers\":") && line.len() < 2_000,
            "{line}"
        );
        assert!(!line.contains("words"), "the summary is no header");
        let again = reread(entry);
        assert_eq!(reread(&again), again);
        assert_eq!(
            hear(&mut net, 0, &bytes).0,
            Some("duplicate"),
            "judged once"
        );
    }
    assert!((17..=20).contains(&whole), "{whole} of 4 MiB");
    let written = bytes(&net.agents[0], from, |_| true);
    assert!(written < 5 * MIB, "{written} bytes");
    remembered(&net);
    // A receipt of Alice's names all hundred refused messages, also those of which her log has only the headers.
    net.run_for(10_000);
    let mut receipts = net.sent.iter().filter_map(|(_, who, bytes)| {
        let message = message_of(bytes);
        let is_receipt = *who == 0 && message.form.method() == Some(Method::Receipt);
        is_receipt.then(|| Receipt::parse(message.body()?))?
    });
    assert!(receipts.any(|receipt| (receipt.through, receipt.except.len()) == (100, 100)));
}

#[test]
fn refused_mail_of_a_bound_peer() {
    let mut net = talking();
    let from = pour(&mut net, 60, 30_000, |net, n| refused(net, n, 150_000));
    let whole = |entry: &Entry| {
        verdict(entry)
            .is_some_and(|verdict| is_in(verdict) && matches!(verdict.evidence, Evidence::Whole(_)))
    };
    let written = bytes(&net.agents[0], from, whole);
    measured("refused, whole", written, 4 * MIB, 16 * MIB, 160_000);
}

#[test]
fn headers_of_refused_mail_of_a_bound_peer() {
    let mut net = talking();
    // Long headers use up the bound with fewer messages, and one hour is enough, where the other tests take three.
    let from = pour_for(HOUR, &mut net, 10_000, 800, |net, number| {
        call(net, Method::Notification, number, |draft, _| {
            draft.hops = 9;
            draft.capability = "c".repeat(127).parse().ok();
            draft.conversation_id = "d".repeat(128).parse().ok();
        })
    });
    let refused = |entry: &Entry| {
        verdict(entry).is_some_and(|verdict| is_in(verdict) && verdict.reason().is_some())
    };
    let written = bytes(&net.agents[0], from, refused);
    // `measured` allows for three hours, an eighth of a day's bytes: for this one hour, give it a third of 80 MiB a
    // day.
    measured("refused", written, 12 * MIB, 80 * MIB / 3, 4_000);
    let floods = net.agents[0].log.iter();
    let floods = floods.filter_map(|(_, entry)| match entry {
        Entry::Flood(flood) => Some(flood.count),
        _ => None,
    });
    assert!(floods.sum::<u64>() > 1_000, "and the rest is counted");
    let bob = net.agents[1].id();
    let standing = net.agents[0].node.standing(&bob, net.at(0).now);
    assert!(standing.over_budget > 1_000, "the person sees whose");
}

#[test]
fn receipts_of_a_bound_peer_and_ours_to_it() {
    let mut net = talking();
    let reuse = Exception {
        reason: "x".repeat(60),
        hash: Some(Digest([1; 32])),
    };
    let full = Receipt {
        through: 1,
        except: (1 << 52..).take(256).map(|n| (n, reuse.clone())).collect(),
        ..Receipt::default()
    };
    let from = pour(&mut net, 130, 10_000, |net, n| {
        let now = net
            .at(0)
            .now
            .saturating_add(Duration::from_millis(n % 1_000));
        receipt(net, n, now, &full)
    });
    let alice = &net.agents[0];
    let theirs = |entry: &Entry| is_of(entry, &[Method::Receipt]) && is_in(verdict(entry).unwrap());
    let written = bytes(alice, from, theirs);
    measured("receipts", written, 4 * MIB, 64 * MIB, 50_000);
}

/// Bob makes Alice's receipts long: each names 256 of his messages that she refused.
#[test]
fn receipts_that_a_bound_peer_calls_forth() {
    let mut net = talking();
    let from = net.agents[0].log.len();
    for number in 1..=256 {
        let bytes = refused(&net, number, 10);
        hear(&mut net, 0, &bytes);
    }
    let empty = Receipt {
        except: vec![(1, Exception::missing())],
        through: 1,
        ..Receipt::default()
    };
    let start = net.now;
    for number in 0..12_000_u64 {
        net.now += 1_100;
        let now = net.at(0).now;
        let bytes = receipt(&net, number, now, &empty);
        hear(&mut net, 0, &bytes);
        let at = net.at(0);
        net.agents[0].tick(at);
    }
    let ours = |entry: &Entry| is_of(entry, &[Method::Receipt]) && !is_in(verdict(entry).unwrap());
    let written = bytes(&net.agents[0], from, ours);
    let lasted = (net.now - start) as u64;
    let most = 4 * MIB + 64 * MIB * lasted / 86_400_000;
    println!("our receipts: {written} bytes in {lasted} ms, at most {most}");
    assert!(written <= most + 50_000, "{written} of {most}");
    assert!(written >= most / 2, "{written} of {most}");
    // When Bob has been quiet for a while, the budget has room: the receipt that waited goes out, and nothing is due at
    // once.
    let before = net.agents[0].log.len();
    net.now += 120_000;
    let at = net.at(0);
    net.agents[0].tick(at);
    let late = bytes(&net.agents[0], before, ours);
    assert!(late > 0, "the receipt that waited goes out");
    let due = net.agents[0].node.poll_timeout(net.at(0)).unwrap();
    assert!(due > at.now, "she does not spin");
}

#[test]
fn decrees_of_a_bound_peer() {
    let mut net = talking();
    let told = revoking(&revocation("bob", "agent-bob-2", 1));
    let from = pour(&mut net, 900, 5_000, |net, n| {
        let to = &net.agents[0];
        decree_at(&bob(), to, n, Method::Revoke, told.clone(), net.at(0))
    });
    let theirs =
        |entry: &Entry| is_of(entry, &[Method::Revoke]) || matches!(entry, Entry::Revoked(_));
    let written = bytes(&net.agents[0], from, theirs);
    measured("decrees", written, MIB, 8 * MIB, 4_000);
}

#[test]
fn flights_of_a_bound_peer_and_ours_to_it() {
    let mut net = talking();
    let told = Sending::Notification(Default::default());
    let mut twin = Agent::new("agent-bob", "bob");
    twin.knows(&net.agents[0]);
    let alice = net.agents[0].id();
    let outcome = twin
        .node
        .turn(at(0))
        .sent()
        .send(&alice, told)
        .unwrap()
        .outcome;
    let announce = message_of(&published(&outcome.effects)[0].1);
    let from = pour(&mut net, 3_000, 4_000, |net, n| {
        let now = net.at(0).now.saturating_add(Duration::from_millis(n));
        resign(&bob(), &announce, |draft, stamp| {
            draft.message_id = name(n);
            stamp.now = now;
        })
    });
    let flights = [
        Method::Announce,
        Method::Verify,
        Method::Capability,
        Method::Trust,
    ];
    let written = bytes(&net.agents[0], from, |entry| {
        is_of(entry, &flights) || matches!(entry, Entry::Trust(..))
    });
    measured("flights", written, 8 * MIB, 64 * MIB, 16_000);
}

#[test]
fn strangers_altogether() {
    let mut net = talking();
    let from = pour(&mut net, 6_000, 500, |_, n| {
        format!("{{{n} {}", "junk ".repeat(300)).into_bytes().into()
    });
    let raw = |entry: &Entry| {
        verdict(entry).is_some_and(|verdict| matches!(verdict.evidence, Evidence::Raw(..)))
    };
    let alice = &net.agents[0];
    let written = bytes(alice, from, raw);
    measured("strangers", written, 8 * MIB, 64 * MIB, 4_000);
    let floods = bytes(alice, from, |entry| matches!(entry, Entry::Flood(_)));
    println!("flood lines: {floods} bytes");
    assert!(floods <= LENGTH as u64 / 1_000 * 400, "{floods}");
}

/// Accepted mail is bounded by the calls that were granted: 8 a minute here, of 100 kB, for an hour.
#[test]
fn accepted_mail_of_a_bound_peer() {
    let mut net = talking_with(8);
    let (from, length) = (net.agents[0].log.len(), 100_000);
    let start = net.now;
    let mut number = 0;
    while net.now < start + 3_600_000 {
        number += 1;
        let bytes = call(&net, Method::Notification, number, |draft, _| {
            draft.body = Some("x".repeat(length).into());
        });
        hear(&mut net, 0, &bytes);
        let waiting: Vec<_> = net.agents[0].node.inbox().after(0).collect();
        let taken = waiting.iter().map(|item| {
            let headers = &item.message.headers;
            (headers.agent_id.clone(), headers.message_id)
        });
        let at = net.at(0);
        let outcome = net.agents[0]
            .node
            .turn(at)
            .inbox()
            .acknowledge(&taken.collect::<Vec<_>>())
            .unwrap();
        net.agents[0].keep(at, outcome);
        net.now += 5_000;
    }
    let accepted =
        |entry: &Entry| verdict(entry).is_some_and(|verdict| verdict.ruling == Ruling::Accepted);
    let written = bytes(&net.agents[0], from, accepted);
    let most = (8 * 60 + 9) * (length as u64 + 3_000);
    println!("accepted: {written} bytes in an hour, at most {most}");
    assert!(written <= most && written >= most / 10 * 9, "{written}");
}

/// What a peer can fill in a day, as the threat model says: a log escapes what drives a terminal, and so a body of such
/// characters takes six times its length, which no limit in calls a minute counts.
#[test]
fn accepted_mail_of_hidden_characters_fills_what_the_threat_model_says() {
    let page = include_str!("../../../../docs/threat-model.md");
    for (a_minute, said) in [
        (120, "with the 120 of a new home 254 GB"),
        (10, "with 10 21 GB"),
    ] {
        let most = a_minute * 1_440 * 6 * signet_proto::envelope::MAX_MESSAGE;
        let gigabytes = most / 1_000_000_000;
        assert!(said.ends_with(&format!(" {gigabytes} GB")), "{gigabytes}");
        assert!(page.contains(said), "{said}");
    }
}

fn talking_with(per_minute: u32) -> Net {
    use signet_proto::policy::Policy;
    let alice = Agent::with(move || {
        let policy = Policy {
            messages_per_minute: Some(per_minute),
            ..Policy::default()
        };
        (household::identity("agent-alice", "alice"), policy)
    });
    let mut agents = vec![alice, Agent::new("agent-bob", "bob")];
    household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    net.ask(0, 1);
    net.run_for(10_000);
    net
}

/// What a peer does not get judged now it may say later: the budget comes back.
#[test]
fn a_peer_over_its_budgets_is_heard_again_when_they_have_room() {
    let mut net = talking();
    let mut counted = None;
    for n in 1..20_000 {
        let bytes = match n {
            1..40 => refused(&net, n, 200_000),
            _ => refused(&net, n, 10),
        };
        if hear(&mut net, 0, &bytes).0.is_none() {
            counted = Some((n, bytes));
            break;
        }
    }
    let (n, bytes) = counted.expect("the budget of headers ends as well");
    let log = net.agents[0].log.len();
    hear(&mut net, 0, &bytes);
    assert_eq!(net.agents[0].log.len(), log, "no line");
    let good = call(&net, Method::Notification, n + 1, |_, _| {});
    assert_eq!(hear(&mut net, 0, &good).0, None);
    assert!(net.agents[0].log.len() > log, "what is taken is written");
    net.now += 600_000;
    let (reason, _) = hear(&mut net, 0, &bytes);
    assert_eq!(reason, Some(Reason::HopsExceeded.name()), "judged now");
    assert_eq!(hear(&mut net, 0, &bytes).0, Some("duplicate"));
    remembered(&net);
}
