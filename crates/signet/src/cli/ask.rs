//! Asking the running daemon.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use signet_api::{Acknowledge, Decides, Message, Reason, Request, ShowPause};
use signet_proto::statement::{Asked, DecisionStatement};

use crate::cli::CliError;
use crate::cli::person::control_key::{ControlKey, control_of, foreign_key};
use crate::cli::print::json_of;
use crate::clock;
use crate::config::{Config, Sign};
use crate::control::{Client, ClientError};
use crate::daemon::{Serve, verify_decision};
use crate::home::Home;
use crate::lock::HomeLock;
use crate::memory::Memory;
use crate::reach::Reach;

/// How long the daemon may take for a call that waits for nobody else: on a slow disk, the line of the log that a
/// change needs can take seconds.
const PROMPT: Duration = Duration::from_secs(30);

/// A connection to the daemon of `home`; each call may wait `wait` for others besides.
pub(super) fn connect(home: Option<PathBuf>, wait: Duration) -> Result<Client, CliError> {
    connect_to(&Home::find(home)?, wait)
}

/// Connects to the daemon of a home that is found already.
pub(super) fn connect_to(home: &Home, wait: Duration) -> Result<Client, CliError> {
    let config = Config::load(home)?;
    Ok(Client::connect(&config.control_socket, PROMPT + wait)?)
}

/// The daemon at this control socket; `None` where none runs.
pub(super) fn daemon_at(socket: &Path) -> Result<Option<Client>, CliError> {
    match Client::connect(socket, PROMPT) {
        Ok(client) => Ok(Some(client)),
        Err(ClientError::NotReachable { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sends one call to the daemon of the home, and waits for its answer.
pub(super) fn ask<R: Request>(home: Option<PathBuf>, request: &R) -> Result<R::Answer, CliError> {
    Ok(connect(home, Duration::ZERO)?.call(request)?)
}

/// One call that changes something. Where the connection ends before the answer, the daemon may have done it: the
/// failure says so, and where to look.
pub(super) fn change<R: Request>(client: &mut Client, request: &R) -> Result<R::Answer, CliError> {
    client.call(request).map_err(|error| match error {
        ClientError::Refused(_) | ClientError::Stopped(_) | ClientError::NotReachable { .. } => {
            error.into()
        }
        lost => CliError::not_reachable(format!(
                "{}: {lost}; nobody can say here whether it was done",
                Reason::OutcomeUnknown
            ),
            "signet outbox  # look before you repeat it: what is on its way; what was sent: signet audit show",
        )
        .named(Reason::OutcomeUnknown.as_str()),
    })
}

/// Tells the daemon that an answer is read: until then it waits in the inbox.
pub(super) fn acknowledge(client: &mut Client, message: &Message) -> Result<(), CliError> {
    match client.call(&Acknowledge::of(vec![message.name()])) {
        Ok(_) => Ok(()),
        // The message has already left the inbox, for instance by `signet inbox --take`: that is as good as success.
        Err(ClientError::Refused(refused)) if refused.is(&Reason::NotWaiting) => Ok(()),
        // After any other refusal, such as `disk-full`, the message stays in the inbox and is shown again.
        Err(error) => Err(error.into()),
    }
}

/// The same for an answer that was `told`. An answer whose output nobody could read stays in the inbox. Otherwise the
/// command has done what it was asked for, so a daemon that cannot be told is no failure, only a line on standard error.
pub(super) fn acknowledge_read(client: &mut Client, answer: &Message, told: &Result<(), CliError>) {
    let is_unread = told.as_ref().is_err_and(CliError::is_unread);
    if !is_unread && acknowledge(client, answer).is_err() {
        anstream::eprintln!(
            "the daemon could not be told that the answer is read: it also stands in signet inbox"
        );
    }
}

/// A call to the daemon. Where none runs, this command locks the home and answers the call from its state.
pub(super) fn decide<R: Serve>(home: Option<PathBuf>, request: R) -> Result<R::Answer, CliError> {
    decide_in(&Home::find(home)?, request)
}

/// Decides in a home that is found already, as [`decide`] does.
pub(super) fn decide_in<R: Serve>(home: &Home, request: R) -> Result<R::Answer, CliError> {
    let config = Config::load(home)?;
    if let Some(mut client) = daemon_at(&config.control_socket)? {
        return change(&mut client, &request);
    }
    // No daemon answered above. If one has started since, it holds this lock: the command then fails, and does not decide
    // beside the daemon.
    let lock = HomeLock::acquire(home)?;
    let mut memory = Memory::open(&lock, &config)?;
    let at = clock::at();
    let call = request.clone().into();
    // Demand the signed decision that the daemon would demand: otherwise no signature would be needed
    // while the daemon is stopped.
    let signed = verify_decision(config.people_sign, &memory.node, at.now, &call);
    signed.map_err(ClientError::Refused)?;
    let served = request.serve(&mut memory.node.turn(at), &Reach::default());
    let (answer, outcome) = served.map_err(ClientError::Refused)?;
    memory.write(at.now, &outcome)?;
    Ok(answer)
}

/// A decision about trust, signed where the configuration asks for it.
pub(super) fn decide_signed<R: Serve + Decides>(
    home: &Home,
    request: R,
    key: &ControlKey,
) -> Result<R::Answer, CliError> {
    decide_in(home, signed(home, request, key)?)
}

/// The same request with the person's signature, where the configuration asks for it.
pub(super) fn signed<R: Serve + Decides>(
    home: &Home,
    request: R,
    key: &ControlKey,
) -> Result<R, CliError> {
    let config = Config::load(home)?;
    if config.people_sign == Sign::Nothing {
        return Ok(request);
    }
    // Ask the agent for its control certificate first: it takes only decisions that are signed with
    // the key in that certificate.
    let shown = decide_in(home, ShowPause {})?;
    let home = Some(home.path().to_owned());
    let (control, key) = control_of(shown.control.as_ref(), key, home)?;
    let asked = Asked {
        agent: &config.agent.agent,
        call: R::METHOD,
        params: &json_of(&request)?,
    };
    let said = DecisionStatement::sign(asked, clock::now(), &control, &key);
    let said = said.map_err(|_| foreign_key())?;
    Ok(request.with_decision(Some(said.to_value())))
}

/// A request that somebody wrote into a file.
pub(super) fn read_as<R: Request>(value: &Value) -> Result<R, CliError> {
    let read = R::parse(value.clone().into());
    read.map_err(|error| ClientError::Refused(error).into())
}
