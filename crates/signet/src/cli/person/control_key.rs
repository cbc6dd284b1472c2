//! The person's control key: where it is, and what it is held against.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use signet_proto::certificate::ControlCertificate;
use signet_proto::keys::SigningKey;

use crate::cli::CliError;
use crate::home::Home;
use crate::keystore::{CONTROL, read_signing_key};

/// Where the control key is.
#[derive(Debug, Default, Args)]
pub(crate) struct ControlKey {
    /// The person's control key [default: keys/control.pem in the home]
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

/// The control certificate that the daemon goes by, and the key that it names.
pub(crate) fn control_of(
    control: Option<&Value>,
    key: &ControlKey,
    home: Option<PathBuf>,
) -> Result<(ControlCertificate, SigningKey), CliError> {
    let control = control.and_then(|control| ControlCertificate::parse(control).ok());
    let control = control.ok_or_else(|| {
        CliError::refused(
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

fn read_control_key(key: &ControlKey, home: Option<PathBuf>) -> Result<SigningKey, CliError> {
    if let Some(path) = &key.key {
        return Ok(read_signing_key(path)?);
    }
    let path = Home::find(home)?.key_file(CONTROL);
    match path.exists() {
        true => Ok(read_signing_key(&path)?),
        false => Err(CliError::usage(
            format!("the person's control key is not at {}", path.display()),
            "say where it is kept, such as --key /media/stick/control.pem",
        )),
    }
}

pub(crate) fn foreign_key() -> CliError {
    CliError::refused(
        "statement-invalid: this is not the control key that the person's root key certified",
        "name the right one with --key; signet key show says which it is",
    )
}
