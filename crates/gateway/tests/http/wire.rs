//! HTTP by hand: what is sent is what stands in the test, byte for byte.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use signet_testkit::PATIENCE;

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// Posts JSON.
pub(crate) fn post(port: u16, path: &str, body: &[u8]) -> Reply {
    post_as(port, path, "Content-Type: application/json\r\n", body)
}

/// The same with other headers.
pub(crate) fn post_as(port: u16, path: &str, headers: &str, body: &[u8]) -> Reply {
    exchange(port, &posting(port, path, headers, body))
}

/// The same again and again, while the listener has too many connections to read this one.
pub(crate) fn post_until_read(port: u16, path: &str, body: &[u8]) -> Reply {
    let bytes = posting(port, path, "Content-Type: application/json\r\n", body);
    loop {
        match parsed(&exchanged(port, &bytes)) {
            Some(reply) => return reply,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn posting(port: u16, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Sends these bytes and reads to the end.
pub(crate) fn exchange(port: u16, bytes: &[u8]) -> Reply {
    let all = exchanged(port, bytes);
    parsed(&all).unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(&all)))
}

fn exchanged(port: u16, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The gateway may refuse the request and close before it has read all bytes: ignore the error, and read its answer.
    let _ = stream.write_all(bytes);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    all
}

/// A head that promises a body, and a first piece of it.
pub(crate) fn begun(port: u16, path: &str, promised: usize, piece: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {promised}\r\n\r\n"
    );
    stream
        .write_all(&[head.as_bytes(), piece].concat())
        .unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(90)))
        .unwrap();
    stream
}

fn parsed(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Reply {
        status,
        head,
        body: bytes[end + 4..].to_vec(),
    })
}
