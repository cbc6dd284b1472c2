//! One of those that work off what comes: it receives, lets its handler try, and says how that ended.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use signet_api::{
    Acknowledge, Client, ClientError, Fail, Failed, Leased, ListInbox, OfferCapability, Reason,
    Receive, Request, Respond,
};
use signet_text::visible;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::absence::Absence;
use crate::call::{Stopped, blocking, call, try_call};
use crate::teller::pass_on;
use crate::{Done, Fault, Handler, Task, Teller};

/// Receives with a connection of its own.
pub struct Worker {
    /// The agent's socket.
    pub socket: PathBuf,
    /// What tries to handle each message.
    pub handler: Box<dyn Handler>,
    /// How long one try may take.
    pub timeout: Duration,
    /// Only calls that ask for these; everything when absent.
    pub capabilities: Option<Vec<String>>,
    /// What it offers to peers.
    pub offer: Option<OfferCapability>,
    /// The pause before the second try; it doubles with each. The daemon's own when absent.
    pub retry_after: Option<Duration>,
    /// Whether it ends when nothing waits, and nothing that failed here will be tried again.
    pub once: bool,
    /// Whether a handler that cannot be started ends it: no message has to suffer for that.
    pub stops: bool,
}

/// What one worker that ends when nothing waits has to wait for, and to say at its end.
#[derive(Default)]
struct Shift {
    /// What failed here, by its key, and when it can be tried again.
    failed: HashMap<String, Instant>,
    quarantined: usize,
}

impl Shift {
    fn note(&mut self, leased: &Leased, failed: Failed) {
        self.quarantined += usize::from(failed.quarantined);
        if let Some(pause) = failed.again_in.and_then(seconds) {
            let due = Instant::now() + pause + SLACK;
            self.failed.insert(leased.key.clone(), due);
        }
    }

    /// How long something that failed here may still come back.
    fn remaining(&self) -> Duration {
        let last = self.failed.values().max();
        last.map_or(Duration::ZERO, |due| {
            due.saturating_duration_since(Instant::now())
        })
    }
}

/// Lets all of them work, until the last has ended, one of them stops, or the process is told to end. A try that is under
/// way then is cut short, and counts.
///
/// # Errors
/// When the system has no room; the inner error says why a worker stopped.
pub fn work_all(workers: Vec<Worker>) -> io::Result<Result<(), Stopped>> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    let once = workers.iter().any(|worker| worker.once);
    let told = || match once {
        true => Err(Stopped::Told),
        false => Ok(()),
    };
    let ended = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut working: FuturesUnordered<_> = workers.into_iter().map(Worker::work).collect();
        let handle = async {
            let mut quarantined = 0;
            while let Some(ended) = working.next().await {
                quarantined += ended?;
            }
            match quarantined {
                0 => Ok(()),
                several => Err(Stopped::Quarantined(several)),
            }
        };
        Ok(tokio::select! {
            done = handle => done,
            _ = interrupt.recv() => told(),
            _ = terminate.recv() => told(),
        })
    });
    // End without waiting for blocked threads: a call that only waits for new messages has nothing to lose.
    runtime.shutdown_background();
    ended
}

impl Worker {
    /// Goes on until nothing waits, or for ever. Says how many messages went to the quarantine.
    ///
    /// # Errors
    /// `Unusable` where `stops`, `Daemon` where `once`.
    pub async fn work(mut self) -> Result<usize, Stopped> {
        let mut pause = PAUSES.0;
        loop {
            match self.serve().await {
                Err(Stopped::Daemon(error)) if !self.once => {
                    say(&format!(
                        "{error}; trying again in {} s",
                        pause.as_secs_f32()
                    ));
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(PAUSES.1);
                }
                ended => return ended,
            }
        }
    }

    async fn serve(&mut self) -> Result<usize, Stopped> {
        let (mut absent, mut shift) = (Absence::default(), Shift::default());
        // Wait until the handler can begin, then offer: a capability that nothing serves is not offered.
        self.ready(&mut absent).await?;
        let socket = self.socket.clone();
        let mut client = blocking(move || Client::connect(&socket, PROMPT + WAIT)).await?;
        if let Some(offer) = self.offer.clone() {
            client = offer_again(client, offer).await?;
        }
        loop {
            self.ready(&mut absent).await?;
            let wait = match self.once {
                true => shift.remaining().min(WAIT),
                false => WAIT,
            };
            let receive = Receive {
                capabilities: self.capabilities.clone(),
                wait: wait.as_secs_f64(),
                lease: Some((self.timeout + MARGIN).as_secs_f64()),
                limit: None,
            };
            let (back, received) = call(client, receive).await?;
            client = back;
            let Some(leased) = received.messages.into_iter().next() else {
                if self.once && shift.remaining().is_zero() {
                    return finish(client, &shift).await;
                }
                continue;
            };
            shift.failed.remove(&leased.key);
            let (back, fault) = self.attempt(client, &leased, &mut shift).await?;
            client = back;
            absent.wait_after(fault.as_ref()).await;
        }
    }

