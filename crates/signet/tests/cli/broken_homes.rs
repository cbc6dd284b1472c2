//! Broken homes, and what each command says next there: the printed line is given to a shell as it stands, where the
//! person stood, with a PATH that has no signet.

mod cases;
mod files;
mod gateway;
mod log;
mod root;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use cases::{Case, Fresh, Kind, Makes, Mends, Ran, Runs, Upped, Words};

use crate::house::{Home, House, eventually, says, signet};

/// A person's machine.
struct Machine {
    house: House,
    /// Where each case has its home: a folder with a space and a quote.
    dir: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let house = House::new();
        let dir = house.path("Alice's homes");
        fs::create_dir(&dir).unwrap();
        let mut alice = house.home("alice");
        copy(&alice.dir, &house.path("fresh"));
        alice.start();
        alice.stop();
        copy(&alice.dir, &house.path("ran"));
        Self { house, dir }
    }

    /// The home of `signet up`, made anew: it may not be moved with its server.
    fn up(&self, place: &Path) {
        let up = "up --agent agent-alice --principal alice --background --listen 127.0.0.1:0";
        let words: Vec<&str> = up.split(' ').collect();
        let made = self.typed(place, &words, false).output().unwrap();
        assert!(made.status.success(), "{}", says(&made));
        let down = self.typed(place, &["down"], false).output().unwrap();
        assert!(down.status.success(), "{}", says(&down));
    }

    fn make(&self, kind: Kind, number: usize) -> PathBuf {
        let place = self.dir.join(format!("home {number}"));
        match kind {
            Fresh => copy(&self.house.path("fresh"), &place),
            Ran => copy(&self.house.path("ran"), &place),
            Upped => self.up(&place),
        }
        place
    }

    /// A command with what the person's shell has. The address of the house's server stands in no home of `up`.
    fn with_shell(&self, mut command: Command, has_url: bool) -> Command {
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("HOME", self.house.path("person"));
        if has_url {
            command.env("NATS_URL", self.house.server.url());
        }
        for name in ["NATS_SERVER", "XDG_RUNTIME_DIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.current_dir(&self.dir).stdin(Stdio::null());
        command
    }

    fn typed(&self, home: &Path, words: &[&str], has_url: bool) -> Command {
        let mut command = Command::new(signet());
        command.arg("--home").arg(home).args(words);
        self.with_shell(command, has_url)
    }

    /// What a command says is wrong, and what it says next; `None` where all is well.
    fn hint(&self, home: &Path, typed: &str, has_url: bool) -> Option<(String, String)> {
        let words: Vec<&str> = typed.split(' ').collect();
        if let ["doctor", check] = words[..] {
            let output = self
                .typed(home, &["doctor", "--json"], has_url)
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let found = text
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap());
            let found = found.into_iter().find(|found| found["check"] == check)?;
            let text = |name: &str| found[name].as_str().map(str::to_owned);
            return Some((text("found")?, text("next")?));
        }
        let output = self.typed(home, &words, has_url).output().unwrap();
        let said = says(&output);
        let mut lines = said.lines().map(str::trim_start);
        let what = lines
            .find_map(|line| line.strip_prefix("error: "))?
            .to_owned();
        let next = lines.find_map(|line| line.strip_prefix("next: "));
        Some((
            what,
            next.unwrap_or_else(|| panic!("no hint: {said}")).to_owned(),
        ))
    }

    /// Gives the line to a shell, and ends what stays. The code that the shell ended with, if it did, and what it said.
    fn paste(&self, home: &Path, line: &str, has_url: bool) -> (Option<i32>, String) {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).process_group(0);
        let mut shell = self.with_shell(shell, has_url);
        let out = tempfile::NamedTempFile::new().unwrap();
        shell
            .stdout(out.reopen().unwrap())
            .stderr(out.reopen().unwrap());
        let mut child = shell.spawn().unwrap();
        let start = Instant::now();
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            let answers = || {
                self.typed(home, &["status"], has_url)
                    .output()
                    .unwrap()
                    .status
                    .success()
            };
            if answers() || start.elapsed() > Duration::from_secs(30) {
                break None;
            }
            std::thread::sleep(Duration::from_millis(30));
        };
        let said = fs::read_to_string(out.path()).unwrap();
        let code = ended.and_then(|status| status.code());
        for odd in [
            "Usage:",
            "unexpected argument",
            "unrecognized subcommand",
            "invalid value",
            "yntax error",
            "not found\n",
        ] {
            assert!(code == Some(0) || !said.contains(odd), "{line}: {said}");
        }
        assert!(
            code != Some(126) && code != Some(127),
            "{line}: {code:?} {said}"
        );
        if ended.is_none() {
            let group = Pid::from_child(&child);
            assert!(
                self.typed(home, &["status"], has_url)
                    .output()
                    .unwrap()
                    .status
                    .success(),
                "{line}: {said}"
            );
            kill_process_group(group, Signal::TERM).unwrap();
            child.wait().unwrap();
        }
        (code, said)
    }
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(to)
        .status()
        .unwrap();
    assert!(done.success());
}

