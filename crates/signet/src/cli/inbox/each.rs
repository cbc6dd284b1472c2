//! `signet inbox --each`: a command handles each message, one after the other, and what it cannot
//! handle holds up nothing else.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use signet_audit::visible;
use signet_proto::json::{self, Limits};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::InboxArgs;
use super::handler::Handler;
use crate::cli::ask::{acknowledge, connect, safe_json, text};
use crate::cli::{Exit, Failure};
use crate::control::{Client, ClientError};
use crate::home::Home;

/// How many messages that arrive may wait here; the rest waits in the inbox.
const QUEUE: usize = 16;
/// How often an inbox is asked again whose agents pause.
const PAUSED: Duration = Duration::from_secs(5);
/// How many handled messages that stay in the inbox are remembered: more than it holds.
const KEPT: usize = 50_000;

pub(super) fn run(args: &InboxArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let place = Home::find(home.clone())?;
    let _only = lock(&place)?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().map_err(no_room)?;
    let mut round = Round {
        client: connect(home.clone(), Duration::ZERO)?,
        handler: Handler {
            command: args.command.clone(),
            home: std::path::absolute(place.path()).map_err(no_room)?,
            timeout: seconds("--timeout", args.timeout)?,
        },
        home,
        follows: args.follow,
        first_pause: seconds("--retry-after", args.retry_after)?,
        later: Vec::new(),
        relist: None,
        kept: HashSet::new(),
        set_aside: 0,
    };
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(no_room)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(no_room)?;
        tokio::select! {
            done = round.run() => done,
            // A try that is under way is killed, and counts.
            _ = interrupt.recv() => stopped(args.follow),
            _ = terminate.recv() => stopped(args.follow),
        }
    })
}

/// Everything that one run knows.
struct Round {
    client: Client,
    handler: Handler,
    home: Option<PathBuf>,
    follows: bool,
    first_pause: Duration,
    /// What failed and is tried again.
    later: Vec<Later>,
    /// When the whole inbox is looked through again, after a pause of the person's.
    relist: Option<Instant>,
    /// What is handled and stays in the inbox, for an answer.
    kept: HashSet<Name>,
    /// How many messages went to the quarantine.
    set_aside: usize,
}

/// A message that is tried again.
struct Later {
    due: Instant,
    /// How long the pause before it is.
    pause: Duration,
    message: Value,
}

/// Who sent it, and its message-id.
type Name = (String, String);

impl Round {
    async fn run(&mut self) -> Result<(), Failure> {
        if self.follows {
            loop {
                self.follow().await?;
            }
        }
        let listed = self.client.call("inbox.list", &json!({}))?;
        self.take_all(listed).await?;
        while let Some(due) = self.due() {
            tokio::time::sleep_until(due).await;
            self.catch_up().await?;
        }
        match self.set_aside {
            0 => Ok(()),
            count => Err(Failure::new(
                Exit::Refused,
                format!("messages that could not be handled and are set aside: {count}"),
                "signet quarantine list",
            )),
        }
    }

