//! The hub that `signet nats hub` makes, kept by what it prints: households come, and are turned out.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::{Client, Subscriber};
use data_encoding::BASE64URL_NOPAD;
use futures_util::StreamExt as _;
use serde_json::Value;
use signet_driver::find_nats_server;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::house::{Cluster, Server, certified, eventually, free_port, says, signet};

/// A hub in a folder of its own, run by the very lines that the command prints.
pub struct Hub {
    pub dir: TempDir,
    pub port: u16,
    process: Option<Child>,
}

impl Hub {
    pub fn of(households: &[&str]) -> Self {
        let (dir, port) = (certified(), free_port());
        let bin = dir.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let server = find_nats_server(&PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../.tools"
        )));
        std::os::unix::fs::symlink(server.unwrap(), bin.join("nats-server")).unwrap();
        let mut hub = Self {
            dir,
            port,
            process: None,
        };
        let address = format!("127.0.0.1:{port}");
        let args = [
            "--address",
            &address,
            "--listen",
            &address,
            "--cert",
            "hub.pem",
        ];
        let more = ["--key", "hub-key.pem", "--ca", "hub-ca.pem"];
        let said = hub.keep(&[&args[..], &more, households].concat());
        let (_, typed) = said.split_once("next     ").unwrap();
        hub.start(typed.trim());
        hub
    }

    /// `signet nats hub --file hub.conf …`
    pub fn keep(&self, args: &[&str]) -> String {
        let mut command = Command::new(signet());
        command
            .args(["nats", "hub", "--file", "hub.conf"])
            .args(args);
        let output = command.current_dir(&self.dir).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", says(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The commands that `--add` and `--remove` print for the keeper to type: the hub ends, and starts again.
    pub fn restart_as(&mut self, said: &str) {
        let (_, typed) = said.split_once("next     ").unwrap();
        let (quit, start) = typed.split_once("; then start it again: ").unwrap();
        let ended = self.shell(quit).status().unwrap();
        assert!(ended.success(), "{quit}");
        self.process.take().unwrap().wait().unwrap();
        self.start(start.split_once(". ").unwrap().0);
    }

    /// The hub dies.
    pub fn dies(&mut self) {
        let mut process = self.process.take().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    fn start(&mut self, typed: &str) {
        assert!(typed.starts_with("nats-server -c hub.conf"), "{typed}");
        let mut command = self.shell(&format!("exec {typed}"));
        self.process = Some(command.spawn().unwrap());
        eventually("the hub listens", || {
            std::net::TcpStream::connect(("127.0.0.1", self.port)).ok()
        });
    }

    fn shell(&self, typed: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.dir.path().join("bin");
        command.env("PATH", format!("{}:{path}", bin.display()));
        command.args(["-c", typed]).current_dir(&self.dir);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The line of that household.
    pub fn line(&self, household: &str) -> String {
        let file = self.dir.path().join(format!("{household}.line"));
        std::fs::read_to_string(file).unwrap().trim().to_owned()
    }

    /// The members in the line of that household.
    pub fn said_to(&self, household: &str) -> Value {
        let line = self.line(household);
        let line = line.strip_prefix("signet-hub:1:").unwrap().as_bytes();
        serde_json::from_slice(&BASE64URL_NOPAD.decode(line).unwrap()).unwrap()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A server of that household that lets everybody do everything, and a client of it that listens to the agent's inbox.
struct House {
    _server: Server,
    client: Client,
    heard: Subscriber,
}

impl House {
    fn of(hub: &Hub, household: &str, runtime: &Runtime) -> Self {
        Self::by(hub, household, &[hub.port], runtime)
    }

    /// The same, where the name in the line leads to several servers, which are tried in this order.
    fn by(hub: &Hub, household: &str, ports: &[u16], runtime: &Runtime) -> Self {
        let said = hub.said_to(household);
        let of = |name: &str| said[name].as_str().unwrap();
        let (user, password) = (of("household"), of("password"));
        assert_eq!(of("hub"), format!("tls://127.0.0.1:{}", hub.port));
        let urls = ports.iter();
        let urls = urls.map(|port| format!("\"tls://{user}:{password}@127.0.0.1:{port}\""));
        let urls = urls.collect::<Vec<_>>().join(", ");
        let ca = hub.dir.path().join("hub-ca.pem");
        assert_eq!(of("authority"), std::fs::read_to_string(&ca).unwrap());
        let server = Server::start(&format!(
            "server_name: {user}\nleafnodes {{ remotes: [ {{ urls: [ {urls} ], no_randomize: true, tls {{ ca_file: {ca:?} }} }} ] }}"
        ));
        let agent = said["agents"][0].as_str().unwrap();
        let (client, heard) = runtime.block_on(async {
            let client = async_nats::connect(server.url()).await.unwrap();
            let heard = client.subscribe(format!("agent.{agent}.inbox")).await;
            client.flush().await.unwrap();
            (client, heard.unwrap())
        });
        Self {
            _server: server,
            client,
            heard,
        }
    }

    /// Sends to an agent of another household until it hears that.
    fn reaches(&self, agent: &str, other: &mut Self, runtime: &Runtime) {
        eventually("the other household hears it", || {
            self.sends(agent, runtime);
            other.hears(Duration::from_millis(200), runtime)
        });
    }

    fn sends(&self, agent: &str, runtime: &Runtime) {
        runtime.block_on(async {
            let inbox = format!("agent.{agent}.inbox");
            self.client.publish(inbox, "hello".into()).await.unwrap();
            self.client.flush().await.unwrap();
        });
    }

    fn hears(&mut self, patience: Duration, runtime: &Runtime) -> Option<()> {
        let next = async { timeout(patience, self.heard.next()).await.ok().flatten() };
        runtime.block_on(next).map(|_| ())
    }
}

#[test]
fn a_household_that_was_turned_out_reaches_and_hears_nobody_once_the_hub_was_started_again() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (alice, bob, carol) = ("agent-alice-001", "agent-bob-001", "agent-carol-001");
    let one = format!("house-one={alice}");
    let mut hub = Hub::of(&[&one, &format!("house-two={bob}")]);
    let mut one = House::of(&hub, "house-one", &runtime);
    let mut two = House::of(&hub, "house-two", &runtime);
    one.reaches(bob, &mut two, &runtime);
    two.reaches(alice, &mut one, &runtime);
    let three = format!("house-three={carol}");
    let said = hub.keep(&["--remove", "house-two", "--add", &three]);
    let reload = hub.shell("nats-server --signal reload=hub.pid").status();
    assert!(reload.unwrap().success());
    let mut three = House::of(&hub, "house-three", &runtime);
    three.reaches(alice, &mut one, &runtime);
    // This is why the command asks for a new start: after a reload the household's connection is there as before.
    one.reaches(bob, &mut two, &runtime);
    hub.restart_as(&said);
    one.reaches(carol, &mut three, &runtime);
    three.reaches(alice, &mut one, &runtime);
    let soon = Duration::from_millis(300);
    while [&mut one, &mut two].map(|house| house.hears(soon, &runtime)) != [None, None] {}
    for _ in 0..10 {
        one.sends(bob, &runtime);
        two.sends(alice, &runtime);
        two.sends(carol, &runtime);
    }
    let heard = [&mut one, &mut two, &mut three].map(|house| house.hears(soon, &runtime));
    assert_eq!(heard, [None; 3]);
    one.reaches(carol, &mut three, &runtime);
}

#[test]
fn a_hub_of_three_servers_goes_on_where_the_server_of_a_household_dies() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (alice, bob) = ("agent-alice-001", "agent-bob-001");
    let households = [format!("house-one={alice}"), format!("house-two={bob}")];
    let mut hub = Hub::of(&households.each_ref().map(String::as_str));
    hub.dies();
    let (mut cluster, ports) = Cluster::hub(hub.dir.path(), hub.port);
    let mut one = House::by(&hub, "house-one", &ports, &runtime);
    let mut two = House::by(&hub, "house-two", &[ports[1], ports[2]], &runtime);
    one.reaches(bob, &mut two, &runtime);
    two.reaches(alice, &mut one, &runtime);
    for server in 0..2 {
        cluster.servers[server].kill();
        one.reaches(bob, &mut two, &runtime);
        two.reaches(alice, &mut one, &runtime);
    }
}

/// The file of `signet nats hub --two-tokens`, as the command wrote it.
#[test]
fn with_lists_of_two_tokens_a_household_hears_the_answers_to_its_own_agents_and_nothing_of_others()
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (alice, bob, carol) = ("agent-alice-001", "agent-bob-001", "agent-carol-001");
    let households = [alice, bob, carol].map(|agent| format!("house-{agent}={agent}"));
    let [one, two, three] = households.each_ref().map(String::as_str);
    let hub = Hub::of(&["--two-tokens", one, two, three]);
    let said = hub.said_to("house-agent-alice-001");
    assert_eq!(said["reply-prefix"], "two-tokens");
    let mut one = House::of(&hub, "house-agent-alice-001", &runtime);
    let mut two = House::of(&hub, "house-agent-bob-001", &runtime);
    let mut three = House::of(&hub, "house-agent-carol-001", &runtime);
    // Carol's household listens to everything that it can name; what is for Carol comes, so it does listen.
    let own = format!("agent.{carol}.inbox");
    let others = [
        format!("_INBOX.{alice}.>"),
        format!("_INBOX.{bob}.1"),
        format!("agent.{bob}.inbox"),
        "_INBOX.*.>".to_owned(),
        "_INBOX.>".to_owned(),
        "agent.*.inbox".to_owned(),
        ">".to_owned(),
    ];
    let mut spies = futures_util::stream::select_all(others.map(|subject| {
        let spy = runtime.block_on(three.client.subscribe(subject));
        spy.unwrap()
    }));
    runtime.block_on(three.client.flush()).unwrap();
    one.reaches(carol, &mut three, &runtime);
    one.reaches(bob, &mut two, &runtime);
    two.reaches(alice, &mut one, &runtime);
    // Bob answers where Alice's agent listens for answers.
    let answers = |prefix: &str| {
        let to = format!("{prefix}{alice}.1");
        let mut heard = runtime.block_on(async {
            let heard = one.client.subscribe(to.clone()).await.unwrap();
            one.client.flush().await.unwrap();
            heard
        });
        let mut tries = 0..30;
        tries.any(|_| {
            runtime.block_on(async {
                two.client
                    .publish(to.clone(), "stored".into())
                    .await
                    .unwrap();
                two.client.flush().await.unwrap();
                let wait = Duration::from_millis(100);
                timeout(wait, heard.next()).await.is_ok()
            })
        })
    };
    assert!(answers("_INBOX."));
    assert!(
        !answers("_INBOX_"),
        "docs/scale.md says that the usual prefix does not cross"
    );
    let mut seen = Vec::new();
    let soon = Duration::from_millis(500);
    while let Ok(Some(message)) = runtime.block_on(async { timeout(soon, spies.next()).await }) {
        seen.push(message.subject.to_string());
    }
    assert!(seen.contains(&own), "{seen:?}");
    assert!(seen.iter().all(|subject| *subject == own), "{seen:?}");
}
