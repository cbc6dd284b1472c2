//! The log is the truth: a node told its own log again is the node that wrote it.

use std::sync::Arc;
use std::time::Duration;

use signet_proto::entry::{Direction, Entry, Ruling};
use signet_proto::envelope::Method;
use signet_proto::ids::MessageId;
use signet_proto::keys::{KeyTables, TableBudget};
use signet_proto::node::{Content, Judged, Node, Sending};
use signet_proto::policy::Policy;

use crate::household::forger::{call, hear, talking};
use crate::household::net::{Net, message_of, tale, times_taken};
use crate::household::{Agent, alice_and_bob, at, identity, published, reread};

const NAMES: [(&str, &str); 2] = [("agent-alice", "alice"), ("agent-bob", "bob")];

/// A conversation of many kinds of messages, on a network of moods.
fn conversation(seed: u64, steps: usize) -> Net {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], seed);
    (net.loss, net.copies, net.delay) = (seed % 30, 10, 1 + seed * 30);
    for _ in 0..steps {
        let who = net.dice.below(2) as usize;
        match net.dice.below(5) {
            0 | 1 => drop(net.ask(who, 1 - who)),
            2 => drop(net.send(who, 1 - who, Sending::Ping)),
            3 => answer_one(&mut net, who),
            _ => acknowledge_one(&mut net, who),
        }
        let wait = net.dice.below(4_000) as i64;
        net.run_for(wait);
    }
    net
}

fn answer_one(net: &mut Net, who: usize) {
    let mut waiting = net.agents[who].node.inbox().after(0);
    let request = waiting.find(|item| item.message.form.method() == Some(Method::Request));
    drop(waiting);
    if let Some(item) = request {
        net.reply(who, item.message.headers.message_id);
    }
}

fn acknowledge_one(net: &mut Net, who: usize) {
    let at = net.at(who);
    let Some(item) = net.agents[who].node.inbox().after(0).next() else {
        return;
    };
    let headers = &item.message.headers;
    let taken = [(headers.agent_id.clone(), headers.message_id)];
    let outcome = net.agents[who].node.turn(at).inbox().acknowledge(&taken);
    net.agents[who].keep(at, outcome.unwrap());
}

fn rebuilt(agent: &Agent, who: usize) -> Node {
    let identity = identity(NAMES[who].0, NAMES[who].1);
    let mut node = Node::new(identity, Policy::default(), [5; 32]);
    for (ts, entry) in &agent.log {
        node.recall(*ts, &reread(entry));
    }
    node
}

fn waiting(node: &Node) -> Vec<MessageId> {
    let items = node.inbox().after(0);
    items.map(|item| item.message.headers.message_id).collect()
}

#[test]
fn a_node_rebuilt_from_its_log_is_the_node_that_wrote_it() {
    let tables = |budget| Arc::new(KeyTables::new(budget));
    let (by_tables, without) = (tables(TableBudget::AT_ONCE), tables(TableBudget::OFF));
    for seed in 0..40 {
        let mut net = conversation(seed, 40);
        for who in [0, 1] {
            let mut again = rebuilt(&net.agents[who], who);
            let (now, peer) = (net.at(who), net.agents[1 - who].id());
            let live = &mut net.agents[who].node;
            assert_eq!(
                live.standing(&peer, now.now),
                again.standing(&peer, now.now)
            );
            assert_eq!(waiting(live), waiting(&again), "seed {seed}");
            let newest = |node: &Node| node.trust().peer(&peer).unwrap().newest().cloned();
            assert_eq!(newest(live), newest(&again));
            for (_, _, bytes) in net.sent.iter().filter(|(_, from, _)| *from != who) {
                // One verifies by tables of keys, the other without.
                let nodes = [(&mut *live, &by_tables), (&mut again, &without)];
                let verdicts = nodes.map(|(node, tables)| {
                    let view = node.trust().with_tables(Arc::clone(tables));
                    let judged = Judged::of(bytes, &view);
                    let outcome = node.turn(now).handle_inbound(judged);
                    outcome.entries.first().map(|entry| match entry {
                        Entry::Message(verdict) => (verdict.ruling, verdict.hash),
                        other => panic!("{other:?}"),
                    })
                });
                assert_eq!(verdicts[0], verdicts[1], "seed {seed}");
            }
            let next = [live, &mut again].map(|node| {
                let sent = node
                    .turn(now)
                    .sent()
                    .send(&peer, Sending::Ping)
                    .unwrap()
                    .outcome;
                let headers = |(_, bytes): &(_, std::sync::Arc<[u8]>)| {
                    let headers = message_of(bytes).headers;
                    (headers.session, headers.sequence)
                };
                let of = published(&sent.effects);
                of.iter().map(headers).collect::<Vec<_>>()
            });
            assert_eq!(next[0], next[1], "seed {seed}");
        }
    }
}

