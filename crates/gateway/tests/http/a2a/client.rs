//! A gateway, a client of HTTP that does nothing by itself, and an agent behind Bob.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use signet_testkit::{Home, House, eventually};

/// `signet-gateway serve` of a home.
pub(crate) struct Gateway {
    process: Child,
    pub(crate) address: String,
    /// What it wrote into its log.
    pub(crate) log: Arc<Mutex<String>>,
}

impl Gateway {
    pub(crate) fn start(home: &Home, more: &str) -> Self {
        Self::start_at(home, more, &home.dir.join("agent.sock"))
    }

    /// The same, with the daemon behind that socket.
    pub(crate) fn start_at(home: &Home, more: &str, socket: &Path) -> Self {
        let text = format!("[listen]\naddress = \"127.0.0.1:0\"\nauth = \"none\"\n{more}");
        let config = home.dir.join("gateway.toml");
        std::fs::write(&config, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_signet-gateway"));
        command.arg("serve").arg("--config").arg(&config);
        command.arg("--socket").arg(socket);
        command
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = line.split("//").nth(1).unwrap_or_else(|| panic!("{line}"));
        let address = address.trim().trim_end_matches('/').to_owned();
        let log = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&log);
        // Read all that the gateway writes to standard error: the gateway would block when the pipe is full.
        std::thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                written.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        Self {
            process,
            address,
            log,
        }
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// One request, and the whole answer to it.
    pub(crate) fn ask(&self, request: &str) -> Reply {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        Reply::of(&text)
    }

    pub(crate) fn get(&self, path: &str, headers: &str) -> Reply {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{headers}\r\n",
            self.address
        ))
    }

    pub(crate) fn post(&self, path: &str, headers: &str, body: &str) -> Reply {
        self.ask(&self.posting(path, headers, body))
    }

    fn posting(&self, path: &str, headers: &str, body: &str) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        )
    }

    /// A call of 1.0 to Bob; the whole response.
    pub(crate) fn v1(&self, method: &str, params: &Value) -> Value {
        let body = call(method, params);
        self.post(BOB, "a2a-version: 1.0\r\n", &body).json()
    }

    /// A call of 0.3 to Bob; the whole response.
    pub(crate) fn v03(&self, method: &str, params: &Value) -> Value {
        self.post(BOB, "", &call(method, params)).json()
    }

    /// A call that opens a stream, of whichever version its method is.
    pub(crate) fn stream(&self, method: &str, params: &Value, headers: &str) -> Events {
        let version = match method.contains('/') {
            true => "0.3",
            false => "1.0",
        };
        let headers = format!("a2a-version: {version}\r\n{headers}");
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = self.posting(BOB, &headers, &call(method, params));
        stream.write_all(request.as_bytes()).unwrap();
        Events(BufReader::new(stream))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn call(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    fn of(text: &str) -> Self {
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("{text}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let head = head.to_ascii_lowercase();
        let body = match head.contains("transfer-encoding: chunked") {
            true => unchunked(body),
            false => body.to_owned(),
        };
        Self { status, head, body }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.map(str::trim)
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        whole.push_str(&rest[..size]);
        body = &rest[size + 2..];
        if size == 0 {
            break;
        }
    }
    whole
}

/// A stream of events, read one by one.
pub(crate) struct Events(BufReader<TcpStream>);

/// One of them: its id, and the response in it.
pub(crate) type Told = (u64, Value);

impl Events {
    /// The next event; `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<Told> {
        let mut id = 0;
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(text) = line.strip_prefix("id: ") {
                id = text.trim().parse().unwrap();
            }
            if let Some(text) = line.strip_prefix("data: ") {
                return Some((id, serde_json::from_str(text).unwrap()));
            }
            // A line that begins with `{` is the body of a plain answer: the gateway has begun no stream.
            assert!(!line.starts_with('{'), "{line}");
        }
    }

    pub(crate) fn all(mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some((_, told)) = self.next() {
            all.push(told["result"].clone());
        }
        all
    }
}

/// The agent behind Bob: it answers each text as it is told to.
pub(crate) struct Agent {
    stop: Arc<AtomicBool>,
    working: Option<JoinHandle<()>>,
}

