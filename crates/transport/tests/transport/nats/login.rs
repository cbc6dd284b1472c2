//! Who may enter, and what the server lets them do.

use std::fs;
use std::time::Duration;

use bytes::Bytes;
use nkeys::KeyPair;
use signet_testkit::{Operator, Server, TlsAuthority};
use signet_transport::{Arrival, ConnectionConfig, Error, Login, Nats, Secret};
use tempfile::TempDir;

use super::{ALPHA, config, connected, message, next, silent, up};

#[tokio::test]
async fn an_nkey_opens_the_door_and_another_does_not() {
    let alpha = KeyPair::new_user();
    let server = house(&alpha, &KeyPair::new_user());
    let dir = tempfile::tempdir().unwrap();
    let (nats, mut inbox) = up(with_nkey(&server, "alpha", &alpha, &dir)).await;
    nats.publish(ALPHA.into(), Bytes::from_static(b"in"))
        .await
        .unwrap();
    assert_eq!(next(&mut inbox).await, message("in"));

    let stranger = with_nkey(&server, "alpha", &KeyPair::new_user(), &dir);
    refused(stranger, |e| matches!(e, Error::LoginRefused { .. })).await;
}

#[tokio::test]
async fn a_refused_login_is_told_once_and_tried_on() {
    let alpha = KeyPair::new_user();
    let server = house(&alpha, &KeyPair::new_user());
    let dir = tempfile::tempdir().unwrap();
    let stranger = with_nkey(&server, "alpha", &KeyPair::new_user(), &dir);
    let Login::NkeySeedFile(file) = stranger.login.clone() else {
        panic!("no seed file")
    };
    let (_nats, mut inbox) = Nats::connect(stranger).await.unwrap();
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
    let Arrival::Refused(what) = next(&mut inbox).await else {
        panic!("not refused")
    };
    assert!(
        what.contains("refuses the login") && what.contains("accounts"),
        "{what}"
    );
    silent(&mut inbox).await;
    fs::write(file, alpha.seed().unwrap()).unwrap();
    connected(&mut inbox).await;
}

