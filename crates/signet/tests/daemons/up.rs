//! `signet up`, `down`, `invite` and `accept`: from nothing to agents that talk.

mod access;
mod hub;
mod interrupt;
mod mishaps;
mod room;
mod uninstall;

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use signet_testkit::{fed, says, signet};

use crate::house::eventually;

/// A person's machine: a directory for homes, and nothing of the tester's environment.
struct Machine {
    dir: tempfile::TempDir,
    path: String,
    /// The nats-server that it has, where it is not the one of all tests.
    server: Option<PathBuf>,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // A PATH without programs: `up` must not find a service manager, even if this machine has one.
        Self {
            path: "/nowhere".to_owned(),
            server: None,
            dir,
        }
    }

    fn home(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = Command::new(signet());
        command.args(args).arg("--home").arg(self.home(name));
        command.env_clear().env("PATH", &self.path);
        command
            .env("HOME", self.dir.path())
            .env("XDG_CONFIG_HOME", self.dir.path().join("config"));
        let server = self.server.clone().map(PathBuf::into_os_string);
        if let Some(server) = server.or_else(|| std::env::var_os("NATS_SERVER")) {
            command.env("NATS_SERVER", server);
        }
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, name: &str, args: &[&str]) -> Output {
        self.command(name, args).output().unwrap()
    }

    fn done(&self, name: &str, args: &[&str]) -> String {
        let output = self.run(name, args);
        assert!(output.status.success(), "{args:?}: {}", says(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, name: &str, code: i32, args: &[&str]) -> String {
        let output = self.run(name, args);
        let said = says(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        let said: Vec<&str> = said.lines().collect();
        let told = said
            .iter()
            .position(|line| line.starts_with("error: "))
            .unwrap();
        assert!(said[told + 1].starts_with("  next: "), "{said:?}");
        said[told..].join("\n")
    }

    /// `signet up` in the background, with a server of its own on a free port.
    fn up(&self, name: &str) -> String {
        let agent = name.rsplit('/').next().unwrap();
        let args = [
            "up",
            "--agent",
            agent,
            "--principal",
            agent,
            "--background",
            "--listen",
            "127.0.0.1:0",
        ];
        self.done(name, &args)
    }

    fn with_input(&self, name: &str, args: &[&str], input: &str) -> Output {
        fed(self.command(name, args), input)
    }

    /// A shell runs a line that `signet` printed for somebody to type, as the user of that home.
    fn types(&self, name: &str, line: &str) -> Output {
        let like = self.command(name, &[]);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).env_clear();
        let set = like.get_envs();
        shell.envs(set.filter_map(|(name, value)| Some((name, value?))));
        shell.stdin(Stdio::null()).output().unwrap()
    }

    fn words(&self, name: &str) -> String {
        let status: Value = serde_json::from_str(&self.done(name, &["status", "--json"])).unwrap();
        status["fingerprint"].as_str().unwrap().to_owned()
    }

    /// A handler answers at `to`, and what `from` asks is answered.
    fn talks(&self, from: &str, to: &str) {
        let mut command = self.command(to, &["handle"]);
        command.args(["--", "/bin/sh", "-c", "read -r _; echo '\"yes\"'"]);
        let handler = Ended(command.spawn().unwrap());
        let asked = self.done(
            from,
            &["send", to, "--request", "\"milk?\"", "--wait", "60"],
        );
        drop(handler);
        assert!(asked.contains("yes"), "{asked}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for home in std::fs::read_dir(self.dir.path()).unwrap().flatten() {
            let name = home.file_name().into_string().unwrap();
            if home.path().join("config.toml").exists() {
                self.run(&name, &["down"]);
            }
        }
    }
}

/// A process that ends with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn one_command_makes_home_server_mailbox_and_daemon_and_the_next_changes_nothing() {
    let machine = Machine::new();
    let said = machine.up("alice");
    for what in [
        "home     made in",
        "nats     nats://127.0.0.1:",
        "mailbox  ready",
        "daemon   in the background",
        "signet invite --home ",
    ] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let first: Value = serde_json::from_str(&machine.done("alice", &["status", "--json"])).unwrap();
    assert_eq!(
        (&first["connected"], &first["mailbox"]),
        (&true.into(), &true.into())
    );
    let files = [
        "config.toml",
        "nats/server.json",
        "nats/server.conf",
        "keys/certificate.json",
    ];
    let texts = || files.map(|file| std::fs::read(machine.home("alice").join(file)).unwrap());
    let before = texts();
    let again = machine.run("alice", &["up", "--background"]);
    assert_eq!(says(&again), "", "on loopback there is nothing to warn of");
    let again = String::from_utf8(again.stdout).unwrap();
    assert!(
        again.contains("own server, which runs") && again.contains("it runs already"),
        "{again}"
    );
    assert_eq!(texts(), before);
    let down = machine.done("alice", &["down"]);
    assert_eq!(down, "daemon   ended\nnats     ended\n");
    assert_eq!(
        machine.done("alice", &["down"]),
        "daemon   none ran\nnats     none ran\n"
    );
    let back = machine.done("alice", &["up", "--background"]);
    assert!(
        back.contains("started: a server of this home's own"),
        "{back}"
    );
    let second: Value =
        serde_json::from_str(&machine.done("alice", &["status", "--json"])).unwrap();
    assert_eq!(second["fingerprint"], first["fingerprint"]);
    let log = machine.home("alice").join("audit/alice");
    machine.done("alice", &["audit", "verify", log.to_str().unwrap()]);
}

