//! A gateway that runs, and requests by hand: no library of HTTP, so that what is wrong can be sent as well.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;
use signet_testkit::{Home, House, PATIENCE};

/// `signet gateway` of a home, for as long as a test needs it.
pub struct Gateway {
    child: Child,
    pub address: SocketAddr,
    /// What it said when it started.
    pub said: String,
}

/// An answer of HTTP.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Gateway {
    /// With `file` as its gateway.toml behind an address of its own choice.
    pub fn start(home: &Home, file: &str) -> Self {
        let head = "[listen]\naddress = \"127.0.0.1:0\"\n";
        std::fs::write(home.dir.join("gateway.toml"), format!("{head}{file}")).unwrap();
        let mut command = home.command(&["gateway"]);
        let command = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        lines.read_line(&mut said).unwrap();
        let address = said.split("://").nth(1).unwrap_or_else(|| panic!("{said}"));
        let address = address.trim().trim_end_matches('/').parse().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        while let Ok(line) = told.recv_timeout(Duration::from_millis(300)) {
            said.push_str(&line);
            said.push('\n');
        }
        Self {
            child,
            address,
            said,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A connection, on which nothing waits for longer than a test does.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// One request on a connection of its own, with these lines as its head but for the length of its body.
    pub fn send(&self, head: &[&str], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let length = format!("Content-Length: {}", body.len());
        let head = [head, &[&length, "Connection: close"]]
            .concat()
            .join("\r\n");
        stream
            .write_all(format!("{head}\r\n\r\n").as_bytes())
            .unwrap();
        // The gateway may refuse the request and close before it has read the whole body: ignore the error, and read
        // its answer.
        let _ = stream.write_all(body);
        Answer::read(&mut BufReader::new(stream)).unwrap()
    }

    /// A POST of JSON by a token, as a well-behaved program sends it.
    pub fn post(&self, path: &str, token: &str, body: &str) -> Answer {
        let line = format!("POST {path} HTTP/1.1");
        let bearer = format!("Authorization: Bearer {token}");
        let head = [
            line.as_str(),
            "Host: localhost",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            &bearer,
        ];
        self.send(&head, body.as_bytes())
    }

    /// The answer of a call at `/rpc`.
    pub fn rpc(&self, token: &str, method: &str, params: &Value) -> Value {
        let body =
            serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let head = [
            "POST /rpc HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            &format!("Authorization: Bearer {token}"),
        ];
        self.send(&head, body.to_string().as_bytes()).json()
    }

    pub fn is_up(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    /// The next answer of a connection; `None` where it ends before one.
    pub fn read<S: Read>(input: &mut BufReader<S>) -> Option<Self> {
        let mut line = String::new();
        input.read_line(&mut line).ok()?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            line.clear();
            input.read_line(&mut line).ok()?;
            match line.trim_end().split_once(": ") {
                None => break,
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            }
        }
        let mut answer = Self {
            status,
            headers,
            body: Vec::new(),
        };
        match answer
            .header("content-length")
            .map(|length| length.parse::<u64>().unwrap())
        {
            Some(length) => {
                input
                    .by_ref()
                    .take(length)
                    .read_to_end(&mut answer.body)
                    .ok()?;
            }
            None if answer.header("transfer-encoding") == Some("chunked") => {
                while let Some(piece) = chunk(input).filter(|piece| !piece.is_empty()) {
                    answer.body.extend(piece);
                }
            }
            None => {}
        }
        Some(answer)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}: {}", self.status, self.text()))
    }

    /// The name of a refusal.
    pub fn reason(&self) -> String {
        self.json()["error"]["reason"].as_str().unwrap().to_owned()
    }
}

/// One piece of a body in pieces; empty at its end.
pub fn chunk<S: Read>(input: &mut BufReader<S>) -> Option<Vec<u8>> {
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    let size = u64::from_str_radix(line.trim(), 16).ok()?;
    let mut piece = Vec::new();
    input.by_ref().take(size + 2).read_to_end(&mut piece).ok()?;
    piece.truncate(usize::try_from(size).unwrap());
    Some(piece)
}

/// A token of that home.
pub fn token(home: &Home, name: &str, more: &[&str]) -> String {
    let made = home.done(&[&["token", "make", name], more].concat());
    made.trim().to_owned()
}

/// Alice with a gateway to be, and Bob and Carol, whom she knows.
pub fn three(house: &House) -> [Home; 3] {
    let mut homes = ["alice", "bob", "carol"].map(|who| house.home(who));
    // Let the socket reach tier 4, so that the tokens of a test are all that narrows its calls.
    homes[0].configure("# tier = 2", "tier = 4");
    {
        let [alice, bob, carol] = &homes;
        house.acquaint(&[alice, bob, carol]);
    }
    for home in &mut homes {
        home.start();
    }
    let [alice, bob, carol] = homes;
    bob.ping(&alice);
    carol.ping(&alice);
    [alice, bob, carol]
}