/// Whether the line begins with a command: then all of it is one, and what explains it stands behind ` # `.
fn is_command(line: &str) -> bool {
    const PROGRAMS: [&str; 11] = [
        "chmod",
        "mv",
        "ls",
        "rm",
        "cp",
        "echo",
        "grep",
        "sed",
        "systemctl",
        "sudo",
        "chown",
    ];
    let word = line.split_whitespace().next().unwrap_or_default();
    word.starts_with('/') && word.ends_with("/signet") || PROGRAMS.contains(&word)
}

/// A word in the command that a person has to put something in the place of, such as `NAME` or `HOST:PORT`.
fn placeholder(line: &str) -> Option<&str> {
    let command = line.split(" # ").next().unwrap_or_default();
    let mut words = command.split_whitespace();
    let is_upper = |c: char| c.is_ascii_uppercase() || "-:_".contains(c);
    words.find(|word| word.len() > 1 && word.chars().all(is_upper) && !word.starts_with('-'))
}

#[test]
fn the_hints_of_sixty_broken_homes_run_as_they_are_printed() {
    let machine = Machine::new();
    let cases: Vec<&Case> = cases::OF_THE_HOME
        .iter()
        .chain(files::OF_ITS_FILES)
        .chain(log::OF_ITS_LOG)
        .chain(gateway::OF_THE_GATEWAY)
        .collect();
    let is_words = |case: &&&Case| matches!(case.4, Words(_));
    let words = cases.iter().filter(is_words).count();
    assert!(words <= 12, "{words} hints are no command");
    let (mut faults, mut pasted) = (Vec::new(), 0);
    for (number, case) in cases.into_iter().enumerate() {
        match machine.follow(case, number) {
            Ok(is_pasted) => pasted += usize::from(is_pasted),
            Err(fault) => faults.push(format!("{}: {fault}", case.0)),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(pasted >= 60, "only {pasted} hints ran as they were printed");
}

impl Machine {
    /// Breaks a home and does what is printed there. Whether that was one line for a shell, whole and as it stood.
    fn follow(&self, case: &Case, number: usize) -> Result<bool, String> {
        let Case(name, kind, breaks, typed, leads) = case;
        let has_url = !matches!(kind, Upped) && !name.contains("somebody's");
        let home = self.make(*kind, number);
        breaks(&home);
        let Some((what, next)) = self.hint(&home, typed, has_url) else {
            return Err(format!("nothing is wrong for {typed}"));
        };
        println!("{name} | signet {typed} | {what}\n    {next}");
        // A printed command names the program by its whole path, so that it runs in every shell: a bare `signet` is a
        // fault.
        if next.contains(" signet ") || next.starts_with("signet ") {
            return Err(format!("a command without its path: {next}"));
        }
        if let Words(why) = leads {
            println!("    no command, since {why}");
            return match is_command(&next) {
                true => Err(format!("it is a command: {next}")),
                false => Ok(false),
            };
        }
        if !is_command(&next) {
            return Err(format!("no command, and {leads:?} was expected: {next}"));
        }
        if let Some(word) = placeholder(&next) {
            return Err(format!("{word} stands for something else: {next}"));
        }
        let (code, said) = self.paste(&home, &next, has_url);
        let is_right = match leads {
            Runs(wanted) => code == Some(*wanted),
            // Without a code the command stayed at its terminal, as `run` does: `paste` saw its daemon answer and then
            // ended it.
            Mends => code.is_none_or(|code| code == 0),
            _ => code == Some(0),
        };
        if !is_right {
            return Err(format!("{next} ended with {code:?}: {said}"));
        }
        match leads {
            Makes(file) if !home.join(file).is_file() => {
                return Err(format!("{next} made no {file}: {said}"));
            }
            Mends if code.is_some() || !what.starts_with("no daemon answers") => {
                let again = self.hint(&home, typed, has_url);
                if again.is_some_and(|(still, _)| still == what) {
                    return Err(format!("{next} did not mend {what}: {said}"));
                }
            }
            _ => {}
        }
        self.typed(&home, &["down"], has_url).output().unwrap();
        Ok(true)
    }
}

/// A person names the home by its variable, by a path from where they are, or not at all.
#[test]
fn a_hint_names_the_home_as_it_was_found() {
    let machine = Machine::new();
    let ran = machine.make(Ran, 1);
    let hint = |command: &mut Command| {
        let said = says(&command.output().unwrap());
        said.split_once("  next: ").unwrap().1.trim_end().to_owned()
    };
    let program = signet().display().to_string();
    let mut typed = machine.with_shell(Command::new(signet()), true);
    typed.arg("status").env("SIGNET_HOME", &ran);
    assert_eq!(
        hint(&mut typed),
        format!(
            "{program} run --home '{}'",
            ran.display().to_string().replace('\'', "'\\''")
        )
    );
    let mut typed = machine.with_shell(Command::new(signet()), true);
    typed.args(["status", "--home", "home 1"]);
    let next = hint(&mut typed);
    assert_eq!(next, format!("{program} run --home 'home 1'"));
    machine.paste(&ran, &next, true);
    let usual = machine.house.path("person/.local/share");
    fs::create_dir_all(&usual).unwrap();
    // Wait for the end of the daemon that the pasted command started: while it ends it removes its sockets, and the
    // copy must not have them.
    eventually("the daemon has ended", || {
        let left = ["agent.sock", "control.sock", "state.db-wal"];
        let is_there = left.iter().any(|name| ran.join(name).exists());
        (!is_there).then_some(())
    });
    copy(&ran, &usual.join("signet"));
    let mut typed = machine.with_shell(Command::new(signet()), true);
    typed.arg("status");
    assert_eq!(hint(&mut typed), format!("{program} run"));
    // Where PATH leads to the program, its name is enough.
    let folder = signet().parent().unwrap().display().to_string();
    typed.env("PATH", format!("{folder}:/usr/bin:/bin"));
    assert_eq!(hint(&mut typed), "signet run");
}

/// A service of the user's own is started by its own name.
#[test]
fn a_home_that_a_service_runs_is_told_the_name_of_that_service() {
    let machine = Machine::new();
    let ran = machine.make(Ran, 1);
    let units = machine.house.path("person/.config/systemd/user");
    fs::create_dir_all(&units).unwrap();
    let unit = format!(
        "[Service]\nExecStart=\"/usr/bin/signet\" run --home \"{}\"\n",
        ran.display()
    );
    fs::write(units.join("signet-agent-alice.service"), unit).unwrap();
    for typed in ["status", "doctor daemon"] {
        let (_, next) = machine.hint(&ran, typed, true).unwrap();
        assert_eq!(next, "systemctl --user start signet-agent-alice.service");
    }
}

/// The daemon that runs already is asked, and no second one is started.
#[test]
fn a_second_daemon_is_told_how_to_ask_the_first() {
    let house = House::new();
    let mut alice: Home = house.home("alice");
    alice.start();
    let said = alice.fails(1, &["run"]);
    let next = said.split_once("next: ").unwrap().1.trim_end();
    let folder = signet().parent().unwrap().display().to_string();
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", next])
        .env("PATH", format!("{folder}:/usr/bin:/bin"));
    let shell = shell.output().unwrap();
    assert!(shell.status.success(), "{next}: {}", says(&shell));
    assert!(String::from_utf8_lossy(&shell.stdout).contains("agent-alice"));
    eventually("it runs on", || alice.client().ok());
}