#[test]
fn two_people_talk_after_three_commands_a_side() {
    let machine = Machine::new();
    // Alice: up, invite. Bob: up, accept. Alice: accept.
    machine.up("alice");
    let invited = machine.done("alice", &["invite", "--login", "bob", "--qr"]);
    let line = |start: &str| {
        let mut lines = invited.lines();
        lines
            .find(|line| line.starts_with(start))
            .unwrap()
            .to_owned()
    };
    let (invitation, login) = (line("signet:1:"), line("signet-login:1:"));
    assert!(invited.contains('█'), "a QR code: {invited}");
    let up = [
        "up",
        "--agent",
        "bob",
        "--principal",
        "bob",
        "--login",
        "-",
        "--background",
    ];
    let up = machine.with_input("bob", &up, &login);
    assert!(up.status.success(), "{}", says(&up));
    let words = machine.words("alice");
    let back = machine.done(
        "bob",
        &["accept", &invitation, "--words", &words.to_uppercase()],
    );
    let words = machine.words("bob");
    let told: Value = serde_json::from_str(&machine.done(
        "alice",
        &["accept", back.trim(), "--words", &words, "--json"],
    ))
    .unwrap();
    assert_eq!(
        (&told["peer"], &told["same-server"]),
        (&"bob".into(), &true.into())
    );
    machine.talks("alice", "bob");
    machine.talks("bob", "alice");
    // The secret stands in bob's seed file and nowhere else.
    let seed = machine.home("bob").join("nats.nk");
    assert_eq!(mode(&seed), 0o600);
    let seed = std::fs::read_to_string(seed).unwrap();
    for name in ["alice", "bob"] {
        for file in [
            "nats/server.conf",
            "nats/server.json",
            "config.toml",
            "daemon.log",
        ] {
            let text = std::fs::read_to_string(machine.home(name).join(file)).unwrap_or_default();
            assert!(!text.contains(seed.trim()), "{name}: {file}");
        }
    }
}

#[test]
fn two_homes_of_one_machine_talk_after_one_command_each() {
    let machine = Machine::new();
    machine.up("alice");
    let alice = machine.home("alice");
    let beside = [
        "up",
        "--agent",
        "bob",
        "--principal",
        "bob",
        "--background",
        "--beside",
        alice.to_str().unwrap(),
    ];
    let said = machine.done("bob", &beside);
    assert!(
        said.contains("the server of alice") && said.contains("know each other"),
        "{said}"
    );
    machine.talks("alice", "bob");
    // The command may be repeated while both daemons run; a home cannot stand beside itself.
    let again = machine.done(
        "bob",
        &["up", "--background", "--beside", alice.to_str().unwrap()],
    );
    assert!(again.contains("it runs already"), "{again}");
    let itself = ["up", "--background", "--beside", alice.to_str().unwrap()];
    let said = machine.fails("alice", 2, &itself);
    assert!(said.contains("is this home itself"), "{said}");
    // Bob's end leaves Alice's server alone.
    machine.done("bob", &["down"]);
    machine.done("alice", &["status"]);
    let status: Value =
        serde_json::from_str(&machine.done("alice", &["status", "--json"])).unwrap();
    assert_eq!(status["connected"], true);
}

