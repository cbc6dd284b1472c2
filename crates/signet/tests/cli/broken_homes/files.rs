//! What is broken in a home before a command is typed there: keys, lock, state, and who is beside the daemon.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode};

use super::cases::*;

pub const OF_ITS_FILES: &[Case] = &[
    // Keys.
    Case(
        "a signing key for all",
        Ran,
        |home| mode(home.join("keys/signing.pem"), 0o644),
        "peer export",
        Mends,
    ),
    Case(
        "a sealing key for all",
        Ran,
        |home| mode(home.join("keys/sealing.pem"), 0o666),
        "trust list",
        Mends,
    ),
    Case(
        "a key for all, doctor",
        Ran,
        |home| mode(home.join("keys/signing.pem"), 0o640),
        "doctor key-files",
        Mends,
    ),
    Case(
        "a month's key for all",
        Ran,
        |home| mode(month_key(home), 0o644),
        "doctor key-files",
        Mends,
    ),
    Case(
        "a login for all",
        Upped,
        |home| mode(home.join("nats.nk"), 0o644),
        "status",
        Mends,
    ),
    Case(
        "no signing key",
        Ran,
        |home| fs::remove_file(home.join("keys/signing.pem")).unwrap(),
        "key show",
        Runs(0),
    ),
    Case(
        "no certificate",
        Ran,
        |home| fs::remove_file(home.join("keys/certificate.json")).unwrap(),
        "peer export",
        Runs(0),
    ),
    Case(
        "no keys",
        Ran,
        |home| fs::remove_dir_all(home.join("keys")).unwrap(),
        "doctor keys",
        Runs(0),
    ),
    Case(
        "a key that is none",
        Ran,
        |home| fs::write(home.join("keys/signing.pem"), "no key\n").unwrap(),
        "key show",
        Words("its person has the backup, and no command makes that key again"),
    ),
    Case(
        "a certificate that is none",
        Ran,
        |home| fs::write(home.join("keys/certificate.json"), "{}").unwrap(),
        "peer export",
        Words("its person has the backup"),
    ),
    Case(
        "no root key",
        Ran,
        |home| fs::remove_file(home.join("keys/root.pem")).unwrap(),
        "key rotate signing",
        Words("its person keeps the root key somewhere else"),
    ),
    Case(
        "a login that is none",
        Upped,
        |home| fs::write(home.join("nats.nk"), "x\n").unwrap(),
        "up --background",
        Mends,
    ),
    // The lock and the state.
    Case(
        "a folder for a lock",
        Ran,
        |home| {
            fs::remove_file(home.join("lock")).unwrap();
            fs::create_dir(home.join("lock")).unwrap();
        },
        "trust list",
        Runs(0),
    ),
    Case(
        "a link for a lock",
        Ran,
        |home| {
            fs::remove_file(home.join("lock")).unwrap();
            symlink("nowhere", home.join("lock")).unwrap();
        },
        "trust list",
        Runs(0),
    ),
    Case(
        "a state that is none",
        Ran,
        |home| fs::write(home.join("state.db"), "no state").unwrap(),
        "state compare",
        Runs(0),
    ),
    Case(
        "a pipe for a state",
        Ran,
        |home| {
            fs::remove_file(home.join("state.db")).unwrap();
            let place = home.join("state.db");
            rustix::fs::mknodat(CWD, place, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        },
        "trust list",
        Runs(0),
    ),
    Case(
        "a link for a state",
        Ran,
        |home| {
            fs::rename(home.join("state.db"), home.join("state.there")).unwrap();
            symlink("state.there", home.join("state.db")).unwrap();
        },
        "trust list",
        Runs(0),
    ),
    // The NATS server, and who is beside the daemon.
    Case(
        "a server that is down",
        Upped,
        nothing,
        "doctor broker",
        Mends,
    ),
    Case(
        "a server of somebody's that is down",
        Ran,
        |home| {
            edit(home, |text| {
                text.replacen(
                    "# servers = [\"nats://127.0.0.1:4222\"]",
                    "servers = [\"nats://127.0.0.1:1\"]",
                    1,
                )
            });
        },
        "doctor broker",
        Words("the server is somebody else's: no command here starts it"),
    ),
    Case(
        "a file for a socket",
        Ran,
        |home| fs::write(home.join("control.sock"), "").unwrap(),
        "run",
        Runs(0),
    ),
    Case(
        "a file for a socket, doctor",
        Ran,
        |home| fs::write(home.join("control.sock"), "").unwrap(),
        "doctor sockets",
        Mends,
    ),
    Case(
        "peers' carriers that are none",
        Ran,
        |home| {
            fs::write(home.join("carriers.json"), "{").unwrap();
            mode(home.join("carriers.json"), 0o600);
        },
        "status",
        Words("its person decides whether it is mended or removed"),
    ),
    Case(
        "nobody of that name",
        Ran,
        nothing,
        "trust approve agent-x",
        Runs(0),
    ),
    Case(
        "a command for all to change",
        Ran,
        |home| {
            let command = program(home, "tell");
            tell_by(home, &command);
            mode(home.join("tell"), 0o777);
        },
        "doctor notify",
        Mends,
    ),
    Case(
        "no command",
        Ran,
        |home| tell_by(home, "command = [\"/nowhere/tell\"]"),
        "doctor notify",
        Runs(0),
    ),
    Case(
        "nobody of that name is trusted",
        Ran,
        nothing,
        "trust withdraw agent-x",
        Runs(0),
    ),
    Case(
        "no draft of that name",
        Ran,
        nothing,
        "approve 0192f0c1",
        Runs(0),
    ),
];
