//! `signet nats hub`: what it writes, what it refuses, and where the secrets are.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use signet_testkit::{certified, says, signet};

/// A folder with certificates, in which a hub is made.
struct Keeper {
    dir: tempfile::TempDir,
}

impl Keeper {
    fn new() -> Self {
        Self { dir: certified() }
    }

    /// Under a umask that takes nothing away.
    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "umask 0; exec \"$0\" nats hub \"$@\""]);
        command.arg(signet()).args(args).current_dir(&self.dir);
        command.output().unwrap()
    }

    fn done(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", says(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, args: &[&str], with: &str) {
        let output = self.run(args);
        let said = says(&output);
        let code = output.status.code();
        assert!(matches!(code, Some(1 | 2)), "{args:?}: {code:?} {said}");
        assert!(said.contains(with), "{args:?}: {said}");
        // A refusal by clap leads to the help.
        let leads_on = said.contains("\n  next: ") || said.contains("--help");
        assert!(leads_on, "{args:?}: {said}");
    }

    fn make(&self, households: &[&str]) -> String {
        self.done(&[&NEW[..], households].concat())
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.dir.path().join(name).symlink_metadata().is_ok()
    }

    /// The password of a household, as the configuration has it.
    fn password(&self, household: &str) -> String {
        let text = self.text("hub.conf");
        let login = format!("user: \"{household}\", password: \"");
        let (_, rest) = text.split_once(&login).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    }
}

const NEW: [&str; 10] = [
    "--file",
    "hub.conf",
    "--address",
    "hub.example:7422",
    "--cert",
    "hub.pem",
    "--key",
    "hub-key.pem",
    "--ca",
    "hub-ca.pem",
];
const ONE: &str = "house-one=agent-alice-001,agent-al-001";
const TWO: &str = "house-two=agent-bob-001";

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o777
}

#[test]
fn each_household_s_secret_stands_in_a_file_of_its_owner_alone_and_nowhere_else() {
    let keeper = Keeper::new();
    let said = keeper.make(&[ONE, TWO]);
    assert!(said.contains("hub.conf: 2 households"), "{said}");
    assert!(said.contains("nats-server -c hub.conf"), "{said}");
    for name in ["hub.conf", "house-one.line", "house-two.line"] {
        assert_eq!(mode(&keeper.dir.path().join(name)), 0o600, "{name}");
    }
    let [one, two] = ["house-one", "house-two"].map(|name| keeper.password(name));
    assert!(one != two && one.len() == 48, "{one} {two}");
    assert!(
        !said.contains(&one) && !said.contains("signet-hub:"),
        "{said}"
    );
    assert!(keeper.text("house-one.line").starts_with("signet-hub:1:"));
    assert_ne!(keeper.text("house-one.line"), keeper.text("house-two.line"));
}

#[test]
fn a_household_comes_and_goes_and_the_others_keep_their_passwords_and_get_its_agents() {
    let keeper = Keeper::new();
    keeper.make(&[ONE, TWO]);
    let (before, password) = (keeper.text("hub.conf"), keeper.password("house-one"));
    let said = keeper.done(&["--file", "hub.conf", "--add", "house-three=agent-carol-001"]);
    assert!(said.contains("line     house-three.line"), "{said}");
    assert!(!said.contains("house-one.line"), "{said}");
    assert!(said.contains("nats-server --signal quit=hub.pid"), "{said}");
    let three = keeper.text("hub.conf");
    assert_eq!(three.matches("\"_INBOX_agent-carol-001.>\"").count(), 3);
    assert_eq!(keeper.password("house-one"), password);
    assert_eq!(mode(&keeper.dir.path().join("hub.conf")), 0o600);
    // The line of a household that is there is written once more, and the configuration stays.
    let line = keeper.text("house-one.line");
    std::fs::remove_file(keeper.dir.path().join("house-one.line")).unwrap();
    keeper.done(&["--file", "hub.conf", "--again", "house-one"]);
    assert_eq!(keeper.text("house-one.line"), line);
    assert_eq!(keeper.text("hub.conf"), three);
    keeper.done(&["--file", "hub.conf", "--remove", "house-three"]);
    assert_eq!(keeper.text("hub.conf"), before);
    // Taken out and let in at once, a household has another password: the stolen one ends.
    let again = ["--remove", "house-one", "--add", ONE, "--lines", "new"];
    keeper.fails(
        &[&["--file", "hub.conf"], &again[..]].concat(),
        "mkdir -m 700 new",
    );
    assert_eq!(keeper.text("hub.conf"), before);
    std::fs::create_dir(keeper.dir.path().join("new")).unwrap();
    keeper.done(&[&["--file", "hub.conf"], &again[..]].concat());
    assert_ne!(keeper.password("house-one"), password);
    assert_ne!(keeper.text("new/house-one.line"), line);
}

