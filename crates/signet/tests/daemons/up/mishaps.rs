//! What stands in the way of `signet up`: files cut short by a kill, a server whose process nobody knows, settings that
//! others may write, and a home of which something is missing. It says what is wrong and the next command, which helps.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;
use signet_testkit::server::MAILBOXES;
use signet_testkit::{Server, says, signet};

use super::{Machine, mode};
use crate::house::eventually;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z"))
}

#[test]
fn settings_that_others_may_write_are_refused_and_not_laundered() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    let file = machine.home("alice").join("config.toml");
    let theirs = std::fs::read_to_string(&file).unwrap();
    let theirs = theirs.replace("# command = [", "command = [\"/tmp/theirs\"] # [");
    assert!(theirs.contains("\ncommand = [\"/tmp/theirs\"]"));
    std::fs::write(&file, &theirs).unwrap();
    set_mode(&file, 0o666);
    for args in [
        &["up", "--background"][..],
        &["up", "--background", "--offer", "calendar.*"],
        &["up", "--background", "--nats", "nats://127.0.0.1:1"],
    ] {
        let said = machine.fails("alice", 2, args);
        assert!(
            said.contains("mode 0666") && said.contains("next: chmod 600 "),
            "{said}"
        );
        assert_eq!(
            (mode(&file), std::fs::read_to_string(&file).unwrap()),
            (0o666, theirs.clone())
        );
    }
    set_mode(&file, 0o600);
    set_mode(&machine.home("alice"), 0o777);
    let said = machine.fails("alice", 2, &["up", "--background"]);
    assert!(said.contains("next: chmod 700 "), "{said}");
    set_mode(&machine.home("alice"), 0o700);
}

#[test]
fn a_login_that_a_kill_cut_short_is_named_and_made_anew_once_it_is_removed() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    for (name, cut) in [("nats.nk", ""), ("nats.nk", "SUA"), ("nats/admin.nk", "")] {
        let seed = machine.home("alice").join(name);
        std::fs::write(&seed, cut).unwrap();
        let said = machine.fails("alice", 1, &["up", "--background"]);
        assert!(said.contains(name), "{said}");
        assert!(said.contains("next: rm "), "{said}");
        assert!(!said.contains("--file"), "{said}");
        std::fs::remove_file(&seed).unwrap();
        machine.done("alice", &["up", "--background"]);
        machine.done("alice", &["down"]);
    }
}

#[test]
fn a_server_whose_process_nobody_wrote_down_is_found_used_and_ended() {
    let machine = Machine::new();
    machine.up("alice");
    let number = machine.home("alice").join("nats/server.pid");
    let pid = std::fs::read_to_string(&number).unwrap();
    machine.done("alice", &["down", "--keep-nats"]);
    // The file with the server's process id is wrong (a second server overwrote it and never listened) or missing (the
    // first was not written yet).
    for lost in [Some("2147483647\n"), None] {
        match lost {
            Some(text) => std::fs::write(&number, text).unwrap(),
            None => std::fs::remove_file(&number).unwrap(),
        }
        let said = machine.done("alice", &["up", "--background"]);
        assert!(
            said.contains("this home's own server, which runs"),
            "{said}"
        );
        assert!(runs(&pid));
        machine.done("alice", &["down", "--keep-nats"]);
    }
    assert_eq!(
        machine.done("alice", &["down"]),
        "daemon   none ran\nnats     ended\n"
    );
    eventually("it has ended", || (!runs(&pid)).then_some(()));
}

#[test]
fn what_the_daemon_says_to_do_is_what_up_says() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    let key = machine.home("alice").join("keys/signing.pem");
    set_mode(&key, 0o644);
    let said = machine.fails("alice", 2, &["up", "--background"]);
    assert!(said.contains("next: chmod 600 "), "{said}");
    set_mode(&key, 0o600);
}

#[test]
fn a_home_that_lost_its_configuration_is_not_told_to_be_made() {
    let machine = Machine::new();
    machine.done(
        "alice",
        &["init", "--agent", "alice", "--principal", "alice"],
    );
    std::fs::remove_file(machine.home("alice").join("config.toml")).unwrap();
    for args in [
        &["up", "--background"][..],
        &[
            "up",
            "--agent",
            "alice",
            "--principal",
            "alice",
            "--background",
        ],
    ] {
        let said = machine.fails("alice", 2, args);
        assert!(said.contains("put its config.toml back"), "{said}");
    }
}

#[test]
fn a_home_that_lost_its_server_makes_another_where_it_is_told_to_listen() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    std::fs::remove_dir_all(machine.home("alice").join("nats")).unwrap();
    let said = machine.done("alice", &["up", "--background", "--listen", "127.0.0.1:0"]);
    assert!(
        said.contains("started: a server of this home's own"),
        "{said}"
    );
}

#[test]
fn a_login_that_the_server_refuses_is_not_told_as_a_server_that_is_down() {
    let machine = Machine::new();
    machine.up("alice");
    let login = |machine: &Machine, more: &[&str]| {
        let invited = machine.done("alice", &[&["invite", "--login", "bob"][..], more].concat());
        let mut lines = invited.lines();
        lines
            .find(|line| line.starts_with("signet-login:1:"))
            .unwrap()
            .to_owned()
    };
    let up = ["up", "--agent", "bob", "--principal", "bob", "--background"];
    let line = login(&machine, &[]);
    let with_line = [&up[..], &["--login", "-"]].concat();
    let output = machine.with_input("bob", &with_line, &line);
    assert!(output.status.success(), "{output:?}");
    // Run it again without the line: this login may not make a mailbox, so `up` looks for the one that is there and
    // does not wait for a refusal.
    let said = machine.done("bob", &up);
    assert!(said.contains("mailbox  it is there"), "{said}");
    machine.done("bob", &["down"]);
    login(&machine, &["--replace"]);
    let said = machine.fails("bob", 1, &up);
    assert!(said.contains("refuses the login"), "{said}");
    assert!(
        said.contains("made by their signet invite --login ID"),
        "{said}"
    );
}

