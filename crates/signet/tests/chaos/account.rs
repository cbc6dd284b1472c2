//! The count at the end: where each message is, held against both logs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::time::Timestamp;

use signet_testkit::Home;
use signet_testkit::log::{header, messages};

/// A peer that fell silent is tried again after five minutes, and once more after ten.
pub(crate) const PATIENCE: Duration = Duration::from_secs(16 * 60);

/// A message that a daemon said it had taken.
pub(crate) struct Sent {
    pub(crate) side: usize,
    pub(crate) id: String,
    pub(crate) number: u64,
}

/// Whether nothing of `home` for `peer` is under way.
pub(crate) fn is_quiet(home: &Home, peer: &Home) -> bool {
    let shown = shown(home, peer);
    shown["waiting"] == 0 && shown["unconfirmed"] == 0 && home.inbox().is_empty()
}

pub(crate) fn shown(home: &Home, peer: &Home) -> Value {
    let shown = home.call("peer.show", &json!({"peer": peer.agent}));
    shown.unwrap_or_default()
}

/// Every message in one word that is true; logs that hold, alone and together; no line signed outside its
/// certificate; few resends.
///
/// The share of resends says something of a long run alone: a lost store has everything sent again, and a short
/// run has little else.
pub(crate) fn account(alice: &Home, bob: &Home, sent: &[Sent], is_long: bool) {
    let logs = [alice.walk(), bob.walk()];
    let homes = [alice, bob];
    let taken = logs
        .each_ref()
        .map(|log| counts(log, "accepted", "message-id"));
    let refused = logs
        .each_ref()
        .map(|log| counts(log, "rejected", "message-id"));
    let answers = logs
        .each_ref()
        .map(|log| counts(log, "accepted", "in-reply-to"));
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    for message in sent {
        let (own, theirs) = (message.side, 1 - message.side);
        let peer = &homes[theirs].agent;
        let told = homes[own]
            .call("message.status", &json!({"message-id": message.id}))
            .unwrap_or_else(|error| panic!("{} is lost: {error}", message.id));
        let word = told["state"].as_str().unwrap().to_owned();
        let of = |counts: &BTreeMap<&str, usize>| counts.get(&*message.id).copied().unwrap_or(0);
        let (taken, refused) = (of(&taken[theirs]), of(&refused[theirs]));
        let answered = of(&answers[own]) > 0;
        let is_true = match word.as_str() {
            "received" => taken == 1,
            "answered" => taken == 1 && answered,
            "refused" => taken == 0 || answered,
            // `expired` and `unknown` promise nothing about the arrival: the peer may have accepted the message or not,
            // but not twice.
            "expired" | "unknown" => taken <= 1,
            _ => false,
        };
        assert!(
            is_true,
            "message {} ({}) to {peer} is {told}, and there {taken} times accepted, {refused} times refused",
            message.number, message.id
        );
        *words.entry(word).or_default() += 1;
    }
    println!("{} messages: {words:?}", sent.len());
    assert!(
        sent.len() > 20,
        "a test in which nobody talked proves nothing"
    );
    for (home, log) in homes.iter().zip(&logs) {
        nothing_twice(home, log);
        within_certificate(home, log);
        let resends = resends(home, log);
        assert!(
            !is_long || resends * 10 < log.len(),
            "{}: {resends} of {} lines are resends",
            home.agent,
            log.len()
        );
        let folder = home.dir.join("audit").join(&home.agent);
        home.done(&["audit", "verify", folder.to_str().unwrap()]);
    }
    let folders = homes.map(|home| home.dir.join("audit").join(&home.agent));
    let [one, other] = folders.each_ref().map(|folder| folder.to_str().unwrap());
    alice.done(&["audit", "verify", one, other]);
}

/// How often each id stands under a header of what came in with this verdict.
fn counts<'a>(log: &'a [Value], verdict: &'a str, name: &str) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for line in messages(log, "in", verdict) {
        *counts.entry(header(line, name)).or_default() += 1;
    }
    counts
}

fn nothing_twice(home: &Home, log: &[Value]) {
    let mut seen = BTreeSet::new();
    for line in messages(log, "in", "accepted") {
        let id = (header(line, "agent-id"), header(line, "message-id"));
        assert!(seen.insert(id), "{} took it twice: {line}", home.agent);
    }
}

fn within_certificate(home: &Home, log: &[Value]) {
    let certificate = &log[0]["certificate"];
    let time = |text: &Value| text.as_str().unwrap().parse::<Timestamp>().unwrap();
    let (from, until) = (
        time(&certificate["not-before"]),
        time(&certificate["not-after"]),
    );
    for line in messages(log, "out", "sent") {
        let signed: Timestamp = header(line, "timestamp").parse().unwrap();
        assert!(
            from <= signed && signed <= until,
            "{} signed outside its certificate: {line}",
            home.agent
        );
    }
}

fn resends(home: &Home, log: &[Value]) -> usize {
    let resends = log.iter().filter(|line| line["reason"] == "duplicate");
    let resends = resends.count();
    println!("{}: {resends} resends in {} lines", home.agent, log.len());
    resends
}