/// His login at Alice's server was overwritten, and a second daemon of his ran, before the command failed.
#[test]
fn a_second_home_of_a_bob_beside_alice_is_refused_before_anything_is_touched() {
    let machine = Machine::new();
    machine.up("alice");
    let alice = machine.home("alice");
    let beside = [
        "up",
        "--agent",
        "bob",
        "--principal",
        "bob",
        "--background",
        "--beside",
        alice.to_str().unwrap(),
    ];
    machine.done("bob", &beside);
    let files = ["nats/server.json", "nats/server.conf"];
    let texts = || files.map(|file| std::fs::read(alice.join(file)).unwrap());
    let before = texts();
    let said = machine.fails("other", 1, &beside);
    assert!(
        said.contains("has a bob beside it already") && said.contains("--agent ID"),
        "{said}"
    );
    assert_eq!(texts(), before);
    assert!(!machine.home("other").exists());
    // A second Bob is refused even if his home was made before and Alice's daemon is down.
    machine.done("other", &["init", "--agent", "bob", "--principal", "bob"]);
    machine.done("alice", &["down", "--keep-nats"]);
    let again = ["up", "--background", "--beside", alice.to_str().unwrap()];
    machine.fails("other", 1, &again);
    assert_eq!(texts(), before);
    assert!(!machine.home("other").join("daemon.log").exists());
    machine.done("alice", &["up", "--background"]);
    machine.talks("alice", "bob");
    // Bob's first home may repeat the command, even if its login is lost.
    machine.done("bob", &["down"]);
    std::fs::remove_file(machine.home("bob").join("nats.nk")).unwrap();
    machine.done("bob", &again);
    machine.talks("alice", "bob");
}

#[test]
fn a_second_login_for_a_bob_who_is_connected_is_asked_for_twice() {
    let machine = Machine::new();
    machine.up("alice");
    let login = |args: &[&str]| {
        let invited = machine.done("alice", &[&["invite", "--login", "bob"][..], args].concat());
        let mut lines = invited.lines();
        let line = lines.find(|line| line.starts_with("signet-login:1:"));
        line.unwrap().to_owned()
    };
    let up = [
        "up",
        "--agent",
        "bob",
        "--principal",
        "bob",
        "--background",
        "--login",
        "-",
    ];
    let up = machine.with_input("bob", &up, &login(&[]));
    assert!(up.status.success(), "{}", says(&up));
    let connected = || {
        let status = machine.done("bob", &["status", "--json"]);
        serde_json::from_str::<Value>(&status).unwrap()["connected"] == true
    };
    let said = machine.fails("alice", 1, &["invite", "--login", "bob"]);
    assert!(said.contains("--login bob --replace"), "{said}");
    assert!(connected());
    login(&["--replace"]);
    eventually("his login has ended", || (!connected()).then_some(()));
}

#[test]
fn words_that_differ_bind_nobody_and_neither_does_silence() {
    let machine = Machine::new();
    machine.done(
        "alice",
        &["init", "--agent", "alice", "--principal", "alice"],
    );
    machine.done("bob", &["init", "--agent", "bob", "--principal", "bob"]);
    let line = machine.done("alice", &["invite"]);
    let line = line.trim();
    let said = machine.fails(
        "bob",
        1,
        &["accept", line, "--words", &machine_words(&machine, "bob")],
    );
    assert!(said.contains("not the words of alice's root key"), "{said}");
    let said = machine.fails("bob", 2, &["accept", line]);
    assert!(said.contains("nobody can be asked here"), "{said}");
    let listed = machine.done("bob", &["peer", "list"]);
    let home = machine.home("bob");
    let next = format!(" peer add --home {} FILE\n", home.display());
    assert!(
        listed.starts_with("no peers yet\n  next: ") && listed.ends_with(&next),
        "{listed}"
    );
    let said = machine.fails("alice", 2, &["accept", line]);
    assert!(said.contains("invitation to alice itself"), "{said}");
    let said = machine.fails("bob", 1, &["accept", &line[..line.len() - 12]]);
    assert!(said.contains("copy all of it"), "{said}");
}

