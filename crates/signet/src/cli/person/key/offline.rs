//! `signet key request`, `certify`, `install`: the root key stays on another machine.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use signet_json::Value;

use super::adopt::apply;
use super::{CliError, json_line, open, print, read_json};
use crate::cli::visible_lines;
use crate::clock;
use crate::home::Home;
use crate::keystore::{self, RootAnswer, RootRequest};

/// See `signet key certify --help`.
#[derive(Debug, Args)]
#[command(after_help = CERTIFY_EXAMPLE)]
pub(super) struct CertifyArgs {
    /// What `signet key request` printed on the agent's machine
    #[arg(value_name = "REQUEST")]
    request: PathBuf,
    /// The person's root key, or the next root key, which then takes over
    #[arg(long, value_name = "FILE")]
    root: PathBuf,
    /// The root key to commit to as the next one [default: as before]
    #[arg(long, value_name = "FILE")]
    next_root: Option<PathBuf>,
}

/// Public parts to standard output, what to compare to standard error.
pub(super) fn request(home: &Home) -> Result<(), CliError> {
    let (_, keys) = open(home)?;
    let request = keystore::request(home, &keys)?;
    tell(&format!(
        "asks to certify {} for {} of {}\n\
         next, on the machine with the root key: signet key certify request.json --root FILE > answer.json\n",
        request.signing_key.id(),
        keys.certificate.agent,
        keys.certificate.principal,
    ));
    print(&json_line(&request.to_value()))
}

pub(super) fn certify(args: &CertifyArgs) -> Result<(), CliError> {
    let request = RootRequest::parse(&read_json(&args.request)?).ok_or_else(|| {
        CliError::refused(
            format!("{} is no request, or was changed", args.request.display()),
            "carry the output of signet key request here, unchanged",
        )
    })?;
    let answer = request.certify(&args.root, args.next_root.as_deref(), clock::now())?;
    let new = &answer.certificate;
    tell(&format!(
        "certified: {} signs for {} of {}, serial {}, until {}\n\
         Compare the key with what signet key request said. next, on the agent's machine: signet key install answer.json\n",
        new.signing_key.id(),
        new.agent,
        new.principal,
        new.serial,
        new.not_after,
    ));
    print(&json_line(&answer.to_value()))
}

pub(super) fn install(home: &Home, file: &Path) -> Result<(), CliError> {
    let (config, keys) = open(home)?;
    let value = read_json(file)?;
    if value.get("type").and_then(Value::as_str) == Some("control") {
        let change = keystore::take_control(&keys, file)?;
        apply(home, &config, &change)?;
        return print("the control certificate is in use\n");
    }
    let answer = RootAnswer::parse(&value).ok_or_else(|| {
        CliError::refused(
            format!("{} is no answer, or was changed", file.display()),
            "carry the output of signet key certify here, unchanged",
        )
    })?;
    let keys = if keystore::is_installed(home, &keys, &answer)? {
        keys
    } else {
        let change = keystore::install(home, &keys, &answer, clock::now())?;
        apply(home, &config, &change)?
    };
    // Clear the request last: it holds the new secrets. Wherever this command is interrupted, the same answer can be
    // installed once more.
    keystore::clear_request(home)?;
    print(&format!(
        "the new signing key is {}\n  certified with serial {} until {}\n",
        keys.certificate.signing_key.id(),
        keys.certificate.serial,
        keys.certificate.not_after,
    ))
}

fn tell(text: &str) {
    // The error is ignored: even if standard error is closed, the output on standard output is whole without these words.
    let _ = anstream::stderr().write_all(visible_lines(text).as_bytes());
}

const CERTIFY_EXAMPLE: &str = "\
EXAMPLE:
  signet key certify request.json --root /media/stick/root.pem > answer.json";
