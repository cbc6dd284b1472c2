//! A handler that a message talked into breaking out, under a user id of its own (docs/agents.md, "The control
//! socket, and the agent's"): it tries everything that a program can try from there against its daemon.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::house::{Home, House, copy_program, eventually, says, signet};

/// Ids that no account of a machine has.
const USER: u32 = 64_997;
const GROUP: u32 = 64_998;

/// Prints as JSON what it could do; each argument is a way and where to. The shell's redirections open, and do no more.
const BREAK_OUT: &str = r#"
cat > /dev/null
tried=0 done=
for attempt in "$@"; do
    tried=$((tried + 1))
    where=${attempt#*:}
    case $attempt in
    read:*) (: < "$where") ;;
    write:*) (: >> "$where") ;;
    list:*) ls "$where/" ;;
    follow:*) readlink "$where" ;;
    connect:*) "$SIGNET" handle --socket "$where" --once -- true ;;
    replace:*) mv "$where" "$where.gone" && mv "$where.gone" "$where" ;;
    signal:*) kill -0 "$where" ;;
    attach:*) timeout 2 strace -o /dev/null -p "$where"; test $? = 124 ;;
    esac > /dev/null 2>&1 && done="$done${done:+,}\"$attempt\""
done
printf '{"tried":%d,"done":[%s]}' "$tried" "$done"
"#;

/// What the handler's user reaches: the agent's socket, the program and the handler, and nothing of the home.
struct Reach {
    dir: TempDir,
}

impl Reach {
    /// A directory that the group may pass and nobody else, as the one of `[agent-socket] socket` has to be.
    fn new(group: Option<u32>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let reach = Self { dir };
        // Copy the program: the handlers run as another user, and Cargo's target folder may be closed to other users.
        copy_program(signet(), reach.path("signet"));
        std::fs::write(reach.path("break-out"), BREAK_OUT).unwrap();
        for name in ["signet", "break-out"] {
            mode(&reach.path(name), 0o755);
        }
        mode(reach.dir.path(), 0o750);
        chown(reach.dir.path(), None, group).unwrap();
        reach
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A command as whoever starts it, with nothing of the tester's environment.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir("/")
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("SIGNET", self.path("signet"));
        command
    }

    /// `signet handle` with the handler that tries all of `attempts`, until nothing waits.
    fn handle(&self, attempts: &[String]) -> Command {
        let mut command = self.command(&self.path("signet"));
        command
            .arg("handle")
            .arg("--socket")
            .arg(self.path("agent.sock"));
        command.args(["--once", "--", "sh"]);
        command.arg(self.path("break-out")).args(attempts);
        command
    }
}

#[test]
fn a_handler_of_its_own_user_opens_neither_keys_nor_the_persons_socket_nor_the_daemons_memory() {
    let is_root = rustix::process::geteuid().is_root();
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    let reach = Reach::new(is_root.then_some(GROUP));
    let socket = reach.path("agent.sock");
    let mut section = format!("[agent-socket]\nsocket = {}", json!(socket));
    if is_root {
        section.push_str(&format!("\ngroup = \"{GROUP}\""));
    }
    alice.configure("[agent-socket]", &section);
    house.acquaint(&[&alice, &bob]);
    alice.start();
    bob.start();
    bob.ping(&alice);
    let closed = closed_to_others(&alice);
    if !is_root {
        // Write to standard error directly: the test harness swallows the output of `eprintln!` if the test passes.
        let _ = writeln!(
            std::io::stderr(),
            "NOT TESTED, for it takes root: a handler under another user id. Only the modes of {closed} files were looked at."
        );
    }
    let attempts = attempts(&alice, &reach);
    let mut handle = reach.handle(if is_root { &attempts } else { &[] });
    if is_root {
        // Set the group too: otherwise the handler would have the test's own group, and could pass where it must not.
        handle.uid(USER).gid(GROUP);
    }
    let ask = |wait: f64| {
        let asked = json!({
            "peer": alice.agent, "kind": "request", "body": "break out", "key": "once", "wait": wait,
        });
        bob.call("send", &asked).unwrap()
    };
    ask(0.0);
    eventually("the request arrives", || {
        (alice.inbox().len() == 1).then_some(())
    });
    let handled = handle.output().unwrap();
    assert!(handled.status.success(), "{}", says(&handled));
    let answered = ask(60.0);
    assert_eq!(
        answered["state"],
        "answered",
        "{answered} {}",
        says(&handled)
    );
    let told = &answered["answer"]["body"];
    let tried = if is_root { attempts.len() } else { 0 };
    assert_eq!(
        told,
        &json!({"tried": tried, "done": []}),
        "it answers, and could do nothing else"
    );
    assert!(socket.exists() && !alice.has_ended());
    if is_root {
        each_attempt_is_one(&reach, &attempts);
    }
    bob.ping(&alice);
}

