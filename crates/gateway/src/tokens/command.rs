//! `signet token`: makes, lists and revokes. A token is printed once, when it is made.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use data_encoding::BASE64URL_NOPAD;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest as _, Sha256};
use signet_api::{Ceiling, May};
use signet_proto::ids::AgentId;
use signet_text::counted;

use super::file::{self, File, FileFault, TokenEntry};
use crate::hint;
use crate::outgoing::{CERTIFICATE, PemFault, certificates};
use crate::random::random;

/// What is done with the tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenFileCommand {
    /// Make one and print it: nobody can read it again
    Make(MakeTokenArgs),
    /// Say which there are, and how far each reaches
    List,
    /// Take one back: what is under way with it ends within a second
    Revoke {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct MakeTokenArgs {
    /// What it is called: whose program it is for
    name: String,
    /// An agent that it may speak with; may be given several times, everybody when absent
    #[arg(long = "peer", value_name = "AGENT")]
    peers: Vec<AgentId>,
    /// The highest data tier that it sends and sees
    #[arg(long, value_name = "TIER", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=4))]
    tier: u8,
    /// It may only look, and sends nothing
    #[arg(long)]
    read: bool,
    /// Days until it expires; it holds until it is revoked when absent
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    days: Option<u32>,
    /// Requests in a minute, in the place of what gateway.toml says
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    requests_per_minute: Option<u32>,
    /// In the place of a token, the certificate that the caller shows over TLS, in PEM
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
}

/// Why it is not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenFault {
    #[error(transparent)]
    File(#[from] FileFault),
    #[error("there is a token of that name")]
    NameTaken(String),
    #[error("that certificate has a token already")]
    CertificateTaken,
    #[error("there is no token of that name")]
    Unknown,
    #[error("a name has 1 to 64 letters, digits, dots, dashes and underscores")]
    Name,
    #[error(transparent)]
    Certificate(#[from] PemFault),
    #[error("the system gives no randomness")]
    Randomness,
}

impl TokenFault {
    /// What to do about it.
    pub(crate) fn next(&self) -> String {
        let next = match self {
            Self::File(fault) => return fault.next(),
            Self::NameTaken(name) => {
                return format!("signet token revoke {name}  # or choose another name");
            }
            Self::CertificateTaken => "signet token list  # shows which; revoke that one first",
            Self::Unknown => "signet token list  # says which there are",
            Self::Name => "name it for the program that gets it, such as laptop",
            Self::Certificate(_) => "name the certificate that the caller shows, not its key",
            Self::Randomness => "try again",
        };
        next.to_owned()
    }
}

/// Does it to the tokens of that file; what is to be printed.
///
/// # Errors
/// Why it is not done; then nothing is.
pub(crate) fn command(asked: &TokenFileCommand, path: &Path) -> Result<String, TokenFault> {
    match asked {
        // Reading takes no lock: `store` replaces the whole file at once, so a reader never sees half of it.
        TokenFileCommand::List => Ok(listed(&File::load(path)?)),
        TokenFileCommand::Make(args) => {
            let _lock = lock(path)?;
            make(args, path)
        }
        TokenFileCommand::Revoke { name } => {
            let _lock = lock(path)?;
            let mut file = File::load(path)?;
            let before = file.tokens.len();
            file.tokens.retain(|token| token.name != *name);
            if file.tokens.len() == before {
                return Err(TokenFault::Unknown);
            }
            file.store(path)?;
            Ok(format!(
                "{name} is revoked; what is under way with it ends now\n"
            ))
        }
    }
}

fn make(args: &MakeTokenArgs, path: &Path) -> Result<String, TokenFault> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if !(1..=64).contains(&args.name.len()) || !args.name.bytes().all(fits) {
        return Err(TokenFault::Name);
    }
    let mut file = File::load(path)?;
    if file.tokens.iter().any(|token| token.name == args.name) {
        return Err(TokenFault::NameTaken(args.name.clone()));
    }
    let (hash, token) = match &args.certificate {
        Some(path) => (hash_of_certificate(path)?, None),
        None => {
            let token = new_token()?;
            (Sha256::digest(token.as_bytes()).into(), Some(token))
        }
    };
    if file.tokens.iter().any(|token| token.hash.0 == hash) {
        return Err(TokenFault::CertificateTaken);
    }
    let peers: BTreeSet<String> = args.peers.iter().map(AgentId::to_string).collect();
    let scope = Ceiling {
        peers: (!peers.is_empty()).then(|| Arc::new(peers)),
        tier: args.tier,
        may: if args.read { May::Read } else { May::Send },
    };
    let expires = args.days.map(|days| file::now() + u64::from(days) * DAY);
    file.tokens.push(TokenEntry {
        certificate: token.is_none(),
        requests_per_minute: args.requests_per_minute,
        ..TokenEntry::new(&args.name, hash, &scope, expires)
    });
    // Print the token only after it is in the file: otherwise somebody could get a token that does not work.
    file.store(path)?;
    Ok(match token {
        Some(token) => format!("{token}\n"),
        None => format!("{} may call with that certificate\n", args.name),
    })
}

/// One at a time: two that write at once would lose a token, or bring a revoked one back.
fn lock(path: &Path) -> Result<std::fs::File, FileFault> {
    // Lock a separate file: `store` replaces the tokens file, so a lock on the tokens file would stop
    // nobody who opens the new one.
    let beside = path.with_extension("lock");
    let failed = |source| FileFault::Io {
        path: beside.clone(),
        source,
    };
    let mut options = std::fs::OpenOptions::new();
    let file = options
        .create(true)
        .truncate(false)
        .write(true)
        .open(&beside);
    let file = file.map_err(failed)?;
    // The lock ends with the open file, also after a crash: so no lock is ever left behind that a person would have to remove.
    flock(&file, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
    Ok(file)
}

fn hash_of_certificate(path: &Path) -> Result<[u8; 32], TokenFault> {
    let all = certificates(path)?;
    let first = all
        .first()
        .ok_or_else(|| PemFault::nothing(path, CERTIFICATE))?;
    Ok(Sha256::digest(first.as_ref()).into())
}

/// 256 bits: nobody guesses it, so its hash needs no salt and no work factor.
fn new_token() -> Result<String, TokenFault> {
    let bytes = random::<32>().ok_or(TokenFault::Randomness)?;
    Ok(format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&bytes)))
}

