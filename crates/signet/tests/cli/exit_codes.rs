//! One table of exit codes: the help prints it, the documentation shows it, every command ends by it.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use signet::cli::Exit;

use crate::house::{self, Home, House, says};

const OPERATIONS: &str = include_str!("../../../../docs/operations.md");

fn signet(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    let command = command.args(args).env_clear().stdin(Stdio::null());
    command.output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it ended by itself")
}

/// A home, and no daemon.
fn made(dir: &Path) -> String {
    let home = dir.join("alice").to_str().unwrap().to_owned();
    let args = ["init", "--agent", "agent-alice", "--principal", "alice"];
    let output = signet(&[&args[..], &["--home", &home]].concat());
    assert_eq!(code(&output), 0, "{}", says(&output));
    home
}

#[test]
fn the_table_of_the_code_is_printed_and_documented() {
    let help = String::from_utf8(signet(&["--help"]).stdout).unwrap();
    let printed = help.lines().skip_while(|line| *line != "EXIT CODES:");
    let printed: Vec<&str> = printed
        .skip(1)
        .take_while(|line| !line.is_empty())
        .collect();
    let coded: Vec<String> = Exit::ALL
        .iter()
        .map(|exit| format!("  {:<3}  {}", exit.number(), exit.meaning()))
        .collect();
    assert_eq!(printed, coded);
    let from = OPERATIONS.split_once("<!-- exit codes").unwrap().1;
    let table = from.split_once("<!-- /exit codes -->").unwrap().0;
    let documented: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| code"))
        .collect();
    let coded: Vec<String> = Exit::ALL
        .iter()
        .map(|exit| {
            format!(
                "| {} | `{}` | {} |",
                exit.number(),
                exit.name(),
                exit.meaning()
            )
        })
        .collect();
    assert_eq!(documented, coded);
}

#[test]
fn a_missing_file_is_code_2_for_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let home = made(dir.path());
    let missing = dir.path().join("missing").to_str().unwrap().to_owned();
    let commands: [&[&str]; 21] = [
        &[
            "init",
            "--agent",
            "b",
            "--principal",
            "b",
            "--root",
            &missing,
            "--home",
            &missing,
        ],
        &["peer", "add", &missing],
        &["peer", "export", "--home", &missing],
        &["trust", "replace-root", &missing],
        &["trust", "revoke", "--statement", &missing],
        &["approve", "x", "--drafts", &missing, "--out", "y"],
        &["approve", "--statement", &missing],
        &["pause", "--key", &missing],
        &["key", "rotate", "signing", "--root", &missing],
        &["key", "certify", &missing, "--root", &missing],
        &["key", "install", &missing],
        &["key", "revoke", "--reason", "lost", "--root", &missing],
        &[
            "key", "recover", &missing, "--agent", "a", "--home", &missing,
        ],
        &[
            "key", "convert", "--in", &missing, "--to", "openssh", "--out", &missing,
        ],
        &["key", "public", &missing],
        &["nats", "setup", "agent-a", "--nkey", &missing],
        &["audit", "verify", &missing],
        &["audit", "show", &missing],
        &["audit", "reconcile", &missing, &missing],
        &["audit", "open", "--key", &missing, &missing],
        &[
            "audit",
            "export",
            "--peer",
            "agent-b",
            "--from",
            "2026-02-01",
            "--to",
            "2026-02-02",
            &missing,
        ],
    ];
    for args in commands {
        let args = match args.contains(&"--home") {
            true => args.to_vec(),
            false => [args, &["--home", &home]].concat(),
        };
        let output = signet(&args);
        assert_eq!(code(&output), 2, "{args:?}: {}", says(&output));
        assert!(!says(&output).contains("signet init`"), "{}", says(&output));
    }
}

#[test]
fn a_file_that_others_may_read_is_code_2_for_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let home = made(dir.path());
    let keys = Path::new(&home).join("keys");
    let path = |name: &str| keys.join(name).to_str().unwrap().to_owned();
    for (file, args) in [
        ("signing.pem", &["run"][..]),
        ("signing.pem", &["peer", "export"]),
        ("signing.pem", &["state", "rebuild"]),
        ("sealing.pem", &["key", "show"]),
        ("root.pem", &["key", "public", &path("root.pem")]),
        (
            "root.pem",
            &["key", "rotate", "signing", "--root", &path("root.pem")],
        ),
        (
            "audit.pem",
            &["audit", "open", "--key", &path("audit.pem"), &home],
        ),
        ("control.pem", &["pause"]),
    ] {
        let open =
            |mode| fs::set_permissions(keys.join(file), Permissions::from_mode(mode)).unwrap();
        open(0o644);
        let output = signet(&[&["--home", &home], args].concat());
        open(0o600);
        assert_eq!(code(&output), 2, "{file} {args:?}: {}", says(&output));
        assert!(says(&output).contains("chmod 600"), "{}", says(&output));
    }
    let config = Path::new(&home).join("config.toml");
    fs::set_permissions(config, Permissions::from_mode(0o666)).unwrap();
    for args in [&["run"][..], &["status"], &["peer", "list"]] {
        let output = signet(&[&["--home", &home], args].concat());
        assert_eq!(code(&output), 2, "{args:?}: {}", says(&output));
    }
}

