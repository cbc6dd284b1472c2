//! Which NATS servers the tests run on.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn script() -> String {
    std::fs::read_to_string(root().join("scripts/nats-server")).unwrap()
}

/// What the script says after `name=`.
fn named(name: &str) -> String {
    let (script, start) = (script(), format!("{name}="));
    let line = script.lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap().to_owned()
}

#[test]
fn the_newest_server_is_taken_although_an_old_one_is_installed() {
    let dir = tempfile::tempdir().unwrap();
    let server = |place: &str, version: &str| {
        let file = dir.path().join(place).join("nats-server");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, format!("#!/bin/sh\necho nats-server: v{version}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        file
    };
    let installed = server("bin", "2.9.10");
    let (newest, oldest) = (
        server("new", &named("newest")),
        server("old", &named("oldest")),
    );
    let path = format!("{}:/usr/bin:/bin", installed.parent().unwrap().display());
    let says = |args: &[&str], variable: Option<&Path>| {
        let mut command = Command::new(root().join("scripts/nats-server"));
        command.args(args).env_clear().env("PATH", &path);
        command.env("NATS_SERVER_NEWEST", &newest);
        command.env("NATS_SERVER_2_10", &oldest);
        command.env("NATS_SERVER_2_9", &installed);
        command.envs(variable.map(|file| ("NATS_SERVER", file)));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end())
    };
    assert_eq!(says(&[], None), newest);
    assert_eq!(says(&[], Some(&oldest)), oldest, "a person's word");
    assert_eq!(says(&["newest"], Some(&oldest)), newest);
    assert_eq!(says(&["2.10"], None), oldest);
    assert_eq!(says(&["2.9"], None), installed);
}

#[test]
fn the_readme_says_which_servers_are_tried() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    for version in [named("newest"), named("oldest"), "2.9.10".to_owned()] {
        assert!(readme.contains(&format!("**{version}**")), "{version}");
    }
    let (newest, oldest) = (named("newest"), named("oldest"));
    assert!(newest != oldest && oldest.starts_with("2.10."));
    let steps = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(steps.contains("scripts/tests-of-nats"));
}
