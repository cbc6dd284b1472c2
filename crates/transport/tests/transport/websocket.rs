//! NATS over a WebSocket, on servers that are configured as docs/scale.md says.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use signet_testkit::server::MAILBOXES;
use signet_testkit::{Server, TlsAuthority, free_port};
use signet_transport::{
    Arrival, ConnectionConfig, Error, Nats, Settlement, Storage, StreamOptions, set_up,
};

use crate::mailbox::{ALPHA, config, message, place, up, wait_for};

const CONF: &str = include_str!("../../../../docs/scale/websocket.conf");
const TLS: &str = "tls { cert_file: \"websocket.pem\", key_file: \"websocket-key.pem\" }";

/// A server with the block of the page, whose certificate names `127.0.0.1`, and a client's certificate beside it.
struct Web {
    server: Server,
    port: u16,
    folder: PathBuf,
}

impl Web {
    /// With `tls` in the place of the page's, and these lines besides.
    fn start(tls: &str, more: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (folder, port) = (dir.path().to_owned(), free_port());
        let authority = TlsAuthority::default();
        authority.certify(&folder, "websocket", "127.0.0.1");
        authority.certify(&folder, "client", "client.example");
        std::fs::write(folder.join("ca.pem"), &authority.certificate).unwrap();
        let conf = CONF.replace("0.0.0.0:443", &format!("127.0.0.1:{port}"));
        assert!(conf.contains(TLS) && conf.contains("127.0.0.1:"), "{conf}");
        std::fs::write(folder.join("websocket.conf"), conf.replace(TLS, tls)).unwrap();
        let conf = format!("{more}\ninclude \"websocket.conf\"\n");
        Self {
            server: Server::start_in(dir, &conf),
            port,
            folder,
        }
    }

    fn open(more: &str) -> Self {
        Self::start("no_tls: true", more)
    }

    /// Alpha by the WebSocket of this server.
    fn config(&self, scheme: &str) -> ConnectionConfig {
        let mut config = config(&self.server, "alpha");
        config.servers = vec![format!("{scheme}://127.0.0.1:{}", self.port)];
        if scheme == "wss" {
            config.tls.ca = Some(self.folder.join("ca.pem"));
        }
        config
    }
}

#[tokio::test]
async fn over_a_websocket_mail_waits_and_goes_both_ways_also_after_the_server_was_killed() {
    for (scheme, tls) in [("ws", "no_tls: true"), ("wss", TLS)] {
        let mut web = Web::start(tls, MAILBOXES);
        let mut admin = web.config(scheme);
        (admin.inbox, admin.reply_prefix) = ("agent.admin.inbox".into(), "_INBOX_admin".into());
        admin.mailbox = None;
        let places = ["alpha", "beta"].map(|agent| place(&agent));
        let made = set_up(&admin, &places, StreamOptions::default()).await;
        assert_eq!(made.unwrap().made.len(), 3, "{scheme}");
        let (beta, mut beta_inbox) = up(config(&web.server, "beta")).await;
        let sent = beta
            .publish(ALPHA.into(), Bytes::from_static(b"waits"))
            .await;
        let waits = sent.unwrap().wait().await;
        assert!(matches!(waits, Storage::Stored { .. }), "{waits:?}");
        let mut by_path = web.config(scheme);
        by_path.servers[0].push_str("/nats");
        let (alpha, mut inbox) = Nats::connect(by_path).await.unwrap();
        let came = wait_for(&mut inbox, |arrival| {
            matches!(arrival, Arrival::Message { .. })
        });
        let (bytes, handle) = message(came.await);
        assert_eq!(bytes, "waits");
        alpha.settle(&handle, Settlement::Ack).await.unwrap();
        for round in 0..2_u8 {
            let back = alpha.publish("agent.beta.inbox".into(), Bytes::from(vec![round; 200_000]));
            let stored = back.await.unwrap().wait().await;
            assert!(matches!(stored, Storage::Stored { .. }), "{stored:?}");
            // A killed server may have lost the word that the first message is settled, and then brings that once more.
            let of_this_round = loop {
                let came = wait_for(&mut beta_inbox, |arrival| {
                    matches!(arrival, Arrival::Message { .. })
                });
                let (bytes, handle) = message(came.await);
                beta.settle(&handle, Settlement::Ack).await.unwrap();
                assert!(bytes.len() == 200_000 && bytes[0] <= round, "{scheme}");
                if bytes[0] == round {
                    break bytes;
                }
            };
            assert!(of_this_round.iter().all(|byte| *byte == round), "{scheme}");
            beta.flush().await.unwrap();
            if round == 0 {
                web.server.kill();
                wait_for(&mut inbox, |arrival| *arrival == Arrival::Disconnected).await;
                wait_for(&mut beta_inbox, |arrival| *arrival == Arrival::Disconnected).await;
                web.server.restart();
                wait_for(&mut inbox, |arrival| *arrival == Arrival::Connected).await;
                wait_for(&mut beta_inbox, |arrival| *arrival == Arrival::Connected).await;
                assert!(alpha.has_mailbox(), "{scheme}");
            }
        }
    }
}

