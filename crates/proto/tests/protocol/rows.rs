//! State as rows: read back anywhere in a past and told the rest, it is the state of the whole past.

use std::collections::BTreeSet;

use signet_proto::envelope::Method;
use signet_proto::node::{Content, Node, ROWS_VERSION, Row, Sending, TABLES};
use signet_proto::policy::Policy;

use crate::forge;
use crate::household::forger::{call, refusal, talking};
use crate::household::net::Net;
use crate::household::people::{does, remembered, same_rows};
use crate::household::{self, Agent, alice_and_bob, at, identity};

/// Two agents who talk, answer, fail and are cut off, for a while.
fn past(seed: u64) -> Net {
    let (alice, bob) = alice_and_bob();
    let mut net = Net::new(vec![alice, bob], seed);
    (net.loss, net.copies, net.delay) = (seed % 30, 10, 1 + seed * 30);
    for _ in 0..40 {
        let who = net.dice.below(2) as usize;
        match net.dice.below(6) {
            0 | 1 => drop(net.ask(who, 1 - who)),
            2 => drop(net.send(who, 1 - who, Sending::Ping)),
            3 => drop(net.send(who, 1 - who, short())),
            4 => fail_one(&mut net, who),
            _ => answer_one(&mut net, who),
        }
        let wait = net.dice.below(4_000) as i64;
        net.run_for(wait);
    }
    net
}

fn short() -> Sending {
    Sending::Notification(Content {
        life: Some(std::time::Duration::from_secs(2)),
        ..Content::default()
    })
}

fn answer_one(net: &mut Net, who: usize) {
    let waiting = net.agents[who].node.inbox().after(0).collect::<Vec<_>>();
    let request = waiting
        .iter()
        .find(|item| item.message.form.method() == Some(signet_proto::envelope::Method::Request));
    if let Some(item) = request {
        net.reply(who, item.message.headers.message_id);
    }
}

fn fail_one(net: &mut Net, who: usize) {
    let at = net.at(who);
    let item = net.agents[who].node.inbox().after(0).next();
    let Some(item) = item else { return };
    let headers = &item.message.headers;
    let (peer, name) = (headers.agent_id.clone(), headers.message_id);
    for _ in 0..5 {
        let agent = &mut net.agents[who];
        let Ok((_, outcome)) = agent.node.turn(at).inbox().start(&peer, name) else {
            break;
        };
        agent.keep(at, outcome);
        let failed = agent
            .node
            .turn(at)
            .inbox()
            .fail(&peer, name, "exit status 1");
        let Ok((_, outcome)) = failed else { break };
        agent.keep(at, outcome);
    }
}

#[test]
fn read_back_anywhere_and_told_the_rest_every_row_is_the_same() {
    for seed in 1..=6 {
        let net = past(seed);
        remembered(&net);
        let agent = &net.agents[0];
        let now = net.at(0);
        for cut in 0..=agent.log.len() {
            same_rows(&agent.restored(cut), &agent.retold(), now);
        }
    }
}

/// Hundreds of ids and numbers share a row: cuts fall between the rows, and within them.
#[test]
fn behind_hundreds_of_messages_every_row_is_the_same_too() {
    let mut net = talking();
    for _ in 0..700 {
        net.send(0, 1, Sending::Ping);
        net.run_for(100);
    }
    let now = net.at(1);
    let agent = &net.agents[1];
    let rows = agent.node.snapshot(now.now).rows();
    for table in ["names", "windows"] {
        let rows = rows.iter().filter(|row| row.table == table).count();
        assert!((3..50).contains(&rows), "{table}: {rows}");
    }
    let told = agent.retold();
    for cut in (0..=agent.log.len()).step_by(97) {
        same_rows(&agent.restored(cut), &told, now);
    }
    same_rows(&agent.node, &told, now);
}

