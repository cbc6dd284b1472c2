//! `signet mcp --install`: what becomes of the files of clients.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use signet_testkit::{Home, House, copy_program, says, signet};

fn in_dir(home: &Home, dir: &Path, args: &[&str]) -> Output {
    let mut command = home.command(&[&["mcp", "--install"], args].concat());
    command.current_dir(dir).env("HOME", dir).output().unwrap()
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn each_client_gets_its_file_and_what_stands_there_starts_the_gateway() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let dir = tempfile::tempdir().unwrap();
    for (client, file, section) in [
        ("claude", ".mcp.json", "mcpServers"),
        (
            "claude-desktop",
            ".config/Claude/claude_desktop_config.json",
            "mcpServers",
        ),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
    ] {
        let file = dir.path().join(file);
        let printed = in_dir(&alice, dir.path(), &[client, "--print"]);
        assert!(
            printed.status.success() && !file.exists(),
            "{}",
            says(&printed)
        );
        let done = in_dir(&alice, dir.path(), &[client]);
        assert!(done.status.success(), "{}", says(&done));
        assert_eq!(
            serde_json::from_slice::<Value>(&printed.stdout).unwrap(),
            read(&file)
        );
        let entry = read(&file)[section]["signet"].clone();
        assert_eq!(
            entry.get("type"),
            (client == "vscode").then(|| json!("stdio")).as_ref()
        );
        // Start the entry's command as a client would, from another directory and with an empty environment: the entry
        // has to name everything itself.
        let args = entry["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap());
        let mut command = Command::new(entry["command"].as_str().unwrap());
        command.args(args).env_clear().current_dir("/");
        let mut client = crate::client::Client::run(command);
        client.hello("2025-11-25");
        assert_eq!(
            client.tool("agent_status", json!({}))["agent"],
            "agent-alice"
        );
        let again = in_dir(&alice, dir.path(), &[entry_client(section, file.as_path())]);
        assert!(
            String::from_utf8_lossy(&again.stdout).contains("already"),
            "{}",
            says(&again)
        );
    }
}

/// The client whose file that is.
fn entry_client(section: &str, file: &Path) -> &'static str {
    match (section, file.file_name().unwrap().to_str().unwrap()) {
        ("servers", _) => "vscode",
        (_, ".mcp.json") => "claude",
        (_, "mcp.json") => "cursor",
        _ => "claude-desktop",
    }
}

#[test]
fn what_others_have_in_the_file_stays_and_its_mode_and_a_link_as_well() {
    let house = House::new();
    let alice = house.home("alice");
    let dir = tempfile::tempdir().unwrap();
    let theirs = "{\"other\": {\"z\": 1, \"a\": [1.50]},\n \"mcpServers\": {\n  \"files\": {\"command\": \"f\", \"env\": {\"TOKEN\": \"secret\"}}\n }\n}\n";
    let (real, link) = (dir.path().join("real.json"), dir.path().join(".mcp.json"));
    fs::write(&real, theirs).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    let done = in_dir(
        &alice,
        dir.path(),
        &["claude", "--name", "alice", "--tier", "3"],
    );
    assert!(done.status.success(), "{}", says(&done));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    let text = fs::read_to_string(&real).unwrap();
    let (head, tail) = theirs.split_at(theirs.find("\n }\n}").unwrap());
    assert!(text.starts_with(head) && text.ends_with(tail), "{text}");
    let args = read(&real)["mcpServers"]["alice"]["args"].clone();
    assert_eq!(args.as_array().unwrap()[3..], [json!("--tier"), json!("3")]);
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        2,
        "nothing else is left"
    );
}

#[test]
fn a_file_that_its_owner_made_read_only_stays_as_it_is() {
    let house = House::new();
    let alice = house.home("alice");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(".mcp.json");
    fs::write(&file, "{}").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let done = in_dir(&alice, dir.path(), &["claude"]);
    assert!(!done.status.success());
    let said = says(&done);
    assert!(
        said.contains("read-only") && said.contains("--print"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
    let left = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 1, "nothing else is left");
}

#[test]
fn a_broken_file_and_a_name_that_is_taken_are_refused_by_name_and_left_alone() {
    let house = House::new();
    let alice = house.home("alice");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(".mcp.json");
    for (text, named) in [
        ("{\"mcpServers\": {", "no JSON"),
        ("{} // comment", "comments"),
        ("[]", "no object"),
        ("{\"mcpServers\": 3}", "mcpServers"),
        (
            "{\"mcpServers\": {\"signet\": {\"command\": \"other\"}}}",
            "another server",
        ),
    ] {
        fs::write(&file, text).unwrap();
        let refused = in_dir(&alice, dir.path(), &["claude"]);
        let said = says(&refused);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(
            said.contains(".mcp.json") && said.contains(named) && said.contains("  next: "),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn without_the_gateway_beside_it_the_program_says_so() {
    let house = House::new();
    let mut alice = house.home("alice");
    let dir = tempfile::tempdir().unwrap();
    let alone = dir.path().join("signet");
    if fs::hard_link(signet(), &alone).is_err() {
        copy_program(signet(), &alone);
    }
    alice.run_by(alone);
    let said = alice.fails(2, &["mcp"]);
    assert!(
        said.contains("signet-gateway") && said.contains("make install"),
        "{said}"
    );
}

#[test]
fn a_command_line_that_cannot_be_read_is_an_error_of_two_lines() {
    for args in [
        &["srve"][..],
        &["mcp"],
        &["mcp", "--socket", "x", "--tier", "9"],
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_signet-gateway"));
        let output = command.args(args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 2, "{args:?}: {said}");
        assert!(
            said.starts_with("error: ") && said.contains("\n  next: signet-gateway --help"),
            "{args:?}: {said}"
        );
    }
}
