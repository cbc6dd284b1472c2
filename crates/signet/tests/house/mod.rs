//! A household of real processes: a NATS server of its own, homes made by the binary, and daemons
//! that are started, stopped and killed by their own process ids.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

pub mod bus;
pub mod flood;
pub mod log;
pub mod pen;
pub mod post;
pub mod server;
pub mod strace;
pub mod traffic;

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signet::control::{Client, ClientError};
use tempfile::TempDir;

use server::Server;

/// Far beyond what anything here takes: a test that waits so long has failed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again and again until there is an answer.
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < limit, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A server and a directory for the homes.
pub struct House {
    pub server: Server,
    dir: TempDir,
    /// Whether its agents look for their mailboxes.
    mailboxes: bool,
}

impl House {
    pub fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    /// A house in that directory, which goes with it.
    pub fn within(dir: TempDir) -> Self {
        Self {
            server: Server::start(),
            dir,
            mailboxes: false,
        }
    }

    /// `signet init`: `agent-<name>` of the principal `<name>`.
    pub fn home(&self, name: &str) -> Home {
        self.made(name, (&format!("agent-{name}"), name), &[])
    }

    /// Another agent of the same person, `agent-<name>`.
    pub fn sibling(&self, of: &Home, name: &str) -> Home {
        let root = of.dir.join("keys/root.pem");
        let root = ["--root", root.to_str().unwrap()];
        self.made(name, (&format!("agent-{name}"), &of.principal), &root)
    }

    /// `signet init` in a directory of its own, for any agent of any principal.
    pub fn made(&self, name: &str, (agent, principal): (&str, &str), more: &[&str]) -> Home {
        let home = Home {
            agent: agent.to_owned(),
            principal: principal.to_owned(),
            dir: self.path(name),
            url: self.server.url(),
            child: None,
        };
        let args = ["init", "--agent", agent, "--principal", principal];
        home.done(&[&args[..], more].concat());
        // Who watches the bus would see every question for a mailbox.
        if !self.mailboxes {
            home.configure("# mailbox = \"jetstream\"", "mailbox = \"core\"");
        }
        // Tests talk faster than people.
        for key in ["messages-per-minute", "conversation-messages-per-minute"] {
            let default = if key.starts_with('c') { 60 } else { 120 };
            home.configure(&format!("# {key} = {default}"), &format!("{key} = 1000000"));
        }
        home
    }

    /// A place beside the homes.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Everybody adds everybody, by files.
    pub fn acquaint(&self, homes: &[&Home]) {
        for (one, other) in homes
            .iter()
            .flat_map(|one| homes.iter().map(move |other| (one, other)))
        {
            if one.agent != other.agent {
                one.knows(other);
            }
        }
    }

    /// Alice and Bob, who know each other and run.
    pub fn alice_and_bob(&self) -> (Home, Home) {
        let (mut alice, mut bob) = (self.home("alice"), self.home("bob"));
        self.acquaint(&[&alice, &bob]);
        alice.start();
        bob.start();
        (alice, bob)
    }
}

/// One agent: its home, and its daemon when it runs.
pub struct Home {
    pub agent: String,
    pub principal: String,
    pub dir: PathBuf,
    url: String,
    child: Option<Child>,
}

impl Home {
    pub fn subject(&self) -> String {
        format!("agent.{}.inbox", self.agent)
    }

