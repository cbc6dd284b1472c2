//! One agent: its home, and its daemon as the process that everybody runs.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signet::config::Config;
use signet::control::Client;
use signet::home::Home;

pub struct Daemon {
    pub home: Home,
    pub config: Config,
    /// How long it took from its start to its first answer.
    pub started: Duration,
    child: Running,
    client: Client,
    log: File,
    unread: Vec<u8>,
    last: u64,
}

/// Makes the home of a new agent.
pub fn init(dir: &Path, agent: &str) -> Home {
    let home = Home::at(dir.join(agent));
    signet(&home, &["init", "--agent", agent, "--principal", agent]);
    // No person sends as fast as a bench.
    let path = home.config_file();
    let text = std::fs::read_to_string(&path).unwrap();
    let limits = [("messages", 120), ("conversation-messages", 60)];
    let text = limits.iter().fold(text, |text, (what, most)| {
        let (default, bench) = (
            format!("# {what}-per-minute = {most}"),
            format!("{what}-per-minute = 1000000"),
        );
        assert!(text.contains(&default), "{default} stands nowhere");
        text.replacen(&default, &bench, 1)
    });
    std::fs::write(&path, text.replacen(ASK, CORE, 1)).unwrap();
    home
}

/// Core NATS, unless a bench asks for more.
const CORE: &str = "mailbox = \"core\"";
const ASK: &str = "# mailbox = \"jetstream\"";

/// Makes the mailbox of `home` on the server, and lets its daemon use it.
pub fn set_up(home: &Home, url: &str) {
    let path = home.config_file();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen(CORE, ASK, 1)).unwrap();
    signet(home, &["nats", "setup", "--server", url]);
}

/// Makes `home` know the agent of `peer`.
pub fn add(home: &Home, peer: &Home) {
    let certificate = peer.join("export.json");
    std::fs::write(&certificate, signet(peer, &["peer", "export"])).unwrap();
    signet(home, &["peer", "add", certificate.to_str().unwrap()]);
}

fn command(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
    command.arg("--home").arg(home.path()).stdin(Stdio::null());
    command
}

fn signet(home: &Home, args: &[&str]) -> Vec<u8> {
    let output = command(home).args(args).output().unwrap();
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

impl Daemon {
    /// Starts the daemon of `home` and waits until it answers and is connected.
    pub fn start(home: Home, url: &str) -> Self {
        let config = Config::load(&home).unwrap();
        let start = Instant::now();
        let mut command = command(&home);
        command
            .arg("run")
            .env("NATS_URL", url)
            .env("SIGNET_LOG", "warn")
            .stdout(Stdio::null());
        let child = Running(command.spawn().unwrap());
        let mut client = reach(&config, start);
        client.raw("status", &json!({})).unwrap();
        let started = start.elapsed();
        while client.raw("status", &json!({})).unwrap()["connected"] != true {
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "the daemon finds no server"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut log = File::open(log_file(&config)).unwrap();
        log.read_to_end(&mut Vec::new()).unwrap();
        Self {
            home,
            config,
            started,
            child,
            client,
            log,
            unread: Vec::new(),
            last: 0,
        }
    }

    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.client.raw(method, params).unwrap()
    }

    /// The number of its last durable line.
    pub fn durable(&mut self) -> u64 {
        self.call("status", &json!({}))["log"]["seq"]
            .as_u64()
            .unwrap()
    }

    /// The lines that it wrote since the last look, told by reading the file: that costs it nothing.
    pub fn written(&mut self) -> Vec<Value> {
        self.log.read_to_end(&mut self.unread).unwrap();
        let Some(end) = self.unread.iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        let rest = self.unread.split_off(end + 1);
        let whole = std::mem::replace(&mut self.unread, rest);
        let lines = whole
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    /// What was accepted since the last look, in the same way but cheaper.
    pub fn accepted(&mut self) -> Accepted {
        let mut accepted = Accepted { count: 0, gaps: 0 };
        self.log.read_to_end(&mut self.unread).unwrap();
        let Some(end) = self.unread.iter().rposition(|byte| *byte == b'\n') else {
            return accepted;
        };
        for line in self.unread[..end].split(|byte| *byte == b'\n') {
            let start = &line[..line.len().min(220)];
            let has = |part: &str| {
                start
                    .windows(part.len())
                    .any(|window| window == part.as_bytes())
            };
            accepted.gaps += usize::from(has("\"kind\":\"gap\""));
            if has("\"dir\":\"in\",\"verdict\":\"accepted\"") {
                accepted.count += 1;
                let number = start.split(|byte| *byte == b':').nth(2).unwrap();
                let digits: Vec<u8> = number
                    .iter()
                    .copied()
                    .take_while(u8::is_ascii_digit)
                    .collect();
                self.last = std::str::from_utf8(&digits).unwrap().parse().unwrap();
            }
        }
        self.unread.drain(..=end);
        accepted
    }

    /// Whether the newest accepted message is durable.
    pub fn is_durable(&mut self) -> bool {
        self.durable() >= self.last
    }

    /// Nanoseconds on a processor, of all its threads.
    pub fn cpu(&self) -> f64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.0.id())).unwrap();
        let spent = |task: std::io::Result<std::fs::DirEntry>| {
            let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<f64>().ok()
        };
        tasks.filter_map(spent).sum()
    }

    /// What it holds in memory that is backed by no file, in KiB.
    pub fn memory(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.0.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let number = line.unwrap().trim().trim_end_matches(" kB");
        number.parse().unwrap()
    }

    /// Stops it as a service manager does, and starts it again.
    pub fn restart(mut self, url: &str) -> Self {
        let id = rustix::process::Pid::from_child(&self.child.0);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.0.wait().unwrap().success(), "a clean stop");
        let home = Home::at(self.home.path().to_owned());
        drop(self);
        Self::start(home, url)
    }

    /// Takes everything out of the inbox.
    pub fn empty_inbox(&mut self) {
        loop {
            let listed = self.call("inbox.list", &json!({}));
            let name = |message: &Value| json!({"from": message["from"], "message-id": message["message-id"]});
            let names: Vec<Value> = listed["messages"]
                .as_array()
                .unwrap()
                .iter()
                .map(name)
                .collect();
            if names.is_empty() {
                return;
            }
            self.call("inbox.acknowledge", &json!({"messages": names}));
        }
    }
}

/// What the log says was taken.
pub struct Accepted {
    pub count: usize,
    pub gaps: usize,
}

/// A process that ends with the bench, also with one that fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

fn reach(config: &Config, start: Instant) -> Client {
    loop {
        match Client::connect(&config.control_socket, Duration::from_secs(20)) {
            Ok(client) => return client,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(60), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn log_file(config: &Config) -> PathBuf {
    let files = std::fs::read_dir(&config.audit_dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|end| end == "jsonl"))
        .max()
        .unwrap()
}
