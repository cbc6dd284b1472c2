//! `signet install` on a directory that is the root of another machine. It gives files to users, which only root can:
//! a container has one; elsewhere what it refuses is looked at.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::house::{copy_program, eventually, says, signet};

/// A machine with the units and a NATS server on it, and nobody but root.
struct Machine(TempDir);

impl Machine {
    /// `None` without the rights of root.
    fn new() -> Option<Self> {
        let machine = Self::anywhere();
        if machine.0.path().metadata().unwrap().uid() == 0 {
            return Some(machine);
        }
        eprintln!("NOT tried: only root installs");
        None
    }

    fn anywhere() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        fs::set_permissions(machine.0.path(), Permissions::from_mode(0o755)).unwrap();
        machine.put("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
        machine.put("etc/group", "root:x:0:\n");
        machine.put("usr/sbin/nats-server", "");
        let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systemd/system");
        for unit in fs::read_dir(units).unwrap().flatten() {
            let text = fs::read_to_string(unit.path()).unwrap();
            let name = unit.file_name().into_string().unwrap();
            machine.put(&format!("usr/lib/systemd/system/{name}"), &text);
        }
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn install(&self, args: &[&str]) -> Output {
        let mut command = Command::new(signet());
        command.arg("install").arg("--sysroot").arg(self.0.path());
        command.args(args).stdin(Stdio::null()).output().unwrap()
    }

    fn done(&self, args: &[&str]) -> String {
        let output = self.install(args);
        assert!(output.status.success(), "{args:?}: {}", says(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.install(args);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{args:?}: {}",
            says(&output)
        );
        says(&output)
    }

    /// The number of a user or group.
    fn number(&self, file: &str, name: &str) -> u32 {
        let text = self.text(file);
        let line = text
            .lines()
            .find(|line| line.split(':').next() == Some(name));
        line.unwrap().split(':').nth(2).unwrap().parse().unwrap()
    }

    /// User, group and mode.
    fn facts(&self, path: &str) -> (u32, u32, u32) {
        let facts = self.path(path).symlink_metadata().unwrap();
        (facts.uid(), facts.gid(), facts.mode() & 0o7777)
    }
}

const ALPHA: [&str; 4] = ["--agent", "agent-alpha", "--principal", "alice"];
const BETA: [&str; 4] = ["--agent", "agent-beta", "--principal", "bob"];
const HOME: &str = "var/lib/signet/alpha";

#[test]
fn who_only_looks_needs_no_right_and_changes_nothing() {
    let machine = Machine::anywhere();
    let said = machine.done(&[&ALPHA[..], &["--dry-run"]].concat());
    for step in [
        "u signet-alpha -",
        "/var/lib/signet/alpha: would be made",
        "/etc/signet/nats/nats.conf: would be written",
        "systemctl enable signet@alpha.service: would be run",
    ] {
        assert!(said.contains(step), "{step}: {said}");
    }
    assert!(!machine.path("var").exists() && !machine.path("etc/signet").exists());
    assert_eq!(machine.text("etc/group"), "root:x:0:\n");
}

#[test]
fn an_agent_is_installed_with_the_owners_and_modes_of_the_handbook() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.done(&ALPHA);
    let user = machine.number("etc/passwd", "signet-alpha");
    let group = |name: &str| machine.number("etc/group", name);
    assert_eq!(machine.facts("var/lib/signet"), (0, 0, 0o755));
    assert_eq!(machine.facts(HOME), (user, group("signet-alpha"), 0o711));
    let agent = machine.facts(&format!("{HOME}/agent"));
    assert_eq!(agent, (user, group("signet-agent-alpha"), 0o2710));
    let audit = machine.facts(&format!("{HOME}/audit"));
    assert_eq!(audit, (user, group("signet-audit"), 0o2750));
    for file in [
        "config.toml",
        "nats.nk",
        "keys/signing.pem",
        "keys/root.pem",
    ] {
        let facts = machine.facts(&format!("{HOME}/{file}"));
        assert_eq!(facts, (user, group("signet-alpha"), 0o600), "{file}");
    }
    assert!(
        machine
            .path("etc/systemd/system/multi-user.target.wants/signet@alpha.service")
            .is_symlink()
    );
    assert!(
        machine
            .path("etc/systemd/system/multi-user.target.wants/signet-nats.service")
            .is_symlink()
    );
    // Daemon, handlers and gateway have three different user ids; the group of the agent's socket has handlers and
    // gateway in it.
    let (handlers, gateway) = (
        machine.number("etc/passwd", "signet-handlers-alpha"),
        machine.number("etc/passwd", "signet-gateway-alpha"),
    );
    assert!(handlers != user && gateway != user && gateway != handlers);
    let groups = machine.text("etc/group");
    let members = groups
        .lines()
        .find(|line| line.starts_with("signet-agent-alpha:"))
        .and_then(|line| line.rsplit(':').next());
    let mut members: Vec<&str> = members.unwrap().split(',').collect();
    members.sort_unstable();
    assert_eq!(
        members,
        ["signet-gateway-alpha", "signet-handlers-alpha"],
        "{groups}"
    );
    assert_eq!(machine.facts("etc/signet/nats/admin.nk"), (0, 0, 0o600));
    assert_eq!(
        machine.facts("etc/signet/nats/nats.conf"),
        (0, group("signet-nats"), 0o640)
    );
}

#[test]
fn what_was_installed_twice_has_the_keys_of_the_first_time_and_one_more_agent_its_own_login() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.done(&ALPHA);
    let keys = ["keys/signing.pem", "keys/root.pem", "nats.nk"].map(|key| format!("{HOME}/{key}"));
    let before = keys.each_ref().map(|key| machine.text(key));
    let conf = machine.text("etc/signet/nats/nats.conf");
    let said = machine.done(&ALPHA);
    assert!(
        said.contains("/var/lib/signet/alpha/agent: as it should be"),
        "{said}"
    );
    assert!(said.contains("nats.conf: as it should be"), "{said}");
    assert_eq!(keys.each_ref().map(|key| machine.text(key)), before);
    assert_eq!(machine.text("etc/signet/nats/nats.conf"), conf);
    machine.done(&BETA);
    let both = machine.text("etc/signet/nats/nats.conf");
    let logins = |conf: &str| conf.matches("nkey: U").count();
    assert_eq!((logins(&conf), logins(&both)), (2, 3));
    assert!(both.contains("agent.agent-beta.inbox"), "{both}");
}