/// The words of a home whose daemon does not run.
fn machine_words(machine: &Machine, name: &str) -> String {
    let shown = machine.done(name, &["invite", "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    shown["fingerprint"].as_str().unwrap().to_owned()
}

#[test]
fn a_login_for_somebody_else_or_a_spoilt_one_is_refused_and_not_repeated() {
    let machine = Machine::new();
    machine.up("alice");
    let invited = machine.done("alice", &["invite", "--login", "carol"]);
    let login = invited
        .lines()
        .find(|line| line.starts_with("signet-login:1:"))
        .unwrap();
    let up = [
        "up",
        "--agent",
        "bob",
        "--principal",
        "bob",
        "--background",
        "--login",
        "-",
    ];
    let refused = machine.with_input("bob", &up, login);
    assert_eq!(refused.status.code(), Some(1));
    let said = says(&refused);
    assert!(said.contains("this login is for carol"), "{said}");
    assert!(!machine.home("bob").join("nats.nk").exists());
    for spoilt in [&login[..login.len() - 7], "signet:1:abc", "SUAsecret"] {
        let refused = machine.with_input("bob", &up, spoilt);
        assert_eq!(refused.status.code(), Some(2), "{}", says(&refused));
        let secret = &spoilt[spoilt.len().saturating_sub(20)..];
        assert!(!says(&refused).contains(secret));
    }
}

#[test]
fn without_a_nats_server_a_busy_port_or_in_anothers_home_it_says_what_to_do() {
    let machine = Machine::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let base = [
        "up",
        "--agent",
        "alice",
        "--principal",
        "alice",
        "--background",
    ];
    let busy = [&base[..], &["--listen", &address]].concat();
    let said = machine.fails("alice", 1, &busy);
    assert!(
        said.contains(&address) && said.contains("--listen HOST:PORT"),
        "{said}"
    );
    let usual = ["/usr/sbin/nats-server", "/usr/local/bin/nats-server"];
    if !usual.iter().any(|file| Path::new(file).exists()) {
        let free = [&base[..], &["--listen", "127.0.0.1:0"]].concat();
        let output = machine
            .command("alice", &free)
            .env_remove("NATS_SERVER")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", says(&output));
        assert!(
            says(&output).contains("no nats-server on this machine"),
            "{}",
            says(&output)
        );
    }
    // What was made stays, and the next try goes on with it.
    machine.up("alice");
    let other = ["up", "--agent", "bob", "--principal", "bob", "--background"];
    let said = machine.fails("alice", 1, &other);
    assert!(said.contains("is the home of alice of alice"), "{said}");
    let said = machine.fails("nobody", 2, &["up", "--background"]);
    assert!(said.contains("there is no home at"), "{said}");
}

#[test]
fn a_server_that_is_named_is_used_and_one_that_does_not_answer_is_said() {
    let machine = Machine::new();
    machine.up("alice");
    let conf = std::fs::read_to_string(machine.home("alice").join("config.toml")).unwrap();
    assert!(conf.contains("\nservers = [\"nats://127.0.0.1:"), "{conf}");
    let mut server = signet_testkit::Server::start("");
    server.kill();
    let base = [
        "up",
        "--agent",
        "bob",
        "--principal",
        "bob",
        "--background",
        "--nats",
    ];
    let said = machine.fails("bob", 3, &[&base[..], &[&server.url()]].concat());
    assert!(said.contains("reaches no NATS server at"), "{said}");
    // The daemon runs all the same, and finds the server as soon as it is there.
    server.restart();
    eventually("it is connected", || {
        let status: Value =
            serde_json::from_str(&machine.done("bob", &["status", "--json"])).unwrap();
        (status["connected"] == true).then_some(())
    });
}

#[test]
fn secrets_of_the_own_server_are_readable_by_nobody_else() {
    let machine = Machine::new();
    machine.up("alice");
    let nats = machine.home("alice").join("nats");
    assert_eq!(mode(&nats), 0o700);
    for file in ["admin.nk", "server.conf", "server.json"] {
        assert_eq!(mode(&nats.join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&machine.home("alice").join("daemon.log")), 0o600);
}

#[test]
fn a_process_that_has_the_number_of_a_server_that_died_is_left_alone() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    let mut stranger = Ended(Command::new("/bin/sleep").arg("600").spawn().unwrap());
    let pid = machine.home("alice").join("nats/server.pid");
    std::fs::write(&pid, stranger.0.id().to_string()).unwrap();
    assert_eq!(
        machine.done("alice", &["down"]),
        "daemon   none ran\nnats     none ran\n"
    );
    assert!(stranger.0.try_wait().unwrap().is_none(), "it still runs");
    let said = machine.done("alice", &["up", "--background"]);
    assert!(
        said.contains("started: a server of this home's own"),
        "{said}"
    );
}

/// A service manager that starts what its units say, and ends it.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >> "$XDG_CONFIG_HOME/calls"
units="$XDG_CONFIG_HOME/systemd/user"
case "$2" in
start)
    [ -e "$units/$3.pid" ] && kill -0 "$(cat "$units/$3.pid")" 2>/dev/null && exit 0
    line=$(sed -n 's/^ExecStart=//p' "$units/$3")
    eval "exec $line" >/dev/null 2>&1 </dev/null &
    echo $! > "$units/$3.pid" ;;
disable)
    kill "$(cat "$units/$4.pid")"
    while kill -0 "$(cat "$units/$4.pid")" 2>/dev/null; do sleep 0.05; done ;;
