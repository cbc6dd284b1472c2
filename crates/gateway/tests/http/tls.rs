//! The listener over TLS: who is answered, and what it shows.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use serde_json::{Value, json};
use signet_testkit::{Home, House, PATIENCE, eventually};

use crate::authority::{Authority, talk};
use crate::client::{Gateway, token};

/// A listener of Alice's, who knows nobody yet.
pub(crate) struct Bench {
    _house: House,
    pub(crate) alice: Home,
    pub(crate) own: Authority,
    pub(crate) gateway: Gateway,
}

impl Bench {
    pub(crate) fn with(sections: &str, more: &str, prepare: impl FnOnce(&Home)) -> Self {
        let house = House::new();
        let mut alice = house.home("alice");
        alice.start();
        prepare(&alice);
        let own = Authority::new();
        own.issue("localhost").write(&alice.dir, "own");
        let file =
            format!("{sections}\n[tls]\ncertificate = \"own.pem\"\nkey = \"own.key\"\n{more}\n");
        let gateway = Gateway::start(&alice, &file);
        Self {
            _house: house,
            alice,
            own,
            gateway,
        }
    }

    fn new() -> Self {
        Self::with("", "", |_| {})
    }

    /// The status of a call by a client, `None` where TLS fails.
    pub(crate) fn status(&self, client: &Arc<ClientConfig>, more: &str) -> Option<u16> {
        let (answer, _) = talk(
            self.gateway.address,
            client,
            &call("status", &json!({}), more),
        )?;
        Some(answer.status)
    }
}

/// A call at `/rpc`.
pub(crate) fn call(method: &str, params: &Value, more: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{more}\r\n{body}",
        body.len()
    )
}

/// The hello of a client that speaks TLS up to that minor version, and is otherwise fit (RFC 5246, section 7.4.1.2).
fn hello(minor: u8) -> Vec<u8> {
    let extensions = [
        // The extensions supported_groups, ec_point_formats and signature_algorithms, one in each line.
        &[0, 10, 0, 6, 0, 4, 0, 0x1d, 0, 0x17][..],
        &[0, 11, 0, 2, 1, 0],
        &[0, 13, 0, 6, 0, 4, 4, 3, 8, 4],
    ]
    .concat();
    let mut hello = vec![3, minor];
    hello.extend([7; 32]);
    hello.extend([0, 0, 4, 0xc0, 0x2b, 0xc0, 0x2f, 1, 0]);
    hello.extend([0, u8::try_from(extensions.len()).unwrap()]);
    hello.extend(extensions);
    let length = u8::try_from(hello.len()).unwrap();
    [vec![22, 3, 1, 0, length + 4, 1, 0, 0, length], hello].concat()
}

/// What comes back for these bytes until the other side closes.
fn raw(gateway: &Gateway, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("it is closed in time");
    all
}

#[test]
fn who_speaks_in_clear_or_an_old_version_or_nothing_on_the_port_of_tls_is_cut_off() {
    let bench = Bench::with("[limits]\nheader-seconds = 1\n", "", |_| {});
    assert!(
        bench.gateway.said.contains("https://"),
        "{}",
        bench.gateway.said
    );
    let token = token(&bench.alice, "laptop", &[]);
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let client = bench.own.client(None);
    assert_eq!(bench.status(&client, &bearer), Some(200));

    let clear = raw(
        &bench.gateway,
        call("status", &json!({}), &bearer).as_bytes(),
    );
    assert!(
        !clear.starts_with(b"HTTP"),
        "{}",
        String::from_utf8_lossy(&clear)
    );

    // The two hellos differ in their version alone: TLS 1.1 is answered with the alert `protocol_version`, and TLS 1.2
    // with a hello.
    let old = raw(&bench.gateway, &hello(2));
    assert_eq!((old[0], *old.last().unwrap()), (21, 70), "{old:?}");
    let mut stream = bench.gateway.connect();
    stream.write_all(&hello(3)).unwrap();
    let mut first = [0];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(first, [22]);
    drop(stream);

    let began = Instant::now();
    assert_eq!(raw(&bench.gateway, &[22, 3, 1, 2, 0, 1, 0]), b"");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        bench.status(&client, &bearer),
        Some(200),
        "others are served"
    );
}

#[test]
fn a_client_that_believes_another_authority_is_not_answered() {
    let bench = Bench::new();
    assert_eq!(bench.status(&Authority::new().client(None), ""), None);
    assert_eq!(bench.status(&bench.own.client(None), ""), Some(401));
}

#[test]
fn a_renewed_certificate_is_shown_without_a_restart_and_half_a_renewal_changes_nothing() {
    let bench = Bench::new();
    let client = bench.own.client(None);
    let shown = || {
        let seen = talk(
            bench.gateway.address,
            &client,
            &call("status", &json!({}), ""),
        );
        seen.map(|(_, seen)| seen.hash)
    };
    let before = shown().unwrap();
    let renewed = bench.own.issue("localhost");
    let path = |name: &str| bench.alice.dir.join(name);
    std::fs::write(path("own.pem"), renewed.certificate.pem()).unwrap();
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        assert_eq!(
            shown().as_deref(),
            Some(&*before),
            "the key is not there yet"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
    std::fs::write(path("own.key"), renewed.key.serialize_pem()).unwrap();
    eventually("it is shown", || (shown()? == renewed.hash()).then_some(()));
    // If a file goes away, the gateway keeps the certificate that it has.
    std::fs::remove_file(path("own.key")).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(shown(), Some(renewed.hash()));
}

#[test]
fn a_listener_whose_files_do_not_fit_together_says_so_and_does_not_begin() {
    let house = House::new();
    let mut alice = house.home("alice");
    alice.start();
    let authority = Authority::new();
    authority.issue("localhost").write(&alice.dir, "one");
    authority.issue("localhost").write(&alice.dir, "two");
    for (certificate, key, more) in [
        ("one.pem", "two.key", ""),
        ("one.key", "one.key", ""),
        ("one.pem", "one.pem", ""),
        ("one.pem", "one.key", "client-ca = \"one.key\"\n"),
    ] {
        let file = format!(
            "[listen]\naddress = \"127.0.0.1:0\"\n[tls]\ncertificate = \"{certificate}\"\nkey = \"{key}\"\n{more}"
        );
        std::fs::write(alice.dir.join("gateway.toml"), file).unwrap();
        let output = alice.cli(&["gateway"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(".pem") || said.contains(".key"), "{said}");
        assert!(
            said.contains("next: ") && !said.contains("PRIVATE"),
            "{said}"
        );
    }
}