#[tokio::test]
async fn a_websocket_with_tls_holds_under_its_own_authority_and_no_other() {
    let web = Web::start(TLS, "");
    let refused = async |config: ConnectionConfig| {
        let (nats, _inbox) = Nats::connect(config).await.unwrap();
        nats.ready(Duration::from_secs(10))
            .await
            .expect_err("let in")
    };
    let other = web.folder.join("other.pem");
    std::fs::write(&other, TlsAuthority::default().certificate).unwrap();
    let mut strange = web.config("wss");
    strange.tls.ca = Some(other);
    let mut systems = web.config("wss");
    systems.tls.ca = None;
    let mut named = web.config("wss");
    named.servers = vec![format!("wss://localhost:{}", web.port)];
    for config in [strange, systems, named] {
        let error = refused(config).await;
        assert!(matches!(error, Error::Tls { .. }), "{error:?}");
    }
    // In clear the server answers nobody.
    let error = refused(web.config("ws")).await;
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    let (nats, _inbox) = Nats::connect(web.config("wss")).await.unwrap();
    nats.ready(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test]
async fn a_websocket_that_asks_for_a_certificate_takes_the_clients_own() {
    let tls = TLS.replace(" }", ", ca_file: \"ca.pem\", verify: true }");
    let web = Web::start(&tls, "");
    let (nats, _inbox) = Nats::connect(web.config("wss")).await.unwrap();
    let bare = nats.ready(Duration::from_secs(10)).await;
    assert!(bare.is_err(), "it was let in without a certificate");
    let mut certified = web.config("wss");
    certified.tls.cert = Some(web.folder.join("client.pem"));
    certified.tls.key = Some(web.folder.join("client-key.pem"));
    let (nats, _inbox) = Nats::connect(certified).await.unwrap();
    nats.ready(Duration::from_secs(10)).await.unwrap();
}

/// A person who has a page open in a browser lets it speak to every server that their machine reaches.
#[test]
fn a_page_in_a_browser_that_connects_to_the_websocket_is_refused() {
    let web = Web::open("");
    let answer = |origin: &str| {
        let mut socket = TcpStream::connect(("127.0.0.1", web.port)).unwrap();
        let patience = Some(Duration::from_secs(5));
        socket.set_read_timeout(patience).unwrap();
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let ask = format!(
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             {origin}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n",
            web.port
        );
        socket.write_all(ask.as_bytes()).unwrap();
        let mut head = [0; 12];
        socket.read_exact(&mut head).unwrap();
        String::from_utf8(head.to_vec()).unwrap()
    };
    assert_eq!(answer(""), "HTTP/1.1 101");
    assert_eq!(answer("Origin: https://page.example\r\n"), "HTTP/1.1 403");
}

#[tokio::test]
async fn servers_that_a_websocket_server_tells_of_are_reached_by_a_websocket() {
    let routes = [free_port(), free_port()];
    let all = routes
        .map(|port| format!("\"nats://127.0.0.1:{port}\""))
        .join(", ");
    let web = |name: usize| {
        let listen = routes[name];
        Web::open(&format!(
            "server_name: n{name}\ncluster {{ name: c, listen: \"127.0.0.1:{listen}\", routes: [{all}] }}"
        ))
    };
    let (mut first, second) = (web(0), web(1));
    let mut config = first.config("ws");
    config.mailbox = None;
    // Until the servers know of each other, a client hears of none.
    let (url, other) = (
        config.servers[0].clone(),
        format!("127.0.0.1:{}", second.port),
    );
    let told = async || {
        let client = async_nats::connect(&url).await.unwrap();
        client.server_info().connect_urls
    };
    while !told().await.contains(&other) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (nats, mut inbox) = Nats::connect(config).await.unwrap();
    wait_for(&mut inbox, |arrival| *arrival == Arrival::Connected).await;
    first.server.kill();
    wait_for(&mut inbox, |arrival| *arrival == Arrival::Disconnected).await;
    wait_for(&mut inbox, |arrival| *arrival == Arrival::Connected).await;
    assert!(nats.connected());
}
