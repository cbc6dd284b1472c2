//! What a daemon needs after it took very many messages: no more memory than after a restart, and no more
//! disk than its log and the rows that the protocol lets it keep.
//!
//! `SIGNET_MESSAGES=1000000` is the long form.

use std::path::Path;
use std::time::Duration;

use signet_testkit::Server;
use signet_testkit::server::MAILBOXES;

use crate::common::{self, Daemon, Peer, daemon, peer};

/// Messages, unless the environment says otherwise.
const MESSAGES: usize = 30_000;
/// Messages between two looks of the agent into its inbox, which so holds little itself.
const ROUND: usize = 500;
/// KiB that a daemon holds once it has worked, however little it remembers: what each thread keeps of its
/// messages, and the database's pages. Where it remembers much, that is within the rest.
const WORKING: u32 = 16 * 1024;
/// Bytes of log for a message of 850 bytes that comes, is taken and receipted: two lines, and some of receipts.
const A_MESSAGE: u64 = 3 * 1024;
/// What is reserved ahead of the log and of its checkpoints while the daemon runs.
const RESERVED: u64 = 9 * 1024 * 1024;
/// So many message-ids of a peer are remembered (docs/protocol.md, limits); up to 256 share a row.
const NAMES: u64 = 200_000;
const A_NAME: u64 = 150;
/// All other rows, and the database's own log.
const OTHERS: u64 = 40 * 1024 * 1024;
/// What the daemon may hold more than one that was started anew with the same past.
const MOST: f64 = 1.3;

#[test]
fn after_very_many_messages_a_daemon_holds_little_more_than_after_a_restart() {
    let _turn = crate::turn();
    let messages = std::env::var("SIGNET_MESSAGES");
    let messages = messages.map_or(MESSAGES, |text| text.parse().unwrap());
    let dir = common::directory();
    let server = Server::start_at(dir.path(), MAILBOXES);
    let runtime = common::runtime();
    let (from, home) = (
        daemon::init(dir.path(), "alice", &server.url()),
        daemon::init(dir.path(), "bob", &server.url()),
    );
    home.knows(&from);
    from.knows(&home);
    let (memory, _lock) = peer::open(&from);
    let mut bob = Daemon::start(home);
    let new = bob.home.anonymous();
    let to = "bob".parse().unwrap();
    let mut alice = runtime.block_on(Peer::connect(memory.node, to, &server.url()));
    runtime.block_on(alice.meet());
    let (mut sent, mut highest) = (0, 0);
    while sent < messages {
        runtime.block_on(alice.round(&mut bob, ROUND));
        bob.empty_inbox();
        sent += ROUND;
        highest = highest.max(bob.home.anonymous());
        if sent.is_multiple_of(messages.div_ceil(10).next_multiple_of(ROUND)) {
            println!("{sent:>8} messages: {} KiB", bob.home.anonymous());
        }
    }
    // Wait until the lines on their way to the disk are written: until then they take memory.
    std::thread::sleep(Duration::from_secs(3));
    let grown = bob.home.anonymous();
    let bob = bob.restart();
    let anew = bob.home.anonymous();
    println!("new {new} KiB, highest {highest} KiB, grown {grown} KiB, started again {anew} KiB");
    let working = if messages < NAMES as usize {
        WORKING
    } else {
        0
    };
    let (most, ratio) = (anew as f64 * MOST, grown as f64 / anew as f64);
    assert!(
        grown as f64 <= most + f64::from(working),
        "{ratio:.2} times what a restart needs"
    );
    let state = ["state.db", "state.db-wal"].map(|name| room(&bob.home.dir.join(name)));
    let log = std::fs::read_dir(&bob.config.audit_dir).unwrap();
    let log: u64 = log.map(|file| room(&file.unwrap().path())).sum();
    println!("log {} KiB, state {state:?} bytes", log / 1024);
    let (state, sent) = (state[0] + state[1], sent as u64);
    assert!(log <= sent * A_MESSAGE + RESERVED, "{log} bytes of log");
    let rows = sent.min(NAMES) * A_NAME;
    assert!(state <= rows + OTHERS, "{state} bytes of state");
}

fn room(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).map_or(0, |facts| facts.blocks() * 512)
}
