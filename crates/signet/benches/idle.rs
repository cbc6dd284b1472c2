//! What a daemon costs that has nothing to do: how long its start takes until it is ready, and what it holds and
//! spends while it waits, with a new log and with one of a million lines.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod common;

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Daemon, daemon, median, peer};
use rustix::process::Signal;
use signet::clock;
use signet_proto::entry::Entry;
use signet_testkit::server::MAILBOXES;
use signet_testkit::{Home, Server};

/// Lines of the long log.
const LINES: u64 = 1_000_000;
/// Lines that share an fdatasync while the log is made.
const GROUP: u64 = 10_000;
/// Starts of each kind.
const STARTS: usize = 11;
/// How long idle daemons are looked at, how often.
const LOOK: Duration = Duration::from_secs(10);
const LOOKS: usize = 5;
/// The most milliseconds from the start of the process to READY, with a new log.
const READY: f64 = 20.0;
/// How much more memory and CPU time the long log may cost. What two daemons that do the same differ by is less.
const MOST: f64 = 1.10;
/// Nanoseconds of CPU time in one look that are nobody's: a clock that ticks.
const NOISE: f64 = 2e6;

fn main() {
    let dir = common::directory();
    let server = Server::start_at(dir.path(), MAILBOXES);
    let new: Vec<f64> = (0..STARTS)
        .map(|number| {
            let mut home = daemon::init(dir.path(), &format!("new-{number}"), &server.url());
            let took = ready(&mut home, dir.path());
            end(&mut home);
            took
        })
        .collect();
    let (mut fresh, mut long) = (
        daemon::init(dir.path(), "fresh", &server.url()),
        daemon::init(dir.path(), "long", &server.url()),
    );
    let made = Instant::now();
    write_lines(&long, LINES);
    println!(
        "{LINES} lines were made in {:.0} s",
        made.elapsed().as_secs_f64()
    );
    // The first start reads them all, and its stop leaves rows that later ones go on from.
    let read = ready(&mut long, dir.path());
    end(&mut long);
    ready(&mut fresh, dir.path());
    end(&mut fresh);
    let again = |home: &mut Home| -> Vec<f64> {
        (0..STARTS)
            .map(|_| {
                let took = ready(home, dir.path());
                end(home);
                took
            })
            .collect()
    };
    let (short, far) = (again(&mut fresh), again(&mut long));
    println!("\nMilliseconds from the process to READY; medians of {STARTS} starts.\n");
    for (what, times) in [
        ("the first start of a new home", &new),
        ("a start with a short log", &short),
        ("a start with a million lines", &far),
        (
            "the first one with a million lines, without a state",
            &vec![read],
        ),
    ] {
        let slowest = times.iter().copied().fold(0.0, f64::max);
        println!("{what:<52} {:>8.1}   slowest {slowest:.1}", median(times));
    }

    let (fresh, long) = (Daemon::start(fresh), Daemon::start(long));
    let (mut resident, mut spent) = ([vec![], vec![]], [vec![], vec![]]);
    // What a start leaves to be done is over.
    std::thread::sleep(Duration::from_secs(2));
    for _ in 0..LOOKS {
        let before = [fresh.home.cpu(), long.home.cpu()];
        std::thread::sleep(LOOK);
        for (side, daemon) in [&fresh, &long].into_iter().enumerate() {
            spent[side].push(daemon.home.cpu() - before[side]);
            resident[side].push(daemon.home.resident().0 as f64);
        }
    }
    let [small, large] = resident.map(|side| median(&side));
    let [idle, busy] = spent.map(|side| median(&side));
    println!(
        "\nIdle, connected; medians of {LOOKS} looks of {} s.\n",
        LOOK.as_secs()
    );
    println!("{:<24} {:>12} {:>16}", "", "RSS, KiB", "CPU ms a minute");
    let a_minute = |nanoseconds: f64| nanoseconds / 1e6 * 60.0 / LOOK.as_secs_f64();
    println!(
        "{:<24} {small:>12.0} {:>16.2}",
        "a short log",
        a_minute(idle)
    );
    println!(
        "{:<24} {large:>12.0} {:>16.2}",
        "a million lines",
        a_minute(busy)
    );
    assert!(
        median(&new) <= READY,
        "READY after {:.1} ms, at most {READY}",
        median(&new)
    );
    assert!(
        large <= small * MOST,
        "memory rises with the log: {large:.0} KiB"
    );
    assert!(
        busy <= idle * MOST + NOISE,
        "idle CPU time rises with the log: {busy:.0} ns"
    );
}

/// Lines that change nothing of what the agent remembers: what is measured is the log.
fn write_lines(home: &Home, lines: u64) {
    let (mut memory, _lock) = peer::open(home);
    let cause = "slow consumer: at least 12 messages were dropped before they were read; a line of usual length";
    let entry = Entry::Gap {
        cause: cause.to_owned(),
    };
    for _ in 0..lines / GROUP {
        for _ in 0..GROUP {
            memory.log.append(clock::now(), &entry).unwrap();
        }
        memory.log.commit().unwrap();
        memory.log.checkpoint().unwrap();
    }
}

/// Starts the daemon of a home as a service manager does: milliseconds until it says that it is ready.
fn ready(home: &mut Home, dir: &Path) -> f64 {
    let path = dir.join("notify");
    let _ = std::fs::remove_file(&path);
    let socket = UnixDatagram::bind(&path).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(300)))
        .unwrap();
    let mut command = home.command(&["run"]);
    command
        .env("SIGNET_LOG", "warn")
        .env("NOTIFY_SOCKET", &path);
    let begun = Instant::now();
    home.spawn(command);
    let mut text = [0; 4096];
    loop {
        let length = socket.recv(&mut text).expect("it says something");
        if text[..length] == *b"READY=1" {
            return begun.elapsed().as_secs_f64() * 1e3;
        }
    }
}

fn end(home: &mut Home) {
    home.signal(Signal::TERM);
    assert!(home.ended().success(), "a clean stop");
}
