//! A flood of announces from strangers, each signed and new: what is heard of it, and what is not.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::house::bus::{Sender, Watch};
use crate::house::flood::{Accounts, announces, pour};
use crate::house::{Home, House, eventually};

const STRANGERS: usize = 1_000;
/// Announces a second, at most.
const RATE: f64 = 20_000.0;
const LENGTH: Duration = Duration::from_secs(4);
/// How many strangers may wait for a person's word (docs/protocol.md, limits).
const WAITING: u64 = 16;

#[test]
fn strangers_who_announce_themselves_by_thousands_gain_a_few_lines_and_hide_no_peers_message() {
    let _turn = crate::turn();
    let house = House::new();
    let (alice, mut bob) = house.alice_and_bob();
    alice.ping(&bob);
    let inputs = announces(STRANGERS, &bob);
    let theirs = |number| format!("agent.agent-stranger-{number}.inbox");
    let theirs: Vec<String> = (0..STRANGERS).map(theirs).collect();
    let watch = Watch::at(&house, &theirs);
    let mut sender = Sender::new(&house);
    let (before, start) = (Accounts::of(&bob.log()), Instant::now());
    let (said, sent) = said_meanwhile(&alice, &bob, || {
        pour(&mut sender, &bob.subject(), &inputs, RATE, LENGTH)
    });
    let heard = eventually("all that Alice said", || {
        let heard = names(&bob);
        (heard.len() >= said.len()).then_some(heard)
    });
    assert_eq!(heard, said);
    let flood = bob.accounts();
    let most = 1_000 + 100 * (start.elapsed().as_secs() + 1);
    assert_eq!(before.arrived(), 0);
    assert!(flood.counted > 0 && flood.lines <= most, "{flood:?}");
    assert!(flood.floods <= start.elapsed().as_secs() + 1, "{flood:?}");
    assert!(flood.arrived() <= sent, "{flood:?} of {sent}");
    assert!(
        flood.arrived() == sent || flood.gaps > 0,
        "{flood:?} of {sent}"
    );
    assert_eq!(watch.seen(), [], "answers to strangers");
    let waiting = bob.call("status", &json!({})).unwrap()["pending"].as_u64();
    assert!(
        waiting.is_some_and(|waiting| (1..=WAITING).contains(&waiting)),
        "{waiting:?} wait"
    );
    assert!(bob.stop().success());
    let log = bob.walk();
    let answered = |line: &&serde_json::Value| {
        line["dir"] == "out"
            && line["peer"]
                .as_str()
                .is_some_and(|peer| peer != alice.agent)
    };
    assert_eq!(log.iter().find(answered), None, "an answer to a stranger");
}

/// Notifications during `work`: their names, and what came of the work.
fn said_meanwhile<T>(from: &Home, to: &Home, work: impl FnOnce() -> T) -> (BTreeSet<String>, T) {
    let over = AtomicBool::new(false);
    scope(|scope| {
        let talker = scope.spawn(|| {
            let mut said = BTreeSet::new();
            while !over.load(Ordering::Relaxed) {
                let body = json!({"number": said.len()});
                said.insert(from.send(to, "notification", &body).unwrap());
                sleep(Duration::from_millis(25));
            }
            said
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        (talker.join().unwrap(), done)
    })
}

fn names(home: &Home) -> BTreeSet<String> {
    let inbox = home.inbox();
    let name = |message: &serde_json::Value| message["message-id"].as_str().unwrap().to_owned();
    inbox.iter().map(name).collect()
}
