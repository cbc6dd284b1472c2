//! Agents on other machines: by TLS, with a name that is proved.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use signet_gateway::handle::Trace;

use crate::trial::{Came, Trial};

/// A server with a certificate for `name`, which answers every request alike.
fn serve(name: &str) -> (u16, String) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let chain = vec![CertificateDer::from(made.cert.der().to_vec())];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::Stream::new(&mut tls, &mut stream);
            let mut seen = Vec::new();
            let mut piece = [0; 4096];
            let request = loop {
                let Ok(read @ 1..) = stream.read(&mut piece) else {
                    break None;
                };
                seen.extend_from_slice(&piece[..read]);
                let end = seen.windows(4).position(|four| four == b"\r\n\r\n");
                let body = end.map(|end| &seen[end + 4..]);
                if let Some(Ok(request)) = body.map(serde_json::from_slice::<Value>) {
                    break Some(request);
                }
            };
            let Some(request) = request else {
                continue;
            };
            let body = json!({"jsonrpc": "2.0", "id": request["id"], "result": "well"});
            let _ = stream.write_all(&crate::agent::ok(&body.to_string()));
            tls_end(&mut stream);
        }
    });
    (port, made.cert.pem())
}

fn tls_end(stream: &mut impl std::io::Write) {
    let _ = stream.flush();
}

fn ask(dir: &Path, host: &str, port: u16) -> Came {
    let section = format!("kind = \"http\"\nca = \"ca.pem\"\nurl = \"https://{host}:{port}/\"");
    Trial::within(dir, &section, &Trace::off()).ask(json!({}))
}

#[test]
fn a_certificate_for_the_name_that_the_ca_stands_for_is_taken_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let (port, pem) = serve("localhost");
    std::fs::write(dir.path().join("ca.pem"), pem).unwrap();
    assert_eq!(
        ask(dir.path(), "localhost", port),
        Came::Answer(json!("well"))
    );
    assert!(
        ask(dir.path(), "127.0.0.1", port)
            .fault()
            .starts_with("tls-refused")
    );
    // Another server has a certificate for the same name, which is not the one in ca.pem.
    let (other, _) = serve("localhost");
    assert!(
        ask(dir.path(), "localhost", other)
            .fault()
            .starts_with("tls-refused")
    );
}

#[test]
fn a_server_in_clear_behind_https_gets_no_request() {
    let dir = tempfile::tempdir().unwrap();
    let (_, pem) = serve("localhost");
    std::fs::write(dir.path().join("ca.pem"), pem).unwrap();
    let agent = crate::agent::Agent::json(|_| json!("never"));
    let fault = ask(dir.path(), "localhost", agent.port).fault();
    assert!(
        fault.starts_with("tls-refused") || fault.starts_with("unreachable"),
        "{fault}"
    );
    assert!(
        agent
            .seen()
            .iter()
            .all(|seen| !seen.line.starts_with("POST"))
    );
}
