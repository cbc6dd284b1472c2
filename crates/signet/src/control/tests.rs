use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use signet_api::Role;
use signet_api::rpc::{self, Id, Incoming, Item};
use tokio::sync::{mpsc, oneshot};

use super::connection::{BATCH_MAX, ClientLimits};
use super::server::{CLIENTS, LIMITS};
use super::*;
use crate::config::Access;
use crate::home::Home;
use crate::lock::HomeLock;

/// A daemon with the methods of the JSON-RPC specification's examples, and a few of its own.
struct Daemon {
    path: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    _directory: tempfile::TempDir,
}

impl Daemon {
    fn new() -> Self {
        Self::with_limits(LIMITS)
    }

    fn with_limits(limits: ClientLimits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control.sock");
        let lock = HomeLock::acquire(&Home::at(directory.path())).unwrap();
        let (stop, stopped) = oneshot::channel();
        let (ready, started) = std::sync::mpsc::channel();
        let socket = path.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let server = ControlServer::bind(address(socket), &lock).unwrap();
                let server = server.with_limits(limits);
                ready.send(()).unwrap();
                let (calls, received) = mpsc::channel(4);
                tokio::spawn(perform_all(received));
                server.serve(calls, async { drop(stopped.await) }).await;
            });
        });
        started.recv().unwrap();
        Self {
            path,
            stop: Some(stop),
            thread: Some(thread),
            _directory: directory,
        }
    }

    fn stream(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.path).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream
    }

    fn client(&self) -> Client {
        Client::connect(&self.path, Duration::from_secs(10)).unwrap()
    }

    /// Whether a new client is served, soon.
    fn recovers(&self) -> bool {
        (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            self.client().raw("sum", &json!([1, 2])).is_ok()
        })
    }

    fn lives(&self) {
        assert_eq!(self.client().raw("sum", &json!([1, 2])).unwrap(), 3);
    }
}

/// The person's socket at `path`.
fn address(path: PathBuf) -> Address {
    Address {
        path,
        access: Access {
            mode: 0o660,
            group: None,
        },
        caller: SocketCaller {
            role: Role::Person,
            reach: Arc::default(),
        },
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

async fn perform_all(mut calls: mpsc::Receiver<RawCall>) {
    let mut turn = 0..;
    while let Some(call) = calls.recv().await {
        match call.method.as_str() {
            "turn" => call.reply.send(Ok(json!(turn.next()))),
            // Never answered, and kept so that the client waits.
            "hang" => {
                tokio::spawn(async move {
                    call.notifier.closed().await;
                    drop(call.reply);
                });
            }
            "slow" => {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    call.reply.send(Ok(json!("slow")));
                });
            }
            "forget" => drop(call.reply),
            "count" => {
                call.reply.send(Ok(json!("counting")));
                let up_to = call.params[0].as_u64().unwrap();
                let told =
                    (0..up_to).map(|number| call.notifier.notify("number", &json!([number])));
                let _ = told.take_while(Result::is_ok).count();
            }
            method => {
                call.reply.send(perform(method, &call.params));
            }
        }
    }
}

fn perform(method: &str, params: &Value) -> Result<Value, ApiError> {
    let number = |index: usize, name: &str| {
        params
            .get(index)
            .or_else(|| params.get(name))
            .and_then(Value::as_i64)
    };
    match method {
        "subtract" => Ok(json!(
            number(0, "minuend").unwrap() - number(1, "subtrahend").unwrap()
        )),
        "sum" => Ok(json!(
            params
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_i64)
                .sum::<i64>()
        )),
        "get_data" => Ok(json!(["hello", 5])),
        "echo" => Ok(params.clone()),
        "update" | "notify_hello" | "notify_sum" => Ok(Value::Null),
        _ => Err(ApiError::method_not_found()),
    }
}

/// The answer to one text, without a socket.
fn answer_to(input: &[u8]) -> Option<String> {
    let answer = |item: Item| match item {
        Item::Ignored => None,
        Item::Faulty(id, error) => Some(id.answer(&Err(error))),
        Item::Call(request) => {
            let result = perform(&request.method, &request.params);
            request.id.map(|id| id.answer(&result))
        }
    };
    match rpc::read(input, BATCH_MAX) {
        Err(error) => Some(Id::null().answer(&Err(error))),
        Ok(Incoming::One(item)) => answer(item),
        Ok(Incoming::Batch(items)) => {
            rpc::batch(&items.into_iter().filter_map(answer).collect::<Vec<_>>())
        }
    }
}

