//! Who waits for the stream's word that a message is stored: at most so many, and each for so long.
//!
//! The client library's own requests are not used: it never forgets one that nobody answers, and nobody
//! answers for a peer whose inbox no stream takes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::client::Client;
use async_nats::{Message, StatusCode, Subscriber};
use futures_util::StreamExt;
use rustix::rand::{GetRandomFlags, getrandom};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::Arrival;
use crate::backlog::Backlog;
use crate::store::{Counter, MailboxStore};

/// What became of a message on its way into the peer's mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// The stream holds it. That is no proof that it survives a power failure.
    Stored {
        /// Its number in the stream.
        sequence: u64,
    },
    /// No stream takes this subject, and nobody listens to it.
    NoStream,
    /// The stream refused it, in the server's words: the mailbox is full, for instance.
    Refused(String),
    /// No confirmation came within 5 seconds, or the connection went: the message may have arrived.
    Unconfirmed,
}

/// Awaits what became of one message. Dropping it costs nothing.
#[derive(Debug)]
pub struct Confirmation(Option<oneshot::Receiver<Storage>>);

impl Confirmation {
    pub(crate) fn never() -> Self {
        Self(None)
    }

    /// Waits for the stream's word, at most about 5 seconds. On core NATS it is `Unconfirmed` at once.
    pub async fn wait(self) -> Storage {
        match self.0 {
            Some(word) => word.await.unwrap_or(Storage::Unconfirmed),
            None => Storage::Unconfirmed,
        }
    }
}

/// The messages of one connection that wait for their confirmation.
#[derive(Debug)]
pub(crate) struct Confirmations {
    inbox: String,
    stream: String,
    store: Arc<MailboxStore>,
    pending: Mutex<PendingPublishes>,
    /// Told of a message where none waited.
    begun: Notify,
}

/// Numbered in their order, which is also that of the answers.
#[derive(Debug, Default)]
struct PendingPublishes {
    first: u64,
    waiting: VecDeque<ExpectedConfirmation>,
}

/// A message whose confirmation has not come.
#[derive(Debug)]
struct ExpectedConfirmation {
    /// Stands in the reply subject: whoever was not sent the message cannot confirm it.
    secret: u64,
    since: Instant,
    /// The subject that it went to.
    inbox: String,
    waiter: Option<oneshot::Sender<Storage>>,
}

/// Ends its task with itself.
pub(crate) struct ConfirmationTask(JoinHandle<()>);

impl Drop for ConfirmationTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Confirmations {
    /// Subscribes to a reply subject of this connection's own, and listens.
    pub(crate) async fn listen(
        client: &Client,
        stream: String,
        store: Arc<MailboxStore>,
        arrivals: Backlog,
    ) -> Result<(Arc<Self>, ConfirmationTask), String> {
        let inbox = client.new_inbox();
        // One subscription serves all confirmations: an answer's subject ends with the number of the message that it confirms, and
        // with its secret.
        let subscribed = client.subscribe(format!("{inbox}.*")).await;
        let subscriber = subscribed.map_err(|e| e.to_string())?;
        let confirmations = Arc::new(Self {
            inbox,
            stream,
            store,
            pending: Mutex::default(),
            begun: Notify::new(),
        });
        let task = tokio::spawn(hear_all(Arc::clone(&confirmations), subscriber, arrivals));
        Ok((confirmations, ConfirmationTask(task)))
    }

    /// A reply subject for the next message, which goes to `inbox`, and who waits for what comes there. `None` where the
    /// kernel gives no random number: the message goes out without.
    pub(crate) fn expect(&self, inbox: &str) -> Option<(String, Confirmation)> {
        let secret = secret()?;
        let (sender, word) = oneshot::channel();
        let mut pending = self.pending();
        let number = pending.first + pending.waiting.len() as u64;
        if pending.waiting.is_empty() {
            self.begun.notify_one();
        }
        pending.waiting.push_back(ExpectedConfirmation {
            secret,
            since: Instant::now(),
            inbox: inbox.to_owned(),
            waiter: Some(sender),
        });
        // If too many messages wait, give up the oldest: its channel is dropped with it, and whoever published that message
        // gets `Unconfirmed`.
        if pending.waiting.len() > MOST {
            pending.forget_first();
        }
        let reply = format!("{}.{}", self.inbox, token(number, secret));
        Some((reply, Confirmation(Some(word))))
    }

