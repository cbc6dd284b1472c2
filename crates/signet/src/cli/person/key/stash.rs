//! `signet key stash`: the person's keys go to a stick, and the agent goes on without them.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{CliError, open, print};
use crate::cli::Exit;
use crate::hint;
use crate::home::Home;
use crate::keystore::{self, AUDIT, CONTROL, ROOT, StashError};

/// See `signet key stash --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct StashArgs {
    /// A directory on the stick, which nobody else may write
    #[arg(value_name = "DIR")]
    to: PathBuf,
}

pub(super) fn run(args: &StashArgs, home: &Home) -> Result<(), CliError> {
    open(home)?;
    let moved = keystore::stash(home, &args.to).map_err(|error| refused(error, &args.to))?;
    let to = args.to.canonicalize().unwrap_or_else(|_| args.to.clone());
    let mut said = format!(
        "moved to {}, read back and compared: {}\n",
        to.display(),
        moved.join(", ")
    );
    said.push_str("left in the home: signing.pem and sealing.pem, the agent's own, with which it goes on; control.json is at both\n");
    let at = |name: &str| hint::word(&to.join(name));
    let has = |name: &str| moved.iter().any(|moved| moved == name);
    let mut uses = Vec::new();
    if has(CONTROL) {
        uses.push(format!(
            "signet approve DRAFT --key {}  # so do pause, resume and trust",
            at(CONTROL)
        ));
    }
    if has(CONTROL) && has(AUDIT) {
        uses.push(format!(
            "signet view --key {} --audit-key {}",
            at(CONTROL),
            at(AUDIT)
        ));
    }
    if has(AUDIT) {
        uses.push(format!("signet audit open --key {} LOG", at(AUDIT)));
    }
    if has(ROOT) {
        uses.push(format!("signet key rotate signing --root {}", at(ROOT)));
    }
    for command in &uses {
        said.push_str(&format!("next     {command}\n"));
    }
    said.push_str(&format!(
        "Make a second copy of {}, and keep it elsewhere: nobody makes these keys again.\n",
        to.display()
    ));
    if is_on_one_disk(&to, home.path()) {
        said.push_str("warning: this is the file system that the home is on; whoever gets this machine gets the keys as well\n");
    }
    print(&said)
}

fn is_on_one_disk(to: &Path, home: &Path) -> bool {
    let disk = |path: &Path| path.metadata().map(|facts| facts.dev()).ok();
    disk(to).is_some() && disk(to) == disk(home)
}

fn refused(error: StashError, to: &Path) -> CliError {
    let word = hint::word(to);
    let error = match error {
        StashError::Keys(error) => return error.into(),
        error => error,
    };
    let (exit, next) = match &error {
        StashError::Nothing(_) | StashError::Keys(_) => (
            Exit::Refused,
            "signet key show  # where each key is".to_owned(),
        ),
        StashError::NoDirectory(_) => (
            Exit::Usage,
            format!("mkdir -m 700 {word}  # on the stick, once it is mounted"),
        ),
        StashError::Within(_) => (Exit::Usage, "name a directory on a stick".to_owned()),
        StashError::Open { path, .. } => (
            Exit::Usage,
            format!(
                "chmod go-w {}  # or name a directory of your own",
                hint::word(path)
            ),
        ),
        StashError::Other(path) | StashError::SameFile(path) => (
            Exit::Refused,
            format!(
                "ls -l {}  # look what it is; then name another directory",
                hint::word(path)
            ),
        ),
        StashError::Unfinished => (Exit::Refused, "signet key adopt  # then again".to_owned()),
    };
    CliError::new(exit, error, next)
}

const EXAMPLE: &str = "\
Root, next root, control and audit key, and older ones, are copied, synced, read back and compared; only then are they \
overwritten and removed here. A kill leaves each key at one place at least: the same command goes on. Where the stick's file system \
knows no owners (FAT), write them into one encrypted file instead: signet key export --passphrase-file FILE.

EXAMPLE:
  signet key stash /media/stick/alice";