#[test]
fn an_accepted_ping_is_answered_once_after_a_crash() {
    let mut net = talking();
    let ping = call(&net, Method::Request, 1, |draft, _| {
        draft.capability = "signet.ping".parse().ok();
    });
    let before = net.agents[0].log.len();
    let (reason, effects) = hear(&mut net, 0, &ping);
    assert_eq!((reason, effects.len()), (None, 1));
    net.agents[0].log.truncate(before + 1);
    let answers = |agent: &Agent| {
        let answer = |(_, entry): &&(_, Entry)| {
            matches!(entry, Entry::Message(verdict) if verdict.direction == Direction::Out
                && verdict.message().unwrap().form.method().is_none())
        };
        agent.log.iter().filter(answer).count()
    };
    for _ in 0..3 {
        net.restart(0);
        assert_eq!(answers(&net.agents[0]), 1, "{}", tale(&net.agents[0]));
    }
}

/// Lines that change nothing in a node are not told to it, and their times count all the same.
#[test]
fn what_is_written_behind_a_line_that_says_nothing_lives_from_that_lines_time_on() {
    let (mut alice, bob) = alice_and_bob();
    let hour = 3_600_000;
    alice.node.pass_time(at(hour).now);
    let content = Content {
        life: Some(Duration::from_secs(60)),
        ..Content::default()
    };
    let mut turn = alice.node.turn(at(0));
    let sent = turn
        .sent()
        .send(&bob.id(), Sending::Notification(content))
        .unwrap();
    let mut drafts = alice.node.sent().drafts();
    let waits = drafts.find(|waiter| waiter.draft.message_id == sent.id);
    assert_eq!(waits.unwrap().until, at(hour + 60_000).now);
}

#[test]
fn what_was_not_acknowledged_waits_again() {
    let mut net = talking();
    let first = waiting(&net.agents[1].node);
    assert_eq!(first.len(), 1);
    net.restart(1);
    assert_eq!(waiting(&net.agents[1].node), first);
    acknowledge_one(&mut net, 1);
    net.restart(1);
    assert!(waiting(&net.agents[1].node).is_empty());
}

/// A log that ends earlier than it did is a restored backup: the peer has seen more than it says, and shows it when
/// either of the two says anything.
#[test]
fn a_log_cut_at_any_line_leaves_a_node_that_works() {
    for seed in 0..2 {
        let whole = conversation(seed, 10);
        for who in [0, 1] {
            for cut in 1..=whole.agents[who].log.len() {
                let (mut alice, mut bob) = alice_and_bob();
                alice.log = whole.agents[0].log.clone();
                bob.log = whole.agents[1].log.clone();
                [&mut alice, &mut bob][who].log.truncate(cut);
                let mut net = Net::new(vec![alice, bob], seed);
                net.now = whole.now + 1_000;
                net.restart(0);
                net.restart(1);
                net.run_for(30_000);
                let speaks = (who + seed as usize) % 2;
                net.send(speaks, 1 - speaks, Sending::Ping);
                net.run_for(30_000);
                let asked = [0, 1].map(|from| (1 - from, net.ask(from, 1 - from)));
                net.run_for(1_200_000);
                let story = || format!("seed {seed}, {who} cut at {cut}\n{}", both(&net));
                for (to, name) in asked {
                    let unknown = lost(&net, 1 - to, name);
                    let taken = times_taken(&net.agents[to], name);
                    assert_eq!(taken, usize::from(!unknown), "{}", story());
                }
                let later = [0, 1].map(|from| (1 - from, net.ask(from, 1 - from)));
                net.run_for(60_000);
                for (to, name) in later {
                    let taken = times_taken(&net.agents[to], name);
                    assert_eq!(taken, 1, "{name} {} {}", net.now, both(&net));
                }
                nothing_taken_twice(&net);
                let from = net.now;
                net.run_for(60_000);
                assert_eq!(net.sent_since(from, None), 0, "{}", both(&net));
            }
        }
    }
}

fn both(net: &Net) -> String {
    let [alice, bob] = [0, 1].map(|who| tale(&net.agents[who]));
    format!("alice:\n{alice}\nbob:\n{bob}")
}

/// Whether its sender was told that the fate of a message is unknown.
fn lost(net: &Net, from: usize, name: MessageId) -> bool {
    net.effects.iter().any(|(who, effect)| {
        *who == from
            && matches!(effect, signet_proto::node::Effect::Settle { message_id, state, .. }
                if *message_id == name && matches!(state.as_str(), "unknown" | "refused"))
    })
}

fn nothing_taken_twice(net: &Net) {
    for agent in &net.agents {
        let taken = agent.log.iter().filter_map(|(_, entry)| match entry {
            Entry::Message(verdict)
                if verdict.direction == Direction::In && verdict.ruling == Ruling::Accepted =>
            {
                Some(verdict.hash)
            }
            _ => None,
        });
        let mut taken: Vec<_> = taken.collect();
        let all = taken.len();
        taken.sort();
        taken.dedup();
        assert_eq!(taken.len(), all, "{}", tale(agent));
    }
}

#[test]
fn a_restart_in_the_middle_of_a_quiet_session_says_nothing() {
    let mut net = talking();
    let from = net.now;
    net.restart(0);
    net.run_for(60_000);
    assert_eq!(net.sent_since(from, None), 0);
    assert_eq!(at(0).head, net.at(0).head);
}