#[test]
fn without_a_daemon_what_needs_one_is_code_3() {
    let dir = tempfile::tempdir().unwrap();
    let home = made(dir.path());
    let id = "0192f0c1-0000-7000-8000-000000000000";
    let commands: [&[&str]; 18] = [
        &["status"],
        &["status", id],
        &["alarms"],
        &["alarms", "clear"],
        &["watch"],
        &["send", "agent-b", "--notify", "{}"],
        &["inbox"],
        &["inbox", "--follow"],
        &["inbox", "--each", "--", "true"],
        &["handle", "--once", "--", "true"],
        &["reply", id, "{}"],
        &["outbox"],
        &["quarantine", "list"],
        &["quarantine", "drop", id],
        &["handoff", "list"],
        &["handoff", "accept", id],
        &["handoff", "send", "agent-b", "--goal", "g"],
        &["ping", "agent-b"],
    ];
    for args in commands {
        let output = signet(&[&["--home", &home], args].concat());
        assert_eq!(code(&output), 3, "{args:?}: {}", says(&output));
        assert!(says(&output).contains("signet run"), "{}", says(&output));
    }
}

#[test]
fn what_is_refused_is_code_1_and_what_waits_for_people_is_code_5() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    alice.fails(1, &["status", "0192f0c1-0000-7000-8000-000000000000"]);
    alice.fails(1, &["peer", "show", "agent-nobody"]);
    alice.fails(1, &["trust", "approve", "agent-nobody"]);
    alice.fails(1, &["approve", "0192f0c1"]);
    alice.fails(1, &["run"]);
    let init = ["init", "--agent", "agent-alice", "--principal", "alice"];
    alice.fails(1, &init);
    let said = alice.waits(&["send", "agent-bob", "--notify", "{}"]);
    assert!(said.starts_with("queued: "), "{said}");
    let said = alice.waits(&["send", "agent-bob", "--notify", "{}", "--json"]);
    assert_eq!(
        serde_json::from_str::<Value>(&said).unwrap()["state"],
        "queued"
    );
    let said = alice.waits(&["handoff", "send", "agent-bob", "--goal", "Find an evening"]);
    assert!(said.contains("it waits for introduction"), "{said}");
}

#[test]
fn a_handler_that_is_stopped_before_the_end_leaves_work_that_waits() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    alice.done(&["send", &bob.agent, "--notify", "{}", "--wait", "60"]);
    let began = house.path("began");
    let script = format!("touch {}; sleep 60", began.display());
    let mut each = Command::new(env!("CARGO_BIN_EXE_signet"));
    each.args(["inbox", "--each", "--home"]).arg(&bob.dir);
    each.args(["--", "sh", "-c", &script]).env_clear();
    let path = std::env::var_os("PATH").unwrap();
    let mut child = each.env("PATH", path).stdin(Stdio::null()).spawn().unwrap();
    house::eventually("the handler begins", || began.exists().then_some(()));
    house::kill(child.id(), rustix::process::Signal::TERM);
    let ended = house::eventually("it ends", || child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(5));
}

#[test]
fn an_error_is_json_where_json_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let home = made(dir.path());
    let error = |args: &[&str]| {
        let output = signet(&[&["--home", &home], args, &["--json"]].concat());
        assert!(output.stdout.is_empty(), "{args:?}");
        let said = says(&output);
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
        let error = serde_json::from_str::<Value>(&said).expect(&said)["error"].clone();
        assert_eq!(error["code"], code(&output), "{said}");
        for member in ["name", "message", "hint"] {
            assert!(
                error[member].as_str().is_some_and(|text| !text.is_empty()),
                "{said}"
            );
        }
        error
    };
    assert_eq!(error(&["status"])["name"], "not-reachable");
    assert_eq!(error(&["send", "agent-b"])["name"], "usage");
    assert_eq!(error(&["nonsense"])["name"], "usage");
    assert_eq!(error(&["peer", "show", "agent-b"])["name"], "refused");
    assert_eq!(error(&["audit", "show", "nowhere"])["name"], "usage");
    // Behind a refusal by the daemon, its reason stands in a member of its own, `reason`; `name` would only say
    // "refused".
    assert_eq!(
        error(&["trust", "approve", "agent-b"])["reason"],
        "stranger-unknown"
    );
    // The `--json` behind `--` belongs to the command that the person named, so signet prints its own error as text.
    let output = signet(&["inbox", "--home", &home, "--each", "--", "jq", "--json"]);
    assert!(says(&output).starts_with("error: "), "{}", says(&output));
}

/// Every leaf of the help, which is the list of commands.
fn leaves(path: &[String], found: &mut Vec<String>) {
    let args: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
    let text = String::from_utf8(signet(&args).stdout).unwrap();
    let listed = house::listed_commands(&text);
    if listed.is_empty() {
        found.push(path.join(" "));
    }
    for name in listed {
        leaves(&[path, &[name]].concat(), found);
    }
}

