//! `signet handle` by a file, beside real daemons over a real NATS server: agents that behave, and agents that do not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    dead_code,
    missing_docs
)]

#[path = "../kinds/agent.rs"]
mod agent;
mod commands;
mod faults;
mod life;
mod progress;

use std::process::{Child, Stdio};

use serde_json::{Value, json};
use signet_testkit::{Home, House, eventually};

/// `signet handle` of a home, for as long as a test needs it.
pub struct Handling(Child);

impl Drop for Handling {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Handling {
    pub fn start(home: &Home, file: &str) -> Self {
        std::fs::write(home.dir.join("handlers.toml"), file).unwrap();
        let mut command = home.command(&["handle"]);
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.stderr(Stdio::inherit()).spawn().unwrap())
    }

    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Alice and Bob, whose programs may offer anything that begins with `test.`.
pub fn alice_and_bob(house: &House) -> (Home, Home) {
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    bob.configure("# allow = []", "allow = [\"test.*\"]");
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    bob.ping(&alice);
    (alice, bob)
}

/// Waits until Alice knows that Bob offers it.
pub fn offered(alice: &Home, bob: &Home, capability: &str) {
    eventually("the capability is offered", || {
        let shown = alice
            .call("peer.show", &json!({"peer": bob.agent}))
            .unwrap();
        shown["capabilities"]
            .to_string()
            .contains(capability)
            .then_some(())
    });
}

pub fn ask(alice: &Home, bob: &Home, capability: &str, body: &Value, wait: f64) -> Value {
    let asked = json!({
        "peer": bob.agent, "kind": "request", "capability": capability, "body": body, "wait": wait,
    });
    alice.call("send", &asked).unwrap()
}
