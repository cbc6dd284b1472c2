//! Whom a gateway believes that it calls over TLS, straight and by a proxy: peers' gateways played by a few lines.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use signet_testkit::eventually;
use signet_testkit::pen::{Pen, seed};
use tempfile::TempDir;

use crate::authority::{Authority, Issued};
use crate::carriers::{Gateway, free_port};
use crate::daemon::Daemon;

/// Bob's gateway, whose daemon hands out what the test says.
struct Bench {
    daemon: Daemon,
    gateway: Gateway,
    _dir: TempDir,
}

impl Bench {
    fn with(authority: &Authority, sections: &str, environment: &[(&str, String)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        authority.write(&dir.path().join("ca.pem"));
        let bob = Pen::made("agent-bob", "bob", &seed([2; 32]), |_| {});
        let daemon = Daemon::start(dir.path(), &bob, &[]);
        // The section before it is [outgoing].
        let sections = format!("ca = \"ca.pem\"\n[inbox]\n{sections}");
        let gateway = Gateway::start_with(dir.path(), free_port(), &sections, environment);
        eventually("the gateway carries", || {
            daemon.is_attached("http").then_some(())
        });
        Self {
            daemon,
            gateway,
            _dir: dir,
        }
    }

    /// Whether a parcel for Alice arrives there.
    fn reaches(&self, url: &str) -> bool {
        let id = self
            .daemon
            .hand_out("http", "agent-alice", url, br#"{"parcel":1}"#);
        eventually("it is told", || self.daemon.fate_of(id))
    }
}

/// A server of TLS that takes everything.
struct Peer {
    port: u16,
    config: Arc<Mutex<Arc<ServerConfig>>>,
    took: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    fn showing(issued: &Issued) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = Self {
            port: listener.local_addr().unwrap().port(),
            config: Arc::new(Mutex::new(issued.server())),
            took: Arc::default(),
        };
        let (config, took) = (Arc::clone(&peer.config), Arc::clone(&peer.took));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (config, took) = (Arc::clone(&config.lock().unwrap()), Arc::clone(&took));
                std::thread::spawn(move || serve(stream.unwrap(), config, &took));
            }
        });
        peer
    }

    /// It is renewed.
    fn shows(&self, issued: &Issued) {
        *self.config.lock().unwrap() = issued.server();
    }

    fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/agent/agent-alice/inbox", self.port)
    }

    fn took(&self) -> usize {
        self.took.lock().unwrap().len()
    }
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>, took: &Mutex<Vec<String>>) {
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    if let Some(head) = request(&mut stream) {
        took.lock().unwrap().push(head);
        let _ = stream
            .write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let _ = stream.flush();
    }
}

/// The head of a request whose body came as well.
fn request(stream: &mut impl Read) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    Some(head)
}

#[test]
fn a_gateway_of_another_name_or_time_or_authority_is_not_believed() {
    let authority = Authority::new();
    let bench = Bench::with(&authority, "", &[]);
    let good = Peer::showing(&authority.issue("localhost"));
    assert!(bench.reaches(&good.url("localhost")));
    assert!(
        !bench.reaches(&good.url("127.0.0.1")),
        "it is not called so"
    );
    for issued in [
        authority.issue("alice.example.org"),
        authority.issue_for_years("localhost", 2000, 2001),
        authority.issue_for_years("localhost", 3000, 3001),
        Authority::new().issue("localhost"),
    ] {
        let peer = Peer::showing(&issued);
        assert!(!bench.reaches(&peer.url("localhost")));
        assert_eq!(
            peer.took(),
            0,
            "nothing is sent to whom it does not believe"
        );
    }
    assert_eq!(good.took(), 1);
}

#[test]
fn without_a_pin_or_a_root_of_ones_own_a_certificate_that_nobody_knows_is_refused() {
    let authority = Authority::new();
    let peer = Peer::showing(&authority.issue("localhost"));
    let bench = Bench::with(&Authority::new(), "", &[]);
    assert!(!bench.reaches(&peer.url("localhost")));
    assert_eq!(peer.took(), 0);
    // Nor is it tried in clear.
    assert!(!bench.reaches(&peer.url("localhost").replace("https", "http")));
    assert_eq!(peer.took(), 0);
}

