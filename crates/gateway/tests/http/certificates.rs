//! Callers that show a certificate: as whom it counts, and what it takes.

use std::sync::Arc;

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use serde_json::json;
use signet_testkit::{Home, eventually};

use crate::authority::{Authority, Issued, talk};
use crate::client::token;
use crate::tls::{Bench, call};

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
    let (told, _) = talk(
        bench.gateway.address,
        &shows(&boards.nameless),
        &call("status", &json!({}), ""),
    )
    .unwrap();
    let error = &told.json()["error"];
    let next = error["next"].to_string();
    assert!(
        next.contains("signet token make NAME --certificate FILE"),
        "{next}"
    );
    let message = error["message"].to_string();
    assert!(!message.contains("that token"), "none was sent: {message}");
    for (what, issued) in [
        ("expired", &boards.expired),
        ("unborn", &boards.unborn),
        ("foreign", &boards.foreign),
    ] {
        assert_eq!(bench.status(&shows(issued), ""), None, "{what}");
    }
    // The gateway resumes no TLS session: a resumed session would count by the certificate of the session before.
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
    // If a request has a token beside its certificate, the token alone says who calls.
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
    // The gateway ignores a certificate that a header names, as proxies write it: anybody can write such a header, and
    // only TLS proves the key.
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