fn input_of(case: &Value) -> Vec<u8> {
    let text = case["input"].as_str().unwrap();
    if let Some(hex) = text.strip_prefix("hex:") {
        return data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap();
    }
    match text
        .strip_prefix("rep:")
        .and_then(|text| text.rsplit_once('*'))
    {
        Some((part, times)) => part.repeat(times.parse().unwrap()).into_bytes(),
        None => text.as_bytes().to_vec(),
    }
}

/// A batch's answers in the order of their text: their order is free.
fn sorted(mut answer: Value) -> Value {
    if let Some(items) = answer.as_array_mut() {
        items.sort_by_key(Value::to_string);
    }
    answer
}

#[test]
fn every_json_rpc_case_is_answered_as_expected() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../tests/vectors/jsonrpc20.json")).unwrap();
    assert_eq!(cases.len(), 51);
    for case in cases {
        let answer = answer_to(&input_of(&case));
        let answer = answer.map_or(json!("__NOTHING__"), |answer| {
            serde_json::from_str(&answer).unwrap()
        });
        let expected =
            [&case["expect"], &case["also_acceptable"]].map(|answer| sorted(answer.clone()));
        assert!(
            expected.contains(&sorted(answer.clone())),
            "{}: {answer}",
            case["id"]
        );
    }
}

#[test]
fn an_id_comes_back_byte_for_byte() {
    let ids = [
        "12345678901234567890",
        "1.50",
        "-0",
        "1e300",
        "\"\\u0041\\/\"",
        "null",
        "\"\\ud83d\\ude00\"",
    ];
    for id in ids {
        let line =
            format!("{{\"jsonrpc\":\"2.0\",\"id\": {id} ,\"method\":\"sum\",\"params\":[1]}}");
        assert_eq!(
            answer_to(line.as_bytes()).unwrap(),
            format!("{{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":{id}}}")
        );
    }
    let long = format!("\"{}\"", "x".repeat(1024));
    for id in ["1e400", "true", "[1]", &long] {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"sum\"}}");
        let answer = answer_to(line.as_bytes()).unwrap();
        assert!(
            answer.contains("-32600") && answer.ends_with("\"id\":null}"),
            "{id}"
        );
    }
}

#[test]
fn parameters_are_as_strict_as_a_message() {
    for params in [
        "{\"a\":1,\"a\":2}",
        "[9007199254740993]",
        "[\"\\ud800\"]",
        "[1e999]",
    ] {
        let line =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{params}}}");
        let answer: Value = serde_json::from_str(&answer_to(line.as_bytes()).unwrap()).unwrap();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(-32602), &json!(1)),
            "{params}"
        );
        let line = line.replace("\"id\":1,", "");
        assert_eq!(answer_to(line.as_bytes()), None, "{params}");
    }
}

#[test]
fn a_request_that_says_two_things_is_refused() {
    let line =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get_data\",\"m\\u0065thod\":\"get_data\"}";
    let answer: Value = serde_json::from_str(&answer_to(line.as_bytes()).unwrap()).unwrap();
    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&json!(-32600), &json!(1))
    );
}

#[test]
fn a_batch_cannot_ask_for_an_endless_answer() {
    let line = format!("[{}1]", "1,".repeat(500_000));
    assert!(answer_to(line.as_bytes()).unwrap().len() < 200);
}

#[test]
fn calls_and_batches_are_answered_over_the_socket() {
    let daemon = Daemon::new();
    let mut client = daemon.client();
    assert_eq!(
        client
            .raw("subtract", &json!({ "minuend": 42, "subtrahend": 23 }))
            .unwrap(),
        19
    );
    let error = client.raw("nonsense", &Value::Null);
    // `params: null` is no request to the letter of the specification.
    assert!(matches!(
        error,
        Err(ClientError::Refused(ApiError { code: -32600, .. }))
    ));
    let error = client.raw("nonsense", &json!({}));
    assert!(matches!(
        error,
        Err(ClientError::Refused(ApiError { code: -32601, .. }))
    ));
    let mut stream = daemon.stream();
    stream
        .write_all(b"[{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[1,2],\"id\":\"a\"},{\"jsonrpc\":\"2.0\",\"method\":\"update\"},7]\n")
        .unwrap();
    let answers: Value = serde_json::from_str(&line(&stream)).unwrap();
    assert_eq!(answers.as_array().unwrap().len(), 2);
    assert_eq!(
        answers[0],
        json!({ "jsonrpc": "2.0", "result": 3, "id": "a" })
    );
    assert_eq!(answers[1]["error"]["code"], -32600);
}

