//! `signet pause` and `signet resume`.

use std::path::PathBuf;

use clap::Args;
use signet_api::{Pausing, ShowPause, TellPause};
use signet_proto::ids::PrincipalId;
use signet_proto::statement::PauseStatement;

use crate::cli::CliError;
use crate::cli::ask::decide;
use crate::cli::person::control_key::{ControlKey, control_of, foreign_key};
use crate::cli::print::print_as;
use crate::clock;

/// See `signet pause --help` and `signet resume --help`.
#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    control: ControlKey,
    /// Print what was done as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn pause(args: &PauseArgs, home: Option<PathBuf>, paused: bool) -> Result<(), CliError> {
    let (state, person) = tell(home, &args.control, paused)?;
    print_as(args.json, &state, || match paused {
        true => format!(
            "the agents of {person} pause: none is handed a message, and none sends one\n  \
               those that this agent knows are told as soon as they are reached\n  next: signet resume  # when they are to go on\n",
        ),
        false => format!(
            "the agents of {person} go on; messages that wait in this inbox: {}\n",
            state.waiting
        ),
    })
}

/// Signs the order and hands it in: how it stands then, and whose agents it is about.
pub(crate) fn tell(
    home: Option<PathBuf>,
    key: &ControlKey,
    paused: bool,
) -> Result<(Pausing, PrincipalId), CliError> {
    let state = decide(home.clone(), ShowPause {})?;
    let (control, key) = control_of(state.control.as_ref(), key, home.clone())?;
    let now = clock::now();
    let since_epoch = u64::try_from(now.as_millis() / 1000).unwrap_or_default();
    // A pause or resume counts only if its serial is higher than the last one's. Another agent of this person may
    // have had an order since whose serial, taken from the clock, this agent does not know: so take the clock's
    // seconds if they are higher.
    let serial = since_epoch.max(state.serial.saturating_add(1));
    let signed = PauseStatement::sign(paused, serial, now, &control, &key);
    let signed = signed.map_err(|_| foreign_key())?;
    let told = TellPause {
        statement: signed.to_value(),
        control: control.to_value(),
    };
    Ok((decide(home, told)?, control.principal))
}
