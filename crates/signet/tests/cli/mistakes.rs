//! Forty mistakes of people: what is typed at the wrong place, as somebody else, out of a mail or too early, and the step
//! that each is told. Nothing is started, lost or overwritten by any of them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use data_encoding::BASE64URL_NOPAD;
use serde_json::Value;

use crate::house::{House, copy_program, fed, says, signet};

/// What is typed in which home, the exit code, and a part of the step that is told.
struct Mistake {
    what: &'static str,
    home: &'static str,
    typed: Vec<String>,
    input: Option<String>,
    user: Option<u32>,
    caller: Option<&'static str>,
    code: i32,
    step: &'static str,
}

fn mistake(
    what: &'static str,
    home: &'static str,
    typed: &str,
    code: i32,
    step: &'static str,
) -> Mistake {
    Mistake {
        what,
        home,
        typed: typed.split(' ').map(str::to_owned).collect(),
        input: None,
        user: None,
        caller: None,
        code,
        step,
    }
}

impl Mistake {
    fn with(mut self, word: &str) -> Self {
        self.typed.push(word.to_owned());
        self
    }

    fn fed(mut self, input: &str) -> Self {
        self.input = Some(input.to_owned());
        self
    }

    fn by(mut self, user: u32) -> Self {
        self.user = Some(user);
        self
    }

    fn by_sudo_of(mut self, caller: &'static str) -> Self {
        self.caller = Some(caller);
        self
    }
}

/// A folder of homes, as the quickstart makes them.
struct Machine {
    dir: PathBuf,
    program: PathBuf,
    _house: House,
}

const NOBODY: u32 = 65_534;

impl Machine {
    fn new() -> Self {
        let house = House::new();
        let dir = house.path("homes");
        fs::create_dir(&dir).unwrap();
        // Open the folders and copy the program: the tests run it as another user, and Cargo's target folder may be
        // closed to other users.
        for place in [dir.parent().unwrap(), &dir] {
            open(place);
        }
        let program = house.path("signet");
        copy_program(signet(), &program);
        open(&program);
        Self {
            dir,
            program,
            _house: house,
        }
    }

    fn command(&self, home: &str, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--home").arg(home).args(words);
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("HOME", &self.dir).current_dir(&self.dir);
        if let Some(server) = std::env::var_os("NATS_SERVER") {
            command.env("NATS_SERVER", server);
        }
        command
    }

    fn run(&self, home: &str, line: &str) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        let output = fed(self.command(home, &words), "");
        assert!(output.status.success(), "{line}: {}", says(&output));
        output
    }

    fn said(&self, home: &str, line: &str) -> String {
        String::from_utf8(self.run(home, line).stdout).unwrap()
    }

    /// Alice with a server of her own, and Bob beside her: both run.
    fn alice_and_bob(&self) {
        self.run(
            "alice",
            "up --agent alice --principal alice --background --listen 127.0.0.1:0",
        );
        self.run(
            "bob",
            "up --agent bob --principal bob --background --beside alice",
        );
    }

    /// Each mistake ends with its code and its step, and changes nothing that was there.
    fn hold(&self, mistakes: &[Mistake]) {
        let mut faults = Vec::new();
        for mistake in mistakes {
            let before = self.settings();
            let words: Vec<&str> = mistake.typed.iter().map(String::as_str).collect();
            let mut command = self.command(mistake.home, &words);
            if let Some(user) = mistake.user {
                command.uid(user).gid(user);
            }
            if let Some(caller) = mistake.caller {
                command.env("SUDO_UID", caller);
            }
            let output = fed(command, mistake.input.as_deref().unwrap_or_default());
            let text = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                says(&output)
            );
            println!("{} | {} |\n{text}", mistake.what, mistake.typed.join(" "));
            let steps = text
                .lines()
                .filter_map(|line| line.trim_start().strip_prefix("next: "));
            let steps: Vec<&str> = steps.collect();
            let is_told = steps.iter().any(|step| step.contains(mistake.step));
            if output.status.code() != Some(mistake.code) || !is_told {
                let code = output.status.code();
                faults.push(format!(
                    "{}: {code:?}, wanted {} and {:?}: {text}",
                    mistake.what, mistake.code, mistake.step
                ));
            }
            // A command that somebody else types is not for this machine's shell.
            let own = steps.iter().map(|step| step.replace("their signet ", ""));
            if own
                .into_iter()
                .any(|step| step.starts_with("signet ") || step.contains(" signet "))
            {
                faults.push(format!(
                    "{}: a command that PATH does not lead to: {text}",
                    mistake.what
                ));
            }
            if let Some(command) = self.without_its_home(mistake, &steps) {
                faults.push(format!(
                    "{}: `{command}` is for another home than the one that was meant: {text}",
                    mistake.what
                ));
            }
            if self.settings() != before {
                faults.push(format!("{}: something was changed", mistake.what));
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    /// A command in the steps that names no home, or another one than the mistake did. None of these homes is the usual one.
    fn without_its_home<'a>(&self, mistake: &Mistake, steps: &[&'a str]) -> Option<&'a str> {
        let program = self.program.display().to_string();
        let mut named = vec![mistake.home];
        let typed = mistake.typed.iter().map(String::as_str);
        named.extend(typed.skip_while(|word| *word != "--beside").skip(1).take(1));
        let is_named = |home: &str| {
            named
                .iter()
                .any(|meant| home.rsplit('/').next() == meant.rsplit('/').next())
        };
        let mut all = steps.iter().flat_map(|step| commands(step, &program));
        all.find(|command| {
            let homes = homes_of(command);
            let is_of_none = command.starts_with(" install") || command.starts_with(" --help");
            !is_of_none && (homes.is_empty() || !homes.into_iter().all(is_named))
        })
    }

    /// Who owns every file of configurations, keys, logins and servers, and what it says.
    fn settings(&self) -> String {
        let look = "find . -type f ! -path '*/audit/*' ! -name 'state.db*' ! -name '*.log' ! -name 'up.lock' \
                    ! -name log.anchor ! -path '*/store/*' -printf '%p %u %m ' -exec cksum {} \\; | sort";
        let shell = Command::new("sh")
            .args(["-c", look])
            .current_dir(&self.dir)
            .output();
        String::from_utf8(shell.unwrap().stdout).unwrap()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for home in ["bob", "alice"] {
            let _ = self.command(home, &["down"]).output();
        }
    }
}

