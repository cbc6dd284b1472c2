//! The person's control key, and `signet pause` and `signet resume`.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use signet_api::{ShowPause, TellPause};
use signet_proto::certificate::ControlCertificate;
use signet_proto::keys::SigningKey;
use signet_proto::statement::PauseStatement;

use super::ask::{decide, print_json};
use super::{Exit, Failure, print};
use crate::clock;
use crate::home::Home;
use crate::keystore::{CONTROL, read_signing_key};

/// Where the control key is.
#[derive(Debug, Default, Args)]
pub(super) struct ControlKey {
    /// The person's control key [default: keys/control.pem in the home]
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
}

/// See `signet pause --help` and `signet resume --help`.
#[derive(Debug, Args)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    control: ControlKey,
    /// Print what was done as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn pause(args: &PauseArgs, home: Option<PathBuf>, paused: bool) -> Result<(), Failure> {
    let state = decide(home.clone(), ShowPause {})?;
    let (control, key) = control_of(state.control.as_ref(), &args.control, home.clone())?;
    let now = clock::now();
    let since_epoch = u64::try_from(now.as_millis() / 1000).unwrap_or_default();
    let serial = since_epoch.max(state.serial.saturating_add(1));
    let signed = PauseStatement::sign(paused, serial, now, &control, &key);
    let signed = signed.map_err(|_| foreign_key())?;
    let told = TellPause {
        statement: signed.to_value().clone(),
        control: control.to_value().clone(),
    };
    let state = decide(home, told)?;
    if args.json {
        return print_json(&state);
    }
    print(&match paused {
        true => format!(
            "the agents of {} pause: none is handed a message, and none sends one\n  \
               those that this agent knows are told as soon as they are reached\n  next: signet resume  # when they are to go on\n",
            control.principal
        ),
        false => format!(
            "the agents of {} go on; messages that wait in this inbox: {}\n",
            control.principal, state.waiting
        ),
    })
}

/// The control certificate that the daemon goes by, and the key that it names.
pub(super) fn control_of(
    control: Option<&Value>,
    key: &ControlKey,
    home: Option<PathBuf>,
) -> Result<(ControlCertificate, SigningKey), Failure> {
    let control = control.and_then(|control| ControlCertificate::parse(control).ok());
    let control = control.ok_or_else(|| {
        Failure::new(
            Exit::Refused,
            "there is no control certificate, so nobody can approve or pause",
            "make it with the person's root key: signet key rotate control --root FILE",
        )
    })?;
    let key = read_control_key(key, home)?;
    match *key.public() == control.control_key {
        true => Ok((control, key)),
        false => Err(foreign_key()),
    }
}

fn read_control_key(key: &ControlKey, home: Option<PathBuf>) -> Result<SigningKey, Failure> {
    if let Some(path) = &key.key {
        return Ok(read_signing_key(path)?);
    }
    let path = Home::find(home)?.key_file(CONTROL);
    match path.exists() {
        true => Ok(read_signing_key(&path)?),
        false => Err(Failure::new(
            Exit::Usage,
            format!("the person's control key is not at {}", path.display()),
            "say where it is kept, such as --key /media/stick/control.pem",
        )),
    }
}

pub(super) fn foreign_key() -> Failure {
    Failure::new(
        Exit::Refused,
        "statement-invalid: this is not the control key that the person's root key certified",
        "name the right one with --key; signet key show says which it is",
    )
}
