//! `signet inbox --each`: a command handles each message, one after the other, and what it cannot
//! handle holds up nothing else.

use std::fs::{File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use signet_handlers::{Command, Environment};
use tokio::signal::unix::{SignalKind, signal};

use super::InboxArgs;
use super::round::Round;
use super::tries::Tries;
use crate::cli::ask::connect;
use crate::cli::{Exit, Failure};
use crate::home::Home;
use crate::lock::refuse_foreign;

pub(super) fn run(args: &InboxArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let place = Home::find(home.clone())?;
    refuse_foreign(&place)?;
    let tries = Tries::new(connect(home.clone(), Duration::ZERO)?);
    let _only = lock(&place)?;
    let handler = Command {
        command: args.command.clone(),
        home: Some(std::path::absolute(place.path()).map_err(no_room)?),
        timeout: seconds("--timeout", args.timeout)?,
        environment: Environment::Whole,
    };
    let pause = seconds("--retry-after", args.retry_after)?;
    let mut round = Round::new(tries, handler, pause);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().map_err(no_room)?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(no_room)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(no_room)?;
        let handle = async {
            match args.follow {
                true => round.follow(home).await,
                false => round.finish().await,
            }
        };
        tokio::select! {
            done = handle => done,
            // A try that is under way is killed, and counts.
            _ = interrupt.recv() => stopped(args.follow),
            _ = terminate.recv() => stopped(args.follow),
        }
    })
}

/// One handler a home: two would handle the same messages.
fn lock(home: &Home) -> Result<File, Failure> {
    let path = home.join("handler.lock");
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| {
        let what = format!("{}: {error}", path.display());
        Failure::file(&error, what, "see to the rights of the home")
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

fn stopped(follows: bool) -> Result<(), Failure> {
    match follows {
        true => Ok(()),
        false => Err(Failure::new(
            Exit::Waiting,
            "stopped before everything was handled",
            "the same command goes on from there",
        )),
    }
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

fn no_room(error: io::Error) -> Failure {
    let next = "free memory or threads, then try again";
    Failure::new(Exit::Refused, error, next)
}
