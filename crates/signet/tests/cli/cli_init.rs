//! `signet` as a person uses it: the binary, its files, its exit codes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::house::{LISTS, listed_commands};

fn signet(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command.args(args).env_clear().stdin(Stdio::null());
    command
}

fn init(home: &Path, agent: &str, more: &[&str]) -> Output {
    let mut args = vec![
        "init",
        "--agent",
        agent,
        "--principal",
        "alice",
        "--home",
        home.to_str().unwrap(),
    ];
    args.extend(more);
    signet(&args)
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn tree(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

fn export(home: &Path) -> serde_json::Value {
    let output = signet(&["peer", "export", "--home", home.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The twelve words that `init` printed.
fn words(output: &Output) -> String {
    let text = out(output);
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let line = text
        .lines()
        .find(|line| line.split_whitespace().count() == 12 && line.split_whitespace().all(is_word));
    line.expect(&text).trim().to_owned()
}

#[test]
fn a_new_agent_is_made_and_only_its_owner_can_read_it() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().join("deep/er/alice");
    let output = init(&home, "agent-alice-001", &[]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    for path in tree(&home) {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(
            mode,
            if path.is_dir() { 0o700 } else { 0o600 },
            "{}",
            path.display()
        );
    }
    assert_eq!(
        std::fs::metadata(&home).unwrap().permissions().mode() & 0o7777,
        0o700
    );
    assert!(
        out(&output).contains("signet peer export --home "),
        "{}",
        out(&output)
    );
    assert_eq!(words(&output).split(' ').count(), 12);
    let certificate = export(&home);
    assert_eq!(certificate["agent-id"], "agent-alice-001");
    assert_eq!(certificate["principal-id"], "alice");
}

#[test]
fn nothing_is_ever_overwritten_and_nothing_is_left_half_made() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().join("alice");
    assert_eq!(init(&home, "agent-alice-001", &[]).status.code(), Some(0));
    let before: Vec<_> = tree(directory.path())
        .iter()
        .map(|path| (path.clone(), std::fs::read(path).ok()))
        .collect();
    let again = init(&home, "agent-alice-002", &[]);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        err(&again).starts_with("error: ") && err(&again).contains("\n  next: "),
        "{}",
        err(&again)
    );
    let after: Vec<_> = tree(directory.path())
        .iter()
        .map(|path| (path.clone(), std::fs::read(path).ok()))
        .collect();
    assert_eq!(before, after);
}

#[test]
fn a_file_or_a_link_in_the_place_of_the_home_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("/nowhere", &link).unwrap();
    for home in [&file, &link] {
        assert_eq!(init(home, "agent-alice-001", &[]).status.code(), Some(1));
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(tree(directory.path()), [file, link]);
}

#[test]
fn an_empty_directory_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(
        init(directory.path(), "agent-alice-001", &[]).status.code(),
        Some(0)
    );
    assert_eq!(export(directory.path())["agent-id"], "agent-alice-001");
}

#[test]
fn a_second_agent_of_the_same_person_has_the_same_root() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    let first = init(&one, "agent-alice-001", &[]);
    let root = one.join("keys/root.pem");
    let second = init(&two, "agent-alice-002", &["--root", root.to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(0), "{}", err(&second));
    assert_eq!(words(&first), words(&second));
    let (one, two) = (export(&one), export(&two));
    assert_eq!(one["root-key"], two["root-key"]);
    assert_eq!(one["next-root"], two["next-root"]);
    assert_ne!(one["signing-key"], two["signing-key"]);
    assert!(!directory.path().join("two/keys/root.pem").exists());
}

#[test]
fn a_root_key_that_cannot_be_used_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let bad = directory.path().join("root.pem");
    std::fs::write(
        &bad,
        "-----BEGIN PRIVATE KEY-----\nSECRETSECRET\n-----END PRIVATE KEY-----\n",
    )
    .unwrap();
    let home = directory.path().join("two");
    for mode in [0o644, 0o600] {
        std::fs::set_permissions(&bad, std::fs::Permissions::from_mode(mode)).unwrap();
        let output = init(&home, "agent-alice-002", &["--root", bad.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        assert!(!err(&output).contains("SECRETSECRET"), "{}", err(&output));
        assert_eq!(tree(directory.path()), std::slice::from_ref(&bad));
    }
    let missing = directory.path().join("missing.pem");
    let output = init(
        &home,
        "agent-alice-002",
        &["--root", missing.to_str().unwrap()],
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(tree(directory.path()), [bad]);
}

#[test]
fn a_home_too_deep_for_its_socket_is_refused_before_anything_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let output = init(
        &directory.path().join("d".repeat(100)),
        "agent-alice-001",
        &[],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("control.sock") && err(&output).contains("107"),
        "{}",
        err(&output)
    );
    assert!(tree(directory.path()).is_empty());
}

#[test]
fn the_home_comes_from_the_environment_when_it_is_not_named() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().join("alice");
    let args = ["init", "--agent", "agent-alice-001", "--principal", "alice"];
    let output = command(&args).env("SIGNET_HOME", &home).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(home.join("keys/signing.pem").exists());
    assert_eq!(signet(&args).status.code(), Some(2));
}

#[test]
fn a_wrong_command_line_is_exit_code_two() {
    let wrong: [&[&str]; 6] = [
        &[],
        &["nonsense"],
        &["init", "--agent", "Agent Alice", "--principal", "alice"],
        &["init", "--agent", "../alice", "--principal", "alice"],
        &[
            "init",
            "--agent",
            "a",
            "--principal",
            "b",
            "--next-root",
            "file",
        ],
        &["schema", "nonsense"],
    ];
    for args in wrong {
        let output = signet(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", err(&output));
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn an_absent_home_is_an_error_with_a_way_on() {
    let output = signet(&["peer", "export", "--home", "/nonexistent"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("next: ")
            && err(&output).contains("signet up --home /nonexistent --help"),
        "{}",
        err(&output)
    );
}

/// Every command that `--help` lists, with its subcommands.
fn commands(path: &[String], found: &mut Vec<Vec<String>>) {
    let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
    args.push("--help");
    let text = out(&signet(&args));
    found.push(path.to_vec());
    for name in listed_commands(&text) {
        commands(&[path, &[name]].concat(), found);
    }
}

#[test]
fn the_help_of_every_command_has_an_example() {
    let mut found = Vec::new();
    commands(&[], &mut found);
    assert!(
        found.contains(&vec!["peer".to_owned(), "export".to_owned()]),
        "{found:?}"
    );
    for path in found {
        let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
        args.push("--help");
        let output = signet(&args);
        assert_eq!(output.status.code(), Some(0));
        assert!(out(&output).contains("EXAMPLE:\n  signet "), "{path:?}");
    }
}

#[test]
fn no_color_is_honoured() {
    let args = ["peer", "export", "--home", "/nonexistent"];
    let coloured = command(&args).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(err(&coloured).contains('\u{1b}'));
    let plain = command(&args)
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    assert!(!err(&plain).contains('\u{1b}'));
    assert!(err(&plain).starts_with("error: "), "{}", err(&plain));
}

#[test]
fn every_schema_is_printed() {
    let names = out(&signet(&["schema"]));
    assert!(names.lines().any(|name| name == "message"));
    for name in names.lines() {
        let output = signet(&["schema", name]);
        let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(schema["$id"].is_string(), "{name}");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command(&["schema", "message"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(err(&output).is_empty(), "{}", err(&output));
}

/// Lines of prose that end although the next word would have had room: broken by hand, then by the parser.
fn broken_by_hand(help: &str, width: usize) -> Vec<String> {
    let lists = ["Options:", "Arguments:", "EXAMPLE:", "EXIT CODES:"];
    let (mut found, mut is_list) = (Vec::new(), false);
    for (line, next) in help.lines().zip(help.lines().skip(1)) {
        if line.ends_with(':') && !line.starts_with(' ') {
            is_list = lists.contains(&line) || LISTS.contains(&line);
        }
        let indentation = |line: &str| line.len() - line.trim_start().len();
        let alike = !line.is_empty() && !next.is_empty() && indentation(line) == indentation(next);
        let word = next.split_whitespace().next().unwrap_or_default();
        if !is_list && alike && line.chars().count() + 1 + word.chars().count() <= width {
            found.push(line.to_owned());
        }
    }
    found
}

/// Lines of examples in which no command begins and that no backslash leads to.
fn torn_commands(help: &str) -> Vec<String> {
    let example = help.lines().skip_while(|line| *line != "EXAMPLE:").skip(1);
    let mut goes_on = false;
    let mut torn = Vec::new();
    for line in example.take_while(|line| !line.is_empty()) {
        let begins = ["signet ", "nats-server ", "NATS_CONTEXT=", "pass "];
        let is_begun = begins
            .iter()
            .any(|word| line.trim_start().starts_with(word));
        if !is_begun && !goes_on {
            torn.push(line.to_owned());
        }
        goes_on = line.ends_with('\\');
    }
    torn
}

#[test]
fn help_is_broken_once_at_every_width() {
    let mut found = Vec::new();
    commands(&[], &mut found);
    for width in [80, 100] {
        for path in &found {
            for form in ["--help", "-h"] {
                let args: Vec<&str> = path.iter().map(String::as_str).chain([form]).collect();
                let mut command = command(&args);
                let output = command.env("COLUMNS", width.to_string()).output().unwrap();
                let help = out(&output);
                // The parser never breaks the usage line, so that line may be longer than the terminal.
                let lines = help.lines().filter(|line| !line.starts_with("Usage: "));
                let long = lines.filter(|line| line.chars().count() > width);
                assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new(), "{path:?}");
                assert_eq!(torn_commands(&help), Vec::<String>::new(), "{path:?}");
                assert_eq!(
                    broken_by_hand(&help, width),
                    Vec::<String>::new(),
                    "{path:?}"
                );
            }
        }
    }
}