#[test]
fn who_has_finished_asking_is_still_answered() {
    let daemon = Daemon::new();
    let mut stream = daemon.stream();
    stream
        .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[1,2],\"id\":1}\n")
        .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "{\"jsonrpc\":\"2.0\",\"result\":3,\"id\":1}\n");
}

#[test]
fn calls_of_one_client_arrive_in_their_order() {
    let daemon = Daemon::new();
    let stream = daemon.stream();
    let mut writer = stream.try_clone().unwrap();
    let call = |id| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"turn\",\"id\":{id}}}\n");
    let calls: String = (0..200).map(call).collect();
    let sender = std::thread::spawn(move || writer.write_all(calls.as_bytes()).unwrap());
    for _ in 0..200 {
        let answer: Value = serde_json::from_str(&line(&stream)).unwrap();
        assert_eq!(answer["result"], answer["id"]);
    }
    sender.join().unwrap();
}

#[test]
fn a_call_that_the_daemon_drops_is_answered_that_nothing_was_done() {
    let daemon = Daemon::new();
    let error = daemon.client().raw("forget", &json!([]));
    let Err(ClientError::Stopped(error)) = error else {
        panic!("{error:?}");
    };
    assert!(error.is(&signet_api::Reason::Stopping));
}

#[test]
fn a_call_that_hangs_holds_up_neither_its_client_nor_others() {
    let daemon = Daemon::new();
    let mut client = daemon.client();
    client.set_timeout(Duration::from_millis(100));
    assert!(matches!(
        client.raw("hang", &json!([])),
        Err(ClientError::TimedOut(_))
    ));
    client.set_timeout(Duration::from_secs(10));
    assert_eq!(client.raw("sum", &json!([1])).unwrap(), 1);
    daemon.lives();
}

#[test]
fn notifications_follow_a_call_in_order() {
    let daemon = Daemon::new();
    let mut client = daemon.client();
    assert_eq!(client.raw("count", &json!([200])).unwrap(), "counting");
    let numbers = client
        .notifications()
        .take(200)
        .map(|told| told.unwrap().params[0].as_u64().unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), (0..200).collect::<Vec<_>>());
}

#[test]
fn a_client_that_never_reads_is_closed_and_holds_up_nobody() {
    let daemon = Daemon::new();
    let mut stream = daemon.stream();
    stream
        .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"count\",\"params\":[1000000],\"id\":1}\n")
        .unwrap();
    daemon.lives();
    // The queue has overflowed: the stream ends, and does not only fall silent.
    std::thread::sleep(Duration::from_millis(200));
    let lines: std::io::Result<Vec<String>> = BufReader::new(stream).lines().collect();
    assert!(lines.unwrap().len() < 1_000_000);
}

#[test]
fn a_client_that_takes_no_answers_is_closed() {
    let daemon = Daemon::with_limits(ClientLimits {
        write: Duration::from_millis(200),
        ..LIMITS
    });
    let mut stream = daemon.stream();
    stream
        .set_write_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let text = "x".repeat(100_000);
    let call =
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":[\"{text}\"],\"id\":1}}\n");
    let refused = (0..1000)
        .find_map(|_| stream.write_all(call.as_bytes()).err())
        .unwrap();
    let closed = [
        std::io::ErrorKind::BrokenPipe,
        std::io::ErrorKind::ConnectionReset,
    ];
    assert!(closed.contains(&refused.kind()), "{refused}");
    daemon.lives();
}