    /// Follows until the daemon closes the connection: it does so when we are slow, and what we
    /// missed waits in the inbox.
    async fn follow(&mut self) -> Result<(), Failure> {
        let (listed, mut arrived) = subscribe(self.home.clone())?;
        // Nothing is listed while the person's agents pause.
        self.relist = listed.is_null().then(|| Instant::now() + PAUSED);
        self.take_all(listed).await?;
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
    async fn take_all(&mut self, listed: Value) -> Result<(), Failure> {
        let mut page = listed;
        loop {
            let messages = match page.get_mut("messages").map(Value::take) {
                Some(Value::Array(messages)) => messages,
                _ => return Ok(()),
            };
            let last = messages.last().and_then(|last| last.get("number"));
            let Some(last) = last.and_then(Value::as_u64) else {
                return Ok(());
            };
            for message in messages {
                self.take(message).await?;
                self.catch_up().await?;
            }
            page = match self.client.call("inbox.list", &json!({ "after": last })) {
                Err(error) if self.follows && is_refused(&error, "paused") => {
                    self.relist = Some(Instant::now() + PAUSED);
                    return Ok(());
                }
                page => page?,
            };
        }
    }

    /// Tries a message for the first time in this run.
    async fn take(&mut self, message: Value) -> Result<(), Failure> {
        let name = name_of(&message);
        let waits = self
            .later
            .iter()
            .any(|later| name_of(&later.message) == name);
        match waits || self.kept.contains(&name) {
            true => Ok(()),
            false => self.attempt(message, self.first_pause).await,
        }
    }

    /// Tries again what is due.
    async fn catch_up(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        if self.relist.is_some_and(|due| due <= now) {
            self.relist = None;
            match self.client.call("inbox.list", &json!({})) {
                Err(error) if is_refused(&error, "paused") => self.relist = Some(now + PAUSED),
                listed => Box::pin(self.take_all(listed?)).await?,
            }
        }
        let is_due = |later: &Later| later.due <= now;
        while let Some(index) = self.later.iter().position(is_due) {
            let Later { message, pause, .. } = self.later.swap_remove(index);
            self.attempt(message, pause).await?;
        }
        Ok(())
    }

    fn due(&self) -> Option<Instant> {
        let later = self.later.iter().map(|later| later.due);
        later.chain(self.relist).min()
    }

    /// One try: its line is durable before the command runs.
    async fn attempt(&mut self, message: Value, pause: Duration) -> Result<(), Failure> {
        let name = name_of(&message);
        let started = match self.client.call("inbox.start", &params(&name)) {
            // Somebody else has answered or taken it.
            Err(error) if is_refused(&error, "not-waiting") => return Ok(()),
            Err(error) if self.follows && is_refused(&error, "paused") => {
                let due = Instant::now() + PAUSED;
                self.later.push(Later {
                    due,
                    pause,
                    message,
                });
                return Ok(());
            }
            started => started?,
        };
        let Some(number) = started.get("try").and_then(Value::as_u64) else {
            self.note_set_aside(&name, "five tries began, and none came to an end");
            return Ok(());
        };
        let input = format!("{}\n", safe_json(&message));
        let answers = text(&message, "type") == "request";
        let failed = match self.handler.run(input.as_bytes(), answers).await {
            Err(error) => return self.give_up(&name, &error),
            Ok(Ok(answer)) => self.conclude(&message, &name, &answer)?,
            Ok(Err(reason)) => Some(reason),
        };
        match failed {
            None => Ok(()),
            Some(reason) => self.fail(message, &name, (number, &reason), pause),
        }
    }

    /// What a try that ended well brings about; how it failed after all, when it did.
    fn conclude(
        &mut self,
        message: &Value,
        name: &Name,
        answer: &[u8],
    ) -> Result<Option<String>, Failure> {
        match text(message, "type") {
            "request" if !answer.trim_ascii().is_empty() => self.answer(name, answer),
            "request" | "handoff" => self.keep(name).map(|()| None),
            _ => acknowledge(&mut self.client, message).map(|()| None),
        }
    }

    fn answer(&mut self, name: &Name, answer: &[u8]) -> Result<Option<String>, Failure> {
        let Ok(body) = json::parse(answer, Limits::MESSAGE) else {
            return Ok(Some("its answer is not JSON".to_owned()));
        };
        let reply = json!({"message-id": name.1, "from": name.0, "body": body});
        match self.client.call("reply", &reply) {
            // An answer that waits for a person's approval leaves the request where it is.
            Ok(_) => {}
            Err(error) if SETTLED.iter().any(|reason| is_refused(&error, reason)) => {}
            Err(ClientError::Refused(refusal)) => {
                let reason = refusal.data.as_ref().and_then(|data| data.get("reason"));
                let reason = reason.and_then(Value::as_str).unwrap_or("invalid");
                return Ok(Some(format!("its answer was refused: {reason}")));
            }
            Err(error) => return Err(error.into()),
        }
        self.keep(name).map(|()| None)
    }

    /// Notes that a message which still waits is handled.
    fn keep(&mut self, name: &Name) -> Result<(), Failure> {
        match self.client.call("inbox.keep", &params(name)) {
            Ok(_) => {
                if self.kept.len() >= KEPT {
                    self.kept.clear();
                }
                self.kept.insert(name.clone());
                Ok(())
            }
            // It is answered, by this try or by a person.
            Err(ClientError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn fail(
        &mut self,
        message: Value,
        name: &Name,
        (number, reason): (u64, &str),
        pause: Duration,
    ) -> Result<(), Failure> {
        let failed = json!({"from": name.0, "message-id": name.1, "reason": reason});
        let failed = match self.client.call("inbox.fail", &failed) {
            Err(ClientError::Refused(_)) => return Ok(()),
            failed => failed?,
        };
        if failed.get("quarantined").and_then(Value::as_bool) == Some(true) {
            self.note_set_aside(name, reason);
            return Ok(());
        }
        say(
            name,
            &format!(
                "{reason}; try {number} of 5, the next in {} s",
                pause.as_secs_f64()
            ),
        );
        let due = Instant::now() + pause;
        let pause = pause.saturating_mul(2);
        self.later.push(Later {
            due,
            pause,
            message,
        });
        Ok(())
    }

    fn note_set_aside(&mut self, name: &Name, reason: &str) {
        self.set_aside += 1;
        say(
            name,
            &format!("{reason}; set aside: signet quarantine list"),
        );
    }

    /// The command itself is at fault, and no message has to suffer for it.
    fn give_up(&mut self, name: &Name, error: &std::io::Error) -> Result<(), Failure> {
        self.keep(name)?;
        let command = self.handler.command.first().cloned().unwrap_or_default();
        Err(Failure::new(
            Exit::Usage,
            format!("{} cannot be run: {error}", command.display()),
            "name a program that is there and may be executed, behind --",
        ))
    }
}

/// A connection of its own for what arrives, and what waits already.
fn subscribe(home: Option<PathBuf>) -> Result<(Value, mpsc::Receiver<Value>), Failure> {
    let mut client = connect(home, Duration::ZERO)?;
    let listed = client.call("inbox.follow", &json!({}))?;
    let (arrivals, arrived) = mpsc::channel(QUEUE);
    std::thread::spawn(move || {
        for notification in client.notifications() {
            let Ok(notification) = notification else {
                return;
            };
            if arrivals.blocking_send(notification.params).is_err() {
                return;
            }
        }
    });
    Ok((listed, arrived))
}

/// One handler a home: two would handle the same messages.
fn lock(home: &Home) -> Result<File, Failure> {
    let path = home.join("handler.lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let file = file.map_err(|error| {
        let what = format!("{}: {error}", path.display());
        Failure::new(
            Exit::Usage,
            what,
            "signet init makes a home; --home names another",
        )
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::new(
            Exit::Refused,
            "another signet inbox --each handles the messages of this home",
            "stop it first",
        )),
        Err(TryLockError::Error(error)) => Err(no_room(error)),
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn stopped(follows: bool) -> Result<(), Failure> {
    match follows {
        true => Ok(()),
        false => Err(Failure::new(
            Exit::Refused,
            "stopped before everything was handled",
            "the same command goes on from there",
        )),
    }
}

fn name_of(message: &Value) -> Name {
    let member = |name| text(message, name).to_owned();
    (member("from"), member("message-id"))
}

fn params((from, message_id): &Name) -> Value {
    json!({"from": from, "message-id": message_id})
}

fn is_refused(error: &ClientError, name: &str) -> bool {
    let ClientError::Refused(refusal) = error else {
        return false;
    };
    let reason = refusal.data.as_ref().and_then(|data| data.get("reason"));
    reason.is_some_and(|reason| reason == name)
}

fn say((from, message_id): &Name, what: &str) {
    anstream::eprintln!("{}", visible(&format!("{message_id} from {from}: {what}")));
}

fn seconds(option: &str, number: f64) -> Result<Duration, Failure> {
    let longest = Duration::from_secs(24 * 3600);
    let seconds = Duration::try_from_secs_f64(number).ok();
    seconds
        .filter(|seconds| *seconds <= longest)
        .ok_or_else(|| {
            let what = format!("{option} is not a number of seconds up to a day");
            Failure::new(Exit::Usage, what, format!("give for example {option} 10"))
        })
}

fn no_room(error: std::io::Error) -> Failure {
    Failure::new(
        Exit::Refused,
        error,
        "free memory or threads, then try again",
    )
}

/// The request wants no answer of this try any more.
const SETTLED: [&str; 2] = ["not-waiting", "answer-waits"];
