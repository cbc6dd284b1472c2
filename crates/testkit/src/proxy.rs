//! A way to the server that can be long, and be cut: bytes pass both ways until somebody closes every connection.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// Listens on a port of its own.
pub struct Proxy {
    pub port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
    /// The server's port; 0 while every new connection is refused.
    behind: Arc<AtomicU16>,
    server: u16,
}

impl Proxy {
    pub fn before(server: u16) -> Self {
        Self::far_before(server, Duration::ZERO)
    }

    /// Every byte takes so long, each way.
    pub fn far_before(server: u16, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            open: Arc::default(),
            behind: Arc::new(AtomicU16::new(server)),
            server,
        };
        let (open, behind) = (Arc::clone(&proxy.open), Arc::clone(&proxy.behind));
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let port = behind.load(Ordering::Relaxed);
                // If nobody listens behind the proxy, drop `near`: the caller then sees its connection closed.
                let Ok(far) = TcpStream::connect(("127.0.0.1", port)) else {
                    continue;
                };
                for (from, to) in [
                    (near.try_clone().unwrap(), far.try_clone().unwrap()),
                    (far.try_clone().unwrap(), near.try_clone().unwrap()),
                ] {
                    // Read in one thread and wait out the delay in another: so the delay adds latency and does not
                    // lower the throughput.
                    let (read, passed) = mpsc::channel();
                    std::thread::spawn(move || read_from(from, delay, &read));
                    std::thread::spawn(move || pass_to(to, &passed));
                }
                open.lock().unwrap().extend([near, far]);
            }
        });
        proxy
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Closes every connection, whatever was under way in it.
    pub fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// The cable is out, until [`Proxy::join`].
    pub fn part(&self) {
        self.behind.store(0, Ordering::Relaxed);
        self.cut();
    }

    pub fn join(&self) {
        self.behind.store(self.server, Ordering::Relaxed);
    }
}

/// What was read, and when it is to arrive.
type ProxiedBytes = (Instant, Vec<u8>);

fn read_from(mut from: TcpStream, delay: Duration, read: &mpsc::Sender<ProxiedBytes>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let piece = (Instant::now() + delay, buffer[..length].to_vec());
        if read.send(piece).is_err() {
            break;
        }
    }
    // Close both directions of the connection, so that the threads of the opposite direction end as well.
    let _ = from.shutdown(Shutdown::Both);
}

fn pass_to(mut to: TcpStream, passed: &mpsc::Receiver<ProxiedBytes>) {
    while let Ok((due, bytes)) = passed.recv() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
