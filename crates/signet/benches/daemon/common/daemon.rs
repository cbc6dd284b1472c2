//! A daemon that is measured: a home of the testkit, and the end of its log.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use signet::config::Config;
use signet_api::Client;
use signet_testkit::Home;
use signet_testkit::tail::{AcceptedLine, LogTail};

pub struct Daemon {
    pub home: Home,
    pub config: Config,
    /// How long it took from its start to its first answer.
    pub started: Duration,
    client: Client,
    tail: LogTail,
}

/// Makes the home of a new agent, on core NATS: nobody pays for mailboxes who asks for none.
pub fn init(dir: &Path, agent: &str, url: &str) -> Home {
    let home = Home::init_by(
        signet_testkit::signet(),
        dir.join(agent),
        agent,
        agent,
        &[],
        url,
    );
    home.configure(ASK, CORE);
    home
}

const CORE: &str = "mailbox = \"core\"";
const ASK: &str = "# mailbox = \"jetstream\"";

/// Makes the mailbox of `home` on the server, and lets its daemon use it.
pub fn set_up(home: &Home) {
    home.configure(CORE, ASK);
    home.done(&["nats", "setup"]);
}

/// The same home, as the code names it.
pub fn place(home: &Home) -> signet::home::Home {
    signet::home::Home::at(home.dir.clone())
}

pub fn config(home: &Home) -> Config {
    Config::load(&place(home)).unwrap()
}

impl Daemon {
    /// Starts the daemon of `home` and waits until it answers and is connected.
    pub fn start(mut home: Home) -> Self {
        let config = config(&home);
        let start = Instant::now();
        let mut command: Command = home.command(&["run"]);
        command.env("SIGNET_LOG", "warn");
        home.spawn(command);
        let mut client = reach(&config, start);
        client.raw("status", &json!({})).unwrap();
        let started = start.elapsed();
        home.connected();
        let tail = LogTail::of(&config.audit_dir);
        Self {
            home,
            config,
            started,
            client,
            tail,
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

    /// The lines that it wrote since the last look.
    pub fn written(&mut self) -> Vec<Value> {
        self.tail.written()
    }

    /// What was accepted since the last look.
    pub fn accepted(&mut self) -> AcceptedLine {
        self.tail.accepted()
    }

    /// Whether the newest accepted message is durable.
    pub fn is_durable(&mut self) -> bool {
        self.durable() >= self.tail.last()
    }

    /// Stops it as a service manager does, and starts it again.
    pub fn restart(self) -> Self {
        let mut home = self.home;
        home.signal(Signal::TERM);
        assert!(home.ended().success(), "a clean stop");
        Self::start(home)
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
            self.call("acknowledge", &json!({"messages": names}));
        }
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
