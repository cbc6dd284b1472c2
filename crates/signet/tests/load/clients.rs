//! 64 clients of the agent's socket at once, half of them slow, silent or greedy.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use serde_json::json;
use signet::control::Client;
use signet_api::ShowStatus;

use crate::house::{Home, House};

/// Clients of each bad kind, and as many good ones as all bad ones together: 64, every place of the socket.
const EACH: usize = 8;
/// Calls of each good client.
const CALLS: usize = 20;
/// For one call of a good client. Whoever waited for a bad one would wait for ever.
const PATIENCE: Duration = Duration::from_secs(10);
/// What the daemon may hold for all of them: a line of 1 MiB and a batch's answers each, with room to spare.
const MOST: u64 = 64 * 1024;

#[test]
fn sixty_four_clients_half_of_them_slow_or_silent_keep_nobody_waiting() {
    let _turn = crate::turn();
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let (before, _) = alice.resident();

    let silent = clients(&alice, b"");
    let slow = clients(&alice, &line_without_end((1 << 20) - 1));
    let greedy = clients(&alice, &batch_whose_answers_nobody_reads());
    // Killed in mid-line: the places are free again.
    drop(clients(&alice, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth"));
    let beyond = clients(&alice, &line_without_end((1 << 20) + 1));

    thread::scope(|scope| {
        for _ in 0..4 * EACH {
            scope.spawn(|| {
                let mut client = Client::connect(&path(&alice), PATIENCE).unwrap();
                for _ in 0..CALLS {
                    assert_eq!(client.call(&ShowStatus {}).unwrap().agent, alice.agent);
                }
            });
        }
    });
    let (_, highest) = alice.resident();
    println!("{before} KiB before, {highest} KiB at most");
    assert!(highest < before + MOST, "{before} KiB, then {highest} KiB");
    drop((silent, slow, greedy, beyond));
}

fn path(home: &Home) -> std::path::PathBuf {
    home.dir.join("agent.sock")
}

/// Clients that send this and then read nothing.
fn clients(home: &Home, sent: &[u8]) -> Vec<UnixStream> {
    let client = || {
        let mut stream = UnixStream::connect(path(home)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        // A line beyond the limit is refused before its end, and the connection closed.
        let _ = stream.write_all(sent);
        stream
    };
    (0..EACH).map(|_| client()).collect()
}

fn line_without_end(bytes: usize) -> Vec<u8> {
    vec![b' '; bytes]
}

fn batch_whose_answers_nobody_reads() -> Vec<u8> {
    let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "status"});
    let batch: Vec<_> = (0..1_000).map(call).collect();
    format!("{}\n", json!(batch)).into_bytes()
}
