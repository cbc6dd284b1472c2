//! One of those that work off what comes: it receives, lets its handler try, and says how that ended.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use signet_api::{Client, ClientError, Failed, Leased, ListInbox, OfferCapability, Receive};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::absence::Absence;
use crate::call::{Stopped, blocking, call, try_call};
use crate::ending::{Ending, say};
use crate::teller::pass_on;
use crate::{Attempt, Done, Fault, Handler, Teller};

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
    // Do not wait for the threads that block in a call to the daemon: most wait for new messages there. A call that is cut off
    // loses no message, since the message comes back when its lease ends.
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
            match self.serve(&mut pause).await {
                Err(Stopped::Daemon(error)) if !self.once => {
                    let seconds = pause.as_secs_f32();
                    say(&format!("{error}; trying again in {seconds} s"));
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(PAUSES.1);
                }
                ended => return ended,
            }
        }
    }

    /// One connection. An answer of the daemon on it shows that it was not away: `pause` is the first one again.
    async fn serve(&mut self, pause: &mut Duration) -> Result<usize, Stopped> {
        let (mut absent, mut shift) = (Absence::default(), Shift::default());
        // Wait until the handler can begin before the capability is offered: otherwise nobody would handle the requests that
        // come of the offer.
        self.ready(&mut absent).await?;
        let socket = self.socket.clone();
        // The timeout is longer than WAIT: a call waits up to WAIT for messages, and the daemon then needs time to answer.
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
                // Ask for one message at a time (`None`): a second message would use up its lease while the first is still
                // being handled.
                limit: None,
            };
            let (back, received) = call(client, receive).await?;
            client = back;
            *pause = PAUSES.0;
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
        let attempt = Attempt::of(leased, &teller);
        let line = Mutex::new(Some(client));
        let trying = tokio::time::timeout(self.timeout, self.handler.handle(&attempt));
        let mut telling = pin!(pass_on(&line, leased, words));
        let tried = tokio::select! {
            tried = trying => tried,
            Err(stopped) = &mut telling => return Err(stopped),
        };
        // The connection takes one call at a time: wait until a progress message that is just being sent is done.
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
                // The message is no request, so nobody waits for an answer: it does not matter that the answer cannot be sent.
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

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

/// An offer that the person's configuration does not allow, or makes itself, keeps nobody from handling what comes.
async fn offer_again(client: Client, offer: OfferCapability) -> Result<Client, Stopped> {
    let (client, offered) = try_call(client, offer).await?;
    if let Err(refused) = offered {
        say(&refused.to_string());
    }
    Ok(client)
}

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

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::Trying;

    struct Nobody;

    impl Handler for Nobody {
        fn handle<'a>(&'a mut self, _attempt: &'a Attempt<'a>) -> Trying<'a> {
            Box::pin(async { Ok(Done::Nothing) })
        }
    }

    #[tokio::test]
    async fn a_daemon_that_served_well_and_goes_is_waited_for_as_if_for_the_first_time() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("agent.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        std::thread::spawn(move || {
            for answers in [0, 1] {
                let (stream, _) = listener.accept().unwrap();
                let calls = BufReader::new(stream.try_clone().unwrap()).lines();
                for call in calls.take(answers) {
                    let id = call.unwrap().rsplit_once("\"id\":").unwrap().1.to_owned();
                    let id = id.split([',', '}']).next().unwrap();
                    let answer = format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"messages\":[]}}}}\n"
                    );
                    (&stream).write_all(answer.as_bytes()).unwrap();
                }
            }
        });
        let mut worker = Worker {
            socket,
            handler: Box::new(Nobody),
            timeout: WAIT,
            capabilities: None,
            offer: None,
            retry_after: None,
            once: false,
            stops: false,
        };
        for (served, next) in [(false, PAUSES.1), (true, PAUSES.0)] {
            let mut pause = PAUSES.1;
            let ended = worker.serve(&mut pause).await;
            assert!(matches!(ended, Err(Stopped::Daemon(_))), "{ended:?}");
            assert_eq!(pause, next, "{served}");
        }
    }
}
