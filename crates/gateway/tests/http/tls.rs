//! The listener over TLS: who is answered, and as whom a certificate counts.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, SignatureScheme};
use serde_json::{Value, json};
use signet_testkit::{Home, House, PATIENCE, eventually};

use crate::authority::{Authority, Issued, talk};
use crate::client::{Gateway, token};

/// A listener of Alice's, who knows nobody yet.
struct Bench {
    _house: House,
    alice: Home,
    own: Authority,
    gateway: Gateway,
}

impl Bench {
    fn with(sections: &str, more: &str, prepare: impl FnOnce(&Home)) -> Self {
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
    fn status(&self, client: &Arc<ClientConfig>, more: &str) -> Option<u16> {
        let (answer, _) = talk(
            self.gateway.address,
            client,
            &call("status", &json!({}), more),
        )?;
        Some(answer.status)
    }
}

/// A call at `/rpc`.
fn call(method: &str, params: &Value, more: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{more}\r\n{body}",
        body.len()
    )
}

/// The hello of a client that speaks TLS up to that minor version, and is otherwise fit (RFC 5246, section 7.4.1.2).
fn hello(minor: u8) -> Vec<u8> {
    let extensions = [
        // Groups, forms of points, signatures.
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

    // The same hello of TLS 1.1 and of 1.2: the one is answered with the alert `protocol_version`, the other with a hello.
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

/// What a board of the household may show, and who else tries.
struct Boards {
    authority: Authority,
    known: Issued,
    nameless: Issued,
    expired: Issued,
    unborn: Issued,
    foreign: Issued,
}

impl Boards {
    fn new() -> Self {
        let authority = Authority::new();
        Self {
            known: authority.issue("board"),
            nameless: authority.issue("other"),
            expired: authority.issue_for_years("board", 2000, 2001),
            unborn: authority.issue_for_years("board", 3000, 3001),
            foreign: Authority::new().issue("board"),
            authority,
        }
    }

    /// Names all of them but one in the file of the tokens.
    fn name(&self, home: &Home) {
        self.authority.write(&home.dir.join("clients.pem"));
        let named = [
            ("known", &self.known),
            ("expired", &self.expired),
            ("unborn", &self.unborn),
            ("foreign", &self.foreign),
        ];
        for (name, issued) in named {
            issued.write(&home.dir, name);
            let file = home.dir.join(format!("{name}.pem"));
            home.done(&[
                "token",
                "make",
                name,
                "--read",
                "--certificate",
                file.to_str().unwrap(),
            ]);
        }
    }
}

#[test]
fn a_certificate_counts_where_its_authority_its_dates_and_its_token_hold_and_within_its_scope() {
    let boards = Boards::new();
    let bench = Bench::with("", "client-ca = \"clients.pem\"", |alice| {
        boards.name(alice)
    });
    let shows = |issued: &Issued| bench.own.client(Some(issued));
    let known = shows(&boards.known);
    assert_eq!(bench.status(&known, ""), Some(200));
    assert_eq!(
        bench.status(&bench.own.client(None), ""),
        Some(401),
        "none, and no token"
    );
    assert_eq!(
        bench.status(&shows(&boards.nameless), ""),
        Some(401),
        "of the authority, and of nobody"
    );
    for (what, issued) in [
        ("expired", &boards.expired),
        ("unborn", &boards.unborn),
        ("foreign", &boards.foreign),
    ] {
        assert_eq!(bench.status(&shows(issued), ""), None, "{what}");
    }
    // A session is not taken up again: it would show the certificate of before.
    let again = talk(
        bench.gateway.address,
        &known,
        &call("status", &json!({}), ""),
    )
    .unwrap();
    assert!(!again.1.is_resumed);
    let send = json!({"peer": "agent-bob", "kind": "notification", "body": 1});
    let (answer, _) = talk(bench.gateway.address, &known, &call("send", &send, "")).unwrap();
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("may only look"), "{message}");
    // By a token beside it, the token is who calls.
    let laptop = token(&bench.alice, "laptop", &[]);
    let bearer = format!("Authorization: Bearer {laptop}\r\n");
    assert_eq!(bench.status(&shows(&boards.nameless), &bearer), Some(200));
    assert_eq!(bench.status(&bench.own.client(None), &bearer), Some(200));
    let wrong = "Authorization: Bearer signet_wrong\r\n";
    assert_eq!(bench.status(&known, wrong), Some(401));
    bench.alice.done(&["token", "revoke", "known"]);
    assert_eq!(bench.status(&known, ""), Some(401));
}

/// Shows a certificate with a key that is not its own.
#[derive(Debug)]
struct Thief(Arc<CertifiedKey>);

impl ResolvesClientCert for Thief {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

#[test]
fn a_certificate_is_of_no_use_to_who_has_not_its_key_nor_is_its_hash() {
    let boards = Boards::new();
    let bench = Bench::with("", "client-ca = \"clients.pem\"", |alice| {
        boards.name(alice)
    });
    let key = rustls::crypto::ring::sign::any_supported_type(&boards.nameless.secret()).unwrap();
    let stolen = Arc::new(CertifiedKey::new(boards.known.chain(), key));
    let mut thief = (*bench.own.client(None)).clone();
    thief.client_auth_cert_resolver = Arc::new(Thief(stolen));
    assert_eq!(bench.status(&Arc::new(thief), ""), None);
    let bearer = format!("Authorization: Bearer {}\r\n", boards.known.hash());
    assert_eq!(bench.status(&bench.own.client(None), &bearer), Some(401));
    // What is shown in a header was shown to nobody.
    let header = format!(
        "X-Client-Cert: {}\r\nX-SSL-Client-Verify: SUCCESS\r\n",
        boards.known.hash()
    );
    assert_eq!(bench.status(&bench.own.client(None), &header), Some(401));
    assert_eq!(
        bench.status(&bench.own.client(Some(&boards.known)), ""),
        Some(200)
    );
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
    // Nor does a file that goes away.
    std::fs::remove_file(path("own.key")).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(shown(), Some(renewed.hash()));
}

#[test]
fn an_authority_that_is_taken_out_of_the_file_lets_nobody_in_any_more() {
    let boards = Boards::new();
    let bench = Bench::with("", "client-ca = \"clients.pem\"", |alice| {
        boards.name(alice)
    });
    let known = bench.own.client(Some(&boards.known));
    assert_eq!(bench.status(&known, ""), Some(200));
    Authority::new().write(&bench.alice.dir.join("clients.pem"));
    eventually("it is refused", || {
        bench.status(&known, "").is_none().then_some(())
    });
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
