//! An agent for tests: an HTTP server that answers whatever a test tells it to, byte for byte.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A server at a free port of this machine, for as long as the test lives.
pub struct Agent {
    pub port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
}

type Answer = dyn Fn(&Request, &mut TcpStream) + Send + Sync;

impl Agent {
    /// Each request is given to `answer`, each connection in a thread of its own.
    pub fn raw(answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::at(0, answer)
    }

    /// The same at a port that was free before.
    pub fn at(
        port: u16,
        answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, answer): (_, Arc<Answer>) = (Arc::clone(&seen), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut stream = stream;
                    // Read one request from each connection: the connection closes when `answer` returns.
                    let Some(request) = read(&stream) else {
                        return;
                    };
                    log.lock().unwrap().push(request.clone());
                    answer(&request, &mut stream);
                    let _ = stream.flush();
                });
            }
        });
        Self { port, seen }
    }

    /// The same with a JSON answer and status 200.
    pub fn json(answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Self {
        Self::raw(move |request, stream| {
            let body = answer(&request.json()).to_string();
            let _ = stream.write_all(&ok(&body));
        })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/agent", self.port)
    }

    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

/// A whole answer.
pub fn ok(body: &str) -> Vec<u8> {
    answer("200 OK", "application/json", body.as_bytes())
}

pub fn answer(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// A task of A2A 0.3 that is done.
pub fn completed(text: &str) -> Value {
    json!({
        "id": "t",
        "status": {"state": "completed"},
        "artifacts": [{"parts": [{"kind": "text", "text": text}]}],
        "history": [
            {"role": "user", "parts": [{"kind": "text", "text": "?"}]},
            {"role": "agent", "parts": [{"kind": "text", "text": text}]},
        ],
    })
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        line: line.trim_end().to_owned(),
        headers,
        body,
    })
}
