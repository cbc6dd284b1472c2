use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
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
use crate::reach::Reach;

mod answers;
mod bounds;
mod place;

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
        caller: SocketCaller::new(Role::Person, Reach::default()),
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
            "turn" => call.reply.send(Ok(text_of_note(&turn.next()))),
            // This call is never answered, and its reply is kept, so that the client waits.
            "hang" => {
                tokio::spawn(async move {
                    call.notifier.closed().await;
                    drop(call.reply);
                });
            }
            "slow" => {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    call.reply.send(Ok(text_of_note(&"slow")));
                });
            }
            "forget" => drop(call.reply),
            "count" => {
                call.reply.send(Ok(text_of_note(&"counting")));
                let up_to = call.params.tree()[0].as_u64().unwrap();
                let told = (0..up_to)
                    .map(|number| call.notifier.notify("number", &text_of_note(&[number])));
                let _ = told.take_while(Result::is_ok).count();
            }
            method => {
                call.reply
                    .send(perform(method, &call.params.tree()).map(|answer| text_of_note(&answer)));
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
        Item::Faulty(id, error) => Some(id.refusal(&error)),
        Item::Call(request) => {
            let result = perform(&request.method, &request.params.tree());
            request.id.map(|id| id.answer(&result))
        }
    };
    match rpc::read(input, BATCH_MAX) {
        Err(error) => Some(Id::null().refusal(&error)),
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
    // On a busy machine the `place-needed` line may be late, so look up to 100 times; a line to a
    // second client would have come at the same time.
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
