//! Words that a shell completes: names of peers, drafts and messages, from a daemon that runs, and nothing where none does.

use std::io::Read as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::house::{House, eventually, says};

fn words(line: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command.args(["complete-words", "--", "signet"]).args(line);
    command.env_clear().stdin(Stdio::null()).output().unwrap()
}

fn offered(line: &[&str]) -> Vec<String> {
    let output = words(line);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        says(&output)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn names_come_from_the_daemon_that_the_line_means() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let home = alice.dir.to_str().unwrap();
    assert_eq!(offered(&["--home", home, "send", ""]), [bob.agent.as_str()]);
    assert_eq!(
        offered(&["send", "--home", home, "agent-b"]),
        [bob.agent.as_str()]
    );
    assert!(offered(&["--home", home, "send", "agent-x"]).is_empty());
    assert!(offered(&["--home", home, "approve", ""]).is_empty());
    let asked =
        json!({"peer": alice.agent, "kind": "request", "body": {}, "summary": "$(id)\u{202e}"});
    let asked = bob.call("send", &asked).unwrap();
    let id = asked["message-id"].as_str().unwrap();
    eventually("it arrives", || (!alice.inbox().is_empty()).then_some(()));
    assert_eq!(offered(&["--home", home, "reply", &id[..4]]), [id]);
    assert_eq!(
        offered(&["--home", home, "reply", id, "--from", ""]),
        [bob.agent.as_str()]
    );
}

#[test]
fn without_a_daemon_it_is_silent_and_starts_nothing() {
    let house = House::new();
    let home = house.home("quiet");
    let before: Vec<_> = std::fs::read_dir(&home.dir)
        .unwrap()
        .flatten()
        .map(|file| file.file_name())
        .collect();
    for line in [
        &["--home", home.dir.to_str().unwrap(), "send", ""][..],
        &["--home", "/nonexistent", "send", ""],
        &["--home", "", "approve", ""],
        &["send", ""],
        &[],
        &["--home"],
        &["no-such-command", ""],
    ] {
        assert!(offered(line).is_empty(), "{line:?}");
    }
    let after: Vec<_> = std::fs::read_dir(&home.dir)
        .unwrap()
        .flatten()
        .map(|file| file.file_name())
        .collect();
    assert_eq!(before.len(), after.len(), "{after:?}");
}

/// Somebody who types does not wait for a daemon that hangs.
#[test]
fn a_daemon_that_never_answers_keeps_nobody_waiting() {
    let house = House::new();
    let home = house.home("hanging");
    let listener = UnixListener::bind(home.dir.join("control.sock")).unwrap();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut begun = [0; 1];
            let _ = stream.read(&mut begun);
            kept.push(stream);
        }
    });
    let begun = Instant::now();
    assert!(offered(&["--home", home.dir.to_str().unwrap(), "send", ""]).is_empty());
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
}

/// The words of a daemon in somebody's hands are none for a shell.
#[test]
fn a_name_that_a_shell_would_run_is_not_offered() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let house = House::new();
    let home = house.home("taken");
    let listener = UnixListener::bind(home.dir.join("control.sock")).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let mut stream = stream;
            while let Some(Ok(line)) = lines.next() {
                let asked: serde_json::Value = serde_json::from_str(&line).unwrap();
                let drafts = [
                    "$(touch pwned)",
                    "`id`",
                    "-rf",
                    "a b",
                    "\u{1b}[2J",
                    "01a20aa4-9fcd",
                ];
                let drafts: Vec<_> = drafts
                    .iter()
                    .map(|id| json!({"peer": "agent-b", "message-id": id, "waits-for": "approval", "until": "", "type": "request", "data-tier": 1, "body": {}}))
                    .collect();
                let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"drafts": drafts, "waiting": 6}});
                let _ = writeln!(stream, "{answer}");
            }
        }
    });
    assert_eq!(
        offered(&["--home", home.dir.to_str().unwrap(), "approve", ""]),
        ["01a20aa4-9fcd"]
    );
}

fn completed(directory: &Path, home: &Path, line: &str) -> String {
    let script = format!(
        "source completions.bash; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
         $(complete -p signet | sed 's/.*-F \\([^ ]*\\).*/\\1/') signet; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let binary = Path::new(env!("CARGO_BIN_EXE_signet")).parent().unwrap();
    let mut command = Command::new("bash");
    command
        .args(["--norc", "-c", &script])
        .current_dir(directory);
    command.env_clear().env("SIGNET_HOME", home);
    command.env("PATH", format!("{}:/usr/bin:/bin", binary.display()));
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{line}: {}", says(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn bash_completes_a_peer_and_else_what_the_script_of_the_parser_knows() {
    let house = House::new();
    let (alice, bob) = house.alice_and_bob();
    let directory = tempfile::tempdir().unwrap();
    let script = Command::new(env!("CARGO_BIN_EXE_signet"))
        .args(["completions", "bash"])
        .output()
        .unwrap();
    std::fs::write(directory.path().join("completions.bash"), script.stdout).unwrap();
    let complete = |line: &str| completed(directory.path(), &alice.dir, line);
    assert_eq!(complete("signet send ''"), format!("{}\n", bob.agent));
    assert_eq!(complete("signet ping agent-b"), format!("{}\n", bob.agent));
    assert!(complete("signet send --summ").contains("--summary"));
    let commands = complete("signet ''");
    assert!(
        commands.lines().any(|name| name == "send") && !commands.contains("complete-words"),
        "{commands}"
    );
}

#[test]
fn zsh_and_fish_ask_the_same_program() {
    for (shell, ends) in [
        ("zsh", "compdef _signet_words signet"),
        ("fish", "__signet_words"),
    ] {
        let script = Command::new(env!("CARGO_BIN_EXE_signet"))
            .args(["completions", shell])
            .output()
            .unwrap();
        let script = String::from_utf8(script.stdout).unwrap();
        assert!(
            script.contains(ends) && script.contains("command signet complete-words -- "),
            "{shell}"
        );
        // Where the shell is at hand, it reads the script.
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("script");
        std::fs::write(&file, &script).unwrap();
        if let Ok(output) = Command::new(shell).arg("-n").arg(&file).output() {
            assert!(output.status.success(), "{shell}: {}", says(&output));
        }
    }
}