#[test]
fn the_daemon_runs_in_its_home_under_its_user_and_gives_socket_and_log_to_their_groups() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.done(&ALPHA);
    let (user, group) = (
        machine.number("etc/passwd", "signet-alpha"),
        machine.number("etc/group", "signet-alpha"),
    );
    // Copy the program: the daemon runs as another user here, and Cargo's target folder may be closed to other users.
    copy_program(signet(), machine.path("usr/sbin/signet"));
    let mut command = Command::new(machine.path("usr/sbin/signet"));
    command.arg("run").arg("--home").arg(machine.path(HOME));
    command
        .env("NATS_URL", "nats://127.0.0.1:1")
        .env_remove("CREDENTIALS_DIRECTORY");
    command
        .uid(user)
        .gid(group)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut daemon = command.spawn().unwrap();
    let socket = format!("{HOME}/agent/agent.sock");
    eventually("the agent's socket", || {
        machine.path(&socket).exists().then_some(())
    });
    let facts = machine.facts(&socket);
    let log = fs::read_dir(machine.path(&format!("{HOME}/audit/agent-alpha")))
        .unwrap()
        .flatten();
    let log: Vec<_> = log
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"))
        .collect();
    let logs: Vec<_> = log
        .iter()
        .map(|entry| entry.metadata().unwrap())
        .map(|facts| (facts.gid(), facts.mode() & 0o777))
        .collect();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert_eq!(
        (facts.0, facts.1, facts.2 & 0o777),
        (
            user,
            machine.number("etc/group", "signet-agent-alpha"),
            0o660
        )
    );
    assert_eq!(logs, [(machine.number("etc/group", "signet-audit"), 0o640)]);
}

/// Root would have given /etc to the agent.
#[test]
fn an_agent_that_puts_a_link_into_its_home_gets_no_other_directory() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.done(&ALPHA);
    let before = machine.facts("etc");
    let agent = machine.path(&format!("{HOME}/agent"));
    fs::rename(&agent, machine.path(&format!("{HOME}/away"))).unwrap();
    symlink(machine.path("etc"), &agent).unwrap();
    let said = machine.fails(1, &ALPHA);
    assert!(
        said.contains("is no directory, or belongs to somebody else"),
        "{said}"
    );
    assert_eq!(machine.facts("etc"), before);
    // A directory of somebody else's, moved there, stays theirs.
    fs::remove_file(&agent).unwrap();
    fs::create_dir(&agent).unwrap();
    std::os::unix::fs::chown(&agent, Some(64_997), Some(64_997)).unwrap();
    machine.fails(1, &ALPHA);
    assert_eq!(machine.facts(&format!("{HOME}/agent")).0, 64_997);
}

