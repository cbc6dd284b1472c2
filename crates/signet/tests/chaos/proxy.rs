//! A way to the server that can be cut: bytes pass both ways until somebody closes every connection.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

/// Listens on a port of its own.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
    /// The server's port; 0 while every new connection is refused.
    behind: Arc<AtomicU16>,
    server: u16,
}

impl Proxy {
    pub(crate) fn before(server: u16) -> Self {
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
                // Nobody behind it: the caller sees its connection closed.
                let Ok(far) = TcpStream::connect(("127.0.0.1", port)) else {
                    continue;
                };
                for (mut from, mut to) in [
                    (near.try_clone().unwrap(), far.try_clone().unwrap()),
                    (far.try_clone().unwrap(), near.try_clone().unwrap()),
                ] {
                    std::thread::spawn(move || pump(&mut from, &mut to));
                }
                open.lock().unwrap().extend([near, far]);
            }
        });
        proxy
    }

    /// Closes every connection, whatever was under way in it.
    pub(crate) fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// The cable is out, until [`Proxy::join`].
    pub(crate) fn part(&self) {
        self.behind.store(0, Ordering::Relaxed);
        self.cut();
    }

    pub(crate) fn join(&self) {
        self.behind.store(self.server, Ordering::Relaxed);
    }
}

fn pump(from: &mut TcpStream, to: &mut TcpStream) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
