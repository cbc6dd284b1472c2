//! What a daemon is measured beside, in the same run and by the same broker: readers of the same messages that are no
//! daemon. None of them has sessions, policies or peers.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, Subscriber};
use bytes::Bytes;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::{Map, Value};
use signet_transport::Mailbox;
use tokio::runtime::Runtime;

use crate::common::{self, Peer, peer::AHEAD};

/// One round of a yardstick.
pub(crate) struct Round {
    /// Messages a second, from the first that was sent until all were read.
    pub(crate) rate: f64,
    /// Nanoseconds that the reader's thread has spent on a processor, by message.
    pub(crate) cpu: f64,
}

/// The reader's end of a round.
struct Reader {
    client: Client,
    /// How many messages it has done with.
    done: Arc<AtomicUsize>,
    /// How many there are.
    count: usize,
    ready: mpsc::Sender<()>,
}

impl Reader {
    fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed) >= self.count
    }

    fn did(&self, messages: usize) {
        self.done.fetch_add(messages, Ordering::Relaxed);
    }

    /// Waits until the broker knows the subscription, and lets the sender begin.
    async fn begin(&self) -> f64 {
        self.client.flush().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.ready.send(()).unwrap();
        common::thread_cpu()
    }
}

/// A subscriber that throws away what it reads.
pub(crate) fn subscriber(url: &str, sample: &Bytes, count: usize) -> Round {
    let length = sample.len();
    let messages = vec![sample.clone(); count];
    round(url, "bare.inbox", &messages, async move |reader| {
        let mut inbox = reader.client.subscribe("bare.inbox").await.unwrap();
        let cpu = reader.begin().await;
        while !reader.is_done() {
            assert_eq!(inbox.next().await.unwrap().payload.len(), length);
            reader.did(1);
        }
        cpu
    })
}

/// A consumer of a mailbox that pulls, acknowledges what comes, and throws it away. The mailbox is that of `agent`, whose
/// daemon does not run. `peer` sends to it as it sends to a daemon: what a sender costs, it costs both on the same cores.
pub(crate) fn consumer(
    url: &str,
    agent: &str,
    (runtime, peer): (&Runtime, &Peer),
    sample: &Bytes,
    count: usize,
) -> Round {
    let mailbox = Mailbox::of(agent);
    let measured = Measured::begin(url, count, async move |reader| {
        let pulls = reader.client.new_inbox();
        let mut pulled = reader.client.subscribe(pulls.clone()).await.unwrap();
        let cpu = reader.begin().await;
        let next = format!(
            "$JS.API.CONSUMER.MSG.NEXT.{}.{}",
            mailbox.stream, mailbox.consumer
        );
        let mut asked = 0;
        while !reader.is_done() {
            if asked <= PULL / 2 {
                let request = format!("{{\"batch\":{PULL},\"expires\":30000000000}}");
                let asking =
                    reader
                        .client
                        .publish_with_reply(next.clone(), pulls.clone(), request.into());
                asking.await.unwrap();
                asked += PULL;
            }
            let message = pulled.next().await.unwrap();
            if let Some(reply) = message.reply {
                asked -= 1;
                reader
                    .client
                    .publish(reply, Bytes::from_static(b"+ACK"))
                    .await
                    .unwrap();
                reader.did(1);
            }
        }
        reader.client.flush().await.unwrap();
        cpu
    });
    let agent = agent.parse().unwrap();
    let messages = vec![sample.clone(); count];
    let publish = async |bytes| peer.publish_to(&agent, bytes).await;
    let elapsed = runtime.block_on(measured.feed(&messages, publish));
    measured.end(elapsed)
}

/// The plain path that somebody writes who wants signed messages and a log, and nothing else: one task, `serde_json`,
/// `verify_strict`, a line, and one fdatasync for up to 256 of them.
pub(crate) fn plain(url: &str, dir: &Path, sample: &Bytes, count: usize) -> Round {
    let key = SigningKey::from_bytes(&[9; 32]);
    let public = key.verifying_key();
    let message: Map<String, Value> = serde_json::from_slice(sample).unwrap();
    let messages: Vec<Bytes> = (0..count)
        .map(|number| signed(&key, &message, number))
        .collect();
    let log = dir.join("plain.jsonl");
    let file = log.clone();
    let round = round(url, "plain.inbox", &messages, async move |reader| {
        let mut log = File::options()
            .create(true)
            .append(true)
            .open(file)
            .unwrap();
        let mut inbox = reader.client.subscribe("plain.inbox").await.unwrap();
        let cpu = reader.begin().await;
        let mut lines = Vec::new();
        while !reader.is_done() {
            lines.clear();
            let group = take(&mut inbox, &public, &mut lines).await;
            log.write_all(&lines).unwrap();
            log.sync_data().unwrap();
            reader.did(group);
        }
        cpu
    });
    std::fs::remove_file(log).unwrap();
    round
}