#[test]
fn an_oversized_line_is_refused_before_it_ends() {
    let daemon = Daemon::new();
    let mut stream = daemon.stream();
    let mut writer = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let chunk = vec![b'['; 64 * 1024];
        (0..1024)
            .take_while(|_| writer.write_all(&chunk).is_ok())
            .count()
    });
    let answer: Value = serde_json::from_str(&line(&stream)).unwrap();
    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&json!(-32600), &Value::Null)
    );
    assert!(sender.join().unwrap() < 64);
    let mut rest = Vec::new();
    assert!(matches!(stream.read_to_end(&mut rest), Ok(0) | Err(_)));
    daemon.lives();
}

#[test]
fn a_line_of_a_megabyte_is_taken_and_one_more_byte_is_not() {
    let daemon = Daemon::new();
    let start = "{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[4],\"id\":1,\"pad\":\"";
    for (length, code) in [(1 << 20, None), ((1 << 20) + 1, Some(-32600))] {
        let mut stream = daemon.stream();
        let pad = "x".repeat(length - start.len() - 2);
        stream
            .write_all(format!("{start}{pad}\"}}\n").as_bytes())
            .unwrap();
        let answer: Value = serde_json::from_str(&line(&stream)).unwrap();
        assert_eq!(answer["error"]["code"].as_i64(), code);
    }
}

#[test]
fn garbage_bytes_are_answered_and_harm_nothing() {
    let daemon = Daemon::new();
    let mut stream = daemon.stream();
    let mut byte = 1_u8;
    for length in 0..300_usize {
        let garbage: Vec<u8> = std::iter::repeat_with(|| {
            byte = byte.wrapping_mul(167).wrapping_add(13);
            if byte == b'\n' { 0 } else { byte }
        })
        .take(length)
        .collect();
        stream.write_all(&garbage).unwrap();
        stream.write_all(b"\n").unwrap();
        let answer: Value = serde_json::from_str(&line(&stream)).unwrap();
        assert!(answer["error"]["code"].is_i64(), "{answer}");
    }
    stream
        .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[4],\"id\":1}\n")
        .unwrap();
    assert!(line(&stream).contains("\"result\":4"));
}

#[test]
fn clients_that_ask_nothing_lock_nobody_out() {
    let daemon = Daemon::new();
    let streams: Vec<UnixStream> = (0..CLIENTS).map(|_| daemon.stream()).collect();
    for stream in &streams {
        (&*stream)
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[1],\"id\":1}\n")
            .unwrap();
        assert!(line(stream).contains("\"result\":1"));
    }
    daemon.lives();
    assert_eq!(told_that_the_place_is_needed(&streams), 1);
    // As many again as there are places, one after the other.
    for _ in 0..CLIENTS {
        daemon.lives();
    }
}

#[test]
fn clients_that_keep_every_place_busy_lock_nobody_out() {
    let daemon = Daemon::new();
    let streams: Vec<UnixStream> = (0..CLIENTS).map(|_| daemon.stream()).collect();
    for stream in &streams {
        (&*stream)
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"hang\",\"id\":1}\n")
            .unwrap();
    }
    std::thread::sleep(Duration::from_millis(300));
    daemon.lives();
    assert_eq!(told_that_the_place_is_needed(&streams), 1);
}

#[test]
fn short_connections_of_two_hundred_clients_are_all_answered() {
    let daemon = Daemon::new();
    let answered = std::thread::scope(|scope| {
        let client = || {
            let call = b"{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[1],\"id\":1}\n";
            let ask = |_: &usize| {
                let mut stream = daemon.stream();
                let mut answer = String::new();
                let asked = stream.write_all(call);
                let read = BufReader::new(&stream).read_line(&mut answer);
                asked.is_ok() && read.is_ok() && answer.contains("\"result\":1")
            };
            (0..10).filter(ask).count()
        };
        let clients: Vec<_> = (0..200).map(|_| scope.spawn(client)).collect();
        let answered = clients.into_iter().map(|client| client.join().unwrap());
        answered.sum::<usize>()
    });
    assert_eq!(answered, 2_000);
}

#[test]
fn a_connection_that_lost_its_place_is_made_anew_for_the_next_call() {
    let daemon = Daemon::new();
    let mut idle = daemon.client();
    assert_eq!(idle.raw("sum", &json!([1])).unwrap(), 1);
    let others: Vec<UnixStream> = (0..CLIENTS).map(|_| daemon.stream()).collect();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(idle.raw("sum", &json!([2])).unwrap(), 2);
    drop(others);
}

