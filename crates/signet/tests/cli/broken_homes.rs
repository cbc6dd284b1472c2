//! Broken homes, and what each command says next there: the printed line is given to a shell as it stands, where the
//! person stood, with a PATH that has no signet.

mod cases;
mod files;
mod gateway;
mod root;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use cases::{Case, Fresh, Kind, Mends, Ran, Runs, Upped, Words};

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

/// The command in a hint: the whole line, or what stands behind the last colon of its words. The words before a command say
/// what a person has to know or to decide before it runs (that a key is gone, say, or which file to bring back), and no shell
/// can read them: whoever follows such a hint copies its end, and so does this test. A hint that mends by itself has no words.
fn command_of(next: &str) -> Option<&str> {
    let is_command = |text: &str| {
        let word = text.split_whitespace().next().unwrap_or_default();
        word.starts_with('/') && word.ends_with("/signet")
            || [
                "chmod",
                "mv",
                "ls",
                "df",
                "tail",
                "ss",
                "rm",
                "systemctl",
                "sudo",
                "chown",
                "timedatectl",
            ]
            .contains(&word)
    };
    if is_command(next) {
        return Some(next);
    }
    let last = next.rsplit_once(": ").map(|(_, last)| last);
    last.filter(|last| is_command(last))
}

#[test]
fn the_hints_of_sixty_broken_homes_run_as_they_are_printed() {
    let machine = Machine::new();
    let cases: Vec<&Case> = cases::OF_THE_HOME
        .iter()
        .chain(files::OF_ITS_FILES)
        .chain(gateway::OF_THE_GATEWAY)
        .collect();
    assert!(cases.len() >= 60, "{}", cases.len());
    let is_words = |case: &&&Case| matches!(case.4, Words(_));
    let words = cases.iter().filter(is_words).count();
    assert!(words <= 15, "{words} hints are no command");
    let mut faults = Vec::new();
    let mut commands = 0;
    for (number, Case(name, kind, breaks, typed, leads)) in cases.into_iter().enumerate() {
        let has_url = !matches!(kind, Upped) && !name.contains("somebody's");
        let home = machine.make(*kind, number);
        breaks(&home);
        let Some((what, next)) = machine.hint(&home, typed, has_url) else {
            faults.push(format!("{name}: nothing is wrong for {typed}"));
            continue;
        };
        println!("{name} | signet {typed} | {what}\n    {next}");
        // Every command of ours says by which path and in which home.
        if next.contains(" signet ") || next.starts_with("signet ") {
            faults.push(format!("{name}: a command without its path: {next}"));
        }
        match (command_of(&next), leads) {
            (None, Words(why)) => println!("    no command, since {why}"),
            (Some(command), Runs(expected)) => {
                commands += 1;
                let (code, said) = machine.paste(&home, command, has_url);
                if code != Some(*expected) {
                    faults.push(format!(
                        "{name}: {command} ended with {code:?}, and not {expected}: {said}"
                    ));
                }
            }
            (Some(command), Mends) if command == next => {
                commands += 1;
                let first = Daemon::before(&machine, &home, typed, has_url);
                let (code, said) = machine.paste(&home, command, has_url);
                if code.is_some_and(|code| code != 0) {
                    faults.push(format!("{name}: {command} ended with {code:?}: {said}"));
                }
                let again = first.again(command);
                if again.is_some_and(|(still, _)| still == what) {
                    faults.push(format!("{name}: {command} did not mend {what}: {said}"));
                }
            }
            (found, leads) => {
                faults.push(format!("{name}: {leads:?}, and found {found:?} in {next}"))
            }
        }
        machine.typed(&home, &["down"], has_url).output().unwrap();
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(commands >= 40, "only {commands} hints are commands");
}

/// What is asked again, once a hint was followed.
struct Daemon<'a> {
    machine: &'a Machine,
    home: &'a Path,
    typed: &'a str,
    has_url: bool,
}

impl<'a> Daemon<'a> {
    fn before(machine: &'a Machine, home: &'a Path, typed: &'a str, has_url: bool) -> Self {
        Self {
            machine,
            home,
            typed,
            has_url,
        }
    }

    /// What is wrong after the command. One that stays at its terminal was shown to answer, and has ended again.
    fn again(&self, command: &str) -> Option<(String, String)> {
        let stays = [" run ", " up "].iter().any(|word| command.contains(word))
            && !command.contains("--background");
        match stays {
            true => None,
            false => self.machine.hint(self.home, self.typed, self.has_url),
        }
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
    // The daemon that was pasted takes its own files away when it ends.
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