#[test]
fn nobody_is_given_the_home_of_another_agent() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.done(&ALPHA);
    let said = machine.fails(
        1,
        &[
            "--agent",
            "agent-beta",
            "--principal",
            "bob",
            "--name",
            "alpha",
        ],
    );
    assert!(
        said.contains("is the home of agent-alpha of alice") && said.contains("--name"),
        "{said}"
    );
    // A home that somebody made by hand is not taken over either.
    machine.put("var/lib/signet/beta/config.toml", "");
    let said = machine.fails(1, &BETA);
    assert!(said.contains("signet install has not made it"), "{said}");
    assert!(!machine.text("etc/passwd").contains("signet-beta"));
}

#[test]
fn without_units_nothing_is_made_and_the_next_command_is_named() {
    let Some(machine) = Machine::new() else {
        return;
    };
    fs::remove_dir_all(machine.path("usr/lib/systemd")).unwrap();
    let said = machine.fails(2, &ALPHA);
    assert!(said.contains("make install"), "{said}");
    assert!(!machine.path("var/lib/signet").exists());
}

#[test]
fn without_a_nats_server_the_agent_is_installed_and_told_how_to_get_one_later() {
    let Some(machine) = Machine::new() else {
        return;
    };
    fs::remove_file(machine.path("usr/sbin/nats-server")).unwrap();
    let said = machine.done(&ALPHA);
    assert!(said.contains("apt-get install nats-server"), "{said}");
    assert!(!machine.path(&format!("{HOME}/nats.nk")).exists());
    machine.put("usr/sbin/nats-server", "");
    machine.done(&ALPHA);
    let facts = machine.facts(&format!("{HOME}/nats.nk"));
    assert_eq!(
        (facts.0, facts.2),
        (machine.number("etc/passwd", "signet-alpha"), 0o600)
    );
    assert!(
        machine
            .text("etc/signet/nats/nats.conf")
            .contains("agent.agent-alpha.inbox")
    );
}

#[test]
fn a_removed_agent_keeps_its_keys_and_loses_its_login_until_it_is_purged() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.done(&ALPHA);
    machine.done(&BETA);
    let key = machine.text(&format!("{HOME}/keys/signing.pem"));
    let remove = ["--agent", "agent-alpha", "--remove"];
    machine.done(&remove);
    let conf = || machine.text("etc/signet/nats/nats.conf");
    assert!(!conf().contains("agent-alpha") && conf().contains("agent-beta"));
    assert!(
        !machine
            .path("etc/systemd/system/multi-user.target.wants/signet@alpha.service")
            .is_symlink()
    );
    machine.done(&ALPHA);
    assert_eq!(machine.text(&format!("{HOME}/keys/signing.pem")), key);
    assert!(conf().contains("agent.agent-alpha.inbox"));
    machine.done(&[&remove[..], &["--purge"]].concat());
    for file in ["etc/passwd", "etc/group"] {
        let text = machine.text(file);
        assert!(
            !text.contains("alpha") && text.contains("signet-beta"),
            "{text}"
        );
    }
    for path in [
        HOME,
        "etc/sysusers.d/signet-alpha.conf",
        "etc/signet/agents/alpha.json",
    ] {
        assert!(machine.path(path).symlink_metadata().is_err(), "{path}");
    }
    let said = machine.fails(1, &remove);
    assert!(said.contains("has put no agent-alpha"), "{said}");
}

/// A hint had told root to make such a file root's own: the daemon failed at its next start, and install called it right.
#[test]
fn files_that_root_left_in_a_home_are_given_back_to_its_agent() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.done(&ALPHA);
    let (user, group) = (
        machine.number("etc/passwd", "signet-alpha"),
        machine.number("etc/group", "signet-alpha"),
    );
    let files =
        ["config.toml", "keys", "keys/signing.pem", "nats.nk"].map(|file| format!("{HOME}/{file}"));
    let before = files.each_ref().map(|file| machine.facts(file));
    for file in &files {
        std::os::unix::fs::chown(machine.path(file), Some(0), Some(0)).unwrap();
    }
    // What the agent may have put there itself: a second name of root's file, and a link to it.
    machine.put("etc/secret", "root's\n");
    fs::hard_link(
        machine.path("etc/secret"),
        machine.path(&format!("{HOME}/stolen")),
    )
    .unwrap();
    symlink(
        machine.path("etc"),
        machine.path(&format!("{HOME}/keys/out")),
    )
    .unwrap();
    let said = machine.done(&ALPHA);
    for file in &files {
        assert!(
            said.contains(&format!("/{file}: given back to its user")),
            "{said}"
        );
        assert_eq!(
            (machine.facts(file).0, machine.facts(file).1),
            (user, group),
            "{file}"
        );
    }
    assert_eq!(files.each_ref().map(|file| machine.facts(file)), before);
    assert_eq!(
        (machine.facts("etc/secret").0, machine.facts("etc").0),
        (0, 0)
    );
    // A file that stays root's is named each time: the daemon cannot use it.
    let again = machine.done(&ALPHA);
    for said in [&said, &again] {
        assert!(
            said.contains("/stolen: left to root: it has another name"),
            "{said}"
        );
    }
    assert!(!again.contains("given back"), "{again}");
}