/// A line of which only the headers are kept has three digits where the message had nine.
#[test]
fn a_refused_message_with_times_of_nine_digits_leaves_the_rows_that_its_line_tells() {
    let mut net = talking();
    let bytes = call(&net, Method::Request, 1, |_, _| {});
    let mut value = forge::read(&bytes);
    let headers = forge::headers(&mut value);
    headers.insert("data-tier".into(), 3.into());
    for name in ["timestamp", "expires-at"] {
        let time = headers[name].as_str().unwrap().replace('Z', "456789Z");
        headers.insert(name.into(), time.into());
    }
    let bytes = forge::sign(value, &household::forger::bob().signing);
    assert_eq!(refusal(&mut net, &bytes), Some("seal-required"));
    remembered(&net);
}

/// Sorted as text, 10 comes before 9.
#[test]
fn groups_of_numbers_come_by_their_keys_as_text() {
    let mut net = talking();
    net.ask(1, 0);
    net.run_for(10_000);
    let own = rows(&net);
    let window = own.iter().find(|row| row.table == "windows");
    let window = window.unwrap().clone();
    let session = window.key.strip_suffix(" 0").unwrap();
    let more = [9, 10, 11].map(|group| Row {
        key: format!("{session} {group}"),
        ..window.clone()
    });
    let node = read([own, more.to_vec()].concat()).unwrap();
    let keys = node.snapshot(at(0).now);
    let keys: Vec<_> = keys.table("windows").map(|row| row.key).collect();
    let expected = [0, 10, 11, 9].map(|group| format!("{session} {group}"));
    assert_eq!(keys, expected);
}

#[test]
fn a_node_that_was_read_back_goes_on_talking_and_takes_nothing_twice() {
    let mut net = past(3);
    for who in [0, 1] {
        let agent = &mut net.agents[who];
        agent.node = agent.restored(agent.log.len() / 2);
        let now = net.at(who);
        let outcome = net.agents[who].node.turn(now).resume();
        let effects = net.agents[who].keep(now, outcome);
        net.perform(who, effects);
    }
    net.run_for(600_000);
    let asked = net.ask(0, 1);
    net.run_for(60_000);
    for (_, entry) in net.agents[1].log.clone() {
        if let signet_proto::entry::Entry::Message(verdict) = entry
            && let Some(message) = verdict.message()
            && verdict.ruling == signet_proto::entry::Ruling::Accepted
        {
            let name = message.headers.message_id;
            let taken = household::net::times_taken(&net.agents[1], name);
            assert_eq!(taken, 1, "{name}");
        }
    }
    assert_eq!(household::net::times_taken(&net.agents[1], asked), 1);
}

fn rows(net: &Net) -> Vec<Row> {
    net.agents[0].node.snapshot(net.at(0).now).rows()
}

fn read(rows: Vec<Row>) -> Result<Node, String> {
    let read = rows.into_iter();
    let read = read.map(|row| (row.table.to_owned(), row.key, row.value));
    let identity = identity("agent-alice", "alice");
    let node = Node::restore(identity, Policy::default(), [1; 32], read);
    node.map_err(|error| error.to_string())
}

#[test]
fn every_table_is_named_and_no_key_stands_twice_in_one() {
    let rows = rows(&past(2));
    let mut keys: Vec<_> = rows.iter().map(|row| (row.table, &row.key)).collect();
    let all = keys.len();
    assert!(keys.iter().all(|(table, _)| TABLES.contains(table)));
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((keys.len(), ROWS_VERSION), (all, 5));
}

/// What cannot be read is named, and never half taken: the log makes it again.
#[test]
fn a_damaged_row_is_refused_by_its_name_and_no_text_makes_the_reader_panic() {
    let whole = rows(&talking());
    assert!(read(whole.clone()).is_ok());
    for (place, row) in whole.iter().enumerate() {
        for value in ["", "null", "{}", "[]", "{\"place\":-1}", "7"] {
            let mut damaged = whole.clone();
            damaged[place].value = value.to_owned();
            if let Err(error) = read(damaged) {
                assert!(error.contains("cannot be read"), "{error}");
                assert!(error.contains(row.table), "{error}");
            }
        }
        let mut strange = whole.clone();
        strange[place].key.push_str(" x y z");
        assert!(
            read(strange).is_err() || row.table == "node",
            "{}",
            row.table
        );
    }
}