    /// Takes one answer; whether it shows that the store was lost.
    fn hear(&self, message: &Message) -> bool {
        let token = message.subject.rsplit('.').next();
        let Some((number, secret)) = token.and_then(read_token) else {
            return false;
        };
        let (storage, domain) = match message.status {
            Some(StatusCode::NO_RESPONDERS) => (Storage::NoStream, None),
            _ => parse(&message.payload, &self.stream),
        };
        let sequence = match storage {
            Storage::Stored { sequence } => Some(sequence),
            Storage::NoStream | Storage::Refused(_) | Storage::Unconfirmed => None,
        };
        let inbox = self.pending().settle(number, secret, storage);
        // `inbox` is `None` for an answer that is repeated, or to no message that waits: its number could make us believe that
        // the store was lost. `sequence` is `None` where the message was not stored.
        let Some((inbox, sequence)) = inbox.zip(sequence) else {
            return false;
        };
        let stream = self.stream.clone();
        self.store
            .is_behind(Counter { domain, stream }, &inbox, sequence, Instant::now())
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, PendingPublishes> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingPublishes {
    /// Tells who waits for that message, and says which inbox it went to; the first time alone.
    fn settle(&mut self, number: u64, secret: u64, storage: Storage) -> Option<String> {
        // The number of a message that was given up meanwhile, or one that somebody invented, is not in `waiting`: then
        // nothing is settled.
        let index = number.checked_sub(self.first);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let place = index.and_then(|index| self.waiting.get_mut(index));
        let place = place.filter(|expected| expected.secret == secret);
        let settled = place.and_then(|place| {
            let waiter = place.waiter.take()?;
            // The publisher may have stopped waiting: it does not matter that the sending then fails.
            let _ = waiter.send(storage);
            Some(std::mem::take(&mut place.inbox))
        });
        self.trim(|expected| expected.waiter.is_none());
        settled
    }

    fn expire(&mut self, now: Instant) {
        self.trim(|expected| {
            expected.waiter.is_none() || now.duration_since(expected.since) > LIMIT
        });
    }

    fn trim(&mut self, is_over: impl Fn(&ExpectedConfirmation) -> bool) {
        while self.waiting.front().is_some_and(&is_over) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if self.waiting.pop_front().is_some() {
            self.first += 1;
        }
    }
}

/// The last token of a reply subject.
fn token(number: u64, secret: u64) -> String {
    format!("{number}-{secret:016x}")
}

fn read_token(token: &str) -> Option<(u64, u64)> {
    let (number, secret) = token.split_once('-')?;
    Some((number.parse().ok()?, u64::from_str_radix(secret, 16).ok()?))
}

/// Sixty-four bits that nobody can guess.
fn secret() -> Option<u64> {
    let mut bytes = [0; 8];
    // getrandom(2) gives so few bytes whole, or fails.
    getrandom(&mut bytes[..], GetRandomFlags::empty()).ok()?;
    Some(u64::from_ne_bytes(bytes))
}

async fn hear_all(confirmations: Arc<Confirmations>, mut answers: Subscriber, arrivals: Backlog) {
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        // Where nothing waits nothing expires. Ticks then were the most of what a daemon did that had nothing to do.
        let waits = !confirmations.pending().waiting.is_empty();
        tokio::select! {
            answer = answers.next() => match answer {
                Some(answer) => if confirmations.hear(&answer) {
                    arrivals.send(Arrival::StoreLost).await;
                },
                None => return,
            },
            () = confirmations.begun.notified(), if !waits => {}
            _ = tick.tick(), if waits => confirmations.pending().expire(Instant::now()),
        }
    }
}

/// Reads the server's `{"stream":"…", "domain":"…", "seq":…}` or `{"error":{…,"description":"…"},…}`: what became
/// of the message, and the domain, where one is named. Only the server knows the subject that it came on, so it
/// need not be read more strictly than this.
pub(crate) fn parse(payload: &[u8], stream: &str) -> (Storage, Option<String>) {
    let Ok(text) = std::str::from_utf8(payload) else {
        return (Storage::Unconfirmed, None);
    };
    let after = |name: &str| {
        let (_, rest) = text.split_once(&format!("\"{name}\":"))?;
        Some(rest.trim_start())
    };
    let quoted = |rest: &str| Some(rest.strip_prefix('"')?.split('"').next()?.to_owned());
    if after("error").is_some() {
        let description = after("description").and_then(quoted).unwrap_or_default();
        let description = description.chars().take(TEXT).collect();
        return (Storage::Refused(description), None);
    }
    let from = after("stream").and_then(quoted);
    let sequence = after("seq").and_then(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest.get(..end)?.parse().ok()
    });
    let storage = match (from, sequence) {
        (Some(from), Some(sequence)) if from == stream => Storage::Stored { sequence },
        (Some(from), Some(_)) => Storage::Refused(format!("another stream took it: {from}")),
        _ => Storage::Unconfirmed,
    };
    let domain = after("domain").and_then(quoted);
    // An invented answer may name a domain of any length, which would be kept in memory: ignore an answer with a domain that
    // is longer than any real one.
    let is_long = |domain: &String| domain.chars().count() > DOMAIN;
    match domain.as_ref().is_some_and(is_long) {
        true => (Storage::Unconfirmed, None),
        false => (storage, domain),
    }
}