/// A service manager of two units: what is enabled with --now is started where it does not run, and left alone where it
/// does, as systemd leaves it.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >> /run/calls
alive() { [ -e "/run/$1.pid" ] && kill -0 "$(cat "/run/$1.pid")" 2>/dev/null; }
start() {
    case $1 in
    signet-nats.service) nats-server -c /etc/signet/nats/nats.conf > /run/nats.log 2>&1 & ;;
    signet@alpha.service)
        setpriv --reuid="$(id -u signet-alpha)" --regid="$(id -g signet-alpha)" --clear-groups \
            "$ROOT/signet" run --home /var/lib/signet/alpha > /run/said 2>&1 & ;;
    esac
    echo $! > "/run/$1.pid"
}
case "$1 $2" in
"enable --now") alive "$3" || start "$3" ;;
restart*)
    if alive "$2"; then
        kill "$(cat "/run/$2.pid")"
        while alive "$2"; do sleep 0.05; done
    fi
    start "$2" ;;
reload*) kill -HUP "$(cat "/run/$2.pid")" ;;
"show --property=MainPID") if alive "$3"; then echo "MainPID=$(cat "/run/$3.pid")"; else echo MainPID=0; fi ;;
esac
exit 0
"#;

/// Installs without a nats-server, then with one, by the same command; says whether the daemon that ran is connected. Then
/// a login that is newer than the daemon, as a release before left it: the third `install` restarts the daemon, and the
/// fourth leaves it alone.
const TWICE: &str = r#"
set -e
ip link set lo up
mount --bind "$ROOT/etc" /etc
mount --bind "$ROOT/var/lib" /var/lib
mount -t tmpfs none /run
mount -t tmpfs none /usr/local/sbin
mkdir -p /run/systemd/system
export PATH="$ROOT/bin:/usr/local/sbin:$PATH"
install="$ROOT/signet install --agent agent-alpha --principal alice"
$install
ask() {
    setpriv --reuid="$(id -u signet-alpha)" --regid="$(id -g signet-alpha)" --clear-groups \
        "$ROOT/signet" status --json --home /var/lib/signet/alpha 2>/dev/null
}
until ask > /dev/null; do sleep 0.1; done
ln -s "$NATS" /usr/local/sbin/nats-server
$install
n=0
until ask | grep -q '"connected":true'; do
    n=$((n + 1))
    [ $n -lt 100 ] || { cat /run/calls /run/said; exit 7; }
    sleep 0.1
done
process() { cat "/run/signet@alpha.service.pid"; }
before=$(process)
$install
[ "$(process)" = "$before" ] || { echo "restarted, and its login is as old as before"; exit 8; }
sleep 0.2
touch /var/lib/signet/alpha/nats.nk
$install
after=$(process)
[ "$after" != "$before" ] || { echo "not restarted: its login is newer"; cat /run/calls; exit 9; }
$install
[ "$(process)" = "$after" ] || { echo "restarted a second time"; exit 10; }
"#;

#[test]
fn an_agent_that_was_installed_before_its_nats_server_is_connected_by_the_same_command() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let is_there = |file: &&str| Path::new(file).exists();
    let usual = [
        "/usr/sbin/nats-server",
        "/usr/bin/nats-server",
        "/usr/local/bin/nats-server",
    ];
    let mut alone = Command::new("unshare");
    alone.args([
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]);
    let may = alone.arg("true").stderr(Stdio::null()).status();
    if usual.iter().any(is_there) || !may.is_ok_and(|status| status.success()) {
        eprintln!("NOT tried: this machine has a nats-server, or no namespaces");
        return;
    }
    fs::create_dir_all(machine.path("var/lib")).unwrap();
    let units = machine.path("usr/lib/systemd/system");
    fs::create_dir_all(machine.path("etc/systemd")).unwrap();
    fs::rename(units, machine.path("etc/systemd/system")).unwrap();
    copy_program(signet(), machine.path("signet"));
    machine.put("bin/systemctl", SYSTEMCTL);
    let program = machine.path("bin/systemctl");
    fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
    let mut alone = Command::new("unshare");
    alone.args([
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]);
    alone
        .args(["/bin/sh", "-c", TWICE])
        .env("ROOT", machine.0.path());
    alone.env("NATS", nats_server()).env_remove("NATS_URL");
    let output = alone.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", says(&output));
}

/// The server that the other tests use.
fn nats_server() -> PathBuf {
    signet_driver::find_nats_server(Path::new("/nowhere")).unwrap()
}