esac
exit 0
"#;

#[test]
fn where_there_is_a_service_manager_it_runs_daemon_and_server() {
    let mut machine = Machine::new();
    let bin = machine.dir.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::create_dir_all(machine.dir.path().join("config")).unwrap();
    let program = bin.join("systemctl");
    std::fs::write(&program, SYSTEMCTL).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    machine.path = format!("{}:/usr/bin:/bin", bin.display());
    let up = [
        "up",
        "--agent",
        "alice",
        "--principal",
        "alice",
        "--listen",
        "127.0.0.1:0",
    ];
    let said = machine.done("alice", &up);
    assert!(
        said.contains("the service signet-alice.service runs it"),
        "{said}"
    );
    let calls = || std::fs::read_to_string(machine.dir.path().join("config/calls")).unwrap();
    for unit in ["signet-alice-nats.service", "signet-alice.service"] {
        assert!(
            calls().contains(&format!("--user enable {unit}")),
            "{}",
            calls()
        );
    }
    let status: Value =
        serde_json::from_str(&machine.done("alice", &["status", "--json"])).unwrap();
    assert_eq!(
        (&status["connected"], &status["mailbox"]),
        (&true.into(), &true.into())
    );
    let again = machine.done("alice", &["up"]);
    assert!(again.contains("own server, which runs"), "{again}");
    let down = machine.done("alice", &["down", "--keep-nats"]);
    assert_eq!(down, "daemon   ended\n");
    let kept = machine.done("alice", &["up"]);
    assert!(kept.contains("own server, which runs"), "{kept}");
    let down = machine.done("alice", &["down"]);
    assert_eq!(down, "daemon   ended\nnats     ended\n");
    assert!(
        calls().contains("--user disable --now signet-alice.service"),
        "{}",
        calls()
    );
    let units = machine.dir.path().join("config/systemd/user");
    assert!(!units.join("signet-alice.service").exists());
    machine.fails("alice", 3, &["ping", "bob"]);
}

