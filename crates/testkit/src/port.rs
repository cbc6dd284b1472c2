//! Ports that a test names to a program which is still to be started, or on which nobody is to listen.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// A port that is free. It is below those that the system gives to whoever asks for any: until the program of a test
/// listens there, another test's server would get one of those and take the program's calls.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Each process begins at another port, since the processes of other tests look for free ports at the same time.
    let first = std::process::id() * 64;
    loop {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(LOWEST + (first + step) % COUNT).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

const LOWEST: u32 = 10_000;
/// Linux gives away ports from 32,768 on.
const COUNT: u32 = 22_000;