#[test]
fn lists_with_two_tokens_are_the_same_for_any_number_of_households_and_stay_so() {
    let keeper = Keeper::new();
    let said = keeper.make(&["--two-tokens", ONE, TWO]);
    let needed =
        "agents   each has reply-prefix = \"two-tokens\" in the [nats] of its config.toml\n";
    assert!(said.contains(needed), "{said}");
    let two = keeper.text("hub.conf");
    let publish = "publish: { allow: [ \"agent.*.inbox\", \"_INBOX.*.>\" ] }";
    assert_eq!(two.matches(publish).count(), 2);
    assert_eq!(two.matches("\"_INBOX.agent-al-001.>\"").count(), 1);
    assert!(!two.contains("_INBOX_"), "{two}");
    let said = keeper.done(&["--file", "hub.conf", "--add", "house-three=agent-carol-001"]);
    assert!(said.contains(needed), "{said}");
    let three = keeper.text("hub.conf");
    assert!(three.starts_with(two.strip_suffix("    ]\n  }\n}\n").unwrap()));
    assert_eq!(three.matches(publish).count(), 3);
    keeper.done(&["--file", "hub.conf", "--remove", "house-three"]);
    assert_eq!(keeper.text("hub.conf"), two);
    let late = [
        "--file",
        "hub.conf",
        "--two-tokens",
        "--remove",
        "house-two",
    ];
    keeper.fails(&late, "cannot be used with");
    assert_eq!(keeper.text("hub.conf"), two);
}

#[test]
fn a_newline_a_quote_or_a_brace_in_what_is_given_brings_nothing_into_the_configuration() {
    let keeper = Keeper::new();
    for evil in [
        "\n", "\"", "}", "$HOME", "#", " ", "\\", "\u{85}", "%0a", "@evil",
    ] {
        for household in [
            format!("house{evil}=agent-alice-001"),
            format!("house-one=agent-alice-001{evil}"),
        ] {
            keeper.fails(&[&NEW[..], &[&household]].concat(), "error: ");
        }
        let address = format!("hub{evil}:7422");
        let args = ["--address", &address, ONE];
        keeper.fails(&[&NEW[..2], &NEW[4..], &args].concat(), "error: ");
        let args = ["--listen", &address, ONE];
        keeper.fails(&[&NEW[..], &args].concat(), "error: ");
    }
    for evil in ["hub\n.pem", "hub\".pem", "$KEY.pem", "hub\\.pem", ""] {
        for option in ["--cert", "--key", "--ca"] {
            let at = NEW.iter().position(|word| *word == option).unwrap();
            let mut args = NEW;
            args[at + 1] = evil;
            keeper.fails(&[&args[..], &[ONE]].concat(), option);
        }
    }
    keeper.fails(
        &[&["--file", "hub\".conf"], &NEW[2..], &[ONE]].concat(),
        "--file",
    );
    assert!(!keeper.has("hub.conf") && !keeper.has("hub\".conf"));
    let lines = std::fs::read_dir(keeper.dir.path()).unwrap().flatten();
    assert_eq!(lines.count(), 3, "certificates alone");
}

