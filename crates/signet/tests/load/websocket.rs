//! A WebSocket server in the wrong hands, which becomes an honest one.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::house::{House, eventually, free_port};

/// The memory that a daemon without peers may hold, in KiB; 22 to 30 MiB were seen.
const MEMORY: u64 = 64 * 1024;
/// A daemon that takes longer for an answer counts as stopped: a busy machine made one wait for three seconds.
const STOPPED: Duration = Duration::from_secs(6);

#[derive(Clone, Copy, Debug)]
enum Attack {
    /// The server takes the connection and never answers.
    Silence,
    /// It answers as a web server that knows no WebSocket.
    Page,
    /// It announces a frame of a tebibyte, and sends it.
    HugeFrame,
    /// It sends frames of text that are none.
    Text,
}

/// The daemon answers its person meanwhile, stays small, and connects to the honest server.
#[test]
fn a_websocket_server_that_hangs_or_sends_a_huge_frame_or_broken_text_neither_fills_nor_stops_a_daemon()
 {
    let _turn = crate::turn();
    for attack in [
        Attack::Silence,
        Attack::Page,
        Attack::HugeFrame,
        Attack::Text,
    ] {
        let mut house = House::new();
        let behind = free_port();
        let block = format!("websocket {{ listen: \"127.0.0.1:{behind}\", no_tls: true }}");
        house.server.configure(&block);
        house.server.restart();
        let front = Front::before(behind, attack);
        let mut alice = house.home("alice");
        alice.served_at(format!("ws://127.0.0.1:{}", front.port));
        let run = alice.command(&["run"]);
        alice.spawn(run);
        eventually("the daemon answers", || {
            alice.call("status", &json!({})).ok()
        });
        let (start, mut slowest) = (Instant::now(), Duration::ZERO);
        while start.elapsed() < Duration::from_secs(8) {
            std::thread::sleep(Duration::from_millis(200));
            let asked = Instant::now();
            let status = alice.call("status", &json!({})).unwrap();
            slowest = slowest.max(asked.elapsed());
            assert_eq!(status["connected"], false, "{attack:?}");
        }
        let (_, highest) = alice.resident();
        let tries = front.tries.load(Ordering::Relaxed);
        println!("{attack:?}: {highest} KiB at most, {tries} tries, {slowest:?} for an answer");
        assert!(highest < MEMORY, "{attack:?}: {highest} KiB");
        assert!(slowest < STOPPED, "{attack:?}: {slowest:?}");
        assert!((2..60).contains(&tries), "{attack:?}: {tries} tries");
        front.is_honest.store(true, Ordering::Relaxed);
        alice.connected();
        assert!(alice.stop().success(), "{attack:?}");
    }
}

/// Stands before an honest server, and is honest as long as somebody wants.
struct Front {
    port: u16,
    is_honest: Arc<AtomicBool>,
    tries: Arc<AtomicU32>,
}

impl Front {
    fn before(behind: u16, attack: Attack) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let front = Self {
            port: listener.local_addr().unwrap().port(),
            is_honest: Arc::default(),
            tries: Arc::default(),
        };
        let (is_honest, tries) = (Arc::clone(&front.is_honest), Arc::clone(&front.tries));
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                tries.fetch_add(1, Ordering::Relaxed);
                let far = TcpStream::connect(("127.0.0.1", behind)).unwrap();
                let is_honest = is_honest.load(Ordering::Relaxed);
                std::thread::spawn(move || {
                    // The daemon closes the connection at some time, and that ends the attack on it.
                    let _ = match is_honest {
                        true => relayed(near, far),
                        false => attacked(near, far, attack),
                    };
                });
            }
        });
        front
    }
}

fn relayed(mut near: TcpStream, mut far: TcpStream) -> std::io::Result<()> {
    let (mut from, mut to) = (near.try_clone()?, far.try_clone()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    std::io::copy(&mut far, &mut near)?;
    near.shutdown(Shutdown::Both)
}

fn attacked(mut near: TcpStream, mut far: TcpStream, attack: Attack) -> std::io::Result<()> {
    match attack {
        Attack::Silence => near.read_to_end(&mut Vec::new()).map(drop),
        Attack::Page => {
            let head =
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1048576\r\n\r\n";
            near.write_all(&[&head[..], &[b' '; 1 << 20]].concat())
        }
        Attack::HugeFrame => {
            shake_hands(&mut near, &mut far)?;
            near.write_all(&[&[0x82, 127][..], &(1_u64 << 40).to_be_bytes()].concat())?;
            loop {
                near.write_all(&[b'a'; 1 << 16])?;
            }
        }
        Attack::Text => {
            shake_hands(&mut near, &mut far)?;
            // The first frame is text and says nothing of NATS, the second is no UTF-8.
            near.write_all(b"\x81\x04text\x81\x04\xff\xfe\xff\xfe")?;
            near.read_to_end(&mut Vec::new()).map(drop)
        }
    }
}

/// Passes on what the daemon asks for, and how the honest server agrees to it.
fn shake_hands(near: &mut TcpStream, far: &mut TcpStream) -> std::io::Result<()> {
    let asked = head(near)?;
    far.write_all(&asked)?;
    let agreed = head(far)?;
    near.write_all(&agreed)
}

/// The lines of HTTP before the first empty one.
fn head(from: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        head.extend(byte);
    }
    Ok(head)
}