#[test]
fn a_second_agent_of_one_person_is_made_with_their_root_key_or_not_at_all() {
    let machine = Machine::new();
    machine.up("alice");
    let alice = machine.home("alice");
    let beside = [
        "up",
        "--agent",
        "second",
        "--principal",
        "alice",
        "--background",
        "--beside",
    ];
    let beside = [&beside[..], &[alice.to_str().unwrap()]].concat();
    let said = machine.fails("second", 2, &beside);
    assert!(
        said.contains("with --root ") && said.contains("keys/root.pem"),
        "{said}"
    );
    assert!(!machine.home("second").exists());
    let root = alice.join("keys/root.pem");
    machine.done(
        "second",
        &[&beside[..], &["--root", root.to_str().unwrap()]].concat(),
    );
}

#[test]
fn an_agent_beside_a_home_that_moved_to_another_server_goes_to_that_and_not_to_the_former() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    let server = Server::start(MAILBOXES);
    machine.done("alice", &["up", "--background", "--nats", &server.url()]);
    let alice = machine.home("alice");
    let args = ["up", "--agent", "bob", "--principal", "bob", "--background"];
    let beside = ["--beside", alice.to_str().unwrap()];
    let said = machine.done("bob", &[&args[..], &beside].concat());
    assert!(said.contains(&server.url()), "{said}");
    let former = std::fs::read_to_string(alice.join("nats/server.pid"));
    assert!(former.is_err() || !runs(&former.unwrap()), "{said}");
    let config = std::fs::read_to_string(machine.home("bob").join("config.toml")).unwrap();
    let servers = format!("\nservers = [\"{}\"]", server.url());
    assert!(config.contains(&servers), "{config}");
}

/// A login is as long as an invitation, and a mail wraps and quotes it as well.
#[test]
fn a_login_that_mail_has_wrapped_and_quoted_is_taken_as_whole() {
    let machine = Machine::new();
    machine.up("alice");
    let invited = machine.done("alice", &["invite", "--login", "bob"]);
    let login = invited
        .lines()
        .find(|line| line.starts_with("signet-login:1:"))
        .unwrap();
    let chars: Vec<char> = login.chars().collect();
    let wrapped: String = chars
        .chunks(60)
        .map(|part| format!("> {}\r\n", part.iter().collect::<String>()))
        .collect();
    assert!(wrapped.lines().count() > 1, "{}", login.len());
    let mail = format!("Hello Bob,\n\nthis is your login:\n\n{wrapped}\n-- \nAlice\n");
    let up = "up --agent bob --principal bob --background --login -";
    let up: Vec<&str> = up.split(' ').collect();
    let output = machine.with_input("bob", &up, &mail);
    assert!(output.status.success(), "{}", says(&output));
    assert!(machine.done("bob", &["status"]).contains("connected"));
}

/// What doctor finds about the mailbox of that home: whether it is well, and what is next.
fn mailbox(machine: &Machine, name: &str) -> (bool, String) {
    let output = machine.run(name, &["doctor", "--json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let found = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found = found.into_iter().find(|found| found["check"] == "mailbox");
    let found = found.unwrap_or_else(|| panic!("{text}"));
    let next = found["next"].as_str().unwrap_or_default().to_owned();
    (found["health"] == "well", next)
}

#[test]
fn a_mailbox_of_a_home_that_up_made_was_deleted_and_doctors_hint_run_as_printed_brings_it_back() {
    let machine = Machine::new();
    machine.up("alice");
    let home = machine.home("alice");
    let config = std::fs::read_to_string(home.join("config.toml")).unwrap();
    let (_, url) = config.split_once("nats://").unwrap();
    let url = format!("nats://{}", url.split('"').next().unwrap());
    let seed = std::fs::read_to_string(home.join("nats/admin.nk")).unwrap();
    let delete = || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let options = async_nats::ConnectOptions::with_nkey(seed.trim().to_owned());
            let options = options.custom_inbox_prefix("_INBOX_admin");
            let client = options.connect(&url).await.unwrap();
            let context = async_nats::jetstream::new(client);
            let stream = context.get_stream("AGENT_INBOX").await.unwrap();
            stream.delete_consumer("alice").await.unwrap();
        });
        let (is_well, next) = mailbox(&machine, "alice");
        assert!(!is_well);
        next
    };
    assert!(mailbox(&machine, "alice").0);
    // Two commands bring the mailbox back: `up`, as doctor prints it, and `nats setup` typed by hand, with the
    // administrator's key that `up` keeps in the home.
    let program = signet().display().to_string();
    let by_hand = format!("{program} nats setup --home {}", home.display());
    for by_doctor in [true, false] {
        let next = delete();
        assert!(
            next.starts_with(&format!(
                "{program} up --home {} --background  # ",
                home.display()
            )),
            "{next}"
        );
        let line = if by_doctor { &next } else { &by_hand };
        let output = machine.types("alice", line);
        assert!(output.status.success(), "{line}: {}", says(&output));
        assert!(mailbox(&machine, "alice").0, "{line}: {output:?}");
    }
}
