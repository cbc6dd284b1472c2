//! The NATS protocol by hand: a listener that sees everything, and a sender for what no client
//! library would send.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use signet_driver::Publisher;

use crate::{House, eventually};

/// A subject and what was sent to it.
pub type BusMessage = (String, Vec<u8>);

/// Sends any bytes to any subject.
pub struct Sender(Publisher);

impl Sender {
    pub fn new(house: &House) -> Self {
        Self(Publisher::connect(house.server.port()).unwrap())
    }

    /// Sends; [`Sender::flush`] says when the server has it.
    pub fn put(&mut self, subject: &str, payload: &[u8]) {
        self.0.put(subject, payload).unwrap();
    }

    /// A round trip: the server has handed on all that was sent before.
    pub fn flush(&mut self) {
        self.0.flush().unwrap();
    }

    pub fn send(&mut self, subject: &str, payload: &[u8]) {
        self.put(subject, payload);
        self.flush();
    }
}

/// Everything that anybody sends, or sends to some.
pub struct Watch {
    seen: Arc<Mutex<Vec<BusMessage>>>,
}

impl Watch {
    pub fn new(house: &House) -> Self {
        Self::at(house, &[">".to_owned()])
    }

    /// What is sent to these subjects.
    pub fn at(house: &House, subjects: &[String]) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", house.server.port())).unwrap();
        let mut out = stream.try_clone().unwrap();
        let mut back = BufReader::new(stream);
        let subscribe = |(sid, subject)| format!("SUB {subject} {sid}\r\n");
        let subscribed: String = subjects.iter().enumerate().map(subscribe).collect();
        write!(out, "CONNECT {{\"verbose\":false}}\r\n{subscribed}PING\r\n").unwrap();
        let mut line = String::new();
        // The server answers in order: once its PONG is here, the subscriptions sent before the PING are in force.
        while line != "PONG\r\n" {
            line.clear();
            assert!(back.read_line(&mut line).unwrap() > 0);
        }
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        // This thread need not be joined: it ends with its connection, when the NATS server of the test ends.
        std::thread::spawn(move || while take(&mut back, &mut out, &kept).is_some() {});
        Self { seen }
    }

    pub fn seen(&self) -> Vec<BusMessage> {
        self.seen.lock().unwrap().clone()
    }

    /// How much was seen: for [`Watch::since`].
    pub fn mark(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// The messages from `mark` on, parsed; what is not JSON is null.
    pub fn since(&self, mark: usize) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        seen[mark..]
            .iter()
            .map(|(_, bytes)| serde_json::from_slice(bytes).unwrap_or_default())
            .collect()
    }

    /// The first message from `mark` on that fits, with its bytes.
    pub fn find(&self, mark: usize, fits: impl Fn(&Value) -> bool) -> (Value, Vec<u8>) {
        eventually("a message on the bus", || {
            let seen = self.seen.lock().unwrap();
            seen[mark..].iter().find_map(|(_, bytes)| {
                let value = serde_json::from_slice(bytes).ok()?;
                fits(&value).then(|| (value, bytes.clone()))
            })
        })
    }
}

/// Who says in its headers that it sent a message.
pub fn sender(message: &Value) -> &str {
    let places = ["/params", "/result", "/error/data"];
    let name = places
        .iter()
        .find_map(|place| message.pointer(&format!("{place}/headers/agent-id")));
    name.and_then(Value::as_str).unwrap_or("-")
}

fn take(
    back: &mut BufReader<TcpStream>,
    out: &mut TcpStream,
    kept: &Mutex<Vec<BusMessage>>,
) -> Option<()> {
    let mut line = String::new();
    if back.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        // Answer the server's PING, or the server takes this client for dead and closes the connection.
        ["PING"] => out.write_all(b"PONG\r\n").ok()?,
        ["MSG", subject, .., length] => {
            let mut payload = vec![0; length.parse::<usize>().ok()? + 2];
            back.read_exact(&mut payload).ok()?;
            payload.truncate(payload.len() - 2);
            kept.lock().unwrap().push((subject.to_owned(), payload));
        }
        _ => {}
    }
    Some(())
}