#[tokio::test]
async fn a_file_that_holds_no_seed_is_named_before_any_connection() {
    let server = Server::start("");
    let dir = tempfile::tempdir().unwrap();
    let mut missing = config(&server, "alpha");
    missing.login = Login::NkeySeedFile(dir.path().join("missing"));
    let mut public = config(&server, "alpha");
    let path = dir.path().join("public");
    fs::write(&path, KeyPair::new_user().public_key()).unwrap();
    public.login = Login::NkeySeedFile(path.clone());
    let mut creds = config(&server, "alpha");
    creds.login = Login::CredsFile(path);
    for (config, text) in [
        (missing, "cannot be read"),
        (public, "no nkey"),
        (creds, "JWT"),
    ] {
        let error = Nats::connect(config)
            .await
            .expect_err("refused")
            .to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[tokio::test]
async fn a_password_opens_the_door_and_another_does_not() {
    let server = Server::start(
        "accounts { AGENTS: { users: [ { user: alpha, password: right-password } ] } }",
    );
    let login = |password: &str| {
        let mut config = config(&server, "alpha");
        let password = Secret::from(password.to_owned());
        config.login = Login::UserPassword {
            user: "alpha".into(),
            password,
        };
        config
    };
    up(login("right-password")).await;
    refused(login("wrong-password"), |e| {
        matches!(e, Error::LoginRefused { .. })
    })
    .await;
}

#[tokio::test]
async fn a_token_opens_the_door_and_another_does_not() {
    let server = Server::start("authorization { token: right-token }");
    let login = |token: &str| {
        let mut config = config(&server, "alpha");
        config.login = Login::Token(Secret::from(token.to_owned()));
        config
    };
    up(login("right-token")).await;
    refused(login("wrong-token"), |e| {
        matches!(e, Error::LoginRefused { .. })
    })
    .await;
}

#[tokio::test]
async fn credentials_open_the_door_and_those_of_another_account_do_not() {
    let operator = Operator::default();
    let server = Server::start(&operator.server_config());
    let dir = tempfile::tempdir().unwrap();
    let login = |creds: String| {
        let mut config = config(&server, "alpha");
        let path = dir.path().join("alpha.creds");
        fs::write(&path, creds).unwrap();
        config.login = Login::CredsFile(path);
        config
    };
    up(login(operator.creds())).await;
    let foreign = Operator::default().creds();
    refused(login(foreign), |e| matches!(e, Error::LoginRefused { .. })).await;
}

#[tokio::test]
async fn tls_holds_under_its_own_authority_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let (ca, other) = (dir.path().join("ca.pem"), dir.path().join("other.pem"));
    fs::write(&other, TlsAuthority::default().certificate).unwrap();
    let (ca_dir, server) = tls_server("127.0.0.1");
    fs::copy(ca_dir.join("ca.pem"), &ca).unwrap();
    let trusting = |ca: &std::path::Path| {
        let mut config = config(&server, "alpha");
        config.tls.ca = Some(ca.to_owned());
        config
    };
    let (nats, mut inbox) = up(trusting(&ca)).await;
    nats.publish(ALPHA.into(), Bytes::from_static(b"sealed"))
        .await
        .unwrap();
    assert_eq!(next(&mut inbox).await, message("sealed"));
    refused(trusting(&other), |e| matches!(e, Error::Tls { .. })).await;
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused() {
    let (ca_dir, server) = tls_server("127.0.0.2");
    let mut config = config(&server, "alpha");
    config.tls.ca = Some(ca_dir.join("ca.pem"));
    refused(config, |e| matches!(e, Error::Tls { .. })).await;
}

#[tokio::test]
async fn a_server_that_strips_tls_is_refused() {
    let server = Server::start("");
    let mut config = config(&server, "alpha");
    config.tls.required = true;
    let (nats, _inbox) = Nats::connect(config).await.unwrap();
    nats.ready(Duration::from_secs(2))
        .await
        .expect_err("spoke in clear");
}

#[tokio::test]
async fn another_agents_inbox_is_refused_and_told() {
    let (alpha, beta) = (KeyPair::new_user(), KeyPair::new_user());
    let server = house(&alpha, &beta);
    let dir = tempfile::tempdir().unwrap();
    let mut thief = with_nkey(&server, "beta", &beta, &dir);
    thief.inbox = ALPHA.into();
    let (_thief, mut stolen) = Nats::connect(thief).await.unwrap();
    assert_eq!(next(&mut stolen).await, Arrival::Disconnected);
    let Arrival::Refused(what) = next(&mut stolen).await else {
        panic!("not refused")
    };
    assert!(
        what.contains("Permissions Violation") && what.contains(ALPHA),
        "{what}"
    );
    let (alpha, mut inbox) = up(with_nkey(&server, "alpha", &alpha, &dir)).await;
    alpha
        .publish(ALPHA.into(), Bytes::from_static(b"private"))
        .await
        .unwrap();
    assert_eq!(next(&mut inbox).await, message("private"));
    connected(&mut stolen).await;
    silent(&mut stolen).await;
}

#[tokio::test]
async fn a_forbidden_publish_is_told_and_the_connection_lives() {
    let alpha = KeyPair::new_user();
    let server = house(&alpha, &KeyPair::new_user());
    let dir = tempfile::tempdir().unwrap();
    let (nats, mut inbox) = up(with_nkey(&server, "alpha", &alpha, &dir)).await;
    nats.publish("$JS.API.STREAM.PURGE.AGENT_INBOX".into(), Bytes::new())
        .await
        .unwrap();
    let Arrival::Refused(what) = next(&mut inbox).await else {
        panic!("not refused")
    };
    assert!(what.contains("STREAM.PURGE"), "{what}");
    nats.publish(ALPHA.into(), Bytes::from_static(b"on"))
        .await
        .unwrap();
    assert_eq!(next(&mut inbox).await, message("on"));
}

/// Who may not send to the own inbox still connects, drains with a named error, and loses nothing else.
#[tokio::test]
async fn a_listener_without_publish_rights_connects_all_the_same() {
    let server = Server::start(
        "accounts { A: { users: [ { user: ear, password: ear, permissions: {
            publish: { deny: \">\" }, subscribe: { allow: [\"agent.alpha.inbox\"] } } },
            { user: mouth, password: mouth } ] } }",
    );
    let login = |user: &str, agent: &str| {
        let mut config = config(&server, agent);
        let password = Secret::from(user.to_owned());
        config.login = Login::UserPassword {
            user: user.into(),
            password,
        };
        config
    };
    let (ear, mut inbox) = Nats::connect(login("ear", "alpha")).await.unwrap();
    ear.ready(Duration::from_secs(5)).await.unwrap();
    assert_eq!(next(&mut inbox).await, Arrival::Disconnected);
    assert!(matches!(next(&mut inbox).await, Arrival::Refused { .. }));
    connected(&mut inbox).await;
    let (mouth, _mouth_inbox) = up(login("mouth", "beta")).await;
    mouth
        .publish(ALPHA.into(), Bytes::from_static(b"heard"))
        .await
        .unwrap();
    assert_eq!(next(&mut inbox).await, message("heard"));
    assert_eq!(ear.drain().await, Err(Error::Undrained));
}