#[test]
fn a_pinned_certificate_is_believed_alone_and_a_renewed_one_once_it_is_named() {
    let authority = Authority::new();
    let (first, second, third) = (
        authority.issue("localhost"),
        authority.issue("localhost"),
        authority.issue("localhost"),
    );
    let peer = Peer::showing(&first);
    let pins = format!(
        "[inbox.peers.agent-alice]\ncertificate = [\"{}\", \"{}\"]\n",
        first.hash(),
        second.hash()
    );
    let bench = Bench::with(&authority, &pins, &[]);
    assert!(bench.reaches(&peer.url("localhost")));
    peer.shows(&second);
    assert!(
        bench.reaches(&peer.url("127.0.0.1")),
        "its name means nothing beside the pin"
    );
    peer.shows(&third);
    assert!(
        !bench.reaches(&peer.url("localhost")),
        "not though its authority is trusted"
    );
    assert_eq!(peer.took(), 2);
    let wrong = format!(
        "[inbox.peers.agent-alice]\ncertificate = \"{}\"\n",
        first.hash()
    );
    assert!(!Bench::with(&authority, &wrong, &[]).reaches(&peer.url("localhost")));
    let nobody = "[inbox.peers.agent-alice]\ncertificate = []\n";
    assert!(!Bench::with(&authority, nobody, &[]).reaches(&peer.url("localhost")));
    // A pin of another peer is none of this one's.
    let of_carol = format!(
        "[inbox.peers.agent-carol]\ncertificate = \"{}\"\n",
        first.hash()
    );
    assert!(Bench::with(&authority, &of_carol, &[]).reaches(&peer.url("localhost")));
    assert_eq!(peer.took(), 3);
}

/// A proxy that says `answer` to every tunnel, and leads each one that it opens to `port`.
struct Proxy {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start(answer: &'static str, leads_to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let told = Arc::clone(&told);
                std::thread::spawn(move || tunnel(stream.unwrap(), &told, (answer, leads_to)));
            }
        });
        Self { port, asked }
    }

    fn variable(&self) -> String {
        format!("http://me:secret@127.0.0.1:{}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn tunnel(mut near: TcpStream, asked: &Mutex<Vec<String>>, (answer, leads_to): (&str, u16)) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if !matches!(near.read(&mut byte), Ok(1)) {
            return;
        }
        head.extend(byte);
    }
    asked.lock().unwrap().push(String::from_utf8(head).unwrap());
    if near.write_all(answer.as_bytes()).is_err() || !answer.contains(" 200 ") {
        return;
    }
    let far = TcpStream::connect(("127.0.0.1", leads_to)).unwrap();
    let (mut up, mut up_to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    let upward = std::thread::spawn(move || {
        let _ = std::io::copy(&mut up, &mut up_to);
        let _ = up_to.shutdown(Shutdown::Write);
    });
    let (mut far, mut near) = (far, near);
    let _ = std::io::copy(&mut far, &mut near);
    let _ = near.shutdown(Shutdown::Both);
    let _ = upward.join();
}

const OPEN: &str = "HTTP/1.1 200 Connection established\r\n\r\n";
/// An address of the internet, which nothing here ever reaches: the proxy leads elsewhere.
const PUBLIC: &str = "https://1.1.1.1/agent/agent-alice/inbox";

#[test]
fn by_a_proxy_the_tunnel_goes_to_the_judged_address_and_who_is_at_its_end_has_to_prove_it() {
    let authority = Authority::new();
    for variable in ["https_proxy", "HTTPS_PROXY", "all_proxy"] {
        let peer = Peer::showing(&authority.issue("1.1.1.1"));
        let proxy = Proxy::start(OPEN, peer.port);
        let bench = Bench::with(&authority, "", &[(variable, proxy.variable())]);
        assert!(bench.reaches(PUBLIC), "{variable}");
        let asked = proxy.asked();
        assert!(
            asked[0].starts_with("CONNECT 1.1.1.1:443 HTTP/1.1\r\n"),
            "{asked:?}"
        );
        assert!(
            asked[0].contains("Proxy-Authorization: Basic "),
            "{asked:?}"
        );
        let took = peer.took.lock().unwrap().clone();
        assert!(!took[0].to_ascii_lowercase().contains("proxy-"), "{took:?}");
        assert!(!bench.gateway.said().contains("secret"));
    }
    // A proxy that leads elsewhere: whoever is there shows what it has.
    let elsewhere = Peer::showing(&authority.issue("localhost"));
    let proxy = Proxy::start(OPEN, elsewhere.port);
    let bench = Bench::with(&authority, "", &[("https_proxy", proxy.variable())]);
    assert!(!bench.reaches(PUBLIC));
    assert_eq!((proxy.asked().len(), elsewhere.took()), (1, 0));
}