#[test]
fn silent_clients_do_not_keep_their_places() {
    let daemon = Daemon::with_limits(ClientLimits {
        first_line: Duration::from_millis(500),
        ..LIMITS
    });
    let silent: Vec<UnixStream> = (0..CLIENTS).map(|_| daemon.stream()).collect();
    assert!(daemon.recovers());
    drop(silent);
}

#[test]
fn clients_that_vanish_during_a_call_do_not_keep_their_places() {
    let daemon = Daemon::new();
    for _ in 0..(2 * CLIENTS) {
        let mut stream = daemon.stream();
        stream
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"hang\",\"id\":1}\n")
            .unwrap();
        drop(stream);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(daemon.recovers());
}

#[test]
fn the_socket_is_for_its_user_and_group_and_goes_with_the_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let daemon = Daemon::new();
    let mode = std::fs::metadata(&daemon.path)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o660);
    // A second name, which stays when the daemon's directory goes.
    let path = directory.path().join("moved");
    std::fs::hard_link(&daemon.path, &path).unwrap();
    drop(daemon);
    let gone = Client::connect(&path, Duration::from_secs(1)).unwrap_err();
    assert!(matches!(gone, ClientError::NotReachable { .. }), "{gone}");
}

#[test]
fn stopping_answers_what_waits_and_keeps_nobody_waiting() {
    let mut daemon = Daemon::new();
    let (silent, idle) = (daemon.stream(), daemon.stream());
    (&idle)
        .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"slow\",\"id\":1}\n")
        .unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let started = std::time::Instant::now();
    drop(daemon.stop.take());
    assert!(line(&idle).contains("\"result\":\"slow\""));
    assert_eq!(line(&idle) + &line(&silent), "");
    drop(daemon);
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn the_socket_of_a_dead_daemon_is_replaced_and_a_file_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let lock = HomeLock::acquire(&Home::at(directory.path())).unwrap();
    let path = directory.path().join("control.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(ControlServer::bind(address(path.clone()), &lock).unwrap());
    assert!(!path.exists());
    std::fs::write(&path, "mine").unwrap();
    let error = ControlServer::bind(address(path.clone()), &lock).unwrap_err();
    assert!(matches!(error, ServerError::InTheWay { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[tokio::test]
async fn a_socket_that_another_process_listens_on_is_not_taken_away() {
    let directory = tempfile::tempdir().unwrap();
    let lock = HomeLock::acquire(&Home::at(directory.path())).unwrap();
    let path = directory.path().join("control.sock");
    let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let error = ControlServer::bind(address(path.clone()), &lock).unwrap_err();
    assert!(matches!(error, ServerError::Taken { .. }), "{error}");
    let client = std::os::unix::net::UnixStream::connect(&path);
    assert!(client.is_ok(), "the other one is still reached");
    drop(other);
    drop(ControlServer::bind(address(path), &lock).unwrap());
}

#[test]
fn no_daemon_is_not_reachable() {
    let directory = tempfile::tempdir().unwrap();
    let error = Client::connect(
        &directory.path().join("control.sock"),
        Duration::from_secs(1),
    )
    .unwrap_err();
    assert!(matches!(error, ClientError::NotReachable { .. }), "{error}");
}

/// How many of the clients are told that their place is needed: whom that is, the tests of the places say.
fn told_that_the_place_is_needed(streams: &[UnixStream]) -> usize {
    let is_told = |mut stream: &UnixStream| {
        let short = Some(Duration::from_millis(10));
        stream.set_read_timeout(short).unwrap();
        let mut said = [0; 256];
        let read = stream.read(&mut said).unwrap_or_default();
        String::from_utf8_lossy(&said[..read]).contains("place-needed")
    };
    let told = || streams.iter().filter(|stream| is_told(stream)).count();
    // The line may be late on a busy machine; a second one would have come with it.
    let first = (0..100).map(|_| told()).find(|told| *told > 0);
    first.unwrap_or_default() + told()
}

/// One line, read byte by byte so that nothing after it is lost.
fn line(mut stream: &UnixStream) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte).unwrap() == 1 && byte != [b'\n'] {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}
