//! What a daemon costs that has nothing to do: how long its start takes until it is ready, and what it holds and
//! spends while it waits, with a new log and with one of a million lines.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{self, Daemon, daemon, median, peer};
use rustix::process::Signal;
use serde_json::json;
use signet::clock;
use signet_api::Client;
use signet_proto::entry::{CauseLine, Entry};
use signet_testkit::bench::{Bench, Limit};
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
/// The most milliseconds from the start of the process: to READY with a new log, where the aim is 12 to the first answer, and to
/// that with the long log and the state.
const NEW: f64 = 20.0;
const STATE: f64 = 200.0;
/// The most CPU seconds up to it with the long log and without the state.
const NO_STATE: f64 = 4.0;
/// The most MB, of 1,000,000 bytes, of the program that is handed out.
const SIZE: f64 = 16.0;
/// How long a start is waited for.
const WAIT: Duration = Duration::from_secs(300);
/// How much more memory and CPU time the long log may cost. What two daemons that do the same differ by is less.
const MOST: f64 = 1.10;
/// Nanoseconds of CPU time in one look that are nobody's: a clock that ticks.
const NOISE: f64 = 2e6;

pub(crate) fn run(mut bench: Bench) {
    let (lines, starts) = (bench.size(LINES, 2 * GROUP), bench.size(STARTS, 1));
    let (look, looks) = (
        bench.size(LOOK, Duration::from_millis(100)),
        bench.size(LOOKS, 1),
    );
    let program = std::fs::metadata(signet_testkit::signet()).unwrap();
    bench.held(
        "size of the program signet, MB",
        program.len() as f64 / 1e6,
        Limit::Most(SIZE),
    );
    let dir = common::directory();
    let server = Server::start_at(dir.path(), MAILBOXES);
    let new: Vec<Start> = (0..starts)
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
    write_lines(&long, lines);
    println!(
        "{lines} lines were made in {:.0} s",
        made.elapsed().as_secs_f64()
    );
    // The first start reads the whole log. Its stop writes the state, and later starts read only the lines behind that.
    let read = ready(&mut long, dir.path());
    let cpu = common::cpu_seconds(long.pid());
    end(&mut long);
    ready(&mut fresh, dir.path());
    end(&mut fresh);
    let again = |home: &mut Home| -> Vec<Start> {
        (0..starts)
            .map(|_| {
                let took = ready(home, dir.path());
                end(home);
                took
            })
            .collect()
    };
    let (short, far) = (again(&mut fresh), again(&mut long));
    hold_starts(&mut bench, [&new, &short, &far], [read.answered, cpu]);

    let (fresh, long) = (Daemon::start(fresh), Daemon::start(long));
    let (mut resident, mut spent) = ([vec![], vec![]], [vec![], vec![]]);
    // After its start a daemon still reads the newest month of its log: wait until that is over, so that it is not
    // measured as idle work.
    std::thread::sleep(bench.size(Duration::from_secs(15), Duration::ZERO));
    for _ in 0..looks {
        let before = [fresh.home.cpu(), long.home.cpu()];
        std::thread::sleep(look);
        for (side, daemon) in [&fresh, &long].into_iter().enumerate() {
            spent[side].push(daemon.home.cpu() - before[side]);
            resident[side].push(daemon.home.resident().0 as f64);
        }
    }
    let [small, large] = resident.map(|side| median(&side));
    let [idle, busy] = spent.map(|side| median(&side));
    let a_minute = |nanoseconds: f64| nanoseconds / 1e6 * 60.0 / look.as_secs_f64();
    bench.figure("idle with a short log, RSS in KiB", small);
    bench.figure("idle with a million lines, RSS in KiB", large);
    bench.figure("idle with a short log, CPU ms a minute", a_minute(idle));
    bench.figure("idle with a million lines, CPU ms a minute", a_minute(busy));
    bench.held(
        "RSS with a million lines, to that with a short log",
        large / small,
        Limit::Most(MOST),
    );
    bench.held(
        "idle CPU with a million lines, to that with a short log and a tick",
        busy / (idle * MOST + NOISE),
        Limit::Most(1.0),
    );
    bench.end();
}

/// The starts of new homes, with a short log, and with a million lines; then the first answer and its CPU time without state.
fn hold_starts(bench: &mut Bench, starts: [&Vec<Start>; 3], without: [f64; 2]) {
    let [new, short, far] = starts;
    let middle = |starts: &[Start], which: fn(&Start) -> f64| {
        median(&starts.iter().map(which).collect::<Vec<f64>>())
    };
    bench.figure(
        "READY after a start with a short log, ms",
        middle(short, |start| start.ready),
    );
    bench.held(
        "READY after the first start of a new home, ms",
        middle(new, |start| start.ready),
        Limit::Most(NEW),
    );
    bench.held(
        "first answer with a million short lines, ms",
        middle(far, |start| start.answered),
        Limit::Most(STATE),
    );
    let [answered, cpu] = without;
    bench.figure(
        "first answer with a million short lines and no state, ms",
        answered,
    );
    bench.held(
        "first answer with a million short lines and no state, CPU seconds",
        cpu,
        Limit::Most(NO_STATE),
    );
}

/// Milliseconds from the start of a daemon until it has said that it is ready, and until it has answered.
struct Start {
    ready: f64,
    answered: f64,
}

/// Lines that change nothing of what the agent remembers: what is measured is the log.
fn write_lines(home: &Home, lines: u64) {
    let (mut memory, _lock) = peer::open(home);
    let cause = "slow consumer: at least 12 messages were dropped before they were read; a line of usual length";
    let entry = Entry::Gap(CauseLine {
        cause: cause.to_owned(),
    });
    for _ in 0..lines / GROUP {
        for _ in 0..GROUP {
            memory.log.append(clock::now(), &entry).unwrap();
        }
        memory.log.commit().unwrap();
        memory.log.checkpoint().unwrap();
    }
}

/// Starts the daemon of a home as a service manager does, up to its first answer.
fn ready(home: &mut Home, dir: &Path) -> Start {
    let path = dir.join("notify");
    let _ = std::fs::remove_file(&path);
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(WAIT)).unwrap();
    let config = daemon::config(home);
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
            let ready = begun.elapsed().as_secs_f64() * 1e3;
            let mut client = Client::connect(&config.control_socket, WAIT).unwrap();
            client.raw("status", &json!({})).unwrap();
            let answered = begun.elapsed().as_secs_f64() * 1e3;
            return Start { ready, answered };
        }
    }
}

fn end(home: &mut Home) {
    home.signal(Signal::TERM);
    assert!(home.ended().success(), "a clean stop");
}