#[test]
fn a_proxy_that_refuses_or_redirects_or_speaks_nonsense_is_not_gone_around() {
    let authority = Authority::new();
    let peer = Peer::showing(&authority.issue("1.1.1.1"));
    for answer in [
        "HTTP/1.1 403 Forbidden\r\n\r\n",
        "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n",
        "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n",
        "SSH-2.0-x\r\n\r\n",
        "",
    ] {
        let proxy = Proxy::start(answer, peer.port);
        let bench = Bench::with(&authority, "", &[("https_proxy", proxy.variable())]);
        assert!(!bench.reaches(PUBLIC), "{answer}");
        assert_eq!((proxy.asked().len(), peer.took()), (1, 0), "{answer}");
    }
}

#[test]
fn a_proxy_is_asked_for_no_tunnel_to_a_private_address_and_not_by_no_proxy() {
    let authority = Authority::new();
    let peer = Peer::showing(&authority.issue("localhost"));
    let proxy = Proxy::start(OPEN, peer.port);
    let environment = [
        ("https_proxy", proxy.variable()),
        ("http_proxy", proxy.variable()),
    ];
    let bench = Bench::with(&authority, "", &environment);
    for host in [
        "10.0.0.1",
        "169.254.169.254",
        "[::ffff:10.0.0.1]",
        "[fd00::1]",
        "0x0a000001",
    ] {
        for scheme in ["https", "http"] {
            assert!(
                !bench.reaches(&format!("{scheme}://{host}/")),
                "{scheme} {host}"
            );
        }
    }
    assert!(!bench.reaches("http://1.1.1.1/"), "in clear, and far away");
    assert_eq!((proxy.asked().len(), peer.took()), (0, 0));
    // This machine itself is called without it, where it may be called at all.
    assert!(bench.reaches(&peer.url("localhost")));
    assert!(proxy.asked().is_empty());
}

#[test]
fn two_gateways_of_signet_talk_by_a_pin_alone() {
    let authority = Authority::new();
    let dir = tempfile::tempdir().unwrap();
    let own = authority.issue("alice.example.org");
    own.write(dir.path(), "own");
    let alice = Pen::made("agent-alice", "alice", &seed([1; 32]), |_| {});
    let daemon = Daemon::start(dir.path(), &alice, &[]);
    let sections = "[tls]\ncertificate = \"own.pem\"\nkey = \"own.key\"\n[inbox]\n";
    let gateway = Gateway::start_in(dir.path(), free_port(), sections);
    eventually("it carries", || daemon.is_attached("http").then_some(()));
    let url = format!("https://127.0.0.1:{}/agent/agent-alice/inbox", gateway.port);
    let pinned = |hash: &str| {
        let pins = format!("[inbox.peers.agent-alice]\ncertificate = \"{hash}\"\n");
        Bench::with(&Authority::new(), &pins, &[])
    };
    let bob = pinned(&own.hash());
    assert!(bob.reaches(&url));
    assert!(!pinned(&Authority::new().issue("x").hash()).reaches(&url));
    assert_eq!(daemon.delivered(), [br#"{"parcel":1}"#.to_vec()]);
    // Renewed: the pin of before holds no more, and the new one does.
    let renewed = authority.issue("alice.example.org");
    renewed.write(dir.path(), "own");
    std::thread::sleep(Duration::from_millis(1200));
    assert!(!bob.reaches(&url));
    assert!(pinned(&renewed.hash()).reaches(&url));
    assert_eq!(daemon.delivered().len(), 2);
}
