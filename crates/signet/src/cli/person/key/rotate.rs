//! `signet key rotate …`: a new key in the place of an old one.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use signet_proto::keys::fingerprint;

use super::adopt::apply;
use super::{CliError, open, print};
use crate::clock;
use crate::config::Config;
use crate::hint;
use crate::home::Home;
use crate::keystore::{self, AgentKeys, NEXT_ROOT, PersonKey, ROOT};

/// See `signet key rotate --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct RotateArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The key that signs the agent's messages; certified for a year
    #[command(after_help = "EXAMPLE:\n  signet key rotate signing --root /media/stick/root.pem")]
    Signing {
        /// The person's root key [default: keys/root.pem, where it still is]
        #[arg(long, value_name = "FILE")]
        root: Option<PathBuf>,
        /// Commit to another next root key, such as after its loss
        #[arg(long, value_name = "FILE")]
        next_root: Option<PathBuf>,
    },
    /// The key that opens what is sealed for the agent; the daemon does it monthly
    #[command(after_help = "EXAMPLE:\n  signet key rotate sealing")]
    Sealing,
    /// The person's key that reads sealed messages in the log
    #[command(after_help = "EXAMPLE:\n  signet key rotate audit --root /media/stick/root.pem")]
    Audit {
        /// The person's root key [default: keys/root.pem, where it still is]
        #[arg(long, value_name = "FILE")]
        root: Option<PathBuf>,
    },
    /// The person's key that approves, pauses and resumes
    #[command(after_help = "EXAMPLE:\n  signet key rotate control --root /media/stick/root.pem")]
    Control {
        /// The person's root key [default: keys/root.pem, where it still is]
        #[arg(long, value_name = "FILE")]
        root: Option<PathBuf>,
    },
    /// The root key: the next root key takes over
    #[command(after_help = ROOT_EXAMPLE)]
    Root {
        /// The next root key [default: keys/next-root.pem, where it still is]
        #[arg(long, value_name = "FILE")]
        root: Option<PathBuf>,
        /// Its successor, when it is made already [default: one is made beside it]
        #[arg(long, value_name = "FILE")]
        next_root: Option<PathBuf>,
    },
}

pub(super) fn run(args: RotateArgs, home: &Home) -> Result<(), CliError> {
    let (config, keys) = open(home)?;
    let now = clock::now();
    let root_or = |root: Option<PathBuf>| root.unwrap_or_else(|| home.key_file(ROOT));
    match args.what {
        What::Signing { root, next_root } => {
            let root = root_or(root);
            let change = keystore::rotate_signing(&keys, &root, next_root.as_deref(), now)?;
            let keys = apply(home, &config, &change)?;
            print(&format!(
                "the new signing key is {}\n  certified with serial {} until {}\n\
                 Peers take it with the next handshake. If the old key may be in wrong hands, revoke it too:\n  {}\n",
                keys.certificate.signing_key.id(),
                keys.certificate.serial,
                keys.certificate.not_after,
                hint::typed(&format!(
                    "signet key revoke --serial {} --reason TEXT --root {}",
                    keys.certificate.serial.saturating_sub(1),
                    hint::word(&root)
                )),
            ))
        }
        What::Sealing => {
            let change = keystore::rotate_sealing(&keys, now)?;
            let keys = apply(home, &config, &change)?;
            print(&format!(
                "the new sealing key is {}\n  stated with serial {} until {}\n\
                 The old one opens what was sealed before, and is destroyed a week after its end.\n",
                keys.statement.sealing_key, keys.statement.serial, keys.statement.not_after,
            ))
        }
        What::Audit { root } => person(home, &config, &keys, PersonKey::Audit, &root_or(root)),
        What::Control { root } => person(home, &config, &keys, PersonKey::Control, &root_or(root)),
        What::Root { root, next_root } => {
            let root = root.unwrap_or_else(|| home.key_file(NEXT_ROOT));
            take_over(home, &config, &keys, &root, next_root)
        }
    }
}

fn person(
    home: &Home,
    config: &Config,
    keys: &AgentKeys,
    which: PersonKey,
    root: &Path,
) -> Result<(), CliError> {
    let change = keystore::rotate_person(keys, which, root, clock::now())?;
    let made: Vec<_> = change
        .names()
        .filter(|name| name.ends_with(".pem"))
        .collect();
    let old = keys.control.as_ref().map(|old| old.serial);
    let kept = |name: &str, serial| {
        let file = format!("keys/{}-{serial}.pem", name.trim_end_matches(".pem"));
        home.join(&file).exists().then_some(file)
    };
    let after = apply(home, config, &change)?;
    let serial = after.control.as_ref().map_or(0, |control| control.serial);
    let mut said = format!("the control certificate has serial {serial} now\n");
    for name in made {
        said += &format!("  keys/{name} is new: move it to a safe place off this machine\n");
        match old.map(|serial| (name, kept(name, serial))) {
            Some(("audit.pem", Some(file))) => {
                said += &format!(
                    "  {file} is the old one: lines of the log before now open only with it; keep both\n"
                );
            }
            Some(("audit.pem", None)) => {
                said += "  keep the old audit.pem where it is: lines of the log before now open only with it\n";
            }
            Some((_, Some(file))) => said += &format!("  {file} is good for nothing any more\n"),
            _ => {}
        }
    }
    said += &format!(
        "In every other home of this person: {}\n",
        hint::typed(&format!(
            "signet key install {} --home OTHER",
            hint::word(&home.key_file(keystore::CONTROL_CERTIFICATE))
        ))
    );
    print(&said)
}

/// The next root key takes over. Where it stands in this home, the files change their places; a key
/// elsewhere stays where it is, and its successor is made beside it.
fn take_over(
    home: &Home,
    config: &Config,
    keys: &AgentKeys,
    root: &Path,
    next: Option<PathBuf>,
) -> Result<(), CliError> {
    let now = clock::now();
    let is_here = same_file(root, &home.key_file(NEXT_ROOT));
    let next = match next {
        Some(next) => Some(next),
        None if is_here => None,
        None => Some(keystore::create_next_root(keys, root, now)?),
    };
    let change = keystore::rotate_root(keys, root, next.as_deref(), now)?;
    let after = apply(home, config, &change)?;
    let (root, next) = match next {
        Some(next) => (root.to_owned(), next),
        None => (home.key_file(ROOT), home.key_file(NEXT_ROOT)),
    };
    print(&format!(
        "the root key is {} now\n  its successor is {}: keep them apart, off this machine\n  \
         the certificate has serial {}\n\
         The words of the new root key, to read out to the people you meet:\n  {}\n\
         In every other home of this person:\n  {}\n",
        root.display(),
        next.display(),
        after.certificate.serial,
        fingerprint(&after.certificate.root),
        hint::typed(&format!(
            "signet key rotate root --root {} --next-root {} --home OTHER",
            hint::word(&root),
            hint::word(&next)
        )),
    ))
}

fn same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        // Compare the files, not the spelling of their paths: a path through a link may lead to this
        // home's next root key as well.
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

const EXAMPLE: &str = "\
A root key is named by its path, wherever it is: a stick will do. Where it must not come to this
machine at all: signet key request.

EXAMPLE:
  signet key rotate sealing
  signet key rotate signing --root /media/stick/root.pem";
const ROOT_EXAMPLE: &str = "\
EXAMPLE:
  signet key rotate root --root /media/stick/next-root.pem
  signet key rotate root --root NEW-ROOT --next-root NEW-NEXT --home OTHER";
