//! What is broken in a home before a command is typed there: the log, its folders, its anchor and its keys.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use signet_audit::Log;
use signet_proto::certificate::Certificate;
use signet_proto::entry::{Alarm, AlarmLine, Entry};

use super::cases::*;

/// Adds a line that rings an alarm, as a log would, with write access to its folder alone.
fn ring(home: &Path) {
    let own = fs::read(home.join("keys/certificate.json")).unwrap();
    let own = Certificate::parse(&serde_json::from_slice(&own).unwrap()).unwrap();
    let line = Entry::Alarm(AlarmLine {
        peer: own.agent.clone(),
        what: Alarm::SecondCopy,
        cleared: false,
    });
    let now = signet::clock::now();
    let mut log = Log::open(&log_of(home), now, &Entry::Genesis(own)).unwrap();
    log.append(now, &line).unwrap();
    log.commit().unwrap();
}

fn without_anchor(home: &Path) {
    fs::remove_file(home.join("log.anchor")).unwrap();
}

/// The home's log is to lie in a folder of that mode outside of the home, which others use as well.
fn share(home: &Path, permissions: u32) {
    let shared = home.with_extension("shared");
    fs::create_dir(&shared).unwrap();
    mode(shared.clone(), permissions);
    let dir = format!("dir = \"{}\"", shared.display());
    edit(home, |text| text.replacen("# dir = \"audit\"", &dir, 1));
}

/// One home each.
pub const OF_ITS_LOG: &[Case] = &[
    Case(
        "no log",
        Ran,
        |home| fs::remove_dir_all(home.join("audit")).unwrap(),
        "doctor log-end",
        Runs(0),
    ),
    Case(
        "a log for all, doctor",
        Ran,
        |home| mode(log_of(home), 0o777),
        "doctor log-end",
        Mends,
    ),
    Case(
        "a log for all",
        Ran,
        |home| mode(log_of(home), 0o777),
        "trust list",
        Mends,
    ),
    Case(
        "a log that ends early",
        Ran,
        |home| fs::write(month_of(home), "").unwrap(),
        "doctor log-end",
        Runs(0),
    ),
    Case(
        "a line of nobody",
        Ran,
        |home| {
            let text = fs::read_to_string(month_of(home)).unwrap();
            fs::write(month_of(home), format!("{text}no line\nneither\n")).unwrap();
        },
        "trust log",
        Runs(1),
    ),
    Case(
        "a line that was changed",
        Ran,
        |home| {
            let text = fs::read_to_string(month_of(home)).unwrap();
            fs::write(month_of(home), text.replacen("genesis", "gemesis", 1)).unwrap();
        },
        "doctor log-month",
        Runs(1),
    ),
    Case(
        "half a line behind the last",
        Ran,
        |home| {
            let mut file = fs::File::options()
                .append(true)
                .open(month_of(home))
                .unwrap();
            file.write_all(b"{\"v\":2,\"seq\":").unwrap();
        },
        "trust list",
        Mends,
    ),
    Case("a line behind the last", Ran, ring, "doctor log-end", Mends),
    Case(
        "a line behind the last, and nobody runs it",
        Ran,
        ring,
        "status",
        Mends,
    ),
    Case("no anchor", Ran, without_anchor, "doctor log-end", Mends),
    Case(
        "no anchor, and a line behind the last",
        Ran,
        |home| {
            ring(home);
            without_anchor(home);
        },
        "status",
        Runs(0),
    ),
    Case(
        "no anchor, and a line behind the last, doctor",
        Ran,
        |home| {
            ring(home);
            without_anchor(home);
        },
        "doctor log-end",
        Runs(0),
    ),
    Case(
        "a folder of logs for all",
        Ran,
        |home| mode(home.join("audit"), 0o777),
        "trust list",
        Mends,
    ),
    Case(
        "a folder of logs for all, doctor",
        Ran,
        |home| mode(home.join("audit"), 0o775),
        "doctor log-end",
        Mends,
    ),
    Case(
        "a log in a folder that others use",
        Fresh,
        |home| share(home, 0o775),
        "trust list",
        Mends,
    ),
    Case(
        "a log in a folder that others use, doctor",
        Fresh,
        |home| {
            share(home, 0o775);
            let log = home.with_extension("shared").join("agent-alice");
            fs::create_dir(&log).unwrap();
            mode(log, 0o700);
        },
        "doctor log-end",
        Mends,
    ),
    Case(
        "others may write the log's keys",
        Ran,
        |home| mode(home.join("checkpoint-keys"), 0o777),
        "trust list",
        Mends,
    ),
    Case(
        "a month's key for all, started",
        Ran,
        |home| mode(month_key(home), 0o644),
        "trust list",
        Mends,
    ),
];
