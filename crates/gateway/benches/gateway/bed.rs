//! Two daemons over a real NATS server, an agent behind the one and a gateway beside the other.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use signet_api::Client;
use signet_testkit::{Home, House, PATIENCE, eventually};

use crate::caller::Caller;

pub struct Bed {
    pub alice: Home,
    _bob: Home,
    pub address: SocketAddr,
    token: String,
    gateway: Child,
    agent: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    _house: House,
}

/// Requests between two looks at what waits in the inbox: an answer that was waited for is there, too.
const TIDIED: usize = 100;

impl Bed {
    pub fn made() -> Self {
        // Put the homes below Cargo's target directory: a temporary directory may be in memory, where a synced write
        // costs nothing, and the times would be too good.
        let mut dir = tempfile::Builder::new();
        let dir = dir.prefix("g").tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        let house = House::within(dir.unwrap());
        let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
        house.acquaint(&[&alice, &bob]);
        alice.configure("# socket = \"carrier.sock\"", "socket = \"carrier.sock\"");
        alice.configure("# carriers = [\"http\"]", "carriers = [\"http\"]");
        for home in [&mut alice, &mut bob] {
            let mut command = home.command(&["run"]);
            command.env("SIGNET_LOG", "warn");
            home.start_as(command);
        }
        alice.ping(&bob);
        let made = [
            "token",
            "make",
            "laptop",
            "--requests-per-minute",
            "1000000",
        ];
        let token = alice.done(&made).trim().to_owned();
        let (gateway, address) = gateway(&alice);
        let stop = Arc::new(AtomicBool::new(false));
        let agent = Some(agent(&bob, Arc::clone(&stop)));
        let bed = Self {
            alice,
            _bob: bob,
            address,
            token,
            gateway,
            agent,
            stop,
            _house: house,
        };
        let inbox = format!("/agent/{}/inbox", bed.alice.agent);
        eventually("the gateway carries", || {
            (bed.caller().posts(&inbox, b"[]") == 202).then_some(())
        });
        bed
    }

    /// A client of the agent's socket.
    pub fn socket(&self) -> Socket {
        Socket(
            Client::connect(&self.alice.dir.join("agent.sock"), PATIENCE).unwrap(),
            0,
        )
    }

    /// A client of the gateway.
    pub fn caller(&self) -> Caller {
        Caller::of(self.address, &self.token)
    }

    /// Takes out of the inbox what was answered, now and then.
    pub fn tidy(&self, turn: usize) {
        if !turn.is_multiple_of(TIDIED) {
            return;
        }
        let named =
            |message: &Value| json!({"from": message["from"], "message-id": message["message-id"]});
        let names: Vec<Value> = self.alice.inbox().iter().map(named).collect();
        for names in names.chunks(100) {
            // Ignore a refusal: the gateway may have acknowledged an answer to one of its own tasks meanwhile. The
            // other messages of this chunk are still in the inbox at the next `tidy`.
            let _ = self.alice.call("acknowledge", &json!({"messages": names}));
        }
    }

    /// The gateway's memory in KiB.
    pub fn resident(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.gateway.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
        if let Some(agent) = self.agent.take() {
            let _ = agent.join();
        }
    }
}

/// A client of the agent's socket, by hand.
pub struct Socket(Client, u64);

impl Socket {
    pub fn ask(&mut self) {
        let answer = self.0.raw("send", &asked()).unwrap();
        assert_eq!(answer["state"], "answered", "{answer}");
    }

    /// The same with a key of the caller's: the daemon writes it down before the message leaves.
    pub fn ask_with_key(&mut self) {
        self.1 += 1;
        let mut asked = asked();
        asked["key"] = json!(format!("k{}", self.1));
        let answer = self.0.raw("send", &asked).unwrap();
        assert_eq!(answer["state"], "answered", "{answer}");
    }
}

/// What is asked by every way.
pub fn asked() -> Value {
    json!({"peer": "agent-bob", "kind": "request", "body": "how late is it?", "wait": 20.0, "life": 60})
}

/// The agent behind Bob: it answers what comes.
fn agent(bob: &Home, stop: Arc<AtomicBool>) -> JoinHandle<()> {
    let mut client = Client::connect(&bob.dir.join("agent.sock"), PATIENCE).unwrap();
    std::thread::spawn(move || {
        while !stop.load(Ordering::SeqCst) {
            let received = client
                .raw("receive", &json!({"wait": 1.0, "lease": 30.0}))
                .unwrap();
            for message in received["messages"].as_array().unwrap() {
                let answer = json!({"lease": message["lease"], "body": "late"});
                client.raw("respond", &answer).unwrap();
            }
        }
    })
}

fn gateway(alice: &Home) -> (Child, SocketAddr) {
    let file = alice.dir.join("gateway.toml");
    // All envelopes of a bench come from one address: give this address a limit that fits the envelopes of many
    // addresses.
    let text = "[listen]\naddress = \"127.0.0.1:0\"\n[inbox]\nenvelopes-per-minute = 30000\n";
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(signet_testkit::gateway());
    command.arg("serve").arg("--config").arg(&file);
    command.arg("--socket").arg(alice.dir.join("agent.sock"));
    command
        .arg("--carrier-socket")
        .arg(alice.dir.join("carrier.sock"));
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut gateway = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(gateway.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let address = line.split("://").nth(1).unwrap_or_else(|| panic!("{line}"));
    let address = address.trim().trim_end_matches('/').parse().unwrap();
    let mut log = File::create(alice.dir.join("gateway-said")).unwrap();
    // Read all that the gateway writes to standard error: the gateway would block when the pipe is full.
    std::thread::spawn(move || std::io::copy(&mut said, &mut log));
    std::thread::sleep(Duration::from_millis(200));
    (gateway, address)
}
