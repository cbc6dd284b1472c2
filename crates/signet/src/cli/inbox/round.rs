//! Which message is tried when: each as it comes, and what failed again after a pause that doubles.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use signet_api::{FollowInbox, Inbox, ListInbox, Name, Reason};
use signet_audit::visible;
use signet_handlers::Command;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::tries::{Start, Tries, is_refused};
use super::{Arrived, behind};
use crate::cli::ask::{connect, json_of, safe_json};
use crate::cli::{Exit, Failure};

/// How many messages that arrive may wait here; the rest waits in the inbox.
const QUEUE: usize = 16;
/// How often an inbox is asked again while its person's agents pause.
const PAUSED: Duration = Duration::from_secs(5);

/// Everything that one run knows.
pub(super) struct Round {
    tries: Tries,
    handler: Command,
    follows: bool,
    first_pause: Duration,
    /// What failed and is tried again: when, and how long the pause after that is.
    later: BTreeMap<(Instant, Name), (Duration, Arrived)>,
    /// The names of these.
    failed: HashSet<Name>,
    /// When the whole inbox is looked through again, after a pause of the person's.
    relist: Option<Instant>,
    /// How many messages went to the quarantine.
    set_aside: usize,
}

impl Round {
    /// A run that tries a failed message again after `first_pause`, then after twice that.
    pub(super) fn new(tries: Tries, handler: Command, first_pause: Duration) -> Self {
        Self {
            tries,
            handler,
            follows: false,
            first_pause,
            later: BTreeMap::new(),
            failed: HashSet::new(),
            relist: None,
            set_aside: 0,
        }
    }

    /// Goes on until everything that waits is handled, kept or put into the quarantine.
    pub(super) async fn finish(&mut self) -> Result<(), Failure> {
        let listed = self.tries.client.call(&ListInbox::default())?;
        self.take_all(listed).await?;
        while let Some(due) = self.due() {
            tokio::time::sleep_until(due).await;
            self.catch_up().await?;
        }
        match self.set_aside {
            0 => Ok(()),
            count => Err(Failure::new(
                Exit::Refused,
                format!("messages that could not be handled and are in the quarantine: {count}"),
                "signet quarantine list",
            )),
        }
    }

    /// Goes on with what arrives, until the daemon is gone.
    pub(super) async fn follow(&mut self, home: Option<PathBuf>) -> Result<(), Failure> {
        self.follows = true;
        loop {
            let (listed, arrived) = subscribe(home.clone())?;
            // Nothing is listed while the person's agents pause.
            self.relist = listed.is_none().then(|| Instant::now() + PAUSED);
            self.take_all(listed.unwrap_or_default()).await?;
            self.take_arrivals(arrived).await?;
        }
    }

    /// The daemon closes the connection when we are slow; what we missed waits in the inbox.
    async fn take_arrivals(&mut self, mut arrived: mpsc::Receiver<Arrived>) -> Result<(), Failure> {
        loop {
            let due = self.due();
            tokio::select! {
                biased;
                () = until(due) => self.catch_up().await?,
                next = arrived.recv() => match next {
                    Some(message) => self.take(message).await?,
                    None => return Ok(()),
                },
            }
        }
    }

    /// Takes what is listed, page by page.
    async fn take_all(&mut self, mut page: Inbox) -> Result<(), Failure> {
        while let Some(last) = page.messages.last().map(|last| last.number) {
            for waiting in page.messages {
                self.take(waiting.into()).await?;
                self.try_again().await?;
            }
            page = self.list(last)?;
        }
        Ok(())
    }

    /// What waits behind that number; nothing, and again later, while we follow and are paused.
    fn list(&mut self, after: u64) -> Result<Inbox, Failure> {
        match self.tries.client.call(&behind(after)) {
            Err(error) if self.follows && is_refused(&error, &Reason::Paused) => {
                self.relist = Some(Instant::now() + PAUSED);
                Ok(Inbox::default())
            }
            listed => Ok(listed?),
        }
    }

    /// Tries a message for the first time in this run.
    async fn take(&mut self, message: Arrived) -> Result<(), Failure> {
        let name = message.message.name();
        match self.failed.contains(&name) || self.tries.has_kept(&name) {
            true => Ok(()),
            false => self.attempt(message, self.first_pause).await,
        }
    }