    /// Waits until a try could begin. What cannot be tried is not taken: it waits in the inbox, and uses up no try.
    async fn ready(&mut self, absent: &mut Absence) -> Result<(), Stopped> {
        while let Err(fault) = self.handler.look() {
            if self.stops || self.once {
                return Err(Stopped::Unusable(fault));
            }
            say(&fault.to_string());
            absent.wait_after(Some(&fault)).await;
        }
        Ok(())
    }

    /// One try, and what is said of it.
    async fn attempt(
        &mut self,
        client: Client,
        leased: &Leased,
        shift: &mut Shift,
    ) -> Result<(Client, Option<Fault>), Stopped> {
        let (teller, words) = Teller::new();
        let task = Task::of(leased, &teller);
        let line = Mutex::new(Some(client));
        let trying = tokio::time::timeout(self.timeout, self.handler.handle(&task));
        let mut telling = pin!(pass_on(&line, leased, words));
        let tried = tokio::select! {
            tried = trying => tried,
            Err(stopped) = &mut telling => return Err(stopped),
        };
        // Wait until a progress word that is on its way has come to its end: the connection takes one call at a time.
        let client = tokio::select! {
            mut free = line.lock() => free.take(),
            Err(stopped) = &mut telling => return Err(stopped),
        };
        let client = client.ok_or(ClientError::Closed)?;
        let ending = Ending {
            client,
            leased,
            retry_after: self.retry_after,
            failed: None,
        };
        let (ended, fault) = match tried.unwrap_or(Err(Fault::TimedOut)) {
            Ok(done) => (ending.conclude(done).await?, None),
            Err(fault @ Fault::CannotStart(_)) => {
                let ended = ending.give_back(&fault).await?;
                if self.stops {
                    return Err(Stopped::Unusable(fault));
                }
                (ended, Some(fault))
            }
            Err(fault @ Fault::Unsendable(_)) => match leased.message.is_request() {
                true => (ending.end_unsendable(&fault.to_string()).await?, None),
                // The message is no request, so nobody waits for an answer: the answer would be thrown away in any
                // case.
                false => (ending.conclude(Done::Nothing).await?, None),
            },
            Err(fault) => (ending.fail(&fault.to_string()).await?, Some(fault)),
        };
        if let Some(failed) = ended.failed {
            shift.note(leased, failed);
        }
        Ok((ended.client, fault))
    }
}

/// Nothing waits any more; while the person's agents pause nobody can say so.
async fn finish(client: Client, shift: &Shift) -> Result<usize, Stopped> {
    let look = ListInbox {
        limit: Some(1),
        ..ListInbox::default()
    };
    call(client, look).await?;
    Ok(shift.quarantined)
}

/// How a try ended, while the daemon hears of it.
struct Ending<'a> {
    client: Client,
    leased: &'a Leased,
    retry_after: Option<Duration>,
    /// What the daemon made of a try that failed.
    failed: Option<Failed>,
}

