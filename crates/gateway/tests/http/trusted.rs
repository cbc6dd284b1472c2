//! Whom a gateway believes that it calls over TLS: peers' gateways played by a few lines.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
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
pub(crate) struct Bench {
    daemon: Daemon,
    pub(crate) gateway: Gateway,
    _dir: TempDir,
}

impl Bench {
    pub(crate) fn with(
        authority: &Authority,
        sections: &str,
        environment: &[(&str, String)],
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        authority.write(&dir.path().join("ca.pem"));
        let bob = Pen::made("agent-bob", "bob", &seed([2; 32]), |_| {});
        let daemon = Daemon::start(dir.path(), &bob, &[]);
        // `Gateway::start_with` writes these lines after its section [outgoing]: so `ca` is a key of [outgoing].
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
    pub(crate) fn reaches(&self, url: &str) -> bool {
        let id = self
            .daemon
            .hand_out("http", "agent-alice", url, br#"{"parcel":1}"#);
        eventually("it is told", || self.daemon.fate_of(id))
    }
}

/// A server of TLS that takes everything.
pub(crate) struct Peer {
    pub(crate) port: u16,
    config: Arc<Mutex<Arc<ServerConfig>>>,
    pub(crate) took: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    pub(crate) fn showing(issued: &Issued) -> Self {
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

    pub(crate) fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/agent/agent-alice/inbox", self.port)
    }

    pub(crate) fn took(&self) -> usize {
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
        Issued::by_itself("localhost"),
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
    peer.shows(&Issued::by_itself("localhost"));
    assert!(!bench.reaches(&peer.url("localhost")));
    assert_eq!(peer.took(), 0);
    // The same address with `http` in its URL gets no request in clear either.
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
    // The pin of agent-carol does not count for agent-alice: the certificate is judged by its authority, and is
    // believed.
    let of_carol = format!(
        "[inbox.peers.agent-carol]\ncertificate = \"{}\"\n",
        first.hash()
    );
    assert!(Bench::with(&authority, &of_carol, &[]).reaches(&peer.url("localhost")));
    assert_eq!(peer.took(), 3);
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
    // Alice's gateway renews its certificate: the old pin no longer fits, and a pin of the new certificate does.
    let renewed = authority.issue("alice.example.org");
    renewed.write(dir.path(), "own");
    std::thread::sleep(Duration::from_millis(1200));
    assert!(!bob.reaches(&url));
    assert!(pinned(&renewed.hash()).reaches(&url));
    assert_eq!(daemon.delivered().len(), 2);
}