fn open(place: &Path) {
    fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
}

fn line_of(text: &str, start: &str) -> String {
    let mut lines = text.lines();
    lines
        .find(|line| line.starts_with(start))
        .unwrap()
        .to_owned()
}

/// The line with another letter in its signature, which is its last but one member.
fn with_another_letter(line: &str) -> String {
    let coded = line.strip_prefix("signet:1:").unwrap();
    let mut text = BASE64URL_NOPAD.decode(coded.as_bytes()).unwrap();
    let name = b"\"signature\":\"";
    let found = text.windows(name.len()).rposition(|part| part == name);
    let letter = &mut text[found.unwrap() + name.len()];
    *letter = if *letter == b'A' { b'B' } else { b'A' };
    format!("signet:1:{}", BASE64URL_NOPAD.encode(&text))
}

/// Each command of signet in a step, up to where it ends.
fn commands<'a>(step: &'a str, program: &str) -> Vec<&'a str> {
    let pieces = step.split(program).skip(1);
    pieces
        .map(|piece| piece.split([';', '`', '#']).next().unwrap_or_default())
        .collect()
}

/// The homes that a command names.
fn homes_of(command: &str) -> Vec<&str> {
    let mut words = command.split_whitespace();
    let mut homes = Vec::new();
    while let Some(word) = words.next() {
        if word == "--home" {
            homes.extend(words.next().map(|home| home.trim_matches([',', '\''])));
        }
    }
    homes
}