fn listed(file: &File) -> String {
    if file.tokens.is_empty() {
        return hint::typed("there is no token; make one: signet token make NAME\n");
    }
    let mut text = String::new();
    let now = file::now();
    for token in &file.tokens {
        let scope = token.scope();
        let kind = if token.certificate {
            "certificate"
        } else {
            "token"
        };
        let may = if scope.may_send() { "send" } else { "read" };
        let peers = scope.peers.map_or_else(
            || "everybody".to_owned(),
            |peers| peers.iter().cloned().collect::<Vec<_>>().join(", "),
        );
        let ends = match token.expires {
            None => "no end".to_owned(),
            Some(_) if !token.holds_at(now) => "expired".to_owned(),
            Some(expires) => format!("{} left", counted((expires - now).div_ceil(DAY), "day")),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{}  {kind}  {may}, tier {}, {peers}  {ends}",
            token.name, scope.tier
        );
    }
    text
}

/// So that scanners for leaked secrets can tell what it is.
const PREFIX: &str = "signet_";
const DAY: u64 = 24 * 3600;

#[cfg(test)]
mod tests {
    use super::*;

    fn make_args(name: &str) -> MakeTokenArgs {
        MakeTokenArgs {
            name: name.to_owned(),
            peers: vec!["agent-bob".parse().unwrap()],
            tier: 1,
            read: true,
            days: Some(3),
            requests_per_minute: None,
            certificate: None,
        }
    }

    #[test]
    fn a_token_is_printed_once_listed_without_itself_and_revoked_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.toml");
        let make = |name: &str| command(&TokenFileCommand::Make(make_args(name)), &path);
        let token = make("laptop").unwrap();
        assert!(token.starts_with(PREFIX) && token.trim().len() == PREFIX.len() + 43);
        assert_ne!(token, make("phone").unwrap());
        assert!(matches!(make("laptop"), Err(TokenFault::NameTaken(_))));
        for odd in ["", "a b", "a\u{1b}[2J", "ü"] {
            assert!(matches!(make(odd), Err(TokenFault::Name)), "{odd:?}");
        }
        let list = command(&TokenFileCommand::List, &path).unwrap();
        assert!(
            list.contains("laptop  token  read, tier 1, agent-bob  3 days left"),
            "{list}"
        );
        let there = std::fs::read_to_string(&path).unwrap() + &list;
        assert!(!there.contains(token.trim().trim_start_matches(PREFIX)));
        let revoke = || {
            command(
                &TokenFileCommand::Revoke {
                    name: "laptop".to_owned(),
                },
                &path,
            )
        };
        revoke().unwrap();
        assert!(matches!(revoke(), Err(TokenFault::Unknown)));
        assert!(
            !command(&TokenFileCommand::List, &path)
                .unwrap()
                .contains("laptop")
        );
    }

    #[test]
    fn two_that_make_tokens_at_once_lose_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.toml");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    command(
                        &TokenFileCommand::Make(make_args(&format!("t{number}"))),
                        path,
                    )
                    .unwrap()
                });
            }
        });
        assert_eq!(
            command(&TokenFileCommand::List, &path)
                .unwrap()
                .lines()
                .count(),
            8
        );
    }
}
