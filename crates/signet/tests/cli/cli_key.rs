//! `signet key` as a person uses it, by hand, with and without a daemon that runs.

mod carried;
mod stashed;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A person's desk: homes and sticks, in one directory.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `signet ARGS --home HOME`, every `@name` being a path on the desk.
    fn signet(&self, home: &str, args: &[&str]) -> Output {
        let place = |arg: &&str| match arg.strip_prefix('@') {
            Some(name) => self.path(name).into_os_string(),
            None => (*arg).into(),
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
        command.args(args.iter().map(place));
        if !home.is_empty() {
            command.arg("--home").arg(self.path(home));
        }
        command.env_clear().stdin(Stdio::null()).output().unwrap()
    }

    fn done(&self, home: &str, args: &[&str]) -> String {
        let output = self.signet(home, args);
        assert!(output.status.success(), "{args:?}: {}", err(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it says when it refuses, which is two lines.
    fn refused(&self, home: &str, args: &[&str]) -> String {
        self.fails(1, home, args)
    }

    /// The same for a file that cannot be used.
    fn unusable(&self, home: &str, args: &[&str]) -> String {
        self.fails(2, home, args)
    }

    fn fails(&self, code: i32, home: &str, args: &[&str]) -> String {
        let output = self.signet(home, args);
        let said = err(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        let form = said.starts_with("error: ") && said.contains("\n  next: ");
        assert!(form && said.lines().count() == 2, "{args:?}: {said}");
        said
    }

    fn alice(&self, home: &str, more: &[&str]) {
        let args = ["init", "--agent", "agent-alice-001", "--principal", "alice"];
        self.done(home, &[&args[..], more].concat());
    }

    /// Takes a key away from the home, as a person does with a stick.
    fn carry(&self, home: &str, name: &str) -> PathBuf {
        let to = self.path(name);
        std::fs::rename(self.path(home).join("keys").join(name), &to).unwrap();
        to
    }

    fn certificate(&self, home: &str) -> Value {
        serde_json::from_str(&self.done(home, &["peer", "export"])).unwrap()
    }

    fn key(&self, home: &str, name: &str) -> Value {
        let shown: Value =
            serde_json::from_str(&self.done(home, &["key", "show", "--json"])).unwrap();
        let keys = shown["keys"].as_array().unwrap().clone();
        let found = keys.into_iter().find(|key| key["key"] == name);
        found.unwrap_or(Value::Null)
    }

    /// No file under the desk is readable by others, and none of the outputs holds a secret.
    fn prove_private(&self) {
        for path in tree(self.0.path()) {
            let mode = path.metadata().unwrap().permissions().mode();
            let is_key = path.extension().is_some_and(|name| name == "pem");
            assert!(!is_key || mode & 0o777 == 0o600, "{}", path.display());
        }
    }
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn tree(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => tree(&path),
            false => vec![path],
        })
        .collect()
}

/// The 32 secret bytes of every key file, as their files hold them.
fn secrets(desk: &Desk) -> Vec<String> {
    let pems = tree(desk.0.path()).into_iter();
    let pems = pems.filter(|path| path.extension().is_some_and(|name| name == "pem"));
    let text = pems.map(|path| std::fs::read_to_string(path).unwrap());
    let line = |text: String| text.lines().nth(1).map(|line| line[24..60].to_owned());
    text.filter_map(line).collect()
}

#[test]
fn every_key_is_shown_in_plain_words_and_no_secret() {
    let desk = Desk::new();
    desk.alice("home", &[]);
    let page = desk.done("home", &["key", "show"]);
    for word in [
        "signing:",
        "sealing:",
        "root:",
        "next root:",
        "control:",
        "audit:",
    ] {
        assert!(page.contains(word), "{page}");
    }
    assert_eq!(page.matches("move it to a safe place").count(), 4, "{page}");
    for name in ["root.pem", "next-root.pem", "control.pem", "audit.pem"] {
        desk.carry("home", name);
    }
    let page = desk.done("home", &["key", "show"]);
    assert_eq!(page.matches("secret      not here").count(), 4, "{page}");
    let json = desk.done("home", &["key", "show", "--json"]);
    for secret in secrets(&desk) {
        assert!(!page.contains(&secret) && !json.contains(&secret));
    }
    let signing = desk.key("home", "signing");
    assert_eq!(signing["serial"], desk.certificate("home")["serial"]);
    desk.prove_private();
}

#[test]
fn each_key_is_rotated_with_the_root_on_a_stick() {
    let desk = Desk::new();
    desk.alice("home", &[]);
    desk.carry("home", "root.pem");
    let before = desk.certificate("home");
    desk.done("home", &["key", "rotate", "signing", "--root", "@root.pem"]);
    let after = desk.certificate("home");
    assert!(after["serial"].as_u64() > before["serial"].as_u64());
    assert_ne!(after["signing-key"], before["signing-key"]);
    let sealing = desk.key("home", "sealing");
    desk.done("home", &["key", "rotate", "sealing"]);
    assert_ne!(desk.key("home", "sealing")["id"], sealing["id"]);
    let old = desk.key("home", "old sealing");
    assert!(old["destroyed"].is_string(), "{old}");
    for which in ["audit", "control"] {
        let before = desk.key("home", which);
        let said = desk.done("home", &["key", "rotate", which, "--root", "@root.pem"]);
        assert!(said.contains("signet key install"), "{said}");
        assert_ne!(desk.key("home", which)["id"], before["id"]);
    }
    assert!(
        desk.key("home", "old audit")["what"]
            .as_str()
            .unwrap()
            .contains("keep it")
    );
    assert_eq!(desk.certificate("home"), after);
    let said = desk.unusable("home", &["key", "rotate", "signing"]);
    assert!(said.contains("root.pem"), "{said}");
    desk.prove_private();
}

#[test]
fn the_next_root_takes_over_wherever_it_is() {
    let desk = Desk::new();
    desk.alice("home", &[]);
    let args = ["--root", "@home/keys/root.pem"];
    let second = ["init", "--agent", "agent-alice-002", "--principal", "alice"];
    desk.done("other", &[&second[..], &args].concat());
    // First with both root keys in the home …
    let said = desk.unusable(
        "home",
        &["key", "rotate", "root", "--root", "@home/keys/root.pem"],
    );
    assert!(
        said.contains("commits to the hash of another one"),
        "{said}"
    );
    let before = desk.certificate("home");
    desk.done("home", &["key", "rotate", "root"]);
    let after = desk.certificate("home");
    assert_ne!(after["root-key"], before["root-key"]);
    assert_eq!(after["signing-key"], before["signing-key"]);
    let (root, next) = ("@home/keys/root.pem", "@home/keys/next-root.pem");
    desk.done(
        "other",
        &["key", "rotate", "root", "--root", root, "--next-root", next],
    );
    let other = desk.certificate("other");
    assert_eq!(
        (&other["root-key"], &other["next-root"]),
        (&after["root-key"], &after["next-root"])
    );
    // … then with the next root key on a stick: the command uses that file, and neither moves nor overwrites it.
    desk.carry("home", "next-root.pem");
    std::fs::remove_file(desk.path("home/keys/root.pem")).unwrap();
    let said = desk.done(
        "home",
        &["key", "rotate", "root", "--root", "@next-root.pem"],
    );
    let made: Vec<_> = tree(desk.0.path())
        .into_iter()
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("next-root-")
        })
        .collect();
    assert_eq!(made.len(), 1, "{said}");
    assert!(said.contains(&made[0].display().to_string()), "{said}");
    assert!(!desk.path("home/keys/root.pem").exists() && desk.path("next-root.pem").exists());
    desk.prove_private();
}

#[test]
fn the_agents_of_a_person_share_their_control_and_audit_keys() {
    let desk = Desk::new();
    desk.alice("home", &[]);
    desk.carry("home", "root.pem");
    desk.carry("home", "next-root.pem");
    let second = [
        "init",
        "--agent",
        "agent-alice-002",
        "--principal",
        "alice",
        "--root",
        "@root.pem",
    ];
    let said = desk.unusable("other", &second);
    assert!(
        said.contains("control.json") && said.contains("--control"),
        "{said}"
    );
    assert!(!desk.path("other").exists());
    let control = ["--control", "@home/keys/control.json"];
    desk.done("other", &[&second[..], &control].concat());
    for key in ["control", "audit"] {
        assert_eq!(desk.key("home", key)["id"], desk.key("other", key)["id"]);
        assert!(desk.key("other", key)["secret"].is_null());
    }
    desk.done("home", &["key", "rotate", "control", "--root", "@root.pem"]);
    desk.done("other", &["key", "install", "@home/keys/control.json"]);
    assert_eq!(
        desk.key("home", "control")["id"],
        desk.key("other", "control")["id"]
    );
    desk.alice("mallory", &[]);
    desk.unusable("home", &["key", "install", "@mallory/keys/control.json"]);
}

#[test]
fn a_revocation_is_signed_by_the_root_and_written_once() {
    let desk = Desk::new();
    desk.alice("home", &[]);
    let serial = desk.certificate("home")["serial"].as_u64().unwrap();
    let root = ["--root", "@home/keys/root.pem", "--reason", "laptop stolen"];
    let printed = desk.done("home", &[&["key", "revoke"][..], &root].concat());
    let statement: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(statement["agent-id"], "agent-alice-001");
    assert_eq!(statement["serial"], serial);
    let out = [&["key", "revoke", "--out", "@revocation.json"][..], &root].concat();
    let said = desk.done("home", &out);
    assert!(said.contains("signet trust revoke --statement"), "{said}");
    desk.refused("home", &out);
    // The laptop with the home was stolen: on another machine the command cannot look up agent and serial, so the
    // person names them.
    let number = serial.to_string();
    let names = [
        "key",
        "revoke",
        "--agent",
        "agent-alice-001",
        "--serial",
        &number,
        "--principal",
        "alice",
    ];
    let elsewhere: Value =
        serde_json::from_str(&desk.done("", &[&names[..], &root].concat())).unwrap();
    assert_eq!(elsewhere["serial"], serial);
    desk.alice("mallory", &[]);
    let theirs = ["--root", "@mallory/keys/root.pem", "--reason", "x"];
    let said = desk.unusable("home", &[&["key", "revoke"][..], &theirs].concat());
    assert!(said.contains("not the root key"), "{said}");
    let endless = "x".repeat(201);
    let args = [
        "key",
        "revoke",
        "--root",
        "@home/keys/root.pem",
        "--reason",
        &endless,
    ];
    assert_eq!(desk.signet("home", &args).status.code(), Some(2));
}

#[test]
fn an_interrupted_change_is_finished_by_adopt() {
    let desk = Desk::new();
    desk.alice("home", &[]);
    desk.alice("twin", &[]);
    assert!(
        desk.done("home", &["key", "adopt"])
            .contains("no change was waiting")
    );
    let next = desk.path("home/keys/next");
    std::fs::create_dir(&next).unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&next, open).unwrap();
    let said = desk.refused("home", &["key", "adopt"]);
    assert!(said.contains("not put there"), "{said}");
    // The keys of somebody else, staged as if they were ours.
    std::fs::remove_dir_all(&next).unwrap();
    std::fs::create_dir(&next).unwrap();
    std::fs::set_permissions(&next, std::fs::Permissions::from_mode(0o700)).unwrap();
    for name in [
        "signing.pem",
        "sealing.pem",
        "certificate.json",
        "keys.json",
    ] {
        std::fs::copy(desk.path("twin/keys").join(name), next.join(name)).unwrap();
    }
    let before = desk.certificate("home");
    let said = desk.refused("home", &["key", "adopt"]);
    assert!(said.contains("does not follow the present keys"), "{said}");
    assert_eq!(desk.certificate("home"), before);
    assert!(!next.exists());
}
