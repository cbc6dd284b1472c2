use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use serde_json::json;
use signet_api::Kind;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::*;

/// What a daemon was asked to send: the keys, in order.
type Keys = Arc<Mutex<Vec<Option<String>>>>;

/// A daemon at whose peers nobody answers: each wait is waited out.
fn silent_daemon(socket: &Path) -> Keys {
    let (keys, listener) = (Keys::default(), UnixListener::bind(socket).unwrap());
    let asked = Arc::clone(&keys);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&asked)));
        }
    });
    keys
}

async fn serve(stream: UnixStream, keys: Keys) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let asked: Value = serde_json::from_str(&line).unwrap();
        let params = &asked["params"];
        let key = params["key"].as_str().map(str::to_owned);
        keys.lock().unwrap().push(key);
        sleep(seconds(params["wait"].as_f64().unwrap())).await;
        let sent = json!({"message-id": "m", "state": "published"});
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": sent});
        let told = writer.write_all(format!("{answer}\n").as_bytes()).await;
        told.unwrap();
    }
}

fn at(dir: &tempfile::TempDir) -> (Arc<Daemon>, Keys) {
    let socket = dir.path().join("agent.sock");
    let keys = silent_daemon(&socket);
    let daemon = Daemon::at(&socket);
    daemon.shared.is_agents.store(true, Ordering::Relaxed);
    (Arc::new(daemon), keys)
}

fn waits_for(wait: f64) -> Send {
    Send {
        wait,
        ..Send::new("agent-bob", Kind::Request, json!(1))
    }
}

#[tokio::test]
async fn a_message_whose_wait_a_line_may_cut_short_is_one_message_whenever_that_line_forms() {
    let dir = tempfile::tempdir().unwrap();
    let (daemon, keys) = at(&dir);
    // Nobody waits for a slot when this send begins. Its message needs a key all the same: a caller that comes later may end
    // this call early, and the message is then sent again to wait for its answer.
    daemon.send(&waits_for(1.2)).await.unwrap();
    assert!(keys.lock().unwrap().iter().all(Option::is_some));
    keys.lock().unwrap().clear();
    daemon.send(&waits_for(0.3)).await.unwrap();
    assert_eq!(*keys.lock().unwrap(), [None], "it is asked for once");
}

#[tokio::test]
async fn a_message_is_sent_once_while_others_join_the_line_and_leave_it() {
    let dir = tempfile::tempdir().unwrap();
    let (daemon, keys) = at(&dir);
    let other: Arc<str> = "other".into();
    let places = &daemon.shared.places;
    let _held: Vec<_> = std::iter::from_fn(|| places.take_now(&other, Lasting::AWhile)).collect();
    let flips = tokio::spawn({
        let daemon = Arc::clone(&daemon);
        async move {
            let patience = Duration::from_millis(300);
            loop {
                let places = &daemon.shared.places;
                drop(places.take(&other, Lasting::AWhile, patience).await);
                sleep(patience).await;
            }
        }
    });
    sleep(Duration::from_millis(100)).await;
    let sent = daemon.send(&waits_for(3.5)).await.unwrap();
    flips.abort();
    assert_eq!(sent["state"], "published");
    let mut keys = keys.lock().unwrap().clone();
    assert!(keys.len() > 1, "the line cut it short: {keys:?}");
    keys.dedup();
    assert!(keys.len() == 1 && keys[0].is_some(), "{keys:?}");
}
