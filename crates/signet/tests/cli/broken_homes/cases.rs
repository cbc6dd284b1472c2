//! What is broken in a home before a command is typed there: its daemon, its folder, its configuration.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// What the hint of a case is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// A command; after it the same fault is not told again.
    Mends,
    /// A command that shows more, or that something else has to follow, and the code that it ends with.
    Runs(i32),
    /// A command that makes this file of the home.
    Makes(&'static str),
    /// Words alone, and why no command can stand in their place.
    Words(&'static str),
}
pub use Leads::{Makes, Mends, Runs, Words};

/// From which home a case is made.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Made by `signet init`, and never run.
    Fresh,
    /// It ran by `signet run`, and was stopped.
    Ran,
    /// `signet up` ran it, with a server of its own, and `signet down` stopped it.
    Upped,
}
pub use Kind::{Fresh, Ran, Upped};

/// Its name, the home that it begins with, what is broken there, what a person types, and what the hint is for.
pub struct Case(
    pub &'static str,
    pub Kind,
    pub fn(&Path),
    pub &'static str,
    pub Leads,
);

pub fn mode(path: PathBuf, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub fn edit(home: &Path, change: impl FnOnce(String) -> String) {
    let file = home.join("config.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, change(text)).unwrap();
    mode(file, 0o600);
}

pub fn add(home: &Path, more: &str) {
    edit(home, |text| format!("{text}\n{more}\n"));
}

pub fn log_of(home: &Path) -> PathBuf {
    let audit = fs::read_dir(home.join("audit")).unwrap();
    audit.flatten().map(|entry| entry.path()).next().unwrap()
}

pub fn month_of(home: &Path) -> PathBuf {
    let files = fs::read_dir(log_of(home)).unwrap().flatten();
    let mut files = files.map(|entry| entry.path());
    files
        .find(|file| file.extension().is_some_and(|end| end == "jsonl"))
        .unwrap()
}

pub fn month_key(home: &Path) -> PathBuf {
    let keys = fs::read_dir(home.join("checkpoint-keys"));
    let mut keys = keys.unwrap().flatten().map(|entry| entry.path());
    keys.find(|key| key.extension().is_some_and(|end| end == "key"))
        .unwrap()
}

pub fn program(home: &Path, file: &str) -> String {
    let place = home.join(file);
    fs::write(&place, "#!/bin/sh\ncat\n").unwrap();
    mode(place.clone(), 0o755);
    format!("command = [\"{}\"]", place.display())
}

pub fn tell_by(home: &Path, command: &str) {
    let usual = "# command = [\"/usr/local/bin/tell-me\"]";
    edit(home, |text| text.replacen(usual, command, 1));
}

pub fn nothing(_: &Path) {}

/// One home each. What is typed begins with the check's name where it is `doctor`.
pub const OF_THE_HOME: &[Case] = &[
    // The daemon does not run.
    Case("nobody runs it", Ran, nothing, "status", Mends),
    Case("it never ran", Fresh, nothing, "status", Mends),
    Case(
        "up ran it",
        Ran,
        |home| fs::write(home.join("up.lock"), "").unwrap(),
        "status",
        Mends,
    ),
    Case(
        "up ran it with a server of its own",
        Upped,
        nothing,
        "status",
        Mends,
    ),
    Case(
        "a message for nobody",
        Ran,
        nothing,
        "send agent-bob --notify 1",
        Mends,
    ),
    Case("an inbox of nobody", Ran, nothing, "inbox", Mends),
    Case("an outbox of nobody", Upped, nothing, "outbox", Mends),
    Case("a ping of nobody", Ran, nothing, "ping agent-bob", Mends),
    Case(
        "a quarantine of nobody",
        Ran,
        nothing,
        "quarantine list",
        Mends,
    ),
    Case("a reload of nobody", Ran, nothing, "reload", Mends),
    Case(
        "doctor, and nobody runs it",
        Ran,
        nothing,
        "doctor daemon",
        Mends,
    ),
    Case(
        "doctor, and up ran it",
        Upped,
        nothing,
        "doctor daemon",
        Mends,
    ),
    // The home.
    Case(
        "no home",
        Fresh,
        |home| fs::remove_dir_all(home).unwrap(),
        "status",
        Runs(0),
    ),
    Case(
        "no home to run",
        Fresh,
        |home| fs::remove_dir_all(home).unwrap(),
        "run",
        Runs(0),
    ),
    Case(
        "no home to look at",
        Fresh,
        |home| fs::remove_dir_all(home).unwrap(),
        "doctor home",
        Runs(0),
    ),
    Case(
        "no home to decide in",
        Ran,
        |home| fs::remove_dir_all(home).unwrap(),
        "trust list",
        Runs(0),
    ),
    Case(
        "others may write",
        Ran,
        |home| mode(home.to_owned(), 0o777),
        "trust list",
        Mends,
    ),
    Case(
        "others may write, up",
        Upped,
        |home| mode(home.to_owned(), 0o770),
        "up --background",
        Mends,
    ),
    Case(
        "others may write, doctor",
        Ran,
        |home| mode(home.to_owned(), 0o777),
        "doctor home",
        Mends,
    ),
    Case(
        "others may write keys",
        Ran,
        |home| mode(home.join("keys"), 0o777),
        "trust list",
        Mends,
    ),
    Case(
        "others may write keys, doctor",
        Ran,
        |home| mode(home.join("keys"), 0o722),
        "doctor home",
        Mends,
    ),
    // The configuration.
    Case(
        "no configuration",
        Ran,
        |home| fs::remove_file(home.join("config.toml")).unwrap(),
        "status",
        Words("only a copy or its person knows what stood in it"),
    ),
    Case(
        "a configuration for all",
        Ran,
        |home| mode(home.join("config.toml"), 0o666),
        "status",
        Mends,
    ),
    Case(
        "a configuration for all, up",
        Upped,
        |home| mode(home.join("config.toml"), 0o666),
        "up --background",
        Mends,
    ),
    Case(
        "a configuration for all, doctor",
        Ran,
        |home| mode(home.join("config.toml"), 0o622),
        "doctor configuration",
        Mends,
    ),
    Case(
        "no toml",
        Ran,
        |home| add(home, "= = ="),
        "status",
        Words("its person knows what the line was to say"),
    ),
    Case(
        "an empty file",
        Ran,
        |home| edit(home, |_| String::new()),
        "status",
        Words("its person knows whose agent it is"),
    ),
    Case(
        "a key of nobody",
        Ran,
        |home| add(home, "[grant]\ntiers = 2"),
        "status",
        Words("its person moves the lines: their order is theirs"),
    ),
    Case(
        "a word for a number",
        Ran,
        |home| add(home, "[[peer]]\nid = \"agent-bob\"\ntier = \"two\""),
        "status",
        Words("its person knows which number was meant"),
    ),
    Case(
        "a folder for a file",
        Ran,
        |home| {
            fs::remove_file(home.join("config.toml")).unwrap();
            fs::create_dir(home.join("config.toml")).unwrap();
        },
        "status",
        Runs(0),
    ),
    Case(
        "a link to nothing",
        Ran,
        |home| {
            fs::remove_file(home.join("config.toml")).unwrap();
            symlink("nowhere", home.join("config.toml")).unwrap();
        },
        "status",
        Runs(0),
    ),
    Case(
        "the id of another",
        Ran,
        |home| edit(home, |text| text.replacen("agent-alice", "agent-carol", 1)),
        "key show",
        Words("its person knows which of the two is right"),
    ),
];
