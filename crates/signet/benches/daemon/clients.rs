//! What a client of another language costs over the bare socket: a request and its answer between two daemons, by the
//! package on both sides, in turn with the same by hand.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use signet_testkit::bench::{Bench, Limit};
use signet_testkit::{House, says};

/// Requests by each way.
const REQUESTS: usize = 500;
/// How much longer half of the requests may take, in milliseconds.
const MOST: f64 = 1.0;

/// The clients: their directory, what runs the measurement there, and what has to be built for it.
const CLIENTS: [(&str, &[&str], &str); 2] = [
    ("python", &["python3", "benches/overhead.py"], "src"),
    ("typescript", &["node", "benches/overhead.mjs"], "dist"),
];

pub(crate) fn run(mut bench: Bench) {
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients");
    for (name, command, built) in CLIENTS {
        if !clients.join(name).join(built).exists() {
            println!("{name:<12} NOT MEASURED: it is not built (scripts/typescript)");
            continue;
        }
        // Each client gets daemons of its own: log and inbox left by the client before it would slow the daemons down.
        let house = House::new();
        let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
        house.acquaint(&[&alice, &bob]);
        let fixed = ["fixed.lamp", "fixed.orders"];
        let fixed = fixed.map(|name| format!("[[capability]]\nname = \"{name}\"\n"));
        bob.configure("[offer]", &format!("{}[offer]", fixed.concat()));
        alice.start();
        bob.start();
        alice.ping(&bob);
        let measured = Command::new(command[0])
            .args(&command[1..])
            .current_dir(clients.join(name))
            .env("PYTHONPATH", "src")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("SIGNET_TEST_ALICE", &alice.dir)
            .env("SIGNET_TEST_BOB", &bob.dir)
            .env("SIGNET_TEST_REQUESTS", bench.size(REQUESTS, 6).to_string())
            .output();
        let measured = measured.unwrap_or_else(|error| panic!("{}: {error}", command[0]));
        assert!(measured.status.success(), "{}", says(&measured));
        let figures: Value = serde_json::from_slice(&measured.stdout).unwrap();
        println!("{name:<12} {figures}");
        let overhead = figures["overhead-p50"].as_f64().unwrap();
        bench.held(
            format!("{name}, p50 in ms over the bare socket"),
            overhead,
            Limit::Most(MOST),
        );
    }
    bench.end();
}