/// Standard output on a full device: code 4, two lines, no panic.
fn says_that_the_output_is_lost(home: &Home, args: &[&str]) {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = home.command(args);
    let output = command
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = says(&output);
    assert_eq!(code(&output), 4, "{args:?}: {said}");
    assert!(
        said.contains("error: standard output: "),
        "{args:?}: {said}"
    );
}

#[test]
fn a_full_standard_output_is_an_error_of_every_command_that_prints() {
    let house = House::new();
    let (mut alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let path = |name: &str| house.path(name).to_str().unwrap().to_owned();
    let (root, certificate) = (path("alice/keys/root.pem"), path("alice/agent-bob.json"));
    let log = path("alice/audit/agent-alice");
    let nkey = |name: &str| alice.done(&["nats", "key", "--file", &path(name)]);
    let (admin, agent) = (nkey("admin.nk"), nkey("agent.nk"));
    let agent = format!("agent-alice={}", agent.trim());
    alice.start();
    let invited = &bob.json(&["invite"])[0];
    let (invitation, words) = (&invited["invitation"], &invited["fingerprint"]);
    let (invitation, words) = (invitation.as_str().unwrap(), words.as_str().unwrap());
    let waiting = alice.waits(&["send", "agent-carol", "--notify", "{}"]);
    let waiting = waiting.split_whitespace().nth(1).unwrap().to_owned();
    let hub_file = path("hub.conf");
    let hub = ["nats", "hub", "--file", &hub_file, "--address", "h:1"];
    let hub = [&hub[..], &["--cert", "c", "--key", "k", "h=agent-h"]].concat();
    let mut printing: Vec<Vec<&str>> = vec![
        vec!["key", "show"],
        vec!["key", "public", &root],
        vec!["nats", "config", "--admin", admin.trim(), &agent],
        hub,
        vec!["peer", "add", &certificate],
        vec!["invite"],
        vec!["accept", invitation, "--words", words],
        vec!["up", "--background"],
        vec!["peer", "list"],
        vec!["peer", "show", "agent-bob"],
        vec!["peer", "export"],
        vec!["trust", "pending"],
        vec!["trust", "list"],
        vec!["trust", "log"],
        vec!["drafts"],
        vec!["doctor"],
        vec!["status"],
        vec!["reload"],
        vec!["status", &waiting],
        vec!["watch"],
        vec!["alarms", "list"],
        vec!["alarms", "clear"],
        vec!["policy", "show"],
        vec!["policy", "check", "agent-bob", "--tier", "1"],
        vec!["inbox"],
        vec!["outbox"],
        vec!["quarantine", "list"],
        vec!["handoff", "list"],
        vec!["send", "agent-carol", "--notify", "{}"],
        vec!["audit", "verify", &log],
        vec!["audit", "show", &log],
        vec!["digest"],
        vec!["schema"],
        vec!["pause"],
        vec!["resume"],
        vec!["key", "request"],
        vec!["key", "rotate", "signing", "--root", &root],
        vec!["key", "revoke", "--reason", "lost", "--root", &root],
        vec!["trust", "withdraw", "agent-bob"],
        vec!["--help"],
        vec!["man"],
        vec!["completions", "bash"],
        vec![
            "install",
            "--dry-run",
            "--agent",
            "agent-x",
            "--principal",
            "x",
        ],
        vec!["--version"],
        vec!["send", "--help"],
    ];
    let mut all = Vec::new();
    leaves(&[], &mut all);
    if all.iter().any(|leaf| leaf == "drafts drop") {
        printing.push(vec!["drafts", "drop", &waiting]);
    }
    for args in &printing {
        says_that_the_output_is_lost(&alice, args);
    }
    alice.stop();
    let stopped: Vec<Vec<&str>> = vec![
        vec!["down"],
        vec!["state", "rebuild"],
        vec!["state", "compare"],
        vec!["uninstall"],
    ];
    for args in &stopped {
        says_that_the_output_is_lost(&alice, args);
    }
    let covered: Vec<String> = printing
        .iter()
        .chain(&stopped)
        .map(|args| args.join(" "))
        .collect();
    // These commands are not played here, since they need other people, files or minutes first. They print by the same
    // function as those that are.
    let elsewhere = [
        "init",
        "state accept-loss",
        "run",
        "demo",
        "reply",
        "inbox done",
        "handle",
        "mcp",
        "gateway",
        "view",
        "token make",
        "token list",
        "token revoke",
        "ping",
        "approve",
        "key certify",
        "key install",
        "key adopt",
        "key stash",
        "key export",
        "key recover",
        "key rotate",
        "key convert",
        "nats key",
        "nats setup",
        "trust approve",
        "trust refuse",
        "trust revoke",
        "trust replace-root",
        "quarantine retry",
        "quarantine drop",
        "handoff send",
        "handoff accept",
        "handoff decline",
        "handoff report",
        "handoff show",
        "audit reconcile",
        "audit export",
        "audit open",
        "prove",
    ];
    let forgotten: Vec<&String> = all
        .iter()
        .filter(|leaf| !elsewhere.iter().any(|name| leaf.starts_with(name)))
        .filter(|leaf| !covered.iter().any(|args| args.starts_with(leaf.as_str())))
        .collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
}