impl Ending<'_> {
    /// The daemon hears how a try went that did not fail.
    async fn conclude(self, done: Done) -> Result<Self, Stopped> {
        let asks = self.leased.message.is_request();
        match done {
            Done::Answer(body) if asks => self.respond(body).await,
            Done::Declined(text) if asks => self.decline(text, None).await,
            Done::Unfinished { text, body } if asks => self.decline(text, Some(body)).await,
            _ => {
                let done = Acknowledge {
                    lease: Some(self.leased.lease.clone()),
                    keep: asks || self.leased.message.is_handoff(),
                    ..Acknowledge::default()
                };
                Ok(self.tell(done).await?.0)
            }
        }
    }

    async fn respond(mut self, body: Value) -> Result<Self, Stopped> {
        let answer = Respond {
            lease: Some(self.leased.lease.clone()),
            body: Some(body),
            ..Respond::default()
        };
        let (client, told) = try_call(self.client, answer).await?;
        self.client = client;
        let Err(refused) = told else { return Ok(self) };
        let reason = format!("its answer was refused: {}", refused_as(&refused));
        match never_leaves(&refused) {
            true => self.end_unsendable(&reason).await,
            false => self.fail(&reason).await,
        }
    }

    /// The request ends where its answer can never be sent: more tries would do the work again, and come to the same.
    async fn end_unsendable(self, why: &str) -> Result<Self, Stopped> {
        self.say(why);
        let text = format!("it was handled, and its answer cannot be sent: {why}");
        self.decline(text, Some(json!({ "state": "failed" }))).await
    }

    async fn decline(mut self, text: String, body: Option<Value>) -> Result<Self, Stopped> {
        let answer = |body| Respond {
            lease: Some(self.leased.lease.clone()),
            decline: Some(text.clone()),
            body,
            ..Respond::default()
        };
        let is_more = body.is_some();
        let (mut client, mut told) = try_call(self.client, answer(body)).await?;
        // Try again without the body: the sender waits for the words, and the body beside them may be too large for a
        // message.
        if is_more && told.as_ref().is_err_and(never_leaves) {
            (client, told) = try_call(client, answer(None)).await?;
        }
        self.client = client;
        match told {
            Ok(_) => Ok(self),
            Err(refused) => {
                let reason = format!("its refusal was refused: {}", refused_as(&refused));
                self.fail(&reason).await
            }
        }
    }

    async fn fail(self, reason: &str) -> Result<Self, Stopped> {
        let tries = self.leased.tries.saturating_sub(1);
        let pause = self.retry_after.map(|first| {
            let doubled = 1_u32.checked_shl(tries.into()).unwrap_or(u32::MAX);
            first.saturating_mul(doubled).as_secs_f64()
        });
        let fail = Fail {
            lease: self.leased.lease.clone(),
            reason: reason.to_owned(),
            unbegun: false,
            pause,
        };
        let (mut ended, failed) = self.tell(fail).await?;
        let next = match failed {
            Some(Failed { quarantined, .. }) if quarantined => {
                "; it is in the quarantine: signet quarantine list".to_owned()
            }
            Some(Failed { again_in, .. }) => again_in.map_or_else(String::new, |pause| {
                format!("; try {}, the next in {pause} s", ended.leased.tries)
            }),
            None => String::new(),
        };
        ended.say(&format!("{reason}{next}"));
        ended.failed = failed;
        Ok(ended)
    }

    /// What never began is no try: the message waits for the next one.
    async fn give_back(self, fault: &Fault) -> Result<Self, Stopped> {
        let reason = fault.to_string();
        self.say(&reason);
        let fail = Fail {
            lease: self.leased.lease.clone(),
            reason,
            unbegun: true,
            pause: None,
        };
        Ok(self.tell(fail).await?.0)
    }

    /// Says how a try ended. A lease that has ended meanwhile is somebody else's.
    async fn tell<R>(mut self, said: R) -> Result<(Self, Option<R::Answer>), Stopped>
    where
        R: Request + Send + 'static,
        R::Answer: Send,
    {
        let (client, told) = try_call(self.client, said).await?;
        self.client = client;
        match told {
            Ok(answer) => Ok((self, Some(answer))),
            Err(refused) => {
                self.say(&refused.to_string());
                Ok((self, None))
            }
        }
    }

    fn say(&self, what: &str) {
        let message = &self.leased.message;
        say(&format!(
            "{} from {}: {what}",
            message.message_id, message.from
        ));
    }
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

/// Whether no later try could send the same answer: its size or its form is at fault, and not the moment.
fn never_leaves(refused: &ClientError) -> bool {
    let ClientError::Refused(error) = refused else {
        return false;
    };
    let is_of_form = |reason: &Reason| UNFIT.contains(&reason.as_str());
    error.is_of_params() || error.reason().is_some_and(is_of_form)
}

/// An offer that the person's configuration does not allow, or makes itself, keeps nobody from handling what comes.
async fn offer_again(client: Client, offer: OfferCapability) -> Result<Client, Stopped> {
    let (client, offered) = try_call(client, offer).await?;
    if let Err(refused) = offered {
        say(&refused.to_string());
    }
    Ok(client)
}

fn refused_as(error: &ClientError) -> String {
    let ClientError::Refused(refused) = error else {
        return error.to_string();
    };
    let reason = refused.reason();
    reason.map_or_else(|| "invalid".to_owned(), |reason| reason.to_string())
}

/// Standard error is the log of a process that handles messages; when nobody reads it, the work goes on.
pub(crate) fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "{}", visible(what));
}

/// What the daemon says of an answer that no message holds (docs/protocol.md, section 10).
const UNFIT: [&str; 6] = [
    "too-large",
    "too-deep",
    "too-many-values",
    "duplicate-name",
    "number-out-of-range",
    "invalid-shape",
];
/// How long one call waits for what comes.
const WAIT: Duration = Duration::from_secs(30);
/// How long after its pause a message that failed here is waited for: another worker may have it by then.
const SLACK: Duration = Duration::from_millis(500);
/// How much longer a lease lasts than a try: for what is to be said of it.
const MARGIN: Duration = Duration::from_secs(30);
/// How long the daemon may take for what is its own to do.
const PROMPT: Duration = Duration::from_secs(30);
/// How long a daemon that is not there is left alone, the first time and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));
