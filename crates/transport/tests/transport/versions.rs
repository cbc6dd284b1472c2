//! Which NATS servers the tests, CI and the benches run on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// What scripts/nats-server says after `name=`.
fn named(name: &str) -> String {
    let (script, start) = (read("scripts/nats-server"), format!("{name}="));
    let line = script.lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap().to_owned()
}

#[test]
fn the_newest_server_is_taken_although_an_old_one_is_installed() {
    let played = Played::new();
    let installed = played.installs("2.9.10");
    let (newest, oldest) = (
        played.server("new", &named("newest")),
        played.server("old", &named("oldest")),
    );
    let says = |args: &[&str], variable: Option<&Path>| {
        let mut command = played.command("scripts/nats-server");
        command.args(args);
        command.env("NATS_SERVER_NEWEST", &newest);
        command.env("NATS_SERVER_2_10", &oldest);
        command.env("NATS_SERVER_2_9", &installed);
        command.envs(variable.map(|file| ("NATS_SERVER", file)));
        path(&command.output().unwrap())
    };
    assert_eq!(says(&[], None), newest);
    assert_eq!(says(&[], Some(&oldest)), oldest, "a person's word");
    assert_eq!(says(&["newest"], Some(&oldest)), newest);
    assert_eq!(says(&["2.10"], None), oldest);
    assert_eq!(says(&["2.9"], None), installed);
}

#[test]
fn where_the_newest_cannot_be_had_it_is_said_which_server_is_taken_instead() {
    let played = Played::new();
    let installed = played.installs("2.9.10");
    let any = played.command("scripts/nats-server").output().unwrap();
    let said = said(&any);
    assert_eq!(path(&any), installed);
    for word in [&named("newest"), "taking nats-server: v2.9.10 instead"] {
        assert!(said.contains(word), "{said}");
    }
    let mut newest = played.command("scripts/nats-server");
    let newest = newest.arg("newest").output().unwrap();
    assert_eq!(newest.status.code(), Some(1), "{newest:?}");
    assert!(newest.stdout.is_empty(), "{newest:?}");
}

#[test]
fn a_server_that_is_named_and_does_not_run_is_not_passed_over_in_silence() {
    let played = Played::new();
    played.installs("2.9.10");
    let mut any = played.command("scripts/nats-server");
    let any = any.env("NATS_SERVER", "/nowhere/nats-server").output();
    let said = said(&any.unwrap());
    assert!(
        said.contains("/nowhere/nats-server, which NATS_SERVER names"),
        "{said}"
    );
}

#[test]
fn ci_does_not_run_on_an_old_server_although_a_variable_names_one() {
    let played = Played::new();
    let installed = played.installs("2.9.10");
    let run = |variable: &str, newest: &Path| {
        let mut ci = played.command(".ci/run");
        ci.env("NATS_SERVER", variable)
            .env("NATS_SERVER_NEWEST", newest);
        ci.output().unwrap()
    };
    let old = run(&installed.display().to_string(), &installed);
    assert_eq!(old.status.code(), Some(1), "{old:?}");
    assert!(said(&old).contains("newest NATS server"), "{old:?}");
    assert_eq!(played.calls(), "", "nothing was built or tried");
    let newest = played.server("new", &named("newest"));
    let ran = run(&installed.display().to_string(), &newest);
    assert!(ran.status.success(), "{ran:?}");
    let tests = format!("make test {}\n", newest.display());
    assert!(played.calls().contains(&tests), "{}", played.calls());
}

#[test]
fn a_bench_says_which_server_is_missing_and_ends_with_its_table_also_where_none_came_to_a_figure() {
    let played = Played::new();
    played.installs("2.9.10");
    for program in ["signet", "signet-gateway"] {
        played.program(&format!("target/release/{program}"), "");
    }
    let bench = played.command("scripts/bench").output().unwrap();
    assert_eq!(bench.status.code(), Some(1), "{bench:?}");
    let (said, printed) = (said(&bench), String::from_utf8_lossy(&bench.stdout));
    for version in ["2.10", "newest"] {
        let missing = format!("bench: there is no nats-server {version} here");
        assert!(said.contains(&missing), "{said}");
    }
    assert!(!said.contains("no nats-server 2.9"), "{said}");
    assert!(said.contains("or a bench failed"), "{said}");
    assert!(printed.contains("| bench | figure |"), "{printed}");
}

#[test]
fn the_readme_says_which_servers_are_tried() {
    let readme = read("README.md");
    for version in [named("newest"), named("oldest"), "2.9.10".to_owned()] {
        assert!(readme.contains(&format!("**{version}**")), "{version}");
    }
    let (newest, oldest) = (named("newest"), named("oldest"));
    assert!(newest != oldest && oldest.starts_with("2.10."));
    assert!(read(".ci/run").contains("scripts/tests-of-nats"));
}

/// The scripts in a folder of their own, with nothing fetched and no network: what they start is played, but for
/// `scripts/nats-server` and what the system has.
struct Played {
    dir: TempDir,
}

impl Played {
    fn new() -> Self {
        let played = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        for script in fs::read_dir(root().join("scripts")).unwrap() {
            let script = script.unwrap().file_name().into_string().unwrap();
            played.program(&format!("scripts/{script}"), "");
        }
        for script in ["scripts/nats-server", "scripts/bench", ".ci/run"] {
            played.write(script, &read(script));
        }
        let calls = played.dir.path().join("calls");
        let note = format!("echo \"${{0##*/}} $* $NATS_SERVER\" >>{}", calls.display());
        for command in ["cargo", "make"] {
            played.program(&format!("bin/{command}"), &note);
        }
        // `scripts/nats-server` fetches a server with these commands: both fail here, so nothing is fetched.
        for command in ["python3", "apt-get"] {
            played.program(&format!("bin/{command}"), "exit 1");
        }
        played
    }

    fn write(&self, place: &str, text: &str) -> PathBuf {
        let file = self.dir.path().join(place);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    fn program(&self, place: &str, does: &str) -> PathBuf {
        self.write(place, &format!("#!/bin/sh\n{does}\n"))
    }

    fn server(&self, place: &str, version: &str) -> PathBuf {
        let does = format!("echo nats-server: v{version}");
        self.program(&format!("{place}/nats-server"), &does)
    }

    /// The server of that version is the one of the system.
    fn installs(&self, version: &str) -> PathBuf {
        self.server("bin", version)
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new(self.dir.path().join(script));
        let path = format!("{}:/usr/bin:/bin", self.dir.path().join("bin").display());
        command.env_clear().env("PATH", path);
        command
    }

    /// What cargo and make were called with, and the server that they were given.
    fn calls(&self) -> String {
        fs::read_to_string(self.dir.path().join("calls")).unwrap_or_default()
    }
}

fn path(output: &Output) -> PathBuf {
    assert!(output.status.success(), "{output:?}");
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