/// How many messages may wait for their confirmation; the oldest is given up for one more. A sender is never
/// more than 4,096 messages ahead of one peer.
const MOST: usize = 16_384;
const LIMIT: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(500);
const TEXT: usize = 256;
/// The longest name of a JetStream domain that is remembered, in characters.
const DOMAIN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: u64 = 7;

    #[test]
    fn what_servers_say_is_read() {
        let stored = |sequence| Storage::Stored { sequence };
        let domain = |text: &str| parse(text.as_bytes(), "AGENT_INBOX").1;
        let parse = |text: &str| parse(text.as_bytes(), "AGENT_INBOX").0;
        assert_eq!(parse(r#"{"stream":"AGENT_INBOX", "seq":17}"#), stored(17));
        assert_eq!(
            parse(r#"{"stream":"AGENT_INBOX","domain":"x","seq":9,"duplicate": true}"#),
            stored(9)
        );
        assert_eq!(domain(r#"{"stream":"AGENT_INBOX", "seq":17}"#), None);
        assert_eq!(
            domain(r#"{"stream":"AGENT_INBOX","domain":"x","seq":9}"#),
            Some("x".into())
        );
        let full = r#"{"error":{"code":503,"err_code":10077,"description":"maximum messages per subject exceeded"},"stream":"AGENT_INBOX","seq":0}"#;
        assert_eq!(
            parse(full),
            Storage::Refused("maximum messages per subject exceeded".into())
        );
        assert!(matches!(
            parse(r#"{"stream":"OTHER","seq":1}"#),
            Storage::Refused(_)
        ));
        let named = |domain: &str| {
            parse(&format!(
                r#"{{"stream":"AGENT_INBOX","domain":"{domain}","seq":9}}"#
            ))
        };
        assert_eq!(named(&"d".repeat(64)), stored(9));
        assert_eq!(
            named(&"d".repeat(65)),
            Storage::Unconfirmed,
            "no server names its domain so"
        );
        for odd in [
            "",
            "{}",
            r#"{"seq":-1,"stream":"AGENT_INBOX"}"#,
            r#"{"seq":1}"#,
        ] {
            assert_eq!(parse(odd), Storage::Unconfirmed, "{odd}");
        }
    }

    #[test]
    fn answers_out_of_order_and_for_nobody_find_their_place_or_none() {
        let mut pending = PendingPublishes::default();
        let (first, second) = (oneshot::channel(), oneshot::channel());
        for (waiter, inbox) in [(first.0, "first"), (second.0, "second")] {
            pending.waiting.push_back(ExpectedConfirmation {
                secret: SECRET,
                since: Instant::now(),
                inbox: inbox.into(),
                waiter: Some(waiter),
            });
        }
        let (mut first, mut second) = (first.1, second.1);
        let settled = pending.settle(1, SECRET, Storage::NoStream);
        assert_eq!(settled.as_deref(), Some("second"));
        for again in [1, 99] {
            assert_eq!(pending.settle(again, SECRET, Storage::NoStream), None);
        }
        assert_eq!(second.try_recv(), Ok(Storage::NoStream));
        assert!(first.try_recv().is_err() && pending.waiting.len() == 2);
        pending.expire(Instant::now() + LIMIT + TICK);
        assert!(pending.waiting.is_empty() && pending.first == 2);
        pending.settle(0, SECRET, Storage::NoStream);
    }

    /// A peer is sent the reply subject of its own messages, and can count up from there.
    #[test]
    fn who_knows_the_number_of_a_message_and_not_its_secret_does_not_confirm_it() {
        let mut pending = PendingPublishes::default();
        let (sender, mut word) = oneshot::channel();
        let secret = secret().unwrap();
        pending.waiting.push_back(ExpectedConfirmation {
            secret,
            since: Instant::now(),
            inbox: "first".into(),
            waiter: Some(sender),
        });
        let stored = || Storage::Stored { sequence: 1 };
        for guessed in [0, 1, u64::MAX, secret ^ 1, secret.swap_bytes() ^ 2] {
            assert_eq!(pending.settle(0, guessed, stored()), None);
        }
        assert!(word.try_recv().is_err());
        for odd in ["", "0", "-", "0-", "0-z", "-7"] {
            assert_eq!(read_token(odd), None, "{odd}");
        }
        let subject = token(0, secret);
        let (number, secret) = read_token(&subject).unwrap();
        assert!(pending.settle(number, secret, stored()).is_some());
        assert_eq!(word.try_recv(), Ok(stored()));
    }
}
