//! The first screen of README.md is what a stranger types and sees, and what stands below it is so.

use std::collections::BTreeSet;
use std::fs::create_dir_all;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::PoisonError;

use signet_proto::ids::Version;
use signet_testkit::{fed, says};

use super::quickstart::{TURN, block, which};
use super::{BY_HAND, README, masks, releasing, text};

/// What a reader sees without moving, of a window of usual height.
fn first_screen() -> String {
    let page = text(README);
    page.split("\n## ").next().unwrap().to_owned()
}

#[test]
fn the_first_screen_has_the_sentence_the_commands_and_what_they_show() {
    let screen = first_screen();
    let lines = screen.lines().count();
    assert!(lines <= 50, "{lines} lines: {screen}");
    for part in [
        "**Agents that can prove who they are, and a log that can prove what they said.**",
        "\nmake demo ",
        "\nmake test ",
        "<!-- first screen -->",
        "<!-- shown -->",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    let commands = block(&screen, "<!-- first screen -->");
    assert_eq!(commands.lines().count(), 4, "four commands: {commands}");
}

/// The commands of the first screen are typed where nothing has been set up, and those behind it.
#[test]
fn the_first_screen_gives_the_answer_that_it_shows() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().unwrap();
    let bin = place.path().join("bin");
    create_dir_all(&bin).unwrap();
    for name in ["sh", "nats-server", "echo"] {
        symlink(which(name), bin.join(name)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_signet"), bin.join("signet")).unwrap();
    let shell = || {
        let mut command = Command::new(bin.join("sh"));
        command.arg("-s").current_dir(place.path()).env_clear();
        command.env("PATH", &bin).env("HOME", place.path());
        command
    };
    let page = text(README);
    let commands = block(&page, "<!-- first screen -->");
    let then = block(&page, "<!-- then -->");
    let script = format!("exec 2>&1\ntrap 'kill $!' EXIT\nset -e\n{commands}\necho ----\n{then}");
    let output = fed(shell(), &script);
    let down = fed(shell(), "signet down --home bob; signet down --home alice");
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{printed}\n{}", says(&output));
    assert!(down.status.success(), "{}", says(&down));
    let (answered, logged) = printed.split_once("----\n").unwrap();
    let shown = block(&page, "<!-- shown -->");
    let last = answered.lines().count() - shown.lines().count();
    let mut names = masks::Names::default();
    for (shown, said) in shown.lines().zip(answered.lines().skip(last)) {
        assert!(names.agree(shown, said), "{shown}\n{printed}");
    }
    assert!(logged.contains("\"Asks for free evenings\""), "{logged}");
    assert!(
        logged.lines().any(|line| line.starts_with("OK")),
        "{logged}"
    );
}

/// The line that installs, with a `make` that only says what it was asked for.
#[test]
fn the_line_that_installs_asks_for_a_target_that_there_is_and_names_a_server() {
    let screen = first_screen();
    let line = screen.lines().find(|line| line.starts_with("make build"));
    let place = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = format!(
        "make() {{ echo \"asked $*\"; }}\n{}\necho \"path $PATH\"\n\"$NATS_SERVER\" --version",
        line.unwrap()
    );
    let mut shell = Command::new("bash");
    shell.arg("-s").current_dir(&root).env("HOME", place.path());
    shell.env("NATS_SERVER", which("nats-server"));
    let output = fed(shell, &script);
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{said}{}", says(&output));
    assert!(said.contains("asked build\n"), "{said}");
    assert!(said.contains("/target/release:"), "{said}");
    assert!(said.contains("nats-server: v"), "{said}");
    assert!(text("Makefile").contains("\nbuild: ##"));
}

#[test]
fn the_version_of_the_program_and_those_of_the_wire_are_told_apart() {
    let page = text(README);
    let (_, told) = page.split_once("**Two versions.**").unwrap();
    let told = told.split("\n\n").next().unwrap();
    let program = format!("release **{}** of the program", releasing::version());
    assert!(told.contains(&program), "{told}");
    for version in Version::SPOKEN {
        assert!(
            told.contains(&format!("**{version}**")),
            "{version}: {told}"
        );
    }
}

/// The lines of the demonstration that the README shows are those that it prints.
#[test]
fn the_demonstration_of_the_readme_is_the_one_that_runs() {
    let place = tempfile::tempdir().unwrap();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_signet"));
    demo.arg("demo")
        .current_dir(place.path())
        .env("NO_COLOR", "1");
    let output = demo.output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    let readme = text(README);
    let shown = readme.split_once("<!-- demo -->").unwrap().1;
    let shown = shown.split_once("<!-- /demo -->").unwrap().0;
    let happened = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("  ok "));
        lines.map(str::to_owned).collect()
    };
    let (shown_steps, steps) = (happened(shown), happened(&printed));
    assert!((8..=13).contains(&shown_steps.len()), "{shown_steps:#?}");
    let mut rest = steps.iter();
    for shown in &shown_steps {
        // Compare with masks: one of the steps ends with twelve words, and they differ from run to run.
        let found = rest.any(|step| masks::Names::default().agree(shown, step));
        assert!(found, "{shown}\n{steps:#?}");
    }
    let rejected = r#"cat audit/*/inter-agent-*.jsonl | jq -r 'select(.verdict == "rejected") | [.ts, .peer, .reason] | @tsv'"#;
    assert!(text(BY_HAND).contains(rejected), "the recipe of {BY_HAND}");
    let done = Command::new("sh")
        .args(["-c", rejected])
        .current_dir(place.path())
        .output()
        .unwrap();
    // Count only reasons that a step tells of: duplicates and handshakes that crossed are refused too, and they differ
    // from run to run.
    let told = |reason: &str| {
        steps
            .iter()
            .any(|step| step.contains(&format!("refused ({reason})")))
    };
    let rows = String::from_utf8(done.stdout).unwrap();
    let rows = rows.lines().filter_map(|row| row.rsplit('\t').next());
    let happened: BTreeSet<&str> = rows.filter(|reason| told(reason)).collect();
    assert!(happened.len() >= 6, "{happened:?}");
}