#[test]
fn two_at_once_start_one_server_and_one_daemon() {
    let machine = Machine::new();
    machine.up("alice");
    machine.done("alice", &["down"]);
    let both = [(); 2].map(|()| {
        let mut command = machine.command("alice", &["up", "--background"]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    });
    for child in both {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", says(&output));
    }
    assert_eq!(
        machine.done("alice", &["down"]),
        "daemon   ended\nnats     ended\n"
    );
}

#[test]
fn sixteen_agents_have_a_login_and_the_seventeenth_spoils_nothing() {
    let machine = Machine::new();
    machine.up("alice");
    for n in 2..=16 {
        machine.done("alice", &["invite", "--login", &format!("agent-{n}")]);
    }
    let said = machine.fails("alice", 1, &["invite", "--login", "agent-17"]);
    assert!(said.contains("room for 16 agents"), "{said}");
    let said = machine.fails("alice", 1, &["invite", "--login", "agent-2"]);
    assert!(
        said.contains("has a login on this server already") && said.contains("--replace"),
        "{said}"
    );
    let anew = machine.run("alice", &["invite", "--login", "agent-2", "--replace"]);
    assert!(
        says(&anew).contains("had before has ended"),
        "{}",
        says(&anew)
    );
    let said = machine.fails("alice", 2, &["invite", "--login", "alice"]);
    assert!(said.contains("is the agent of this home"), "{said}");
    machine.done("alice", &["down"]);
    machine.done("alice", &["up", "--background"]);
}

#[test]
fn a_home_by_another_spelling_or_moved_is_still_the_same_home() {
    let machine = Machine::new();
    std::fs::create_dir(machine.home("real")).unwrap();
    std::os::unix::fs::symlink(machine.home("real"), machine.home("link")).unwrap();
    machine.up("link/alice");
    let again = machine.done("real/../link/alice", &["up", "--background"]);
    assert!(
        again.contains("own server, which runs") && again.contains("it runs already"),
        "{again}"
    );
    let down = machine.done("real/alice", &["down"]);
    assert_eq!(down, "daemon   ended\nnats     ended\n");
    std::fs::rename(machine.home("real/alice"), machine.home("moved")).unwrap();
    machine.done("moved", &["up", "--background"]);
    machine.done("moved", &["down"]);
}

#[test]
fn a_daemon_that_runs_is_not_told_of_another_server_behind_its_back() {
    let machine = Machine::new();
    machine.up("alice");
    let config = || std::fs::read_to_string(machine.home("alice").join("config.toml")).unwrap();
    let before = config();
    let said = machine.fails(
        "alice",
        1,
        &["up", "--background", "--nats", "nats://127.0.0.1:1"],
    );
    assert!(said.contains("a daemon runs in this home"), "{said}");
    let mut command = machine.command("alice", &["up", "--background"]);
    let output = command
        .env("NATS_URL", "nats://127.0.0.1:1")
        .output()
        .unwrap();
    assert!(
        says(&output).contains("NATS_URL names another"),
        "{}",
        says(&output)
    );
    assert_eq!(config(), before);
}

#[test]
fn an_address_with_a_login_is_refused_and_not_repeated() {
    let machine = Machine::new();
    let base = [
        "up",
        "--agent",
        "bob",
        "--principal",
        "bob",
        "--background",
        "--nats",
    ];
    for address in [
        "nats://bob:secret@127.0.0.1:1",
        "http://secret",
        "secret",
        "nats://secret\"",
        "nats://",
    ] {
        let said = machine.fails("bob", 2, &[&base[..], &[address]].concat());
        assert!(
            said.contains("address of the NATS server cannot be used") && !said.contains("secret"),
            "{said}"
        );
    }
}

#[test]
fn a_server_that_listens_everywhere_is_invited_to_by_an_address_that_leads_somewhere() {
    let machine = Machine::new();
    let args = [
        "up",
        "--agent",
        "alice",
        "--principal",
        "alice",
        "--background",
    ];
    let args = [&args[..], &["--listen", "0.0.0.0:0"]].concat();
    for _ in 0..2 {
        // Run `up` twice: the warning comes again when the server exists already.
        let output = machine.run("alice", &args);
        let said = says(&output);
        assert!(output.status.success(), "{said}");
        let warned = said.contains("warning: this NATS server listens at 0.0.0.0:")
            && said.contains("without TLS");
        assert!(
            warned && said.contains("\n  next: let it listen at the address of a VPN"),
            "{said}"
        );
    }
    let output = machine.run("alice", &["invite"]);
    assert!(
        says(&output).contains("name an address with --address"),
        "{}",
        says(&output)
    );
    let named = machine.run("alice", &["invite", "--address", "nats://192.0.2.7:4222"]);
    assert!(
        named.status.success() && !says(&named).contains("--address"),
        "{}",
        says(&named)
    );
}