impl Agent {
    /// One that takes whatever comes.
    pub(crate) fn of(bob: &Home) -> Self {
        Self::taking(bob, None)
    }

    /// One that offers a capability, and takes what asks for it.
    pub(crate) fn offering(bob: &Home, capability: &'static str) -> Self {
        Self::taking(bob, Some(capability))
    }

    fn taking(bob: &Home, capability: Option<&'static str>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, dir) = (Arc::clone(&stop), bob.dir.join("agent.sock"));
        let work = move || {
            let mut client = signet_api::Client::connect(&dir, PATIENCE).unwrap();
            let mut asked = json!({"wait": 0.2, "lease": 60, "limit": 16});
            if let Some(capability) = capability {
                let offer = json!({"capability": capability});
                client.raw("offer", &offer).unwrap();
                asked["capabilities"] = json!([capability]);
            }
            while !stopped.load(Ordering::Relaxed) {
                let Ok(received) = client.raw("receive", &asked) else {
                    return;
                };
                for came in received["messages"].as_array().unwrap() {
                    match came["type"] == "request" {
                        true => handle(&mut client, came),
                        false => {
                            let done = json!({"lease": came["lease"]});
                            client.raw("acknowledge", &done).unwrap();
                        }
                    }
                }
            }
        };
        Self {
            stop,
            working: Some(std::thread::spawn(work)),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(working) = self.working.take() {
            let _ = working.join();
        }
    }
}

/// What it does with each text; everything else comes back as it is.
fn handle(client: &mut signet_api::Client, came: &Value) {
    let name = json!({"from": came["from"], "message-id": came["message-id"]});
    let mut tell = |more: Value| {
        let mut progress = more;
        progress["message"] = name.clone();
        client.raw("progress", &progress).unwrap();
    };
    let respond = |body: Value| json!({"message": name, "body": body});
    let answer = match came["body"].as_str() {
        Some("wait") => return,
        Some("ask me") => {
            tell(json!({"state": "input-required", "note": "which week?"}));
            return;
        }
        Some("in parts") => {
            for (index, word) in ["one", "two", "three"].iter().enumerate() {
                let part = json!({"index": index, "last": index == 2, "body": word});
                tell(json!({"state": "working", "note": "counting", "part": part}));
            }
            respond(json!("one two three"))
        }
        Some("no") => {
            let declined = json!({"message": {"from": came["from"], "message-id": came["message-id"]}, "decline": "not today"});
            client.raw("respond", &declined).unwrap();
            return;
        }
        _ => respond(came["body"].clone()),
    };
    client.raw("respond", &answer).unwrap();
}

/// Alice with a gateway, and Bob with an agent behind him.
pub(crate) struct Scene {
    pub(crate) gateway: Gateway,
    pub(crate) agent: Option<Agent>,
    pub(crate) alice: Home,
    pub(crate) bob: Home,
    pub(crate) house: House,
}

impl Scene {
    pub(crate) fn new(more: &str) -> Self {
        let house = House::new();
        let (alice, bob) = house.alice_and_bob();
        bob.ping(&alice);
        let agent = Some(Agent::of(&bob));
        Self {
            gateway: Gateway::start(&alice, more),
            agent,
            alice,
            bob,
            house,
        }
    }

    /// What is there when the task has that state (as 1.0 names it).
    pub(crate) fn until(&self, task: &str, state: &str) -> Value {
        eventually(state, || {
            let told = self.gateway.v1("GetTask", &json!({"id": task}));
            let task = told["result"].clone();
            (task["status"]["state"] == format!("TASK_STATE_{state}")).then_some(task)
        })
    }
}

pub(crate) fn says(id: &str, text: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// The same, and back at once.
pub(crate) fn begins(id: &str, text: &str) -> Value {
    let mut params = says(id, text);
    params["configuration"] = json!({"returnImmediately": true});
    params
}

pub(crate) fn code(response: &Value) -> i64 {
    response["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("{response}"))
}

pub(crate) fn id_of(response: &Value) -> String {
    let id = response["result"]["task"]["id"].as_str();
    id.unwrap_or_else(|| panic!("{response}")).to_owned()
}

pub(crate) const BOB: &str = "/a2a/agent-bob";
const PATIENCE: Duration = Duration::from_secs(60);
