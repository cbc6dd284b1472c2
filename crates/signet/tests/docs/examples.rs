//! The scripts of examples/notify tell what a record says, and nothing that they should not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use signet_testkit::{fed, says};

use super::text;

const PAGE: &str = "examples/notify/README.md";
const SECRET: &str = "tk_c0ffee";

/// The record that the page shows.
fn record() -> Value {
    let page = text(PAGE);
    let (_, shown) = page.split_once("<!-- record -->\n```json\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    serde_json::from_str(shown).unwrap()
}

/// A script of the examples.
fn command(script: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(root.join("examples/notify").join(script))
}

/// A script, and programs in the place of those that it starts. They are links: a program that a test has just written
/// cannot be started while another thread's child has it open.
struct Tried {
    place: tempfile::TempDir,
}

impl Tried {
    fn new(code: i32) -> Self {
        let place = tempfile::tempdir().unwrap();
        let told = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/docs/told");
        for program in ["curl", "sendmail"] {
            symlink(&told, place.path().join(program)).unwrap();
        }
        fs::write(place.path().join("code"), code.to_string()).unwrap();
        Self { place }
    }

    /// The file with the secret, with this mode.
    fn secret(&self, mode: u32) -> PathBuf {
        let file = self.place.path().join("secret");
        fs::write(&file, format!("url = \"https://ntfy.example/{SECRET}\"\n")).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        file
    }

    fn run(&self, script: &str, argument: &Path, record: &Value) -> Output {
        self.read(script, argument, &format!("{record}\n"))
    }

    /// Runs a script with this on its standard input.
    fn read(&self, script: &str, argument: &Path, input: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.place.path().display());
        let mut command = command(script);
        command.arg(argument).env_clear().env("PATH", path);
        fed(command, input)
    }

    /// What the program was given: its arguments, and its input.
    fn given(&self) -> (String, String) {
        let read = |name| fs::read_to_string(self.place.path().join(name)).unwrap_or_default();
        (read("arguments"), read("input"))
    }
}

#[test]
fn each_script_tells_the_sentence_and_the_command_and_no_argument_has_the_secret() {
    for script in ["ntfy", "telegram", "mail"] {
        let tried = Tried::new(0);
        let argument = match script {
            "mail" => PathBuf::from("alice@example.org"),
            _ => tried.secret(0o600),
        };
        let ended = tried.run(script, &argument, &record());
        assert!(ended.status.success(), "{script}: {ended:?}");
        let (arguments, input) = tried.given();
        for part in ["text", "next"] {
            let part = record()[part].as_str().unwrap().to_owned();
            assert!(input.contains(&part), "{script}: {input}");
        }
        assert!(!arguments.contains(SECRET), "{script}: {arguments}");
        assert!(
            !arguments.contains("waits for your approval"),
            "{script}: {arguments}"
        );
    }
}

/// The daemon tells it again later: a failure may not look like success.
#[test]
fn a_service_that_refuses_ends_the_script_with_a_failure() {
    for script in ["ntfy", "telegram", "mail"] {
        let tried = Tried::new(22);
        let argument = match script {
            "mail" => PathBuf::from("alice@example.org"),
            _ => tried.secret(0o600),
        };
        let ended = tried.run(script, &argument, &record());
        assert!(!ended.status.success(), "{script}");
        // A script that is given no record tells nobody anything, and fails as well.
        let tried = Tried::new(0);
        let ended = tried.run(script, &argument, &json!("no record"));
        assert!(!ended.status.success(), "{script}");
        assert_eq!(tried.given(), (String::new(), String::new()), "{script}");
    }
}

/// That a script failed, with a sentence of its own that has this in it and not the secret.
fn assert_named(script: &str, ended: &Output, fault: &str) {
    let said = says(ended);
    let begins = format!("{script}: ");
    let mut own = said.lines().filter(|line| line.starts_with(&begins));
    let is_named = own.any(|line| line.contains(fault));
    assert!(!ended.status.success() && is_named, "{fault}: {ended:?}");
    assert!(!said.contains(SECRET), "{said}");
}

#[test]
fn each_failure_is_a_sentence_that_begins_with_the_name_of_the_script() {
    for script in ["ntfy", "telegram", "mail"] {
        let tried = Tried::new(22);
        let argument = match script {
            "mail" => PathBuf::from("alice@example.org"),
            _ => tried.secret(0o600),
        };
        let ended = tried.run(script, &argument, &record());
        assert_named(script, &ended, "has not taken it");
        for input in [
            "",
            "no JSON",
            "{}",
            "[1]",
            "{\"text\": \"no more than that\"}",
        ] {
            let ended = tried.read(script, &argument, input);
            assert_named(script, &ended, "no record");
        }
        let mut without = command(script);
        without.env_clear().env("PATH", "/nowhere");
        let ended = without.stdin(Stdio::null()).output().unwrap();
        assert_named(script, &ended, "there is no jq");
    }
    for script in ["ntfy", "telegram"] {
        let tried = Tried::new(0);
        let missing = tried.place.path().join("missing");
        assert_named(script, &tried.run(script, &missing, &record()), "no file");
        let open = tried.secret(0o644);
        let ended = tried.run(script, &open, &record());
        assert_named(script, &ended, "others may read");
        assert_eq!(tried.given(), (String::new(), String::new()), "{script}");
    }
}

#[test]
fn a_file_with_a_secret_that_others_may_read_is_not_used() {
    for script in ["ntfy", "telegram"] {
        let tried = Tried::new(0);
        let ended = tried.run(script, &tried.secret(0o640), &record());
        assert!(!ended.status.success(), "{script}");
        assert_eq!(tried.given(), (String::new(), String::new()), "{script}");
    }
}

#[test]
fn a_name_with_a_line_break_adds_no_header_and_an_address_no_option() {
    let mut forged = record();
    forged["agent"] = json!("agent-a\nBcc: mallory@example.org\r\nX: y");
    let tried = Tried::new(0);
    let address = PathBuf::from("alice@example.org");
    assert!(tried.run("mail", &address, &forged).status.success());
    let (_, input) = tried.given();
    let (head, _) = input.split_once("\n\n").unwrap();
    assert_eq!(head.lines().count(), 4, "{head}");
    assert!(!head.contains("Bcc: ") && !head.contains('\r'), "{head}");

    let tried = Tried::new(0);
    let secret = tried.secret(0o600);
    assert!(tried.run("ntfy", &secret, &forged).status.success());
    let (arguments, _) = tried.given();
    let title = arguments.lines().find(|line| line.starts_with("Title: "));
    assert!(
        title.is_some_and(|title| title.ends_with("agent-aBccmalloryexample.orgXy")),
        "{arguments}"
    );

    for address in ["-oQ/tmp", "alice@example.org, mallory@example.org", "alice"] {
        let tried = Tried::new(0);
        let ended = tried.run("mail", Path::new(address), &record());
        assert!(!ended.status.success(), "{address}");
        assert_eq!(tried.given(), (String::new(), String::new()), "{address}");
    }
}