/// What the handler tries, knowing every name and the daemon's process id.
fn attempts(home: &Home, reach: &Reach) -> Vec<String> {
    let mut attempts = Vec::new();
    let mut attempt = |way: &str, place: &Path| attempts.push(format!("{way}:{}", place.display()));
    for path in everything(&home.dir) {
        let kind = std::fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            attempt("list", &path);
            attempt("write", &path.join("planted"));
        } else if kind.is_socket() {
            attempt("connect", &path);
        } else {
            attempt("read", &path);
            attempt("write", &path);
        }
    }
    // A handler that could replace the agent's socket by its own would hear all that the other handlers say to the
    // daemon.
    attempt("replace", &reach.path("agent.sock"));
    attempt("write", &reach.path("planted"));
    attempt("write", &reach.path("signet"));
    let daemon = PathBuf::from(format!("/proc/{}", home.pid()));
    for name in ["environ", "mem", "maps", "auxv", "syscall", "stack"] {
        attempt("read", &daemon.join(name));
    }
    attempt("write", &daemon.join("mem"));
    for name in ["fd", "map_files", "root", "cwd"] {
        attempt("list", &daemon.join(name));
    }
    attempt("follow", &daemon.join("exe"));
    attempt("follow", &daemon.join("fd/0"));
    let pid = PathBuf::from(home.pid().to_string());
    attempt("signal", &pid);
    if Path::new("/usr/bin/strace").is_file() {
        attempt("attach", &pid);
    }
    attempts
}

/// Who may do everything can do each of these: none fails by a wrong name. Some are closed to root as well where the
/// machine is itself a container.
fn each_attempt_is_one(reach: &Reach, attempts: &[String]) {
    let mut command = reach.command(Path::new("sh"));
    let output = command.arg(reach.path("break-out")).args(attempts).output();
    let told: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    let done: BTreeSet<&str> = told["done"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let of_the_machine = ["/stack", "/syscall", "/map_files", "attach:"];
    let failed: Vec<&String> = attempts
        .iter()
        .filter(|attempt| !done.contains(attempt.as_str()))
        .filter(|attempt| !of_the_machine.iter().any(|part| attempt.contains(part)))
        .collect();
    assert!(failed.is_empty(), "these fail for root as well: {failed:?}");
}

/// No mode of the home lets anybody in but its own user; how many there are.
fn closed_to_others(home: &Home) -> usize {
    let everything = everything(&home.dir);
    assert_eq!(bits(&home.dir), 0o700);
    for secret in ["keys", "audit", "state.db", "log.anchor"] {
        let path = home.dir.join(secret);
        assert_eq!(bits(&path) & 0o077, 0, "{}", path.display());
    }
    for path in everything
        .iter()
        .filter(|path| path.starts_with(home.dir.join("keys")))
    {
        assert_eq!(bits(path) & 0o077, 0, "{}", path.display());
    }
    everything.len()
}

/// The home and all that is in it.
fn everything(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![dir.to_owned()];
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(everything(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

fn bits(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn mode(path: &Path, bits: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
}