    /// Does what is due.
    async fn catch_up(&mut self) -> Result<(), Failure> {
        if self.relist.is_some_and(|due| due <= Instant::now()) {
            self.relist = None;
            let listed = self.list(0)?;
            self.take_all(listed).await?;
        }
        self.try_again().await
    }

    async fn try_again(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        let is_due = |name: &(Instant, Name)| name.0 <= now;
        while let Some(next) = self.later.first_entry()
            && is_due(next.key())
        {
            let ((_, name), (pause, message)) = next.remove_entry();
            self.failed.remove(&name);
            self.attempt(message, pause).await?;
        }
        Ok(())
    }

    fn due(&self) -> Option<Instant> {
        let later = self.later.keys().next().map(|(due, _)| *due);
        later.into_iter().chain(self.relist).min()
    }

    /// One try: its line is durable before the command runs.
    async fn attempt(&mut self, message: Arrived, pause: Duration) -> Result<(), Failure> {
        let name = message.message.name();
        let (number, of) = match self.tries.start(&name)? {
            Start::Try(number, of) => (number, of),
            Start::Gone => return Ok(()),
            Start::Paused(error) if !self.follows => return Err(error.into()),
            Start::Paused(_) => {
                self.hold(name, PAUSED, (pause, message));
                return Ok(());
            }
            Start::SetAside => {
                self.note_set_aside(&name, "no try came to an end");
                return Ok(());
            }
        };
        let Some(reason) = self.run(&message, &name).await? else {
            return Ok(());
        };
        match self.tries.fail(&name, &reason)? {
            None => {}
            Some(true) => self.note_set_aside(&name, &reason),
            Some(false) => {
                let seconds = pause.as_secs_f64();
                say(
                    &name,
                    &format!("{reason}; try {number} of {of}, the next in {seconds} s"),
                );
                self.hold(name, pause, (pause.saturating_mul(2), message));
            }
        }
        Ok(())
    }

    /// Runs the command, and says how the try failed, when it did.
    async fn run(&mut self, arrived: &Arrived, name: &Name) -> Result<Option<String>, Failure> {
        let input = format!("{}\n", safe_json(&json_of(arrived)?));
        let message = &arrived.message;
        let ran = self.handler.run(input.as_bytes(), message.is_request());
        match ran.await {
            Ok(Ok(output)) => self.tries.conclude(message, &output),
            Ok(Err(fault)) => Ok(Some(fault.to_string())),
            Err(error) => {
                // No message has to suffer for it.
                self.tries.keep(name)?;
                let command = self.handler.command.first().cloned().unwrap_or_default();
                let what = format!("{} cannot be run: {error}", command.display());
                let next = "name a program that is there and may be executed, behind --";
                Err(Failure::new(Exit::Usage, what, next))
            }
        }
    }

    fn hold(&mut self, name: Name, pause: Duration, held: (Duration, Arrived)) {
        self.failed.insert(name.clone());
        self.later.insert((Instant::now() + pause, name), held);
    }

    fn note_set_aside(&mut self, name: &Name, reason: &str) {
        self.set_aside += 1;
        say(
            name,
            &format!("{reason}; it is in the quarantine: signet quarantine list"),
        );
    }
}

/// A connection of its own for what arrives, and what waits already.
fn subscribe(home: Option<PathBuf>) -> Result<(Option<Inbox>, mpsc::Receiver<Arrived>), Failure> {
    let mut client = connect(home, Duration::ZERO)?;
    let listed = client.call(&FollowInbox {})?;
    let (arrivals, arrived) = mpsc::channel(QUEUE);
    std::thread::spawn(move || {
        for notification in client.notifications() {
            let Ok(notification) = notification else {
                return;
            };
            let Some(arrived) = Arrived::of(notification) else {
                continue;
            };
            let Ok(arrived) = arrived else { return };
            if arrivals.blocking_send(arrived).is_err() {
                return;
            }
        }
    });
    Ok((listed, arrived))
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn say(name: &Name, what: &str) {
    let line = format!("{} from {}: {what}", name.message_id, name.from);
    anstream::eprintln!("{}", visible(&line));
}