#[test]
fn what_cannot_be_meant_is_named_and_changes_nothing() {
    let keeper = Keeper::new();
    let both = "house-two=agent-al-001";
    keeper.fails(
        &[&NEW[..], &[ONE, both]].concat(),
        "agent-al-001 is named twice, in house-one and in house-two",
    );
    keeper.fails(
        &[&NEW[..], &[ONE, "house-one=agent-bob-001"]].concat(),
        "house-one is named twice",
    );
    keeper.fails(&[&NEW[..], &["house-one"]].concat(), "write NAME=AGENT");
    keeper.fails(&["--file", "hub.conf", "--add", TWO], "no such file");
    assert!(!keeper.has("hub.conf"));
    keeper.make(&[ONE, TWO]);
    let before = keeper.text("hub.conf");
    let change = |args: &[&str], with: &str| {
        keeper.fails(&[&["--file", "hub.conf"], args].concat(), with);
        assert_eq!(keeper.text("hub.conf"), before, "{args:?}");
    };
    let elsewhere = ["--lines", "other", TWO];
    std::fs::create_dir(keeper.dir.path().join("other")).unwrap();
    keeper.fails(
        &[&NEW[..], &elsewhere].concat(),
        "hub.conf is there already",
    );
    change(
        &["--add", "house-three=agent-bob-001"],
        "agent-bob-001 is named twice",
    );
    change(
        &["--add", "house-two=agent-carol-001"],
        "house-two is named twice",
    );
    change(
        &["--remove", "house-nine"],
        "name one of these: house-one, house-two",
    );
    change(&["--again", "house-nine"], "no household house-nine");
    change(&["--again", "house-one"], "house-one.line is there already");
    change(
        &["--remove", "house-one", "--remove", "house-two"],
        "no household would be left",
    );
    change(&["--add", "house-three=agent-carol-001", "--ca", "x"], "");
}

#[test]
fn a_file_of_somebody_else_s_a_link_and_one_that_others_read_are_left_as_they_are() {
    let keeper = Keeper::new();
    keeper.make(&[ONE, TWO]);
    let path = |name: &str| keeper.dir.path().join(name);
    let add = |file: &str, with: &str| {
        keeper.fails(
            &["--file", file, "--add", "house-three=agent-carol-001"],
            with,
        );
    };
    symlink("hub.conf", path("link.conf")).unwrap();
    let before = keeper.text("hub.conf");
    add("link.conf", "link.conf is a link");
    assert!(path("link.conf").is_symlink());
    symlink("nothing", path("made.conf")).unwrap();
    keeper.fails(
        &[&["--file", "made.conf"], &NEW[2..], &["h=agent-c"]].concat(),
        "made.conf is there already",
    );
    symlink("victim", path("h.line")).unwrap();
    keeper.fails(
        &[&["--file", "more.conf"], &NEW[2..], &["h=agent-c"]].concat(),
        "h.line is there already",
    );
    assert!(!keeper.has("nothing") && !keeper.has("victim") && !keeper.has("more.conf"));
    for edited in [
        format!("{before}include \"more.conf\"\n"),
        before.replacen("\"agent.*.inbox\"", "\">\"", 1),
        before.replace('\n', "\r\n"),
        String::new(),
    ] {
        std::fs::write(path("hub.conf"), &edited).unwrap();
        add("hub.conf", "hub.conf is not what signet nats hub wrote");
        assert_eq!(keeper.text("hub.conf"), edited);
    }
    std::fs::write(path("hub.conf"), &before).unwrap();
    std::fs::set_permissions(path("hub.conf"), PermissionsExt::from_mode(0o640)).unwrap();
    add("hub.conf", "chmod 600 hub.conf");
    assert!(!keeper.has("house-three.line"));
}

#[test]
fn a_private_key_that_is_named_as_the_authority_comes_into_no_line() {
    let keeper = Keeper::new();
    let both = keeper.text("hub-ca.pem") + &keeper.text("hub-key.pem");
    std::fs::write(keeper.dir.path().join("both.pem"), both).unwrap();
    for file in ["hub-key.pem", "both.pem", "/dev/zero", "hub.conf", "."] {
        let mut args = NEW;
        args[9] = file;
        keeper.fails(&[&args[..], &[ONE]].concat(), "error: ");
    }
    assert!(!keeper.has("hub.conf") && !keeper.has("house-one.line"));
}
