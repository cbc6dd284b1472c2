//! One of those that work off what comes: it receives, lets its handler try, and says how that ended.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use signet_api::{
    AcknowledgeLease, Client, ClientError, Fail, Leased, OfferCapability, Reason, Receive, Reply,
    Request, Respond,
};
use signet_text::visible;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;

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
    /// Whether it ends when nothing waits.
    pub once: bool,
    /// Whether a handler that cannot be started ends it: no message has to suffer for that.
    pub stops: bool,
}

/// Lets all of them work, until the last has ended, one of them stops, or the process is told to end. A try that is under
/// way then is cut short, and counts.
///
/// # Errors
/// When the system has no room; the inner error says why a worker stopped.
pub fn work_all(workers: Vec<Worker>) -> io::Result<Result<(), Stopped>> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    let ended = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut working: FuturesUnordered<_> = workers.into_iter().map(Worker::work).collect();
        let handle = async {
            while let Some(ended) = working.next().await {
                ended?;
            }
            Ok(())
        };
        Ok(tokio::select! {
            done = handle => done,
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
        })
    });
    // A call that waits for what comes has nothing to lose.
    runtime.shutdown_background();
    ended
}

impl Worker {
    /// Goes on until nothing waits, or for ever.
    ///
    /// # Errors
    /// `Unusable` where `stops`, `Daemon` where `once`.
    pub async fn work(mut self) -> Result<(), Stopped> {
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

    async fn serve(&mut self) -> Result<(), Stopped> {
        let mut absent = Absence::default();
        // What nothing serves is not offered either.
        self.ready(&mut absent).await?;
        let socket = self.socket.clone();
        let mut client = blocking(move || Client::connect(&socket, PROMPT + WAIT)).await?;
        if let Some(offer) = self.offer.clone() {
            client = offer_again(client, offer).await?;
        }
        let receive = Receive {
            capabilities: self.capabilities.clone(),
            wait: if self.once { 0.0 } else { WAIT.as_secs_f64() },
            lease: Some((self.timeout + MARGIN).as_secs_f64()),
            limit: None,
        };
        loop {
            self.ready(&mut absent).await?;
            let (back, received) = call(client, receive.clone()).await?;
            client = back;
            let Some(leased) = received.messages.into_iter().next() else {
                match self.once {
                    true => return Ok(()),
                    false => continue,
                }
            };
            let (back, fault) = self.attempt(client, leased).await?;
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
        leased: Leased,
    ) -> Result<(Client, Option<Fault>), Stopped> {
        let (teller, words) = Teller::new();
        let task = Task::of(&leased, &teller);
        let line = Mutex::new(Some(client));
        let trying = tokio::time::timeout(self.timeout, self.handler.handle(&task));
        let mut telling = pin!(pass_on(&line, &leased, words));
        let tried = tokio::select! {
            tried = trying => tried,
            Err(stopped) = &mut telling => return Err(stopped),
        };
        // A word that is on its way first comes to its end: the connection takes one call at a time.
        let client = tokio::select! {
            mut free = line.lock() => free.take(),
            Err(stopped) = &mut telling => return Err(stopped),
        };
        let client = client.ok_or(ClientError::Closed)?;
        let fault = match tried.unwrap_or(Err(Fault::TimedOut)) {
            Ok(done) => return Ok((conclude(client, &leased, done).await?, None)),
            Err(fault @ Fault::CannotStart(_)) => {
                let client = give_back(client, &leased, &fault).await?;
                if self.stops {
                    return Err(Stopped::Unusable(fault));
                }
                return Ok((client, Some(fault)));
            }
            Err(fault @ Fault::Unsendable(_)) => {
                let client = match leased.message.is_request() {
                    true => end_unsendable(client, &leased, &fault.to_string()).await?,
                    // Nobody asked: what was answered would be thrown away in any case.
                    false => conclude(client, &leased, Done::Nothing).await?,
                };
                return Ok((client, None));
            }
            Err(fault) => fault,
        };
        let client = fail(client, &leased, fault.to_string()).await?;
        Ok((client, Some(fault)))
    }
}

/// The daemon hears how a try went that did not fail.
async fn conclude(client: Client, leased: &Leased, done: Done) -> Result<Client, Stopped> {
    let asks = leased.message.is_request();
    match done {
        Done::Answer(body) if asks => respond(client, leased, body).await,
        Done::Declined(text) if asks => decline(client, leased, text, None).await,
        Done::Unfinished { text, body } if asks => decline(client, leased, text, Some(body)).await,
        _ => {
            let done = AcknowledgeLease {
                lease: leased.lease.clone(),
                keep: asks || leased.message.is_handoff(),
            };
            tell(client, leased, done).await
        }
    }
}

async fn respond(client: Client, leased: &Leased, body: Value) -> Result<Client, Stopped> {
    let answer = Respond {
        lease: Some(leased.lease.clone()),
        body,
        ..Respond::default()
    };
    match try_call(client, answer).await? {
        (client, Ok(_)) => Ok(client),
        (client, Err(refused)) => {
            let reason = format!("its answer was refused: {}", refused_as(&refused));
            match never_leaves(&refused) {
                true => end_unsendable(client, leased, &reason).await,
                false => fail(client, leased, reason).await,
            }
        }
    }
}

/// Whether no later try could send the same answer: its size or its form is at fault, and not the moment.
fn never_leaves(refused: &ClientError) -> bool {
    let ClientError::Refused(error) = refused else {
        return false;
    };
    let is_of_form = |reason: &Reason| UNFIT.contains(&reason.as_str());
    error.is_of_params() || error.reason().is_some_and(is_of_form)
}

/// The request ends where its answer can never be sent: more tries would do the work again, and come to the same.
async fn end_unsendable(client: Client, leased: &Leased, why: &str) -> Result<Client, Stopped> {
    say(&format!("{}: {why}", named(leased)));
    let body = json!({ "state": "failed" });
    decline(
        client,
        leased,
        format!("it was handled, and its answer cannot be sent: {why}"),
        Some(body),
    )
    .await
}

/// What never began is no try: the message waits for the next one.
async fn give_back(client: Client, leased: &Leased, fault: &Fault) -> Result<Client, Stopped> {
    let reason = fault.to_string();
    say(&format!("{}: {reason}", named(leased)));
    let lease = leased.lease.clone();
    let fail = Fail {
        lease,
        reason,
        unbegun: true,
    };
    tell(client, leased, fail).await
}

async fn decline(
    client: Client,
    leased: &Leased,
    text: String,
    body: Option<Value>,
) -> Result<Client, Stopped> {
    let answer = |body| Reply {
        message_id: leased.message.message_id.clone(),
        from: Some(leased.message.from.clone()),
        decline: Some(text.clone()),
        body,
        ..Reply::default()
    };
    let is_more = body.is_some();
    let (mut client, mut told) = try_call(client, answer(body)).await?;
    // The words are what its sender waits for; what stands beside them may be too large for a message.
    if is_more && told.as_ref().is_err_and(never_leaves) {
        (client, told) = try_call(client, answer(None)).await?;
    }
    match told {
        Ok(_) => Ok(client),
        Err(refused) => {
            let reason = format!("its refusal was refused: {}", refused_as(&refused));
            fail(client, leased, reason).await
        }
    }
}

async fn fail(client: Client, leased: &Leased, reason: String) -> Result<Client, Stopped> {
    say(&format!("{}: {reason}", named(leased)));
    let lease = leased.lease.clone();
    let fail = Fail {
        lease,
        reason,
        unbegun: false,
    };
    tell(client, leased, fail).await
}

/// Says how a try ended. A lease that has ended meanwhile is somebody else's.
async fn tell<R>(client: Client, leased: &Leased, said: R) -> Result<Client, Stopped>
where
    R: Request + Send + 'static,
    R::Answer: Send,
{
    let (client, said) = try_call(client, said).await?;
    if let Err(refused) = said {
        say(&format!("{}: {refused}", named(leased)));
    }
    Ok(client)
}

fn named(leased: &Leased) -> String {
    format!("{} from {}", leased.message.message_id, leased.message.from)
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
    match error {
        ClientError::Refused(refused) => refused
            .reason()
            .map_or_else(|| "invalid".to_owned(), |reason| reason.to_string()),
        other => other.to_string(),
    }
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
/// How much longer a lease lasts than a try: for what is to be said of it.
const MARGIN: Duration = Duration::from_secs(30);
/// How long the daemon may take for what is its own to do.
const PROMPT: Duration = Duration::from_secs(30);
/// How long a daemon that is not there is left alone, the first time and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));