#[test]
fn ten_mistakes_between_two_homes_and_ten_with_text_out_of_a_mail_name_the_right_step() {
    let machine = Machine::new();
    machine.alice_and_bob();
    let invited = machine.said("alice", "invite --login dave");
    let (line, login) = (
        line_of(&invited, "signet:1:"),
        line_of(&invited, "signet-login:1:"),
    );
    machine.run("carol", "init --agent carol --principal carol");
    machine.hold(&[
        mistake(
            "a second daemon in one home",
            "alice",
            "run",
            1,
            "signet status --home /",
        ),
        mistake(
            "a second home of Bob beside Alice",
            "bob-2",
            "up --agent bob --principal bob --background --beside alice",
            1,
            "--agent ID",
        ),
        mistake(
            "Alice beside herself",
            "alice",
            "up --background --beside alice",
            2,
            "--beside DIR",
        ),
        mistake(
            "beside a home that is none",
            "carol",
            "up --background --beside nowhere",
            2,
            "signet up --home nowhere --help",
        ),
        mistake(
            "Bob in the home of Alice",
            "alice",
            "up --agent bob --principal bob --background",
            1,
            "another home with --home",
        ),
        mistake(
            "a new agent in a home that is used",
            "bob",
            "init --agent zoe --principal zoe",
            1,
            "another directory with --home",
        ),
        mistake(
            "a second login for Bob, who is connected",
            "alice",
            "invite --login bob",
            1,
            "invite --home alice --login bob --replace",
        ),
        mistake(
            "a login from a home without a server",
            "bob",
            "invite --login dave",
            2,
            "who keeps the server",
        ),
        mistake(
            "a second agent of Alice without her root key",
            "alice-2",
            "up --agent alice-2 --principal alice --background --beside alice",
            2,
            "--root ",
        ),
        mistake(
            "another server while Bob runs",
            "bob",
            "up --background --nats nats://127.0.0.1:1",
            1,
            "down --home bob --keep-nats",
        ),
    ]);
    let status: Value = serde_json::from_str(&machine.said("bob", "status --json")).unwrap();
    assert_eq!(status["connected"], true, "Bob lost his login");
    let mail = machine.dir.join("mail.txt");
    fs::write(&mail, "Hello Bob,\nhere is mine.\nAlice\n").unwrap();
    let lined = machine.dir.join("line.txt");
    fs::write(&lined, format!("{line}\n")).unwrap();
    let cut = &line[..line.len() - 9];
    let changed = with_another_letter(&line);
    let wrong = ["abandon"; 12].join(" ");
    machine.hold(&[
        mistake(
            "the end of the line is missing",
            "carol",
            "accept",
            1,
            "copy all of it",
        )
        .with(cut),
        mistake(
            "the login in the place of the line",
            "carol",
            "accept -",
            1,
            "--login; the line to accept",
        )
        .fed(&login),
        mistake(
            "the line in the place of the login",
            "carol",
            "up --background --login -",
            2,
            "copy it whole",
        )
        .fed(&line),
        mistake(
            "a letter of the line is another",
            "carol",
            "accept",
            1,
            "ask for a new line, which their `invite` prints",
        )
        .with(&changed),
        mistake(
            "the words of somebody else",
            "carol",
            "accept -",
            1,
            "for the words again",
        )
        .with("--words")
        .with(&wrong)
        .fed(&line),
        mistake(
            "one word of twelve",
            "carol",
            "accept -",
            1,
            "for the words again",
        )
        .with("--words")
        .with("abandon")
        .fed(&line),
        mistake(
            "the mail without the line",
            "carol",
            "accept @mail.txt",
            1,
            "copy all of it",
        ),
        mistake(
            "the mail for a certificate",
            "carol",
            "peer add mail.txt",
            2,
            "`peer export`",
        ),
        mistake(
            "the line for a certificate",
            "carol",
            "peer add line.txt",
            2,
            "`peer export`",
        ),
        mistake(
            "quotes of a word processor",
            "alice",
            "send bob --request",
            2,
            "quote it for the shell",
        )
        .with("“{\"a\": 1}”"),
        mistake(
            "a server with its password",
            "carol",
            "up --background --nats nats://carol:hunter2@house.example:4222",
            2,
            "give --login",
        ),
        mistake(
            "a server as a mail names it",
            "carol",
            "up --background --nats house.example",
            2,
            "nats://HOST:PORT",
        ),
        mistake(
            "a login for Dave in Carol's home",
            "carol",
            "up --background --login -",
            1,
            "their signet invite --login ID",
        )
        .fed(&login),
    ]);
}

