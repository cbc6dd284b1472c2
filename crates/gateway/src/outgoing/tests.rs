//! Requests against servers of this machine that behave, and servers that do not.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;

fn outgoing(loopback: bool, environment: &[(&str, String)]) -> HttpClient {
    let environment = environment
        .iter()
        .map(|(name, value)| (String::from(*name), value.clone()));
    HttpClient {
        guard: Guard::new(loopback, Vec::new()),
        proxies: Proxies::of(&environment.collect()).unwrap(),
        roots: Roots::load(None).unwrap(),
    }
}

/// A server that answers every connection with `answer`, and tells what it was sent.
async fn server(answer: impl Into<Vec<u8>>) -> (u16, UnboundedReceiver<String>) {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    let (tell, told) = unbounded_channel();
    let answer = Arc::new(answer.into());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = socket.accept().await.unwrap();
            let (tell, answer) = (tell.clone(), Arc::clone(&answer));
            tokio::spawn(async move {
                let mut head = vec![0; 4096];
                let read = stream.read(&mut head).await.unwrap_or_default();
                let _ = tell.send(String::from_utf8_lossy(&head[..read]).into_owned());
                let _ = stream.write_all(&answer).await;
                let _ = stream.read(&mut head).await;
            });
        }
    });
    (port, told)
}

async fn post(outgoing: &HttpClient, url: &str, how: How) -> Result<HttpAnswer, OutgoingError> {
    let url = Url::parse(url).unwrap();
    outgoing
        .post(&url, HeaderMap::new(), Bytes::from_static(b"{}"), &how)
        .await
}

fn quick() -> How {
    How {
        time: Duration::from_secs(2),
        answer_bytes: 64,
        pinned: None,
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn this_machine_is_called_only_where_it_is_allowed_however_it_is_written() {
    let (port, mut told) = server(OK).await;
    let strict = outgoing(false, &[]);
    for host in [
        "127.0.0.1",
        "localhost",
        "0x7f.1",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "127.1",
        "[::1]",
        "0.0.0.0",
    ] {
        let answer = post(&strict, &format!("http://{host}:{port}/"), quick()).await;
        assert_eq!(answer.err(), Some(OutgoingError::Forbidden), "{host}");
    }
    assert!(told.try_recv().is_err(), "nobody was called");
    let answer = post(
        &outgoing(true, &[]),
        &format!("http://127.0.0.1:{port}/a?b=c"),
        quick(),
    )
    .await
    .unwrap();
    assert_eq!(
        (answer.status, &answer.body[..]),
        (StatusCode::OK, &b"ok"[..])
    );
    let asked = told.recv().await.unwrap();
    assert!(asked.starts_with("POST /a?b=c HTTP/1.1\r\n"), "{asked}");
    assert!(
        asked.contains(&format!("host: 127.0.0.1:{port}\r\n")),
        "{asked}"
    );
}

#[tokio::test]
async fn an_address_with_a_user_or_of_another_scheme_is_none() {
    let loopback = outgoing(true, &[]);
    for url in [
        "http://me:pass@127.0.0.1/",
        "http://me@127.0.0.1/",
        "ftp://127.0.0.1/",
        "http://127.0.0.1/#x",
        "data:,x",
    ] {
        assert_eq!(
            post(&loopback, url, quick()).await.err(),
            Some(OutgoingError::Malformed),
            "{url}"
        );
    }
}

#[tokio::test]
async fn a_redirect_to_the_inside_is_not_followed() {
    let (inside, mut told) = server(OK).await;
    let answer = format!(
        "HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:{inside}/\r\ncontent-length: 0\r\n\r\n"
    );
    let (port, _) = server(answer).await;
    let answer = post(
        &outgoing(true, &[]),
        &format!("http://127.0.0.1:{port}/"),
        quick(),
    )
    .await;
    assert_eq!(answer.err(), Some(OutgoingError::Redirected));
    assert!(told.try_recv().is_err());
}

#[tokio::test]
async fn a_flood_a_drip_and_garbage_have_an_end() {
    let loopback = outgoing(true, &[]);
    let long = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 65\r\n\r\n{}",
        "x".repeat(65)
    );
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(100));
    for (answer, error) in [
        (long, OutgoingError::TooLong),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx".to_owned(),
            OutgoingError::TimedOut,
        ),
        (String::new(), OutgoingError::TimedOut),
        ("hello\r\n\r\n".to_owned(), OutgoingError::NotHttp),
        (many, OutgoingError::NotHttp),
    ] {
        let (port, _told) = server(answer.clone()).await;
        let answered = post(&loopback, &format!("http://127.0.0.1:{port}/"), quick()).await;
        assert_eq!(answered.err(), Some(error), "{}", answer.len());
    }
}

#[tokio::test]
async fn a_proxy_is_told_the_address_that_was_judged_and_not_the_name() {
    let (port, mut told) = server(format!("HTTP/1.1 200 Connection established\r\n\r\n{OK}")).await;
    let outgoing = outgoing(
        false,
        &[("all_proxy", format!("http://me:pass@127.0.0.1:{port}"))],
    );
    // This test needs a public address, such as 1.1.1.1. An address for examples, as in 2001:db8::/32, would be refused, and a
    // name would need a resolver.
    let answer = post(&outgoing, "https://1.1.1.1/", quick()).await;
    assert!(answer.is_err(), "the proxy speaks no TLS");
    let asked = told.recv().await.unwrap();
    assert!(
        asked.starts_with("CONNECT 1.1.1.1:443 HTTP/1.1\r\n"),
        "{asked}"
    );
    assert!(
        asked.contains("Proxy-Authorization: Basic bWU6cGFzcw=="),
        "{asked}"
    );
    for inside in [
        "https://169.254.169.254/",
        "https://localhost/",
        "https://10.0.0.1/",
    ] {
        assert_eq!(
            post(&outgoing, inside, quick()).await.err(),
            Some(OutgoingError::Forbidden),
            "{inside}"
        );
    }
    assert_eq!(
        post(&outgoing, "http://1.1.1.1/", quick()).await.err(),
        Some(OutgoingError::Cleartext)
    );
    assert!(
        told.try_recv().is_err(),
        "the proxy is asked for nothing inside"
    );
}

/// A server that speaks TLS with a certificate of its own, and the SHA-256 of that.
async fn secured() -> (u16, [u8; 32]) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let hash = Sha256::digest(made.cert.der()).into();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = socket.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(mut stream) = acceptor.accept(stream).await {
                    let _ = stream.read(&mut [0; 4096]).await;
                    let _ = stream.write_all(OK.as_bytes()).await;
                    let _ = stream.shutdown().await;
                }
            });
        }
    });
    (port, hash)
}

#[tokio::test]
async fn a_pinned_certificate_is_believed_and_any_other_is_not() {
    let (port, hash) = secured().await;
    let url = format!("https://127.0.0.1:{port}/");
    let loopback = outgoing(true, &[]);
    let pinned = |hash: [u8; 32]| How {
        pinned: Some([hash].into()),
        ..quick()
    };
    assert_eq!(
        post(&loopback, &url, pinned(hash)).await.unwrap().status,
        StatusCode::OK
    );
    let mut other = hash;
    other[0] ^= 1;
    assert_eq!(
        post(&loopback, &url, pinned(other)).await.err(),
        Some(OutgoingError::Certificate)
    );
    assert_eq!(
        post(&loopback, &url, quick()).await.err(),
        Some(OutgoingError::Certificate)
    );
}