/// Waits for one message, takes with it those that are there, and adds the lines of all that are signed.
async fn take(inbox: &mut Subscriber, key: &VerifyingKey, lines: &mut Vec<u8>) -> usize {
    let mut next = inbox.next().await;
    let mut group = 0;
    while let Some(message) = next {
        let bytes = message.payload;
        assert!(is_signed(key, &bytes));
        lines.extend_from_slice(b"{\"dir\":\"in\",\"message\":");
        lines.extend_from_slice(&bytes);
        lines.extend_from_slice(b"}\n");
        group += 1;
        next = match group < GROUP {
            true => inbox.next().now_or_never().flatten(),
            false => None,
        };
    }
    group
}

fn is_signed(key: &VerifyingKey, bytes: &[u8]) -> bool {
    let mut message: Map<String, Value> = serde_json::from_slice(bytes).unwrap();
    let Some(Value::String(signature)) = message.remove("signature") else {
        return false;
    };
    let signature: Vec<u8> = signature.as_bytes().chunks(2).map(hex).collect();
    let signature = Signature::from_slice(&signature).unwrap();
    let bytes = serde_json::to_vec(&message).unwrap();
    key.verify_strict(&bytes, &signature).is_ok()
}

fn hex(digits: &[u8]) -> u8 {
    let digit = |digit: u8| char::from(digit).to_digit(16).unwrap() as u8;
    digit(digits[0]) * 16 + digit(digits[1])
}

fn signed(key: &SigningKey, message: &Map<String, Value>, number: usize) -> Bytes {
    let mut message = message.clone();
    message.insert("number".to_owned(), number.into());
    let signature = key.sign(&serde_json::to_vec(&message).unwrap()).to_bytes();
    let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    message.insert("signature".to_owned(), signature.into());
    serde_json::to_vec(&message).unwrap().into()
}

/// Sends the messages by a bare client, and measures who reads them.
fn round<R>(url: &str, subject: &str, messages: &[Bytes], read: R) -> Round
where
    R: AsyncFnOnce(&Reader) -> f64 + Send + 'static,
{
    let measured = Measured::begin(url, messages.len(), read);
    let elapsed = common::runtime().block_on(async {
        let client = async_nats::connect(url).await.unwrap();
        let publish = async |bytes| client.publish(subject.to_owned(), bytes).await.unwrap();
        measured.feed(messages, publish).await
    });
    measured.end(elapsed)
}

/// A reader on a thread of its own.
struct Measured {
    done: Arc<AtomicUsize>,
    /// Ends with the processor time that it took to read, in nanoseconds.
    thread: JoinHandle<f64>,
}

impl Measured {
    /// Starts it, and waits until it may be sent to. `read` gives back how much CPU time the thread had spent when it began.
    fn begin<R>(url: &str, count: usize, read: R) -> Self
    where
        R: AsyncFnOnce(&Reader) -> f64 + Send + 'static,
    {
        let (ready, begun) = mpsc::channel();
        let (done, at) = (Arc::<AtomicUsize>::default(), url.to_owned());
        let counted = Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            common::runtime().block_on(async move {
                let options = ConnectOptions::new().subscription_capacity(4 * AHEAD);
                let client = options.connect(at).await.unwrap();
                let reader = Reader {
                    client,
                    done: counted,
                    count,
                    ready,
                };
                let before = read(&reader).await;
                common::thread_cpu() - before
            })
        });
        begun.recv().unwrap();
        Self { done, thread }
    }

    /// Publishes the messages as far ahead of the reader as a daemon's peer does. Returns how long it took until all were read.
    async fn feed(&self, messages: &[Bytes], publish: impl AsyncFn(Bytes)) -> Duration {
        let (start, mut sent) = (Instant::now(), 0);
        loop {
            let done = self.done.load(Ordering::Relaxed);
            if done >= messages.len() {
                return start.elapsed();
            }
            while sent < messages.len().min(done + AHEAD) {
                publish(messages[sent].clone()).await;
                sent += 1;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn end(self, elapsed: Duration) -> Round {
        let count = self.done.load(Ordering::Relaxed) as f64;
        Round {
            rate: count / elapsed.as_secs_f64(),
            cpu: self.thread.join().unwrap() / count,
        }
    }
}

/// How many messages one pull asks for.
const PULL: usize = 256;
/// How many lines share an fdatasync.
const GROUP: usize = 256;