#[tokio::test]
async fn the_round_trip_names_the_own_reply_prefix() {
    let server = Server::start("");
    let (_tap, mut heard) = up(config(&server, "alpha")).await;
    let (_second, _inbox) = up(config(&server, "alpha")).await;
    let Arrival::Message { bytes, .. } = next(&mut heard).await else {
        panic!("no message")
    };
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(
        text.starts_with("signet-transport round trip _INBOX_alpha."),
        "{text}"
    );
}

/// A server with the users of the household's model configuration: allow-lists only, a reply prefix each.
fn house(alpha: &KeyPair, beta: &KeyPair) -> Server {
    let user = |name: &str, key: &KeyPair| {
        format!(
            "{{ nkey: {}, permissions: {{ publish: {{ allow: [\"agent.*.inbox\"] }},
            subscribe: {{ allow: [\"agent.{name}.inbox\", \"_INBOX_{name}.>\"] }} }} }}",
            key.public_key()
        )
    };
    let users = [user("alpha", alpha), user("beta", beta)].join("\n");
    Server::start(&format!("accounts {{ AGENTS: {{ users: [ {users} ] }} }}"))
}

fn with_nkey(server: &Server, agent: &str, key: &KeyPair, dir: &TempDir) -> ConnectionConfig {
    let path = dir.path().join(key.public_key());
    fs::write(&path, format!("{}\n", key.seed().unwrap())).unwrap();
    let mut config = config(server, agent);
    config.login = Login::NkeySeedFile(path);
    config
}

async fn refused(config: ConnectionConfig, named: impl Fn(&Error) -> bool) {
    let (nats, _inbox) = Nats::connect(config).await.unwrap();
    let error = nats
        .ready(Duration::from_secs(10))
        .await
        .expect_err("let in");
    assert!(named(&error), "{error:?}");
}

/// A server whose certificate names `host`, and the directory with its authority's `ca.pem`.
fn tls_server(host: &str) -> (std::path::PathBuf, Server) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    let authority = TlsAuthority::default();
    authority.certify(&path, "server", host);
    fs::write(path.join("ca.pem"), authority.certificate).unwrap();
    let tls = "tls { cert_file: server.pem, key_file: server-key.pem }";
    (path, Server::start_in(dir, tls))
}
