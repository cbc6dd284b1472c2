//! A home whose first command is `run`: its log begins with the daemon, which has met nobody yet.

use signet::config::Config;
use signet::home::Home as Place;
use signet::keystore::AgentKeys;
use signet::lock::HomeLock;
use signet::memory::Memory;
use signet_proto::node::Node;

use crate::house::{Home, House};

/// The changes of trust that the log tells of the agent itself.
fn told_of_itself(home: &Home) -> Vec<String> {
    let lines = home.walk();
    let trust = lines.iter().filter(|line| line["kind"] == "trust");
    let own = trust.filter(|line| line["peer"] == home.agent.as_str());
    own.map(|line| line["change"].as_str().unwrap().to_owned())
        .collect()
}

/// Another signing key ends what the alarm about a second copy holds back: the node has to know of the change.
#[test]
fn a_home_that_ran_before_it_met_anybody_writes_down_its_changed_keys() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    alice.stop();
    assert!(alice.done(&["state", "compare"]).contains("row by row"));
    alice.done(&["key", "rotate", "signing"]);
    alice.start();
    alice.stop();
    assert_eq!(told_of_itself(&alice), ["renewed"]);
    assert!(alice.done(&["state", "compare"]).contains("row by row"));
}

/// As the first start of version 0.1.0 left it.
#[test]
fn a_state_that_was_told_nothing_of_the_logs_first_line_is_made_again() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    alice.stop();
    let place = Place::at(alice.dir.clone());
    let config = Config::load(&place).unwrap();
    {
        let lock = HomeLock::acquire(&place).unwrap();
        let mut memory = Memory::open(&lock, &config).unwrap();
        let keys = AgentKeys::open(&place, &config.agent).unwrap();
        let identity = keys.into_identity(config.agent.layers);
        let node = Node::new(identity, config.policy.clone(), [7; 32]);
        let rows = node.snapshot(signet::clock::now()).rows();
        let position = memory.log.position();
        memory.store.replace(&position, rows).unwrap();
    }
    alice.done(&["key", "rotate", "signing"]);
    alice.start();
    alice.stop();
    assert_eq!(told_of_itself(&alice), ["renewed"]);
    let lines = alice.walk();
    let rebuilt = lines.iter().filter(|line| line["kind"] == "rebuilt");
    assert_eq!(
        rebuilt.count(),
        1,
        "the log says that its state was made again"
    );
    assert!(alice.done(&["state", "compare"]).contains("row by row"));
}