#[test]
fn ten_mistakes_of_another_user_or_of_root_name_the_right_step() {
    let machine = Machine::new();
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT tried: only root is several users");
        return;
    }
    machine.run("mine", "init --agent mine --principal mine");
    machine.run("theirs", "init --agent theirs --principal theirs");
    machine.run("theirs", "nats key");
    let given = Command::new("chown")
        .args(["-R", "65534:65534", "theirs"])
        .current_dir(&machine.dir)
        .status();
    assert!(given.unwrap().success());
    let person = machine.dir.join("person");
    fs::create_dir(&person).unwrap();
    chown(&person, Some(NOBODY), Some(NOBODY)).unwrap();
    machine.run("half", "init --agent half --principal half");
    chown(
        machine.dir.join("half/keys/signing.pem"),
        Some(64_997),
        None,
    )
    .unwrap();
    let mine = machine.dir.join("mine");
    fs::set_permissions(&mine, fs::Permissions::from_mode(0o700)).unwrap();
    machine.hold(&[
        mistake(
            "root looks how somebody's agent does",
            "theirs",
            "status",
            2,
            "-u nobody",
        ),
        mistake(
            "root runs somebody's agent",
            "theirs",
            "run",
            2,
            "-u nobody",
        ),
        mistake(
            "root starts somebody's agent",
            "theirs",
            "up --background",
            2,
            "-u nobody",
        ),
        mistake(
            "root stops somebody's agent",
            "theirs",
            "down",
            2,
            "-u nobody",
        ),
        mistake(
            "root decides for somebody",
            "theirs",
            "trust list",
            2,
            "-u nobody",
        ),
        mistake(
            "root makes somebody new keys",
            "theirs",
            "key rotate signing",
            2,
            "-u nobody",
        ),
        mistake(
            "sudo up for a home of one's own",
            "person/home",
            "up --agent a --principal a --background",
            2,
            "-u nobody",
        )
        .by_sudo_of("65534"),
        mistake(
            "sudo init for a home of one's own",
            "person/home",
            "init --agent a --principal a",
            2,
            "-u nobody",
        )
        .by_sudo_of("65534"),
        mistake("a key that root gave away", "half", "key show", 2, "chown"),
        mistake("a home of root's", "mine", "status", 2, "sudo -u root").by(NOBODY),
        mistake(
            "up in a home of root's",
            "mine",
            "up --background",
            2,
            "sudo -u root",
        )
        .by(NOBODY),
        mistake(
            "doctor in a home of root's",
            "mine",
            "doctor",
            1,
            "sudo -u root",
        )
        .by(NOBODY),
        mistake(
            "a new home where only root writes",
            "new",
            "up --agent a --principal a --background",
            2,
            "whose parent you may write to",
        )
        .by(NOBODY),
        mistake(
            "users and units without root",
            "mine",
            "install --agent a --principal a",
            2,
            "sudo",
        )
        .by(NOBODY),
    ]);
}

#[test]
fn ten_steps_of_the_quickstart_in_a_wrong_order_name_the_right_one() {
    let machine = Machine::new();
    machine.hold(&[
        mistake(
            "Bob before Alice",
            "bob",
            "up --agent bob --principal bob --background --beside alice",
            2,
            "signet up --home alice --help",
        ),
        mistake(
            "the handler before Bob",
            "bob",
            "handle -- cat",
            2,
            "signet up --home bob --help",
        ),
        mistake(
            "the question before Alice",
            "alice",
            "send bob --request 1",
            2,
            "signet up --home alice --help",
        ),
        mistake(
            "the log before the first word",
            "alice",
            "audit show alice/audit/alice",
            2,
            "the directory of a log",
        ),
        mistake(
            "up without a name",
            "alice",
            "up --background",
            2,
            "signet up --home alice --agent ID --principal ID",
        ),
        mistake(
            "accept before the home",
            "bob",
            "accept signet:1:eyJ",
            2,
            "signet up --home bob --help",
        ),
        mistake(
            "offers before the home",
            "bob",
            "up --background --offer calendar.*",
            2,
            "--agent ID",
        ),
    ]);
    machine.run(
        "alice",
        "up --agent alice --principal alice --background --listen 127.0.0.1:0",
    );
    let line = line_of(&machine.said("alice", "invite"), "signet:1:");
    machine.hold(&[
        mistake(
            "the question before Bob",
            "alice",
            "send bob --request 1 --wait 1",
            5,
            "trust pending --home alice",
        ),
        mistake(
            "a yes to Bob before he asked",
            "alice",
            "trust approve bob",
            1,
            "trust pending --home alice",
        ),
        mistake(
            "the answer before the question",
            "alice",
            "reply 0192f0c1 1",
            1,
            "inbox --home alice",
        ),
        mistake(
            "the other person's line before it came, and one's own in its place",
            "alice",
            "accept",
            2,
            "the line goes to the other person; theirs comes back",
        )
        .with(&line),
        mistake(
            "an address for others, once the server runs",
            "alice",
            "up --background --listen 127.0.0.1:9",
            1,
            "down --home alice",
        ),
        mistake(
            "an approval before there is a draft",
            "alice",
            "approve 0192f0c1",
            1,
            "drafts --home alice",
        ),
    ]);
    machine.run(
        "bob",
        "up --agent bob --principal bob --background --beside alice",
    );
    machine.hold(&[
        mistake(
            "the agent before its file is written",
            "bob",
            "handle -- ./answer.py",
            2,
            "name a program that is there",
        ),
        mistake(
            "the question for what Bob's person does not let him offer yet",
            "alice",
            "send bob --request 1 --capability calendar.free-busy --wait 20",
            1,
            "policy check --home alice bob",
        ),
    ]);
    machine.run("alice", "down");
    machine.hold(&[mistake(
        "the question after down",
        "alice",
        "send bob --request 1",
        3,
        "signet up --home alice --background",
    )]);
}
