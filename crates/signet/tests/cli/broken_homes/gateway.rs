//! What is broken in a home before a command is typed there that signet-gateway runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::cases::{Case, Makes, Mends, Ran, Runs, Upped, mode, nothing};
use crate::house::signet;

fn handle_something(home: &Path) {
    let text = "[[handler]]\ncapability = \"a.b\"\nkind = \"exec\"\ncommand = [\"/bin/cat\"]\n";
    fs::write(home.join("handlers.toml"), text).unwrap();
}

/// One home each.
pub const OF_THE_GATEWAY: &[Case] = &[
    // What signet-gateway prints.
    Case(
        "a token of nobody",
        Ran,
        nothing,
        "token revoke laptop",
        Runs(0),
    ),
    Case(
        "a token twice",
        Ran,
        |home| {
            let mut made = Command::new(signet());
            made.arg("--home").arg(home);
            assert!(
                made.args(["token", "make", "laptop"])
                    .output()
                    .unwrap()
                    .status
                    .success()
            );
        },
        "token make laptop",
        Mends,
    ),
    Case(
        "tokens for all",
        Ran,
        |home| {
            fs::write(home.join("gateway-tokens.toml"), "").unwrap();
            mode(home.join("gateway-tokens.toml"), 0o666);
        },
        "token list",
        Mends,
    ),
    Case(
        "a folder for tokens",
        Ran,
        |home| fs::create_dir(home.join("gateway-tokens.toml")).unwrap(),
        "token list",
        Mends,
    ),
    Case(
        "handlers of nobody",
        Ran,
        handle_something,
        "handle --once",
        Mends,
    ),
    Case(
        "handlers of nobody, up",
        Upped,
        handle_something,
        "handle --once",
        Mends,
    ),
    Case(
        "handlers of nobody, up at a terminal",
        Ran,
        |home| {
            handle_something(home);
            fs::write(home.join("up.lock"), "").unwrap();
        },
        "handle --once",
        Mends,
    ),
    Case(
        "nothing is traced",
        Ran,
        handle_something,
        "handler trace show",
        Mends,
    ),
    Case(
        "a gateway that is off",
        Ran,
        nothing,
        "gateway",
        Makes("gateway.toml"),
    ),
    Case(
        "a gateway's file that is none",
        Ran,
        |home| fs::write(home.join("gateway.toml"), "[listen]\nadress = 1\n").unwrap(),
        "doctor gateway-file",
        Runs(0),
    ),
    Case(
        "a gateway's file for all",
        Ran,
        |home| {
            fs::write(home.join("gateway.toml"), "").unwrap();
            mode(home.join("gateway.toml"), 0o666);
        },
        "doctor gateway-file",
        Mends,
    ),
    Case(
        "a gateway's file for all, started",
        Ran,
        |home| {
            fs::write(home.join("gateway.toml"), "").unwrap();
            mode(home.join("gateway.toml"), 0o666);
        },
        "gateway",
        Runs(0),
    ),
    Case(
        "a handlers' file that is none",
        Ran,
        |home| fs::write(home.join("handlers.toml"), "[[handler]]\n").unwrap(),
        "doctor handlers-file",
        Runs(0),
    ),
    Case(
        "a handlers' file that is none, started",
        Ran,
        |home| fs::write(home.join("handlers.toml"), "[[handler]]\n").unwrap(),
        "handle --once",
        Runs(0),
    ),
    Case(
        "a handlers' file for all",
        Ran,
        |home| {
            handle_something(home);
            mode(home.join("handlers.toml"), 0o666);
        },
        "doctor handlers-file",
        Mends,
    ),
    Case(
        "a handlers' file for all, started",
        Ran,
        |home| {
            handle_something(home);
            mode(home.join("handlers.toml"), 0o606);
        },
        "handle --once",
        Mends,
    ),
];