    /// The command line for this home, with nothing of the tester's own environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
        command.args(args).arg("--home").arg(&self.dir);
        command
            .env_clear()
            .env("NATS_URL", &self.url)
            .stdin(Stdio::null());
        command
    }

    pub fn cli(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// A command that must end well; what it printed.
    pub fn done(&self, args: &[&str]) -> String {
        let output = self.cli(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{args:?}: {:?}: {said}",
            output.status.code()
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// A command that must end with `code`; the two lines that it says.
    pub fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.cli(args);
        let said = says(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(output.stdout.is_empty(), "{args:?}: {output:?}");
        let form = said.starts_with("error: ") && said.contains("\n  next: ");
        assert!(form && said.lines().count() == 2, "{args:?}: {said}");
        said
    }

    /// A command after which people have to decide: code 5; what it printed.
    pub fn waits(&self, args: &[&str]) -> String {
        let output = self.cli(args);
        assert_eq!(output.status.code(), Some(5), "{args:?}: {}", says(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same with `--json`, parsed: one document a line.
    pub fn json(&self, args: &[&str]) -> Vec<Value> {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let text = self.done(&args);
        text.lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }

    pub fn knows(&self, other: &Self) {
        let file = self.dir.join(format!("{}.json", other.agent));
        std::fs::write(&file, other.done(&["peer", "export"])).unwrap();
        self.done(&["peer", "add", file.to_str().unwrap()]);
    }

    /// Changes one place of the configuration.
    pub fn configure(&self, from: &str, to: &str) {
        let file = self.dir.join("config.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.contains(from),
            "{from} stands nowhere in the configuration"
        );
        std::fs::write(file, text.replacen(from, to, 1)).unwrap();
    }

    /// Another server than that of the house.
    pub fn served_by(&mut self, port: u16) {
        self.url = format!("nats://127.0.0.1:{port}");
    }

    /// `signet run`, until it is connected.
    pub fn start(&mut self) {
        let command = self.command(&["run"]);
        self.start_as(command);
    }

    pub fn start_as(&mut self, command: Command) {
        self.spawn(command);
        self.connected();
    }

    /// The same for a daemon that may end before it is connected: whether it did not.
    pub fn try_start_as(&mut self, command: Command) -> bool {
        self.spawn(command);
        eventually(&format!("{} connects or ends", self.agent), || {
            if self.has_ended() {
                return Some(false);
            }
            let client = Client::connect(&self.dir.join("control.sock"), Duration::from_secs(1));
            let status = client.ok()?.raw("status", &json!({})).ok()?;
            (status["connected"] == true).then_some(true)
        })
    }

    /// Whether the daemon that was started is no more.
    pub fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_none_or(|child| child.try_wait().unwrap().is_some())
    }

    pub fn spawn(&mut self, mut command: Command) {
        assert!(self.child.is_none(), "{} runs already", self.agent);
        let kept = |name: &str| {
            let mut file = File::options();
            file.create(true)
                .append(true)
                .open(self.dir.join(name))
                .unwrap()
        };
        command.stdout(kept("printed")).stderr(kept("said"));
        self.child = Some(command.spawn().unwrap());
    }

    pub fn connected(&mut self) {
        eventually(&format!("{} connects", self.agent), || {
            if let Some(ended) = self
                .child
                .as_mut()
                .and_then(|child| child.try_wait().unwrap())
            {
                panic!("{} ended, {ended}: {}", self.agent, self.said());
            }
            let status = self.call("status", &json!({})).ok()?;
            (status["connected"] == true).then_some(())
        });
    }

    /// What the daemon said on standard error.
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.dir.join("said")).unwrap_or_default()
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        kill(self.pid(), signal);
    }

    /// SIGTERM, and how it ended.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        self.ended()
    }

    /// How it ended, when it does.
    pub fn ended(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("it runs");
        eventually("the daemon ends", || child.try_wait().unwrap())
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub fn client(&self) -> Result<Client, ClientError> {
        Client::connect(&self.dir.join("control.sock"), PATIENCE)
    }

    pub fn call(&self, method: &str, params: &Value) -> Result<Value, ClientError> {
        self.client()?.raw(method, params)
    }

    /// A ping that must be answered.
    pub fn ping(&self, peer: &Self) -> Value {
        let params = json!({"peer": peer.agent, "kind": "ping", "wait": 60.0, "life": 60});
        let pinged = self.call("send", &params).unwrap();
        assert_eq!(pinged["state"], "answered", "{pinged}");
        pinged
    }

    /// Sends without waiting; its message-id.
    pub fn send(&self, peer: &Self, kind: &str, body: &Value) -> Result<String, ClientError> {
        let params = json!({"peer": peer.agent, "kind": kind, "body": body});
        Ok(self.call("send", &params)?["message-id"]
            .as_str()
            .unwrap()
            .to_owned())
    }

    /// Everything that waits in the inbox.
    pub fn inbox(&self) -> Vec<Value> {
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let page = self.call("inbox.list", &json!({"after": after})).unwrap();
            let Some(last) = page["messages"].as_array().and_then(|list| list.last()) else {
                return all;
            };
            after = last["number"].as_u64().unwrap();
            all.extend(page["messages"].as_array().unwrap().iter().cloned());
        }
    }

    /// A member of what this agent knows of a peer.
    pub fn standing(&self, peer: &str, member: &str) -> Value {
        self.call("peer.show", &json!({"peer": peer})).unwrap()[member].clone()
    }

    /// Resident memory in KiB, and its highest so far.
    pub fn resident(&self) -> (u64, u64) {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let kib = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        (kib("VmRSS:"), kib("VmHWM:"))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{} said:\n{}", self.agent, tail(&self.said()));
        }
        self.kill();
    }
}

pub fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// A daemon that no home holds: a test that fails leaves it nowhere.
pub struct Loose(pub u32);

impl Drop for Loose {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_raw(self.0.try_into().unwrap()).unwrap();
        if std::thread::panicking() {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// What a command said on standard error.
pub fn says(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(2_000);
    text.get(from..).unwrap_or(text)
}
