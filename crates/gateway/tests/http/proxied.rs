//! TLS by a proxy, as the usual variables say: which tunnel is asked for, and who is believed at its end.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::authority::Authority;
use crate::trusted::{Bench, Peer};

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
    // This proxy leads to another server, whose certificate is for another name: the gateway must send it nothing.
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
    // A loopback address is called without the proxy, if the configuration allows loopback: the proxy would take it for
    // its own machine.
    assert!(bench.reaches(&peer.url("localhost")));
    assert!(proxy.asked().is_empty());
}
