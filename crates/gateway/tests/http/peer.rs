//! Another gateway, played by a few lines: it answers every request with what it was told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A server of HTTP on a free port.
pub(crate) struct Peer {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Peer {
    /// It gives these arrays of envelopes, one for each request, then nothing.
    pub(crate) fn start(arrays: Vec<Vec<Vec<u8>>>) -> Self {
        let arrays = Mutex::new(arrays.into_iter());
        Self::serve(move || match arrays.lock().unwrap().next() {
            Some(array) if !array.is_empty() => {
                let body = [b"[", &array.join(&b","[..])[..], b"]"].concat();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                [head.as_bytes(), &body].concat()
            }
            _ => b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_vec(),
        })
    }

    /// It answers everything with that status and these headers.
    pub(crate) fn refusing(status: u16, headers: &str) -> Self {
        let answer =
            format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n{headers}\r\n").into_bytes();
        Self::serve(move || answer.clone())
    }

    /// Its answer is larger than any.
    pub(crate) fn endless() -> Self {
        let head = b"HTTP/1.1 202 Accepted\r\nContent-Length: 100000000\r\n\r\n".to_vec();
        Self::serve(move || [head.clone(), vec![b'x'; 1 << 20]].concat())
    }

    fn serve(answer: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                if read(&stream).is_some() {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.write_all(&answer());
                }
            }
        });
        Self { port, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/agent/agent-alice/inbox", self.port)
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// One request, to the end of its body.
fn read(stream: &TcpStream) -> Option<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}
