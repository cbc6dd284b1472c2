//! A client of the gateway that behaves: one connection that stays, and a request after the other.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};
use signet_testkit::PATIENCE;

use crate::bed::asked;

pub struct Caller {
    address: SocketAddr,
    token: String,
    stream: Option<BufReader<TcpStream>>,
    /// Each message of A2A has a name of its own.
    count: u64,
}

impl Caller {
    pub fn of(address: SocketAddr, token: &str) -> Self {
        Self {
            address,
            token: token.to_owned(),
            stream: None,
            count: 0,
        }
    }

    /// The request by `/rpc`.
    pub fn rpc(&mut self) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "send", "params": asked()});
        let (status, answer) = self.post("/rpc", "", body.to_string().as_bytes());
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(
            (status, &answer["result"]["state"]),
            (200, &json!("answered")),
            "{answer}"
        );
    }

    /// The request as a message of A2A 1.0, which waits for its end.
    pub fn a2a(&mut self) {
        self.count += 1;
        let name = format!("m{:p}-{}", self, self.count);
        let message =
            json!({"messageId": name, "role": "ROLE_USER", "parts": [{"text": "how late is it?"}]});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
        let head = "A2A-Version: 1.0\r\n";
        let (status, answer) = self.post("/a2a/agent-bob", head, body.to_string().as_bytes());
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let state = &answer["result"]["task"]["status"]["state"];
        assert_eq!(
            (status, state),
            (200, &json!("TASK_STATE_COMPLETED")),
            "{answer}"
        );
    }

    /// The status of any POST.
    pub fn posts(&mut self, path: &str, body: &[u8]) -> u16 {
        self.post(path, "", body).0
    }

    /// A connection that was closed while it was idle is opened again, once.
    fn post(&mut self, path: &str, head: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             {head}Content-Length: {}\r\n\r\n",
            self.token,
            body.len()
        );
        let whole = [head.as_bytes(), body].concat();
        let was_open = self.stream.is_some();
        match self.exchange(&whole) {
            Some(answer) => answer,
            None if was_open => self.exchange(&whole).expect("an answer"),
            None => panic!("a new connection has no answer"),
        }
    }

    fn exchange(&mut self, whole: &[u8]) -> Option<(u16, Vec<u8>)> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.address).ok()?;
                stream.set_nodelay(true).ok()?;
                stream.set_read_timeout(Some(PATIENCE)).ok()?;
                BufReader::new(stream)
            }
        };
        stream.get_mut().write_all(whole).ok()?;
        let answer = read(&mut stream)?;
        self.stream = Some(stream);
        Some(answer)
    }
}

/// The next answer of a connection; `None` where it ends before one.
pub fn read(stream: &mut BufReader<TcpStream>) -> Option<(u16, Vec<u8>)> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut length = 0;
    loop {
        line.clear();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((status, body))
}