#[test]
fn plaintext_of_sealed_drafts_and_messages_stands_in_no_row() {
    let mut agents = vec![
        household::sealing::agent("agent-alice", "alice"),
        household::sealing::agent("agent-bob", "bob"),
    ];
    household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    let secret = household::sealing::secret();
    let words = household::sealing::MARKER;
    net.send(0, 1, Sending::Request(secret.clone()));
    let waiting = net.agents[0].node.snapshot(at(0).now).rows();
    assert!(waiting.iter().any(|row| row.table == "drafts"));
    net.run_for(5_000);
    let all = net
        .agents
        .iter()
        .flat_map(|agent: &Agent| agent.node.snapshot(at(0).now).rows());
    for row in all.chain(waiting) {
        assert!(!row.value.contains(words), "{}", row.table);
    }
}

#[test]
fn the_rows_of_a_table_come_by_their_keys() {
    let mut agents = vec![
        Agent::new("agent-a", "alice"),
        Agent::new("agent-b", "bob"),
        Agent::new("agent-b-2", "bert"),
        Agent::new("agent-b2", "bella"),
    ];
    household::sealing::introduce(&mut agents);
    let mut net = Net::new(agents, 1);
    for round in 0..15 {
        for peer in 1..4 {
            net.ask(peer, 0);
            net.ask(0, peer);
        }
        net.run_for(1_000 + round);
    }
    let snapshot = net.agents[0].node.snapshot(net.at(0).now);
    let mut rows = Vec::new();
    for table in TABLES {
        let of_table: Vec<Row> = snapshot.table(table).collect();
        let keys: Vec<_> = of_table.iter().map(|row| row.key.as_str()).collect();
        assert!(
            keys.is_sorted_by(|one, next| one < next),
            "{table}: {keys:?}"
        );
        assert!(of_table.iter().all(|row| row.table == table));
        rows.extend(of_table);
    }
    assert_eq!(rows, snapshot.rows());
    let count = |table| rows.iter().filter(|row| row.table == table).count();
    for table in ["windows", "names", "inbox", "sessions"] {
        assert!(count(table) >= 3, "{table}");
    }
}

/// A store writes a row over another of the same key: all but one of the messages would be lost with the next start.
#[test]
fn each_message_that_was_set_aside_has_a_row_of_its_own_and_they_come_back_in_their_order() {
    let mut net = talking();
    for _ in 0..3 {
        net.ask(0, 1);
        net.run_for(1_000);
    }
    let alice = net.agents[0].id();
    does(&mut net, 1, |node, at| {
        node.turn(at).people().withdraw(&alice).unwrap()
    });
    let bob = &net.agents[1];
    let snapshot = bob.node.snapshot(net.at(1).now);
    let keys: Vec<_> = snapshot.table("aside").map(|row| row.key).collect();
    assert_eq!(keys, ["0", "1", "2", "3"]);
    let names = |node: &Node| -> Vec<_> {
        let aside = node.inbox().aside();
        aside.map(|message| message.headers.message_id).collect()
    };
    let again = bob.restored(bob.log.len());
    assert_eq!(names(&again), names(&bob.node));
    assert_eq!(names(&again).len(), 4);
}

/// By them a start is held against the log: what they do not tell apart is never repaired.
#[test]
fn the_sums_of_a_snapshot_are_one_for_each_row_but_those_that_pass() {
    let mut net = talking();
    let sums = |net: &Net| net.agents[0].node.snapshot(net.at(0).now).sums();
    let before = sums(&net);
    let lasting = rows(&net)
        .iter()
        .filter(|row| row.table != "passing")
        .count();
    let distinct: BTreeSet<_> = before.iter().collect();
    assert_eq!((before.len(), distinct.len()), (lasting, lasting));
    assert!(before.is_sorted());
    net.ask(0, 1);
    net.run_for(1_000);
    assert_ne!(sums(&net), before);
    let agent = &net.agents[0];
    let again = agent.restored(agent.log.len()).snapshot(net.at(0).now);
    assert_eq!(again.sums(), agent.retold().snapshot(net.at(0).now).sums());
}
